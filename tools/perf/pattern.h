/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_PATTERN_H
#define TOOLS_PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/**
 * The octets of a data item follow from the XID of its RPC and its offset, so
 * that both sides know them without talking: the k-th little-endian 64-bit word
 * is mix(xid, offset) + k * an odd constant. No two words of an item are equal,
 * and items of different RPCs have nothing in common: data that was lost, moved,
 * or came from another RPC shows in its first word.
 */

/** pattern_fill - the first @len octets of the item to @to, which need not be aligned. */
void pattern_fill(void *to, size_t len, uint32_t xid, uint64_t offset);

/** pattern_check - index of the first wrong octet, or @len when all are right. */
size_t pattern_check(const void *from, size_t len, uint32_t xid, uint64_t offset);

#endif
