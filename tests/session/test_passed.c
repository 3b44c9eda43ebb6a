/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cut-through of results (proxy/txn_cut_through.c), with a server that writes when the test says so.
 * Whatever the server does, a client that gets a reply has the data that the reply announces.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/session/inside.h"
#include "tests/session/pattern.h"
#include "tests/session/stage.h"

enum { CALL_INLINE = 10, CALL_EXTERNAL = 8, ERROR_TYPE = 4, CHUNK_CODE = 2, READ_CHUNKS = 6 };
enum { WRITE_ITEM = 32, WINDOW = 4096, CAP = 100000, HALF = 50000, SYSTEM_CODE = 100 };
enum { GOOD_AT = 0, OTHER_AT = 1 << 20, SECOND_AT = 2 << 20 }; /* in what the server writes from */
#define HOP (500 * NSEC_PER_MS)				       /* how far a far client is */
#define TIMEOUT (200 * NSEC_PER_MS)			       /* of calls without an answer */

/** struct play - of the raw server: it answers its first call, and then what the test says. */
struct play {
	unsigned vers, calls, received;
	uint32_t xid;
	struct segment writes[2]; /* of the last call: each is one region of the gateway's */
	unsigned nwrites;
};

static struct play play;

static struct peer *client(void)
{
	return &stage.pairs[0].client;
}

static const struct proxy_counters *count(void)
{
	return proxy_counters(stage.proxy);
}

/* Messages that the version 2 server takes beyond those it has received. */
static uint32_t takes = 20;

static uint32_t credits(void)
{
	return play.vers == 1 ? 20 : play.received + takes;
}

static uint8_t *octets(uint32_t at)
{
	return stage.raw.memory + (RAW_RECVS + RAW_SENDS) * RAW_BUFFER + at;
}

static struct segment get_chunk(struct xdr_in *x)
{
	struct segment whole = {0};

	for (uint32_t n = xdr_get_u32(x); n; n--) {
		struct segment s = xdr_get_segment(x);

		whole = whole.length ? whole : (struct segment){s.handle, 0, s.offset};
		whole.length += s.length;
	}
	return whole;
}

static void skip_read_list(struct xdr_in *x)
{
	while (xdr_get_bool(x)) {
		xdr_skip(x, 4);
		(void)xdr_get_segment(x);
	}
}

static void note_call(struct view in)
{
	struct xdr_in x;

	play.xid = xdr_peek_u32(in.data);
	play.nwrites = 0;
	xdr_in_init(&x, in);
	xdr_skip(&x, 16);
	if (play.vers == 2)
		xdr_skip(&x, 4);
	if (play.vers == 2 && xdr_peek_u32(in.data + 12) == CALL_EXTERNAL)
		skip_read_list(&x);
	skip_read_list(&x);
	while (xdr_get_bool(&x))
		play.writes[play.nwrites++] = get_chunk(&x);
	assert_false(x.failed);
	fill(octets(GOOD_AT), 0, CAP, play.xid, WRITE_ITEM);
	memset(octets(OTHER_AT), 0x77, CAP);
	fill(octets(SECOND_AT), 0, CAP, play.xid, WRITE_ITEM + 1);
}

/* The server's reply, which says that @first and @second octets were written to the chunks. */
static void reply_of(uint32_t first, uint32_t second)
{
	const uint32_t body[] = {RAW_REPLY_BODY(play.xid)};
	struct xdr_out x = raw_begin(&stage.raw);

	xdr_put_u32(&x, play.xid);
	xdr_put_u32(&x, play.vers);
	xdr_put_u32(&x, credits());
	xdr_put_u32(&x, play.vers == 1 ? 0 : 13);
	if (play.vers == 1)
		xdr_put_u32(&x, 0);
	for (unsigned i = 0; i < play.nwrites; i++) {
		struct segment s = play.writes[i];

		s.length = i == 0 ? first : second;
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

static void reply(uint32_t len)
{
	reply_of(len, 0);
}

static void report(uint32_t code)
{
	if (code == READ_CHUNKS)
		raw_words(&stage.raw, play.xid, play.vers, credits(), ERROR_TYPE, code, 1);
	else
		raw_words(&stage.raw, play.xid, play.vers, credits(), ERROR_TYPE, code);
}

static void on_message(struct raw *r, struct view in, void *arg)
{
	uint32_t xid = xdr_peek_u32(in.data), vers = xdr_peek_u32(in.data + 4);
	uint32_t type = xdr_peek_u32(in.data + 12);

	(void)arg;
	play.received++;
	if (vers == 2 && play.vers == 1) {
		raw_words(r, xid, 2, 20, ERROR_TYPE, 1, 1, 1);
		return;
	}
	if (type == 7)
		raw_words(r, RAW_V2_PROPS(0x55, credits()));
	if (play.vers == 1 ? type > 1 : type != CALL_INLINE && type != CALL_EXTERNAL)
		return;
	note_call(in);
	if (++play.calls == 1)
		reply(0);
}

/* A session with a client that is so far, and has had an answer. */
static void open_stage(unsigned cv, unsigned sv, uint32_t window, nsec_t hop)
{
	const struct peer_spec null_call = {.body = 100, .reply = 24, .segs = 1};

	play = (struct play){.vers = sv};
	stage_cut_through_bytes = window;
	stage_server(cv, on_message, NULL);
	stage_cut_through_bytes = 0;
	stage_reply_timeout = 0;
	memnet_set_far(stage.net, &stage.pairs[0].gw_addr, hop);
	world_connect_pair(&stage, 0);
	world_run(&stage, 10 * hop + NSEC_PER_SEC);
	peer_call(client(), &null_call);
	world_run(&stage, 4 * hop + NSEC_PER_SEC);
	assert_int_equal(client()->done, 1);
}

static void begin(unsigned cv, unsigned sv, uint32_t window)
{
	open_stage(cv, sv, window, 0);
}

/* A READ of @len octets, in as many segments of the client's. */
static const struct peer_call *ask(uint32_t len, unsigned segs)
{
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = segs,
				       .nwrites = 1,
				       .write_caps = {CAP},
				       .writes = {len}};

	peer_call(client(), &spec);
	stage_run(0);
	assert_int_equal(play.calls, 2);
	for (unsigned i = 0; i < PEER_CALLS; i++)
		if (client()->calls[i].busy)
			return &client()->calls[i];
	fail();
	return NULL;
}

static void put_to(unsigned chunk, uint32_t from, uint32_t end, uint32_t which)
{
	const struct fabric_sge sge = {octets(which + from), end - from};
	struct segment to = play.writes[chunk];

	to.offset += from;
	assert_int_equal(fabric_write(stage.raw.conn, &sge, 1, &to, NULL), 0);
}

/* The server writes octets @from to @end, those that belong there or others. */
static void put(uint32_t from, uint32_t end, uint32_t which)
{
	put_to(0, from, end, which);
}

static void turns(unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		world_turn(&stage);
		memnet_step(stage.net, memnet_now(stage.net) + NSEC_PER_MS);
	}
}

/* The client had its reply, and all is as that says. */
static void answered(void)
{
	stage_run(0);
	assert_int_equal(client()->done, 2);
	assert_int_equal(client()->corrupt + client()->errors, 0);
	stage_goes_on();
	stage_end();
}

static void while_the_rest_is_coming(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		const struct peer_call *c;

		begin(1 + i % 2, 1 + i / 2 % 2, WINDOW);
		c = ask(CAP, 1 + i / 4);
		put(0, 1000, GOOD_AT);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, 1000);
		put(1000, HALF, GOOD_AT);
		stage_run(0);
		/* The octets are in the client's memory, and no message was sent yet. */
		assert_int_equal(count()->passed_bytes, HALF);
		assert_true(check(c->writes[0].addr, 0, HALF, c->xid, WRITE_ITEM));
		assert_int_equal(client()->done, 1);
		put(HALF, CAP, GOOD_AT);
		reply(CAP);
		answered();
		assert_int_equal(play.calls, 2);
	}
}

static void goes_behind_the_reply(uint32_t window)
{
	begin(1, 2, window);
	(void)ask(CAP, 3);
	put(0, CAP, GOOD_AT);
	stage_run(0);
	reply(CAP);
	stage_run(0);
	assert_int_equal(count()->passed_bytes, 0);
	answered();
}

static void small_results_and_none_where_it_is_off(void **state)
{
	(void)state;
	goes_behind_the_reply(0);
	goes_behind_the_reply(CAP + 1); /* a chunk that is shorter than the window */
}

static void in_any_order(void **state)
{
	const struct peer_call *c;

	(void)state;
	begin(2, 1, WINDOW);
	c = ask(CAP, 2);
	put(HALF, CAP, GOOD_AT);
	stage_run(0);
	assert_int_equal(count()->passed_bytes, CAP - HALF);
	assert_true(check(c->writes[0].addr, HALF, CAP - HALF, c->xid, WRITE_ITEM));
	put(0, HALF - 4, GOOD_AT);
	put(HALF - 4, HALF, GOOD_AT);
	stage_run(0);
	assert_int_equal(count()->passed_bytes, CAP);
	reply(CAP);
	answered();
}

/* In more pieces than are remembered: each octet is written once, and goes once. */
static void in_pieces_with_gaps(void **state)
{
	enum { PIECES = 25, EACH = CAP / PIECES };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(1 + i % 2, 1 + i / 2, EACH);
		(void)ask(CAP, 2);
		for (unsigned odd = 0; odd < 2; odd++)
			for (uint32_t k = odd; k < PIECES; k += 2)
				put(k * EACH, (k + 1) * EACH, GOOD_AT);
		reply(CAP);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, CAP);
		answered();
	}
}

/* No more of it is here than its window holds, however slowly the client takes it; nor is more memory taken. */
static void through_its_window(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct session *s;
		uint64_t passed = 0;
		size_t before;
		unsigned full = 0;

		begin(1 + i % 2, 1 + i / 2, WINDOW);
		(void)ask(CAP, 3);
		before = world_used(&stage);
		s = inside_session(stage.proxy, 1);
		put(0, CAP, GOOD_AT);
		reply(CAP);
		for (unsigned k = 0; client()->done == 1; k++) {
			assert_true(k < 2000);
			assert_true(world_used(&stage) <= before);
			full += leg_sink_is_blocked(&s->server);
			assert_true(count()->passed_bytes >= passed);
			passed = count()->passed_bytes;
			turns(1);
		}
		assert_true(full > 0);
		assert_int_equal(passed, CAP);
		answered();
	}
}

static void fewer_than_were_passed(void **state)
{
	static const uint32_t lengths[] = {0, 1, WINDOW - 1, HALF, HALF + 1};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		begin(1 + i % 2, 2 - i % 2, WINDOW);
		(void)ask(lengths[i], 2);
		put(0, HALF + 1, GOOD_AT);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, HALF + 1);
		reply(lengths[i]);
		answered();
	}
}

/* The server overwrites what was already forwarded: the new octets are forwarded, too. */
static void written_a_second_time(void **state)
{
	static const struct {
		uint32_t from;
		unsigned turns; /* after the first Write, before the second */
	} rows[] = {{0, 400}, {HALF - WINDOW, 400}, {0, 3}, {0, 6}, {WINDOW, 9}};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned row = i / 2;

		begin(1 + i % 2, 2 - i % 2, WINDOW);
		(void)ask(CAP, 3);
		put(0, rows[row].from, GOOD_AT);
		put(rows[row].from, HALF, OTHER_AT);
		turns(rows[row].turns);
		put(rows[row].from, HALF, GOOD_AT);
		put(HALF, CAP, GOOD_AT);
		reply(CAP);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, CAP + HALF - rows[row].from);
		answered();
	}
}

/* The first goes as it comes, the other behind the reply, in whatever order they are written. */
static void two_chunks(void **state)
{
	const struct peer_spec spec = {.body = 100,
				       .reply = 24,
				       .segs = 3,
				       .nwrites = 2,
				       .write_caps = {CAP, CAP},
				       .writes = {CAP, HALF}};

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const bool again = i & 4;

		begin(1 + i % 2, 1 + i / 2 % 2, WINDOW);
		peer_call(client(), &spec);
		stage_run(0);
		assert_int_equal(play.nwrites, 2);
		put_to(1, 0, HALF, SECOND_AT);
		put_to(0, 0, HALF, again ? OTHER_AT : GOOD_AT);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, HALF);
		if (again)
			put_to(0, 0, HALF, GOOD_AT);
		put_to(0, HALF, CAP, GOOD_AT);
		reply_of(CAP, HALF);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, again ? CAP + HALF : CAP);
		answered();
	}
}

/* A reply that invalidates what it returns takes nothing away from what is known of it. */
static void invalidated_by_the_reply(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(1 + i % 2, 1, WINDOW);
		(void)ask(CAP, 2);
		put(0, HALF, i & 2 ? OTHER_AT : GOOD_AT);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, HALF);
		if (i & 2)
			put(0, HALF, GOOD_AT);
		put(HALF, CAP, GOOD_AT);
		stage.raw.invalidate = play.writes[0].handle;
		reply(CAP);
		stage_run(0);
		assert_int_equal(count()->passed_bytes, i & 2 ? CAP + HALF : CAP);
		answered();
	}
}

/* The server reports more than it wrote, after a part was forwarded. */
static void more_than_was_written(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		begin(3 - v, v, WINDOW);
		(void)ask(CAP, 1);
		put(0, HALF, GOOD_AT);
		stage_run(0);
		reply(HALF + 1);
		stage_run(0);
		stage_is_over(true);
		assert_int_equal(client()->done, 1);
		stage_end();
	}
}

/* More than the client has room for. */
static void beyond_the_chunk(void **state)
{
	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		begin(3 - v, v, WINDOW);
		(void)ask(CAP, 2);
		put(0, HALF, GOOD_AT);
		stage_run(0);
		put(HALF, CAP + 1, GOOD_AT);
		stage_run(0);
		stage_is_over(true);
		assert_int_equal(client()->done, 1);
		stage_end();
	}
}

/* The server writes to memory that it may no longer reach, or is about to lose: the session ends, or the Write was in
 * time. A client that has an answer has the whole answer in both cases. */
static void written_behind_the_reply(void **state)
{
	unsigned ends = 0;

	(void)state;
	for (unsigned n = 0; n < 40; n++) {
		const struct proxy_counters *c;

		begin(1 + n % 2, 1 + n / 2 % 2, WINDOW);
		(void)ask(HALF, 2);
		put(0, HALF, GOOD_AT);
		stage_run(0);
		reply(HALF);
		turns(n / 4);
		put(0, HALF, GOOD_AT);
		stage_run(10);
		c = count();
		ends += c->peer_faults > 0;
		assert_int_equal(client()->corrupt + client()->errors, 0);
		assert_true(client()->done == 2 || c->peer_faults);
		stage_end();
	}
	assert_true(ends > 0);
}

/* A call is let go while its client is still being written to: what is read for that is kept as long, nothing more of it is
 * written, and no answer comes. */
static void let_go_meanwhile(void **state)
{
	const struct peer_spec spec = {
		.body = 100, .reply = 24, .segs = 2, .nwrites = 1, .write_caps = {CAP}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned sv = 1 + i / 2;
		const struct session *s;

		stage_reply_timeout = TIMEOUT;
		open_stage(1 + i % 2, sv, WINDOW, HOP);
		s = inside_session(stage.proxy, 1);
		peer_call(client(), &spec);
		world_run(&stage, HOP + 50 * NSEC_PER_MS);
		assert_int_equal(play.calls, 2);
		put(0, WINDOW / 2, GOOD_AT);
		world_run(&stage, TIMEOUT);
		assert_int_equal(count()->let_go, 1);
		assert_int_equal(count()->passed_bytes, WINDOW / 2);
		assert_true(s->ops[PROXY_CLIENT].writes.posted > 0);
		assert_int_equal(s->ntxns, 1);
		assert_int_equal(s->server.conn->handles_live, 0);
		reply(WINDOW / 2);
		stage_run(4);
		assert_int_equal(s->ntxns, 0);
		assert_int_equal(s->ops[PROXY_CLIENT].writes.posted, 0);
		assert_int_equal(client()->done, 1);
		stage_goes_on();
		stage_end();
	}
}

/* ... but not where the answer may be behind what its client has not taken: that is not the server's time. */
static void not_let_go_while_full(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct peer_spec spec = {.body = 100,
					       .reply = 24,
					       .segs = 2,
					       .nwrites = 1,
					       .write_caps = {CAP},
					       .writes = {CAP}};

		stage_reply_timeout = TIMEOUT;
		open_stage(1 + i % 2, 1 + i / 2, 3 * WINDOW, HOP);
		peer_call(client(), &spec);
		world_run(&stage, HOP + 50 * NSEC_PER_MS);
		assert_int_equal(play.calls, 2);
		put(0, CAP, GOOD_AT);
		reply(CAP);
		world_run(&stage, 10 * TIMEOUT);
		assert_int_equal(client()->done, 1);
		stage_run(30);
		assert_int_equal(count()->let_go, 0);
		answered();
	}
}

/* A client that takes nothing ends its session, and the server, of which nothing is taken meanwhile, is not blamed. */
static void a_client_that_takes_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(1 + i % 2, 1 + i / 2, WINDOW);
		(void)ask(CAP, 2);
		memnet_vanish(client()->leg.conn);
		put(0, CAP, GOOD_AT);
		reply(CAP);
		stage_run(50);
		assert_true(leg_sink_is_blocked(&inside_session(stage.proxy, 1)->server));
		assert_int_equal(proxy_sessions(stage.proxy), 2);
		stage_run(20);
		assert_true(
			stage_reported("the peer does not take Sends and Writes, or too slowly"));
		assert_true(stage.raw.closed);
		assert_int_equal(proxy_sessions(stage.proxy), 1);
		assert_int_equal(count()->peer_faults, 1);
		stage_end();
	}
}

/* A server that hangs in the middle of a result is waited for no longer than without cut-through:
 * arrived octets were forwarded, and no window is full. */
static void a_server_that_hangs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		stage_reply_timeout = 5 * NSEC_PER_SEC;
		open_stage(1 + i % 2, 1 + i / 2, WINDOW, 0);
		(void)ask(CAP, 2);
		put(0, HALF, GOOD_AT);
		stage_run(2);
		assert_int_equal(count()->passed_bytes, HALF);
		assert_int_equal(count()->let_go, 0);
		stage_run(4);
		assert_int_equal(count()->let_go, 1);
		assert_int_equal(client()->done, 1);
		stage_goes_on();
		stage_end();
	}
}

static void an_error_after_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned sv = 1 + i / 2;

		begin(1 + i % 2, sv, WINDOW);
		(void)ask(CAP, 2);
		put(0, HALF, GOOD_AT);
		stage_run(0);
		report(sv == 1 ? CHUNK_CODE : SYSTEM_CODE);
		stage_run(0);
		assert_int_equal(client()->done, 1);
		assert_int_equal(client()->errors, 1);
		assert_int_equal(count()->passed_bytes, HALF);
		stage_goes_on();
		stage_end();
	}
}

/* The server has too few credits for a call of several Sends: such a call goes in a Read chunk ... */
static void take_few(void)
{
	takes = 1;
}

/* ... which the server refuses. It has more credits now. */
static void refuse_chunks(void)
{
	takes = 20;
	report(READ_CHUNKS);
}

/* The form of the call is refused by a server that has written all the same: it goes another way, and what it writes then
 * counts. */
static void refused_after_all(void **state)
{
	const struct peer_spec spec = {.body = 8000,
				       .by_chunk = true,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {CAP},
				       .writes = {CAP}};
	static const unsigned after[] = {400, 2, 4, 8};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		take_few();
		begin(2, 2, WINDOW);
		peer_call(client(), &spec);
		stage_run(0);
		put(0, HALF, OTHER_AT);
		turns(after[i]);
		refuse_chunks();
		stage_run(0);
		assert_int_equal(count()->formed_again, 1);
		assert_int_equal(play.calls, 3);
		put(0, HALF, GOOD_AT);
		stage_run(0);
		put(HALF, CAP, GOOD_AT);
		reply(CAP);
		answered();
	}
}

/* Nothing is exposed anew that the client is still being written from. */
static void refused_while_under_way(void **state)
{
	const struct peer_spec spec = {.body = 8000,
				       .by_chunk = true,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {CAP},
				       .writes = {CAP}};
	const struct session *s;

	(void)state;
	take_few();
	open_stage(2, 2, WINDOW, HOP);
	s = inside_session(stage.proxy, 1);
	peer_call(client(), &spec);
	stage_run(2);
	assert_int_equal(play.calls, 2);
	put(0, WINDOW / 2, OTHER_AT);
	world_run(&stage, HOP / 10);
	assert_true(s->ops[PROXY_CLIENT].writes.posted > 0);
	refuse_chunks();
	world_run(&stage, HOP / 10);
	assert_int_equal(count()->formed_again, 1);
	assert_true(s->ops[PROXY_CLIENT].writes.posted > 0);
	assert_int_equal(play.calls, 2);
	stage_run(2);
	assert_int_equal(play.calls, 3);
	put(0, CAP, GOOD_AT);
	reply(CAP);
	stage_run(40);
	answered();
}

/* One end has gone: so does the @other, once, and the bystander stays. */
static void all_ends(const bool *other)
{
	stage_run(20);
	assert_true(*other);
	assert_int_equal(client()->done, 1);
	assert_int_equal(proxy_sessions(stage.proxy), 1);
	stage_end();
}

/* ... and then it goes, while what waits for the way of the next form is still under way. */
static void refused_and_gone(void **state)
{
	const struct peer_spec spec = {.body = 8000,
				       .by_chunk = true,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {CAP}};

	(void)state;
	for (unsigned n = 0; n < 40; n++) {
		take_few();
		open_stage(2, 2, WINDOW, 100000);
		peer_call(client(), &spec);
		stage_run(0);
		put(0, HALF, OTHER_AT);
		turns(6);
		refuse_chunks();
		turns(n);
		raw_hang_up(&stage.raw);
		all_ends(&client()->closed);
	}
}

static void the_server_goes(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 60; n += 3) {
		begin(1 + n % 2, 2 - n % 2, WINDOW);
		(void)ask(CAP, 2);
		put(0, HALF, GOOD_AT);
		turns(n);
		raw_hang_up(&stage.raw);
		all_ends(&client()->closed);
	}
}

static void the_client_goes(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 60; n += 3) {
		begin(1 + n % 2, 2 - n % 2, WINDOW);
		(void)ask(CAP, 2);
		put(0, HALF, GOOD_AT);
		turns(n);
		memnet_cut(client()->leg.conn);
		if (stage.raw.conn) {
			put(HALF, CAP, GOOD_AT);
			reply(CAP);
		}
		all_ends(&stage.raw.closed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_the_rest_is_coming),
		cmocka_unit_test(small_results_and_none_where_it_is_off),
		cmocka_unit_test(in_any_order),
		cmocka_unit_test(in_pieces_with_gaps),
		cmocka_unit_test(through_its_window),
		cmocka_unit_test(fewer_than_were_passed),
		cmocka_unit_test(written_a_second_time),
		cmocka_unit_test(two_chunks),
		cmocka_unit_test(invalidated_by_the_reply),
		cmocka_unit_test(more_than_was_written),
		cmocka_unit_test(beyond_the_chunk),
		cmocka_unit_test(written_behind_the_reply),
		cmocka_unit_test(let_go_meanwhile),
		cmocka_unit_test(not_let_go_while_full),
		cmocka_unit_test(a_client_that_takes_nothing),
		cmocka_unit_test(a_server_that_hangs),
		cmocka_unit_test(an_error_after_all),
		cmocka_unit_test(refused_after_all),
		cmocka_unit_test(refused_while_under_way),
		cmocka_unit_test(refused_and_gone),
		cmocka_unit_test(the_server_goes),
		cmocka_unit_test(the_client_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
