/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_VIA_H
#define PROXY_LEG_VIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/**
 * via - the gateways that a connection came through, as private data of its request (protocol
 * decision 150)
 *
 * When a gateway connects to a server, it writes the numbers of the listeners that the client came
 * through behind the private data of RFC 8797, its own number last. If a gateway finds the number
 * of its own listener there, its upstream leads back to itself. Peers that look for RFC 8797's data
 * alone find them at the usual place.
 *
 *   octets 0 to 3   0x9c5d17e2
 *          4        1, the version of this format
 *          5        n, 1 to VIA_MOST
 *          6, 7     zeros, ignored
 *          8 ...    n numbers of 4 octets, big-endian, none of them zero
 *
 * With RFC 8797's 8 octets that is 48 octets at most; InfiniBand and RoCE have 56.
 */

enum { VIA_MOST = 8, VIA_BYTES = 8 + 4 * VIA_MOST };

/** struct via - numbers of listeners, in the order in which the connection passed them. */
struct via {
	uint32_t id[VIA_MOST];
	unsigned n;
};

/** via_parse - find the list in the private data @in. Never fails: without a valid list @via is
 * empty. */
void via_parse(struct via *via, struct view in);

/** via_encode - write @via in the format above. Return: octets written; 0 for an empty list. */
size_t via_encode(uint8_t out[VIA_BYTES], const struct via *via);

/** via_has - whether @id is in @via. */
bool via_has(const struct via *via, uint32_t id);

/** via_add - append @id; @via->n must be less than VIA_MOST. */
void via_add(struct via *via, uint32_t id);

#endif
