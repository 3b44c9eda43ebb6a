/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to abandoned Calls are dropped, whole or in parts, without a report. */
#include "tests/v2/conn_util.h"

/* Reply 5: 8 octets of 20, 8 more, the last 4. */
#define REPLY_5A "00000005 00000002 00000040 0000000c 0000000c 00000005 00000001"
#define REPLY_5B "00000005 00000002 00000040 0000000c 00000004 11111111 22222222"
#define REPLY_5C "00000005 00000002 00000040 0000000d 00000000 33333333"
#define ERROR_5 "00000005 00000002 00000040 00000004 00000064"

static void expect_dropped(uint64_t late)
{
	assert_int_equal(conn.t.count.late, late);
	assert_int_equal(conn.t.late.n, 0);
	expect_silence();
	expect(REPLY_2, RPC_RX_MSG);
	assert_false(rx.continued);
}

static void whole(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 2);
	expect(REPLY_2, RPC_RX_NONE);
	assert_false(rx.abandon);
	expect_dropped(1);
}

static void report(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 5);
	expect(ERROR_5, RPC_RX_NONE);
	expect_dropped(1);
	expect(ERROR_5, RPC_RX_ERROR);
}

static void all_parts(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 5);
	expect(REPLY_5A, RPC_RX_NONE);
	expect(REPLY_5B, RPC_RX_NONE);
	expect(REPLY_5C, RPC_RX_NONE);
	expect_dropped(1);
}

/* Let go between the parts: what came before is given up with what comes. */
static void later_parts(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	expect(REPLY_5A, RPC_RX_PART);
	conn.t.ops->forget(&conn.t, 5);
	expect(REPLY_5B, RPC_RX_NONE);
	assert_true(rx.abandon);
	expect(REPLY_5C, RPC_RX_NONE);
	assert_false(rx.abandon);
	expect_dropped(1);

	expect(REPLY_5A, RPC_RX_PART);
	expect(REPLY_5B, RPC_RX_PART);
	conn.t.ops->forget(&conn.t, 5);
	expect(REPLY_5C, RPC_RX_NONE);
	assert_true(rx.abandon);
	expect_dropped(2);
}

/* The other end's own Calls have XIDs of their own. */
static void a_call_of_that_xid_is_none(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 1);
	expect(CALL_1, RPC_RX_MSG);
	assert_int_equal(conn.t.late.n, 1);
}

/* A call with that XID goes out again. */
static void call_again(uint32_t xid)
{
	rpc_late_again(&conn.t.late, xid);
}

/* The responder answers both: the first answer is that of the call which waits, in parts or whole. */
static void of_two_answers_one_is_late(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 5);
	call_again(5);
	expect(REPLY_5A, RPC_RX_PART);
	expect(REPLY_5B, RPC_RX_PART);
	expect(REPLY_5C, RPC_RX_MSG);
	assert_int_equal(conn.t.count.late, 0);
	expect(REPLY_5A, RPC_RX_NONE);
	expect(REPLY_5B, RPC_RX_NONE);
	expect(REPLY_5C, RPC_RX_NONE);
	expect_dropped(1);

	conn.t.ops->forget(&conn.t, 5);
	call_again(5);
	expect(ERROR_5, RPC_RX_ERROR);
	expect(REPLY_5A, RPC_RX_NONE);
	expect(REPLY_5B, RPC_RX_NONE);
	expect(REPLY_5C, RPC_RX_NONE);
	expect_dropped(2);
}

/* The second is let go as well, while its answer is coming: so are its parts, though it is sent once more meanwhile. */
static void both_let_go(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	conn.t.ops->forget(&conn.t, 5);
	call_again(5);
	expect(REPLY_5A, RPC_RX_PART);
	conn.t.ops->forget(&conn.t, 5);
	call_again(5);
	expect(REPLY_5B, RPC_RX_NONE);
	assert_true(rx.abandon);
	expect(REPLY_5C, RPC_RX_NONE);
	assert_int_equal(conn.t.late.n, 1);
	expect(ERROR_5, RPC_RX_ERROR);
	expect(ERROR_5, RPC_RX_NONE);
	expect_dropped(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(report),
		cmocka_unit_test(all_parts),
		cmocka_unit_test(later_parts),
		cmocka_unit_test(a_call_of_that_xid_is_none),
		cmocka_unit_test(of_two_answers_one_is_late),
		cmocka_unit_test(both_let_go),
	};

	return cmocka_run_group_tests_name("v2 late", tests, NULL, NULL);
}
