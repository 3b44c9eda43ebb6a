/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_STRUCTURE_H
#define RTREXT_STRUCTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"
#include "xdr/cursor.h"

/**
 * The structure of an end's Receives, and the other properties of the extension
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-02, sections 7.2 and 8; docs/rtrext-profile.md, sections 2
 * and 7).
 */

enum { RTR_MAX_GROUPS = 16, RTR_MAX_TARGETS = 65536 };

/* Identifiers of properties of draft -07. */
enum rtr_property {
	RTR_PROP_SUPPORT = 0x52540003,
	RTR_PROP_STRUCTURE = 0x52540004,
	RTR_PROP_REQUEST_LIMIT = 0x52540005,
	RTR_PROP_RESPONSE_LIMIT = 0x52540006,
};

/* Bits of RTR_PROP_SUPPORT: messages that its sender receives. Other bits are ignored. */
enum { RTR_TAKES_REQUEST = 1, RTR_TAKES_RESPONSE = 2, RTR_TAKES_CONTINUE = 4 };

/* Flag of a segment; other bits are ignored. */
enum { RTR_TARGETABLE = 1 };

/** struct rtr_segments - consecutive equal segments of a Receive (xmrbs_group). */
struct rtr_segments {
	uint32_t count, length;
	uint32_t align; /* a power of two */
	uint32_t flags;
};

/** struct rtr_structure - structure of each Receive (xmrbs_buf). */
struct rtr_structure {
	uint32_t bytes;	  /* octets of all segments together */
	uint32_t targets; /* number of placement-targetable segments */
	struct rtr_segments groups[RTR_MAX_GROUPS];
	unsigned ngroups;
};

/** rtr_structure_plain - the structure of an end that announces none: one plain segment. */
void rtr_structure_plain(struct rtr_structure *s, uint32_t bytes);

/**
 * rtr_structure_decode - decode the property's value
 *
 * Return: 0; ERR_PROP: it is malformed, a group has no segments or segments of length 0, an
 *         alignment is no power of two (0 counts as 1), the total is not the sum, or octets follow
 *         the structure; ERR_TOOBIG: more groups or placement-targetable segments than are held
 *         here.
 */
int rtr_structure_decode(struct rtr_structure *s, struct view value) WARN_UNUSED;

/** rtr_structure_encode - encode the property's value. */
void rtr_structure_encode(const struct rtr_structure *s, struct xdr_out *x);

/** struct rtr_target - a placement-targetable segment of a Receive. */
struct rtr_target {
	uint32_t offset; /* offset in the Receive */
	uint32_t length;
	uint32_t align;
};

/** rtr_structure_target - the @n-th placement-targetable segment, from 0. Return: whether there
 * is one. */
bool rtr_structure_target(const struct rtr_structure *s, uint32_t n, struct rtr_target *t);

/** rtr_structure_free - number of the first placement-targetable segment that begins at octet @at
 * of a Receive or later; .targets if there is none. */
uint32_t rtr_structure_free(const struct rtr_structure *s, uint32_t at);

/** rtr_limit - the value of a limit: 0 would allow no message at all and counts as 1. */
static inline uint32_t rtr_limit(uint32_t value)
{
	return value ? value : 1;
}

#endif
