/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_HEADER_H
#define V1_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"
#include "rpc/msg.h"

/**
 * The RPC-over-RDMA version 1 transport header (RFC 8166 section 4,
 * rfc5666bis-01 section 5) to and from struct rpc_msg.
 */

enum { V1_VERSION = 1, V1_FIXED_BYTES = 16, V1_ERROR_MAX_BYTES = 28 };

/* rpcrdma1_proc: the message types as they are on the wire. */
enum v1_proc { V1_MSG, V1_NOMSG, V1_MSGP, V1_DONE, V1_ERROR };

/* rpcrdma1_errcode: the two error codes of version 1. V1_ERR_VERS_MISMATCH answers only a message
 * of a later version, as that version defines it (draft-07 7.1.2, 8.3). */
enum v1_errcode { V1_ERR_VERS = 1, V1_ERR_CHUNK = 2, V1_ERR_VERS_MISMATCH = 11 };

/** struct v1_header - the fields of a header besides its chunks. */
struct v1_header {
	uint32_t xid, vers, credit, proc;
	uint32_t err;	    /* V1_ERROR: enum v1_errcode */
	uint32_t low, high; /* V1_ERROR, V1_ERR_VERS: lowest and highest version spoken */
};

/**
 * v1_header_decode - parse one received message
 * @h:  the fixed fields; set whenever @in has 16 octets
 * @m:  filled on success for V1_MSG, V1_NOMSG and V1_MSGP; its views point into @in
 * @dir_known: whether m->dir holds the direction, on success and on failure
 * @in: borrowed; the octets of one Send
 *
 * V1_MSGP is decoded as V1_MSG (RFC 8166 section 4.2.4). Of V1_DONE only the fixed fields are
 * decoded. V1_ERROR is understood under every version number. Allocates nothing.
 *
 * Return: 0;
 * ERR_SHORT: too small for a header and the RPC header that follows it; drop it and believe no
 * field (rfc5666bis-01 section 8.3.3);
 * ERR_VERS: not version 1, only @h is valid; ERR_TYPE: no such message type;
 * ERR_XDR: malformed; ERR_TOOBIG: more chunks or segments than struct rpc_msg holds.
 */
int v1_header_decode(struct v1_header *h, struct rpc_msg *m, bool *dir_known,
		     struct view in) WARN_UNUSED;

/** v1_header_len - octets the header of @m takes. */
size_t v1_header_len(const struct rpc_msg *m);

/**
 * v1_header_encode - write the header of @m; its body, if inline, is to follow
 * @credit: requested (calls) or granted (replies)
 * @len: octets written
 *
 * A body chunk makes it RDMA_NOMSG: a Position-Zero Read chunk in a call, the Reply
 * chunk in a reply. Return: 0 or ERR_NOSPACE.
 */
int v1_header_encode(const struct rpc_msg *m, uint32_t credit, uint8_t *buf, size_t cap,
		     size_t *len) WARN_UNUSED;

/**
 * v1_error_encode - write an RDMA_ERROR message out of @h (proc is implied)
 *
 * Return: its length, at most V1_ERROR_MAX_BYTES, or ERR_NOSPACE.
 */
int v1_error_encode(const struct v1_header *h, uint8_t *buf, size_t cap) WARN_UNUSED;

#endif
