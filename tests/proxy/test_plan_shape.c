/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of chunks offered to a responder: the client's segments, or fewer, none of them
 * longer. */
#include "proxy/plan/segments.h"
#include "tests/proxy/plan_util.h"
#include "tests/rng.h"

enum { MIB = 1 << 20, PAD = 4, BODY = 200 };

static struct rpc_msg m;

static struct plan_in in_for(const struct plan_end *to)
{
	struct plan_in in = {.call = &m, .body_len = BODY, .to = to};

	plan_shape(&in);
	return in;
}

/* A Write chunk of @n segments of @each octets, and, if @pads, one of four behind them, as Linux offers it. */
static void a_read(unsigned n, uint32_t each, bool pads)
{
	const struct segment pad = {.handle = 99, .length = PAD};

	rpc_msg_reset(&m, 1, RPC_CALL);
	m.writes[0] = chunk_of(&m, n, each);
	m.nwrites = 1;
	if (pads)
		assert_int_equal(rpc_msg_add_segment(&m, &m.writes[0], &pad), 0);
}

/* The segments of that towards @to, in @cut. */
static unsigned cut_for(const struct plan_end *to, struct segment *cut)
{
	const struct plan_in in = in_for(to);
	const struct segment whole = {7, (uint32_t)m.writes[0].length, 1000};
	uint32_t runs[RPC_MAX_SEGMENTS];
	unsigned n = plan_runs(&m, &m.writes[0], &in.shape, runs);
	uint32_t most = in.shape.as_offered ? to->limits.segment_bytes : in.shape.most;
	int got = plan_cut(&whole, runs, n, most, cut, RPC_MAX_SEGMENTS);

	assert_true(got > 0);
	return (unsigned)got;
}

/* NFS-Ganesha 6.5 asserts that no segment is longer than 1 MiB: 1,048,575 octets and the pad are two. */
static void the_pad_stays_apart(void **state)
{
	struct segment cut[RPC_MAX_SEGMENTS];

	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		struct plan_end to = end_of(version, 4096);

		a_read(1, MIB - 1, true);
		assert_int_equal(cut_for(&to, cut), 2);
		assert_int_equal(cut[0].length, MIB - 1);
		assert_int_equal(cut[1].length, PAD);
		assert_int_equal(cut[1].offset, 1000 + MIB - 1);
		assert_int_equal(cut[1].handle, 7);
		a_read(1, 507, false);
		assert_int_equal(cut_for(&to, cut), 1);
		assert_int_equal(cut[0].length, 507);
		a_read(5, 333, true);
		assert_int_equal(cut_for(&to, cut), 6);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(cut[i].length, i < 5 ? 333 : PAD);
	}
}

/* Too many for the responder, or for its Sends: the data are joined, the pad is not. */
static void too_many_are_joined(void **state)
{
	struct plan_end to = end_of(1, 4096);
	struct segment cut[RPC_MAX_SEGMENTS];

	(void)state;
	a_read(16, 333, true);
	assert_int_equal(cut_for(&to, cut), 2);
	assert_int_equal(cut[0].length, 16 * 333);
	assert_int_equal(cut[1].length, PAD);
	to.limits.segment_count = 256;
	assert_int_equal(cut_for(&to, cut), 17);
	a_read(200, 333, true);
	assert_int_equal(cut_for(&to, cut), 2);
	to = end_of(1, 1024);
	to.limits.segment_count = 256;
	a_read(20, 333, true);
	assert_int_equal(cut_for(&to, cut), 21);
	a_read(40, 333, true);
	assert_int_equal(cut_for(&to, cut), 2);
}

/* The data take all segments that the responder takes: the pad is joined with them, rather than that the call is
 * refused. */
static void a_pad_is_no_segment_too_many(void **state)
{
	enum { EACH = 64 << 10, MOST = 16 };
	struct plan_end from = end_of(1, 4096), to = end_of(2, 4096);
	struct segment cut[RPC_MAX_SEGMENTS];
	struct plan_call out;
	struct rpchdr hdr;

	(void)state;
	to.limits.segment_bytes = EACH;
	to.limits.segment_count = MOST;
	for (uint32_t data = (MOST - 2) * EACH + 1; data < MOST * EACH; data += EACH) {
		unsigned n = data / EACH + 1;

		a_read(1, data, true);
		assert_int_equal(cut_for(&to, cut), n < MOST ? n + 1 : MOST);
		assert_int_equal(cut[n - 1].length, n < MOST ? 1 : 1 + PAD);
		nfs3_call(&m, &hdr, 6, data);
		m.writes[0] = chunk_of(&m, 1, data);
		m.nwrites = 1;
		assert_int_equal(
			rpc_msg_add_segment(&m, &m.writes[0], &(struct segment){99, PAD, 0}), 0);
		call_form(&m, BODY, &hdr, &from, &to, V2_CALL_HDR, false, CAP, &out);
		assert_int_equal(out.form, PLAN_INLINE);
	}
}

/* Several segments that become one region are cut so that none is longer than any of the client's,
 * unless that makes too many. */
static void what_is_joined_is_cut(void **state)
{
	struct plan_end to = end_of(1, 4096), newer = end_of(2, 4096);

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	assert_int_equal(in_for(&to).shape.most, MIB);
	m.reads[m.nreads++] = chunk_of(&m, 2, 4 * MIB);
	assert_int_equal(in_for(&to).shape.most, MIB);
	offer_reply(&m, 8 * MIB);
	assert_int_equal(in_for(&to).shape.most, UINT32_MAX);
	newer.limits.segment_bytes = 8 * MIB;
	assert_int_equal(in_for(&newer).shape.most, 8 * MIB);
}

/* The Reply chunk for a READ of 1 MiB without a Write chunk, by a requester that offered none. */
static void a_long_reply_chunk_is_cut(void **state)
{
	struct plan_end from = end_of(2, 4096), to = end_of(1, 4096);
	struct plan_call out;
	struct rpchdr hdr;

	(void)state;
	nfs3_call(&m, &hdr, 6, MIB);
	to.limits.segment_count = 1;
	call_form(&m, BODY, &hdr, &from, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE); /* rather one segment than none */
	assert_true(out.reply_bytes > MIB);
	to.limits.segment_count = 16;
	to.limits.send_bytes = 1024;
	/* RFC 8166 4.3.2: 4 octets of header, 16 a segment: two, where there is room for two. */
	call_form(&m, 1024 - V1_HDR - 4 - 2 * 16, &hdr, &from, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	call_form(&m, 1024 - V1_HDR - 4 - 2 * 16 + 4, &hdr, &from, &to, V1_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
}

/* Any requester: the sum is the same, nothing is longer than it was, and no responder gets more than it takes. */
static void any_chunk(void **state)
{
	struct rng r = rng_seeded("shape", 1);

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		struct plan_end to = end_of(1 + rng_below(&r, 2), 1024u << rng_below(&r, 3));
		struct segment cut[RPC_MAX_SEGMENTS];
		unsigned n = 1 + rng_below(&r, rng_below(&r, 2) ? 20 : 200), got;
		uint32_t each = rng_below(&r, 2 * MIB / n);
		uint64_t sum = 0;

		to.limits.segment_count = 4 + rng_below(&r, 40);
		a_read(n, each, rng_below(&r, 2));
		if (m.writes[0].length == 0)
			continue;
		got = cut_for(&to, cut);
		assert_true(got <= to.limits.segment_count);
		for (unsigned k = 0; k < got; k++) {
			assert_int_equal(cut[k].offset, 1000 + sum);
			assert_true(cut[k].length > 0 && cut[k].length <= 2 * MIB);
			sum += cut[k].length;
		}
		assert_int_equal(sum, m.writes[0].length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pad_stays_apart),
		cmocka_unit_test(too_many_are_joined),
		cmocka_unit_test(a_pad_is_no_segment_too_many),
		cmocka_unit_test(what_is_joined_is_cut),
		cmocka_unit_test(a_long_reply_chunk_is_cut),
		cmocka_unit_test(any_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
