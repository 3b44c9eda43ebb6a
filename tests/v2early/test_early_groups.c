/* SPDX-License-Identifier: BSD-2-Clause */
/* Responses of several transmissions over the early draft. Sections are those of docs/rtrext-profile.md; rtr: those of
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-02. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "v2early/conn.h"
#include "xdr/cursor.h"

enum { RECV = 4096, BULK = 8192, SPARE = 12, MOST = 4, XID = 5, GRANT = 9 };

static struct early_conn conn;
static struct rpc_msg received, call;
static struct rpc_rx rx;
static uint8_t bulk[BULK], received_first[MOST][RECV];
static struct rpc_octets held[RPC_MAX_TRANSMISSIONS];

/* The Receives that the last call announced for its response. */
static uint32_t reserved;

/* struct option - one transmission: the words of its information, then those of its payload stream. */
struct option {
	uint32_t xid, dir, type, ninfo, info[12], npayload, payload[6];
};

static int feed_proc(const struct option *o, uint32_t proc, uint32_t behind, bool fill)
{
	uint8_t *first = received_first[conn.t.nheld];
	struct xdr_out x;
	int err;

	memset(first, 0, RECV);
	xdr_out_init(&x, first, RECV);
	xdr_put_u32(&x, o->xid);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, GRANT);
	xdr_put_u32(&x, proc);
	if (proc == EARLY_OPTIONAL) {
		xdr_put_u32(&x, o->dir);
		xdr_put_u32(&x, o->type);
		xdr_put_u32(&x, 4 * o->ninfo);
	}
	for (uint32_t i = 0; i < o->ninfo; i++)
		xdr_put_u32(&x, o->info[i]);
	for (uint32_t i = 0; i < o->npayload; i++)
		xdr_put_u32(&x, o->payload[i]);
	conn.t.bulk = view_of(bulk, behind);
	conn.t.held = held;
	held[conn.t.nheld].here = view_of(first, fill ? RECV : xdr_out_len(&x));
	held[conn.t.nheld].bulk = conn.t.bulk;
	err = conn.t.ops->recv(&conn.t, held[conn.t.nheld].here, &rx);
	if (rx.kind == RPC_RX_HELD || rx.kind == RPC_RX_GROUP)
		conn.t.nheld++;
	if (rx.abandon)
		conn.t.nheld = 0;
	return err;
}

static void feed(const struct option *o, uint32_t behind)
{
	assert_int_equal(feed_proc(o, EARLY_OPTIONAL, behind, behind > 0), 0);
}

/* The reply to a plain call of @xid. */
static void feed_reply(uint32_t xid)
{
	const struct option o = {
		.xid = xid, .ninfo = 4, .info = {1}, .npayload = 6, .payload = {xid, 1}};

	assert_int_equal(feed_proc(&o, EARLY_MSG, 0, false), 0);
}

static int send(uint32_t xid, enum rpc_dir dir, uint8_t *hdr)
{
	struct rpc_tx tx = {.msg = &call};
	size_t hdr_len, body_len;

	call.xid = xid;
	call.dir = dir;
	return conn.t.ops->encode(&conn.t, &tx, hdr, RECV, &hdr_len, &body_len);
}

static void form_call(uint32_t xid)
{
	static uint8_t body[40];

	memset(body, 0, sizeof(body));
	body[3] = (uint8_t)xid;
	body[11] = 2;
	rpc_msg_reset(&call, xid, RPC_CALL);
	call.body[0] = view_of(body, sizeof(body));
	call.nbody = 1;
}

static void start(enum rpc_role role)
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
		.bulk_bytes = BULK,
		.peer_bulk_bytes = BULK,
		.transmissions = MOST,
		.msg = &received,
	};

	assert_int_equal(early_conn_init(&conn, &own), 0);
	conn.t.spare = SPARE;
}

/* An initiator whose first call was answered. */
static void talk(void)
{
	uint8_t hdr[RECV];

	start(RPC_INITIATOR);
	form_call(1);
	assert_int_equal(send(1, RPC_CALL, hdr), 0);
	feed_reply(1);
	assert_int_equal(rx.kind, RPC_RX_MSG);
}

/* A call that leaves the way of up to @bytes of its reply to the responder. */
static void ask(uint32_t xid, uint32_t bytes)
{
	const struct segment s = {0xaa, bytes, 0};
	uint8_t hdr[RECV];

	form_call(xid);
	call.wishes[0] = (struct rpc_wish){.way = RPC_BY_EITHER, .end = UINT32_MAX};
	call.nwrites = call.nwishes = 1;
	call.writes[0] = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&call, &call.writes[0], &s), 0);
	assert_true(conn.t.ops->places(&conn.t, &call));
	assert_int_equal(send(xid, RPC_CALL, hdr), 0);
	assert_int_equal(xdr_peek_u32(hdr + 20), RTR_REQUEST);
	/* Behind the information's length: no items, one set with its range, one wish, its way, one segment; the count. */
	reserved = xdr_peek_u32(hdr + 28 + 4 * (1 + 1 + 2 + 1 + 1 + 1 + 1 + 4 + 1));
}

/* The first of @count transmissions of a response with @length octets in segments 0 to @numbers - 1. */
static struct option response(uint32_t xid, uint32_t length, uint32_t numbers, uint32_t count)
{
	struct option o = {.xid = xid,
			   .dir = 1,
			   .type = RTR_RESPONSE,
			   .info = {1, 0, length, RTR_TBSN, 0, numbers},
			   .npayload = 2,
			   .payload = {xid, 1}};

	for (uint32_t i = 0; i < numbers; i++)
		o.info[6 + i] = i;
	o.info[6 + numbers] = count;
	o.info[7 + numbers] = 8;
	o.ninfo = 8 + numbers;
	return o;
}

static struct option more(uint32_t xid, uint32_t number, enum rpc_dir dir)
{
	return (struct option){.xid = xid,
			       .dir = dir,
			       .type = RTR_CONTINUE,
			       .ninfo = 3,
			       .info = {number, RTR_RESPONSE, 0}};
}

/* A Report Error about transmission @number of the answer to @xid, in a call (section 1). */
static void expect_report(uint32_t xid, uint32_t number, bool has_lead, enum rtr_code code,
			  uint32_t expected, uint32_t current)
{
	uint8_t out[256];
	struct xdr_in x;
	struct rtr_msg r;
	int len = conn.t.ops->control(&conn.t, out, sizeof(out));

	assert_true(len > 28);
	assert_int_equal(xdr_peek_u32(out + 16), RPC_CALL);
	xdr_in_init(&x, view_of(out + 28, (size_t)len - 28));
	assert_int_equal(rtr_decode(&r, RTR_REPORT, &x), 0);
	assert_int_equal(r.bad.xid, xid);
	assert_true(r.bad.is_reply);
	assert_int_equal(r.bad.number, number);
	assert_int_equal(r.has_lead, has_lead);
	assert_true(!has_lead || (r.lead.is_reply && r.lead.xid == XID && r.lead.number == 0));
	assert_int_equal(r.fault.code, code);
	assert_int_equal(r.fault.min, expected);
	assert_int_equal(r.fault.value, current);
	assert_int_equal(conn.t.nreports, 0);
}

/* rtr 4.3: "makes sure that the buffers will be available and indicates to the responder how many": as many as the
 * longest answer fills, half of what can be spared, and what this end takes at most. */
static void receives_that_are_kept(void **state)
{
	static const struct {
		uint32_t bytes, spare, reserved;
	} cases[] = {
		{1, SPARE, 1},	      {BULK, SPARE, 1},	       {BULK + 1, SPARE, 2},
		{3 * BULK, SPARE, 3}, {9 * BULK, SPARE, MOST}, {9 * BULK, 4, 3},
		{9 * BULK, 1, 1},     {9 * BULK, 0, 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		talk();
		conn.t.spare = cases[i].spare;
		ask(XID, cases[i].bytes);
		assert_int_equal(reserved, cases[i].reserved);
		assert_int_equal(conn.t.kept, cases[i].reserved - 1);
		assert_int_equal(conn.calls.in_flight, 1); /* no credit stands for them */
		feed_reply(XID);
		assert_int_equal(rx.kind, RPC_RX_MSG);
		assert_int_equal(conn.t.kept, 0);
	}
}

/* Return: octets to gather. */
static uint32_t receive_three(uint32_t xid)
{
	struct option o = response(xid, 2 * BULK + 100, 3, 3);

	feed(&o, BULK);
	assert_int_equal(rx.kind, RPC_RX_HELD);
	o = more(xid, 1, RPC_REPLY);
	feed(&o, BULK);
	assert_int_equal(rx.kind, RPC_RX_HELD);
	assert_int_equal(conn.t.kept, 2); /* until all has come */
	o = more(xid, 2, RPC_REPLY);
	feed(&o, 100);
	return rx.remaining;
}

static void an_answer_of_three(void **state)
{
	enum { LENGTH = 2 * BULK + 100 };
	static uint8_t block[LENGTH + 4]; /* a multiple of eight */

	(void)state;
	talk();
	memset(bulk, 0x5a, sizeof(bulk));
	ask(XID, 3 * BULK);
	assert_int_equal(receive_three(XID), sizeof(block));
	assert_int_equal(rx.kind, RPC_RX_GROUP);
	assert_int_equal(rx.xid, XID);
	assert_int_equal(rx.group_dir, RPC_REPLY);
	assert_int_equal(conn.t.kept, 0);
	assert_int_equal(conn.calls.in_flight, 0);
	assert_int_equal(conn.calls.granted, GRANT);
	for (unsigned at = 0; at < sizeof(block); at += BULK / 3) /* some at a time */
		conn.t.ops->gather(&conn.t, block, at,
				   at + BULK / 3 < sizeof(block) ? at + BULK / 3 : sizeof(block));
	assert_ptr_equal(rpc_msg_placed(&received, &received.writes[0]), block);
	assert_int_equal(received.writes[0].length, LENGTH);
	for (unsigned i = 0; i < LENGTH; i++)
		assert_int_equal(block[i], 0x5a);
	assert_true(conn.t.ops->answers(&call, &received));
}

/* rtr 5.2: "responders will only send multi-transmission responses ... where the number of response transmissions is less
 * than or equal to buffer reservation count". */
static void more_than_were_kept(void **state)
{
	struct option o = response(XID, 2 * BULK + 100, 3, 3);

	(void)state;
	talk();
	ask(XID, 2 * BULK);
	feed(&o, BULK);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, XID);
	assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
	assert_int_equal(conn.t.kept + conn.calls.in_flight, 0);
	expect_report(XID, 0, false, RTR_BAD_NUMBER, 2, 3);
	o = more(XID, 1, RPC_REPLY); /* what continues it is dropped without a word */
	feed(&o, BULK);
	assert_int_equal(rx.kind, RPC_RX_NONE);
	assert_int_equal(conn.t.nreports, 0);
}

/* The next call of @xid + 1 waits as well; after the first of three transmissions for @xid something else comes. */
static void ask_two(void)
{
	const struct option o = response(XID, 2 * BULK + 100, 3, 3);

	ask(XID + 1, 1);
	ask(XID, 3 * BULK);
	feed(&o, BULK);
	assert_int_equal(rx.kind, RPC_RX_HELD);
}

static void begin_two(void)
{
	talk();
	ask_two();
}

/* The call that it was the answer to fails, with what it had. */
static void assert_is_lost(bool also)
{
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, XID);
	assert_true(rx.abandon);
	assert_int_equal(rx.also, also);
	assert_true(!also || rx.also_xid == XID + 1);
	assert_int_equal(conn.t.kept, 0);
	assert_int_equal(conn.calls.in_flight, also ? 0 : 1);
}

static void groups_that_break(void **state)
{
	struct option o;

	(void)state;
	begin_two(); /* another number */
	o = more(XID, 2, RPC_REPLY);
	feed(&o, BULK);
	assert_is_lost(false);
	expect_report(XID, 2, true, RTR_BAD_NUMBER, 1, 2);
	begin_two(); /* another XID */
	o = more(XID + 1, 1, RPC_REPLY);
	feed(&o, BULK);
	assert_is_lost(false);
	expect_report(XID + 1, 1, true, RTR_BAD_XID, XID, XID + 1);
	begin_two(); /* malformed: of a response nothing is said */
	o = more(XID, 1, RPC_REPLY);
	o.ninfo = 2;
	feed(&o, 0);
	assert_is_lost(false);
	assert_int_equal(conn.t.nreports, 0);
	begin_two(); /* another answer, which is lost with it */
	feed_reply(XID + 1);
	assert_is_lost(true);
	expect_report(XID + 1, 0, true, RTR_BAD_TYPE, EARLY_OPTIONAL, EARLY_MSG);
	begin_two(); /* ... of the same call */
	feed_reply(XID);
	assert_is_lost(false);
	begin_two(); /* another response */
	o = response(XID + 1, 1, 1, 1);
	feed(&o, 1);
	assert_is_lost(true);
	expect_report(XID + 1, 0, true, RTR_BAD_OPTION, RTR_CONTINUE, RTR_RESPONSE);
	begin_two(); /* a reply that is malformed */
	o = (struct option){.xid = XID + 1, .ninfo = 4, .info = {1, 7}, .npayload = 6};
	assert_int_equal(feed_proc(&o, EARLY_MSG, 0, false), 0);
	assert_is_lost(true);
	begin_two(); /* of the other direction */
	o = more(XID, 1, RPC_CALL);
	feed(&o, BULK);
	assert_is_lost(false);
}

/* Between transmissions an error may come, also about that call: what follows is an answer to nothing. */
static void an_error_in_between(void **state)
{
	const struct option error = {.xid = XID, .ninfo = 1, .info = {EARLY_ERR_BAD_HEADER}},
			    second = more(XID, 1, RPC_REPLY), last = more(XID, 2, RPC_REPLY);

	(void)state;
	talk();
	ask(XID + 2, 1);
	feed_reply(XID + 2); /* the peer knows such calls */
	ask_two();
	assert_int_equal(feed_proc(&error, EARLY_ERROR, 0, false), 0);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, XID);
	feed(&second, BULK);
	assert_int_equal(rx.kind, RPC_RX_HELD);
	feed(&last, 100);
	assert_int_equal(rx.kind, RPC_RX_NONE);
	assert_true(rx.abandon);
	assert_int_equal(conn.calls.in_flight, 1);
}

/* A call that was let go keeps its Receives until its answer has come, whole. */
static void a_call_that_was_let_go(void **state)
{
	(void)state;
	talk();
	ask(XID, 3 * BULK);
	conn.t.ops->forget(&conn.t, XID);
	assert_int_equal(conn.t.kept, 2);
	(void)receive_three(XID);
	assert_int_equal(rx.kind, RPC_RX_NONE);
	assert_true(rx.abandon);
	assert_int_equal(conn.t.kept + conn.calls.in_flight, 0);
	assert_int_equal(conn.t.count.late, 1);
}

/* ... and a call with its XID went since, which is no option, for that place is taken. */
static void let_go_and_send_again(void)
{
	uint8_t hdr[RECV];

	talk();
	ask(XID, 3 * BULK);
	conn.t.ops->forget(&conn.t, XID);
	form_call(XID);
	assert_int_equal(send(XID, RPC_CALL, hdr), 0);
}

/* The message was an answer to the first call only: the second has its own. */
static void assert_is_late(void)
{
	assert_int_equal(rx.kind, RPC_RX_NONE);
	assert_false(rx.also);
	assert_int_equal(conn.t.count.late, 1);
	assert_int_equal(conn.t.kept, 0);
	assert_int_equal(conn.calls.in_flight, 1);
	feed_reply(XID);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(conn.calls.in_flight, 0);
}

static void a_call_with_the_xid_of_one_that_was_let_go(void **state)
{
	(void)state;
	let_go_and_send_again();
	(void)receive_three(XID);
	assert_true(rx.abandon);
	assert_is_late();
}

/* A reply in the usual form may be one to either: the first is that of the call that waits, and what the option holds is kept
 * until there is another, in this form or in its own. */
static void answers_that_do_not_say_to_which(void **state)
{
	(void)state;
	for (unsigned as_option = 0; as_option < 2; as_option++) {
		let_go_and_send_again();
		feed_reply(XID);
		assert_int_equal(rx.kind, RPC_RX_MSG);
		assert_int_equal(conn.t.count.late, 0);
		assert_int_equal(conn.t.kept, 2);
		assert_int_equal(conn.calls.in_flight, 1);
		if (as_option)
			(void)receive_three(XID);
		else
			feed_reply(XID);
		assert_int_equal(rx.kind, RPC_RX_NONE);
		assert_int_equal(conn.t.count.late, 1);
		assert_int_equal(conn.t.late.n, 0);
		assert_int_equal(conn.t.kept + conn.calls.in_flight, 0);
	}
}

static void it_is_refused(void)
{
	const struct option error = {.xid = XID, .ninfo = 1, .info = {EARLY_ERR_INVAL_OPTION}};

	assert_int_equal(feed_proc(&error, EARLY_ERROR, 0, false), 0);
}

static void it_is_reported(void)
{
	const struct option o = {.xid = XID,
				 .dir = RPC_REPLY,
				 .type = RTR_REPORT,
				 .ninfo = 5,
				 .info = {XID, 0, 0, 0, RTR_BAD_CONT}};

	feed(&o, 0);
}

static void its_response_is_wrong(void)
{
	const struct option o = response(XID, 2 * BULK + 100, MOST, 3);

	feed(&o, BULK);
}

static void its_group_breaks(void)
{
	const struct option first = response(XID, 2 * BULK + 100, 3, 3),
			    third = more(XID, 2, RPC_REPLY);

	feed(&first, BULK);
	feed(&third, BULK);
	assert_true(rx.abandon);
}

static void its_response_comes_twice(void)
{
	const struct option first = response(XID, 2 * BULK + 100, 3, 3);

	feed(&first, BULK);
	feed(&first, BULK);
	assert_true(rx.abandon);
}

static void what_is_wrong_with_the_answer_to_the_first(void **state)
{
	static void (*const ways[])(void) = {it_is_refused, it_is_reported, its_response_is_wrong,
					     its_group_breaks, its_response_comes_twice};

	(void)state;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		let_go_and_send_again();
		ways[i]();
		assert_is_late();
	}
}

/* A message in the middle of a group is lost with it: the reply to the second call within the group
 * of the first; a response to the first within another group, which says nothing about the
 * second. */
static void what_breaks_a_group_then(void **state)
{
	struct option first = response(XID, 2 * BULK + 100, 3, 3);

	(void)state;
	let_go_and_send_again();
	feed(&first, BULK);
	feed_reply(XID);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, XID);
	assert_int_equal(conn.calls.in_flight, 0);
	let_go_and_send_again();
	ask(XID + 1, 3 * BULK);
	first = response(XID + 1, 2 * BULK + 100, 3, 3);
	feed(&first, BULK);
	first = response(XID, 1, 1, 1);
	feed(&first, 1);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(rx.xid, XID + 1);
	assert_false(rx.also);
	assert_int_equal(conn.t.count.late, 1);
	assert_int_equal(conn.calls.in_flight, 1);
}

/* The first answer to a first call, which is none: it says nothing of credits (draft-cel-nfsv4-rpcrdma-version-two-01, 5). */
static void no_first_grant(void **state)
{
	const struct option o = response(1, 1, 1, 1);
	uint8_t hdr[RECV];

	(void)state;
	start(RPC_INITIATOR);
	form_call(1);
	assert_int_equal(send(1, RPC_CALL, hdr), 0);
	feed(&o, 1);
	assert_int_equal(rx.kind, RPC_RX_ERROR);
	assert_int_equal(conn.calls.granted, 1);
}

/* A responder sends no more than were kept for it, nor than its own limit, and nothing in between. */
static void an_answer_in_several(void **state)
{
	static uint8_t data[MOST * BULK], body[8] = {[3] = XID};
	uint8_t hdr[RECV];
	size_t hdr_len, body_len;
	struct rpc_tx tx = {.msg = &call};

	(void)state;
	start(RPC_ACCEPTOR);
	for (uint32_t kept = 0; kept <= MOST + 2; kept++) {
		rpc_msg_reset(&call, XID, RPC_REPLY);
		call.reserved = kept;
		call.body[0] = view_of(body, sizeof(body));
		call.nbody = 1;
		call.wishes[0] = (struct rpc_wish){.way = RPC_NO_ITEM};
		call.nwrites = call.nwishes = 1;
		call.writes[0] = (struct rpc_chunk){0};
		assert_int_equal(rpc_msg_place(&call, &call.writes[0], view_of(data, sizeof(data))),
				 0);
		assert_int_equal(conn.t.ops->places(&conn.t, &call), kept >= MOST);
	}
	for (uint32_t i = 0; i < MOST; i++) {
		struct rpc_msg other = call;
		const struct rpc_tx same = {.msg = &other};

		assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, RECV, &hdr_len, &body_len),
				 i + 1 < MOST);
		assert_int_equal(xdr_peek_u32(hdr + 16), RPC_REPLY);
		assert_int_equal(xdr_peek_u32(hdr + 20), i ? RTR_CONTINUE : RTR_RESPONSE);
		assert_int_equal(hdr_len + body_len + tx.data[0].gap, RECV);
		assert_int_equal(tx.data[0].length, BULK);
		assert_int_equal(conn.t.ops->may_send(&conn.t, &same), i + 1 == MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_that_are_kept),
		cmocka_unit_test(an_answer_of_three),
		cmocka_unit_test(more_than_were_kept),
		cmocka_unit_test(groups_that_break),
		cmocka_unit_test(an_error_in_between),
		cmocka_unit_test(a_call_that_was_let_go),
		cmocka_unit_test(a_call_with_the_xid_of_one_that_was_let_go),
		cmocka_unit_test(answers_that_do_not_say_to_which),
		cmocka_unit_test(what_is_wrong_with_the_answer_to_the_first),
		cmocka_unit_test(what_breaks_a_group_then),
		cmocka_unit_test(no_first_grant),
		cmocka_unit_test(an_answer_in_several),
	};

	return cmocka_run_group_tests_name("early groups", tests, NULL, NULL);
}
