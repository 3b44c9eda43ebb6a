/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_ERROR_H
#define V2_ERROR_H

#include "v2/header.h"

/** Error codes on the wire, section 8.4. */
enum v2_err {
	V2_ERR_VERS = 1,
	V2_ERR_BAD_XDR = 2,
	V2_ERR_BAD_PROPVAL = 3,
	V2_ERR_INVAL_HTYPE = 4,
	V2_ERR_INVAL_CONT = 5,
	V2_ERR_READ_CHUNKS = 6,
	V2_ERR_WRITE_CHUNKS = 7,
	V2_ERR_SEGMENTS = 8,
	V2_ERR_WRITE_RESOURCE = 9,
	V2_ERR_REPLY_RESOURCE = 10,
	V2_ERR_VERS_MISMATCH = 11,
	V2_ERR_SYSTEM = 100,
};

/**
 * v2_error_decode, v2_error_encode - rows of the header type table: RDMA2_ERROR
 *
 * An unknown code decodes with .error_known false. A code that this version has no number for
 * (version 1's ERR_CHUNK) encodes as RDMA2_ERR_SYSTEM.
 */
int v2_error_decode(struct v2_parse *p, struct v2_hdr *h, struct rpc_msg *m);
void v2_error_encode(struct xdr_out *x, const struct v2_hdr *h, const struct rpc_msg *m);

#endif
