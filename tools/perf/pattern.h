/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_PATTERN_H
#define TOOLS_PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/**
 * Test data. The octets of a data item follow from the XID of its RPC and its offset, so both sides
 * can compute them. The k-th little-endian 64-bit word is mix(xid, offset) + k * an odd constant.
 * All words of an item differ, and items of different RPCs have no word in common. So data that was
 * lost, moved, or belongs to another RPC shows in its first word.
 */

/** pattern_fill - write the first @len octets of the item to @to, which need not be aligned. */
void pattern_fill(void *to, size_t len, uint32_t xid, uint64_t offset);

/** pattern_check - index of the first wrong octet, or @len if all are right. */
size_t pattern_check(const void *from, size_t len, uint32_t xid, uint64_t offset);

#endif
