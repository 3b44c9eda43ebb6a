/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls without an answer are abandoned after the configured time, and all they held is freed. A
 * later reply is discarded. In both directions, for all versions.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { CREDITS = 8, REV_CREDITS = 4, TIMEOUT_S = 30 };

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};
static const struct peer_spec chunky = {.body = 128,
					.reply = 100,
					.segs = 2,
					.nreads = 1,
					.reads = {5000},
					.nwrites = 1,
					.write_caps = {9000},
					.writes = {9000}};

/* Direction of the call, and the leg of the gateway on which the answer is due. */
struct way {
	bool reverse;
	struct peer *caller, *responder;
	struct leg *leg;
	uint64_t made, let_go;
	size_t used; /* the gateway's memory at rest */
};

static struct way way;

static struct session *session(void)
{
	return list_first(&w.proxy->sessions, struct session, link);
}

/* By an even XID, to which a peer answers inline although it was offered a Reply chunk. */
static void call(const struct peer_spec *spec)
{
	way.caller->next_xid += way.caller->next_xid & 1;
	assert_true(peer_call(way.caller, spec));
}

static void exchange(unsigned n)
{
	uint64_t done = way.caller->done;

	for (unsigned i = 0; i < n; i++)
		call(&plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(way.caller->done, done + n);
}

static void begin(unsigned cv, unsigned sv, bool reverse, nsec_t timeout)
{
	struct setup s = setup_defaults(cv, sv, 31 + cv * 8 + sv * 2 + reverse);
	struct world_pair *p = &w.pairs[0];

	s.credits = CREDITS;
	s.rev_credits = REV_CREDITS;
	s.reply_timeout = timeout;
	world_new(&w, &s);
	p->client.cfg.reply_timeout = p->server.cfg.reply_timeout = NSEC_PER_SEC;
	world_connect(&w);
	way = (struct way){.caller = &p->client, .responder = &p->server};
	way.leg = &session()->server;
	exchange(1);
	if (!reverse)
		goto out;
	way = (struct way){.reverse = true, .caller = &p->server, .responder = &p->client};
	way.leg = &session()->client;
	exchange(1);
out:
	way.used = world_used(&w);
}

static void end(void)
{
	assert_int_equal(proxy_sessions(w.proxy), 1);
	assert_int_equal(way.caller->unexpected + way.responder->unexpected, 0);
	assert_int_equal(way.caller->corrupt + way.responder->corrupt, 0);
	assert_int_equal(way.caller->errors + way.responder->errors, 0);
	world_quit(&w);
	world_free(&w);
}

/* Nothing is held for calls any more: no memory, no handle, no transaction. */
static void all_is_given_back(void)
{
	struct leg *requester = way.reverse ? &session()->server : &session()->client;

	assert_int_equal(proxy_counters(w.proxy)->let_go, way.let_go);
	assert_int_equal(session()->ntxns, 0);
	assert_int_equal(session()->forward.running + session()->reverse.running, 0);
	assert_int_equal(world_used(&w), way.used);
	assert_int_equal(session()->client.conn->handles_live, 0);
	assert_int_equal(session()->server.conn->handles_live, 0);
	if (requester->t->ops->traits->continues)
		assert_int_equal(requester->u.v2.owed, 0); /* a GRANT may take the last credit */
}

/* @n calls of @spec that nobody answers in time. */
static void go_unanswered(const struct peer_spec *spec, unsigned n)
{
	way.responder->holds = true;
	for (unsigned i = 0; i < n; i++)
		call(spec);
	world_run(&w, (TIMEOUT_S - 1) * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, way.let_go);
	assert_int_equal(session()->ntxns, n);
	world_run(&w, 2 * NSEC_PER_SEC);
	way.let_go += n;
	assert_int_equal(peer_forget(way.caller), n);
	way.responder->holds = false;
	all_is_given_back();
}

typedef void story_fn(void);

/* To responders that speak one of @versions, a bit mask. */
static void toward(unsigned versions, story_fn *story)
{
	for (unsigned cv = LEG_V1; cv <= LEG_V2_EARLY; cv *= 2)
		for (unsigned sv = LEG_V1; sv <= LEG_V2_EARLY; sv *= 2)
			for (unsigned reverse = 0; reverse < 2; reverse++) {
				if (!(versions & (reverse ? cv : sv)))
					continue;
				print_message("v%u-v%u reverse=%u\n", cv, sv, reverse);
				begin(cv, sv, reverse, TIMEOUT_S * NSEC_PER_SEC);
				story();
				end();
			}
}

static void everywhere(story_fn *story)
{
	toward(LEG_V1_OR_V2 | LEG_V2_EARLY, story);
}

static bool takes_chunks(void)
{
	return !way.reverse || (session()->client.t->ops->traits->continues &&
				session()->server.t->ops->traits->continues);
}

/* Far more of them than there are credits, Receives, or places in the list of late ones. */
static void call_only(void)
{
	for (unsigned round = 0; round < 100; round++) {
		go_unanswered(takes_chunks() && round % 3 == 0 ? &chunky : &plain, 3);
		assert_true(peer_release(way.responder, false) > 0);
		if (round % 10 == 0)
			exchange(REV_CREDITS);
	}
	assert_int_equal(way.leg->t->count.late, 0);
}

static void calls_without_replies_cost_nothing_in_the_long_run(void **state)
{
	(void)state;
	toward(LEG_V2, call_only);
}

/* In version 1 they cost their credits: each is a call that the responder has not acknowledged. */
static void lose_credits(void)
{
	unsigned n = way.reverse ? REV_CREDITS : CREDITS;

	go_unanswered(&plain, n - 1);
	exchange(10);
	go_unanswered(&plain, 1);
	assert_int_equal(way.leg->u.v1.calls.in_flight, n);
	/* As long as nobody needs one there is time for a late answer to bring one back. */
	way.responder->holds = true;
	world_run(&w, 10 * TIMEOUT_S * NSEC_PER_SEC);
	call(&plain);
	world_run(&w, (TIMEOUT_S - 1) * NSEC_PER_SEC);
	assert_int_equal(way.leg->u.v1.calls.in_flight, n);
	assert_int_equal(proxy_sessions(w.proxy), 1);
}

static void without_credits_the_session_ends(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++)
		for (unsigned reverse = 0; reverse < 2; reverse++) {
			begin(1, 1, reverse, TIMEOUT_S * NSEC_PER_SEC);
			lose_credits();
			way.responder->holds = false;
			assert_true(peer_release(way.responder, late) > 0);
			world_run(&w, 2 * NSEC_PER_SEC);
			if (late) {
				assert_int_equal(peer_busy(way.caller), 0);
				exchange(10);
				end();
				continue;
			}
			assert_int_equal(proxy_sessions(w.proxy), 0);
			assert_true(way.caller->closed);
			world_quit(&w);
			world_free(&w);
		}
}

/* All of them at once, while other calls fill the window again. */
static void late_replies(void)
{
	unsigned n = way.reverse ? REV_CREDITS : CREDITS;
	uint64_t done = way.caller->done;

	for (unsigned round = 1; round <= 3; round++) {
		go_unanswered(&plain, n);
		for (unsigned i = 0; i < n; i++)
			call(&plain);
		assert_int_equal(peer_release(way.responder, true), n);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(way.leg->t->count.late, round * n);
		done += n;
		assert_int_equal(way.caller->done, done);
		all_is_given_back();
	}
	exchange(20);
}

static void a_late_reply_is_dropped_and_counted(void **state)
{
	(void)state;
	everywhere(late_replies);
}

/* A call without an answer is sent again, with its XID, and the responder answers both. */
static void sent_again(void)
{
	uint64_t done = way.caller->done;

	for (unsigned round = 1; round <= 3; round++) {
		uint32_t xid = way.caller->next_xid += way.caller->next_xid & 1;

		go_unanswered(&plain, 1);
		way.caller->next_xid = xid;
		way.responder->holds = true;
		call(&plain);
		world_run(&w, NSEC_PER_SEC);
		way.responder->holds = false;
		assert_int_equal(peer_release(way.responder, true), 2);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(way.caller->done, done + round);
		assert_int_equal(way.leg->t->count.late, round);
		assert_int_equal(way.leg->t->late.n, 0);
		all_is_given_back();
	}
	exchange(20);
}

static void of_two_answers_one_is_dropped(void **state)
{
	(void)state;
	everywhere(sent_again);
}

static unsigned replies;

static void count_replies(struct raw *r, struct view in, void *arg)
{
	(void)r;
	(void)arg;
	replies += xdr_peek_u32(in.data + 12) == 13; /* RDMA2_REPLY_INLINE */
}

/* @n calls of a raw client, which takes @credit messages altogether. */
static void raw_calls(unsigned n, uint32_t credit)
{
	static uint32_t xid = 0x5000;

	for (unsigned i = 0; i < n; i += 4) {
		for (unsigned j = i; j < n && j < i + 4; j++, xid += 2)
			raw_words(&w.raw, RAW_V2_CALL(xid, credit));
		world_run(&w, NSEC_PER_SEC / 10);
	}
}

/*
 * Each call that may be answered yet has a Receive: while replies that a client does not take
 * hold them, further calls wait. More late replies than that leaves would end the connection.
 */
static void a_receive_is_kept_for_each_late_reply(void **state)
{
	struct setup s = setup_defaults(2, 1, 41);
	struct peer *server = &w.pairs[0].server;
	nsec_t arrived;

	(void)state;
	s.credits = RPC_LATE + CREDITS; /* what was let go keeps its own */
	s.reply_timeout = TIMEOUT_S * NSEC_PER_SEC;
	s.max_payload = 64 << 10;
	s.raw = s.raw_client = true;
	world_new(&w, &s);
	w.routes[0].client.credits = 80;
	server->cfg.reply_timeout = NSEC_PER_SEC; /* for Receives enough while it holds calls */
	w.raw.on_message = count_replies;
	raw_connect(&w.raw, &w.pairs[0].gw_addr);
	world_run(&w, NSEC_PER_SEC);
	raw_words(&w.raw, RAW_V2_PROPS(0x99, 1000));
	raw_calls(1, 1000);
	server->holds = true;
	for (unsigned i = 0; i < RPC_LATE / CREDITS; i++) {
		raw_calls(CREDITS, 1000);
		world_run(&w, TIMEOUT_S * NSEC_PER_SEC);
	}
	assert_int_equal(session()->server.t->late.n, RPC_LATE);
	server->holds = false;
	w.servers_sleep = true;
	replies = 0;
	raw_calls(70, 1000);
	raw_words(&w.raw, 0, 2, session()->client.u.v2.credit.sent, 5); /* nothing more */
	world_run(&w, NSEC_PER_SEC);
	w.servers_sleep = false;
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(replies, 0);
	assert_int_equal(session()->ntxns, 70);
	assert_int_equal(peer_release(server, true), RPC_LATE);
	peer_turn(server);
	arrived = memnet_now(w.net) + NSEC_PER_MS; /* all of them, before the gateway looks */
	while (memnet_now(w.net) < arrived)
		memnet_step(w.net, arrived);
	world_run(&w, NSEC_PER_SEC);
	raw_words(&w.raw, 0, 2, 1000, 5);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(session()->server.t->count.late, RPC_LATE);
	assert_int_equal(replies, 70);
	world_quit(&w);
	world_free(&w);
}

/* Version 2 continues what is long: many parts, all of them dropped. */
static void a_late_reply_may_be_continued(void **state)
{
	const struct peer_spec spec = {.body = 128, .reply = 40000, .segs = 1};

	(void)state;
	begin(2, 2, false, TIMEOUT_S * NSEC_PER_SEC);
	go_unanswered(&spec, 2);
	assert_int_equal(peer_release(way.responder, true), 2);
	exchange(10);
	assert_int_equal(way.leg->t->count.late, 2);
	assert_int_equal(way.leg->t->count.errors_sent, 0);
	all_is_given_back();
	end();
}

/* Memory exposed for the call can no longer be reached: Writes of the late reply end the
 * connection. */
static void a_late_write_ends_the_session(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(1, sv, false, TIMEOUT_S * NSEC_PER_SEC);
		go_unanswered(&chunky, 1);
		assert_int_equal(peer_release(way.responder, true), 1);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(proxy_sessions(w.proxy), 0);
		assert_true(way.caller->closed);
		world_quit(&w);
		world_free(&w);
	}
}

/* A caller may use the XID again: its answer is the next call's then. */
static void xid_again(void)
{
	uint32_t xid = way.caller->next_xid;

	go_unanswered(&plain, 2);
	way.caller->next_xid = xid;
	assert_int_equal(peer_release(way.responder, false), 2);
	exchange(2);
	assert_int_equal(way.leg->t->count.late, 0);
	assert_int_equal(way.leg->t->late.n, 2); /* they may be answered yet */
}

static void an_xid_let_go_can_be_used_again(void **state)
{
	(void)state;
	everywhere(xid_again);
}

/* In the order they were sent, each at its own time, and no answered one with them. */
static void each_at_its_time(void)
{
	for (unsigned i = 0; i < 3; i++) {
		way.responder->holds = i != 1;
		call(&plain);
		world_run(&w, 10 * NSEC_PER_SEC);
	}
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 1);
	world_run(&w, 18 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 1);
	world_run(&w, 2 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 2);
	assert_int_equal(peer_forget(way.caller), 2);
}

static void the_oldest_goes_first(void **state)
{
	(void)state;
	everywhere(each_at_its_time);
}

static void without_the_setting_a_call_waits_for_ever(void **state)
{
	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		begin(1, sv, false, 0);
		way.responder->holds = true;
		call(&plain);
		world_run(&w, 100000 * NSEC_PER_SEC);
		assert_int_equal(peer_busy(way.caller), 1);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		way.responder->holds = false;
		assert_int_equal(peer_release(way.responder, true), 1);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(peer_busy(way.caller), 0);
		exchange(1);
		end();
	}
}

/* A reply that has arrived and waits for the gateway's memory is not late. */
static void a_reply_that_waits_for_memory_is_in_time(void **state)
{
	const struct peer_spec spec = {.body = 128, .reply = 7000, .segs = 1};
	static struct hoard hoard;

	(void)state;
	begin(2, 2, false, TIMEOUT_S * NSEC_PER_SEC);
	hoard_replies(&hoard, &w.proxy->arena);
	call(&spec);
	world_run(&w, 100 * NSEC_PER_SEC);
	assert_non_null(session()->server.stalled);
	assert_int_equal(session()->ntxns, 1);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(way.caller->done, 2);
	end();
}

/* One end's share of a random schedule: calls, answers held back, given late, or never. */
static void random_deed(struct rng *r, struct peer *p)
{
	switch (rng_below(r, 8)) {
	case 0:
		p->holds = !p->holds;
		break;
	case 1:
		/* In version 1 the session ends for want of credits in the end. */
		peer_release(p, p->leg.t->ops->traits->counts_calls || rng_below(r, 4) > 0);
		break;
	case 2:
		if (rng_below(r, 8) == 0)
			peer_forget(p);
		break;
	default:
		p->next_xid += p->next_xid & 1;
		if (peer_busy(p) < 6)
			peer_call(p, &plain);
		break;
	}
}

/* Answers in time, late or never, and calls abandoned on either side: the session continues with
 * Receives for everything, and at the end nothing is left. */
static void any_schedule(void **state)
{
	struct rng r = rng_seeded("late schedule", 9);
	unsigned ended = 0;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct peer *ends[] = {&w.pairs[0].client, &w.pairs[0].server};

		begin(1 + round % 2, 1 + round / 2 % 2, false, 5 * NSEC_PER_MS);
		for (unsigned step = 0; step < 300; step++) {
			random_deed(&r, ends[rng_below(&r, 2)]);
			world_run(&w, rng_below(&r, 2 * NSEC_PER_MS));
		}
		for (unsigned i = 0; i < 2; i++) {
			ends[i]->holds = false;
			peer_release(ends[i], true);
		}
		world_run(&w, NSEC_PER_SEC);
		peer_forget(ends[0]);
		peer_forget(ends[1]);
		if (proxy_sessions(w.proxy) == 0) { /* for want of credits: a long hold */
			assert_true(round % 4 < 3);
			ended++;
			world_quit(&w);
			world_free(&w);
			continue;
		}
		assert_int_equal(session()->ntxns, 0);
		way.let_go = proxy_counters(w.proxy)->let_go;
		all_is_given_back();
		exchange(10);
		end();
	}
	assert_true(ended < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_without_replies_cost_nothing_in_the_long_run),
		cmocka_unit_test(without_credits_the_session_ends),
		cmocka_unit_test(a_late_reply_is_dropped_and_counted),
		cmocka_unit_test(of_two_answers_one_is_dropped),
		cmocka_unit_test(a_receive_is_kept_for_each_late_reply),
		cmocka_unit_test(a_late_reply_may_be_continued),
		cmocka_unit_test(a_late_write_ends_the_session),
		cmocka_unit_test(an_xid_let_go_can_be_used_again),
		cmocka_unit_test(the_oldest_goes_first),
		cmocka_unit_test(without_the_setting_a_call_waits_for_ever),
		cmocka_unit_test(a_reply_that_waits_for_memory_is_in_time),
		cmocka_unit_test(any_schedule),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
