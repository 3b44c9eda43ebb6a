/* SPDX-License-Identifier: BSD-2-Clause */
/* An operator's view of running sessions, and commands for them. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "proxy/snapshot.h"
#include "tests/session/world.h"

static struct world w;

static const struct peer_spec small = {.body = 200, .reply = 24, .segs = 1};

static const struct peer_spec bulk = {.body = 400,
				      .reply = 24,
				      .segs = 2,
				      .nreads = 1,
				      .reads = {300000},
				      .nwrites = 1,
				      .write_caps = {300000},
				      .writes = {300000}};

static void begin(unsigned cv, unsigned sv)
{
	struct setup s = setup_defaults(cv, sv, 43);

	s.pairs = 3;
	s.peer_memory = 64 << 20;
	s.memory = 256 << 20;
	world_new(&w, &s);
	world_connect(&w);
	/* In version 1 the first reply tells how many calls may be in flight. */
	for (unsigned i = 0; i < 3; i++)
		peer_call(&w.pairs[i].client, &small);
	world_run(&w, NSEC_PER_SEC);
}

static void end(void)
{
	world_quit(&w);
	world_free(&w);
}

/* As a worker does: a piece, then a turn. */
static void snapshot_all(struct snapshot *l)
{
	unsigned pieces = 0;

	l->begun = false;
	while (proxy_snapshot(w.proxy, l, memnet_now(w.net))) {
		proxy_turn(w.proxy, memnet_now(w.net));
		assert_true(++pieces < 100);
	}
}

static struct snapshot sessions_of(struct snapshot_session *to, unsigned most)
{
	return (struct snapshot){.kind = SNAPSHOT_SESSIONS,
				 .want = {.route = SNAPSHOT_ANY_ROUTE},
				 .sessions = to,
				 .most = most};
}

/* Sessions are numbered as they come, which pairs do in any order. */
static uint64_t id_of(unsigned pair)
{
	struct snapshot_session one;
	struct snapshot l = sessions_of(&one, 1);

	l.want.route = pair;
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 1);
	return one.id;
}

static unsigned pair_of(uint64_t id)
{
	for (unsigned i = 0; i < 3; i++)
		if (id_of(i) == id)
			return i;
	fail();
	return 0;
}

/* The process logs the sum of the routes' counters, and nothing else. */
static void routes_count_for_themselves(void **state)
{
	struct proxy_counters routes[WORLD_PAIRS], sum = {0};
	struct snapshot l = {.kind = SNAPSHOT_COUNTERS, .counters = routes};

	(void)state;
	begin(1, 2);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned n = 0; n < 3 + i; n++)
			peer_call(&w.pairs[i].client, &small);
	world_run(&w, 2 * NSEC_PER_SEC);
	peer_call(&w.pairs[2].server, &small);
	world_run(&w, 2 * NSEC_PER_SEC);
	snapshot_all(&l);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(routes[i].calls, 4 + i);
		assert_int_equal(routes[i].replies, 4 + i);
		assert_int_equal(routes[i].rcalls, i == 2);
		assert_int_equal(routes[i].sessions_opened, 1);
		assert_int_equal(routes[i].sessions, 1);
		assert_memory_equal(&routes[i], proxy_route_counters(w.proxy, i),
				    sizeof(routes[i]));
		proxy_counters_add(&sum, &routes[i]);
	}
	assert_memory_equal(&sum, proxy_counters(w.proxy), sizeof(sum));
	end();
}

static void every_session_is_on_one_page(void **state)
{
	(void)state;
	for (unsigned most = 1; most <= 4; most++) {
		struct snapshot_session page[4];
		struct snapshot l = sessions_of(page, most);
		uint64_t last = 0;
		unsigned n = 0;

		begin(2, 1);
		do {
			snapshot_all(&l);
			for (unsigned i = 0; i < l.nsessions; i++, n++) {
				assert_true(page[i].id > last);
				last = page[i].id;
				assert_string_equal(page[i].state, "open");
				assert_int_equal(page[i].legs[PROXY_CLIENT].version, 2);
				assert_int_equal(page[i].legs[PROXY_SERVER].version, 1);
				assert_true(page[i].fixed_bytes > 0);
			}
			l.more &= n < 10;
		} while (l.more);
		assert_int_equal(n, 3);
		end();
	}
}

/* The next session ends, and so does one that was already reported; each of the others is reported
 * once. */
static void sessions_end_between_pages(void **state)
{
	struct snapshot_session page[4];
	struct snapshot l = sessions_of(page, 1), other = sessions_of(page + 2, 2);

	unsigned first, second;

	(void)state;
	begin(1, 1);
	first = pair_of(1);
	second = pair_of(2);
	snapshot_all(&l);
	assert_int_equal(page[0].id, 1);
	peer_end(&w.pairs[first].client);
	peer_end(&w.pairs[second].client);
	world_run(&w, 5 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 1);
	assert_int_equal(page[0].id, 3);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 0);
	assert_false(l.more);
	/* Another look in between changes nothing but the place in the list. */
	snapshot_all(&other);
	assert_int_equal(other.nsessions, 1);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 0);
	end();
}

static void what_is_wanted_is_found(void **state)
{
	struct snapshot_session page[4];
	struct snapshot l = sessions_of(page, 4);

	(void)state;
	begin(1, 2);
	l.want.route = 1;
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 1);
	assert_int_equal(page[0].route, 1);
	l = sessions_of(page + 1, 3);
	memcpy(l.want.client, page[0].client, sizeof(page[0].client));
	snapshot_all(&l);
	assert_true(l.nsessions >= 1);
	for (unsigned i = 0; i < l.nsessions; i++)
		assert_string_equal(page[1 + i].client, page[0].client);
	l = sessions_of(page, 4);
	memcpy(l.want.client, "192.0.2.77", 11);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 0);
	l = sessions_of(page, 4);
	memcpy(l.want.name, "nobody", 7);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 0);
	end();
}

static void calls_in_flight_are_seen(void **state)
{
	struct snapshot_session session;
	struct snapshot_call calls[8];
	struct snapshot l = {.kind = SNAPSHOT_CALLS,
			     .want = {.route = SNAPSHOT_ANY_ROUTE},
			     .sessions = &session,
			     .calls = calls,
			     .most = 4};

	(void)state;
	begin(1, 2);
	w.pairs[1].server.holds = true;
	for (unsigned i = 0; i < 6; i++)
		peer_call(&w.pairs[1].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	l.want.id = id_of(1);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 1);
	assert_int_equal(session.route, 1);
	assert_int_equal(session.in_flight, 6);
	assert_true(session.call_bytes > 6 * 600000);
	assert_int_equal(l.ncalls, 4); /* as many as there is room for */
	assert_int_equal(l.calls_left, 2);
	for (unsigned i = 0; i < l.ncalls; i++) {
		assert_string_equal(calls[i].step, "wait");
		assert_false(calls[i].is_reverse);
		assert_true(calls[i].bytes >= 600000);
		assert_true(calls[i].age <= session.age);
	}
	assert_int_equal(peer_release(&w.pairs[1].server, true), 6);
	world_run(&w, 5 * NSEC_PER_SEC);
	l.after = 0;
	snapshot_all(&l);
	assert_int_equal(session.in_flight, 0);
	assert_int_equal(l.ncalls, 0);
	assert_int_equal(l.calls_left, 0);
	l.want.id = 99;
	l.after = 0;
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 0);
	end();
}

/* No call is cut, none is begun any more, and other sessions notice nothing. */
static void a_drained_session_ends_between_calls(void **state)
{
	struct snapshot l = {
		.kind = SNAPSHOT_DRAIN, .want = {.route = 0}, .timeout = 20 * NSEC_PER_SEC};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv);
			w.pairs[0].server.holds = true;
			for (unsigned i = 0; i < 4; i++)
				peer_call(&w.pairs[0].client, &bulk);
			world_run(&w, NSEC_PER_SEC);
			l.after = 0;
			snapshot_all(&l);
			assert_int_equal(l.nsessions, 1);
			world_run(&w, NSEC_PER_SEC);
			assert_false(w.pairs[0].client.closed); /* they are in flight */
			peer_call(&w.pairs[0].client, &small);	/* not to be begun */
			world_run(&w, NSEC_PER_SEC);
			assert_int_equal(peer_release(&w.pairs[0].server, true), 4);
			world_run(&w, 5 * NSEC_PER_SEC);
			assert_int_equal(w.pairs[0].client.done, 5);
			assert_int_equal(w.pairs[0].client.corrupt, 0);
			assert_true(w.pairs[0].client.closed);
			assert_true(w.pairs[0].server.closed);
			assert_int_equal(proxy_sessions(w.proxy), 2);
			peer_call(&w.pairs[1].client, &bulk);
			world_run(&w, 5 * NSEC_PER_SEC);
			assert_int_equal(w.pairs[1].client.done, 2);
			end();
		}
}

static void draining_does_not_wait_for_ever(void **state)
{
	struct snapshot l = {.kind = SNAPSHOT_DRAIN,
			     .want = {.route = SNAPSHOT_ANY_ROUTE},
			     .timeout = 3 * NSEC_PER_SEC};
	nsec_t before;

	(void)state;
	begin(2, 2);
	w.pairs[0].server.holds = true;
	peer_call(&w.pairs[0].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	l.want.id = id_of(0);
	before = memnet_now(w.net);
	snapshot_all(&l);
	while (!w.pairs[0].client.closed) {
		world_run(&w, NSEC_PER_SEC);
		assert_true(memnet_now(w.net) - before < 10 * NSEC_PER_SEC);
	}
	assert_true(memnet_now(w.net) - before >= 3 * NSEC_PER_SEC);
	assert_false(w.pairs[1].client.closed);
	end();
}

/* Many at once, and one that is asked twice. */
static void all_are_drained(void **state)
{
	struct snapshot l = {.kind = SNAPSHOT_DRAIN,
			     .want = {.route = SNAPSHOT_ANY_ROUTE},
			     .timeout = 20 * NSEC_PER_SEC};

	(void)state;
	begin(1, 1);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 3);
	l.after = 0;
	snapshot_all(&l);
	world_run(&w, 5 * NSEC_PER_SEC);
	for (unsigned i = 0; i < 3; i++)
		assert_true(w.pairs[i].client.closed);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

static void a_killed_session_ends_at_once(void **state)
{
	struct snapshot l = {.kind = SNAPSHOT_KILL, .want = {.route = SNAPSHOT_ANY_ROUTE}};

	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		begin(v, 3 - v);
		w.pairs[2].server.holds = true;
		for (unsigned i = 0; i < 4; i++)
			peer_call(&w.pairs[2].client, &bulk);
		world_run(&w, NSEC_PER_SEC);
		l.want.id = id_of(2);
		l.after = 0;
		snapshot_all(&l);
		assert_int_equal(l.nsessions, 1);
		world_run(&w, 5 * NSEC_PER_SEC);
		assert_true(w.pairs[2].client.closed);
		assert_true(w.pairs[2].server.closed);
		assert_int_equal(proxy_sessions(w.proxy), 2);
		end();
	}
}

/* Before its server is connected: that is no fault of the server's. */
static void killed_while_it_connects(void **state)
{
	struct snapshot l = {.kind = SNAPSHOT_KILL, .want = {.route = SNAPSHOT_ANY_ROUTE, .id = 1}};
	struct setup s = setup_defaults(1, 2, 45);
	const struct proxy_counters *c;

	(void)state;
	world_new(&w, &s);
	world_connect_pair(&w, 0);
	while (proxy_sessions(w.proxy) == 0)
		world_run(&w, NSEC_PER_MS / 100);
	snapshot_all(&l);
	assert_int_equal(l.nsessions, 1);
	world_run(&w, 5 * NSEC_PER_SEC);
	c = proxy_route_counters(w.proxy, 0);
	assert_int_equal(c->sessions_refused, 1);
	assert_int_equal(c->refused[PROXY_REFUSED_KILLED], 1);
	assert_int_equal(c->refused[PROXY_REFUSED_UPSTREAM], 0);
	assert_int_equal(proxy_sessions(w.proxy), 0);
	end();
}

/* A call of the server's in flight is waited for as one of the client's is; a drain in the meantime
 * of both cuts neither. */
static void draining_waits_for_both_directions(void **state)
{
	struct snapshot l = {
		.kind = SNAPSHOT_DRAIN, .want = {.route = 0}, .timeout = 60 * NSEC_PER_SEC};

	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			begin(cv, sv);
			w.pairs[0].client.holds = true;
			peer_call(&w.pairs[0].server, &small);
			world_run(&w, NSEC_PER_SEC);
			l.after = 0;
			snapshot_all(&l);
			world_run(&w, 5 * NSEC_PER_SEC);
			assert_false(w.pairs[0].client.closed);
			assert_false(w.pairs[0].server.closed);
			assert_int_equal(peer_release(&w.pairs[0].client, true), 1);
			world_run(&w, 5 * NSEC_PER_SEC);
			assert_int_equal(w.pairs[0].server.done, 1);
			assert_int_equal(w.pairs[0].server.corrupt, 0);
			assert_true(w.pairs[0].client.closed);
			assert_true(w.pairs[0].server.closed);
			end();
		}
}

/* The responder's time is reported separately from the gateway's, in the right bucket. */
static void latency_is_reported_by_step(void **state)
{
	const struct latency *l;
	const struct proxy_counters *c;

	(void)state;
	for (unsigned v = 1; v <= 2; v++) {
		uint64_t before;

		begin(v, 3 - v);
		c = proxy_route_counters(w.proxy, 0);
		l = c->latency[LATENCY_OTHER];
		before = latency_count(&l[LATENCY_RESPONDER]);
		assert_int_equal(before, c->replies);
		w.pairs[0].server.holds = true;
		peer_call(&w.pairs[0].client, &small);
		world_run(&w, NSEC_PER_SEC);
		peer_release(&w.pairs[0].server, true);
		world_run(&w, NSEC_PER_SEC);
		for (unsigned step = 0; step < LATENCY_STEPS; step++)
			assert_int_equal(latency_count(&l[step]), before + 1);
		assert_true(latency_quantile(&l[LATENCY_RESPONDER], 100) > NSEC_PER_SEC / 2);
		assert_true(latency_quantile(&l[LATENCY_RESPONDER], 100) <= 2 * NSEC_PER_SEC);
		assert_true(l[LATENCY_RESPONDER].sum >= NSEC_PER_SEC);
		assert_true(l[LATENCY_CALL].sum + l[LATENCY_REPLY].sum < NSEC_PER_SEC / 2);
		end();
	}
}

static void latency_buckets(void **state)
{
	struct rpchdr read3 = {.prog = 100003, .vers = 3, .proc = 6};
	struct rpchdr compound = {.prog = 100003, .vers = 4, .proc = 1};
	struct latency m = {.sum = 0};

	(void)state;
	for (unsigned i = 0; i + 1 < LATENCY_BUCKETS; i++) {
		latency_add(&m, latency_bound(i));
		assert_int_equal(m.buckets[i], i == 0 ? 1 : 2);
		latency_add(&m, latency_bound(i) + 1);
		assert_int_equal(m.buckets[i + 1], 1);
	}
	latency_add(&m, 0);
	latency_add(&m, UINT64_MAX >> 1);
	assert_int_equal(m.buckets[0], 2);
	assert_int_equal(m.buckets[LATENCY_BUCKETS - 1], 2);
	assert_int_equal(latency_count(&m), 2 * LATENCY_BUCKETS);
	assert_int_equal(latency_quantile(&m, 1), latency_bound(0));
	assert_int_equal(latency_quantile(&m, 50), latency_bound(LATENCY_BUCKETS / 2));
	assert_int_equal(latency_quantile(&m, 100), UINT64_MAX);
	assert_int_equal(latency_kind_of(NULL, 0, 0), LATENCY_OTHER);
	assert_int_equal(latency_kind_of(&read3, 0, 0), LATENCY_NFS3_READ);
	assert_int_equal(latency_kind_of(&compound, 0, 1), LATENCY_NFS4_READ);
	assert_int_equal(latency_kind_of(&compound, 1, 0), LATENCY_NFS4_WRITE);
	assert_int_equal(latency_kind_of(&compound, 0, 0), LATENCY_NFS4_OTHER);
}

static void memory_adds_up(void **state)
{
	struct snapshot l = {.kind = SNAPSHOT_MEMORY};
	uint64_t sum;

	(void)state;
	begin(1, 2);
	w.pairs[0].server.holds = true;
	peer_call(&w.pairs[0].client, &bulk);
	world_run(&w, NSEC_PER_SEC);
	snapshot_all(&l);
	assert_int_equal(l.memory.used, world_arena(&w)->used);
	assert_int_equal(l.memory.total, world_arena(&w)->bytes);
	sum = l.memory.own;
	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		sum += l.memory.by_use[i];
	assert_int_equal(sum, l.memory.used);
	assert_true(l.memory.own <= l.memory.used);
	peer_release(&w.pairs[0].server, true);
	world_run(&w, 5 * NSEC_PER_SEC);
	end();
}

/* A reason for every refusal; which code went to whom. */
static void reasons_add_up(void **state)
{
	const struct proxy_counters *c;
	struct setup s = setup_defaults(1, 1, 44);
	uint64_t refused = 0;

	(void)state;
	s.pairs = 2;
	s.max_sessions = 1;
	s.memory = 256 << 20;
	world_new(&w, &s);
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	peer_call(&w.pairs[0].client, &small);
	world_run(&w, NSEC_PER_SEC);
	world_connect_pair(&w, 1);
	world_run(&w, NSEC_PER_SEC);
	c = proxy_route_counters(w.proxy, 1);
	assert_int_equal(c->sessions_refused, 1);
	assert_int_equal(c->refused[PROXY_REFUSED_SESSIONS], 1);
	for (unsigned i = 0; i < PROXY_REFUSALS; i++)
		refused += c->refused[i];
	assert_int_equal(refused, 1);
	assert_int_equal(proxy_route_counters(w.proxy, 0)->sessions_refused, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_count_for_themselves),
		cmocka_unit_test(every_session_is_on_one_page),
		cmocka_unit_test(sessions_end_between_pages),
		cmocka_unit_test(what_is_wanted_is_found),
		cmocka_unit_test(calls_in_flight_are_seen),
		cmocka_unit_test(a_drained_session_ends_between_calls),
		cmocka_unit_test(draining_does_not_wait_for_ever),
		cmocka_unit_test(all_are_drained),
		cmocka_unit_test(a_killed_session_ends_at_once),
		cmocka_unit_test(killed_while_it_connects),
		cmocka_unit_test(draining_waits_for_both_directions),
		cmocka_unit_test(latency_is_reported_by_step),
		cmocka_unit_test(latency_buckets),
		cmocka_unit_test(memory_adds_up),
		cmocka_unit_test(reasons_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
