/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/err.h"
#include "rpc/msg.h"

static struct rpc_msg m;

static void reset_empties(void **state)
{
	(void)state;
	memset(&m, 0xff, sizeof(m));
	rpc_msg_reset(&m, 5, RPC_REPLY);
	assert_int_equal(m.xid, 5);
	assert_int_equal(m.dir, RPC_REPLY);
	assert_int_equal(rpc_msg_body_len(&m), 0);
	assert_int_equal(m.nreads + m.nwrites + m.nsegs, 0);
	assert_false(m.has_body_chunk);
	assert_false(m.has_reply);
	assert_int_equal(m.inv_handle, 0);
}

static void a_copy_ends_with_what_is_in_use(void **state)
{
	static struct rpc_msg copy;
	struct segment s = {7, 8, 9};

	(void)state;
	rpc_msg_reset(&m, 5, RPC_CALL);
	m.body[0] = view_of("abc", 3);
	m.nbody = 1;
	m.inv_handle = 7;
	m.reads[0] = m.writes[0] = m.reply = (struct rpc_chunk){.count = 0};
	m.nreads = m.nwrites = 1;
	m.has_reply = true;
	assert_int_equal(rpc_msg_add_segment(&m, &m.reads[0], &s), 0);
	assert_int_equal(rpc_msg_add_segment(&m, &m.writes[0], &s), 0);
	assert_int_equal(rpc_msg_add_segment(&m, &m.reply, &s), 0);
	memset(&copy, 0xee, sizeof(copy));
	rpc_msg_copy(&copy, &m);
	assert_int_equal(copy.xid, 5);
	assert_ptr_equal(copy.body[0].data, m.body[0].data);
	assert_int_equal(copy.inv_handle, 7);
	assert_int_equal(copy.reads[0].count + copy.writes[0].count + copy.reply.count, 3);
	assert_int_equal(copy.reply.first, 2);
	assert_int_equal(copy.segs[2].offset, 9);
	assert_int_equal(copy.reads[1].count, 0xeeee);
	assert_int_equal(copy.segs[3].handle, 0xeeeeeeee);
}

static void body_is_the_sum_of_its_views(void **state)
{
	(void)state;
	rpc_msg_reset(&m, 5, RPC_CALL);
	m.body[0] = view_of("abc", 3);
	m.body[1] = view_of("", 0);
	m.body[2] = view_of("de", 2);
	m.nbody = 3;
	assert_int_equal(rpc_msg_body_len(&m), 5);
}

static void chunks_follow_each_other(void **state)
{
	struct rpc_chunk a = {.count = 0}, b = {.count = 0};
	struct segment s = {7, UINT32_MAX, 9};

	(void)state;
	rpc_msg_reset(&m, 5, RPC_CALL);
	assert_int_equal(rpc_msg_add_segment(&m, &a, &s), 0);
	assert_int_equal(rpc_msg_add_segment(&m, &a, &s), 0);
	assert_int_equal(rpc_msg_add_segment(&m, &b, &s), 0);
	assert_int_equal(a.first, 0);
	assert_int_equal(a.count, 2);
	assert_true(a.length == 2 * (uint64_t)UINT32_MAX);
	assert_int_equal(b.first, 2);
	assert_int_equal(b.count, 1);
	assert_int_equal(m.segs[2].handle, 7);
}

static void table_has_an_end(void **state)
{
	struct rpc_chunk c = {.count = 0};
	struct segment s = {7, 1, 9};

	(void)state;
	rpc_msg_reset(&m, 5, RPC_CALL);
	for (int i = 0; i < RPC_MAX_SEGMENTS; i++)
		assert_int_equal(rpc_msg_add_segment(&m, &c, &s), 0);
	assert_int_equal(rpc_msg_add_segment(&m, &c, &s), ERR_TOOBIG);
	assert_int_equal(c.count, RPC_MAX_SEGMENTS);
	assert_true(c.length == RPC_MAX_SEGMENTS);
}

static void every_error_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i <= RPC_ERROR_SYSTEM; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(rpc_error_name((enum rpc_error_code)i),
						rpc_error_name((enum rpc_error_code)j));
	assert_string_equal(rpc_error_name((enum rpc_error_code)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_empties),
		cmocka_unit_test(a_copy_ends_with_what_is_in_use),
		cmocka_unit_test(body_is_the_sum_of_its_views),
		cmocka_unit_test(chunks_follow_each_other),
		cmocka_unit_test(table_has_an_end),
		cmocka_unit_test(every_error_has_a_name),
	};
	return cmocka_run_group_tests_name("rpc msg", tests, NULL, NULL);
}
