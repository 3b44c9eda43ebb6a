/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "daemon/loop.h"
#include "daemon/loop_polling.h"

/* Timers that the kernel was asked for: by timerfds, and by waits with a time-out. */
static unsigned timers_set;

/* In place of libc's, for libevent too. */
int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	timers_set += timeout > 0;
	return (int)syscall(SYS_epoll_pwait, fd, events, most, timeout, NULL, (size_t)8);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	timers_set++;
	return (int)syscall(SYS_timerfd_settime, fd, flags, when, before);
}

struct probe {
	struct loop_watch watch;
	struct loop *loop;
	int fd;
	unsigned events, calls;
	struct probe *victim; /* deleted when this one is called */
};

static void on_ready(struct loop_watch *watch, unsigned events)
{
	struct probe *p = container_of(watch, struct probe, watch);

	p->events |= events;
	p->calls++;
	if (p->victim)
		p->loop->ops->del(p->loop, &p->victim->watch);
}

static void probe_add(struct probe *p, struct loop *loop, int fd, unsigned events, int edge)
{
	*p = (struct probe){.watch.ready = on_ready, .loop = loop, .fd = fd};
	assert_int_equal(loop->ops->add(loop, &p->watch, fd, events, edge), 0);
}

static void make_pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
}

static void close_pair(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* All is the same where a loop looks before it sleeps, for so long; 0: it does not. */
static nsec_t looks_for;

/* Let events come soon so often that the loop busy-polls. */
static void make_patient(struct loop *loop)
{
	loop_poll_first(loop, looks_for);
	for (unsigned i = 0; i < POLLING_BLOCK + 30; i++) {
		loop_wake(loop);
		assert_int_equal(loop_run_once(loop, NSEC_NEVER), 0);
	}
}

static struct loop *loop_must(void)
{
	struct loop *loop = loop_new();

	assert_non_null(loop);
	if (looks_for)
		make_patient(loop);
	return loop;
}

static void edge_is_reported_once(void **state)
{
	struct loop *loop = loop_must();
	struct probe p;
	int fd[2];

	(void)state;
	make_pair(fd);
	probe_add(&p, loop, fd[0], LOOP_READ | LOOP_WRITE, 1);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(p.events, LOOP_WRITE);
	p.events = p.calls = 0;
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_true(p.events & LOOP_READ);
	assert_int_equal(p.calls, 1);
	/* Not read: an edge is not repeated. */
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(p.calls, 1);
	loop->ops->del(loop, &p.watch);
	close_pair(fd);
	loop_free(loop);
}

static void level_is_reported_until_read(void **state)
{
	struct loop *loop = loop_must();
	struct probe p;
	int fd[2];

	(void)state;
	make_pair(fd);
	probe_add(&p, loop, fd[0], LOOP_READ, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(loop_run_once(loop, 0), 0);
		assert_int_equal(p.calls, i);
	}
	loop->ops->del(loop, &p.watch);
	loop->ops->del(loop, &p.watch); /* harmless */
	close_pair(fd);
	loop_free(loop);
}

/* Both are ready in one batch; whichever runs first deletes the other for good. */
static void deleted_watch_is_not_called(void **state)
{
	struct loop *loop = loop_must();
	struct probe p, q;
	int fd[2];

	(void)state;
	make_pair(fd);
	probe_add(&p, loop, fd[0], LOOP_WRITE, 1);
	probe_add(&q, loop, fd[1], LOOP_WRITE, 1);
	p.victim = &q;
	q.victim = &p;
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(p.calls + q.calls, 1);
	loop->ops->del(loop, &p.watch);
	loop->ops->del(loop, &q.watch);
	close_pair(fd);
	loop_free(loop);
}

static void deadline_ends_the_wait(void **state)
{
	struct loop *loop = loop_must();
	nsec_t start = loop_now(), end, first = start + 30 * NSEC_PER_MS;

	(void)state;
	do
		assert_int_equal(loop_run_once(loop, first), 0);
	while (loop_now() < first);
	/* A later deadline, then an earlier one: the earlier one counts. */
	assert_int_equal(loop_run_once(loop, 0), 0);
	end = loop_now() + 20 * NSEC_PER_MS;
	loop_wake(loop);
	assert_int_equal(loop_run_once(loop, end + 100 * NSEC_PER_SEC), 0);
	while (loop_now() < end)
		assert_int_equal(loop_run_once(loop, end), 0);
	assert_true(loop_now() < start + 20 * NSEC_PER_SEC);
	loop_free(loop);
}

/* Waiting must block, not spin: count the turns of a wait. */
static void wait_does_not_spin(void **state)
{
	struct loop *loop = loop_must();
	nsec_t end = loop_now() + 60 * NSEC_PER_MS;
	unsigned turns = 0;

	(void)state;
	for (; loop_now() < end; turns++)
		assert_int_equal(loop_run_once(loop, end), 0);
	assert_true(turns <= 3);
	loop_free(loop);
}

/* Traffic moves a deadline away from now; the timer set for the first one serves. */
static void timer_is_not_set_for_each_wait(void **state)
{
	struct loop *loop = loop_must();
	unsigned before = timers_set;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		loop_wake(loop);
		assert_int_equal(loop_run_once(loop, loop_now() + 10 * NSEC_PER_SEC), 0);
	}
	assert_in_range(timers_set - before, looks_for ? 0 : 1, 1);
	/* An earlier deadline needs another one. */
	assert_int_equal(loop_run_once(loop, loop_now() + NSEC_PER_MS), 0);
	assert_true(looks_for || timers_set - before == 2);
	loop_free(loop);
}

static void *waker(void *arg)
{
	usleep(20000);
	loop_wake(arg);
	return NULL;
}

static void wake_from_another_thread(void **state)
{
	struct loop *loop = loop_must();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, waker, loop), 0);
	assert_int_equal(loop_run_once(loop, NSEC_NEVER), 0);
	pthread_join(thread, NULL);
	loop_free(loop);
}

static long sleeps(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_THREAD, &used), 0);
	return used.ru_nvcsw;
}

static void looks_before_it_sleeps(void **state)
{
	(void)state;
	for (unsigned patient = 0; patient < 2; patient++) {
		nsec_t before = looks_for;
		struct loop *loop;
		pthread_t thread;
		long slept;

		looks_for = patient ? 1000 * NSEC_PER_SEC : 0;
		loop = loop_must();
		assert_int_equal(pthread_create(&thread, NULL, waker, loop), 0);
		slept = sleeps();
		assert_int_equal(loop_run_once(loop, NSEC_NEVER), 0);
		if (patient)
			assert_int_equal(sleeps(), slept);
		else
			assert_true(sleeps() > slept);
		pthread_join(thread, NULL);
		loop_free(loop);
		looks_for = before;
	}
}

/* A busy-poll that lasts until the deadline is not followed by a wait of the same length. */
static void looking_ends_at_the_deadline(void **state)
{
	nsec_t before = looks_for;
	struct loop *loop;
	nsec_t end;
	long slept;

	(void)state;
	looks_for = 1000 * NSEC_PER_SEC;
	loop = loop_must();
	slept = sleeps();
	end = loop_now() + 100 * NSEC_PER_MS;
	assert_int_equal(loop_run_once(loop, end), 0);
	assert_true(loop_now() >= end);
	assert_int_equal(sleeps(), slept);
	loop_free(loop);
	looks_for = before;
}

/* The time spent looking is not waited for once more: a machine that stalls is late, but not always. */
static void looking_is_part_of_the_wait(void **state)
{
	enum { TRIES = 20 };
	nsec_t before = looks_for, least = NSEC_NEVER;

	(void)state;
	looks_for = 100 * NSEC_PER_MS;
	for (unsigned i = 0; i < TRIES && least >= 80 * NSEC_PER_MS; i++) {
		struct loop *loop = loop_must();
		nsec_t end = loop_now() + 120 * NSEC_PER_MS;

		while (loop_now() < end)
			assert_int_equal(loop_run_once(loop, end), 0);
		least = nsec_min(least, loop_now() - end);
		loop_free(loop);
	}
	assert_true(least < 80 * NSEC_PER_MS);
	looks_for = before;
}

/* Where nothing comes but deadlines, looking is for nothing. */
static void deadlines_are_nothing_that_came(void **state)
{
	nsec_t before = looks_for;
	struct loop *loop;
	long slept;

	(void)state;
	looks_for = 1000 * NSEC_PER_SEC;
	loop = loop_must();
	slept = sleeps();
	for (unsigned i = 0; i < POLLING_MISSES + 4; i++)
		assert_int_equal(loop_run_once(loop, loop_now() + NSEC_PER_MS), 0);
	assert_true(sleeps() > slept);
	loop_free(loop);
	looks_for = before;
}

static int caught_signo;

static void on_caught(struct loop_signals *signals, int signo)
{
	(void)signals;
	caught_signo = signo;
}

static void signals_are_events(void **state)
{
	struct loop *loop = loop_must();
	struct loop_signals signals = {.caught = on_caught};

	(void)state;
	assert_int_equal(loop_signals_init(loop, &signals, (const int[]){SIGUSR1, SIGTERM, 0}), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	while (!caught_signo)
		assert_int_equal(loop_run_once(loop, NSEC_NEVER), 0);
	assert_int_equal(caught_signo, SIGTERM);
	loop_signals_fini(&signals);
	loop_free(loop);
}

static void bad_descriptor_is_an_error(void **state)
{
	struct loop *loop = loop_must();
	struct loop_watch watch = {.ready = on_ready};

	(void)state;
	assert_int_not_equal(loop->ops->add(loop, &watch, 1000000, LOOP_READ, 1), 0);
	loop->ops->del(loop, &watch);
	loop_free(loop);
}

static void every_allocation_may_fail(void **state)
{
	uint64_t live = mem_live();
	struct loop *loop;

	(void)state;
	for (uint64_t nth = 1;; nth++) {
		mem_fail_at(nth);
		loop = loop_new();
		mem_fail_at(0);
		if (loop)
			break;
		assert_int_equal(mem_live(), live);
	}
	loop_free(loop);
	assert_int_equal(mem_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edge_is_reported_once),
		cmocka_unit_test(level_is_reported_until_read),
		cmocka_unit_test(deleted_watch_is_not_called),
		cmocka_unit_test(deadline_ends_the_wait),
		cmocka_unit_test(wait_does_not_spin),
		cmocka_unit_test(timer_is_not_set_for_each_wait),
		cmocka_unit_test(wake_from_another_thread),
		cmocka_unit_test(looks_before_it_sleeps),
		cmocka_unit_test(looking_ends_at_the_deadline),
		cmocka_unit_test(looking_is_part_of_the_wait),
		cmocka_unit_test(deadlines_are_nothing_that_came),
		cmocka_unit_test(signals_are_events),
		cmocka_unit_test(bad_descriptor_is_an_error),
		cmocka_unit_test(every_allocation_may_fail),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	looks_for = NSEC_PER_MS;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
