/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/mem/world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

/* Shared Receives of fabric/mem beyond the contract. Side 1 shares, side 0 does not. */

static const struct memnet_config sharing = {.seed = 1,
					     .latency_min = 10,
					     .latency_max = 1000,
					     .shares_receives = true,
					     .shared_least = 4,
					     .shared_most = 16};

enum { LEN = 64 };

static void start(struct world *w)
{
	world_start(w, &sharing);
	assert_int_equal(fabric_share_receives(w->f[1], LEN, w), 0);
	world_join(w);
}

static void stop(struct world *w)
{
	if (w->b)
		fabric_destroy(w->b);
	w->b = NULL;
	fabric_unshare_receives(w->f[1]);
	world_stop(w);
}

static void post(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(fabric_post_shared(w->f[1], w->mem[1] + (size_t)i * LEN, NULL), 0);
}

static void say(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		world_send(w, 0, w->a, 0, LEN);
}

static void only_where_configured(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w, &world_quiet);
	assert_int_equal(fabric_share_receives(w.f[1], LEN, &w), ERR_CONFIG);
	assert_null(w.f[1]->receives);
	world_life(&w);
	world_stop(&w);
}

static void without_memory(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w, &sharing);
	mem_fail_at(1);
	assert_int_equal(fabric_share_receives(w.f[1], LEN, &w), ERR_NOMEM);
	mem_fail_at(0);
	assert_null(w.f[1]->receives);
	world_life(&w);
	world_stop(&w);
}

static void need_a_flush(void **state)
{
	static struct world w;

	(void)state;
	start(&w);
	say(&w, 2);
	world_run(&w);
	assert_int_equal(w.messages, 0);
	post(&w, 2);
	while (memnet_step(w.net, NSEC_NEVER))
		;
	world_pump(&w);
	assert_int_equal(w.messages, 0);
	world_run(&w);
	assert_int_equal(w.messages, 2);
	assert_int_equal(w.completed[0], 2);
	stop(&w);
}

static void a_full_queue_says_so(void **state)
{
	static struct world w;
	struct memnet_usage usage;
	uint64_t before;

	(void)state;
	start(&w);
	before = mem_allocs();
	for (int round = 0; round < 3; round++) {
		post(&w, 16);
		assert_int_equal(fabric_post_shared(w.f[1], w.mem[1], NULL), ERR_AGAIN);
		memnet_usage(w.net, &usage);
		assert_int_equal(usage.shared, 16);
		assert_int_equal(usage.posted, 0);
		say(&w, 16);
		world_run(&w);
	}
	assert_int_equal(w.messages, 48);
	assert_int_equal(mem_allocs(), before);
	memnet_usage(w.net, &usage);
	assert_int_equal(usage.shared, 0);
	stop(&w);
}

static void come_back_with_their_device(void **state)
{
	static struct world w;

	(void)state;
	start(&w);
	post(&w, 4);
	world_pump(&w);
	say(&w, 1);
	world_run(&w);
	post(&w, 1); /* and one that no flush has seen */
	memnet_flush_shared(w.f[1]);
	world_run(&w);
	assert_int_equal(w.returned, 4);
	assert_int_equal(w.messages, 1);
	assert_int_equal(fabric_receives_wanted(w.f[1]), 4);
	say(&w, 1);
	world_run(&w);
	post(&w, 1);
	world_run(&w);
	assert_int_equal(w.messages, 2);
	stop(&w);
}

static void quiet(struct world *w, unsigned seconds)
{
	while (seconds--) {
		while (memnet_step(w->net, memnet_now(w->net) + NSEC_PER_SEC))
			;
		world_pump(w);
	}
}

static void wants_less_after_quiet_seconds(void **state)
{
	static struct world w;

	(void)state;
	start(&w);
	assert_int_equal(fabric_receives_wanted(w.f[1]), 4);
	for (unsigned i = 1; i <= 3; i++) {
		say(&w, 1);
		world_run(&w);
		assert_int_equal(fabric_receives_wanted(w.f[1]), i == 1 ? 8 : 16);
		post(&w, 1);
		world_run(&w);
	}
	assert_int_equal(w.messages, 3);
	post(&w, 16);
	quiet(&w, 10);
	memnet_flush_shared(w.f[1]);
	world_run(&w);
	assert_int_equal(w.returned, 16);
	assert_int_equal(fabric_receives_wanted(w.f[1]), 4);
	stop(&w);
}

/* The disconnect completes then, and not only when its time limit is over. */
static void a_disconnect_follows_what_waited(void **state)
{
	static struct world w;
	nsec_t since;

	(void)state;
	start(&w);
	say(&w, 1);
	world_run(&w);
	since = memnet_now(w.net);
	fabric_disconnect(w.a);
	world_pump(&w);
	assert_int_equal(memnet_step(w.net, NSEC_NEVER), 1);
	post(&w, 1);
	world_run(&w);
	assert_int_equal(w.messages, 1);
	assert_true(w.gone[0] && w.gone[1]);
	assert_int_equal(w.status[0], 0);
	assert_true(memnet_now(w.net) - since < NSEC_PER_SEC);
	stop(&w);
}

/* A connection that waits and cannot be reached is passed over. */
static void the_vanished_do_not_hold_up_others(void **state)
{
	static struct world w;
	struct fabric_conn *device_removal_a, *device_removal_b;

	(void)state;
	start(&w);
	say(&w, 1);
	world_run(&w);
	device_removal_a = w.a;
	device_removal_b = w.b;
	memnet_vanish(device_removal_a);
	w.connected[0] = w.connected[1] = false;
	world_join(&w);
	say(&w, 1);
	world_run(&w);
	post(&w, 1);
	world_run(&w);
	assert_int_equal(w.messages, 1);
	assert_int_equal(w.completed[0], 1);
	fabric_destroy(device_removal_a);
	fabric_destroy(device_removal_b);
	stop(&w);
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
		start(&w);
		post(&w, 2);
		world_pump(&w);
		bug(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void bug_receive_of_one_connection(struct world *w)
{
	world_recv(w, 1, w->b, 0, LEN);
}

static void bug_unregistered(struct world *w)
{
	if (fabric_post_shared(w->f[1], w->mem[0], NULL) == 0)
		world_pump(w);
}

static void bug_unregister_in_use(struct world *w)
{
	fabric_unregister(w->f[1], w->mem[1]);
}

static void bug_unshared_with_connections(struct world *w)
{
	fabric_unshare_receives(w->f[1]);
}

static void bug_freed_while_shared(struct world *w)
{
	fabric_destroy(w->b);
	fabric_detach(w->f[1], w->l);
	world_pump(w);
	fabric_free(w->f[1]);
}

static void bug_shared_too_late(struct world *w)
{
	if (fabric_share_receives(w->f[0], LEN, w) == 0)
		world_pump(w);
}

static void own_bugs_are_asserted(void **state)
{
	(void)state;
	dies(bug_receive_of_one_connection);
	dies(bug_unregistered);
	dies(bug_unregister_in_use);
	dies(bug_unshared_with_connections);
	dies(bug_freed_while_shared);
	dies(bug_shared_too_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_where_configured),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(need_a_flush),
		cmocka_unit_test(a_full_queue_says_so),
		cmocka_unit_test(come_back_with_their_device),
		cmocka_unit_test(wants_less_after_quiet_seconds),
		cmocka_unit_test(a_disconnect_follows_what_waited),
		cmocka_unit_test(the_vanished_do_not_hold_up_others),
		cmocka_unit_test(own_bugs_are_asserted),
	};
	return cmocka_run_group_tests_name("mem, shared Receives", tests, NULL, NULL);
}
