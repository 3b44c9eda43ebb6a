/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_HEADER_H
#define V2_HEADER_H

#include "base/err.h"
#include "rpc/msg.h"
#include "rpc/transport.h"
#include "v2/parse.h"
#include "v2/props.h"
#include "v2/types.h"

/**
 * Codec of RPC-over-RDMA version 2 transport headers (draft-ietf-nfsv4-rpcrdma-version-two-07,
 * sections 6.1 to 6.4 and 8).
 *
 * A header begins with a prefix of four words, which every message has. The row of its type in the
 * table of types.c decodes and encodes the rest. An extension adds header types: a file with their
 * functions, and a row for each.
 */
enum { V2_VERSION = 2, V2_PREFIX_BYTES = 16 };

struct rtr_msg;

enum v2_htype {
	V2_ERROR = 4,
	V2_GRANT = 5,
	V2_CONNPROP_MIDDLE = 6,
	V2_CONNPROP_FINAL = 7,
	V2_CALL_EXTERNAL = 8,
	V2_CALL_MIDDLE = 9,
	V2_CALL_INLINE = 10,
	V2_REPLY_EXTERNAL = 11,
	V2_REPLY_MIDDLE = 12,
	V2_REPLY_INLINE = 13,
	/* docs/rtrext-profile.md, section 1 */
	V2_RTR_REQUEST = 0x52540005,
	V2_RTR_RESPONSE = 0x52540006,
	V2_RTR_CONTINUE = 0x52540007,
	V2_RTR_REPORT = 0x52540008,
};

/** struct v2_hdr - the fields of a header that struct rpc_msg does not hold. */
struct v2_hdr {
	uint32_t xid, vers, credit, htype; /* the prefix, in wire order */
	uint32_t remaining;		   /* MIDDLE: octets of payload stream after this message */
	bool error_known;		   /* ERROR: .error holds a code of section 8.4 */
	struct rpc_error error;		   /* type ERROR only */
	struct v2_props props;		   /* types CONNPROP only */
	struct rtr_msg *rtr;		   /* types of the extension; borrowed, may be NULL */
};

/**
 * v2_prefix_decode - the first four words; zeros where there are fewer
 *
 * Return: 0, or ERR_SHORT: the message must be discarded in silence (section 7).
 */
static inline int v2_prefix_decode(struct v2_hdr *h, struct view in)
{
	if (in.len < V2_PREFIX_BYTES) {
		h->xid = h->vers = h->credit = h->htype = 0;
		return ERR_SHORT;
	}
	h->xid = xdr_peek_u32(in.data);
	h->vers = xdr_peek_u32(in.data + 4);
	h->credit = xdr_peek_u32(in.data + 8);
	h->htype = xdr_peek_u32(in.data + 12);
	return 0;
}

/**
 * v2_decode - one received message of version 2
 * @h:	   filled on success; its prefix also on failure, if the message has 16 octets
 * @m:	   Calls and Replies: filled on success; its views point into @in
 * @in:	   borrowed; octets of one received message
 * @max_segments: most segments accepted in a Call; above it ERR_TOOBIG
 * @fault: on failure, the error of section 7 that says what is wrong
 *
 * Allocates nothing. That the payload stream begins with the header's XID depends on the messages
 * before, and is checked by v2/cont.h.
 * Return: 0, ERR_SHORT, ERR_VERS, ERR_TYPE, ERR_XDR, ERR_PROP or ERR_TOOBIG.
 */
int v2_decode(struct v2_hdr *h, struct rpc_msg *m, struct view in, uint32_t max_segments,
	      struct rpc_error *fault) WARN_UNUSED;

/** v2_decode_rest - v2_decode() for a message whose prefix is in @h already; @type: its row.
 * @fault: set only on failure. */
int v2_decode_rest(const struct v2_type *type, struct v2_hdr *h, struct rpc_msg *m, struct view in,
		   uint32_t max_segments, struct rpc_error *fault) WARN_UNUSED;

/**
 * v2_encode - write a transport header
 * @h: prefix, and the fields that the type uses
 * @m: Calls and Replies: its chunks; its body is not copied. NULL for control types
 * @buf: @cap octets
 *
 * Return: length of the header, ERR_TYPE or ERR_NOSPACE.
 */
int v2_encode(const struct v2_hdr *h, const struct rpc_msg *m, uint8_t *buf,
	      size_t cap) WARN_UNUSED;

/**
 * v2_vers_error_encode - the answer to a first message in a version that @own does not speak
 * @in: its first four words, which are the same in both versions
 *
 * ERR_VERS with the range, the version echoed: draft-07 7.1.1; RFC 8166 section 4.5 has the same
 * layout.
 * Return: its length, or ERR_NOSPACE.
 */
int v2_vers_error_encode(const struct v2_hdr *in, const struct rpc_params *own, uint8_t *buf,
			 size_t cap) WARN_UNUSED;

#endif
