/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call-only procedures (draft-07 4.7) without a reply_timeout: they have no answer, and calls
 * behind them continue. A call that only takes long is not lost.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

/* PLACES: of clients' calls without chunks. */
enum { CREDITS = 8, PLACES = CREDITS + 8, MANY = 40 };

static struct world w;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};

static struct peer *caller, *responder;

static void begin_with(struct setup *s, uint32_t credits, bool reverse)
{
	struct world_pair *p = &w.pairs[0];

	s->credits = s->rev_credits = credits;
	world_new(&w, s);
	p->client.cfg.reply_timeout = p->server.cfg.reply_timeout =
		NSEC_PER_SEC; /* peer_forget() */
	world_connect(&w);
	/* Version 1 has one credit until the first reply tells how many. */
	peer_call(&p->client, &plain);
	world_run(&w, NSEC_PER_SEC);
	peer_call(&p->server, &plain);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(p->client.done + p->server.done, 2);
	caller = reverse ? &p->server : &p->client;
	responder = reverse ? &p->client : &p->server;
}

static void begin_as(struct setup *s, bool reverse)
{
	begin_with(s, CREDITS, reverse);
}

static void begin(unsigned cv, unsigned sv, bool reverse)
{
	struct setup s = setup_defaults(cv, sv, 70 + cv * 8 + sv * 2 + reverse);

	print_message("v%u-v%u reverse=%u\n", cv, sv, reverse);
	begin_as(&s, reverse);
}

/* Receives are shared, and those of servers' messages are others than those of clients'. */
static void begin_sharing(void)
{
	struct setup s = setup_defaults(2, 2, 96);

	s.net.shares_receives = true;
	s.two_fabrics = true;
	s.memory = 16 << 20;
	begin_as(&s, false);
}

static void end(void)
{
	assert_int_equal(caller->corrupt + responder->corrupt + caller->errors, 0);
	world_quit(&w);
	world_free(&w);
}

/* @n calls of @spec, their XIDs @rest by four. */
static void calls(const struct peer_spec *spec, unsigned n, uint32_t rest)
{
	for (unsigned i = 0; i < n; i++) {
		caller->next_xid += (rest - caller->next_xid) % 4;
		assert_true(peer_call(caller, spec));
	}
}

/* ... that are not answered, and one behind them that would be. */
static void fill_queue(const struct peer_spec *spec, unsigned n, uint32_t rest)
{
	responder->holds = true;
	calls(spec, n, rest);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = false;
	assert_true(peer_call(caller, &plain));
	world_run(&w, 57 * NSEC_PER_SEC);
}

/* A peer answers the even ones inline. */
static void call_only(unsigned n)
{
	fill_queue(&plain, n, 0);
}

/* Toward version 2 all places are taken, toward version 1 all credits, too, and these for good. */
static void call_only_calls_are_in_nobodys_way(void **state)
{
	(void)state;
	for (unsigned rv = 1; rv <= 2; rv++)
		for (unsigned reverse = 0; reverse < 2; reverse++) {
			unsigned n = rv == 2 && !reverse ? PLACES : CREDITS;
			uint64_t done;

			begin(reverse ? rv : 2, reverse ? 2 : rv, reverse);
			done = caller->done;
			call_only(n);
			assert_int_equal(caller->done, done);
			assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
			world_run(&w, 10 * NSEC_PER_SEC);
			assert_int_equal(proxy_counters(w.proxy)->let_go, n);
			assert_int_equal(caller->done, done + (rv == 2));
			world_run(&w, 70 * NSEC_PER_SEC);
			/* A new connection has new credits. */
			assert_int_equal(proxy_sessions(w.proxy), rv == 2);
			end();
		}
}

enum { LONG_ONES = 5 };

/* Calls that travel as chunks to version 1 get no answer, and then @n of @later come. These are answered as soon as the
 * others are abandoned. Credits and places are left all the time. */
static void proceed_when_others_are_abandoned(struct setup *s, const struct peer_spec *const *later,
					      unsigned n)
{
	static const struct peer_spec with_body = {.body = 9000, .reply = 100, .segs = 1};
	uint64_t done;

	begin_with(s, 2 * CREDITS, false);
	done = caller->done;
	responder->holds = true;
	calls(&with_body, LONG_ONES, 0);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = false;
	for (unsigned i = 0; i < n; i++) {
		assert_true(peer_call(caller, later[i]));
		world_run(&w, NSEC_PER_SEC);
	}
	world_run(&w, 56 * NSEC_PER_SEC);
	assert_int_equal(caller->done, done);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, LONG_ONES);
	assert_int_equal(caller->done, done + n);
	end();
}

/* The unanswered calls have some of the exposures. Those that are left are too few for one call, behind which others
 * wait. */
static void call_only_calls_give_exposures_back(void **state)
{
	enum { EXPOSURES = 13 };
	static const struct peer_spec wide = {.segs = 1,
					      .body = 128,
					      .reply = 100,
					      .nreads = 2,
					      .reads = {2000, 2000},
					      .nwrites = 2,
					      .write_caps = {2000, 2000},
					      .writes = {2000, 2000}};
	static const struct peer_spec read = {
		.segs = 1, .body = 128, .reply = 100, .nreads = 1, .reads = {2000}};
	const struct peer_spec *const later[] = {&wide, &read};
	struct setup s = setup_defaults(2, 1, 98);

	(void)state;
	s.exposures = EXPOSURES;
	proceed_when_others_are_abandoned(&s, later, 2);
}

/* Nothing is known about the client's speed, so a READ that is too large to be stored beside the unanswered calls waits
 * for them. */
static void call_only_calls_let_large_reads_proceed(void **state)
{
	const struct peer_spec read = peer_read_of(64 << 10);
	const struct peer_spec *const later[] = {&read};
	struct setup s = setup_defaults(2, 1, 97);

	(void)state;
	s.cut_through_bytes = 8 << 10;
	proceed_when_others_are_abandoned(&s, later, 1);
}

/* Calls wait because the client takes results or sends data slowly: READs for its speed, and READs and WRITEs for places. A
 * call that the server has not answered is in nobody's way. */
static void slow_clients_are_no_reason_to_abandon(void **state)
{
	enum { READS = 12, LARGE = 4 << 20 };
	const struct peer_spec read = peer_read_of(LARGE);
	static const struct peer_spec write = {
		.segs = 1, .body = 128, .reply = 100, .nreads = 1, .reads = {LARGE}};
	const struct memnet_pace slow = {.take_octet = 19000, .answer_octet = 19000};

	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		const bool by_places = kind > 0;
		struct setup s = setup_defaults(2, 1, 96);

		s.cut_through_bytes = by_places ? 0 : 128 << 10;
		s.cut_through_from = 32 << 20;
		s.max_payload = LARGE;
		s.memory = (size_t)1 << 30;
		s.peer_memory = (size_t)256 << 20;
		begin_with(&s, by_places ? CREDITS : 4 * CREDITS, false);
		responder->holds = true;
		calls(&plain, 1, 0);
		world_run(&w, NSEC_PER_SEC);
		responder->holds = false;
		memnet_pace(caller->leg.conn, &slow);
		for (unsigned i = 0; i < READS; i++)
			(void)peer_call(caller, kind == 2 ? &write : &read);
		world_run(&w, 200 * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		assert_int_equal(proxy_sessions(w.proxy), 1);
		memnet_pace(caller->leg.conn, &(struct memnet_pace){0});
		assert_int_equal(peer_release(responder, true), 1);
		world_run(&w, 100 * NSEC_PER_SEC);
		assert_int_equal(peer_busy(caller), 0);
		end();
	}
}

/* Before that it was just slow, and is answered; after it the session ends, so that its
 * requester can send it again. */
static void slow_answers_are_not_lost(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		begin(2, 2, false);
		call_only(PLACES);
		world_run(&w, late * 10 * NSEC_PER_SEC);
		assert_int_equal(peer_release(responder, true), PLACES);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(caller->done, late ? 2 : 2 + PLACES);
		assert_int_equal(proxy_sessions(w.proxy), !late);
		assert_int_equal(caller->closed, late);
		end();
	}
}

/* With a place for every call nobody waits, so all calls may take as long as they like; and so may
 * those of version 1, which has no Call-only calls. */
static void calls_in_nobodys_way_are_waited_for(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++) {
		begin(cv, 2, false);
		call_only(cv == 1 ? CREDITS : CREDITS - 2);
		world_run(&w, 10000 * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		assert_int_equal(peer_release(responder, true), cv == 1 ? CREDITS : CREDITS - 2);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(peer_busy(caller), 0);
		assert_int_equal(proxy_sessions(w.proxy), 1);
		end();
	}
}

/* Call-only calls have no data in their Send, and expect none with a reply: calls with such data
 * count as slow, not as Call-only. */
static void data_by_send_are_as_chunks(void **state)
{
	static const struct peer_spec specs[] = {
		{.body = 128, .reply = 100, .segs = 1, .nreads = 1, .reads = {500}},
		{.body = 128,
		 .reply = 100,
		 .segs = 1,
		 .nwrites = 1,
		 .write_caps = {500},
		 .writes = {400}},
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct setup s = setup_defaults(2, 2, 90 + i);

		s.gw_bulk = s.client_bulk = 65536;
		s.client_places = s.client_asks = true;
		begin_as(&s, false);
		fill_queue(&specs[i], CREDITS, 1); /* a direction by Send alone */
		assert_int_equal(caller->placed_out, i == 0 ? CREDITS : 0);
		assert_int_equal(caller->asked, i == 0 ? 0 : CREDITS);
		world_run(&w, 1000 * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		assert_int_equal(peer_release(responder, true), CREDITS);
		world_run(&w, NSEC_PER_SEC);
		assert_int_equal(caller->done, 1 + CREDITS + 1);
		assert_int_equal(proxy_sessions(w.proxy), 1);
		end();
	}
}

/*
 * A client that advertises one credit: the gateway keeps it for the Reply that it owes, which brings
 * the client its credits as well (protocol decision 35). No such Reply comes.
 */
static void one_credit_is_not_kept_for_ever(void **state)
{
	struct setup s = setup_defaults(2, 2, 99);
	struct world_pair *p = &w.pairs[0];
	uint64_t let_go;

	(void)state;
	s.credits = CREDITS;
	world_new(&w, &s);
	/* Calls find a place: what runs out is the client's window. */
	w.routes[0].server.credits = p->server.cfg.credits = 4 * CREDITS;
	p->client.cfg.reply_timeout = NSEC_PER_SEC;
	world_connect_pair(&w, 0);
	leg_set_grant(&p->client.leg, 2);
	world_run(&w, NSEC_PER_SEC);
	assert_true(p->client.open);
	leg_set_grant(&p->client.leg, 1); /* one of two was for the gateway's properties */
	caller = &p->client;
	responder = &p->server;
	call_only(MANY); /* as many of them as it has credits for */
	assert_true(list_is_empty(&inside_session(w.proxy, 0)->forward.waiting));
	assert_int_equal(caller->done, 0);
	world_run(&w, 10 * NSEC_PER_SEC);
	let_go = proxy_counters(w.proxy)->let_go;
	assert_in_range(let_go, CREDITS, MANY - 1);
	assert_int_equal(caller->done, MANY + 1 - let_go);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	end();
}

/* A message of the responder's finds no Receive. It is a call whose requester waits. */
static void hold_up(void)
{
	memnet_limit_messages(responder->leg.conn, 0, false);
	assert_true(peer_call(responder, &plain));
}

/* From now on its messages find Receives again. */
static void let_in(void)
{
	memnet_limit_messages(responder->leg.conn, UINT32_MAX, false);
}

/* The gateway keeps its responder from being heard, now and then: so long its time stands still, but that is no new beginning. */
static void pauses_are_no_beginnings(void **state)
{
	(void)state;
	for (unsigned reverse = 0; reverse < 2; reverse++) {
		unsigned n = reverse ? CREDITS : PLACES;

		begin(2, 2, reverse);
		caller->holds = true;
		responder->holds = true;
		calls(&plain, n, 0);
		world_run(&w, NSEC_PER_SEC);
		responder->holds = false;
		calls(&plain, 1, 0);
		world_run(&w, 20 * NSEC_PER_SEC);
		for (unsigned i = 0; i < 2; i++) {
			hold_up();
			world_run(&w, 30 * NSEC_PER_SEC);
			let_in();
			world_run(&w, 19 * NSEC_PER_SEC);
			assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
		}
		world_run(&w, 4 * NSEC_PER_SEC);
		assert_int_equal(proxy_counters(w.proxy)->let_go, n);
		assert_int_equal(peer_busy(caller), n); /* the last was answered */
		(void)peer_forget(responder);
		end();
	}
}

/* ... but an answer is one, though it was seen while that stood still: the responder's next message waited still. */
static void an_answer_in_a_pause_is_a_beginning(void **state)
{
	const struct memnet_pace slow = {.take = 30 * NSEC_PER_SEC}, none = {0};

	(void)state;
	begin(2, 2, false);
	caller->holds = true;
	responder->holds = true;
	calls(&plain, PLACES - 1, 0);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = false;
	memnet_pace(responder->leg.conn, &slow); /* it gets the next call late, and answers it */
	calls(&plain, 3, 0);
	world_run(&w, 29 * NSEC_PER_SEC);
	memnet_limit_messages(responder->leg.conn, 0, false);
	world_run(&w, 2 * NSEC_PER_SEC);
	memnet_pace(responder->leg.conn, &none);
	responder->holds = true;
	assert_true(peer_call(responder, &plain));
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(caller->done, 1);
	memnet_limit_messages(responder->leg.conn, 1, false);
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(caller->done, 2);
	let_in();
	world_run(&w, 50 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	world_run(&w, 15 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, PLACES);
	(void)peer_forget(responder);
	end();
}

/* A READ waits for memory alone. Places within the limit are free again, and unanswered calls run beyond it. */
static void calls_that_wait_for_memory_are_no_reason_to_abandon(void **state)
{
	enum { BEYOND = PLACES - CREDITS, OCTETS = 100000 };
	static const struct peer_spec write = {
		.segs = 1, .body = 128, .reply = 100, .nreads = 1, .reads = {OCTETS}};
	const struct memnet_pace slow = {.answer_octet = 25000}; /* 2.5 s for each WRITE */
	const struct peer_spec read = peer_read_of(OCTETS);
	static struct hoard hoard;
	const struct session_queue *q;
	struct buf_arena *arena;

	(void)state;
	begin(2, 2, false);
	q = &inside_session(w.proxy, 0)->forward;
	arena = &w.proxy->arena;
	memnet_pace(caller->leg.conn, &slow);
	calls(&write, CREDITS, 0);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = true;
	calls(&plain, BEYOND, 0);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = false;
	world_run(&w, 30 * NSEC_PER_SEC);
	assert_int_equal(caller->done, 1 + CREDITS);
	assert_int_equal(q->running, BEYOND);
	assert_true(BEYOND >= q->limit);
	hoard_zone(&hoard, arena, buf_own_zone(arena, BUF_TRANSACTION, 0));
	hoard_zone(&hoard, arena, BUF_ZONE_ORDINARY);
	calls(&read, 1, 0);
	world_run(&w, 200 * NSEC_PER_SEC);
	assert_false(list_is_empty(&q->waiting));
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(caller->done, 1 + CREDITS + 1);
	assert_int_equal(peer_release(responder, true), BEYOND);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(peer_busy(caller), 0);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	end();
}

/* There were no Receives when the session was looked at, and nothing happens to it when there are again. */
static void a_paused_session_continues_by_itself(void **state)
{
	static struct hoard hoard;

	(void)state;
	begin_sharing();
	call_only(PLACES);
	hoard_all_receives(&hoard, &w, 1);
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	hoard_end(&hoard);
	world_run(&w, 10 * NSEC_PER_SEC);
	assert_int_equal(proxy_counters(w.proxy)->let_go, PLACES);
	end();
}

/* The same, but it was so when the calls began to be in others' way. */
static void a_session_paused_from_the_start_continues(void **state)
{
	static struct hoard hoard;

	(void)state;
	for (unsigned is_out = 0; is_out < 2; is_out++) {
		begin_sharing();
		responder->holds = true;
		calls(&plain, PLACES, 0);
		world_run(&w, 100 * NSEC_PER_SEC); /* no timer is armed any more */
		responder->holds = false;
		if (is_out)
			hoard_all_receives(&hoard, &w, 1);
		calls(&plain, 1, 0);
		world_run(&w, NSEC_PER_SEC);
		hoard_end(&hoard);
		world_run(&w, 1000 * NSEC_PER_SEC);
		print_message("out=%u: let go %u, busy %u\n", is_out,
			      (unsigned)proxy_counters(w.proxy)->let_go, peer_busy(caller));
		assert_int_equal(proxy_counters(w.proxy)->let_go, PLACES);
		end();
	}
}

/* The first answer waits for memory of the gateway's and holds none; the others are here as well, behind it. */
static void answers_that_wait_for_memory_are_not_lost(void **state)
{
	const struct peer_spec longer = {.body = 128, .reply = 7000, .segs = 1};
	static struct hoard hoard;
	const struct session *s;

	(void)state;
	begin(2, 2, false);
	s = inside_session(w.proxy, 0);
	responder->holds = true;
	calls(&longer, 1, 0);
	calls(&plain, PLACES - 1, 0);
	world_run(&w, NSEC_PER_SEC);
	responder->holds = false;
	hoard_replies(&hoard, &w.proxy->arena);
	assert_int_equal(peer_release(responder, true), PLACES);
	calls(&plain, 1, 0);
	world_run(&w, 200 * NSEC_PER_SEC);
	assert_non_null(s->server.stalled);
	assert_false(list_is_empty(&s->server.rxq));
	assert_int_equal(s->forward.running, PLACES);
	assert_true(session_calls_wait(&s->forward));
	assert_int_equal(proxy_counters(w.proxy)->let_go, 0);
	hoard_end(&hoard);
	world_run(&w, NSEC_PER_SEC);
	assert_int_equal(caller->done, 1 + PLACES + 1);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_only_calls_are_in_nobodys_way),
		cmocka_unit_test(call_only_calls_give_exposures_back),
		cmocka_unit_test(call_only_calls_let_large_reads_proceed),
		cmocka_unit_test(slow_clients_are_no_reason_to_abandon),
		cmocka_unit_test(slow_answers_are_not_lost),
		cmocka_unit_test(calls_that_wait_for_memory_are_no_reason_to_abandon),
		cmocka_unit_test(pauses_are_no_beginnings),
		cmocka_unit_test(an_answer_in_a_pause_is_a_beginning),
		cmocka_unit_test(a_paused_session_continues_by_itself),
		cmocka_unit_test(a_session_paused_from_the_start_continues),
		cmocka_unit_test(answers_that_wait_for_memory_are_not_lost),
		cmocka_unit_test(calls_in_nobodys_way_are_waited_for),
		cmocka_unit_test(data_by_send_are_as_chunks),
		cmocka_unit_test(one_credit_is_not_kept_for_ever),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("Call-only", tests, NULL, NULL);
}
