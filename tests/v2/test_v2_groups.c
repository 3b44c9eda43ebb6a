/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of several transmissions (docs/rtrext-profile.md, section 4) over version 2, to abandoned
 * calls. */
#include "tests/v2/conn_util.h"

enum { RECV = 4096, BULK = 8192 };

static uint8_t bulk[BULK];

/* The first of two transmissions of the answer to call 5, or the other one. Its Receive is kept by its user. */
static void feed_part(bool is_first, const char *hex)
{
	static uint8_t octets[2][RECV];
	static struct rpc_octets held;
	uint8_t *at = octets[!is_first];

	memset(at, 0, RECV);
	(void)unhex(hex, at);
	conn.t.bulk = view_of(bulk, is_first ? BULK : 100);
	conn.t.held = &held;
	conn.t.nheld = !is_first;
	assert_int_equal(conn.t.ops->recv(&conn.t, view_of(at, RECV), &rx), 0);
	held = (struct rpc_octets){view_of(octets[0], RECV), view_of(bulk, BULK)};
}

#define CONTINUE(number, began) "00000005 00000002 00000040 52540007 " number " " began " 00000000"

static void feed_of_two(bool is_first)
{
	feed_part(is_first, is_first ? "00000005 00000002 00000040 52540006 "
				       "00000001 00000000 00002064 00000002 00000000 00000002 "
				       "00000000 00000001 00000002 00000008 00000005 00000000"
				     : CONTINUE("00000001", "52540006"));
}

static void begin_group(void)
{
	struct rpc_params own = conn_params(RPC_INITIATOR);

	own.bulk_bytes = BULK;
	own.transmissions = RPC_MAX_TRANSMISSIONS;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
	expect_props();
	expect(PEER_FINAL, RPC_RX_READY);
	feed_of_two(true);
	assert_int_equal(rx.kind, RPC_RX_HELD);
	assert_int_equal(rx.xid, 5);
	assert_int_equal(rx.group_dir, RPC_REPLY);
}

/* The call was let go, and went again, while the first part of this answer was here: the second has one of its own. */
static void a_group_for_what_was_let_go_meanwhile(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		begin_group();
		if (i > 0)
			conn.t.ops->forget(&conn.t, 5);
		if (i > 1)
			rpc_late_again(&conn.t.late, 5);
		feed_of_two(false);
		assert_int_equal(rx.kind, i ? RPC_RX_NONE : RPC_RX_GROUP);
		assert_int_equal(rx.abandon, i > 0);
		assert_int_equal(conn.t.count.late, i > 0);
		conn.t.nheld = 0;
		feed_of_two(true);
		feed_of_two(false);
		assert_int_equal(rx.kind, RPC_RX_GROUP);
		expect_silence();
	}
}

/* The call was abandoned before: sending it again meanwhile makes no difference. */
static void a_group_for_what_was_let_go_before(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin_group();
		feed_of_two(false);
		conn.t.ops->forget(&conn.t, 5);
		if (i == 0)
			rpc_late_again(&conn.t.late, 5);
		feed_of_two(true);
		if (i == 1)
			rpc_late_again(&conn.t.late, 5);
		feed_of_two(false);
		assert_int_equal(rx.kind, i ? RPC_RX_NONE : RPC_RX_GROUP);
		feed_of_two(true);
		feed_of_two(false);
		assert_int_equal(rx.kind, i ? RPC_RX_GROUP : RPC_RX_NONE);
		assert_int_equal(conn.t.count.late, 1);
		assert_int_equal(conn.t.late.n, 0);
	}
}

/* Where it breaks off only the call fails that it was the answer to. */
static void a_group_that_breaks_off(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin_group();
		if (i == 1) {
			conn.t.ops->forget(&conn.t, 5);
			rpc_late_again(&conn.t.late, 5);
		}
		conn.t.bulk = view_of(NULL, 0);
		conn.t.nheld = 1;
		expect(REPLY_2, RPC_RX_ERROR);
		assert_int_equal(rx.xid, i ? 2 : 5);
		assert_true(rx.abandon);
		assert_int_equal(rx.also, !i);
		assert_int_equal(conn.t.count.late, i);
	}
}

/* A continue of what began with another type is one of this group, as its XID is: the prefix tells no direction. Nor is number
 * 0 malformed. */
static void a_continue_of_something_else(void **state)
{
	static const struct {
		const char *part, *report;
	} cases[] = {
		{CONTINUE("00000001", "00000006"), "00000001 00000001 00000005 00000001 00000000 "
						   "00000002 52540006 00000006"},
		{CONTINUE("00000001", "52540005"), "00000001 00000001 00000005 00000001 00000000 "
						   "00000002 52540006 52540005"},
		{CONTINUE("00000000", "52540006"), "00000000 00000001 00000005 00000001 00000000 "
						   "00000004 00000001 00000000"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char report[512];

		begin_group();
		feed_part(false, cases[i].part);
		assert_int_equal(rx.kind, RPC_RX_ERROR);
		assert_int_equal(rx.xid, 5);
		assert_true(rx.abandon);
		snprintf(report, sizeof(report),
			 "00000005 00000002 00000000 52540008 00000005 00000001 %s",
			 cases[i].report);
		expect_out(report);
		expect_silence();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_for_what_was_let_go_meanwhile),
		cmocka_unit_test(a_group_for_what_was_let_go_before),
		cmocka_unit_test(a_group_that_breaks_off),
		cmocka_unit_test(a_continue_of_something_else),
	};

	return cmocka_run_group_tests_name("v2 groups", tests, NULL, NULL);
}
