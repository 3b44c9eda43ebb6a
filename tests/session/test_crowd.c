/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many sessions in all states beside a busy one: the work of a turn does not grow with their
 * number, and ending all of them takes many short turns.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_all.h"

#include "base/log.h"
#include "base/mem.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { CROWD = 500, EXCHANGES = 50, HELLO_WORDS = 31 };

/** struct many - clients on one instance, their servers on another: all answer at once, say one
 * thing or nothing, and look at nothing that comes. */
struct many {
	struct fabric *clients, *servers;
	struct fabric_conn *conns[2 * CROWD];
	unsigned nconns;
	uint32_t *memory;
};

static struct world w;
static struct many session_limits;

static const struct peer_spec plain = {.body = 128, .reply = 100, .segs = 1};
static const struct fabric_conn_params params = {.max_recvs = 1, .max_sends = 1};

static void begin(void)
{
	struct setup s = setup_defaults(1, 1, 91);

	s.pairs = 2;
	s.gw_inline = s.client_inline = s.server_inline = 1024;
	s.credits = 4;
	s.rev_credits = 1;
	s.max_sessions = 2 * CROWD;
	s.memory = 1 << 30;
	s.peer_memory = 64 << 20;
	s.upstream_versions = LEG_V1;
	world_new(&w, &s);
	session_limits =
		(struct many){.clients = memnet_fabric(w.net), .servers = memnet_fabric(w.net)};
	session_limits.memory = mem_zalloc(4096);
	assert_int_equal(fabric_register(session_limits.clients, session_limits.memory, 4096), 0);
	fabric_detach(w.pairs[1].server.fabric, w.pairs[1].server_listener);
	assert_int_equal(fabric_attach(session_limits.servers, w.pairs[1].server_listener, NULL),
			 0);
	world_connect_pair(&w, 0);
	world_run(&w, NSEC_PER_SEC);
	assert_true(w.pairs[0].client.open);
}

static void session_limits_turn(void)
{
	struct fabric_event ev;

	while (fabric_poll(session_limits.servers, &ev)) {
		if (ev.type != FABRIC_EV_REQUEST)
			continue;
		session_limits.conns[session_limits.nconns++] = ev.conn;
		assert_int_equal(fabric_prepare(ev.conn, &params), 0);
		assert_int_equal(fabric_accept(ev.conn, &params, NULL), 0);
	}
	while (fabric_poll(session_limits.clients, &ev))
		;
	fabric_flush(session_limits.servers);
	fabric_flush(session_limits.clients);
}

static void run(nsec_t time)
{
	nsec_t end = memnet_now(w.net) + time;

	while (memnet_now(w.net) < end) {
		world_run(&w, NSEC_PER_MS / 10);
		session_limits_turn();
	}
}

static void say_hello(struct fabric_conn *conn)
{
	struct fabric_sge sge = {(uint8_t *)session_limits.memory, 20};

	assert_int_equal(fabric_send(conn, &sge, 1, 0, NULL), 0);
}

/* @n sessions that are set up; each client then says a word, or none. */
static void come(unsigned n, bool speak)
{
	static const uint32_t hello[HELLO_WORDS] = {0x01000000, 0x01000000, 0x01000000,
						    0x04000000}; /* RDMA_ERROR, about nothing */
	struct fabric_conn *mine[CROWD];

	memcpy(session_limits.memory, hello, sizeof(hello));
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(fabric_connect(session_limits.clients, &w.pairs[1].gw_addr,
						&params, NULL, &mine[i]),
				 0);
		session_limits.conns[session_limits.nconns++] = mine[i];
	}
	run(5 * NSEC_PER_MS);
	for (unsigned i = 0; i < n && speak; i++)
		say_hello(mine[i]);
	run(5 * NSEC_PER_MS);
	assert_int_equal(proxy_sessions(w.proxy), 1 + n);
}

static void end(void)
{
	for (unsigned i = 0; i < session_limits.nconns; i++)
		fabric_destroy(session_limits.conns[i]);
	session_limits.nconns = 0;
	fabric_detach(session_limits.servers, w.pairs[1].server_listener);
	assert_int_equal(fabric_attach(w.pairs[1].server.fabric, w.pairs[1].server_listener, NULL),
			 0);
	world_quit(&w);
	fabric_unregister(session_limits.clients, session_limits.memory);
	fabric_free(session_limits.clients);
	fabric_free(session_limits.servers);
	mem_free(session_limits.memory);
	world_free(&w);
}

/* Timers looked at while the first session does its work. */
static uint64_t cost_of_work(void)
{
	uint64_t steps = w.proxy->timers.steps, done = w.pairs[0].client.done;

	for (unsigned i = 0; i < EXCHANGES; i++) {
		assert_true(peer_call(&w.pairs[0].client, &plain));
		world_run(&w, NSEC_PER_MS);
	}
	assert_int_equal(w.pairs[0].client.done, done + EXCHANGES);
	return w.proxy->timers.steps - steps;
}

static void a_turn_does_not_look_at_idle_sessions(void **state)
{
	(void)state;
	for (unsigned speak = 0; speak < 2; speak++) {
		uint64_t alone, beside;

		begin();
		(void)cost_of_work(); /* its first words, which end its set-up */
		alone = cost_of_work();
		come(CROWD, speak);
		beside = cost_of_work();
		print_message("%u sessions that %s: %u timers looked at, %u without them\n", CROWD,
			      speak ? "idle" : "say nothing", (unsigned)beside, (unsigned)alone);
		assert_true(beside <= alone + EXCHANGES);
		/* Idle sessions wait for nothing. */
		if (speak)
			assert_in_range(w.proxy->timers.n, 1, 2);
		else
			assert_in_range(w.proxy->timers.n, CROWD, CROWD + 2);
		end();
	}
}

static void silent_sessions_are_closed(void **state)
{
	(void)state;
	begin();
	(void)cost_of_work();
	come(CROWD, false);
	run(30 * NSEC_PER_SEC / 100);
	world_run(&w, 20 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w.proxy), 1);
	(void)cost_of_work();
	end();
}

/* Sessions that are asked to end, and are not gone yet. */
static unsigned ending(void)
{
	const struct list *all = &w.proxy->sessions;
	unsigned n = 0;

	for (const struct list *it = all->next; it != all; it = it->next)
		n += container_of(it, struct session, link)->state == SESSION_CLOSING;
	return n;
}

/* All sessions end at once: a few in each turn, and sessions with calls have their turn in between. */
static void a_drain_is_sliced(void **state)
{
	unsigned turns = 0, most = 0, asked = 0;
	uint64_t closed = 0;
	int more = 1;

	(void)state;
	begin();
	(void)cost_of_work();
	come(CROWD, true);
	assert_true(peer_call(&w.pairs[0].client, &plain));
	proxy_drain(w.proxy, memnet_now(w.net) + 20 * NSEC_PER_SEC);
	while (more || proxy_sessions(w.proxy) > 0) {
		uint64_t before = proxy_counters(w.proxy)->sessions_closed;
		unsigned ended = ending();

		more = proxy_turn(w.proxy, memnet_now(w.net));
		closed = proxy_counters(w.proxy)->sessions_closed;
		most = closed - before > most ? (unsigned)(closed - before) : most;
		ended = ending() > ended ? ending() - ended : 0;
		asked = ended > asked ? ended : asked;
		turns++;
		session_limits_turn();
		peer_turn(&w.pairs[0].client);
		peer_turn(&w.pairs[0].server);
		for (unsigned i = 0; !more && i < CROWD; i++) /* many ends come together */
			memnet_step(w.net, nsec_min(memnet_now(w.net) + NSEC_PER_MS,
						    proxy_deadline(w.proxy)));
		assert_true(turns < 100000);
	}
	print_message("%u sessions ended in %u turns, %u in one at most\n", (unsigned)closed, turns,
		      most);
	assert_int_equal(closed, CROWD + 1);
	assert_in_range(most, 2, 2 + 32);
	assert_in_range(asked, 2, 32);
	end();
}

/* Sessions with something in flight are looked at some in a turn, each once in a round. */
static void debts_are_looked_at_by_and_by(void **state)
{
	uint64_t looks;
	unsigned turns = 0, n;

	(void)state;
	begin();
	come(CROWD, true);
	world_run(&w, 6 * NSEC_PER_SEC); /* a round of looks: nothing is in flight any more */
	assert_false(timer_is_armed(&w.proxy->debts));
	n = proxy_sessions(w.proxy);
	assert_int_equal(n, 1 + CROWD);
	assert_true(list_is_empty(&w.proxy->owing));
	for (unsigned i = 0; i < CROWD; i++)
		say_hello(session_limits.conns[i]); /* conns[] begins with the clients */
	run(5 * NSEC_PER_MS);
	looks = w.proxy->debt_looks;
	while (!list_is_empty(&w.proxy->owing)) {
		uint64_t before = w.proxy->debt_looks;

		(void)memnet_step(w.net, proxy_deadline(w.proxy));
		(void)proxy_turn(w.proxy, memnet_now(w.net));
		assert_in_range(w.proxy->debt_looks - before, 0, n / 2);
		turns += w.proxy->debt_looks > before;
	}
	assert_int_equal(w.proxy->debt_looks - looks, CROWD);
	print_message("%u sessions looked at in %u turns\n", n, turns);
	end();
}

/* Which handle a reply may invalidate depends on all calls in flight: these are counted as they come and go, and none of
 * them is looked at for it. */
static void a_reply_looks_at_no_other_call(void **state)
{
	enum { CALLS = 4096, OWN = 0x1234, OTHERS = 0x77 };
	static const struct rpc_traits traits = {.names_inv = false};
	static const struct rpc_transport_ops ops = {.traits = &traits};
	static struct rpc_transport t = {.ops = &ops, .peer = {.remote_inv = true}};
	static struct leg leg = {.t = &t};
	static struct session s;
	static struct txn own, other;
	struct list nowhere = {NULL, NULL};

	(void)state;
	s.txns = (struct list){&nowhere, &nowhere};
	own.s = other.s = &s;
	own.req = other.req = &leg;
	own.in.nsegs = other.in.nsegs = 1;
	own.in.segs[0].length = other.in.segs[0].length = 1;
	own.in.segs[0].handle = OWN;
	other.in.segs[0].handle = OTHERS;
	txn_count_handles(&own);
	for (unsigned i = 0; i < CALLS; i++)
		txn_count_handles(&other);
	assert_int_equal(txn_remote_inval_handle(&own), OWN);
	assert_int_equal(txn_remote_inval_handle(&other), 0);
	other.in.segs[0].handle = OWN;
	txn_count_handles(&other);
	assert_int_equal(txn_remote_inval_handle(&own), 0);
	txn_uncount_handles(&other);
	assert_int_equal(txn_remote_inval_handle(&own), OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_does_not_look_at_idle_sessions),
		cmocka_unit_test(silent_sessions_are_closed),
		cmocka_unit_test(a_drain_is_sliced),
		cmocka_unit_test(debts_are_looked_at_by_and_by),
		cmocka_unit_test(a_reply_looks_at_no_other_call),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
