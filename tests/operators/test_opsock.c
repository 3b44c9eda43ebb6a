/* SPDX-License-Identifier: BSD-2-Clause */
/* The operators' socket server with any clients: no client harms the others, and every cost is
 * bounded. */
#include "tests/cmocka_all.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/opsock/opsock.h"
#include "daemon/loop.h"

enum { MOST = 4, REQUEST = 64, ANSWER = 1 << 20 };

static nsec_t clock_now;
static struct loop *loop;
static struct opsock *opsock;
static struct sockaddr_un at;
static socklen_t at_len;
static unsigned asked, forgotten, mores, cancelled;
static struct visitor *held;
static bool is_delivered, can_cancel, is_silent;

static nsec_t now(void)
{
	return clock_now;
}

/* The first letter of the peer's name; see come_from(). */
static void host_of(const struct sockaddr_storage *peer, uint8_t *host)
{
	host[OPSOCK_HOST - 1] = (uint8_t)((const struct sockaddr_un *)peer)->sun_path[1];
}

static size_t whole_line(const char *in, size_t len)
{
	const char *end = memchr(in, '\n', len);

	return end ? (size_t)(end - in) + 1 : 0;
}

/* "keep": keep the connection, with a minute for each request; "deliver": answer at once, or not at
 * all; "hold": answer later; "much": far more than sockets buffer; "flood": answer without end; all
 * others: echo. */
static void on_asked(struct visitor *v, char *request, size_t len)
{
	static char much[256 << 10];

	asked++;
	if (strcmp(request, "keep\n") == 0)
		visitor_keep(v, 60 * NSEC_PER_SEC);
	if (strcmp(request, "deliver\n") == 0) {
		visitor_say(v, request, len);
		is_delivered = visitor_deliver(v);
		visitor_done(v);
		return;
	}
	if (strcmp(request, "hold\n") == 0) {
		visitor_hold(v);
		held = v;
		return;
	}
	if (strcmp(request, "much\n") == 0) {
		visitor_say(v, much, sizeof(much));
		visitor_say(v, "\n", 1);
	}
	if (strcmp(request, "flood\n") == 0)
		return; /* all of it in on_more() */
	visitor_say(v, request, len);
	visitor_done(v);
}

static void on_more(struct visitor *v)
{
	static char block[32 << 10];

	mores++;
	visitor_say(v, block, sizeof(block));
}

static void on_late(struct visitor *v)
{
	if (!is_silent)
		visitor_say(v, "late\n", 5);
}

static void on_too_long(struct visitor *v)
{
	visitor_say(v, "too long\n", 9);
	visitor_done(v);
}

static void on_forget(struct visitor *v)
{
	(void)v;
	forgotten++;
}

static void on_cancel(struct visitor *v)
{
	(void)v;
	cancelled++;
}

static void set_up(bool once)
{
	const struct opsock_config cfg = {.most = MOST,
					  .visitor_bytes = sizeof(struct visitor),
					  .request_bytes = REQUEST,
					  .answer_bytes = ANSWER,
					  .once = once,
					  .now = now,
					  .host_of = host_of,
					  .whole = whole_line,
					  .asked = on_asked,
					  .more = on_more,
					  .too_long = on_too_long,
					  .late = on_late,
					  .cancel = can_cancel ? on_cancel : NULL,
					  .forget = on_forget};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	asked = forgotten = mores = cancelled = 0;
	held = NULL;
	clock_now = NSEC_PER_SEC;
	loop = loop_new();
	assert_non_null(loop);
	at = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* An address of the kernel's choice, in no file system. */
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(sa_family_t)), 0);
	at_len = sizeof(at);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &at_len), 0);
	assert_int_equal(listen(fd, 1024), 0);
	opsock = opsock_open(loop, fd, &cfg);
	assert_non_null(opsock);
}

static void tear_down(void)
{
	opsock_free(opsock);
	loop_free(loop);
	assert_int_equal(mem_live(), 0);
}

/* Until nothing is left to do. */
static void settle(void)
{
	for (unsigned i = 0; i < 50; i++) {
		(void)opsock_tick(opsock);
		assert_int_equal(loop_run_once(loop, 0), 0);
	}
	(void)opsock_tick(opsock);
}

static int come(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, at_len), 0);
	return fd;
}

/* Come from the host with the name @letter. */
static int come_from(char letter)
{
	static unsigned n;
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	/* In no file system, and of this process alone. */
	snprintf(own.sun_path + 1, sizeof(own.sun_path) - 1, "%c-opsock-%d-%u", letter,
		 (int)getpid(), n++);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, at_len), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool is_over(int fd)
{
	char octet;

	return recv(fd, &octet, 1, MSG_PEEK) == 0;
}

/* The same, if there may be octets before the end. */
static bool is_cut(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void hears(int fd, const char *text)
{
	char got[256] = "";
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	if (n < 0 || strcmp(got, text) != 0)
		fail_msg("\"%s\" instead of \"%s\"", n < 0 ? strerror(errno) : got, text);
}

static void requests_are_answered(void **state)
{
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	say(fd, "one\n");
	settle();
	hears(fd, "one\n");
	say(fd, "two\nthree\nfo"); /* before the answers */
	settle();
	hears(fd, "two\nthree\n");
	say(fd, "ur\n");
	settle();
	hears(fd, "four\n");
	for (const char *p = "octets\n"; *p; p++) {
		assert_int_equal(send(fd, p, 1, 0), 1);
		settle();
	}
	hears(fd, "octets\n");
	close(fd);
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	assert_int_equal(forgotten, 1);
	tear_down();
}

static void one_request_may_be_all(void **state)
{
	int fd;

	(void)state;
	set_up(true);
	fd = come();
	say(fd, "one\ntwo\n");
	settle();
	hears(fd, "one\n");
	assert_int_equal(asked, 1);
	assert_true(is_over(fd));
	close(fd);
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	tear_down();
}

static void too_long_is_reported(void **state)
{
	char text[3 * REQUEST];
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	memset(text, 'x', sizeof(text));
	assert_int_equal(send(fd, text, REQUEST, 0), REQUEST);
	settle();
	hears(fd, "too long\n");
	assert_int_equal(asked, 0);
	assert_true(is_over(fd));
	close(fd);
	settle();
	tear_down();
}

/* The rest of a line that is too long is no request, whatever it reads like. */
static void a_rest_is_no_request(void **state)
{
	char text[REQUEST + 8];
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	memset(text, 'x', REQUEST);
	memcpy(text + REQUEST, "one\n", 5);
	say(fd, text);
	settle();
	hears(fd, "too long\n");
	assert_int_equal(asked, 0);
	assert_true(is_over(fd));
	close(fd);
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	tear_down();
}

/* Octets behind the last request do not cost its answer, and keep no place. */
static void the_last_answer_is_whole(void **state)
{
	static char got[300 << 10];
	size_t len = 0;
	ssize_t n;
	int fd;

	(void)state;
	set_up(true);
	fd = come();
	say(fd, "much\n");
	settle();
	for (unsigned i = 0; i < 4; i++) {
		n = recv(fd, got, sizeof(got), 0);
		len += n > 0 ? (size_t)n : 0;
		say(fd, "more\n");
		settle();
	}
	assert_int_equal(len, (256 << 10) + 1 + 5);
	assert_true(is_over(fd));
	assert_int_equal(asked, 1);
	assert_int_equal(opsock_visitors(opsock), 1);
	clock_now += 3 * NSEC_PER_SEC;
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	close(fd);
	tear_down();
}

/* An octet now and then does not keep a place. */
static void a_slow_visitor_leaves(void **state)
{
	int slow, quick;

	(void)state;
	set_up(false);
	slow = come();
	for (unsigned i = 0; i < 19; i++) {
		assert_int_equal(send(slow, "x", 1, MSG_NOSIGNAL), 1);
		clock_now += NSEC_PER_SEC;
		settle();
		assert_false(is_over(slow));
	}
	quick = come();
	clock_now += 2 * NSEC_PER_SEC;
	settle();
	assert_true(is_over(slow));
	say(quick, "here\n");
	settle();
	hears(quick, "here\n");
	clock_now += 19 * NSEC_PER_SEC; /* anew since the answer */
	settle();
	say(quick, "still\n");
	settle();
	hears(quick, "still\n");
	close(slow);
	close(quick);
	settle();
	tear_down();
}

/* Memory stays where it is, its time ends, others are served. */
static void a_visitor_that_does_not_read_leaves(void **state)
{
	int deaf, other;
	unsigned n;

	(void)state;
	set_up(false);
	deaf = come();
	say(deaf, "flood\n");
	settle();
	n = mores;
	assert_true(n >= 1);
	settle();
	assert_int_equal(mores, n); /* nothing more is made while nothing is taken */
	other = come();
	say(other, "much\n");
	for (unsigned i = 0, got = 0; got < 256 << 10; i++) {
		char taken[4096];
		ssize_t len;

		settle();
		while ((len = recv(other, taken, sizeof(taken), 0)) > 0)
			got += (unsigned)len;
		assert_true(i < 1000);
	}
	assert_false(is_over(deaf));
	clock_now += OPSOCK_ANSWER_TIME + NSEC_PER_SEC;
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	close(deaf);
	close(other);
	tear_down();
}

/* Connections without a request are displaced, the one that waits longest first. */
static void a_new_visitor_displaces_the_longest_silent(void **state)
{
	int crowd[300], busy, late;

	(void)state;
	set_up(false);
	busy = come();
	say(busy, "hold\n");
	settle();
	assert_non_null(held);
	for (unsigned i = 0; i < 300; i++) {
		crowd[i] = come();
		settle();
		assert_true(opsock_visitors(opsock) <= MOST);
	}
	late = come();
	say(late, "late\n");
	settle();
	hears(late, "late\n");
	for (unsigned i = 0; i < 298; i++)
		assert_true(is_over(crowd[i]));
	assert_false(is_over(busy));
	visitor_say(held, "held\n", 5);
	visitor_done(held);
	visitor_release(held);
	settle();
	hears(busy, "held\n");
	for (unsigned i = 0; i < 300; i++)
		close(crowd[i]);
	close(busy);
	close(late);
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	tear_down();
}

/* A host has all places, and goes on to connect. It displaces its own connections, whatever they wait for. */
static void a_host_displaces_its_own(void **state)
{
	static const char *const says[] = {NULL, "fl", "flood\n", "hold\n"};
	static char got[300 << 10];

	(void)state;
	can_cancel = true;
	for (unsigned way = 0; way < sizeof(says) / sizeof(says[0]); way++) {
		int crowd[100], other, reader;
		size_t len = 0;

		set_up(false);
		reader = come_from('b');
		say(reader, "much\n");
		settle();
		for (unsigned i = 0; i < 100; i++) {
			crowd[i] = come_from('a');
			if (says[way])
				say(crowd[i], says[way]);
			settle();
			assert_true(opsock_visitors(opsock) <= MOST);
		}
		other = come_from('c');
		settle();
		assert_true(is_cut(crowd[97])); /* it made room for the newcomer */
		assert_false(is_cut(crowd[98]));
		close(crowd[0]);
		crowd[0] = come_from('a');
		settle();
		assert_true(is_cut(crowd[98]));
		say(other, "here\n");
		settle();
		hears(other, "here\n");
		for (ssize_t n = 1; n > 0; settle()) {
			n = recv(reader, got, sizeof(got), 0);
			len += n > 0 ? (size_t)n : 0;
		}
		assert_int_equal(len, (256 << 10) + 1 + 5);
		assert_int_equal(cancelled, way == 3 ? 99 : 0);
		for (unsigned i = 0; i < 100; i++)
			close(crowd[i]);
		close(reader);
		close(other);
		settle();
		tear_down();
	}
	can_cancel = false;
}

/* Each of many hosts has one connection: a host that comes once more displaces its own. */
static void a_host_with_as_many_displaces_nobody_elses(void **state)
{
	int fds[MOST], again;

	(void)state;
	set_up(false);
	for (int i = 0; i < MOST; i++) {
		fds[i] = come_from((char)('a' + i));
		settle();
	}
	again = come_from('c');
	settle();
	for (int i = 0; i < MOST; i++)
		assert_int_equal(is_cut(fds[i]), i == 2);
	for (int i = 0; i < MOST; i++)
		close(fds[i]);
	close(again);
	settle();
	tear_down();
}

/* If all are being answered, the one goes that has read nothing for longest. A connection that waits
 * for its request goes before it. */
static void the_slowest_reader_is_displaced(void **state)
{
	int readers[MOST], next[2];
	char octets[4096];

	(void)state;
	set_up(false);
	for (unsigned i = 0; i < MOST; i++) {
		readers[i] = come();
		say(readers[i], "flood\n");
		settle();
	}
	while (recv(readers[0], octets, sizeof(octets), 0) > 0)
		;
	settle();
	for (unsigned i = 0; i < 2; i++) {
		next[i] = come();
		settle();
	}
	for (unsigned i = 0; i < MOST; i++)
		assert_int_equal(is_cut(readers[i]), i == 1);
	assert_true(is_cut(next[0]));
	assert_false(is_cut(next[1]));
	for (unsigned i = 0; i < MOST; i++)
		close(readers[i]);
	close(next[0]);
	close(next[1]);
	settle();
	tear_down();
}

/* When other code has pointers to all of them, the next one waits for the first place that is free. */
static void the_next_waits(void **state)
{
	struct visitor *first;
	int busy[MOST], next;

	(void)state;
	set_up(false);
	busy[0] = come();
	say(busy[0], "hold\n");
	settle();
	first = held;
	for (unsigned i = 1; i < MOST; i++) {
		busy[i] = come();
		say(busy[i], "hold\n");
		settle();
	}
	next = come();
	say(next, "next\n");
	settle();
	assert_int_equal(opsock_visitors(opsock), MOST);
	assert_false(is_over(next));
	assert_int_equal(recv(next, (char[8]){0}, 8, 0), -1);
	visitor_done(first);
	visitor_release(first);
	settle();
	hears(next, "next\n");
	for (unsigned i = 0; i < MOST; i++)
		close(busy[i]);
	close(next);
	settle();
	tear_down();
}

static const struct loop_ops *real;
static unsigned watches;

static int counted_add(struct loop *l, struct loop_watch *watch, int fd, unsigned events, int edge)
{
	watches++;
	return real->add(l, watch, fd, events, edge);
}

/* A connection that arrives while descriptors are short waits, and accept() is not retried all the
 * time. */
static void without_descriptors_it_waits(void **state)
{
	struct loop_ops counting;
	struct rlimit limit, none;
	int fd, next;

	(void)state;
	set_up(false);
	real = loop->ops;
	counting = *real;
	counting.add = counted_add;
	loop->ops = &counting;
	fd = come();
	next = dup(fd);
	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){(rlim_t)next, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	settle();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(watches, 0);
	assert_int_equal(opsock_visitors(opsock), 0);
	clock_now += NSEC_PER_SEC;
	say(fd, "now\n");
	settle();
	hears(fd, "now\n");
	loop->ops = real;
	close(fd);
	settle();
	tear_down();
}

/* Somebody else knows of it: it stays until that one has done, and not longer. */
static void held_ones_stay(void **state)
{
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	say(fd, "hold\n");
	settle();
	clock_now += OPSOCK_ANSWER_TIME + NSEC_PER_SEC;
	settle();
	assert_true(is_over(fd));
	assert_true(visitor_is_gone(held));
	assert_int_equal(forgotten, 0);
	visitor_say(held, "nobody hears it\n", 16);
	visitor_done(held);
	visitor_release(held);
	settle();
	assert_int_equal(forgotten, 1);
	assert_int_equal(opsock_visitors(opsock), 0);
	close(fd);
	/* A held connection is freed with the server. */
	fd = come();
	say(fd, "hold\n");
	settle();
	tear_down();
	close(fd);
	assert_int_equal(forgotten, 2);
}

static void allocations_may_fail(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth < 12; nth++) {
		int fd, second;

		set_up(false);
		fd = come();
		say(fd, "much\n");
		mem_fail_at(nth);
		settle();
		mem_fail_at(0);
		close(fd);
		settle();
		second = come();
		say(second, "after\n");
		settle();
		hears(second, "after\n");
		close(second);
		settle();
		tear_down();
	}
}

static void no_more_after_close(void **state)
{
	int fd, late;

	(void)state;
	set_up(false);
	fd = come();
	settle();
	opsock_close(opsock);
	opsock_close(opsock);
	late = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(late, (struct sockaddr *)&at, at_len), -1);
	say(fd, "here\n");
	settle();
	hears(fd, "here\n");
	close(fd);
	close(late);
	settle();
	tear_down();
}

/* However many come, and though it takes its time; and when that is over it hears why. */
static void a_kept_visitor_keeps_its_place(void **state)
{
	int fd, others[2 * MOST];

	(void)state;
	set_up(false);
	fd = come();
	say(fd, "keep\n");
	settle();
	hears(fd, "keep\n");
	for (unsigned i = 0; i < 2 * MOST; i++) {
		others[i] = come();
		settle();
	}
	assert_int_equal(opsock_visitors(opsock), MOST);
	clock_now += 59 * NSEC_PER_SEC;
	settle();
	assert_int_equal(opsock_visitors(opsock), 1);
	say(fd, "again\n");
	settle();
	hears(fd, "again\n");
	clock_now += 59 * NSEC_PER_SEC;
	settle();
	assert_int_equal(opsock_visitors(opsock), 1);
	clock_now += 2 * NSEC_PER_SEC;
	settle();
	hears(fd, "late\n");
	assert_true(is_over(fd));
	assert_int_equal(asked, 2);
	close(fd);
	for (unsigned i = 0; i < 2 * MOST; i++)
		close(others[i]);
	settle();
	assert_int_equal(opsock_visitors(opsock), 0);
	tear_down();
}

static void a_kept_visitor_may_end_without_an_answer(void **state)
{
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	say(fd, "keep\n");
	settle();
	hears(fd, "keep\n");
	is_silent = true;
	clock_now += 61 * NSEC_PER_SEC;
	settle();
	is_silent = false;
	assert_true(is_over(fd));
	assert_int_equal(mores, 0);
	close(fd);
	tear_down();
}

/* A peer that has given up is not sent the answer later, and does not count as informed. */
static void what_is_delivered_was_heard(void **state)
{
	int fd;

	(void)state;
	set_up(false);
	fd = come();
	say(fd, "deliver\n");
	settle();
	assert_true(is_delivered);
	hears(fd, "deliver\n");
	say(fd, "deliver\n");
	shutdown(fd, SHUT_RDWR);
	settle();
	assert_false(is_delivered);
	assert_true(is_over(fd));
	assert_int_equal(asked, 2);
	assert_int_equal(opsock_visitors(opsock), 0);
	close(fd);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_answered),
		cmocka_unit_test(one_request_may_be_all),
		cmocka_unit_test(too_long_is_reported),
		cmocka_unit_test(a_rest_is_no_request),
		cmocka_unit_test(the_last_answer_is_whole),
		cmocka_unit_test(a_slow_visitor_leaves),
		cmocka_unit_test(a_visitor_that_does_not_read_leaves),
		cmocka_unit_test(a_new_visitor_displaces_the_longest_silent),
		cmocka_unit_test(a_host_displaces_its_own),
		cmocka_unit_test(a_host_with_as_many_displaces_nobody_elses),
		cmocka_unit_test(the_slowest_reader_is_displaced),
		cmocka_unit_test(the_next_waits),
		cmocka_unit_test(without_descriptors_it_waits),
		cmocka_unit_test(held_ones_stay),
		cmocka_unit_test(allocations_may_fail),
		cmocka_unit_test(no_more_after_close),
		cmocka_unit_test(a_kept_visitor_keeps_its_place),
		cmocka_unit_test(a_kept_visitor_may_end_without_an_answer),
		cmocka_unit_test(what_is_delivered_was_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
