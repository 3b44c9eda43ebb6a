/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that break the protocol, disappear or stall, and ends at every moment: plain sockets
 * against the provider. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum { BIG = 4 << 20 };

static struct sock_pair pair;
static struct iwarp_config cfg;
static uint8_t recv_a[4096], recv_b[4096], big[BIG], sink[BIG];

static void start(void)
{
	sock_pair_init(&pair, &cfg, "127.0.0.1");
}

static int setup(void **state)
{
	(void)state;
	iwarp_config_default(&cfg);
	cfg.setup_timeout_ms = 300;
	return 0;
}

static const struct iwarp_counters *counters(void)
{
	return iwarp_counters(pair.f);
}

static void steps(int n)
{
	for (int i = 0; i < n; i++)
		sock_pair_step(&pair);
}

/* Until the provider closed the raw connection, or the time is over. */
static bool closed_within(int fd, int ms)
{
	nsec_t end = poll_loop_now() + (nsec_t)ms * NSEC_PER_MS;
	char buf[4096];

	while (poll_loop_now() < end) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return true;
		sock_pair_step(&pair);
	}
	return false;
}

static void expect_setup_failure(const void *octets, size_t len, int within_ms)
{
	int fd;

	start();
	fd = sock_pair_raw(&pair);
	if (len)
		assert_int_equal(send(fd, octets, len, 0), len);
	assert_true(closed_within(fd, within_ms));
	assert_int_equal(counters()->setup_failures, 1);
	assert_int_equal(pair.logged, 0); /* the user never heard of it */
	close(fd);
	sock_pair_fini(&pair);
}

static void test_says_nothing(void **state)
{
	(void)state;
	expect_setup_failure("", 0, 2000);
}

static void test_half_a_request(void **state)
{
	(void)state;
	expect_setup_failure("MPA ID Req Frame\0\1", 18, 2000);
}

static void test_revision_3(void **state)
{
	(void)state;
	expect_setup_failure("MPA ID Req Frame\0\3\0\0", 20, 200);
}

static void test_no_mpa(void **state)
{
	(void)state;
	expect_setup_failure("GET / HTTP/1.1\r\nHost: x\r\n", 25, 200);
}

static void test_endless_private_data(void **state)
{
	(void)state;
	expect_setup_failure("MPA ID Req Frame\0\1\xff\xff", 20, 200);
}

/* RFC 5044 section 7.1.1: M says that markers are REQUIRED, and there are none: no connection. */
static void test_markers_rejected(void **state)
{
	uint8_t answer[20] = {0};
	size_t have = 0;
	int fd;

	(void)state;
	start();
	fd = sock_pair_raw(&pair);
	assert_int_equal(send(fd, "MPA ID Req Frame\x80\1\0\0", 20, 0), 20);
	for (nsec_t end = poll_loop_now() + 2 * NSEC_PER_SEC;
	     have < sizeof(answer) && poll_loop_now() < end; sock_pair_step(&pair)) {
		ssize_t n = recv(fd, answer + have, sizeof(answer) - have, MSG_DONTWAIT);

		have += n > 0 ? (size_t)n : 0;
	}
	assert_memory_equal(answer, "MPA ID Rep Frame", 16);
	assert_int_equal(answer[16] & 0xa0, 0x20); /* R, no M */
	assert_true(closed_within(fd, 2000));
	assert_int_equal(pair.logged, 0);
	close(fd);
	sock_pair_fini(&pair);
}

/* One octet now and then keeps nothing alive: the bound is on the whole. */
static void test_slow_loris(void **state)
{
	nsec_t end;
	int fd;

	(void)state;
	start();
	fd = sock_pair_raw(&pair);
	end = poll_loop_now() + 2 * NSEC_PER_SEC;
	for (int i = 0; i < 20 && !counters()->setup_failures && poll_loop_now() < end; i++) {
		(void)!send(fd, &"MPA ID Req Frame\0\1\0\0"[i], 1, MSG_NOSIGNAL);
		for (nsec_t t = poll_loop_now() + 60 * NSEC_PER_MS; poll_loop_now() < t;)
			sock_pair_step(&pair);
	}
	assert_int_equal(counters()->setup_failures, 1);
	close(fd);
	sock_pair_fini(&pair);
}

/* After detach() nobody is heard of any more, however far their set-up had come. */
static void test_detach(void **state)
{
	int silent, speaks;
	char octet;

	(void)state;
	start();
	silent = sock_pair_raw(&pair);
	speaks = sock_pair_raw(&pair);
	steps(3);
	assert_int_equal(send(speaks, "MPA ID Req Frame\0\1\0\0", 20, 0), 20);
	/* The Request is read, but nobody has polled it. */
	for (int i = 0; i < 3; i++)
		poll_loop_step(&pair.loop, 20);
	fabric_detach(pair.f, pair.listener);
	steps(2);
	assert_int_equal(pair.logged, 0);
	assert_int_equal(recv(silent, &octet, 1, 0), 0);
	assert_int_equal(recv(speaks, &octet, 1, 0), 0);
	close(silent);
	close(speaks);
	sock_pair_fini(&pair);
}

static void test_address_taken(void **state)
{
	struct fabric_listener *second;
	int err = 0;

	(void)state;
	start();
	second = iwarp_listen(&pair.addr, &err);
	assert_null(second);
	assert_int_equal(err, ERR_IO);
	assert_int_equal(errno, EADDRINUSE);
	mem_fail_at(1);
	assert_null(iwarp_listen(&pair.addr, &err));
	assert_int_equal(err, ERR_NOMEM);
	assert_int_equal(errno, ENOMEM); /* callers log it */
	sock_pair_fini(&pair);
}

static void test_disconnect_in_setup(void **state)
{
	(void)state;
	start();
	assert_int_equal(fabric_connect(pair.f, &pair.addr, &pair.params, &pair, &pair.client), 0);
	assert_int_equal(fabric_post_recv(pair.client, recv_a, 10, recv_a), 0);
	fabric_disconnect(pair.client);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1)->status, 0);
	assert_int_equal(pair.log[0].type, FABRIC_EV_RECV);
	assert_int_equal(pair.log[0].status, ERR_FLUSHED);
	sock_pair_fini(&pair);
}

static void post_server_recv(struct sock_pair *p, struct fabric_conn *c)
{
	(void)p;
	for (int i = 0; i < 4; i++)
		assert_int_equal(fabric_post_recv(c, recv_b, sizeof(recv_b), recv_b), 0);
}

static size_t hello(uint8_t *out, uint32_t msn)
{
	struct ddp_header h = {.last = true, .opcode = RDMAP_SEND, .msn = msn};

	return make_fpdu(out, &h, "hello", 5, true);
}

/* A Send and the end of the stream in one go: both are noticed. */
static void test_send_and_close(void **state)
{
	uint8_t wire[64];
	size_t n = hello(wire, 1);
	struct fabric_event *ev;
	int fd;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	steps(2);
	assert_int_equal(send(fd, wire, n, 0), n);
	close(fd);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1)->len, 5);
	ev = sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, 0);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_RECV), 4);
	assert_ptr_equal(ev, &pair.log[pair.logged - 1]);
	sock_pair_fini(&pair);
}

static void test_vanishes_in_fpdu(void **state)
{
	uint8_t wire[64];
	size_t n = hello(wire, 1);
	int fd;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(fd, wire, n - 3, 0), n - 3);
	close(fd);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status,
			 ERR_CLOSED);
	sock_pair_fini(&pair);
}

/* A message that was begun must arrive, and faster than single octets now and then. A connection
 * that is silent between messages may stay so for ever. */
static void half_a_message(bool drips)
{
	uint8_t wire[64];
	size_t n = hello(wire, 1), sent = 6;
	nsec_t begin = poll_loop_now(), next = begin;
	int fd;

	cfg.stall_timeout_ms = 600;
	start();
	pair.wait_ms = 10;
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(fd, wire, sent, 0), sent);
	while (!sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED)) {
		if (drips && sent < n - 1 && poll_loop_now() > next) {
			assert_int_equal(send(fd, wire + sent++, 1, 0), 1);
			next = poll_loop_now() + 100 * NSEC_PER_MS;
		}
		sock_pair_step(&pair);
		assert_true(poll_loop_now() < begin + 10 * NSEC_PER_SEC);
	}
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status,
			 ERR_TIMEOUT);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_RECV), 4); /* flushed */
	close(fd);
	sock_pair_fini(&pair);
}

static void test_half_a_message(void **state)
{
	(void)state;
	half_a_message(false);
	half_a_message(true);
}

static void test_silent_between_messages(void **state)
{
	uint8_t wire[64];
	size_t n = hello(wire, 1);
	nsec_t end;
	int fd;

	(void)state;
	cfg.stall_timeout_ms = 300;
	start();
	pair.wait_ms = 10;
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(fd, wire, 6, 0), 6);
	steps(3);
	assert_int_equal(send(fd, wire + 6, n - 6, 0), n - 6);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1)->len, 5);
	for (end = poll_loop_now() + NSEC_PER_SEC; poll_loop_now() < end;)
		sock_pair_step(&pair);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 0);
	n = hello(wire, 2);
	assert_int_equal(send(fd, wire, n, 0), n);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 2)->len, 5);
	close(fd);
	sock_pair_fini(&pair);
}

/* A breach is answered with a Terminate, then a FIN. */
static void test_terminate(void **state)
{
	uint8_t wire[64], answer[256];
	size_t n = hello(wire, 7);
	struct fabric_event *ev;
	ssize_t got;
	int fd;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(fd, wire, n, 0), n);
	steps(3);
	got = recv(fd, answer, sizeof(answer), 0);
	assert_true(got > 24);
	assert_int_equal(answer[3], 0x47);
	assert_memory_equal(answer + 20, "\x12\x03\xc0", 3);
	assert_int_equal(recv(fd, answer, sizeof(answer), 0), 0);
	close(fd);
	ev = sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, ERR_PROTO);
	assert_string_equal(ev->why, "DDP: message sequence number out of range");
	sock_pair_fini(&pair);
}

/* The acceptor says nothing before the initiator did (RFC 5044 section 7.1.2). */
static void test_acceptor_waits(void **state)
{
	struct fabric_sge sge = {"early", 5};
	uint8_t wire[64], answer[64];
	size_t n = hello(wire, 1);
	int fd;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(fabric_send(pair.server, &sge, 1, 0, NULL), 0);
	steps(3);
	assert_int_equal(recv(fd, answer, sizeof(answer), MSG_DONTWAIT), -1);
	assert_int_equal(send(fd, wire, n, 0), n);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_SEND, 1);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 20);
	close(fd);
	sock_pair_fini(&pair);
}

/* The initiator leaves the acceptor a moment before its first FPDU. */
static void test_initiator_holds(void **state)
{
	struct fabric_sge sge = {"first", 5};
	nsec_t connected;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	assert_int_equal(fabric_connect(pair.f, &pair.addr, &pair.params, &pair, &pair.client), 0);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_CONNECTED, 1);
	connected = poll_loop_now();
	assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_SEND, 1);
	assert_true(poll_loop_now() - connected >= NSEC_PER_MS);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	sock_pair_fini(&pair);
}

static void run_ms(int ms)
{
	nsec_t end = poll_loop_now() + (nsec_t)ms * NSEC_PER_MS;

	while (poll_loop_now() < end)
		sock_pair_step(&pair);
}

/* Seen with Linux siw: a first FPDU lies unread until more octets come. While the first answer is
 * late the initiator sends some that mean nothing, and none any more once it has come. */
static void test_late_first_answer_is_nudged(void **state)
{
	struct fabric_sge sge = {"first", 5};
	static uint8_t answer[64];
	uint64_t settled;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	assert_int_equal(fabric_connect(pair.f, &pair.addr, &pair.params, &pair, &pair.client), 0);
	assert_int_equal(fabric_post_recv(pair.client, answer, sizeof(answer), NULL), 0);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_CONNECTED, 1);
	assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	run_ms(150);
	assert_true(counters()->fpdus_in >= 3);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_RECV), 1);
	assert_int_equal(fabric_send(pair.server, &sge, 1, 0, NULL), 0);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_RECV, 1);
	settled = counters()->fpdus_in;
	run_ms(400);
	assert_int_equal(counters()->fpdus_in, settled);
	sock_pair_fini(&pair);
}

/* A peer that stops reading: the stall bound ends it, other things go on. */
static void test_stops_reading(void **state)
{
	uint8_t wire[64];
	size_t n = hello(wire, 1);
	struct fabric_event *ev;
	nsec_t begin;
	int fd;

	(void)state;
	cfg.stall_timeout_ms = 400;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(send(fd, wire, n, 0), n);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(
			fabric_send(pair.server, &(struct fabric_sge){big, BIG}, 1, 0, NULL), 0);
	begin = poll_loop_now();
	ev = sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, ERR_TIMEOUT);
	assert_true(poll_loop_now() - begin < 3 * NSEC_PER_SEC);
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_SEND), 8);
	close(fd);
	sock_pair_fini(&pair);
}

/* A peer that reads slowly, far too little for the socket to call for more, is not one that stalls;
 * until it does. */
static void test_reads_slowly(void **state)
{
	enum { SIP = 64 << 10, SIPS = 16 };
	static uint8_t sip[SIP];
	uint8_t wire[64];
	size_t n = hello(wire, 1);
	int fd, room = SIP; /* so that the kernel does not take much in the peer's stead */

	(void)state;
	cfg.stall_timeout_ms = 2400;
	start();
	pair.before_accept = post_server_recv;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	assert_int_equal(send(fd, wire, n, 0), n);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(
			fabric_send(pair.server, &(struct fabric_sge){big, BIG}, 1, 0, NULL), 0);
	for (int i = 0; i < SIPS; i++) {
		run_ms(200);
		assert_in_range(recv(fd, sip, SIP, 0), 1, SIP);
	}
	assert_int_equal(sock_pair_count(&pair, pair.server, FABRIC_EV_DISCONNECTED), 0);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status,
			 ERR_TIMEOUT);
	close(fd);
	sock_pair_fini(&pair);
}

/* disconnect() lets what was posted out, however much it is. */
static void test_disconnect_drains(void **state)
{
	struct fabric_sge sge = {big, BIG};
	struct segment seg;
	struct fabric_event *ev;

	(void)state;
	for (size_t i = 0; i < BIG; i++)
		big[i] = (uint8_t)(i * 5 + (i >> 10));
	start();
	pair.before_accept = post_server_recv;
	sock_pair_connect(&pair);
	assert_int_equal(fabric_expose(pair.server, sink, BIG, FABRIC_REMOTE_WRITE, &seg), 0);
	assert_int_equal(fabric_post_recv(pair.client, recv_a, 10, recv_a), 0);
	assert_int_equal(fabric_write(pair.client, &sge, 1, &seg, NULL), 0);
	assert_int_equal(fabric_send(pair.client, &(struct fabric_sge){"bye", 3}, 1, 0, NULL), 0);
	fabric_disconnect(pair.client);
	assert_int_equal(fabric_send(pair.client, NULL, 0, 0, NULL), ERR_CLOSED);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1)->len, 3);
	assert_memory_equal(sink, big, BIG);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_WRITE, 1)->status, 0);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_SEND, 1)->status, 0);
	assert_int_equal(sock_pair_wait(&pair, pair.client, FABRIC_EV_RECV, 1)->status,
			 ERR_FLUSHED);
	ev = sock_pair_wait(&pair, pair.client, FABRIC_EV_DISCONNECTED, 1);
	assert_int_equal(ev->status, 0);
	assert_int_equal(sock_pair_wait(&pair, pair.server, FABRIC_EV_DISCONNECTED, 1)->status, 0);
	assert_int_equal(fabric_expose(pair.client, sink, 1, FABRIC_REMOTE_READ, &seg), ERR_CLOSED);
	sock_pair_fini(&pair);
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Destroyed at every moment of their lives; nothing is left behind. */
static void test_destroy_any_time(void **state)
{
	uint64_t live = mem_live();
	unsigned fds = open_fds();

	(void)state;
	for (int moment = 0; moment < 25; moment++) {
		struct segment seg;

		start();
		pair.wait_ms = moment % 3;
		pair.before_accept = post_server_recv;
		assert_int_equal(
			fabric_connect(pair.f, &pair.addr, &pair.params, &pair, &pair.client), 0);
		for (int i = 0; i < moment; i++)
			sock_pair_step(&pair);
		(void)!fabric_send(pair.client, &(struct fabric_sge){big, 4096}, 1, 0, NULL);
		(void)!fabric_write(pair.client, &(struct fabric_sge){big, BIG}, 1, &seg, NULL);
		(void)!fabric_expose(pair.client, big, BIG, FABRIC_REMOTE_READ, &seg);
		(void)!fabric_read(pair.client, sink, &seg, NULL);
		if (moment & 1)
			sock_pair_step(&pair);
		fabric_destroy(pair.client);
		pair.client = NULL;
		steps(2);
		sock_pair_fini(&pair);
	}
	assert_int_equal(mem_live(), live);
	assert_int_equal(open_fds(), fds);
}

static void test_allocation_fails(void **state)
{
	uint64_t live;

	(void)state;
	start();
	live = mem_live();
	for (uint64_t i = 1; i <= 7; i++) {
		mem_fail_at(i);
		assert_int_equal(
			fabric_connect(pair.f, &pair.addr, &pair.params, &pair, &pair.client),
			ERR_NOMEM);
		mem_fail_at(0);
		assert_int_equal(mem_live(), live);
	}
	pair.client = NULL;
	sock_pair_connect(&pair);
	sock_pair_fini(&pair);
}

/* The answer to @octets, from a peer that goes on talking: whole, and no reset behind it. */
static void is_reported_why(const char *octets, size_t len, size_t answer_len)
{
	static const uint8_t more[3000];
	uint8_t answer[100];
	size_t have = 0;
	ssize_t n = -1;
	int fd = sock_pair_raw(&pair);

	assert_int_equal(send(fd, octets, len, 0), len);
	assert_int_equal(send(fd, more, sizeof(more), 0), sizeof(more));
	for (nsec_t end = poll_loop_now() + 900 * NSEC_PER_MS; n && poll_loop_now() < end;
	     sock_pair_step(&pair)) {
		n = recv(fd, answer + have, sizeof(answer) - have, MSG_DONTWAIT);
		assert_true(n >= 0 || errno == EAGAIN);
		have += n > 0 ? (size_t)n : 0;
		if (have == answer_len && have) /* it takes its time */
			assert_int_equal(send(fd, more, 100, MSG_NOSIGNAL), 100), answer_len = 0;
	}
	assert_int_equal(n, 0); /* the end, in order */
	assert_memory_equal(answer, "MPA ID Rep Frame", 16);
	assert_int_equal(answer[16] & 0x20, 0x20);
	close(fd);
}

/* A rejection reaches a peer that has sent octets behind its Request. */
static void test_rejection_is_not_overtaken(void **state)
{
	(void)state;
	start();
	pair.reject = 1;
	is_reported_why("MPA ID Req Frame\0\1\0\0", 20, 22);
	is_reported_why("MPA ID Req Frame\x80\1\0\0", 20, 20);
	sock_pair_fini(&pair);
}

/* Only some of the peers that do not close are kept, and none for long. */
static void test_rejected_and_silent(void **state)
{
	enum { MANY = 100, KEPT = 64 };
	int fd[MANY];
	unsigned fds;

	(void)state;
	start();
	pair.reject = 1;
	fds = open_fds() + MANY;
	for (int i = 0; i < MANY; i++)
		fd[i] = sock_pair_raw(&pair);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(send(fd[i], "MPA ID Req Frame\0\1\0\0", 20, 0), 20);
	while (pair.requests < MANY)
		sock_pair_step(&pair);
	assert_in_range(open_fds(), fds + 1, fds + KEPT);
	for (nsec_t end = poll_loop_now() + 3 * NSEC_PER_SEC;
	     open_fds() > fds && poll_loop_now() < end;)
		sock_pair_step(&pair);
	assert_int_equal(open_fds(), fds);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	sock_pair_fini(&pair);
}

static unsigned lines;

static void count_line(const char *line)
{
	lines += strstr(line, "iwarp.accept") != NULL;
}

/* No descriptors left: accepting pauses, says so, and goes on when there are some again. */
static void test_no_descriptors(void **state)
{
	struct rlimit old, low;
	int fd;

	(void)state;
	cfg.setup_timeout_ms = 5000;
	lines = 0;
	log_set_sink(count_line);
	start();
	fd = sock_pair_raw(&pair);
	assert_int_equal(send(fd, "MPA ID Req Frame\0\1\0\0", 20, 0), 20);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = (rlim_t)fd + 1;
	setrlimit(RLIMIT_NOFILE, &low);
	for (nsec_t end = poll_loop_now() + 250 * NSEC_PER_MS; poll_loop_now() < end;)
		sock_pair_step(&pair);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_null(pair.server);
	assert_in_range(lines, 1, 5);
	while (!pair.server)
		sock_pair_step(&pair);
	log_set_sink(NULL);
	close(fd);
	sock_pair_fini(&pair);
}

/* Numbers that are another's are not taken: accepting pauses as without descriptors, and no connection is begun. */
static void test_descriptors_kept(void **state)
{
	struct fabric_conn *conn = NULL;
	int fd;

	(void)state;
	cfg.descriptors = 1;
	lines = 0;
	log_set_sink(count_line);
	start();
	fd = sock_pair_raw(&pair);
	for (nsec_t end = poll_loop_now() + 250 * NSEC_PER_MS; poll_loop_now() < end;)
		sock_pair_step(&pair);
	assert_in_range(lines, 1, 5);
	assert_int_equal(fabric_connect(pair.f, &pair.addr, &pair.params, NULL, &conn), ERR_LOCAL);
	assert_null(conn);
	log_set_sink(NULL);
	close(fd);
	sock_pair_fini(&pair);
}

/* Steady traffic takes nothing from the heap, once the pools hold what it needs. */
static void test_no_allocation(void **state)
{
	struct segment seg;
	uint32_t written;
	uint64_t allocs = 0;

	(void)state;
	start();
	pair.before_accept = post_server_recv;
	sock_pair_connect(&pair);
	for (int i = 0; i < 200; i++) {
		if (i == 1)
			allocs = mem_allocs();
		pair.logged = 0;
		assert_int_equal(fabric_post_recv(pair.server, recv_b, sizeof(recv_b), NULL), 0);
		assert_int_equal(fabric_expose(pair.server, sink, BIG,
					       FABRIC_REMOTE_WRITE | FABRIC_REMOTE_READ, &seg),
				 0);
		assert_int_equal(
			fabric_write(pair.client, &(struct fabric_sge){big, 100000}, 1, &seg, NULL),
			0);
		seg.length = 70000;
		assert_int_equal(fabric_read(pair.client, big, &seg, NULL), 0);
		sock_pair_wait(&pair, pair.client, FABRIC_EV_READ, 1);
		assert_int_equal(fabric_send(pair.client, NULL, 0, seg.handle, NULL), 0);
		sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
		assert_int_equal(fabric_withdraw(pair.server, seg.handle, NULL, &written), 1);
		assert_int_equal(written, 100000);
	}
	assert_int_equal(mem_allocs(), allocs);
	assert_int_equal(counters()->copied_bytes, 0);
	assert_int_equal(pair.server->handles_live, 0);
	sock_pair_fini(&pair);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_says_nothing),
		T(test_half_a_request),
		T(test_revision_3),
		T(test_no_mpa),
		T(test_endless_private_data),
		T(test_markers_rejected),
		T(test_rejection_is_not_overtaken),
		T(test_rejected_and_silent),
		T(test_slow_loris),
		T(test_detach),
		T(test_address_taken),
		T(test_disconnect_in_setup),
		T(test_send_and_close),
		T(test_vanishes_in_fpdu),
		T(test_half_a_message),
		T(test_silent_between_messages),
		T(test_terminate),
		T(test_acceptor_waits),
		T(test_initiator_holds),
		T(test_late_first_answer_is_nudged),
		T(test_stops_reading),
		T(test_reads_slowly),
		T(test_disconnect_drains),
		T(test_destroy_any_time),
		T(test_allocation_fails),
		T(test_no_descriptors),
		T(test_descriptors_kept),
		T(test_no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
