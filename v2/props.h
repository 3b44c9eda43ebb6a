/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_PROPS_H
#define V2_PROPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "rpc/transport.h"
#include "xdr/cursor.h"

struct v2_parse;
struct v2_hdr;

/** Transport properties (section 5). */
enum v2_propid {
	V2_PROP_SBSIZ = 1,    /* Maximum Send Size */
	V2_PROP_RBSIZ = 2,    /* Receive Buffer Size */
	V2_PROP_RSSIZ = 3,    /* Maximum Segment Size */
	V2_PROP_RCSIZ = 4,    /* Maximum Segment Count */
	V2_PROP_BRS = 5,      /* Reverse-Direction Support */
	V2_PROP_HOSTAUTH = 6, /* Host Authentication Message, carried as it is */
};

enum {
	V2_DEFAULT_INLINE = 4096, /* SBSIZ, RBSIZ: what a peer must assume, section 4.2.2 */
	V2_DEFAULT_SEGMENT_BYTES = 1048576,
	V2_DEFAULT_SEGMENTS = 16,
	V2_FIRST_MESSAGE_BYTES = 1024, /* section 4.3; the least any peer can receive */
	V2_PROP_NUMBERS = V2_PROP_BRS, /* properties 1 to 5 are one uint32 each */
};

/** struct v2_props - a set of properties: which ones it has, and their values. */
struct v2_props {
	uint32_t present;		     /* bit 1 << enum v2_propid */
	uint32_t value[V2_PROP_NUMBERS + 1]; /* by number; [0] unused */
	struct view hostauth;		     /* borrowed */
	bool hostauth_again; /* one message had property 6 twice: profile section 2 */
	/* Properties of the round-trip extension (docs/rtrext-profile.md, section 2): */
	uint32_t rtr_support, rtr_requests, rtr_responses;
	struct view rtr_structure; /* received: borrowed */
	/* a property of the extension was malformed; the receiver decides what follows */
	bool is_rtr_bad;
	/* to send: octets of the first segment of a Receive, and of the placement-targetable one */
	uint32_t rtr_own[2];
};

/* Bits of .present beside those of enum v2_propid. */
enum {
	V2_HAS_RTR_SUPPORT = 1 << 7,
	V2_HAS_RTR_STRUCTURE = 1 << 8,
	V2_HAS_RTR_REQUESTS = 1 << 9,
	V2_HAS_RTR_RESPONSES = 1 << 10,
};

extern const struct rpc_error v2_bad_propval; /* RDMA2_ERR_BAD_PROPVAL */

/** v2_props_set - set the value of @id, replacing any other. */
void v2_props_set(struct v2_props *props, enum v2_propid id, uint32_t value);

/** v2_props_get - the value of @id, or the default of section 5.2 when it is not in the set. */
uint32_t v2_props_get(const struct v2_props *props, enum v2_propid id);

/** v2_props_merge - copies the values of @from into @into: the last one wins. */
void v2_props_merge(struct v2_props *into, const struct v2_props *from);

/** v2_props_own_bytes - octets of v2_props_own() in a message. */
size_t v2_props_own_bytes(const struct rpc_params *own);

/** v2_props_own - the properties that an end with @own parameters announces. */
void v2_props_own(struct v2_props *props, const struct rpc_params *own);

/**
 * v2_props_limits - the limits of a peer with @props
 *
 * Values that no implementation can mean are replaced:
 * - A Receive Buffer Size or Maximum Send Size below 1024 counts as 1024 (section 4.3 lets the
 *   first message be that long).
 * - A Maximum Segment Size of 0 means no segments at all.
 * - A Reverse-Direction Support value that the draft does not define means no support.
 */
void v2_props_limits(struct rpc_limits *peer, const struct v2_props *props,
		     const struct rpc_params *own);

/**
 * Rows of the header type table: both CONNPROP types.
 *
 * A malformed property of the round-trip extension only sets .is_rtr_bad, because not every end
 * knows the property.
 * Return: 0, ERR_XDR, or ERR_PROP with the fault RDMA2_ERR_BAD_PROPVAL (section 5.1).
 */
int v2_connprop_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
void v2_connprop_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);

#endif
