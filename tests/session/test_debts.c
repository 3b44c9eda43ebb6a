/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that holds memory must keep a least rate: single octets now and then are no progress, and
 * a slow path is not taken for an attack.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/stage.h"

enum { XID = 0x5000, MIDDLE = 9, GRANT = 5 };

static uint32_t granted;

static void on_message(struct raw *r, struct view in, void *arg)
{
	(void)r;
	(void)in;
	(void)arg;
}

static void begin(unsigned server)
{
	stage_client(2, server);
	stage.raw.on_message = on_message;
	granted = 60;
}

/* A part of @bytes of a continued call; @remaining octets follow. */
static void part(uint32_t bytes, uint32_t remaining, bool first)
{
	struct xdr_out x = raw_begin(&stage.raw);

	xdr_put_u32(&x, XID);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, granted++);
	xdr_put_u32(&x, MIDDLE);
	xdr_put_u32(&x, remaining);
	for (uint32_t i = 0; i < bytes / 4; i++)
		xdr_put_u32(&x, first && i == 0 ? XID : 0);
	raw_end(&stage.raw, &x);
}

/* Send parts of a long call, one every @interval, for the time @timeout. Return: whether the
 * session lived. */
static bool parts(uint32_t bytes, nsec_t interval, nsec_t timeout)
{
	uint32_t left = 8 << 20;
	nsec_t end = memnet_now(stage.net) + timeout;
	bool first = true;

	while (memnet_now(stage.net) < end && !stage.raw.closed) {
		left -= bytes;
		part(bytes, left, first);
		first = false;
		world_run(&stage, interval);
	}
	return !stage.raw.closed;
}

static void a_message_that_drips_ends(void **state)
{
	(void)state;
	begin(1);
	assert_false(parts(8, 50 * NSEC_PER_SEC, 200 * NSEC_PER_SEC));
	stage_is_over(true);
	stage_end();
	/* Many small parts are no better. */
	begin(2);
	assert_false(parts(1000, NSEC_PER_SEC / 10, 200 * NSEC_PER_SEC));
	stage_is_over(true);
	stage_end();
}

static void nothing_runs(struct memnet *net, nsec_t time)
{
	nsec_t end = memnet_now(net) + time;

	while (memnet_now(net) < end)
		memnet_step(net, end);
}

/* The gateway's process is stopped, and the peer sends nothing meanwhile. */
static void a_pause_of_the_gateway_does_not_count(void **state)
{
	uint32_t left = 8 << 20;

	(void)state;
	begin(1);
	for (unsigned i = 0; i < 20; i++) {
		left -= 4000;
		part(4000, left, i == 0);
		world_run(&stage, NSEC_PER_SEC);
	}
	nothing_runs(stage.net, 200 * NSEC_PER_SEC);
	world_run(&stage, NSEC_PER_SEC);
	for (unsigned i = 0; i < 20; i++) {
		left -= 4000;
		part(4000, left, false);
		world_run(&stage, NSEC_PER_SEC);
	}
	assert_false(stage.raw.closed);
	stage_run(62);
	stage_is_over(true);
	stage_end();
}

static void a_slow_message_goes_on(void **state)
{
	(void)state;
	begin(1);
	assert_true(parts(4000, NSEC_PER_SEC / 5, 400 * NSEC_PER_SEC));
	/* Then it stops: there is a minute, and no more. */
	stage_run(50);
	assert_false(stage.raw.closed);
	stage_run(12);
	stage_is_over(true);
	stage_end();
}

/* A client that lets the gateway send one reply each @interval, and has calls to be answered all the
 * time. Return: whether the session lived. */
static bool replies(nsec_t interval, nsec_t timeout)
{
	nsec_t end = memnet_now(stage.net) + timeout;
	uint32_t takes = 3; /* messages in all */

	for (uint32_t i = 0; i < 12; i++) {
		raw_words(&stage.raw, RAW_V2_CALL(XID + i, takes));
		world_run(&stage, NSEC_PER_MS);
	}
	for (uint32_t i = 12; memnet_now(stage.net) < end && !stage.raw.closed; i++) {
		world_run(&stage, interval);
		if (!stage.raw.closed)
			raw_words(&stage.raw, RAW_V2_CALL(XID + i, ++takes));
	}
	return !stage.raw.closed;
}

static void a_client_that_takes_few_replies_ends(void **state)
{
	(void)state;
	for (unsigned server = 1; server <= 2; server++) {
		begin(server);
		assert_false(replies(50 * NSEC_PER_SEC, 200 * NSEC_PER_SEC));
		stage_is_over(true);
		stage_end();
	}
}

/* The word for a bad message is none of the replies: a client that leaves credit for these words alone, a few at a
 * time, has taken none. */
static void a_client_that_takes_errors_alone_ends(void **state)
{
	enum { BAD_TYPE = 99, RESERVED = 5 };
	uint32_t takes = RESERVED;

	(void)state;
	begin(1);
	for (uint32_t i = 0; i < 12; i++) {
		raw_words(&stage.raw, RAW_V2_CALL(XID + i, takes));
		world_run(&stage, NSEC_PER_MS);
	}
	for (uint32_t i = 0; i < 40 && !stage.raw.closed; i++) {
		raw_words(&stage.raw, 0x900 + i, 2, ++takes, BAD_TYPE, 0);
		world_run(&stage, 3 * NSEC_PER_SEC);
	}
	assert_true(stage.raw.closed);
	stage_is_over(true);
	stage_end();
}

static void a_slow_client_goes_on(void **state)
{
	(void)state;
	begin(1);
	assert_true(replies(3 * NSEC_PER_SEC, 600 * NSEC_PER_SEC));
	world_quit(&stage);
	world_free(&stage);
}

/* --- Reads and Writes: what counts is what they are long, in the order in which they end --- */

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 24, .segs = 1};

/* A client whose end moves data as slowly as @pace says. */
static void begin_slow(const struct memnet_pace *pace)
{
	struct setup s = setup_defaults(2, 1, 77);

	world_new(&w, &s);
	world_connect(&w);
	assert_true(peer_call(&w.pairs[0].client, &plain)); /* its first words */
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(w.pairs[0].client.done, 1);
	memnet_pace(w.pairs[0].client.leg.conn, pace);
}

static void end_slow(void)
{
	world_quit(&w);
	world_free(&w);
}

/* Calls with @bytes that the gateway reads, at least two at a time. Return: whether the session was there after @time. */
static bool reads(uint32_t bytes, nsec_t interval, nsec_t time)
{
	const struct peer_spec write = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {bytes}};
	struct peer *client = &w.pairs[0].client;
	nsec_t end = memnet_now(w.net) + time;

	while (memnet_now(w.net) < end && !client->closed) {
		while (peer_busy(client) < 4)
			assert_true(peer_call(client, &write));
		world_run(&w, interval / 4);
	}
	return !client->closed;
}

static void reads_keep_to_a_rate(void **state)
{
	static const struct {
		uint32_t bytes;
		unsigned interval_s;
		bool lives;
	} cases[] = {
		{4, 61, false},	     /* dripping */
		{4, 3, true},	     /* a long path */
		{65536, 5, true},    /* each is paid within its time */
		{1 << 20, 58, true}, /* 18 KB/s */
		{1 << 20, 70, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nsec_t interval = cases[i].interval_s * NSEC_PER_SEC;

		print_message("%u octets every %u s\n", cases[i].bytes, cases[i].interval_s);
		begin_slow(&(struct memnet_pace){.answer = interval});
		assert_int_equal(reads(cases[i].bytes, interval, 1500 * NSEC_PER_SEC),
				 cases[i].lives);
		world_run(&w, 5 * interval); /* nothing is owed any more */
		assert_int_equal(proxy_sessions(w.proxy), cases[i].lives);
		if (cases[i].lives)
			assert_int_equal(peer_busy(&w.pairs[0].client), 0);
		end_slow();
	}
}

/* A client that answers no Read. */
static void begin_reading(void)
{
	const struct peer_spec write = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {4096}};

	begin_slow(&(struct memnet_pace){.answer = 10000 * NSEC_PER_SEC});
	assert_true(peer_call(&w.pairs[0].client, &write));
	world_run(&w, NSEC_PER_SEC);
}

/* The client's next message finds no Receive. */
static void next_message_waits(bool turn_unused)
{
	memnet_limit_messages(w.pairs[0].client.leg.conn, 0, turn_unused);
	assert_true(peer_call(&w.pairs[0].client, &plain));
}

/* The peer's Read responses are behind its next message, for which the gateway has no Receive. */
static void a_peer_that_waits_for_a_receive_owes_no_reads(void **state)
{
	(void)state;
	begin_reading();
	world_run(&w, 19 * NSEC_PER_SEC);
	next_message_waits(false);
	world_run(&w, 300 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	/* There is one: it has the rest of its time. */
	memnet_limit_messages(w.pairs[0].client.leg.conn, UINT32_MAX, false);
	world_run(&w, 50 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end_slow();
}

/* The peer had its turn, no message of it waited, and it answered no Read: lack of a Receive is not
 * the cause. */
static void a_peer_that_left_its_turn_unused_owes_its_reads(void **state)
{
	(void)state;
	begin_reading();
	next_message_waits(true);
	world_run(&w, 50 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	world_run(&w, 20 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end_slow();
}

/* Writes to the peer wait for none of its messages: the peer takes them, or not. */
static void a_peer_that_waits_for_a_receive_takes_its_writes(void **state)
{
	const struct peer_spec read = {.body = 128,
				       .reply = 24,
				       .segs = 1,
				       .nwrites = 1,
				       .write_caps = {4096},
				       .writes = {4096}};

	(void)state;
	begin_slow(&(struct memnet_pace){.take = 10000 * NSEC_PER_SEC});
	assert_true(peer_call(&w.pairs[0].client, &read));
	world_run(&w, NSEC_PER_SEC);
	next_message_waits(false);
	world_run(&w, 70 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end_slow();
}

/* --- calls that cannot be sent --- */

static char ended[1000]; /* the line of the last session that ended */

static void keep_end(const char *line)
{
	if (strstr(line, "event=session.end "))
		snprintf(ended, sizeof(ended), "%s", line);
}

/* The Sends of @vanished, or of its peer, never complete: the log names the @leg. */
static void ends_after_a_minute(struct fabric_conn *vanished, const char *leg)
{
	ended[0] = '\0';
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(keep_end);
	memnet_vanish(vanished);
	if (w.pairs[0].server.holds)
		assert_int_equal(peer_release(&w.pairs[0].server, true), 1);
	else
		assert_true(peer_call(&w.pairs[0].client,
				      &(struct peer_spec){.body = 128, .reply = 24, .segs = 1}));
	world_run(&w, 55 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), w.s.pairs);
	world_run(&w, 15 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), w.s.pairs - 1);
	assert_int_equal(proxy_counters(w.proxy)->peer_faults, 1);
	log_set_sink(NULL);
	assert_non_null(strstr(ended, leg));
	(void)peer_forget(&w.pairs[0].client);
	world_quit(&w);
	world_free(&w);
}

/* As a device whose peer has no Receive, and whose adapter says so for ever. */
static void a_peer_that_takes_no_message_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct setup s = setup_defaults(1 + i % 2, 1 + i / 2 % 2, 79);

		world_new(&w, &s);
		world_connect(&w);
		w.pairs[0].client.cfg.reply_timeout = NSEC_PER_SEC; /* peer_forget() */
		w.pairs[0].server.holds = i / 4;
		if (i / 4) {
			assert_true(peer_call(
				&w.pairs[0].client,
				&(struct peer_spec){.body = 128, .reply = 24, .segs = 1}));
			world_run(&w, NSEC_PER_SEC);
		}
		if (i / 4)
			ends_after_a_minute(w.pairs[0].client.leg.conn, " leg=client ");
		else
			ends_after_a_minute(w.pairs[0].server.leg.conn, " leg=server ");
	}
}

/*
 * A version 2 server whose window is full and that answers nothing: what was admitted is let go in
 * its time, sent or not, then what waited behind it, and in the end nobody's memory is held.
 */
static void unsent_calls_are_let_go(void **state)
{
	const struct peer_spec bulky = {.body = 400,
					.reply = 24,
					.segs = 2,
					.nreads = 1,
					.reads = {300000},
					.nwrites = 1,
					.write_caps = {300000},
					.writes = {300000}};
	struct setup s = setup_defaults(2, 2, 71);
	struct peer *client = &w.pairs[0].client;
	size_t used;

	(void)state;
	s.reply_timeout = 10 * NSEC_PER_SEC;
	world_new(&w, &s);
	w.pairs[0].server.cfg.credits = 4;
	client->cfg.reply_timeout = NSEC_PER_SEC;
	world_connect(&w);
	assert_true(peer_call(client, &bulky));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 1);
	used = world_used(&w);
	w.servers_sleep = true;
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(client, &bulky));
	world_run(&w, 9 * NSEC_PER_SEC);
	assert_true(inside_session(w.proxy, 0)->ntxns >= 16);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	world_run(&w, 50 * NSEC_PER_SEC);
	assert_int_equal(inside_session(w.proxy, 0)->ntxns, 0);
	assert_int_equal(world_used(&w), used);
	assert_true(proxy_counters(w.proxy)->let_go >= 16);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	peer_forget(client);
	world_quit(&w);
	world_free(&w);
}

/* Time in the gateway's own line is none of the server's. */
static void time_counts_from_admission(void **state)
{
	struct setup s = setup_defaults(2, 2, 73);
	struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;
	unsigned first;

	(void)state;
	s.credits = 8;
	s.reply_timeout = 10 * NSEC_PER_SEC;
	world_new(&w, &s);
	world_connect(&w);
	server->holds = true;
	for (unsigned i = 0; i < 32; i++)
		assert_true(peer_call(client, &plain));
	world_run(&w, 9 * NSEC_PER_SEC);
	first = peer_release(server, true);
	world_run(&w, 6 * NSEC_PER_SEC);
	assert_int_equal(client->done, first);
	assert_true(first > 0 && first < 32);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	server->holds = false;
	(void)peer_release(server, true);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(client->done, 32);
	world_quit(&w);
	world_free(&w);
}

/* The gateway's process is stopped for longer than reply_timeout. */
static void a_pause_of_the_gateway_is_not_the_responders(void **state)
{
	static const nsec_t begins[] = {2 * NSEC_PER_SEC, 96 * NSEC_PER_SEC / 10};

	(void)state;
	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		struct setup s = setup_defaults(2, 2, 79);
		struct peer *client = &w.pairs[0].client, *server = &w.pairs[0].server;

		s.reply_timeout = 10 * NSEC_PER_SEC;
		world_new(&w, &s);
		world_connect(&w);
		server->holds = true;
		assert_true(peer_call(client, &plain));
		world_run(&w, begins[i]);
		nothing_runs(w.net, 100 * NSEC_PER_SEC);
		world_run(&w, NSEC_PER_SEC / 2);
		server->holds = false;
		(void)peer_release(server, true);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(client->done, 1);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		world_quit(&w);
		world_free(&w);
	}
}

/* Time that the client takes to read does not count against the server either. */
static void time_of_the_requester_is_not_the_responders(void **state)
{
	const struct peer_spec write = {
		.body = 128, .reply = 24, .segs = 1, .nreads = 1, .reads = {300000}};
	const nsec_t delay = 4 * NSEC_PER_SEC;

	(void)state;
	for (unsigned v = LEG_V1; v <= LEG_V2_EARLY; v *= 2) {
		struct setup s = setup_defaults(v, v, 74 + v);
		struct peer *client = &w.pairs[0].client;

		s.reply_timeout = 6 * NSEC_PER_SEC;
		world_new(&w, &s);
		memnet_set_far(w.net, &w.pairs[0].gw_addr, delay);
		world_connect_pair(&w, 0);
		while (!client->open)
			world_run(&w, NSEC_PER_SEC);
		assert_true(peer_call(client, &plain));
		world_run(&w, 4 * delay);
		assert_int_equal(client->done, 1);
		assert_true(peer_call(client, &write)); /* a Read takes there and back */
		world_run(&w, 6 * delay);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		assert_int_equal(client->done, 2);
		world_quit(&w);
		world_free(&w);
	}
}

/* Time in which the responder's messages wait in the gateway does not count either: exactly that
 * time is added to its limit. */
static void time_of_the_gateway_is_not_the_responders(void **state)
{
	static const struct {
		unsigned from_s, until_s, let_go_s;
	} pauses[] = {{2, 22, 50}, {25, 35, 40}, {5, 95, 120}};

	(void)state;
	for (unsigned i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		struct setup s = setup_defaults(LEG_V2, LEG_V2, 78);
		struct peer *client = &w.pairs[0].client;
		struct peer *server = &w.pairs[0].server;

		s.reply_timeout = 30 * NSEC_PER_SEC;
		world_new(&w, &s);
		world_connect(&w);
		client->cfg.reply_timeout = NSEC_PER_SEC;
		server->holds = true;
		assert_true(peer_call(client, &plain));
		world_run(&w, pauses[i].from_s * NSEC_PER_SEC);
		/* A call of the server's finds no Receive. */
		memnet_limit_messages(server->leg.conn, 0, false);
		assert_true(peer_call(server, &plain));
		world_run(&w, (pauses[i].until_s - pauses[i].from_s) * NSEC_PER_SEC);
		assert_int_equal(server->done, 0);
		memnet_limit_messages(server->leg.conn, UINT32_MAX, false);
		world_run(&w, (pauses[i].let_go_s - pauses[i].until_s - 1) * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		world_run(&w, 2 * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 1);
		(void)peer_forget(client);
		world_quit(&w);
		world_free(&w);
	}
}

/* There are no Receives for an instant, each time that something happens to the session; nothing happens between. */
static void a_moment_is_no_minute(void **state)
{
	static struct hoard hoard;

	(void)state;
	for (unsigned moments = 0; moments <= 40; moments = moments ? moments * 40 : 1) {
		struct setup s = setup_defaults(LEG_V2, LEG_V2, 78);
		struct peer *client = &w.pairs[0].client;
		unsigned waited = 0;

		s.reply_timeout = 30 * NSEC_PER_SEC;
		s.net.shares_receives = true;
		s.two_fabrics = true; /* only servers' messages find no Receive */
		s.memory = 16 << 20;
		world_new(&w, &s);
		world_connect(&w);
		client->cfg.reply_timeout = NSEC_PER_SEC;
		w.pairs[0].server.holds = true;
		assert_true(peer_call(client, &plain));
		for (unsigned i = 0; i < moments && !proxy_counters(w.proxy)->let_go; i++) {
			world_run(&w, i ? 25 * NSEC_PER_SEC : NSEC_PER_SEC);
			waited += i ? 25 : 1;
			hoard_all_receives(&hoard, &w, 1);
			assert_true(peer_call(client, &plain));
			world_run(&w, NSEC_PER_MS);
			hoard_end(&hoard);
		}
		while (!proxy_counters(w.proxy)->let_go && waited < 3000) {
			world_run(&w, NSEC_PER_SEC);
			waited++;
		}
		print_message("%u moments: let go after %u s, reply_timeout 30\n", moments, waited);
		assert_in_range(waited, 29, moments <= 1 ? 36 : 60);
		(void)peer_forget(client);
		world_quit(&w);
		world_free(&w);
	}
}

/* A reply that has begun is in time: the rest of it has its own least rate. */
static void a_reply_that_has_begun_is_in_time(void **state)
{
	const struct peer_spec longer = {.body = 128, .reply = 200000, .segs = 1};
	const nsec_t delay = 2 * NSEC_PER_SEC;
	struct setup s = setup_defaults(LEG_V2, LEG_V2, 81);
	struct peer *client = &w.pairs[0].client;

	(void)state;
	s.credits = 8;
	s.reply_timeout = 15 * NSEC_PER_SEC;
	world_new(&w, &s);
	memnet_set_far(w.net, &w.pairs[0].server_addr, delay);
	world_connect_pair(&w, 0);
	while (!client->open)
		world_run(&w, NSEC_PER_SEC);
	assert_true(peer_call(client, &plain));
	world_run(&w, 4 * delay);
	assert_int_equal(client->done, 1);
	assert_true(peer_call(client, &longer));
	world_run(&w, 60 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	assert_int_equal(client->done, 2);
	world_quit(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_that_drips_ends),
		cmocka_unit_test(a_pause_of_the_gateway_does_not_count),
		cmocka_unit_test(a_slow_message_goes_on),
		cmocka_unit_test(a_client_that_takes_few_replies_ends),
		cmocka_unit_test(a_peer_that_takes_no_message_ends),
		cmocka_unit_test(a_client_that_takes_errors_alone_ends),
		cmocka_unit_test(a_slow_client_goes_on),
		cmocka_unit_test(reads_keep_to_a_rate),
		cmocka_unit_test(a_peer_that_waits_for_a_receive_owes_no_reads),
		cmocka_unit_test(a_peer_that_left_its_turn_unused_owes_its_reads),
		cmocka_unit_test(a_peer_that_waits_for_a_receive_takes_its_writes),
		cmocka_unit_test(unsent_calls_are_let_go),
		cmocka_unit_test(time_counts_from_admission),
		cmocka_unit_test(a_pause_of_the_gateway_is_not_the_responders),
		cmocka_unit_test(time_of_the_requester_is_not_the_responders),
		cmocka_unit_test(time_of_the_gateway_is_not_the_responders),
		cmocka_unit_test(a_moment_is_no_minute),
		cmocka_unit_test(a_reply_that_has_begun_is_in_time),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("timeout", tests, NULL, NULL);
}
