/* SPDX-License-Identifier: BSD-2-Clause */
/* The table in v1/conn.c, one test for each row: how a malformed message is handled. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/v1/gen.h"
#include "v1/conn.h"

static struct v1_conn conn;
static struct rpc_rx rx;
static uint8_t wire[GEN_BUF_BYTES];
static struct xdr_out x;

static void be(enum rpc_role role)
{
	struct rpc_params p = gen_params(role);

	assert_int_equal(v1_conn_init(&conn, &p, NULL), 0);
}

static void begin(uint32_t xid, uint32_t vers, uint32_t credit, uint32_t proc)
{
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, xid, vers, credit, proc);
}

static void put_rpc(uint32_t xid, enum rpc_dir dir)
{
	uint8_t body[40];
	size_t len = gen_rpc(body, xid, dir);

	for (size_t i = 0; i < len; i += 4)
		xdr_put_u32(&x, xdr_peek_u32(body + i));
}

static int recv_rc(void)
{
	return conn.t.ops->recv(&conn.t, view_of(wire, xdr_out_len(&x)), &rx);
}

static void recv_kind(enum rpc_rx_kind kind)
{
	assert_int_equal(recv_rc(), 0);
	assert_int_equal(rx.kind, kind);
}

static void call_out(uint32_t xid)
{
	uint8_t body[40], hdr[64];
	struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m};
	size_t hl, bl;

	gen_simple(&m, body, xid, RPC_CALL);
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hl, &bl), 0);
}

/* Exactly one report is waiting, and it says that. */
static void assert_report(const uint32_t *words, unsigned n)
{
	uint8_t out[64];

	assert_int_equal(conn.t.ops->control(&conn.t, out, 4 * n - 1), ERR_NOSPACE);
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 4 * n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(xdr_peek_u32(out + 4 * i), words[i]);
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 0);
}
#define ASSERT_REPORT(...)                                                                         \
	assert_report((const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void assert_dropped(uint64_t n)
{
	uint8_t out[64];

	assert_int_equal(conn.t.count.dropped, n);
	assert_int_equal(conn.t.count.invalid, 0);
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 0);
}

static void malformed_call_draws_err_chunk(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	begin(77, 1, 8, V1_MSG);
	GEN_WORDS(&x, 5, 0, 0); /* direction cannot be seen */
	put_rpc(77, RPC_CALL);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(77, 1, 32, V1_ERROR, V1_ERR_CHUNK);
	begin(78, 1, 8, V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(79, RPC_CALL); /* not the header's XID */
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(78, 1, 32, V1_ERROR, V1_ERR_CHUNK);
	begin(80, 1, 8, 9); /* no such type */
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(80, 1, 32, V1_ERROR, V1_ERR_CHUNK);
	begin(81, 1, 8, V1_NOMSG); /* nothing to read a call from */
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 1000, 3, 4);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(81, 1, 32, V1_ERROR, V1_ERR_CHUNK);
	assert_int_equal(conn.t.count.invalid, 4);
	assert_int_equal(conn.t.count.errors_sent, 4);
}

/* rfc5666bis-01 section 5.5: the version received is echoed, the range is ours. */
static void other_version_draws_err_vers(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	for (uint32_t vers = 0; vers < 4; vers++) {
		if (vers == 1 || vers == 2)
			continue;
		begin(77, vers, 8, 5);
		recv_kind(RPC_RX_NONE);
		ASSERT_REPORT(77, vers, 32, V1_ERROR, V1_ERR_VERS, 1, 2);
	}
}

/* Draft-07 7.1.2: "1 to 2 are spoken" would be no answer to version 2. */
static void version_2_on_a_version_1_connection(void **state)
{
	struct rpc_params p = gen_params(RPC_ACCEPTOR);

	(void)state;
	be(RPC_ACCEPTOR);
	begin(77, 2, 8, 7);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(77, 2, 32, V1_ERROR, V1_ERR_VERS_MISMATCH);
	/* Where it is not spoken, the range says so. */
	p.vers_high = 1;
	assert_int_equal(v1_conn_init(&conn, &p, NULL), 0);
	begin(78, 2, 8, 7);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(78, 2, 32, V1_ERROR, V1_ERR_VERS, 1, 1);
}

/* Otherwise two peers would answer each other for ever. */
static void errors_are_never_answered(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		begin(1, 2, 8, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_VERS, 1, 1);
		recv_kind(RPC_RX_NONE);
		begin(1, 1, 8, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_CHUNK);
		recv_kind(RPC_RX_NONE);
		begin(1, 1, 8, V1_ERROR);
		GEN_WORDS(&x, 99);
		recv_kind(RPC_RX_NONE);
		begin(1, 1, 8, V1_ERROR);
		recv_kind(RPC_RX_NONE);
		assert_dropped(4);
	}
}

static void a_peer_without_version_1_is_left(void **state)
{
	static const uint32_t ranges[][2] = {{2, 2}, {2, UINT32_MAX}, {0, 0}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		be(RPC_INITIATOR);
		begin(5, 1, 8, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_VERS, ranges[i][0], ranges[i][1]);
		recv_kind(RPC_RX_NONE); /* about nothing */
		call_out(5);
		begin(5, 2, 8, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_VERS, ranges[i][0], ranges[i][1]);
		assert_int_equal(recv_rc(), ERR_VERS);
	}
	be(RPC_INITIATOR);
	call_out(5);
	begin(5, 1, 8, V1_ERROR);
	GEN_WORDS(&x, V1_ERR_VERS, 2, 1); /* no range: like any other error */
	recv_kind(RPC_RX_ERROR);
}

static void errors_about_a_call_come_up(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		call_out(5);
		begin(5, 1, 8, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_CHUNK);
		recv_kind(RPC_RX_ERROR);
		assert_int_equal(rx.xid, 5);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		assert_int_equal(rx.error.code, RPC_ERROR_CHUNK);
		assert_int_equal(conn.calls.in_flight, 0);
		assert_int_equal(conn.calls.granted, 8);
		call_out(6);
		begin(6, 2, 99, V1_ERROR);
		GEN_WORDS(&x, V1_ERR_VERS, 1, 4);
		recv_kind(RPC_RX_ERROR);
		assert_int_equal(rx.error.code, RPC_ERROR_VERS);
		assert_int_equal(rx.error.a, 1);
		assert_int_equal(rx.error.b, 4);
		assert_int_equal(conn.calls.granted, 8); /* not version 1: no grant */
		call_out(7);
		begin(7, 1, 8, V1_ERROR);
		GEN_WORDS(&x, 99); /* whatever it is, no reply will come */
		recv_kind(RPC_RX_ERROR);
		assert_int_equal(rx.error.code, RPC_ERROR_CHUNK);
		assert_int_equal(conn.t.count.errors_received, 3);
	}
}

static void unparsable_reply_fails_its_call(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	call_out(5);
	begin(5, 1, 8, V1_MSG);
	GEN_WORDS(&x, 1, 40, 1, 2, 3, 4, 0, 0, 0); /* a reply with a Read list */
	put_rpc(5, RPC_REPLY);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.xid, 5);
	assert_int_equal(rx.error.code, RPC_ERROR_BAD_XDR);
	assert_int_equal(conn.calls.in_flight, 0);
	assert_int_equal(conn.calls.granted, 1); /* its credit was not believed */
	call_out(6);
	begin(6, 1, 8, V1_MSG);
	GEN_WORDS(&x, 0, 7, 0); /* direction cannot be seen: to an initiator it is a reply */
	recv_kind(RPC_RX_ERROR);
	call_out(7);
	begin(7, 3, 8, V1_MSG); /* another version: to an initiator the same */
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(conn.calls.in_flight, 0);
	recv_kind(RPC_RX_NONE); /* ... unless nothing is in flight */
	assert_dropped(4);
}

static void reverse_reply_with_chunks_fails_its_call(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	call_out(5);
	begin(5, 1, 2, V1_MSG);
	GEN_WORDS(&x, 0, 1, 1, 1, 2, 3, 4, 0, 0);
	put_rpc(5, RPC_REPLY);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_BAD_XDR);
	assert_dropped(1);
}

/* rfc5666bis-01 section 8.3.4: a reverse call is an RDMA_MSG, all three lists empty. */
static void reverse_call_with_chunks_draws_err_chunk(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	begin(5, 1, 2, V1_MSG);
	GEN_WORDS(&x, 0, 0, 1, 1, 1, 2, 3, 4);
	put_rpc(5, RPC_CALL);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(5, 1, 2, V1_ERROR, V1_ERR_CHUNK);
	begin(6, 1, 2, V1_NOMSG);
	GEN_WORDS(&x, 1, 0, 1, 200, 3, 4, 0, 0, 0);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(6, 1, 2, V1_ERROR, V1_ERR_CHUNK);
	assert_int_equal(conn.t.count.invalid, 2);
}

static void reverse_call_without_support_draws_err_chunk(void **state)
{
	struct rpc_params p = gen_params(RPC_INITIATOR);

	(void)state;
	for (int why = 0; why < 2; why++) {
		p.reverse = why ? RPC_REV_NONE : RPC_REV_SIMPLE;
		p.rev_credits = why ? 2 : 0;
		assert_int_equal(v1_conn_init(&conn, &p, NULL), 0);
		begin(5, 1, 2, V1_MSG);
		GEN_WORDS(&x, 0, 0, 0);
		put_rpc(5, RPC_CALL);
		recv_kind(RPC_RX_NONE);
		/* the field MUST NOT be 0: section 8.2.1 */
		ASSERT_REPORT(5, 1, why ? 2 : 1, V1_ERROR, V1_ERR_CHUNK);
	}
}

/* The first @len octets of what was begun. */
static void recv_first(size_t len, enum rpc_rx_kind kind)
{
	assert_int_equal(conn.t.ops->recv(&conn.t, view_of(wire, len), &rx), 0);
	assert_int_equal(rx.kind, kind);
}

/* The user alone knows whether a call of that XID waits; until then nothing has changed. */
static void cut_fails(uint32_t xid, size_t len)
{
	call_out(xid);
	recv_first(len, RPC_RX_ERROR);
	assert_int_equal(rx.xid, xid);
	assert_int_equal(rx.error_dir, RPC_REPLY);
	assert_int_equal(rx.error.code, RPC_ERROR_BAD_XDR);
	if (rx.cut) {
		assert_int_equal(conn.calls.in_flight, 1);
		conn.t.ops->cut(&conn.t, xid);
	}
	assert_int_equal(conn.calls.in_flight, 0);
	assert_int_equal(conn.calls.granted, 1); /* section 8.3.3: the credit is not believed */
	assert_int_equal(conn.t.ops->control(&conn.t, wire + 100, 64), 0);
}

/* rfc5666bis-01 section 5.5: what cannot be parsed and names a call in flight ends it, or it would wait for ever. */
static void answers_cut_short_fail_their_call(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	begin(5, 1, 800, V1_ERROR);
	GEN_WORDS(&x, V1_ERR_VERS, 1, 1);
	for (size_t len = 16; len < 28; len++)
		cut_fails(5, len);
	begin(5, 1, 800, V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(5, RPC_REPLY);
	for (size_t len = 16; len < 28 + 8; len++)
		cut_fails(5, len);
	/* A report about a reverse call: responders alone send reports. */
	be(RPC_ACCEPTOR);
	begin(5, 1, 800, V1_ERROR);
	GEN_WORDS(&x, V1_ERR_VERS, 1, 1);
	for (size_t len = 16; len < 28; len++)
		cut_fails(5, len);
}

/* ... but not one that was let go, whose credit comes back, nor what is seen to be a reverse call. */
static void what_is_cut_short_fails_no_other(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	begin(5, 1, 800, V1_MSG);
	GEN_WORDS(&x, 0, 0, 0);
	put_rpc(5, RPC_CALL);
	call_out(5);
	recv_first(28 + 8, RPC_RX_NONE);
	assert_int_equal(conn.calls.in_flight, 1);
	conn.t.ops->forget(&conn.t, 5);
	recv_first(28, RPC_RX_NONE);
	assert_int_equal(conn.calls.in_flight, 0);
	assert_int_equal(conn.t.count.late, 1);
	be(RPC_ACCEPTOR);
	call_out(5);
	recv_first(28, RPC_RX_NONE);
	assert_int_equal(conn.calls.in_flight, 1);
	assert_dropped(1);
}

static void dropped_in_silence(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		begin(1, 1, 8, V1_DONE);
		recv_kind(RPC_RX_NONE);
		assert_dropped(1);
		for (size_t len = 0; len < 16; len += 5) {
			xdr_out_init(&x, wire, sizeof(wire));
			x.pos += len;
			recv_kind(RPC_RX_NONE);
		}
		assert_dropped(5);
		begin(1, 1, 800, V1_MSG); /* no RPC header behind the lists: section 8.3.3 */
		GEN_WORDS(&x, 0, 0, 0, 1);
		recv_kind(RPC_RX_NONE);
		assert_dropped(6);
		begin(1, 1, 800, V1_MSG); /* a reply to nothing */
		GEN_WORDS(&x, 0, 0, 0);
		put_rpc(1, RPC_REPLY);
		recv_kind(RPC_RX_NONE);
		assert_dropped(7);
		assert_int_equal(conn.calls.granted, 1);
		assert_int_equal(conn.t.count.recvs, 7);
	}
}

static void reports_of_the_user(void **state)
{
	struct rpc_error vers = {RPC_ERROR_VERS, 1, 2};

	(void)state;
	be(RPC_ACCEPTOR);
	for (int code = RPC_ERROR_CHUNK; code <= RPC_ERROR_SYSTEM; code++) {
		struct rpc_error e = {(enum rpc_error_code)code, 9, 9};

		assert_int_equal(conn.t.ops->report(&conn.t, 40, RPC_CALL, &e), 0);
		ASSERT_REPORT(40, 1, 32, V1_ERROR, V1_ERR_CHUNK);
		/* responders alone report: about a reply there is nothing to say */
		assert_int_equal(conn.t.ops->report(&conn.t, 40, RPC_REPLY, &e), 0);
		assert_int_equal(conn.t.ops->control(&conn.t, wire, sizeof(wire)), 0);
	}
	assert_int_equal(conn.t.ops->report(&conn.t, 41, RPC_CALL, &vers), 0);
	ASSERT_REPORT(41, 1, 32, V1_ERROR, V1_ERR_VERS, 1, 2);
}

/* In order, round the ring. Its user gives the connection no message without room in it. */
static void report_queue_is_bounded(void **state)
{
	struct rpc_error e = {RPC_ERROR_CHUNK, 0, 0};
	uint32_t xid = 0, seen = 0;
	uint8_t out[64];

	(void)state;
	be(RPC_ACCEPTOR);
	for (int i = 0; i < RPC_REPORTS / 2; i++)
		assert_int_equal(conn.t.ops->report(&conn.t, xid++, RPC_CALL, &e), 0);
	for (int i = 0; i < RPC_REPORTS / 2; i++) {
		assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 20);
		assert_int_equal(xdr_peek_u32(out), seen++);
	}
	for (int i = 0; i < RPC_REPORTS; i++)
		assert_int_equal(conn.t.ops->report(&conn.t, xid++, RPC_CALL, &e), 0);
	assert_false(rpc_has_report_room(&conn.t));
	assert_int_equal(conn.t.ops->report(&conn.t, 0, RPC_CALL, &e), ERR_NOSPACE);
	begin(99, 1, 8, 9);
	assert_int_equal(recv_rc(), ERR_PROTO);
	assert_int_equal(err_class(recv_rc()), ERR_CLASS_PEER);
	for (int i = 0; i < RPC_REPORTS; i++) {
		assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 20);
		assert_int_equal(xdr_peek_u32(out), seen++);
	}
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_call_draws_err_chunk),
		cmocka_unit_test(other_version_draws_err_vers),
		cmocka_unit_test(version_2_on_a_version_1_connection),
		cmocka_unit_test(errors_are_never_answered),
		cmocka_unit_test(a_peer_without_version_1_is_left),
		cmocka_unit_test(errors_about_a_call_come_up),
		cmocka_unit_test(unparsable_reply_fails_its_call),
		cmocka_unit_test(reverse_reply_with_chunks_fails_its_call),
		cmocka_unit_test(reverse_call_with_chunks_draws_err_chunk),
		cmocka_unit_test(reverse_call_without_support_draws_err_chunk),
		cmocka_unit_test(answers_cut_short_fail_their_call),
		cmocka_unit_test(what_is_cut_short_fails_no_other),
		cmocka_unit_test(dropped_in_silence),
		cmocka_unit_test(reports_of_the_user),
		cmocka_unit_test(report_queue_is_bounded),
	};
	return cmocka_run_group_tests_name("v1 conn errors", tests, NULL, NULL);
}
