/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROXY_PLAN_UTIL_H
#define TESTS_PROXY_PLAN_UTIL_H

#include "tests/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "proxy/plan/plan.h"
#include "v1/traits.h"
#include "v2/traits.h"
#include "xdr/cursor.h"

/** Ends and calls as input for the plan. */

enum {
	V1_HDR = 28,
	V2_CALL_HDR = 32,
	V2_REPLY_HDR = 20,
	CAP = 4 << 20,
	/* Reply chunk for a reply that nothing bounds, in a program that is not known, and in NFS:
	 * there 1 MiB with the word that is added. */
	UNKNOWN = (1 << 20) + 8192,
	UNASKED = (1 << 20) - REPLY_TELLTALE,
};

static inline struct plan_end end_of(unsigned version, uint32_t inline_bytes)
{
	return (struct plan_end){
		.traits = version == 1 ? &v1_traits : &v2_traits,
		.limits = {.send_bytes = inline_bytes,
			   .recv_bytes = inline_bytes,
			   .segment_bytes = version == 1 ? UINT32_MAX : 1 << 20,
			   .segment_count = 16,
			   .continuation = version == 2,
			   .continue_bytes = UINT32_MAX,
			   .reverse = version == 1 ? RPC_REV_SIMPLE : RPC_REV_GENL},
	};
}

static inline bool is_v1(const struct plan_end *e)
{
	return e->traits == &v1_traits;
}

/* Form the call; up to @cap octets may be continued, in any number of Sends. */
static inline void call_form(const struct rpc_msg *in, size_t body_len, const struct rpchdr *hdr,
			     const struct plan_end *from, const struct plan_end *to,
			     size_t header_len, bool reverse, size_t cap, struct plan_call *out)
{
	const struct plan_cover cover = {(uint32_t)cap, UINT32_MAX};
	struct plan_end a = *from, b = *to;
	struct plan_call again;
	struct plan_in how;

	a.continued = a.continued_most = b.continued = b.continued_most = cover;
	how = (struct plan_in){.call = in,
			       .hdr = hdr,
			       .body_len = body_len,
			       .header_len = header_len,
			       .from = &a,
			       .to = &b,
			       .reverse = reverse};
	plan_shape(&how);
	plan_call_form(&how, out);
	/* A second form needs only the first plan. */
	how.hdr = NULL;
	how.from = NULL;
	plan_call_again(&how, out, &again);
	assert_int_equal(again.form, out->form);
	assert_int_equal(again.reply_bytes, out->reply_bytes);
	assert_int_equal(again.expected, out->expected);
	assert_int_equal(again.only_way, out->only_way);
	assert_memory_equal(&again.error, &out->error, sizeof(again.error));
}

static inline void reply_form(const struct rpc_msg *call, size_t body_len,
			      const struct plan_end *to, size_t header_len, bool reverse,
			      size_t cap, struct plan_reply *out)
{
	struct plan_end b = *to;

	b.continued_most = (struct plan_cover){(uint32_t)cap, UINT32_MAX};
	plan_reply_form(&(struct plan_in){.call = call,
					  .body_len = body_len,
					  .header_len = header_len,
					  .to = &b,
					  .reverse = reverse},
			out);
}

static uint8_t stream[2048];

/* A call of NFSv3 procedure @proc, AUTH_SYS, whose last argument is @count, in @m's body. */
static inline size_t nfs3_call(struct rpc_msg *m, struct rpchdr *hdr, uint32_t proc, uint32_t count)
{
	static const uint32_t words[] = {7, 0, 2, 100003, 3};
	struct xdr_out x;

	xdr_out_init(&x, stream, sizeof(stream));
	for (unsigned i = 0; i < 5; i++)
		xdr_put_u32(&x, words[i]);
	xdr_put_u32(&x, proc);
	xdr_put_u32(&x, 1); /* AUTH_SYS: stamp, machine name, uid, gid, no groups */
	xdr_put_u32(&x, 24);
	for (unsigned i = 0; i < 6; i++)
		xdr_put_u32(&x, i == 1 ? 4 : 0);
	xdr_put_u64(&x, 0);
	xdr_put_opaque(&x, view_of("0123456789012345678901234567", 28));
	xdr_put_u64(&x, 0); /* offset or cookie */
	if (proc != 6)
		xdr_put_u64(&x, 0); /* cookie verifier */
	if (proc == 17)
		xdr_put_u32(&x, 512); /* dircount */
	xdr_put_u32(&x, count);
	assert_false(x.failed);
	rpc_msg_reset(m, 7, RPC_CALL);
	m->body[m->nbody++] = view_of(stream, xdr_out_len(&x));
	assert_int_equal(rpchdr_peek(hdr, m->body[0]), 0);
	return xdr_out_len(&x);
}

static inline void nfs4_getattr(struct rpc_msg *m, struct rpchdr *hdr, uint64_t attrs)
{
	const uint32_t words[] = {7, 0, 2, 100003, 4, 1, 0, 0, 0, 0, 0, 1, 1, 9, 2};
	struct xdr_out x;

	xdr_out_init(&x, stream, sizeof(stream));
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		xdr_put_u32(&x, words[i]);
	xdr_put_u32(&x, (uint32_t)attrs);
	xdr_put_u32(&x, (uint32_t)(attrs >> 32));
	rpc_msg_reset(m, 7, RPC_CALL);
	m->body[m->nbody++] = view_of(stream, xdr_out_len(&x));
	assert_int_equal(rpchdr_peek(hdr, m->body[0]), 0);
}

/* A chunk of @n equal segments in @m. */
static inline struct rpc_chunk chunk_of(struct rpc_msg *m, uint32_t n, uint32_t each)
{
	struct rpc_chunk c = {0};

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(
			rpc_msg_add_segment(
				m, &c,
				&(struct segment){.handle = i + 1, .length = each, .offset = 64}),
			0);
	return c;
}

static inline void offer_reply(struct rpc_msg *m, uint32_t bytes)
{
	m->has_reply = true;
	m->reply = chunk_of(m, 1, bytes);
}

static inline uint32_t reply_bytes(const struct rpc_msg *m, const struct rpchdr *hdr,
				   const struct plan_end *from, const struct plan_end *to,
				   bool reverse, size_t cap)
{
	struct plan_call out;

	call_form(m, 200, hdr, from, to, is_v1(to) ? V1_HDR : V2_CALL_HDR, reverse, cap, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	return out.reply_bytes;
}

#endif
