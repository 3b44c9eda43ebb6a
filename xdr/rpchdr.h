/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XDR_RPCHDR_H
#define XDR_RPCHDR_H

#include "base/err.h"
#include "base/view.h"

/** struct rpchdr - the fields of an ONC RPC message (RFC 5531 section 9) that do not need its
 * upper layer: enough to route, match and classify it. */
struct rpchdr {
	uint32_t xid;
	uint32_t mtype;		   /* 0 call, 1 reply */
	uint32_t prog, vers, proc; /* calls only */
};

/* Octets of the smallest header of a call: six words, and credential and verifier without a body.
 * No data item begins within the header. */
enum { RPCHDR_LEAST_CALL = 40 };

/**
 * rpchdr_peek - look at the first words of a payload stream
 * @h:    filled on success
 * @body: the beginning of the stream; at least 24 octets for a call, 8 for a reply
 *
 * Return: 0; ERR_SHORT; ERR_XDR when mtype is neither call nor reply, or a call's RPC
 * version is not 2.
 */
int rpchdr_peek(struct rpchdr *h, struct view body) WARN_UNUSED;

#endif
