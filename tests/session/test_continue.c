/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Version 2 servers that support less than all of Message Continuation: little reassembly, nothing
 * between the parts, credits read literally, small windows, and ever smaller ones. Their calls are
 * sent in another form before the requester learns of it.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/session/inside.h"
#include "tests/session/stage.h"

enum {
	ERROR_TYPE = 4,
	BAD_XDR = 2,
	INVAL_HTYPE = 4,
	INVAL_CONT = 5,
	READ_CHUNKS = 6,
	SEGMENTS = 8
};
enum { GRANT = 5, PROPS = 7, EXTERNAL = 8, MIDDLE = 9, INLINE = 10 };

/* The server, what it does, and what it saw. */
static struct {
	uint32_t window;      /* credits it advertises */
	bool literal;	      /* rdma_credit = sent + advertised */
	uint32_t takes;	      /* octets it puts together; 0: any */
	uint32_t refuses;     /* a type of message, 0 none; with .code */
	bool knows_inline;    /* Calls of no other type: one ERR_INVAL_HTYPE a message */
	bool holds;	      /* it answers nothing */
	bool reads_none;      /* .code, 0, for each Call */
	uint32_t code;	      /* of RDMA2_ERROR */
	bool no_reply_chunks; /* .code and one segment for each call with one */
	uint32_t received, sent, total;
	bool in_message, refused;
	bool each;   /* it refuses each part by itself, all but the first late */
	bool lowers; /* .window: what was granted before stays granted, and GRANTs come in time */
	uint32_t granted;
	unsigned owed;
	unsigned externals, middles, inlines, grants, intrusions, errors, overruns;
} serv;

static bool few_segments; /* the server's, of 4096 octets: a long call is continued or not made */
static nsec_t reply_timeout; /* of the gateway's end toward it */

static uint32_t credit(void)
{
	if (serv.lowers) {
		if ((int32_t)(serv.received + serv.window - serv.granted) > 0)
			serv.granted = serv.received + serv.window;
		return serv.granted;
	}
	return (serv.literal ? serv.sent : serv.received) + serv.window;
}

static void error(uint32_t xid, uint32_t code)
{
	serv.errors++;
	if (code == SEGMENTS || code == READ_CHUNKS)
		raw_words(&stage.raw, xid, 2, credit(), ERROR_TYPE, code, code == SEGMENTS);
	else
		raw_words(&stage.raw, xid, 2, credit(), ERROR_TYPE, code);
	serv.sent++;
}

static void answer(uint32_t xid)
{
	raw_words(&stage.raw, RAW_V2_REPLY(xid, credit()));
	serv.sent++;
}

static bool refuse(uint32_t xid, uint32_t type, struct view in)
{
	uint32_t length = type == MIDDLE ? (uint32_t)in.len - 20 + xdr_peek_u32(in.data + 16) : 0;

	if (serv.in_message && type != MIDDLE && type != INLINE) {
		serv.intrusions++;
		error(xid, INVAL_CONT);
		return true;
	}
	if (serv.each && type != EXTERNAL && type != GRANT) {
		if (serv.owed++ == 0)
			error(xid, INVAL_HTYPE);
		return true;
	}
	serv.received--;				       /* these were said before */
	for (; type == EXTERNAL && serv.owed > 1; serv.owed--) /* the last part is no message */
		error(xid, serv.owed > 2 ? INVAL_HTYPE : BAD_XDR);
	serv.received++;
	if (serv.knows_inline && (type == EXTERNAL || type == MIDDLE)) {
		if (!serv.in_message)
			error(xid, INVAL_HTYPE);
		serv.in_message = serv.refused = true;
		return true;
	}
	if (type == serv.refuses || (serv.takes && length > serv.takes)) {
		if (!serv.in_message)
			error(xid, type == serv.refuses ? serv.code : INVAL_CONT);
		serv.in_message = serv.refused = true;
		return true;
	}
	return false;
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), type = xdr_peek_u32(in.data + 12);
	bool last = type == INLINE;

	(void)arg;
	(void)r;
	serv.received++;
	serv.externals += type == EXTERNAL;
	serv.middles += type == MIDDLE;
	serv.inlines += type == INLINE;
	serv.grants += type == GRANT;
	if (type == PROPS) {
		if (few_segments)
			raw_words(&stage.raw, 0x55, 2, credit(), PROPS, 2, 3, 4, 4096, 4, 4, 2);
		else
			raw_words(&stage.raw, RAW_V2_PROPS(0x55, credit()));
		serv.sent++;
		return;
	}
	if (refuse(xid, type, in) || type == GRANT) {
		if (type == EXTERNAL)
			serv.in_message = serv.refused = false;
		return;
	}
	if (serv.refused && serv.in_message) { /* late parts */
		serv.in_message = !last;
		serv.refused = !last;
		return;
	}
	serv.in_message = type == MIDDLE;
	if (serv.reads_none && last) {
		error(xid, READ_CHUNKS);
		return;
	}
	if (serv.lowers && serv.granted - serv.received <= serv.window / 2)
		raw_words(&stage.raw, 0, 2, credit(), GRANT);
	if (serv.no_reply_chunks && last && xdr_peek_u32(in.data + 28)) {
		error(xid, SEGMENTS);
		return;
	}
	if ((type == EXTERNAL || last) && !serv.holds)
		answer(xid);
}

static struct peer *client(void)
{
	return &stage.pairs[0].client;
}

static void begin(unsigned cv, uint32_t window)
{
	memset(&serv, 0, sizeof(serv));
	serv.window = window;
	stage_server(cv, on_message, NULL);
	stage.routes[0].server.reply_timeout = reply_timeout;
	world_connect_pair(&stage, 0);
	stage_run(0);
	assert_true(client()->open);
}

/* One call of @body octets after another. */
static void calls(unsigned n, uint32_t body)
{
	const struct peer_spec spec = {
		.body = body, .by_chunk = client()->leg.t->version == 1, .reply = 24, .segs = 1};
	uint64_t done = client()->done;

	while (n--) {
		assert_true(peer_call(client(), &spec));
		stage_run(1);
		assert_int_equal(client()->done, ++done);
		assert_int_equal(client()->errors, 0);
	}
}

/* 6.6.3: what the window does not cover goes by explicit RDMA. Nothing comes between parts. */
static void a_long_call_goes_by_rdma(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 8);
		calls(4, 1 << 20);
		assert_int_equal(serv.externals, 4);
		assert_int_equal(serv.middles, 0);
		calls(4, 6 * 4000);
		assert_int_equal(serv.externals, 4);
		assert_int_equal(serv.middles, 4 * 5);
		calls(1, 9 * 4000);
		assert_int_equal(serv.externals, 5);
		assert_int_equal(serv.intrusions, 0);
		stage_goes_on();
		stage_end();
	}
}

/* 7.1.4: it puts together less than we send. The first call goes another way, others at once. */
static void a_small_reassembly_limit_is_learned(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 40);
		serv.takes = 10000;
		calls(20, 40000);
		assert_int_equal(serv.errors, 1);
		calls(20, 12000);
		assert_int_equal(serv.errors, 2);
		assert_int_equal(serv.externals, 40);
		calls(5, 5900);
		assert_int_equal(serv.externals, 40);
		assert_int_equal(proxy_counters(stage.proxy)->formed_again, 2);
		stage_goes_on();
		stage_end();
	}
}

/* 7.1.3: a type is refused. Each way is tried once. */
static void a_type_that_is_refused_is_avoided(void **state)
{
	(void)state;
	begin(1, 40);
	serv.refuses = MIDDLE;
	serv.code = INVAL_HTYPE;
	calls(5, 20000);
	assert_int_equal(serv.errors, 1);
	assert_int_equal(serv.externals, 5);
	stage_goes_on();
	stage_end();

	begin(1, 40);
	serv.each = true;
	calls(5, 20000);
	assert_int_equal(serv.errors, 5);
	assert_int_equal(serv.externals, 5);
	stage_goes_on();
	stage_end();

	begin(1, 40);
	serv.refuses = EXTERNAL;
	serv.code = INVAL_HTYPE;
	calls(5, 100000);
	assert_int_equal(serv.errors, 1);
	assert_int_equal(serv.externals, 1);
	assert_true(serv.middles > 5 * 20);
	stage_goes_on();
	stage_end();
}

/* 7.3.3: the Reply chunk is one segment too many, and the Reply can do without it. */
static void a_reply_chunk_too_many_is_left_out(void **state)
{
	const struct peer_spec spec = {.body = 128, .reply = 24, .reply_cap = 20000, .segs = 1};

	(void)state;
	begin(1, 20);
	serv.no_reply_chunks = true;
	peer_call(client(), &spec);
	stage_run(1);
	assert_int_equal(serv.errors, 1);
	assert_int_equal(client()->errors, 0);
	assert_int_equal(client()->done, 1);
	stage_goes_on();
	stage_end();
}

/* 4.2.1 as it is written: each part but one costs a credit for good. The calls go on. */
static void a_literal_peer_is_served(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 12);
		serv.literal = true;
		calls(40, 5 * 4000);
		calls(40, 2 * 4000);
		calls(40, 200);
		assert_int_equal(serv.intrusions, 0);
		assert_true(serv.externals > 60);
		stage_goes_on();
		stage_end();
	}
}

/* 4.2.1: a peer may advertise less than it did, and what it advertised at most does not come back.
 * A message for which there is no other way does not wait for that. */
static void what_is_not_advertised_any_more_is_not_waited_for(void **state)
{
	(void)state;
	few_segments = true;
	for (unsigned cv = 1; cv <= 2; cv++) {
		const struct peer_spec spec = {
			.body = 80000, .by_chunk = cv == 1, .reply = 24, .segs = 1};

		begin(cv, 40);
		serv.granted = 1 + serv.window;
		serv.lowers = true;
		serv.window = 8;
		calls(50, 200);
		assert_true(peer_call(client(), &spec));
		stage_run(10);
		assert_int_equal(client()->done, 51);
		calls(5, 80000); /* by then it is known */
		assert_int_equal(serv.middles, 6 * 19);
		assert_int_equal(serv.externals, 0);
		stage_goes_on();
		stage_end();
	}
	few_segments = false;
}

/* The gateway's process is stopped for longer than a message waits for credits. The credits may have
 * come meanwhile. */
static void a_pause_of_the_gateway_is_no_wait_for_credits(void **state)
{
	const struct peer_spec spec = {.body = 80000, .reply = 24, .segs = 1};
	nsec_t until;

	(void)state;
	few_segments = true;
	begin(2, 40);
	serv.granted = 1 + serv.window;
	serv.lowers = true;
	serv.window = 8;
	calls(50, 200);
	assert_true(peer_call(client(), &spec));
	stage_run(1);
	for (until = memnet_now(stage.net) + 20 * NSEC_PER_SEC; memnet_now(stage.net) < until;)
		memnet_step(stage.net, until);
	stage_run(2);
	assert_int_equal(serv.middles, 0);
	stage_run(5);
	assert_int_equal(client()->done, 51);
	stage_goes_on();
	stage_end();
	few_segments = false;
}

/* 7.1.3: neither type is known, and a message draws one report, however many its parts. That about the
 * second form could as well be a late one about the first: without an answer it is believed. */
static void a_report_that_may_be_late_is_heard_in_the_end(void **state)
{
	const struct peer_spec spec = {.body = 20000, .reply = 24, .segs = 1};

	(void)state;
	begin(2, 40);
	serv.granted = 1 + serv.window;
	serv.lowers = true; /* its credits do not tell what it had received when it said so */
	serv.window = 8;
	serv.knows_inline = true;
	assert_true(peer_call(client(), &spec));
	stage_run(30);
	assert_int_equal(serv.errors, 2);
	assert_int_equal(client()->errors, 0);
	stage_run(40);
	assert_int_equal(client()->errors, 1);
	assert_true(peer_call(client(), &spec));
	stage_run(1);
	assert_int_equal(client()->errors, 2);
	stage_goes_on();
	stage_end();
}

/* A call of @body octets is refused, with the last credit for its other form, and then again. */
static void refuse_and_close(uint32_t body)
{
	const struct peer_spec spec = {.body = body, .reply = 24, .segs = 1};
	uint32_t xid = client()->next_xid;
	const struct txn *t;

	serv.takes = body / 2;
	serv.window = 0;
	assert_true(peer_call(client(), &spec));
	stage_run(0);
	assert_int_equal(serv.errors, 1);
	error(xid, INVAL_CONT);
	stage_run(0);
	t = container_of(inside_session(stage.proxy, 1)->txns.next, const struct txn, link);
	assert_int_equal(t->in.xid, xid);
	assert_int_equal(t->state, TXN_CALL);
	assert_true(t->is_suspected);
}

/* A call that cannot be sent has its time and no more, whatever was learned about its server. */
static void a_doubted_call_that_cannot_be_sent_is_let_go(void **state)
{
	size_t used;

	(void)state;
	reply_timeout = 100 * NSEC_PER_SEC;
	begin(2, 40);
	reply_timeout = 0;
	client()->cfg.reply_timeout = NSEC_PER_SEC; /* peer_forget() */
	calls(1, 200);
	used = world_used(&stage);
	refuse_and_close(20000);
	stage_run(90);
	assert_int_equal(proxy_counters(stage.proxy)->let_go, 0);
	stage_run(60);
	assert_int_equal(proxy_counters(stage.proxy)->let_go, 1);
	assert_int_equal(inside_session(stage.proxy, 1)->ntxns, 0);
	assert_int_equal(world_used(&stage), used);
	assert_int_equal(peer_forget(client()), 1);
	assert_int_equal(serv.externals, 0);
	serv.window = 40;
	raw_words(&stage.raw, 0, 2, credit(), GRANT);
	calls(5, 20000);
	assert_int_equal(serv.externals, 5);
	stage_goes_on();
	stage_end();
}

/* 7.3.1: what the gateway offered is not what its requester did. */
static void a_refused_chunk_is_reported_to_the_requester_that_used_it(void **state)
{
	struct peer_spec spec = {.body = 200, .reply = 24, .segs = 1};

	(void)state;
	begin(2, 40);
	serv.reads_none = true;
	assert_true(peer_call(client(), &spec));
	stage_run(1);
	assert_int_equal(client()->errors, 1);
	assert_int_equal(client()->last_error.code, RPC_ERROR_SYSTEM);
	spec.nreads = 1;
	spec.reads[0] = 5000;
	assert_true(peer_call(client(), &spec));
	stage_run(1);
	assert_int_equal(client()->errors, 2);
	assert_int_equal(client()->last_error.code, RPC_ERROR_READ_CHUNKS);
	stage_goes_on();
	stage_end();
}

/* Calls in forms that a server has not been seen to take yet keep their octets until it answers: no more
 * than half of their client's Receives, however long that takes. */
static void calls_that_may_be_refused_leave_receives(void **state)
{
	const struct peer_spec spec = {
		.body = 200, .reply = 24, .segs = 1, .nwrites = 1, .write_caps = {100}};
	const struct leg *leg;

	(void)state;
	begin(2, 40);
	leg = &inside_session(stage.proxy, 1)->client;
	serv.holds = true;
	for (unsigned i = 0; i < 16; i++) { /* all of its credits */
		assert_true(peer_call(client(), &spec));
		stage_run(0);
	}
	assert_int_equal(serv.inlines, 16);
	assert_true(leg->nrbufs / 2 < 16);
	assert_int_equal(leg->posted, leg->nrbufs / 2 + 1);
	stage_goes_on();
	stage_end();
}

/* A message that waited for credits is let go: no GRANT is spent for its sake any more. */
static void an_abandoned_message_does_not_wait(void **state)
{
	const struct peer_spec spec = {.body = 80000, .reply = 24, .segs = 1};
	const struct session *s;

	(void)state;
	few_segments = true;
	reply_timeout = 3 * NSEC_PER_SEC; /* less than the credits have */
	begin(2, 40);
	few_segments = false;
	reply_timeout = 0;
	client()->cfg.reply_timeout = NSEC_PER_SEC; /* peer_forget() */
	serv.granted = 1 + serv.window;
	serv.lowers = true;
	serv.window = 8;
	calls(50, 200);
	assert_true(peer_call(client(), &spec));
	stage_run(0);
	s = inside_session(stage.proxy, 1);
	assert_true(s->server.u.v2.waits);
	stage_run(2);
	assert_int_equal(proxy_counters(stage.proxy)->let_go, 1);
	assert_false(s->server.u.v2.waits);
	(void)peer_forget(client());
	stage_goes_on();
	stage_end();
}

/* ... nor does it count for the other reading of credits: what its window covers is continued. */
static void a_smaller_window_is_no_other_reading(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 40);
		serv.granted = 1 + serv.window;
		serv.lowers = true;
		serv.window = 8;
		calls(20, 5 * 4000);
		assert_int_equal(serv.externals, 0);
		assert_int_equal(serv.middles, 20 * 4);
		assert_int_equal(serv.intrusions, 0);
		stage_goes_on();
		stage_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_call_goes_by_rdma),
		cmocka_unit_test(a_small_reassembly_limit_is_learned),
		cmocka_unit_test(a_type_that_is_refused_is_avoided),
		cmocka_unit_test(a_reply_chunk_too_many_is_left_out),
		cmocka_unit_test(a_literal_peer_is_served),
		cmocka_unit_test(what_is_not_advertised_any_more_is_not_waited_for),
		cmocka_unit_test(a_pause_of_the_gateway_is_no_wait_for_credits),
		cmocka_unit_test(a_report_that_may_be_late_is_heard_in_the_end),
		cmocka_unit_test(a_doubted_call_that_cannot_be_sent_is_let_go),
		cmocka_unit_test(a_refused_chunk_is_reported_to_the_requester_that_used_it),
		cmocka_unit_test(calls_that_may_be_refused_leave_receives),
		cmocka_unit_test(an_abandoned_message_does_not_wait),
		cmocka_unit_test(a_smaller_window_is_no_other_reading),
	};

	return cmocka_run_group_tests_name("session continue", tests, NULL, NULL);
}
