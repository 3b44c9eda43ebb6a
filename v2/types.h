/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_TYPES_H
#define V2_TYPES_H

#include "rpc/msg.h"
#include "v2/parse.h"

/**
 * types - the table of header types of version 2 (section 6.1)
 *
 * A type is a number in header.h and a row here. The row has the codec, and tells when the type may
 * come. A type that carries no Call or Reply also has a row in conn_rx.c, with the function that
 * processes it.
 */

struct v2_hdr;

enum v2_type_flags {
	V2_IS_CONTROL = 1,  /* belongs to the connection, carries no RPC */
	V2_IS_CALL = 2,	    /* carries a Call or a part of one */
	V2_IS_REPLY = 4,    /* carries a Reply or a part of one */
	V2_HAS_PAYLOAD = 8, /* payload octets follow the header */
	V2_IS_MIDDLE = 16,  /* more parts of the message follow */
	V2_IS_RTR = 32,	    /* belongs to the round-trip extension */
	/* may come between the parts of a message, of a group, and of properties */
	V2_IS_ANYWHERE = 64,
	V2_IS_CONNPROP = 128, /* carries properties (sections 6.3.3, 6.3.4) */
	/* carries data of the round-trip extension, and may be longer than one Receive */
	V2_IS_TRANSMIT = 256,
};

/** struct v2_type - a row of the table of header types. */
struct v2_type {
	uint32_t htype;
	unsigned flags; /* enum v2_type_flags */
	const char *name;
	/* Decode what follows the prefix. Return: 0, or an error with p->fault set. */
	int (*decode)(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
	/* Append what follows the prefix; lack of room shows in the cursor. */
	void (*encode)(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);
};

/** v2_type_find - the row of @htype, or NULL when the type is not known here. */
const struct v2_type *v2_type_find(uint32_t htype);

#endif
