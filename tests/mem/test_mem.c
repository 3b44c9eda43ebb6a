/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "fabric/mem/mem.h"
#include "tests/rng.h"

/* What fabric/mem does beyond the contract: time, faults, strictness. */

enum { ARENA = 1 << 20, DEPTH = 32 };

struct world {
	struct memnet *net;
	struct fabric *f[2];
	struct fabric_listener *l;
	struct fabric_addr addr;
	uint8_t mem[2][ARENA];
	struct fabric_conn *a, *b;
	bool connected[2], gone[2];
	int status[2];
	unsigned posted[2], completed[2], flushed[2];
	int expose_failures, post_failures;
	uint64_t trace; /* hash of all events, in order */
	bool hold;	/* leave requests unanswered */
};

static struct fabric_conn_params params(void)
{
	return (struct fabric_conn_params){
		.max_recvs = DEPTH, .max_sends = DEPTH, .max_exposures = DEPTH};
}

static void start(struct world *w, const struct memnet_config *cfg)
{
	memset(w, 0, sizeof(*w));
	w->net = memnet_new(cfg);
	assert_non_null(w->net);
	assert_int_equal(fabric_addr_parse("::1", 20049, &w->addr), 0);
	for (int i = 0; i < 2; i++) {
		w->f[i] = memnet_fabric(w->net);
		assert_int_equal(fabric_register(w->f[i], w->mem[i], ARENA), 0);
	}
	w->l = memnet_listen(w->net, &w->addr);
	assert_int_equal(fabric_attach(w->f[1], w->l, NULL), 0);
}

static void stop(struct world *w)
{
	struct memnet_usage usage;

	if (w->a)
		fabric_destroy(w->a);
	if (w->b)
		fabric_destroy(w->b);
	fabric_detach(w->f[1], w->l);
	memnet_usage(w->net, &usage);
	assert_int_equal(usage.conns + usage.posted + usage.exposures + usage.exposed_bytes, 0);
	fabric_free(w->f[0]);
	fabric_free(w->f[1]);
	memnet_listener_free(w->l);
	memnet_free(w->net);
	assert_int_equal(mem_live(), 0);
}

static void on_request(struct world *w, struct fabric_conn *c)
{
	struct fabric_conn_params p = params();

	w->b = c;
	if (w->hold)
		return;
	if (fabric_accept(c, &p, NULL) == 0)
		return;
	fabric_reject(c, view_of("no memory", 9));
	w->b = NULL;
}

static void on_event(struct world *w, int side, const struct fabric_event *ev)
{
	w->trace = (w->trace ^ (uint64_t)ev->type ^ (uint64_t)side << 8 ^ ev->len ^
		    (uint64_t)(uint32_t)ev->status << 32 ^ memnet_now(w->net)) *
		   0x9e3779b97f4a7c15u;
	assert_false(w->gone[side]);
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		on_request(w, ev->conn);
		break;
	case FABRIC_EV_CONNECTED:
		w->connected[side] = true;
		break;
	case FABRIC_EV_DISCONNECTED:
		w->gone[side] = true;
		w->status[side] = ev->status;
		assert_int_equal(w->completed[side], w->posted[side]);
		break;
	default:
		w->completed[side]++;
		w->flushed[side] += ev->status == ERR_FLUSHED;
	}
}

static void pump(struct world *w)
{
	struct fabric_event ev;

	for (int i = 0; i < 2; i++) {
		fabric_flush(w->f[i]);
		while (fabric_poll(w->f[i], &ev))
			on_event(w, i, &ev);
	}
	fabric_flush(w->f[0]);
	fabric_flush(w->f[1]);
}

static void run(struct world *w)
{
	do
		pump(w);
	while (memnet_step(w->net, NSEC_NEVER));
	pump(w);
}

static int connect_side(struct world *w)
{
	struct fabric_conn_params p = params();

	return fabric_connect(w->f[0], &w->addr, &p, NULL, &w->a);
}

static void join(struct world *w)
{
	assert_int_equal(connect_side(w), 0);
	run(w);
	assert_true(w->connected[0] && w->connected[1]);
}

static void recv_at(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len)
{
	if (fabric_post_recv(c, w->mem[side] + off, len, NULL) == 0)
		w->posted[side]++;
}

static void send_at(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len)
{
	struct fabric_sge sge = {w->mem[side] + off, len};
	int err = fabric_send(c, &sge, 1, 0, 0, NULL);

	w->posted[side] += err == 0;
	w->post_failures += err == ERR_AGAIN;
}

/* A connection's life with some of everything, whatever may fail on the way. */
static void life(struct world *w)
{
	struct segment r, s;
	struct fabric_sge sge = {w->mem[1] + 4096, 5000};
	int err;

	if (connect_side(w))
		return;
	run(w);
	if (!w->connected[0] || !w->connected[1])
		return;
	for (unsigned i = 0; i < 6; i++) {
		recv_at(w, 0, w->a, i * 64, 64);
		recv_at(w, 1, w->b, i * 64, 64);
	}
	pump(w);
	err = fabric_expose(w->a, w->mem[0] + 65536, 5000, FABRIC_REMOTE_READ, &r);
	w->expose_failures += err == ERR_AGAIN;
	if (err == 0 && fabric_read(w->b, w->mem[1] + 32768, &r, NULL) == 0)
		w->posted[1]++;
	err = fabric_expose(w->a, w->mem[0] + 131072, 5000, FABRIC_REMOTE_WRITE, &s);
	w->expose_failures += err == ERR_AGAIN;
	if (err == 0 && fabric_write(w->b, &sge, 1, &s, NULL) == 0)
		w->posted[1]++;
	for (unsigned i = 0; i < 5; i++) {
		send_at(w, 0, w->a, 1024, i);
		send_at(w, 1, w->b, 1024, i);
	}
	run(w);
	if (!w->gone[0] && w->a->handles_live)
		w->posted[0] += fabric_withdraw(w->a, r.handle, NULL) == 0;
	run(w);
	fabric_disconnect(w->a);
	run(w);
}

static const struct memnet_config quiet = {.seed = 1, .latency_min = 10, .latency_max = 1000};

static void needs_a_flush(void **state)
{
	static struct world w;

	(void)state;
	start(&w, &quiet);
	join(&w);
	recv_at(&w, 1, w.b, 0, 64);
	fabric_flush(w.f[1]);
	send_at(&w, 0, w.a, 0, 64);
	while (memnet_step(w.net, NSEC_NEVER))
		;
	assert_int_equal(memnet_step(w.net, NSEC_NEVER), 0);
	pump(&w); /* flushes, too, but delivers nothing itself */
	assert_int_equal(w.completed[1], 0);
	run(&w);
	assert_int_equal(w.completed[1], 1);
	fabric_disconnect(w.a);
	while (memnet_step(w.net, NSEC_NEVER))
		;
	assert_false(w.gone[0]);
	run(&w);
	assert_true(w.gone[0] && w.gone[1]);
	stop(&w);
}

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

/* Under AddressSanitizer nobody may even look. */
static void poisons_posted_memory(void **state)
{
#ifndef HAS_ASAN
	static struct world w;

	start(&w, &quiet);
	join(&w);
	recv_at(&w, 1, w.b, 0, 64);
	for (int i = 0; i < 64; i++)
		assert_int_equal(w.mem[1][i], MEMNET_POISON);
	pump(&w);
	send_at(&w, 0, w.a, 0, 10);
	run(&w);
	assert_int_equal(w.mem[1][9], 0);
	assert_int_equal(w.mem[1][10], MEMNET_POISON);
	stop(&w);
#endif
	(void)state;
}

static void time_moves_only_in_steps(void **state)
{
	static struct world w;

	(void)state;
	start(&w, &quiet);
	assert_int_equal(memnet_now(w.net), 0);
	assert_int_equal(memnet_step(w.net, 5), 0);
	assert_int_equal(memnet_now(w.net), 5);
	assert_int_equal(connect_side(&w), 0);
	assert_int_equal(memnet_step(w.net, 6), 0);
	assert_int_equal(memnet_now(w.net), 6);
	assert_int_equal(memnet_step(w.net, NSEC_NEVER), 1);
	assert_in_range(memnet_now(w.net), 15, 1005);
	assert_true(fabric_deadline(w.f[0]) == NSEC_NEVER);
	run(&w);
	stop(&w);
}

static void a_seed_repeats_exactly(void **state)
{
	static struct world w;
	uint64_t first, second;

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct memnet_config cfg = quiet;

		cfg.seed = seed;
		start(&w, &cfg);
		life(&w);
		first = w.trace;
		stop(&w);
		start(&w, &cfg);
		life(&w);
		assert_int_equal(w.trace, first);
		stop(&w);
		cfg.seed += 1000;
		start(&w, &cfg);
		life(&w);
		second = w.trace;
		stop(&w);
		assert_int_not_equal(first, second);
	}
}

static uint64_t undisturbed_ops(uint64_t seed)
{
	static struct world w;
	struct memnet_config cfg = quiet;
	uint64_t ops;

	cfg.seed = seed;
	start(&w, &cfg);
	life(&w);
	assert_true(w.gone[0] && w.gone[1]);
	ops = memnet_ops(w.net);
	stop(&w);
	return ops;
}

static void cut_at_every_step(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct memnet_config cfg = quiet;
		uint64_t ops = undisturbed_ops(seed), cut = 0;

		cfg.seed = seed;
		cfg.fault = MEMNET_CUT;
		for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
			start(&w, &cfg);
			life(&w);
			assert_true(w.gone[0]);
			assert_true(w.gone[1] || !w.b);
			cut += w.status[0] != 0;
			stop(&w);
		}
		assert_true(cut + 4 >= ops);
	}
}

static void vanish_at_every_step(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct memnet_config cfg = quiet;
		uint64_t ops = undisturbed_ops(seed);

		cfg.seed = seed;
		cfg.fault = MEMNET_VANISH;
		for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
			start(&w, &cfg);
			life(&w);
			/* Nobody was told; each can end its own side, in bounded time. */
			fabric_disconnect(w.a);
			if (w.b)
				fabric_disconnect(w.b);
			run(&w);
			assert_true(w.gone[0]);
			assert_true(w.gone[1] || !w.b);
			assert_true(memnet_now(w.net) < 20 * NSEC_PER_SEC);
			stop(&w);
		}
	}
}

static void stall_at_every_step(void **state)
{
	static struct world w;
	struct memnet_config cfg = quiet;
	uint64_t ops = undisturbed_ops(1);

	(void)state;
	cfg.fault = MEMNET_STALL;
	cfg.fault_delay = NSEC_PER_SEC;
	for (cfg.fault_at = 1; cfg.fault_at <= ops; cfg.fault_at++) {
		start(&w, &cfg);
		life(&w);
		assert_true(w.gone[0] && w.gone[1]);
		assert_int_equal(w.status[0], 0);
		assert_int_equal(w.status[1], 0);
		stop(&w);
	}
}

static void refuses_on_order(void **state)
{
	static struct world w;
	struct memnet_config cfg = quiet;

	(void)state;
	cfg.fault = MEMNET_REFUSE;
	cfg.fault_at = 2;
	start(&w, &cfg);
	join(&w);
	fabric_destroy(w.a);
	fabric_destroy(w.b);
	w.a = w.b = NULL;
	assert_int_equal(connect_side(&w), 0);
	run(&w);
	assert_true(w.gone[0]);
	assert_int_equal(w.status[0], ERR_REFUSED);
	stop(&w);
}

static void posts_and_exposes_fail_on_order(void **state)
{
	static struct world w;
	struct memnet_config cfg = quiet;

	(void)state;
	for (cfg.fault_at = 1; cfg.fault_at <= 2; cfg.fault_at++) {
		cfg.fault = MEMNET_EXPOSE_FAIL;
		start(&w, &cfg);
		life(&w);
		assert_int_equal(w.expose_failures, 1);
		stop(&w);
		cfg.fault = MEMNET_POST_FAIL;
		cfg.fault_at += 4;
		start(&w, &cfg);
		life(&w);
		assert_int_equal(w.post_failures, 1);
		stop(&w);
		cfg.fault_at -= 4;
	}
}

static void every_allocation_may_fail(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t n = 1; n < 12; n++) {
		start(&w, &quiet);
		mem_fail_at(n);
		life(&w);
		mem_fail_at(0);
		if (w.a)
			assert_true(w.gone[0]);
		stop(&w);
	}
}

static void allocates_nothing_in_steady_state(void **state)
{
	static struct world w;
	uint64_t before;

	(void)state;
	start(&w, &quiet);
	join(&w);
	before = mem_allocs();
	for (int round = 0; round < 100; round++) {
		struct segment seg;

		recv_at(&w, 1, w.b, 0, 64);
		assert_int_equal(
			fabric_expose(w.a, w.mem[0] + 4096, 4096, FABRIC_REMOTE_READ, &seg), 0);
		w.posted[1] += fabric_read(w.b, w.mem[1] + 4096, &seg, NULL) == 0;
		pump(&w);
		send_at(&w, 0, w.a, 0, 64);
		run(&w);
		w.posted[0] += fabric_withdraw(w.a, seg.handle, NULL) == 0;
		run(&w);
		assert_int_equal(w.completed[0], w.posted[0]);
		assert_int_equal(w.completed[1], w.posted[1]);
	}
	assert_int_equal(mem_allocs(), before);
	stop(&w);
}

static void usage_shows_leaks(void **state)
{
	static struct world w;
	struct memnet_usage u;
	struct segment seg;

	(void)state;
	start(&w, &quiet);
	join(&w);
	recv_at(&w, 0, w.a, 0, 64);
	assert_int_equal(fabric_expose(w.b, w.mem[1], 4096, FABRIC_REMOTE_READ, &seg), 0);
	memnet_usage(w.net, &u);
	assert_int_equal(u.conns, 2);
	assert_int_equal(u.posted, 1);
	assert_int_equal(u.exposures, 1);
	assert_int_equal(u.exposed_bytes, 4096);
	memnet_cut(w.a);
	memnet_usage(w.net, &u);
	assert_int_equal(u.exposures, 0);
	run(&w);
	assert_int_equal(w.status[0], ERR_CLOSED);
	assert_int_equal(w.status[1], ERR_CLOSED);
	memnet_usage(w.net, &u);
	assert_int_equal(u.posted, 0);
	assert_int_equal(u.conns, 2);
	stop(&w);
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

		start(&w, &cfg);
		join(&w);
		recv_at(&w, 0, w.a, 0, 64);
		recv_at(&w, 1, w.b, 0, 64);
		pump(&w);
		send_at(&w, 0, w.a, 64, 64);
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
					send_at(&w, 1, w.b, 64, 64);
			fabric_flush(w.f[1]);
		} while (memnet_step(w.net, NSEC_NEVER));
		stop(&w);
	}
	assert_true(send_first);
	assert_true(recv_first);
}

static void shares_a_listener(void **state)
{
	struct memnet *net = memnet_new(&quiet);
	struct fabric *f[3];
	struct fabric_listener *l;
	struct fabric_addr addr;
	struct fabric_conn_params p = params();
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
		start(&w, &quiet);
		join(&w);
		bug(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void bug_unregistered(struct world *w)
{
	send_at(w, 0, w->a, ARENA - 10, 11);
}

static void bug_unregistered_recv(struct world *w)
{
	fabric_post_recv(w->a, w->mem[1], 10, NULL);
}

static void bug_changed_while_owned(struct world *w)
{
	recv_at(w, 1, w->b, 0, 64);
	send_at(w, 0, w->a, 0, 64);
	w->mem[0][3] ^= 1;
	run(w);
}

static void bug_unregister_in_use(struct world *w)
{
	recv_at(w, 1, w->b, 0, 64);
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
	struct fabric_conn_params p = params();
	struct fabric_sge sge = {w->mem[0], 1};
	struct fabric_conn *c;

	if (fabric_connect(w->f[0], &w->addr, &p, NULL, &c) == 0 &&
	    fabric_send(c, &sge, 1, 0, 0, NULL) == 0)
		run(w);
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
		cmocka_unit_test(cut_at_every_step),
		cmocka_unit_test(vanish_at_every_step),
		cmocka_unit_test(stall_at_every_step),
		cmocka_unit_test(refuses_on_order),
		cmocka_unit_test(posts_and_exposes_fail_on_order),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(allocates_nothing_in_steady_state),
		cmocka_unit_test(usage_shows_leaks),
		cmocka_unit_test(completions_come_in_any_order),
		cmocka_unit_test(shares_a_listener),
		cmocka_unit_test(own_bugs_are_asserted),
	};
	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
