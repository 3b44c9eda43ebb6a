/* SPDX-License-Identifier: BSD-2-Clause */
/* One received message: what is decoded encodes to the same octets. */
#include <stdlib.h>
#include <string.h>

#include "v2/header.h"
#include "v2/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static uint8_t out[1 << 16];
static struct rpc_msg m, again;

static void check_rpc(const struct v2_hdr *h, const uint8_t *data, size_t size)
{
	size_t body = m.nbody ? m.body[0].len : 0;
	int n = v2_encode(h, &m, out, sizeof(out));

	CHECK(n > 0 && (size_t)n + body == size);
	CHECK(!memcmp(out, data, (size_t)n));
	CHECK(!body || m.body[0].data == data + n);
	if (!(v2_type_find(h->htype)->flags & V2_IS_MIDDLE)) {
		CHECK(v2_msg_header_len(&m) == (size_t)n);
		CHECK(v2_msg_htype(&m) == h->htype);
	}
	CHECK(m.nsegs <= RPC_MAX_SEGMENTS && m.nreads <= RPC_MAX_CHUNKS);
	CHECK(m.nwrites <= RPC_MAX_CHUNKS);
}

/* Control types hold more than is kept of them: compare what is kept. */
static void check_control(struct v2_hdr *h)
{
	struct v2_hdr back = {0};
	struct rpc_error fault;
	int n;

	h->props.present &= ~(uint32_t)V2_HAS_RTR_STRUCTURE; /* only our own is encoded */
	n = v2_encode(h, NULL, out, sizeof(out));
	if (h->htype == V2_ERROR && !h->error_known)
		return;
	CHECK(n > 0);
	CHECK(!v2_decode(&back, &again, view_of(out, (size_t)n), RPC_MAX_SEGMENTS, &fault));
	CHECK(back.xid == h->xid && back.credit == h->credit && back.htype == h->htype);
	CHECK(!memcmp(&back.error, &h->error, sizeof(h->error)));
	CHECK(back.props.present == h->props.present);
	CHECK(!memcmp(back.props.value, h->props.value, sizeof(h->props.value)));
	CHECK(back.props.hostauth.len == h->props.hostauth.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v2_hdr h = {0};
	struct rpc_error fault;

	if (size > sizeof(out) / 2)
		return 0;
	if (v2_decode(&h, &m, view_of(data, size), RPC_MAX_SEGMENTS, &fault)) {
		CHECK(*rpc_error_name(fault.code));
		return 0;
	}
	if (v2_type_find(h.htype)->flags & V2_IS_RTR) /* its body is kept elsewhere: fuzz_rtr */
		return 0;
	if (v2_type_find(h.htype)->flags & V2_IS_CONTROL)
		check_control(&h);
	else
		check_rpc(&h, data, size);
	return 0;
}
