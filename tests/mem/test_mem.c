/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/mem/world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/asan.h"
#include "base/mem.h"

/* Properties of fabric/mem beyond the contract: time and strictness. */

static void needs_a_flush(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w, &world_quiet);
	world_join(&w);
	world_recv(&w, 1, w.b, 0, 64);
	fabric_flush(w.f[1]);
	world_send(&w, 0, w.a, 0, 64);
	while (memnet_step(w.net, NSEC_NEVER))
		;
	assert_int_equal(memnet_step(w.net, NSEC_NEVER), 0);
	world_pump(&w); /* flushes, too, but delivers nothing itself */
	assert_int_equal(w.completed[1], 0);
	world_run(&w);
	assert_int_equal(w.completed[1], 1);
	fabric_disconnect(w.a);
	while (memnet_step(w.net, NSEC_NEVER))
		;
	assert_false(w.gone[0]);
	world_run(&w);
	assert_true(w.gone[0] && w.gone[1]);
	world_stop(&w);
}

/* Under AddressSanitizer nobody may even look. */
static void poisons_posted_memory(void **state)
{
#if !HAS_ASAN
	static struct world w;

	world_start(&w, &world_quiet);
	world_join(&w);
	world_recv(&w, 1, w.b, 0, 64);
	for (int i = 0; i < 64; i++)
		assert_int_equal(w.mem[1][i], MEMNET_POISON);
	world_pump(&w);
	world_send(&w, 0, w.a, 0, 10);
	world_run(&w);
	assert_int_equal(w.mem[1][9], 0);
	assert_int_equal(w.mem[1][10], MEMNET_POISON);
	world_stop(&w);
#endif
	(void)state;
}

static void time_moves_only_in_steps(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w, &world_quiet);
	assert_int_equal(memnet_now(w.net), 0);
	assert_int_equal(memnet_step(w.net, 5), 0);
	assert_int_equal(memnet_now(w.net), 5);
	assert_int_equal(world_connect(&w), 0);
	assert_int_equal(memnet_step(w.net, 6), 0);
	assert_int_equal(memnet_now(w.net), 6);
	assert_int_equal(memnet_step(w.net, NSEC_NEVER), 1);
	assert_in_range(memnet_now(w.net), 15, 1005);
	assert_true(fabric_deadline(w.f[0]) == NSEC_NEVER);
	world_run(&w);
	world_stop(&w);
}

static void a_seed_repeats_exactly(void **state)
{
	static struct world w;
	uint64_t first, second;

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct memnet_config cfg = world_quiet;

		cfg.seed = seed;
		world_start(&w, &cfg);
		world_life(&w);
		first = w.trace;
		world_stop(&w);
		world_start(&w, &cfg);
		world_life(&w);
		assert_int_equal(w.trace, first);
		world_stop(&w);
		cfg.seed += 1000;
		world_start(&w, &cfg);
		world_life(&w);
		second = w.trace;
		world_stop(&w);
		assert_int_not_equal(first, second);
	}
}

static void allocates_nothing_in_steady_state(void **state)
{
	static struct world w;
	uint64_t before;

	(void)state;
	world_start(&w, &world_quiet);
	world_join(&w);
	before = mem_allocs();
	for (int round = 0; round < 100; round++) {
		struct segment seg;

		world_recv(&w, 1, w.b, 0, 64);
		assert_int_equal(
			fabric_expose(w.a, w.mem[0] + 4096, 4096, FABRIC_REMOTE_READ, &seg), 0);
		w.posted[1] += fabric_read(w.b, w.mem[1] + 4096, &seg, NULL) == 0;
		world_pump(&w);
		world_send(&w, 0, w.a, 0, 64);
		world_run(&w);
		w.posted[0] += fabric_withdraw(w.a, seg.handle, NULL, NULL) == 0;
		world_run(&w);
		assert_int_equal(w.completed[0], w.posted[0]);
		assert_int_equal(w.completed[1], w.posted[1]);
	}
	assert_int_equal(mem_allocs(), before);
	world_stop(&w);
}

static void usage_shows_leaks(void **state)
{
	static struct world w;
	struct memnet_usage u;
	struct segment seg;

	(void)state;
	world_start(&w, &world_quiet);
	world_join(&w);
	world_recv(&w, 0, w.a, 0, 64);
	assert_int_equal(fabric_expose(w.b, w.mem[1], 4096, FABRIC_REMOTE_READ, &seg), 0);
	memnet_usage(w.net, &u);
	assert_int_equal(u.conns, 2);
	assert_int_equal(u.posted, 1);
	assert_int_equal(u.exposures, 1);
	assert_int_equal(u.exposed_bytes, 4096);
	memnet_cut(w.a);
	memnet_usage(w.net, &u);
	assert_int_equal(u.exposures, 0);
	world_run(&w);
	assert_int_equal(w.status[0], ERR_CLOSED);
	assert_int_equal(w.status[1], ERR_CLOSED);
	memnet_usage(w.net, &u);
	assert_int_equal(u.posted, 0);
	assert_int_equal(u.conns, 2);
	world_stop(&w);
}

/* The peer's answer can be there before the Send it answers is reported done. */
static void completions_come_in_any_order(void **state)
{
	static struct world w;
	bool send_first = false, recv_first = false;

	(void)state;
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct memnet_config cfg = {.seed = seed, .latency_min = 10, .latency_max = 1000};
		struct fabric_event ev;
		bool first = true;

		world_start(&w, &cfg);
		world_join(&w);
		world_recv(&w, 0, w.a, 0, 64);
		world_recv(&w, 1, w.b, 0, 64);
		world_pump(&w);
		world_send(&w, 0, w.a, 64, 64);
		do {
			fabric_flush(w.f[0]);
			fabric_flush(w.f[1]);
			while (fabric_poll(w.f[0], &ev)) {
				send_first |= first && ev.type == FABRIC_EV_SEND;
				recv_first |= first && ev.type == FABRIC_EV_RECV;
				first = false;
			}
			while (fabric_poll(w.f[1], &ev))
				if (ev.type == FABRIC_EV_RECV)
					world_send(&w, 1, w.b, 64, 64);
			fabric_flush(w.f[1]);
		} while (memnet_step(w.net, NSEC_NEVER));
		world_stop(&w);
	}
	assert_true(send_first);
	assert_true(recv_first);
}

/* One Write was seen and is reported; more arrives while the stream is being withdrawn. Return: the
 * event that ends the withdrawal, or an event of no type: it was withdrawn at once. */
static struct fabric_event withdrawn_with_a_write_under_way(uint64_t seed)
{
	static struct world w;
	struct memnet_config cfg = {.seed = seed, .latency_min = 10, .latency_max = 1000};
	const struct fabric_piece window = {w.mem[1], 4096};
	const struct fabric_sge first = {w.mem[0], 100}, more = {w.mem[0], 1000};
	struct fabric_event ev, end = {0};
	struct segment seg;
	bool waits;

	world_start(&w, &cfg);
	world_join(&w);
	assert_int_equal(fabric_stream(w.b, &window, 8192, NULL, &seg), 0);
	assert_int_equal(fabric_write(w.a, &first, 1, &seg, NULL), 0);
	do {
		fabric_flush(w.f[0]);
		while (fabric_poll(w.f[0], &ev))
			;
	} while (memnet_step(w.net, NSEC_NEVER));
	assert_int_equal(fabric_poll(w.f[1], &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_PLACED);
	seg.offset += 100;
	assert_int_equal(fabric_write(w.a, &more, 1, &seg, NULL), 0);
	fabric_flush(w.f[0]);
	waits = fabric_withdraw(w.b, seg.handle, NULL, &end.written) == 0;
	do {
		fabric_flush(w.f[1]);
		while (fabric_poll(w.f[1], &ev)) {
			assert_int_not_equal(ev.type, FABRIC_EV_PLACED);
			if (ev.type == FABRIC_EV_WITHDRAWN)
				end = ev;
		}
		while (fabric_poll(w.f[0], &ev))
			;
	} while (memnet_step(w.net, NSEC_NEVER));
	assert_int_equal(end.type == FABRIC_EV_WITHDRAWN, waits);
	assert_int_equal(end.written, 100);
	world_stop(&w);
	return end;
}

/* After a withdrawal nothing more is reported or counted. */
static void nothing_comes_while_it_is_withdrawn(void **state)
{
	unsigned waited = 0;

	(void)state;
	for (uint64_t seed = 1; seed < 60; seed++)
		waited += withdrawn_with_a_write_under_way(seed).type == FABRIC_EV_WITHDRAWN;
	assert_true(waited > 0);
}

static void shares_a_listener(void **state)
{
	struct memnet *net = memnet_new(&world_quiet);
	struct fabric *f[3];
	struct fabric_listener *l;
	struct fabric_addr addr;
	struct fabric_conn_params p = world_params();
	struct fabric_conn *c[20];
	int got[3] = {0, 0, 0};
	struct fabric_event ev;

	(void)state;
	assert_int_equal(fabric_addr_parse("10.1.2.3", 1, &addr), 0);
	l = memnet_listen(net, &addr);
	assert_null(memnet_listen(net, &addr));
	for (int i = 0; i < 3; i++) {
		f[i] = memnet_fabric(net);
		if (i)
			assert_int_equal(fabric_attach(f[i], l, &got[i]), 0);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(fabric_connect(f[0], &addr, &p, NULL, &c[i]), 0);
	while (memnet_step(net, NSEC_NEVER))
		;
	for (int i = 1; i < 3; i++)
		while (fabric_poll(f[i], &ev)) {
			assert_int_equal(ev.type, FABRIC_EV_REQUEST);
			assert_ptr_equal(ev.conn->owner, &got[i]);
			got[i]++;
			fabric_reject(ev.conn, view_of(NULL, 0));
		}
	assert_true(got[1] > 2 && got[2] > 2);
	assert_int_equal(got[1] + got[2], 20);
	for (int i = 0; i < 20; i++)
		fabric_destroy(c[i]);
	for (int i = 1; i < 3; i++)
		fabric_detach(f[i], l);
	for (int i = 0; i < 3; i++)
		fabric_free(f[i]);
	memnet_listener_free(l);
	memnet_free(net);
	assert_int_equal(mem_live(), 0);
}

/* Our own bugs stop the program: run each in a child and see it die. */
static void dies(void (*bug)(struct world *))
{
	static struct world w;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		world_start(&w, &world_quiet);
		world_join(&w);
		bug(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void bug_unregistered(struct world *w)
{
	world_send(w, 0, w->a, WORLD_ARENA - 10, 11);
}

static void bug_unregistered_recv(struct world *w)
{
	fabric_post_recv(w->a, w->mem[1], 10, NULL);
}

static void bug_changed_while_owned(struct world *w)
{
	world_recv(w, 1, w->b, 0, 64);
	world_send(w, 0, w->a, 0, 64);
	w->mem[0][3] ^= 1;
	world_run(w);
}

static void bug_unregister_in_use(struct world *w)
{
	world_recv(w, 1, w->b, 0, 64);
	fabric_unregister(w->f[1], w->mem[1]);
}

static void bug_unregister_exposed(struct world *w)
{
	struct segment seg;

	if (fabric_expose(w->b, w->mem[1], 10, FABRIC_REMOTE_READ, &seg) == 0)
		fabric_unregister(w->f[1], w->mem[1]);
}

static void bug_freed_with_connections(struct world *w)
{
	fabric_free(w->f[0]);
}

static void bug_send_before_connected(struct world *w)
{
	struct fabric_conn_params p = world_params();
	struct fabric_sge sge = {w->mem[0], 1};
	struct fabric_conn *c;

	if (fabric_connect(w->f[0], &w->addr, &p, NULL, &c) == 0 &&
	    fabric_send(c, &sge, 1, 0, NULL) == 0)
		world_run(w);
}

static void own_bugs_are_asserted(void **state)
{
	(void)state;
	dies(bug_unregistered);
	dies(bug_unregistered_recv);
	dies(bug_changed_while_owned);
	dies(bug_unregister_in_use);
	dies(bug_unregister_exposed);
	dies(bug_freed_with_connections);
	dies(bug_send_before_connected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_a_flush),
		cmocka_unit_test(poisons_posted_memory),
		cmocka_unit_test(time_moves_only_in_steps),
		cmocka_unit_test(a_seed_repeats_exactly),
		cmocka_unit_test(allocates_nothing_in_steady_state),
		cmocka_unit_test(usage_shows_leaks),
		cmocka_unit_test(completions_come_in_any_order),
		cmocka_unit_test(nothing_comes_while_it_is_withdrawn),
		cmocka_unit_test(shares_a_listener),
		cmocka_unit_test(own_bugs_are_asserted),
	};
	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
