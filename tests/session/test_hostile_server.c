/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers that return more than was offered, reply without a call, grant nothing, or reach beyond
 * their exposures. The client gets an error of its own version, or loses its one session; it never
 * gets another session's octets.
 */
#include "tests/cmocka_all.h"

#include "tests/session/stage.h"

enum { ERROR_TYPE = 4, CHUNK_CODE = 2, SYSTEM_CODE = 100 };

/* Behaviour of the server for a call other than the first, which is served. */
enum deed {
	SERVE,
	TOO_LONG_WRITE, /* the Write chunk, longer than offered */
	INV_BEFORE,	/* a message that is no reply invalidates it, then as UNWRITTEN */
	INV_ANOTHERS,	/* the next call's reply invalidates it */
	INV_PART,	/* the first part of the reply does, after all was written */
	UNWRITTEN,	/* the Write chunk, as offered, but nothing was written */
	MORE_CHUNKS,	/* one more Write chunk than offered */
	FEWER_CHUNKS,	/* none at all */
	OTHER_XID,	/* reply to a call that never was */
	TWICE,		/* reply, and once more */
	REPLY_CHUNK,	/* a Reply chunk that was not offered */
	ERROR_UNKNOWN,	/* report about a call that never was, then serve */
	READ_BEYOND,	/* RDMA Read of more than the Read chunk */
	WRITE_BEYOND,	/* RDMA Write of more than the Write chunk */
	READ_AFTER,	/* the same chunk again, after the reply */
	ENDLESS,	/* first part of a continued reply, and no more */
	TOO_LONG,	/* a continued reply, longer than the gateway takes */
	TOO_LONG_INV,	/* the same; its last part invalidates the Write chunk */
	SHORT_REPLY,	/* a reply of four octets */
	CALL_AS_REPLY,	/* a call with the XID of the call */
};

struct play {
	unsigned vers; /* that the server speaks */
	enum deed deed;
	uint32_t credit;    /* granted: calls (1), messages beyond those received (2) */
	bool reverse_first; /* a reverse call before anything else */
	unsigned calls, received, report;
	uint32_t held;		    /* a handle of the call before */
	struct segment read, write; /* of the last call */
};

static struct play play;

/* Finds the first Read and Write segments of a call, wherever its lists begin. */
static void note_chunks(struct view in)
{
	struct xdr_in x;
	bool has_write;

	xdr_in_init(&x, in);
	xdr_skip(&x, play.vers == 1 ? 16 : 20);
	play.read = play.write = (struct segment){0};
	while (xdr_get_bool(&x)) {
		xdr_skip(&x, 4);
		play.read = xdr_get_segment(&x);
	}
	has_write = xdr_get_bool(&x);
	if (has_write) {
		xdr_skip(&x, 4);
		play.write = xdr_get_segment(&x);
	}
}

static uint32_t credits(void)
{
	return play.vers == 1 ? play.credit : play.received + play.credit;
}

/* A reply with @n Write chunks, each that of the call with @length. */
static void put_reply(uint32_t xid, unsigned n, uint32_t length)
{
	const uint32_t body[] = {RAW_REPLY_BODY(xid)};
	struct xdr_out x = raw_begin(&stage.raw);
	struct segment s = play.write;

	s.length = length;
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, play.vers);
	xdr_put_u32(&x, credits());
	xdr_put_u32(&x, play.vers == 1 ? 0 : 13);
	if (play.vers == 1)
		xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < n; i++) {
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, 1);
		xdr_put_segment(&x, &s);
	}
	xdr_put_u32(&x, 0);
	if (play.vers == 1)
		xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < 6; i++)
		xdr_put_u32(&x, body[i]);
	raw_end(&stage.raw, &x);
}

static void serve(uint32_t xid)
{
	if (play.write.length)
		raw_write(&stage.raw, &play.write, play.write.length);
	put_reply(xid, play.write.handle ? 1 : 0, play.write.length);
}

static void put_reply_chunk(uint32_t xid)
{
	if (play.vers == 1)
		raw_words(&stage.raw, xid, 1, credits(), 1, 0, 0, 1, 1, 0x666, 1000, 0, 0);
	else
		raw_words(&stage.raw, xid, 2, credits(), 11, 0, 1, 1, 0x666, 1000, 0, 0);
}

static void put_error(uint32_t xid)
{
	raw_words(&stage.raw, xid, play.vers, credits(), ERROR_TYPE,
		  play.vers == 1 ? CHUNK_CODE : SYSTEM_CODE);
}

static void read_back(struct segment s, uint32_t len)
{
	static uint8_t *sink;

	sink = stage.raw.memory + RAW_RECVS * RAW_BUFFER * 2;
	s.length = len;
	if (stage.raw.conn)
		(void)!fabric_read(stage.raw.conn, sink, &s, NULL);
}

static void reverse_call(void);

/* A message that may come at any time, and is no reply. */
static void put_other(void)
{
	if (play.vers == 1)
		reverse_call();
	else
		raw_words(&stage.raw, 0, 2, credits(), 5);
}

static void put_reply_in_parts(uint32_t xid)
{
	raw_words(&stage.raw, xid, 2, credits(), 12, 4, xid, 1, 0, 0, 0);
	raw_words(&stage.raw, xid, 2, credits(), 13, 1, 1, play.write.handle, play.write.length,
		  (uint32_t)(play.write.offset >> 32), (uint32_t)play.write.offset, 0, 0);
}

static void do_deed(uint32_t xid)
{
	switch (play.deed) {
	case SERVE:
		serve(xid);
		break;
	case TOO_LONG_WRITE:
		raw_write(&stage.raw, &play.write, play.write.length);
		put_reply(xid, 1, play.write.length + 1);
		break;
	case INV_BEFORE:
		stage.raw.invalidate = play.write.handle;
		put_other();
		put_reply(xid, 1, play.write.length);
		break;
	case INV_ANOTHERS:
		if (play.calls == 3) {
			stage.raw.invalidate = play.held;
			put_reply(xid, 0, 0);
		}
		play.held = play.write.handle;
		break;
	case INV_PART:
		raw_write(&stage.raw, &play.write, play.write.length);
		stage.raw.invalidate = play.write.handle;
		put_reply_in_parts(xid);
		break;
	case UNWRITTEN:
		put_reply(xid, 1, play.write.length);
		break;
	case MORE_CHUNKS:
		raw_write(&stage.raw, &play.write, play.write.length);
		put_reply(xid, 2, play.write.length);
		break;
	case FEWER_CHUNKS:
		put_reply(xid, 0, 0);
		break;
	case OTHER_XID:
		put_reply(xid + 77, 0, 0);
		break;
	case TWICE:
		serve(xid);
		serve(xid);
		break;
	case REPLY_CHUNK:
		put_reply_chunk(xid);
		break;
	case ERROR_UNKNOWN:
		put_error(xid + 77);
		serve(xid);
		break;
	case READ_BEYOND:
		read_back(play.read, play.read.length + 1);
		break;
	case WRITE_BEYOND:
		raw_write(&stage.raw, &play.write, play.write.length + 1);
		break;
	case READ_AFTER:
		serve(xid);
		break;
	case ENDLESS:
		raw_words(&stage.raw, xid, 2, credits(), 12, 5000, xid, 1);
		break;
	case TOO_LONG:
	case TOO_LONG_INV:
		raw_words(&stage.raw, xid, 2, credits(), 12, 1 << 30, xid, 1, 0, 0, 0);
		if (play.deed == TOO_LONG_INV)
			stage.raw.invalidate = play.write.handle;
		raw_words(&stage.raw, xid, 2, credits(), 13, 0, 7, 7, 7);
		break;
	case SHORT_REPLY:
		raw_words(&stage.raw, xid, 2, credits(), 13, 0, xid);
		break;
	case CALL_AS_REPLY:
		raw_words(&stage.raw, xid, 2, credits(), 13, 0, RAW_CALL_BODY(xid));
		break;
	}
}

static void reverse_call(void)
{
	if (play.vers == 1)
		raw_words(&stage.raw, RAW_V1_CALL(0xbbbb));
	else
		raw_words(&stage.raw, RAW_V2_CALL(0xbbbb, credits()));
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);
	uint32_t type = xdr_peek_u32(in.data + 12);

	(void)arg;
	play.received++;
	if (vers == 2 && play.vers == 1) {
		raw_words(r, xid, 2, play.credit, ERROR_TYPE, 1, 1, 1);
		if (play.reverse_first)
			reverse_call();
		return;
	}
	if (type == ERROR_TYPE)
		play.report = xdr_peek_u32(in.data + 16);
	if (type == 7) {
		raw_words(r, RAW_V2_PROPS(0x55, credits()));
		if (play.reverse_first)
			reverse_call();
	}
	if (type != (play.vers == 1 ? 0 : 10))
		return;
	note_chunks(in);
	if (++play.calls == 1)
		serve(xid);
	else
		do_deed(xid);
}

static const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};
static const struct peer_spec full_call = {.body = 100,
					   .reply = 24,
					   .segs = 1,
					   .nreads = 1,
					   .reads = {3000},
					   .nwrites = 1,
					   .write_caps = {3000}};

static struct peer *client(void)
{
	return &stage.pairs[0].client;
}

static void begin(unsigned cv, unsigned sv, enum deed deed)
{
	play = (struct play){.vers = sv, .deed = deed, .credit = 20};
	stage_server(cv, on_message, NULL);
	world_connect_pair(&stage, 0);
	stage_run(0);
	assert_true(client()->open);
	peer_call(client(), &null_call);
	stage_run(0);
	assert_int_equal(client()->done, 1);
}

/* The deed costs the session whatever the versions. */
static void fatal(enum deed deed, bool counted)
{
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv, deed);
			peer_call(client(), &full_call);
			stage_is_over(counted);
			assert_true(client()->closed);
			assert_int_equal(client()->done, 1);
			stage_end();
		}
}

/* A call with data fails, because the server cannot fetch them. A long call is continued if the
 * server's version can do that. */
static void a_server_that_issues_no_reads_is_asked_for_none(void **state)
{
	const struct peer_spec long_call = {.body = 6000, .by_chunk = true, .reply = 24, .segs = 1};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv, SERVE);
			memnet_issue_no_reads(stage.raw.conn);
			peer_call(client(), &full_call);
			stage_run(0);
			assert_int_equal(client()->errors, 1);
			assert_int_equal(client()->last_error.code,
					 cv == 1 ? RPC_ERROR_CHUNK : RPC_ERROR_READ_CHUNKS);
			assert_int_equal(play.calls, 1);
			peer_call(client(), &long_call);
			stage_run(0);
			assert_int_equal(client()->errors, sv == 1 ? 2 : 1);
			assert_int_equal(play.calls, sv == 1 ? 1 : 2);
			assert_int_equal(play.read.length, 0);
			peer_call(client(), &null_call);
			stage_run(0);
			assert_int_equal(client()->done, sv == 1 ? 2 : 3);
			stage_goes_on();
			stage_end();
		}
}

static void more_than_was_offered_is_not_believed(void **state)
{
	(void)state;
	fatal(TOO_LONG_WRITE, true);
	fatal(MORE_CHUNKS, true);
	fatal(REPLY_CHUNK, true);
}

static void what_was_not_written_is_not_passed_on(void **state)
{
	(void)state;
	fatal(UNWRITTEN, true);
}

/* Draft-07 6.5, RFC 8797 4.1: a reply may invalidate what belongs to its own call. The handle of
 * another would take along what is known of what was written there. */
static void only_a_reply_invalidates_and_only_its_own(void **state)
{
	struct peer_spec stored = full_call; /* not cut through, so the next call does not wait */

	(void)state;
	stored.write_caps[0] = 2000;
	fatal(INV_BEFORE, true);
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(1, sv, INV_ANOTHERS);
		peer_call(client(), &stored);
		peer_call(client(), &stored);
		stage_is_over(true);
		assert_int_equal(client()->done, 1);
		stage_end();
	}
	begin(1, 2, INV_PART);
	peer_call(client(), &full_call);
	stage_goes_on();
	assert_int_equal(client()->done, 2);
	stage_end();
}

static void a_reply_to_no_call_costs_the_session(void **state)
{
	(void)state;
	fatal(OTHER_XID, true);
}

static void reaching_beyond_what_is_exposed_costs_the_session(void **state)
{
	(void)state;
	fatal(READ_BEYOND, false);
	fatal(WRITE_BEYOND, false);
}

/* Chunks left out come back to the client as unused. */
static void fewer_chunks_are_unused_ones(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv, FEWER_CHUNKS);
			peer_call(client(), &full_call);
			stage_goes_on();
			assert_int_equal(client()->done, 2);
			assert_int_equal(client()->corrupt, 0);
			stage_end();
		}
}

static void what_was_exposed_is_withdrawn_before_the_reply(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(1, sv, READ_AFTER);
		peer_call(client(), &full_call);
		stage_goes_on();
		assert_int_equal(client()->done, 2);
		read_back(play.read, 100);
		stage_is_over(false);
		stage_end();
	}
}

static void a_second_reply_is_none(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(1, sv, TWICE);
		peer_call(client(), &null_call);
		stage_run(0);
		/* Version 1 drops it, for nothing is in flight. */
		if (sv == 1)
			stage_goes_on();
		else
			stage_is_over(true);
		stage_end();
	}
}

static void an_error_about_nothing(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(2, sv, ERROR_UNKNOWN);
		peer_call(client(), &null_call);
		/* Version 1's credits would be spoiled: every error there answers a call. */
		if (sv == 1) {
			stage_is_over(true);
		} else {
			stage_goes_on();
			assert_int_equal(client()->done, 2);
			assert_int_equal(client()->errors, 0);
		}
		stage_end();
	}
}

static void a_continued_reply_without_end(void **state)
{
	(void)state;
	begin(1, 2, ENDLESS);
	peer_call(client(), &null_call);
	stage_run(30);
	assert_false(client()->closed);
	stage_run(60);
	stage_is_over(true);
	stage_end();
}

/* The parts of a reply that is too long are dropped. Its call has failed, so the handles of the call are withdrawn. */
static void a_dropped_part_may_not_invalidate(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 2, TOO_LONG);
		peer_call(client(), &full_call);
		stage_goes_on();
		assert_int_equal(client()->errors, 1);
		stage_end();
		begin(cv, 2, TOO_LONG_INV);
		peer_call(client(), &full_call);
		stage_is_over(true);
		assert_true(client()->closed);
		stage_end();
	}
}

static void a_reply_that_is_none(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 2, SHORT_REPLY);
		peer_call(client(), &null_call);
		stage_is_over(true);
		stage_end();
		begin(cv, 2, CALL_AS_REPLY);
		peer_call(client(), &null_call);
		stage_is_over(true);
		stage_end();
	}
}

/* Version 1: 0 counts as 1, so calls go one by one; version 2: the window stays shut, the
 * client waits, and everything is given back when it leaves. */
static void a_server_that_grants_nothing(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv, SERVE);
			play.credit = 0;
			peer_call(client(), &null_call);
			stage_run(0);
			for (unsigned i = 0; i < 12; i++)
				peer_call(client(), &null_call);
			stage_run(200);
			if (sv == 1)
				assert_int_equal(client()->done, 14);
			assert_false(client()->closed);
			stage_end();
		}
}

static void a_reverse_call_before_the_clients_first_word(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		play = (struct play){.vers = sv, .credit = 20, .reverse_first = true};
		stage_server(1, on_message, NULL);
		world_connect_pair(&stage, 0);
		stage_run(0);
		assert_true(client()->open);
		assert_int_equal(play.report, sv == 1 ? CHUNK_CODE : SYSTEM_CODE);
		peer_call(client(), &null_call);
		stage_goes_on();
		assert_int_equal(client()->done, 1);
		stage_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_issues_no_reads_is_asked_for_none),
		cmocka_unit_test(more_than_was_offered_is_not_believed),
		cmocka_unit_test(what_was_not_written_is_not_passed_on),
		cmocka_unit_test(only_a_reply_invalidates_and_only_its_own),
		cmocka_unit_test(a_reply_to_no_call_costs_the_session),
		cmocka_unit_test(reaching_beyond_what_is_exposed_costs_the_session),
		cmocka_unit_test(fewer_chunks_are_unused_ones),
		cmocka_unit_test(what_was_exposed_is_withdrawn_before_the_reply),
		cmocka_unit_test(a_second_reply_is_none),
		cmocka_unit_test(an_error_about_nothing),
		cmocka_unit_test(a_continued_reply_without_end),
		cmocka_unit_test(a_dropped_part_may_not_invalidate),
		cmocka_unit_test(a_reply_that_is_none),
		cmocka_unit_test(a_server_that_grants_nothing),
		cmocka_unit_test(a_reverse_call_before_the_clients_first_word),
	};

	return cmocka_run_group_tests_name("hostile server", tests, NULL, NULL);
}
