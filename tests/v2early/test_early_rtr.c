/* SPDX-License-Identifier: BSD-2-Clause */
/* The round-trip extension over the early draft: calls and replies with their data as options, and
 * reports about invalid ones. Sections are those of docs/rtrext-profile.md. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "v2early/conn.h"
#include "xdr/cursor.h"

enum { RECV = 4096, BULK = 8192 };

static struct early_conn conn;
static struct rpc_msg received;
static struct rpc_rx rx;
static uint8_t bulk[BULK];

static void start(enum rpc_role role, uint32_t bulk_bytes, uint32_t peer_bulk_bytes)
{
	const struct rpc_params own = {
		.role = role,
		.recv_bytes = RECV,
		.send_bytes = RECV,
		.credits = 8,
		.segment_bytes = 1 << 20,
		.segment_count = 16,
		.vers_low = 1,
		.vers_high = 2,
		.bulk_bytes = bulk_bytes,
		.peer_bulk_bytes = peer_bulk_bytes,
		.msg = &received,
	};

	assert_int_equal(early_conn_init(&conn, &own), 0);
}

/* struct option - a message in the making: the words of its information, then those of its payload. */
struct option {
	uint32_t dir, type, ninfo, info[32], npayload, payload[4];
};

/* A request for xid 5 of one item of @length at 0x40 in segment @number, from @offset on. */
static struct option request(uint32_t length, uint32_t number, uint32_t offset)
{
	return (struct option){
		.type = RTR_REQUEST,
		.ninfo = 11,
		.info = {1, 0x40, length, RTR_TBSN, offset, 1, number, 0, 1, 1, 8},
		.npayload = 2,
		.payload = {5, 0},
	};
}

static int feed(const struct option *o, uint32_t behind)
{
	static uint8_t first[RECV];
	struct xdr_out x;
	size_t len;

	memset(first, 0, sizeof(first));
	xdr_out_init(&x, first, sizeof(first));
	xdr_put_u32(&x, 5);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, 8);
	xdr_put_u32(&x, EARLY_OPTIONAL);
	xdr_put_u32(&x, o->dir);
	xdr_put_u32(&x, o->type);
	xdr_put_u32(&x, 4 * o->ninfo);
	for (uint32_t i = 0; i < o->ninfo; i++)
		xdr_put_u32(&x, o->info[i]);
	for (uint32_t i = 0; i < o->npayload; i++)
		xdr_put_u32(&x, o->payload[i]);
	len = behind ? RECV : xdr_out_len(&x);
	conn.t.bulk = view_of(bulk, behind);
	return conn.t.ops->recv(&conn.t, view_of(first, len), &rx);
}

/* The words behind the first three of what this end has to say. */
static void expect(const uint32_t *words, unsigned n)
{
	uint8_t out[256];
	int len = conn.t.ops->control(&conn.t, out, sizeof(out));

	assert_int_equal(len, 12 + 4 * n);
	assert_int_equal(xdr_peek_u32(out), 5);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(xdr_peek_u32(out + 12 + 4 * i), words[i]);
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 0);
}

static void expect_error(uint32_t code)
{
	expect((uint32_t[]){EARLY_ERROR, code}, 2);
}

/* A Report Error about transmission @number, with @n words of @fault. */
static void expect_report(uint32_t number, const uint32_t *fault, unsigned n)
{
	uint32_t words[16] = {EARLY_OPTIONAL, 1, RTR_REPORT, 4 * (4 + n), 5, 0, number, 0};

	memcpy(words + 8, fault, n * sizeof(fault[0]));
	expect(words, 8 + n);
}

static void a_call_with_its_data(void **state)
{
	struct option o = request(0x1001, 0, 8);

	(void)state;
	start(RPC_ACCEPTOR, BULK, 0);
	assert_int_equal(feed(&o, 0x1009), 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(received.nreads, 1);
	assert_int_equal(received.reads[0].position, 0x40);
	assert_ptr_equal(rpc_msg_placed(&received, &received.reads[0]), bulk + 8);
	assert_int_equal(received.reads[0].length, 0x1001);
	assert_int_equal(received.body[0].len, 8);
}

static void what_is_wrong_is_reported(void **state)
{
	static const struct {
		uint32_t length, number, offset, behind, fault[4];
	} cases[] = {
		{4, 1, 0, 4, {7, 1, 0, 0}},
		{4, 0, 2, 8, {6, 2, 0, BULK - 4}},
		{4, 0, BULK, 8, {6, BULK, 0, BULK - 4}},
		{BULK + 1, 0, 0, BULK, {7, 0, 1, UINT32_MAX}},
		{8, 0, 0, 4, {7, 0, 0, 0}},
		{8, 0, 0, 0, {7, 0, 0, 0}},
	};
	struct option o;

	(void)state;
	start(RPC_ACCEPTOR, BULK, 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o = request(cases[i].length, cases[i].number, cases[i].offset);
		assert_int_equal(feed(&o, cases[i].behind), 0);
		assert_int_equal(rx.kind, RPC_RX_NONE);
		expect_report(0, cases[i].fault, 4);
	}
	o = request(4, 0, 0);
	o.info[8] = 2; /* transmissions */
	assert_int_equal(feed(&o, 4), 0);
	expect_report(0, (uint32_t[]){4, 1, 2}, 3);
	o = request(4, 0, 0);
	o.info[10] = 12; /* octets of payload stream, where 8 are left */
	assert_int_equal(feed(&o, 0), 0);
	expect_report(0, (uint32_t[]){8, 12, 0, 8}, 4);
	o = (struct option){.type = RTR_CONTINUE, .ninfo = 3, .info = {3, RTR_REQUEST, 0}};
	assert_int_equal(feed(&o, 0), 0);
	expect_report(3, (uint32_t[]){3}, 1);
}

static void what_is_malformed(void **state)
{
	struct option o = request(4, 0, 0);

	(void)state;
	start(RPC_ACCEPTOR, BULK, 0);
	o.ninfo = 12; /* octets behind it */
	assert_int_equal(feed(&o, 4), 0);
	expect_error(EARLY_ERR_BAD_HEADER);
	o.ninfo = 10; /* and too few */
	assert_int_equal(feed(&o, 4), 0);
	expect_error(EARLY_ERR_BAD_HEADER);
	o = request(4, 0, 0);
	o.payload[0] = 6; /* another XID */
	assert_int_equal(feed(&o, 4), 0);
	expect_error(EARLY_ERR_BAD_HEADER);
	o = request(4, 0, 0);
	o.info[1] = 0; /* in the RPC header */
	assert_int_equal(feed(&o, 4), 0);
	expect_error(EARLY_ERR_BAD_HEADER);
	o = (struct option){.type = RTR_CONTINUE, .ninfo = 2, .info = {3, RTR_REQUEST}};
	assert_int_equal(feed(&o, 0), 0);
	expect_error(EARLY_ERR_BAD_HEADER);
}

/* Section 1: an end without the extension says so, and answers in the same way what is not for this end. */
static void what_is_not_spoken(void **state)
{
	struct option o = request(4, 0, 0);

	(void)state;
	start(RPC_ACCEPTOR, 0, 0);
	assert_int_equal(feed(&o, 0), 0);
	expect_error(EARLY_ERR_INVAL_OPTION);
	start(RPC_ACCEPTOR, BULK, 0);
	o.dir = 1;
	assert_int_equal(feed(&o, 0), 0);
	expect_error(EARLY_ERR_INVAL_OPTION);
	for (uint32_t type = 0; type < 10; type++) {
		if (type == RTR_REQUEST || type == RTR_CONTINUE)
			continue;
		o = (struct option){.type = type, .ninfo = 1};
		assert_int_equal(feed(&o, 0), 0);
		expect_error(EARLY_ERR_INVAL_OPTION);
	}
	/* Nothing else may be longer than the first piece. */
	conn.t.bulk = view_of(bulk, 4);
	memset(&o, 0, sizeof(o));
	{
		uint8_t msg[RECV] = {[3] = 5, [7] = 2, [11] = 8};

		assert_int_equal(conn.t.ops->recv(&conn.t, view_of(msg, sizeof(msg)), &rx),
				 ERR_PROTO);
	}
}

/* An initiator whose first call was answered. */
static void talk_with(uint32_t bulk_bytes, uint32_t peer_bulk_bytes)
{
	static uint8_t call_body[40] = {[3] = 1, [11] = 2};
	const uint8_t reply[32 + 24] = {
		[3] = 1, [7] = 2, [11] = 8, [15] = 0, [19] = 1, [35] = 1, [39] = 1};
	struct rpc_msg call;
	struct rpc_tx tx = {.msg = &call};
	uint8_t hdr[256];
	size_t hdr_len, body_len;

	start(RPC_INITIATOR, bulk_bytes, peer_bulk_bytes);
	rpc_msg_reset(&call, 1, RPC_CALL);
	call.body[0] = view_of(call_body, sizeof(call_body));
	call.nbody = 1;
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(conn.t.ops->recv(&conn.t, view_of(reply, sizeof(reply)), &rx), 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
}

static void talk(uint32_t peer_bulk_bytes)
{
	talk_with(0, peer_bulk_bytes);
}

static struct rpc_msg placed_call;

static bool places(uint32_t xid)
{
	static uint8_t body[40];
	struct rpc_msg *m = &placed_call;

	rpc_msg_reset(m, xid, RPC_CALL);
	body[3] = (uint8_t)xid;
	body[11] = 2;
	m->body[0] = view_of(body, sizeof(body));
	m->nbody = 1;
	m->reads[0] = (struct rpc_chunk){.position = 0x28};
	m->nreads = 1;
	assert_int_equal(rpc_msg_place(m, &m->reads[0], view_of(bulk, 100)), 0);
	return conn.t.ops->places(&conn.t, m);
}

static void send_placed(uint32_t xid)
{
	struct rpc_tx tx = {.msg = &placed_call};
	uint8_t hdr[RECV];
	size_t hdr_len, body_len;

	assert_true(places(xid));
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(hdr_len, EARLY_OPTIONAL_BYTES + 44);
	assert_int_equal(tx.data[0].gap, RECV - hdr_len - body_len);
	assert_int_equal(xdr_peek_u32(hdr + 12), EARLY_OPTIONAL);
	assert_int_equal(xdr_peek_u32(hdr + 20), RTR_REQUEST);
	assert_int_equal(xdr_peek_u32(hdr + 24), 44);
	assert_int_equal(conn.calls.in_flight, 1);
}

static void a_call_that_is_refused(void **state)
{
	const uint8_t inval[20] = {[3] = 5, [7] = 2, [11] = 8, [15] = 4, [19] = 3};
	const struct option report = {
		.dir = 1, .type = RTR_REPORT, .ninfo = 5, .info = {5, 0, 0, 0, 3}};

	(void)state;
	start(RPC_INITIATOR, 0, BULK);
	assert_false(places(5)); /* not the first, which asks what is spoken */
	talk(0);
	assert_false(places(5)); /* the peer's Receives are not known */
	for (unsigned i = 0; i < 2; i++) {
		talk(BULK);
		send_placed(5);
		assert_false(places(5 + EARLY_OPTIONS)); /* one at a time, to tell them apart */
		if (i)
			assert_int_equal(feed(&report, 0), 0);
		else
			assert_int_equal(
				conn.t.ops->recv(&conn.t, view_of(inval, sizeof(inval)), &rx), 0);
		assert_int_equal(rx.kind, RPC_RX_ERROR);
		assert_int_equal(rx.xid, 5);
		assert_int_equal(rx.error.code, RPC_ERROR_INVAL_HTYPE);
		assert_int_equal(conn.calls.in_flight, 0);
		assert_false(places(6));
		/* Another about it is about nothing. */
		assert_int_equal(conn.t.ops->recv(&conn.t, view_of(inval, sizeof(inval)), &rx), 0);
		assert_int_equal(rx.kind, RPC_RX_NONE);
	}
}

/* --- responses: section 6 --- */

/* A call of xid 5 that wants its data by Send. Return: whether it goes so. */
static bool asks(void)
{
	(void)places(5);
	placed_call.nreads = placed_call.nplaced = 0;
	placed_call.writes[0] = (struct rpc_chunk){.length = BULK};
	placed_call.wishes[0] = (struct rpc_wish){.way = RPC_BY_SEND, .end = UINT32_MAX};
	placed_call.nwrites = placed_call.nwishes = 1;
	return conn.t.ops->places(&conn.t, &placed_call);
}

static void ask(void)
{
	struct rpc_tx tx = {.msg = &placed_call};
	uint8_t hdr[RECV];
	size_t hdr_len, body_len;

	assert_true(asks());
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(xdr_peek_u32(hdr + 16), RPC_CALL);
	assert_int_equal(xdr_peek_u32(hdr + 20), RTR_REQUEST);
	assert_int_equal(conn.calls.in_flight, 1);
}

/* A response to it, of @length octets by Send. */
static struct option response(uint32_t length, uint32_t number)
{
	return (struct option){.dir = 1,
			       .type = RTR_RESPONSE,
			       .ninfo = 9,
			       .info = {1, 0, length, RTR_TBSN, 0, 1, number, 1, 8},
			       .npayload = 2,
			       .payload = {5, 1}};
}

static void an_answer_with_its_data(void **state)
{
	struct option o = response(0x1001, 0);

	(void)state;
	talk_with(BULK, BULK);
	ask();
	assert_int_equal(feed(&o, 0x1001), 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(received.dir, RPC_REPLY);
	assert_int_equal(received.nwishes, 1);
	assert_int_equal(received.writes[0].length, 0x1001);
	assert_ptr_equal(rpc_msg_placed(&received, &received.writes[0]), bulk);
	assert_true(conn.t.ops->answers(&placed_call, &received));
	assert_int_equal(conn.calls.in_flight, 0);
	/* To nothing: dropped. */
	assert_int_equal(feed(&o, 0x1001), 0);
	assert_int_equal(rx.kind, RPC_RX_NONE);
}

/* The call is lost; if there is a code the sender gets a report, in a call. */
static void an_answer_that_is_wrong(void **state)
{
	static const uint32_t told[] = {EARLY_OPTIONAL, 0, RTR_REPORT, 32, 5, 1, 0, 0, 7, 1, 0, 0};
	struct option o = response(4, 1);

	(void)state;
	talk_with(BULK, BULK);
	ask();
	assert_int_equal(feed(&o, 4), 0);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
	assert_int_equal(conn.calls.in_flight, 0);
	expect(told, 12);
	o = response(4, 0);
	o.ninfo = 8;
	ask();
	assert_int_equal(feed(&o, 4), 0);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(conn.t.nreports, 0);
}

/* Section 2: a responder without Transmit Responses refuses a request for one as an unknown option. Any other error may
 * come from a server that carried out the call: it does not refuse the form, not even before the first response. */
static void an_error_is_no_refusal(void **state)
{
	uint8_t error[20] = {[3] = 5, [7] = 2, [11] = 8, [15] = 4, [19] = 2};

	(void)state;
	talk_with(0, BULK);
	assert_false(asks()); /* nor is it done without a place for them */
	for (unsigned refuses = 0; refuses < 2; refuses++) {
		talk_with(BULK, BULK);
		ask();
		conn.t.bulk = view_of(NULL, 0);
		error[19] = refuses ? EARLY_ERR_INVAL_OPTION : EARLY_ERR_BAD_HEADER;
		assert_int_equal(conn.t.ops->recv(&conn.t, view_of(error, sizeof(error)), &rx), 0);
		assert_int_equal(rx.kind, RPC_RX_ERROR);
		assert_int_equal(rx.error.code, refuses ? RPC_ERROR_INVAL_HTYPE : RPC_ERROR_CHUNK);
		assert_int_equal(asks(), !refuses);
		assert_int_equal(places(5), !refuses);
	}
}

static void answers_to_a_requester_that_asks(void **state)
{
	const struct option report = {
		.dir = 0, .type = RTR_REPORT, .ninfo = 5, .info = {5, 1, 0, 0, 3}};
	struct option o = {.type = RTR_REQUEST,
			   .ninfo = 10,
			   .info = {0, 1, 0, UINT32_MAX, 1, 0, RTR_TBSN, 1, 1, 8},
			   .npayload = 2,
			   .payload = {5, 0}};
	struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m};
	uint8_t hdr[RECV], body[8] = {[3] = 5};
	size_t hdr_len, body_len;

	(void)state;
	start(RPC_ACCEPTOR, BULK, BULK);
	assert_int_equal(feed(&o, 0), 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(received.nwishes, 1);
	assert_int_equal(received.writes[0].length, BULK);
	rpc_msg_reset(&m, 5, RPC_REPLY);
	m.body[0] = view_of(body, sizeof(body));
	m.nbody = 1;
	m.writes[0] = (struct rpc_chunk){0};
	m.wishes[0] = (struct rpc_wish){.way = RPC_NO_ITEM};
	m.nwrites = m.nwishes = 1;
	assert_int_equal(rpc_msg_place(&m, &m.writes[0], view_of(bulk, BULK)), 0);
	assert_true(conn.t.ops->places(&conn.t, &m));
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(xdr_peek_u32(hdr + 16), RPC_REPLY);
	assert_int_equal(xdr_peek_u32(hdr + 20), RTR_RESPONSE);
	assert_int_equal(hdr_len, EARLY_OPTIONAL_BYTES + 36);
	assert_int_equal(tx.data[0].gap, RECV - hdr_len - 8);
	/* After a report that it was wrong there are none. */
	assert_int_equal(feed(&report, 0), 0);
	assert_int_equal(rx.kind, RPC_RX_NONE);
	assert_false(conn.t.ops->places(&conn.t, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_with_its_data),
		cmocka_unit_test(what_is_wrong_is_reported),
		cmocka_unit_test(what_is_malformed),
		cmocka_unit_test(what_is_not_spoken),
		cmocka_unit_test(a_call_that_is_refused),
		cmocka_unit_test(an_answer_with_its_data),
		cmocka_unit_test(an_answer_that_is_wrong),
		cmocka_unit_test(an_error_is_no_refusal),
		cmocka_unit_test(answers_to_a_requester_that_asks),
	};

	return cmocka_run_group_tests_name("early rtr", tests, NULL, NULL);
}
