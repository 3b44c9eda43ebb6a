/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a call carries its data inline: the row "data item" of the re-chunking table of
 * docs/rechunking.md. */
#include "tests/proxy/plan_util.h"

enum { REST = 200, MIDDLE = 4096 - 20 };

static struct rpc_msg m;
static struct plan_call earlier, out;

static struct plan_end far_end(unsigned version)
{
	struct plan_end to = end_of(version, 4096);

	to.is_far = true;
	to.continued = (struct plan_cover){CAP, 9};
	to.continued_most = (struct plan_cover){CAP, 64};
	return to;
}

/* A WRITE of @data octets, and the rest of it. */
static bool joins(uint32_t data, const struct plan_end *to, bool reverse)
{
	const struct plan_in in = {.call = &m,
				   .body_len = REST + data,
				   .header_len = is_v1(to) ? V1_HDR : V2_CALL_HDR,
				   .to = to,
				   .reverse = reverse};

	return plan_call_joined(&in, &earlier, &out);
}

static void a_write(unsigned items)
{
	memset(&earlier, 0, sizeof(earlier));
	rpc_msg_reset(&m, 1, RPC_CALL);
	for (unsigned i = 0; i < items; i++)
		m.reads[m.nreads++] = chunk_of(&m, 3, 1 << 18);
}

static void only_over_a_far_hop(void **state)
{
	struct plan_end to = far_end(2);

	(void)state;
	a_write(1);
	assert_true(joins(8192, &to, false));
	to.is_far = false;
	assert_false(joins(8192, &to, false));
	assert_false(joins(100, &to, false));
}

static void inline_where_it_fits(void **state)
{
	(void)state;
	a_write(1);
	for (unsigned version = 1; version <= 2; version++) {
		struct plan_end to = far_end(version);
		uint32_t fits = 4096 - REST - (version == 1 ? V1_HDR : V2_CALL_HDR);

		assert_true(joins(fits, &to, false));
		assert_int_equal(out.form, PLAN_INLINE);
		/* Version 1 must fetch data that is longer. */
		assert_int_equal(joins(fits + 4, &to, false), version == 2);
	}
}

/* As far as credits cover it now, whatever comes back later; and what the peer is known to take. */
static void continued_where_it_is_covered(void **state)
{
	struct plan_end to = far_end(2);
	const uint32_t most = 4096 - V2_CALL_HDR - REST + 8 * MIDDLE;

	(void)state;
	a_write(1);
	assert_true(joins(most, &to, false));
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_false(out.only_way);
	assert_false(joins(most + 4, &to, false));
	to.continued.bytes = 20000;
	assert_true(joins(20000 - REST, &to, false));
	assert_false(joins(20004 - REST, &to, false));
	to = far_end(2);
	to.limits.continue_bytes = 10000;
	assert_true(joins(10000 - REST, &to, false));
	assert_false(joins(10004 - REST, &to, false));
	to.limits.continuation = false;
	assert_false(joins(8192, &to, false));
}

/* Where nothing else than to continue is possible the plan would have it wait. */
static void nothing_waits_for_credits(void **state)
{
	struct plan_end to = far_end(2);

	(void)state;
	a_write(1);
	to.continued.sends = 1;
	to.limits.no_external = true;
	assert_false(joins(8192, &to, false));
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_true(out.only_way);
}

/* The segments of a chunk that is none any more do not count. */
static void segments_are_those_that_are_left(void **state)
{
	struct plan_end to = far_end(2);

	(void)state;
	a_write(1);
	m.writes[m.nwrites++] = chunk_of(&m, 2, 1 << 20);
	to.limits.segment_count = 3; /* and the body's, if it came to that */
	assert_true(joins(8192, &to, false));
	earlier.offer = 8192;
	to.limits.segment_count = 4;
	assert_true(joins(8192, &to, false));
	assert_int_equal(out.reply_bytes, 8192);
}

static void one_item_has_room(void **state)
{
	struct plan_end to = far_end(2);

	(void)state;
	for (unsigned items = 0; items < 4; items++) {
		a_write(items);
		assert_int_equal(joins(8192, &to, false), items == 1);
	}
}

/* A server's call: what its level lets have chunks may go without them as well. */
static void in_the_reverse_direction(void **state)
{
	static const struct {
		enum rpc_reverse level;
		bool joins;
	} rows[] = {{RPC_REV_NONE, false},
		    {RPC_REV_SIMPLE, false},
		    {RPC_REV_CONT, false},
		    {RPC_REV_GENL, true}};

	(void)state;
	a_write(1);
	for (unsigned i = 0; i < 4; i++) {
		struct plan_end to = far_end(2);

		to.limits.reverse = rows[i].level;
		assert_int_equal(joins(8192, &to, true), rows[i].joins);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_over_a_far_hop),
		cmocka_unit_test(inline_where_it_fits),
		cmocka_unit_test(continued_where_it_is_covered),
		cmocka_unit_test(nothing_waits_for_credits),
		cmocka_unit_test(segments_are_those_that_are_left),
		cmocka_unit_test(one_item_has_room),
		cmocka_unit_test(in_the_reverse_direction),
	};

	return cmocka_run_group_tests_name("plan joined", tests, NULL, NULL);
}
