/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/v1/check.h"
#include "v1/pdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Input: the private data a peer sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_params own = {0};
	uint8_t out[V1_PDATA_BYTES];
	struct v1_pdata p, again;

	v1_pdata_parse(&p, view_of(data, size));
	CHECK(p.send_bytes >= V1_PDATA_MIN_SIZE && p.send_bytes <= V1_PDATA_MAX_SIZE);
	CHECK(p.recv_bytes >= V1_PDATA_MIN_SIZE && p.recv_bytes <= V1_PDATA_MAX_SIZE);
	own.send_bytes = p.send_bytes;
	own.recv_bytes = p.recv_bytes;
	own.remote_inv = p.remote_inv;
	v1_pdata_encode(out, &own);
	v1_pdata_parse(&again, view_of(out, sizeof(out)));
	CHECK(again.present && again.send_bytes == p.send_bytes &&
	      again.recv_bytes == p.recv_bytes && again.remote_inv == p.remote_inv);
	return 0;
}
