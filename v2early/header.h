/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_HEADER_H
#define V2EARLY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"
#include "rpc/msg.h"

/**
 * The transport header of the early draft of version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-01 section 4.2) to and from struct rpc_msg.
 */

enum {
	EARLY_VERSION = 2,
	EARLY_FIXED_BYTES = 16,
	EARLY_ERROR_MAX_BYTES = 28,
	EARLY_OPTIONAL_BYTES = 28, /* octets of an RDMA2_OPTIONAL without information */
};

/* rpcrdma2_proc: the message types as they are on the wire. */
enum early_proc { EARLY_MSG = 0, EARLY_NOMSG = 1, EARLY_ERROR = 4, EARLY_OPTIONAL = 5 };

/* rpcrdma2_errcode */
enum early_errcode { EARLY_ERR_VERS = 1, EARLY_ERR_BAD_HEADER = 2, EARLY_ERR_INVAL_OPTION = 3 };

/** struct early_header - the fields of a header besides its chunks. */
struct early_header {
	uint32_t xid, vers, credit, proc;
	uint32_t err;	     /* EARLY_ERROR: enum early_errcode, or what the peer sent */
	uint32_t low, high;  /* EARLY_ERROR, EARLY_ERR_VERS: versions spoken */
	uint32_t opttype;    /* EARLY_OPTIONAL: type of the option */
	enum rpc_dir optdir; /* EARLY_OPTIONAL: direction */
	struct view optinfo; /* EARLY_OPTIONAL received: points into the message */
	struct view payload; /* EARLY_OPTIONAL received: octets behind the header; may be empty */
};

/**
 * early_header_decode - parse one received message
 * @h:  the fixed fields; set whenever @in has 16 octets
 * @m:  filled on success for EARLY_MSG and EARLY_NOMSG; its views point into @in
 * @dir: in: the direction to assume where the message does not tell; out: the direction it has, on
 *       success and on failure. For an RDMA2_ERROR always RPC_REPLY (section 4.2.2)
 * @in: borrowed; the octets of one Send
 *
 * EARLY_ERROR is understood under every version number. Allocates nothing.
 *
 * Return: 0;
 * ERR_SHORT: too small for a header and the RPC header that follows it; drop it and believe no
 * field (rfc5666bis-01 section 8.3.3);
 * ERR_VERS: not version 2, only @h is valid; ERR_TYPE: no such message type;
 * ERR_XDR: malformed; ERR_TOOBIG: more chunks or segments than struct rpc_msg holds.
 */
int early_header_decode(struct early_header *h, struct rpc_msg *m, enum rpc_dir *dir,
			struct view in) WARN_UNUSED;

/** early_header_len - octets the header of @m takes. */
size_t early_header_len(const struct rpc_msg *m);

/**
 * early_header_encode - write the header of @m; its body, if inline, is to follow
 * @credit: requested (calls) or granted (replies)
 * @len: octets written
 *
 * A body chunk makes it RDMA2_NOMSG: a Position-Zero Read chunk in a call, the Reply
 * chunk in a reply. Return: 0 or ERR_NOSPACE.
 */
int early_header_encode(const struct rpc_msg *m, uint32_t credit, uint8_t *buf, size_t cap,
			size_t *len) WARN_UNUSED;

/**
 * early_error_encode - write an RDMA2_ERROR message out of @h (proc is implied)
 *
 * Return: its length, at most EARLY_ERROR_MAX_BYTES, or ERR_NOSPACE.
 */
int early_error_encode(const struct early_header *h, uint8_t *buf, size_t cap) WARN_UNUSED;

/**
 * early_optional_encode - write an RDMA2_OPTIONAL out of @h (proc is implied) with its optinfo; a
 * payload is to follow
 *
 * Return: its length or ERR_NOSPACE.
 */
int early_optional_encode(const struct early_header *h, uint8_t *buf, size_t cap) WARN_UNUSED;

/**
 * early_is_first - whether @in, the first message of a connection, is of the early draft, not of
 * draft-ietf-nfsv4-rpcrdma-version-two-07
 *
 * Types 0 and 1 exist only in the early draft. Type 5 is RDMA2_OPTIONAL, which has a body, in the
 * early draft. In draft -07 it is RDMA2_GRANT, which is only a prefix. Type 4 is an error report in
 * both, and ERR_VERS is the same in both, so this type decides nothing.
 */
bool early_is_first(struct view in);

#endif
