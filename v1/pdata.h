/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V1_PDATA_H
#define V1_PDATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "rpc/transport.h"

/** Connection manager private data of RPC-over-RDMA version 1: RFC 8797. */

enum { V1_PDATA_BYTES = 8, V1_PDATA_MIN_SIZE = 1024, V1_PDATA_MAX_SIZE = 262144 };

/** struct v1_pdata - the peer's private data, or the defaults if it sent none. */
struct v1_pdata {
	bool present;	     /* the peer sent private data of this format */
	bool remote_inv;     /* R: its handles may be invalidated remotely */
	uint32_t send_bytes; /* largest message it sends */
	uint32_t recv_bytes; /* largest message it receives */
};

/**
 * v1_pdata_parse - find and read version 1 private data in what the peer sent
 * @in: borrowed; may hold other layers' data before and behind it, may be empty
 *
 * Never fails: without valid data it gives the defaults of section 5.1, 1024 octets
 * both ways and R clear.
 */
void v1_pdata_parse(struct v1_pdata *p, struct view in);

/** v1_pdata_encode - this end's private data; sizes are rounded down to what the format can
 * express (RFC 8797). */
void v1_pdata_encode(uint8_t out[V1_PDATA_BYTES], const struct rpc_params *own);

#endif
