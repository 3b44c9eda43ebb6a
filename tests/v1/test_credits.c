/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls in flight never exceed what was asked for or granted: RFC 8166 section 3.3. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/v1/gen.h"
#include "v1/conn.h"

static struct v1_conn conn;
static uint8_t wire[128];

static void be(enum rpc_role role, uint32_t credits, uint32_t rev_credits)
{
	struct rpc_params p = gen_params(role);

	p.credits = credits;
	p.rev_credits = rev_credits;
	assert_int_equal(v1_conn_init(&conn, &p, NULL), 0);
}

static int call_out_as(uint32_t xid)
{
	uint8_t body[40], hdr[64];
	struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m};
	size_t hl, bl;
	bool may;
	int rc;

	gen_simple(&m, body, xid, RPC_CALL);
	may = conn.t.ops->may_send(&conn.t, &tx);
	rc = conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hl, &bl);
	assert_int_equal(may, rc == 0);
	assert_true(rc == 0 || rc == ERR_AGAIN);
	return rc;
}

static int call_out(void)
{
	return call_out_as(1);
}

static enum rpc_rx_kind receive(const struct xdr_out *x)
{
	struct rpc_rx rx;

	assert_int_equal(conn.t.ops->recv(&conn.t, view_of(wire, xdr_out_len(x)), &rx), 0);
	return rx.kind;
}

static enum rpc_rx_kind reply_to(uint32_t xid, uint32_t credit)
{
	struct xdr_out x;

	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, xid, 1, credit, V1_MSG);
	GEN_WORDS(&x, 0, 0, 0, xid, 1, 0, 0, 0, 0);
	return receive(&x);
}

static void replies_with(uint32_t credit)
{
	(void)reply_to(1, credit);
}

static unsigned calls_until_blocked(void)
{
	unsigned n = 0;

	while (call_out() == 0)
		n++;
	return n;
}

static void one_before_the_first_reply(void **state)
{
	(void)state;
	be(RPC_INITIATOR, 32, 0);
	assert_int_equal(conn.t.ops->call_credits(&conn.t), 1);
	assert_int_equal(calls_until_blocked(), 1);
	replies_with(10);
	assert_int_equal(calls_until_blocked(), 10);
}

static void the_smaller_of_asked_and_granted(void **state)
{
	(void)state;
	be(RPC_INITIATOR, 8, 0);
	assert_int_equal(call_out(), 0);
	replies_with(100);
	assert_int_equal(conn.t.ops->call_credits(&conn.t), 8);
	assert_int_equal(calls_until_blocked(), 8);
	replies_with(3); /* shrinks below what is in flight: wait until it is less */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(call_out(), ERR_AGAIN);
		replies_with(3);
	}
	assert_int_equal(conn.calls.in_flight, 3);
	assert_int_equal(call_out(), ERR_AGAIN);
	replies_with(3);
	assert_int_equal(calls_until_blocked(), 1);
}

static void zero_counts_as_one(void **state)
{
	(void)state;
	be(RPC_INITIATOR, 8, 0);
	assert_int_equal(call_out(), 0);
	replies_with(0);
	assert_int_equal(calls_until_blocked(), 1);
}

static void huge_grants_are_clamped(void **state)
{
	(void)state;
	be(RPC_INITIATOR, UINT32_MAX, 0);
	assert_int_equal(call_out(), 0);
	replies_with(UINT32_MAX);
	assert_int_equal(conn.t.ops->call_credits(&conn.t), V1_MAX_CREDITS);
	conn.t.ops->set_credits(&conn.t, UINT32_MAX);
	assert_int_equal(conn.t.ops->call_credits(&conn.t), V1_MAX_CREDITS);
}

static void reverse_calls_have_their_own(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR, 32, 4);
	assert_int_equal(calls_until_blocked(), 1);
	replies_with(2);
	assert_int_equal(calls_until_blocked(), 2);
	be(RPC_ACCEPTOR, 32, 0); /* asked for none */
	assert_int_equal(conn.t.ops->call_credits(&conn.t), 0);
	assert_int_equal(calls_until_blocked(), 0);
}

static void replies_and_errors_need_none(void **state)
{
	uint8_t body[40], hdr[64];
	struct rpc_error e = {RPC_ERROR_CHUNK, 0, 0};
	struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m, .reverse = true};
	size_t hl, bl;

	(void)state;
	be(RPC_INITIATOR, 8, 2);
	assert_int_equal(calls_until_blocked(), 1);
	gen_simple(&m, body, 9, RPC_REPLY);
	for (int i = 0; i < 10; i++) {
		tx.body_sent = 0;
		assert_true(conn.t.ops->may_send(&conn.t, &tx));
		assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hl, &bl), 0);
		assert_int_equal(conn.t.ops->report(&conn.t, 3, RPC_CALL, &e), 0);
		assert_int_equal(conn.t.ops->control(&conn.t, hdr, sizeof(hdr)), 20);
	}
	assert_int_equal(conn.calls.in_flight, 1);
}

/* RFC 8166 section 3.3.1: a call without an answer counts, whether or not the gateway still waits for the answer. */
static void forgotten_calls_keep_theirs(void **state)
{
	(void)state;
	be(RPC_INITIATOR, 8, 2);
	conn.t.ops->forget(&conn.t, 1); /* none in flight: nothing to know */
	assert_int_equal(conn.t.late.n, 0);
	assert_int_equal(call_out_as(77), 0);
	conn.t.ops->forget(&conn.t, 77);
	assert_int_equal(calls_until_blocked(), 0);
	assert_int_equal(reply_to(77, 4), RPC_RX_NONE);
	assert_int_equal(calls_until_blocked(), 1);
}

static enum rpc_rx_kind error_about(uint32_t xid)
{
	struct xdr_out x;

	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, xid, 1, 8, V1_ERROR);
	GEN_WORDS(&x, V1_ERR_CHUNK);
	return receive(&x);
}

/* A Write list that never ends. */
static enum rpc_rx_kind bad_reply_to(uint32_t xid)
{
	struct xdr_out x;

	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, xid, 1, 8, V1_MSG);
	GEN_WORDS(&x, 0, 1, 77, xid, 1, 0, 0, 0, 0);
	return receive(&x);
}

/* A late answer is nobody's, but for the credit that it frees; the grant in it is no news. */
static void answers_to_forgotten_calls_free_their_credits(void **state)
{
	enum rpc_rx_kind (*const answers[])(uint32_t) = {error_about, bad_reply_to};

	(void)state;
	be(RPC_INITIATOR, 8, 2);
	assert_int_equal(call_out_as(1), 0);
	assert_int_equal(reply_to(1, 4), RPC_RX_MSG);
	for (uint32_t xid = 10; xid < 14; xid++)
		assert_int_equal(call_out_as(xid), 0);
	for (uint32_t xid = 10; xid < 14; xid++)
		conn.t.ops->forget(&conn.t, xid);
	assert_int_equal(call_out_as(20), ERR_AGAIN);
	assert_int_equal(reply_to(10, 8), RPC_RX_NONE);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(answers[i](11 + i), RPC_RX_NONE);
	assert_int_equal(conn.calls.in_flight, 1);
	assert_int_equal(conn.t.count.late, 3);
	assert_int_equal(conn.t.count.errors_received, 0);
	for (uint32_t xid = 20; xid < 23; xid++)
		assert_int_equal(call_out_as(xid), 0);
	assert_int_equal(call_out_as(30), ERR_AGAIN);
	/* Answered once; the next like it is another's. */
	assert_int_equal(reply_to(20, 4), RPC_RX_MSG);
	assert_int_equal(reply_to(13, 4), RPC_RX_NONE);
	assert_int_equal(error_about(21), RPC_RX_ERROR);
	assert_int_equal(bad_reply_to(22), RPC_RX_ERROR);
	assert_int_equal(conn.calls.in_flight, 0);
}

/* A peer that grants, shrinks and errs as it likes, a user that sends whenever it may. */
static void never_more_than_granted(void **state)
{
	struct rng r = rng_seeded("v1 credits", 4);

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint32_t asked = 1 + rng_below(&r, 20), granted = 1, in_flight = 0;
		bool initiator = rng_below(&r, 2);

		be(initiator ? RPC_INITIATOR : RPC_ACCEPTOR, initiator ? asked : 5,
		   initiator ? 5 : asked);
		for (int step = 0; step < 300; step++) {
			if (rng_below(&r, 2)) {
				uint32_t limit = granted < asked ? granted : asked;

				assert_int_equal(call_out() == 0, in_flight < limit);
				in_flight += in_flight < limit;
				assert_true(in_flight <= asked);
			} else if (in_flight) {
				uint32_t credit = rng_below(&r, 25);

				replies_with(credit);
				granted = credit ? credit : 1;
				in_flight--;
			}
			assert_int_equal(conn.calls.in_flight, in_flight);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_before_the_first_reply),
		cmocka_unit_test(the_smaller_of_asked_and_granted),
		cmocka_unit_test(zero_counts_as_one),
		cmocka_unit_test(huge_grants_are_clamped),
		cmocka_unit_test(reverse_calls_have_their_own),
		cmocka_unit_test(replies_and_errors_need_none),
		cmocka_unit_test(forgotten_calls_keep_theirs),
		cmocka_unit_test(answers_to_forgotten_calls_free_their_credits),
		cmocka_unit_test(never_more_than_granted),
	};
	return cmocka_run_group_tests_name("v1 credits", tests, NULL, NULL);
}
