/* SPDX-License-Identifier: BSD-2-Clause */
/* The table in v2early/conn.c, one test for each row; negotiation; and two ends that exchange
 * random messages. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/v1/gen.h"
#include "v2early/conn.h"

enum { CALL = 0, REPLY = 1 };

static struct early_conn conn;
static struct rpc_rx rx;
static uint8_t wire[GEN_BUF_BYTES];
static struct xdr_out x;

static void be(enum rpc_role role)
{
	struct rpc_params p = gen_params(role);

	assert_int_equal(early_conn_init(&conn, &p), 0);
}

static void begin(uint32_t xid, uint32_t credit, uint32_t proc)
{
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, xid, 2, credit, proc);
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

static void msg_in(uint32_t xid, uint32_t credit, enum rpc_dir dir, enum rpc_rx_kind kind)
{
	begin(xid, credit, EARLY_MSG);
	GEN_WORDS(&x, dir == RPC_CALL ? CALL : REPLY, 0, 0, 0);
	put_rpc(xid, dir);
	recv_kind(kind);
}

static int try_out(const struct rpc_msg *m)
{
	static uint8_t out[8192];
	struct rpc_tx tx = {.msg = m};
	size_t hl, bl;

	return conn.t.ops->encode(&conn.t, &tx, out, sizeof(out), &hl, &bl);
}

static int try_call(uint32_t xid)
{
	uint8_t body[40];
	struct rpc_msg m;

	gen_simple(&m, body, xid, RPC_CALL);
	return try_out(&m);
}

static void call_out(uint32_t xid)
{
	assert_int_equal(try_call(xid), 0);
}

/* A call of @len octets with its header. */
static int try_call_of(size_t len)
{
	static uint8_t body[8192];
	struct rpc_msg m;

	gen_simple(&m, body, 1, RPC_CALL);
	m.body[0].len = len - early_header_len(&m);
	return try_out(&m);
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

static void assert_silent(void)
{
	uint8_t out[64];

	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 0);
}

static void unusable_parameters(void **state)
{
	struct rpc_params p = gen_params(RPC_INITIATOR);

	(void)state;
	p.recv_bytes = 4095; /* section 2.3: MUST support 4096 */
	assert_int_equal(early_conn_init(&conn, &p), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.send_bytes = 1023;
	assert_int_equal(early_conn_init(&conn, &p), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.credits = 0;
	assert_int_equal(early_conn_init(&conn, &p), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.vers_high = 1;
	assert_int_equal(early_conn_init(&conn, &p), ERR_CONFIG);
	p.vers_low = p.vers_high = 3;
	assert_int_equal(early_conn_init(&conn, &p), ERR_CONFIG);
}

/* Section 5: one message of 1024 octets at most, until a reply tells how many are taken; then 4096. */
static void the_first_call_asks(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	assert_true(conn.t.ready);
	assert_string_equal(conn.t.ops->name, "2-early");
	assert_int_equal(conn.t.peer.send_bytes, 1024);
	assert_int_equal(conn.t.peer.recv_bytes, 4096);
	assert_int_equal(try_call_of(1025), ERR_TOOBIG);
	assert_int_equal(try_call_of(1024), 0);
	assert_int_equal(try_call(2), ERR_AGAIN);
	msg_in(1, 3, RPC_REPLY, RPC_RX_MSG);
	assert_int_equal(conn.t.peer.send_bytes, 4096);
	assert_int_equal(try_call_of(4097), ERR_TOOBIG);
	assert_int_equal(try_call_of(4096), 0);
	call_out(2);
	call_out(3);
	assert_int_equal(try_call(4), ERR_AGAIN);
}

/* Section 5: "until it receives a non-error RPC-over-RDMA message". */
static void an_error_grants_nothing_before_the_first_reply(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	call_out(1);
	begin(1, 20, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_BAD_HEADER);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_CHUNK);
	assert_int_equal(conn.t.peer.send_bytes, 1024);
	call_out(2);
	assert_int_equal(try_call(3), ERR_AGAIN);
	msg_in(2, 1, RPC_REPLY, RPC_RX_MSG);
	call_out(3);
	begin(3, 20, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_BAD_HEADER);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(conn.calls.granted, 20);
}

/* A larger end keeps to the default: nothing in this draft says that its peer takes more. */
static void thresholds_are_4096(void **state)
{
	struct rpc_params p = gen_params(RPC_ACCEPTOR);

	(void)state;
	p.recv_bytes = p.send_bytes = 65536;
	assert_int_equal(early_conn_init(&conn, &p), 0);
	assert_int_equal(conn.t.peer.send_bytes, 4096);
	assert_int_equal(conn.t.peer.recv_bytes, 4096);
	p.send_bytes = 2048;
	assert_int_equal(early_conn_init(&conn, &p), 0);
	assert_int_equal(conn.t.peer.send_bytes, 2048);
}

/* Section 5.2; and what a server of draft -07 makes of RDMA2_MSG: RDMA2_ERR_INVAL_HTYPE, 4. */
static void a_server_without_the_early_draft_is_left(void **state)
{
	static const uint32_t refusals[][4] = {{1, EARLY_ERR_VERS, 1, 1},
					       {2, EARLY_ERR_VERS, 1, 1},
					       {2, EARLY_ERR_VERS, 3, 9},
					       {2, 4}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		be(RPC_INITIATOR);
		call_out(5);
		xdr_out_init(&x, wire, sizeof(wire));
		gen_header(&x, 5, refusals[i][0], 8, EARLY_ERROR);
		gen_words(&x, refusals[i][1] == EARLY_ERR_VERS ? 3 : 1, refusals[i] + 1);
		assert_int_equal(recv_rc(), ERR_VERS);
		assert_int_equal(conn.calls.granted, 1);
	}
	/* Properties of draft -07, a GRANT, a type of neither. */
	for (unsigned i = 0; i < 3; i++) {
		static const uint32_t types[] = {7, 5, 99};

		be(RPC_INITIATOR);
		call_out(5);
		xdr_out_init(&x, wire, sizeof(wire));
		gen_header(&x, 0x70, 2, 8, types[i]);
		assert_int_equal(recv_rc(), ERR_VERS);
	}
	be(RPC_INITIATOR); /* about nothing; no range; a range with 2 */
	begin(5, 8, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_VERS, 1, 1);
	recv_kind(RPC_RX_NONE);
	call_out(5);
	begin(5, 8, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_VERS, 2, 1);
	recv_kind(RPC_RX_ERROR);
	call_out(6);
	begin(6, 8, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_VERS, 1, 2);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_VERS);
	assert_int_equal(rx.error.b, 2);
	/* Once it is spoken a code that does not exist is one error. */
	call_out(7);
	msg_in(7, 8, RPC_REPLY, RPC_RX_MSG);
	call_out(8);
	begin(8, 8, EARLY_ERROR);
	GEN_WORDS(&x, 4);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_CHUNK);
}

static void malformed_calls_draw_bad_header(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	begin(77, 8, EARLY_MSG);
	GEN_WORDS(&x, 2, 0, 0, 0); /* direction cannot be seen */
	put_rpc(77, RPC_CALL);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(77, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	begin(78, 8, EARLY_MSG);
	GEN_WORDS(&x, CALL, 0, 0, 0);
	put_rpc(78, RPC_REPLY); /* not what it says */
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(78, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	begin(79, 8, 10); /* no such type: RDMA2_CALL_INLINE of the other dialect */
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(79, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	begin(80, 8, EARLY_NOMSG);
	GEN_WORDS(&x, CALL, 0, 0, 0);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(80, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	begin(81, 8, EARLY_OPTIONAL); /* ends early */
	GEN_WORDS(&x, CALL, 9);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(81, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	assert_int_equal(conn.t.count.invalid, 5);
}

/* Section 3.1: MUST be answered, with its XID; of whichever type and direction, to either role. */
static void options_are_not_known(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		uint32_t grants = role ? 32 : 2;

		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		for (uint32_t type = 0; type < 10; type++) {
			begin(100 + type, 999, EARLY_OPTIONAL);
			GEN_WORDS(&x, type & 1, type, 4, 0x01020304);
			put_rpc(100 + type, RPC_CALL);
			recv_kind(RPC_RX_NONE);
			ASSERT_REPORT(100 + type, 2, grants, EARLY_ERROR, EARLY_ERR_INVAL_OPTION);
		}
		assert_int_equal(conn.t.count.invalid, 10);
		assert_int_equal(conn.calls.granted, 1);
	}
}

/* We sent no option: it is about no call of ours, which still has its reply to come. */
static void inval_option_is_about_no_call(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	call_out(5);
	begin(5, 8, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_INVAL_OPTION);
	recv_kind(RPC_RX_NONE);
	assert_int_equal(conn.t.count.dropped, 1);
	assert_int_equal(conn.calls.in_flight, 1);
	assert_silent();
	msg_in(5, 8, RPC_REPLY, RPC_RX_MSG);
}

/* The version received is echoed. One that is spoken here is not spoken on this connection. */
static void other_version_draws_err_vers(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	for (uint32_t vers = 0; vers < 5; vers++) {
		if (vers == 2)
			continue;
		xdr_out_init(&x, wire, sizeof(wire));
		gen_header(&x, 77, vers, 8, EARLY_MSG);
		recv_kind(RPC_RX_NONE);
		/* rfc5666bis-01 5.5: in a version that is valid here. */
		ASSERT_REPORT(77, vers == 1 ? 1 : 2, 32, EARLY_ERROR, EARLY_ERR_VERS,
			      vers == 1 ? 2 : 1, 2);
	}
}

static void errors_are_never_answered(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		for (uint32_t code = 0; code < 8; code++) {
			begin(1, 8, EARLY_ERROR);
			GEN_WORDS(&x, code, 2, 2, 99);
			recv_kind(RPC_RX_NONE);
			begin(1, 8, EARLY_ERROR);
			recv_kind(RPC_RX_NONE);
		}
		assert_int_equal(conn.t.count.dropped, 16);
		assert_silent();
	}
}

static void bad_replies_fail_their_call(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	call_out(5);
	begin(5, 8, EARLY_MSG);
	GEN_WORDS(&x, REPLY, 0, 0, 0);
	put_rpc(5, RPC_CALL); /* not what it says */
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.xid, 5);
	assert_int_equal(rx.error.code, RPC_ERROR_BAD_XDR);
	assert_int_equal(conn.calls.granted, 1); /* its credit was not believed */
	call_out(6);
	begin(6, 8, EARLY_MSG);
	GEN_WORDS(&x, 7); /* direction cannot be seen: to an initiator it is a reply */
	recv_kind(RPC_RX_ERROR);
	recv_kind(RPC_RX_NONE); /* nothing is in flight any more */
	assert_int_equal(conn.calls.in_flight, 0);
	assert_silent();
}

/* Section 4.2.2: backward operation is REQUIRED; as in version 1 it has no chunks. */
static void reverse_calls(void **state)
{
	struct rpc_params p = gen_params(RPC_INITIATOR);

	(void)state;
	be(RPC_INITIATOR);
	msg_in(5, 8, RPC_CALL, RPC_RX_MSG);
	assert_int_equal(conn.calls.granted, 1); /* what it asks for is no grant */
	begin(6, 8, EARLY_MSG);
	GEN_WORDS(&x, CALL, 0, 0, 1, 1, 1, 1000, 3, 4);
	put_rpc(6, RPC_CALL);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(6, 2, 2, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	p.reverse = RPC_REV_NONE;
	assert_int_equal(early_conn_init(&conn, &p), 0);
	msg_in(7, 8, RPC_CALL, RPC_RX_NONE);
	ASSERT_REPORT(7, 2, 2, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	be(RPC_ACCEPTOR);
	call_out(8);
	assert_int_equal(try_call(9), ERR_AGAIN);
	msg_in(8, 5, RPC_REPLY, RPC_RX_MSG);
	call_out(9);
	call_out(10);
	assert_int_equal(try_call(11), ERR_AGAIN); /* asks for 2 itself */
	begin(9, 5, EARLY_MSG);
	GEN_WORDS(&x, REPLY, 0, 1, 1, 1, 1000, 3, 4, 0, 0);
	put_rpc(9, RPC_REPLY);
	recv_kind(RPC_RX_ERROR);
	assert_int_equal(rx.xid, 9);
}

static void no_chunks_go_out_in_reverse(void **state)
{
	struct segment s = {1, 1000, 0};
	uint8_t body[40];
	struct rpc_msg m;

	(void)state;
	be(RPC_ACCEPTOR);
	gen_simple(&m, body, 1, RPC_CALL);
	m.has_reply = true;
	m.reply = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&m, &m.reply, &s), 0);
	assert_int_equal(try_out(&m), ERR_TOOBIG);
	be(RPC_INITIATOR);
	assert_int_equal(try_out(&m), 0);
}

static void cut_fails_at(enum rpc_role role, size_t len)
{
	be(role);
	call_out(5);
	assert_int_equal(conn.t.ops->recv(&conn.t, view_of(wire, len), &rx), 0);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, 5);
	assert_int_equal(rx.error.code, RPC_ERROR_BAD_XDR);
	if (rx.cut)
		conn.t.ops->cut(&conn.t, 5);
	assert_int_equal(conn.calls.in_flight, 0);
	assert_int_equal(conn.calls.granted, 1);
	assert_silent();
}

static void cut_fails(size_t len)
{
	cut_fails_at(RPC_INITIATOR, len);
}

/* Section 4.2.3; rfc5666bis-01 section 5.5: the call they name would wait for ever. */
static void answers_cut_short_fail_their_call(void **state)
{
	(void)state;
	begin(5, 800, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_VERS, 2, 2);
	for (size_t len = 16; len < 28; len++)
		cut_fails(len);
	begin(5, 800, EARLY_MSG);
	GEN_WORDS(&x, REPLY, 0, 0, 0);
	put_rpc(5, RPC_REPLY);
	for (size_t len = 16; len < 32 + 8; len++)
		cut_fails(len);
	/* About a reverse call: the direction, or the type, says that it is no call. */
	for (size_t len = 20; len < 32 + 8; len++)
		cut_fails_at(RPC_ACCEPTOR, len);
	begin(5, 800, EARLY_ERROR);
	GEN_WORDS(&x, EARLY_ERR_VERS, 2, 2);
	for (size_t len = 16; len < 28; len++)
		cut_fails_at(RPC_ACCEPTOR, len);
}

/* Section 4.2.2: they MUST be the same. Where they are not, the call it names would wait for ever. */
static void a_reply_marked_call_fails_its_call(void **state)
{
	(void)state;
	begin(5, 800, EARLY_MSG);
	GEN_WORDS(&x, CALL, 0, 0, 0);
	put_rpc(5, RPC_REPLY);
	cut_fails(xdr_out_len(&x));
	begin(5, 800, EARLY_NOMSG); /* in the Reply chunk: reverse calls have none */
	GEN_WORDS(&x, CALL, 0, 0, 1, 1, 1, 1000, 3, 4);
	cut_fails(xdr_out_len(&x));
}

static void dropped_in_silence(void **state)
{
	(void)state;
	for (int role = 0; role < 2; role++) {
		be(role ? RPC_ACCEPTOR : RPC_INITIATOR);
		for (size_t len = 0; len < 16; len += 5) {
			xdr_out_init(&x, wire, sizeof(wire));
			x.pos += len;
			recv_kind(RPC_RX_NONE);
		}
		begin(1, 800, EARLY_MSG); /* no RPC header behind the lists */
		GEN_WORDS(&x, REPLY, 0, 0, 0, 1);
		recv_kind(RPC_RX_NONE);
		msg_in(1, 800, RPC_REPLY, RPC_RX_NONE); /* a reply to nothing */
		assert_int_equal(conn.t.count.dropped, 6);
		assert_int_equal(conn.calls.granted, 1);
		assert_silent();
	}
}

static void answers_to_forgotten_calls(void **state)
{
	(void)state;
	be(RPC_INITIATOR);
	call_out(5);
	conn.t.ops->forget(&conn.t, 5);
	assert_int_equal(try_call(6), ERR_AGAIN); /* the responder still has it */
	msg_in(5, 8, RPC_REPLY, RPC_RX_NONE);
	assert_int_equal(conn.t.count.late, 1);
	call_out(6);
	conn.t.ops->unanswered(&conn.t);
}

static void reports_of_the_user(void **state)
{
	struct rpc_error vers = {RPC_ERROR_VERS, 1, 2};

	(void)state;
	be(RPC_ACCEPTOR);
	for (int code = RPC_ERROR_CHUNK; code <= RPC_ERROR_SYSTEM; code++) {
		struct rpc_error e = {(enum rpc_error_code)code, 9, 9};

		assert_int_equal(conn.t.ops->report(&conn.t, 40, RPC_CALL, &e), 0);
		ASSERT_REPORT(40, 2, 32, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
		assert_int_equal(conn.t.ops->report(&conn.t, 40, RPC_REPLY, &e), 0);
		assert_silent();
	}
	assert_int_equal(conn.t.ops->report(&conn.t, 41, RPC_CALL, &vers), 0);
	ASSERT_REPORT(41, 2, 32, EARLY_ERROR, EARLY_ERR_VERS, 1, 2);
}

/* In order, round the ring; options too. Its user gives the connection no message without room in it. */
static void report_queue_is_bounded(void **state)
{
	uint32_t xid = 0, seen = 0;
	uint8_t out[64];

	(void)state;
	be(RPC_ACCEPTOR);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < RPC_REPORTS * 2 / 3; i++) {
			begin(xid++, 1, EARLY_OPTIONAL);
			GEN_WORDS(&x, CALL, 1, 0);
			recv_kind(RPC_RX_NONE);
		}
		while (conn.t.ops->control(&conn.t, out, sizeof(out)) > 0)
			assert_int_equal(xdr_peek_u32(out), seen++);
		assert_int_equal(seen, xid);
	}
	for (int i = 0; i < RPC_REPORTS; i++)
		recv_kind(RPC_RX_NONE);
	assert_false(rpc_has_report_room(&conn.t));
	assert_int_equal(recv_rc(), ERR_PROTO);
}

static void credits_can_be_set(void **state)
{
	(void)state;
	be(RPC_ACCEPTOR);
	conn.t.ops->set_credits(&conn.t, 5);
	begin(1, 8, 99);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(1, 2, 5, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	conn.t.ops->set_credits(&conn.t, 0);
	recv_kind(RPC_RX_NONE);
	ASSERT_REPORT(1, 2, 1, EARLY_ERROR, EARLY_ERR_BAD_HEADER);
	be(RPC_INITIATOR);
	call_out(1);
	msg_in(1, 6, RPC_REPLY, RPC_RX_MSG);
	assert_int_equal(conn.t.ops->call_credits(&conn.t), 6);
}

/* A call decoded once more, from a copy of its octets, says the same. */
static void once_more(void **state)
{
	uint8_t copy[256];
	size_t len;

	(void)state;
	be(RPC_ACCEPTOR);
	msg_in(5, 8, RPC_CALL, RPC_RX_MSG);
	len = xdr_out_len(&x);
	memcpy(copy, wire, len);
	memset(wire, 0xff, len);
	rpc_msg_reset(conn.t.own.msg, 0, RPC_REPLY);
	conn.t.ops->again(&conn.t, view_of(copy, len), view_of(NULL, 0));
	assert_int_equal(conn.t.own.msg->xid, 5);
	assert_int_equal(conn.t.own.msg->dir, RPC_CALL);
	assert_int_equal(conn.t.own.msg->body[0].len, 40);
	assert_int_equal(conn.t.count.recvs, 1);
}

/* --- two ends --- */

struct end {
	struct early_conn c;
	struct rpc_msg received;
	uint32_t owes[64]; /* XIDs of calls to be answered */
	unsigned nowes;
	uint32_t asked, answered;
};

static void carry(struct rng *r, struct end *from, struct end *to, const struct rpc_msg *m)
{
	static uint8_t out[GEN_BUF_BYTES];
	struct rpc_tx tx = {.msg = m};
	size_t hl, bl;
	uint8_t *exact;

	assert_true(from->c.t.ops->may_send(&from->c.t, &tx));
	assert_int_equal(from->c.t.ops->encode(&from->c.t, &tx, out, sizeof(out), &hl, &bl), 0);
	assert_int_equal(hl, from->c.t.ops->header_len(&from->c.t, m));
	assert_true(hl + bl <= (from->c.is_spoken ? 4096 : 1024));
	if (bl)
		memcpy(out + hl, m->body[0].data, bl);
	exact = gen_exact(out, hl + bl);
	assert_int_equal(to->c.t.ops->recv(&to->c.t, view_of(exact, hl + bl), &rx), 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_true(gen_same(m, rx.msg));
	free(exact);
	(void)r;
}

static void random_call(struct rng *r, struct end *from, struct end *to)
{
	static uint8_t body[GEN_BODY_MAX];
	static struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m};

	do
		gen_msg(r, &m, body);
	while (m.dir != RPC_CALL ||
	       (from->c.t.own.role == RPC_ACCEPTOR &&
		(m.has_body_chunk || m.nsegs || m.nwrites || m.has_reply)) ||
	       early_header_len(&m) + rpc_msg_body_len(&m) > from->c.t.peer.send_bytes);
	if (!from->c.t.ops->may_send(&from->c.t, &tx))
		return;
	carry(r, from, to, &m);
	assert_true(from->c.calls.in_flight <= to->c.t.own.credits + to->c.t.own.rev_credits);
	from->asked++;
	to->owes[to->nowes++] = m.xid;
}

static void random_answer(struct rng *r, struct end *from, struct end *to)
{
	static struct rpc_msg m;
	uint8_t body[40];
	unsigned which;

	if (!from->nowes)
		return;
	which = rng_below(r, from->nowes);
	gen_simple(&m, body, from->owes[which], RPC_REPLY);
	from->owes[which] = from->owes[--from->nowes];
	if (from->c.t.own.role == RPC_ACCEPTOR)
		from->c.t.ops->set_credits(&from->c.t, 1 + rng_below(r, 32));
	carry(r, from, to, &m);
	to->answered++;
}

static void both_directions_at_random(void **state)
{
	struct rng r = rng_seeded("early pair", 2);
	static struct end end[2];

	(void)state;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 2; i++) {
			struct rpc_params p = gen_params(i ? RPC_ACCEPTOR : RPC_INITIATOR);

			memset(&end[i], 0, sizeof(end[i]));
			p.msg = &end[i].received;
			assert_int_equal(early_conn_init(&end[i].c, &p), 0);
		}
		random_call(&r, &end[0], &end[1]); /* the initiator speaks first */
		for (int step = 0; step < 300; step++) {
			struct end *a = &end[rng_below(&r, 2)], *b = a == end ? end + 1 : end;

			if (rng_below(&r, 2))
				random_call(&r, a, b);
			else
				random_answer(&r, a, b);
		}
		for (int i = 0; i < 2; i++)
			while (end[i].nowes)
				random_answer(&r, &end[i], &end[!i]);
		for (int i = 0; i < 2; i++) {
			assert_true(end[i].asked > 0);
			assert_int_equal(end[i].asked, end[i].answered);
			assert_int_equal(end[i].c.calls.in_flight, 0);
			assert_int_equal(end[i].c.t.count.dropped + end[i].c.t.count.invalid, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unusable_parameters),
		cmocka_unit_test(the_first_call_asks),
		cmocka_unit_test(an_error_grants_nothing_before_the_first_reply),
		cmocka_unit_test(thresholds_are_4096),
		cmocka_unit_test(a_server_without_the_early_draft_is_left),
		cmocka_unit_test(malformed_calls_draw_bad_header),
		cmocka_unit_test(options_are_not_known),
		cmocka_unit_test(inval_option_is_about_no_call),
		cmocka_unit_test(other_version_draws_err_vers),
		cmocka_unit_test(errors_are_never_answered),
		cmocka_unit_test(bad_replies_fail_their_call),
		cmocka_unit_test(reverse_calls),
		cmocka_unit_test(no_chunks_go_out_in_reverse),
		cmocka_unit_test(answers_cut_short_fail_their_call),
		cmocka_unit_test(a_reply_marked_call_fails_its_call),
		cmocka_unit_test(dropped_in_silence),
		cmocka_unit_test(answers_to_forgotten_calls),
		cmocka_unit_test(reports_of_the_user),
		cmocka_unit_test(report_queue_is_bounded),
		cmocka_unit_test(credits_can_be_set),
		cmocka_unit_test(once_more),
		cmocka_unit_test(both_directions_at_random),
	};
	return cmocka_run_group_tests_name("early conn", tests, NULL, NULL);
}
