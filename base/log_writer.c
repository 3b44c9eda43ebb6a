/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   any thread:  format --> lock, copy into the ring, wake the writer, unlock
 *                                 | no room: count
 *   the writer:  lock, look, unlock --> poll(2), write(2) --> lock, drop what was taken, ...
 *
 * A line that finds no room is dropped and counted. The next line that finds room first adds the
 * count to the ring, so that the count stands where the dropped lines would stand. If no further
 * line comes, the writer adds the count.
 *
 * The writer asks poll(2) first, and writes no more than a ready pipe takes. So it notices
 * log_writer_stop() even if the reader of the log has stopped reading. After a full disk, or
 * without a reader, the writer tries again later, because the gateway serves even if its log cannot
 * be written. If a write blocks all the same (a file on a server that hangs), log_writer_stop()
 * does not wait for the thread.
 */
#include "base/log_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log_limit.h"
#include "base/log_line.h"
#include "base/log_ring.h"

enum { WRITE_MAX = 4096 /* octets that a ready pipe takes (pipe(7)) */, RETRY_MS = 100 };
#define REPORT_EVERY (10 * NSEC_PER_SEC)
#define STOP_WITHIN (1 * NSEC_PER_SEC)

/* Not on the heap, because the thread may have to be left running at the end. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake, ended;
	pthread_t thread;
	struct log_ring ring;
	struct log_limit limit;
	uint64_t lost; /* lines dropped since a line last found room */
	nsec_t report_at, stop_at;
	bool over, stuck;
} writer = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
};

static nsec_t writer_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

static void wait_until(pthread_cond_t *cond, nsec_t at)
{
	struct timespec ts = {.tv_sec = (time_t)(at / NSEC_PER_SEC),
			      .tv_nsec = (long)(at % NSEC_PER_SEC)};

	if (at == NSEC_NEVER)
		pthread_cond_wait(cond, &writer.lock);
	else
		pthread_cond_clockwait(cond, &writer.lock, CLOCK_MONOTONIC, &ts);
}

/* Adds the count of lost lines, if @more octets fit behind it. */
static bool put_lost(size_t more, bool urgent)
{
	char line[LOG_LINE_MAX];
	size_t len;

	if (!writer.lost)
		return log_ring_fits(&writer.ring, more, urgent);
	len = log_line_format(line, LOG_LEVEL_WARN, "log.lost", "lines=%llu",
			      (unsigned long long)writer.lost);
	if (!log_ring_fits(&writer.ring, len + more, urgent))
		return false;
	log_ring_put(&writer.ring, line, len);
	writer.lost = 0;
	return true;
}

static void put_locked(enum log_level level, const char *line, size_t len)
{
	if (put_lost(len, level <= LOG_LEVEL_WARN))
		log_ring_put(&writer.ring, line, len);
	else
		writer.lost++;
}

void log_writer_put(enum log_level level, const char *line, size_t len)
{
	pthread_mutex_lock(&writer.lock);
	put_locked(level, line, len);
	pthread_cond_signal(&writer.wake);
	pthread_mutex_unlock(&writer.lock);
}

bool log_writer_allow(const char *event, const char *peer)
{
	nsec_t now = writer_now();
	bool first, ok;

	pthread_mutex_lock(&writer.lock);
	first = writer.limit.not_reported == 0;
	ok = log_limit_take(&writer.limit, event, peer, now);
	if (!ok && first) {
		writer.report_at = now + REPORT_EVERY;
		pthread_cond_signal(&writer.wake);
	}
	pthread_mutex_unlock(&writer.lock);
	return ok;
}

bool log_writer_has_room(void)
{
	bool room;

	pthread_mutex_lock(&writer.lock);
	room = log_ring_used(&writer.ring) <= LOG_RING_BYTES / 2;
	pthread_mutex_unlock(&writer.lock);
	return room;
}

static void report_suppressed(void)
{
	struct log_bucket bucket;
	char line[LOG_LINE_MAX];

	while (log_limit_take_suppressed(&writer.limit, &bucket)) {
		size_t len = log_line_format(line, LOG_LEVEL_WARN, "log.suppressed",
					     "of=%s peer=%s lines=%llu", bucket.event, bucket.peer,
					     (unsigned long long)bucket.suppressed);

		put_locked(LOG_LEVEL_WARN, line, len);
	}
	writer.report_at = NSEC_NEVER;
}

/* Return: octets that standard error took, which may be none. */
static size_t write_some(const char *text, size_t len)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
	ssize_t n;

	if (poll(&ready, 1, RETRY_MS) <= 0)
		return 0;
	n = write(STDERR_FILENO, text, len < WRITE_MAX ? len : WRITE_MAX);
	if (n > 0)
		return (size_t)n;
	/* The disk is full, the reader is gone, or there is room for less than @len octets. */
	if (n < 0 && errno != EINTR)
		poll(NULL, 0, RETRY_MS);
	return 0;
}

/* Whether all lines were written, or time is over. */
static bool is_over(nsec_t now)
{
	return writer.stop_at != NSEC_NEVER &&
	       (now >= writer.stop_at || (log_ring_used(&writer.ring) == 0 && !writer.lost));
}

static void *writer_main(void *arg)
{
	pthread_setname_np(pthread_self(), "log");
	pthread_mutex_lock(&writer.lock);
	for (nsec_t now = writer_now();; now = writer_now()) {
		const char *text;
		size_t len;

		if (now >= writer.report_at)
			report_suppressed();
		if (is_over(now))
			break;
		len = log_ring_peek(&writer.ring, &text);
		if (!len && put_lost(0, true))
			len = log_ring_peek(&writer.ring, &text);
		if (!len) {
			wait_until(&writer.wake, writer.report_at);
			continue;
		}
		pthread_mutex_unlock(&writer.lock);
		len = write_some(text, len);
		pthread_mutex_lock(&writer.lock);
		log_ring_drop(&writer.ring, len);
	}
	writer.over = true;
	pthread_cond_signal(&writer.ended);
	pthread_mutex_unlock(&writer.lock);
	return arg;
}

int log_writer_start(void)
{
	sigset_t all, before;
	int err;

	if (writer.stuck)
		return ERR_NOMEM;
	writer.ring.in = writer.ring.out = 0;
	memset(&writer.limit, 0, sizeof(writer.limit));
	writer.lost = 0;
	writer.report_at = writer.stop_at = NSEC_NEVER;
	writer.over = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&writer.thread, NULL, writer_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? ERR_NOMEM : 0;
}

bool log_writer_stop(void)
{
	nsec_t timeout;
	bool all;

	pthread_mutex_lock(&writer.lock);
	writer.report_at = 0;
	writer.stop_at = writer_now() + STOP_WITHIN;
	/* The writer ends at .stop_at, or a little later if it is in poll(2) then. */
	timeout = writer.stop_at + 3 * RETRY_MS * NSEC_PER_MS;
	pthread_cond_signal(&writer.wake);
	while (!writer.over && writer_now() < timeout)
		wait_until(&writer.ended, timeout);
	writer.stuck = !writer.over;
	all = writer.over && log_ring_used(&writer.ring) == 0 && !writer.lost;
	pthread_mutex_unlock(&writer.lock);
	if (writer.stuck)
		pthread_detach(writer.thread);
	else
		pthread_join(writer.thread, NULL);
	return all;
}
