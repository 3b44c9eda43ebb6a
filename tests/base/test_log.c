/* SPDX-License-Identifier: BSD-2-Clause */
/* The log, with a pipe or a device as standard error. */
#include "tests/cmocka_all.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_limit.h"

static int saved_stderr, reader;

static void use_stderr(int fd)
{
	assert_true(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
}

static int setup(void **state)
{
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_INFO);
	saved_stderr = dup(STDERR_FILENO);
	assert_int_equal(pipe(fds), 0);
	reader = fds[0];
	use_stderr(fds[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_stop();
	use_stderr(saved_stderr);
	if (reader >= 0)
		close(reader);
	return 0;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A thread that reads lines until the writing end is closed. */
struct tail {
	pthread_t thread;
	FILE *in;
	unsigned long lines, lost, out_of_place, errors, suppressed;
	unsigned long next[8]; /* by worker */
	char last[2048];
};

static unsigned long value(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static void note(struct tail *t, const char *line)
{
	unsigned long worker = value(line, " worker=") % 8, n = value(line, " n=");

	snprintf(t->last, sizeof(t->last), "%s", line);
	if (strstr(line, "event=log.lost ")) {
		t->lost += value(line, " lines=");
		t->next[0] += value(line, " lines="); /* where one worker logs */
		return;
	}
	if (strstr(line, "event=log.suppressed "))
		t->suppressed += value(line, " lines=");
	t->errors += strstr(line, "level=error") != NULL;
	if (!strstr(line, "event=test "))
		return;
	t->lines++;
	t->out_of_place += n != t->next[worker] || line[strlen(line) - 1] != '\n';
	t->next[worker] = n + 1;
}

static void *tail_main(void *arg)
{
	struct tail *t = arg;
	char line[2048];

	while (fgets(line, sizeof(line), t->in))
		note(t, line);
	return NULL;
}

static void tail_start(struct tail *t)
{
	memset(t, 0, sizeof(*t));
	t->in = fdopen(reader, "r");
	reader = -1;
	assert_non_null(t->in);
	assert_int_equal(pthread_create(&t->thread, NULL, tail_main, t), 0);
}

/* After log_stop(): what was written to the end. */
static void tail_end(struct tail *t)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	use_stderr(null);
	pthread_join(t->thread, NULL);
	fclose(t->in);
}

static void lines_are_written_at_once_until_it_is_started(void **state)
{
	char line[256] = "";

	(void)state;
	log_info("test", "n=%d", 7);
	assert_true(read(reader, line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, " level=info event=test n=7\n"));
	assert_int_equal(log_start(), 0);
	log_info("test", "n=8");
	log_stop();
	log_info("test", "n=9");
	memset(line, 0, sizeof(line));
	assert_true(read(reader, line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, " n=8\n"));
	assert_non_null(strstr(line, " n=9\n"));
}

enum { THREADS = 4, EACH = 20000 };

static void *worker_main(void *arg)
{
	unsigned worker = *(unsigned *)arg;

	for (unsigned n = 0; n < EACH; n++) {
		log_info("test", "worker=%u n=%u", worker, n);
		while (!log_has_room())
			usleep(100);
	}
	return NULL;
}

static void each_threads_lines_keep_their_order(void **state)
{
	unsigned number[THREADS];
	pthread_t thread[THREADS];
	struct tail t;

	(void)state;
	tail_start(&t);
	assert_int_equal(log_start(), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, worker_main, &number[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	log_stop();
	tail_end(&t);
	assert_int_equal(t.lines, THREADS * EACH);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.out_of_place, 0);
}

/* A line for which the pipe has no room must not block the thread that logs it. */
static void logging_does_not_wait_for_the_reader(void **state)
{
	enum { LINES = 200000 };
	double begin = seconds();
	struct tail t;

	(void)state;
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < LINES; n++)
		log_info("test", "worker=0 n=%u", n);
	assert_false(log_has_room());
	assert_true(seconds() - begin < 20);
	log_error("test.error", "why=\"there is room for what is urgent\"");
	tail_start(&t);
	while (!log_has_room())
		usleep(1000);
	log_info("test", "worker=0 n=%u", LINES + 1);
	log_stop();
	tail_end(&t);
	/* Each line was written, or counted in its place. The error counts as none of them. */
	assert_true(t.lines > 1000);
	assert_true(t.lost > 1000);
	assert_int_equal(t.errors, 1);
	assert_int_equal(t.lines + t.lost, LINES + 1);
	assert_int_equal(t.out_of_place, 1); /* n=LINES+1: one number was left out */
}

static void what_was_lost_last_is_reported_at_the_end(void **state)
{
	enum { LINES = 50000 };
	struct tail t;

	(void)state;
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < LINES; n++)
		log_info("test", "worker=0 n=%u", n);
	tail_start(&t);
	log_stop();
	tail_end(&t);
	assert_non_null(strstr(t.last, "event=log.lost "));
	assert_int_equal(t.lines + t.lost, LINES);
	assert_int_equal(t.out_of_place, 0);
}

static void the_end_of_the_log_does_not_wait_for_the_reader(void **state)
{
	double begin;

	(void)state;
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < 100000; n++)
		log_info("test", "n=%u", n);
	begin = seconds();
	log_stop();
	assert_true(seconds() - begin < 5);
	log_error("test", "why=\"would block\"");
}

static void a_peer_is_limited(void **state)
{
	enum { LINES = 1000 };
	struct tail t;

	(void)state;
	tail_start(&t);
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < LINES; n++)
		log_peer(LOG_LEVEL_INFO, "test", "192.0.2.1", "worker=0 n=%u", n);
	log_peer(LOG_LEVEL_ERROR, "test", "192.0.2.2", "worker=1 n=0");
	log_stop();
	tail_end(&t);
	assert_int_equal(t.errors, 1);
	assert_in_range(t.lines, LOG_LIMIT_PEER_BURST + 1, LINES / 2);
	assert_int_equal(t.lines - 1 + t.suppressed, LINES);
	assert_non_null(strstr(t.last, "event=log.suppressed of=test peer=192.0.2.1 lines="));
}

static void with_debug_nothing_is_limited(void **state)
{
	struct tail t;

	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	tail_start(&t);
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < 1000; n++)
		log_peer(LOG_LEVEL_INFO, "test", "192.0.2.1", "worker=0 n=%u", n);
	log_stop();
	tail_end(&t);
	assert_int_equal(t.lines, 1000);
	assert_int_equal(t.suppressed, 0);
}

/* Lines that a full disk refused are written when the disk has room again. */
static void a_full_disk_is_tried_again(void **state)
{
	int file = dup(STDERR_FILENO);
	struct tail t;

	(void)state;
	tail_start(&t);
	use_stderr(open("/dev/full", O_WRONLY | O_CLOEXEC));
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < 100; n++)
		log_info("test", "worker=0 n=%u", n);
	usleep(50000);
	use_stderr(file);
	log_stop();
	tail_end(&t);
	assert_int_equal(t.lines, 100);
	assert_int_equal(t.out_of_place, 0);
}

static void a_reader_that_is_gone_is_no_end(void **state)
{
	double begin = seconds();

	(void)state;
	close(reader);
	reader = -1;
	assert_int_equal(log_start(), 0);
	for (unsigned n = 0; n < 100000; n++)
		log_info("test", "n=%u", n);
	log_stop();
	assert_true(seconds() - begin < 20);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(lines_are_written_at_once_until_it_is_started),
		LOG_TEST(each_threads_lines_keep_their_order),
		LOG_TEST(logging_does_not_wait_for_the_reader),
		LOG_TEST(what_was_lost_last_is_reported_at_the_end),
		LOG_TEST(the_end_of_the_log_does_not_wait_for_the_reader),
		LOG_TEST(a_peer_is_limited),
		LOG_TEST(with_debug_nothing_is_limited),
		LOG_TEST(a_full_disk_is_tried_again),
		LOG_TEST(a_reader_that_is_gone_is_no_end),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
