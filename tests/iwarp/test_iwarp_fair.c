/* SPDX-License-Identifier: BSD-2-Clause */
/* Cost of peers with large transfers for a peer with small ones. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum {
	BULK = 3,      /* connections that move much */
	WRITES = 16,   /* in flight on each */
	LEN = 1 << 20, /* of one */
	FLUSH = 1
		<< 20, /* octets of one connection in one flush: its share, and what was gathered */
	TURN = 2 << 20,	 /* octets of all in one step */
	PING = 12 << 20, /* octets of all while a small message is under way */
};

struct bulk {
	struct fabric_conn *client, *server;
	uint8_t target[LEN];
};

static struct sock_pair pair;
static struct bulk bulk[BULK];
static uint8_t source[LEN], recv_buf[4096];

static uint64_t moved(void)
{
	return iwarp_counters(pair.f)->bytes_in + iwarp_counters(pair.f)->bytes_out;
}

static void post_recv(struct sock_pair *p, struct fabric_conn *c)
{
	(void)p;
	assert_int_equal(fabric_post_recv(c, recv_buf, sizeof(recv_buf), recv_buf), 0);
}

/* An initiator speaks first, and waits a little before it does. */
static void connect_pair(void)
{
	struct fabric_sge sge = {"first", 5};

	sock_pair_connect(&pair);
	assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	sock_pair_wait(&pair, pair.client, FABRIC_EV_SEND, 1);
}

static void start(void)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	cfg.crc = false;
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.params.max_sends = WRITES;
	pair.before_accept = post_recv;
	for (unsigned i = 0; i < BULK; i++) {
		connect_pair();
		bulk[i].client = pair.client;
		bulk[i].server = pair.server;
		pair.client = pair.server = NULL;
	}
	connect_pair();
	post_recv(&pair, pair.server);
	pair.logged = 0;
	pair.wait_ms = 0;
}

static void end(void)
{
	for (unsigned i = 0; i < BULK; i++) {
		fabric_destroy(bulk[i].client);
		fabric_destroy(bulk[i].server);
	}
	sock_pair_fini(&pair);
}

static void post_bulk(struct bulk *b)
{
	struct fabric_sge sge = {source, LEN};
	struct segment seg;

	assert_int_equal(fabric_expose(b->server, b->target, LEN, FABRIC_REMOTE_WRITE, &seg), 0);
	for (unsigned i = 0; i < WRITES; i++)
		assert_int_equal(fabric_write(b->client, &sge, 1, &seg, b), 0);
}

/* Return: whether the small message arrived; *@written: Writes that are over. */
static bool step(unsigned *written)
{
	uint64_t before = moved();
	bool arrived;

	sock_pair_step(&pair);
	assert_true(moved() - before <= TURN);
	arrived = sock_pair_count(&pair, pair.server, FABRIC_EV_RECV);
	*written += sock_pair_count(&pair, NULL, FABRIC_EV_WRITE);
	pair.logged = 0;
	return arrived;
}

static void test_one_flush(void **state)
{
	uint64_t before;

	(void)state;
	start();
	post_bulk(&bulk[0]);
	before = moved();
	fabric_flush(pair.f);
	assert_true(moved() > before);
	assert_true(moved() - before <= FLUSH);
	end();
}

/* Every octet of the bulk arrives, and small messages pass it by. */
static void test_small_beside_bulk(void **state)
{
	struct fabric_sge sge = {"ping", 4};
	unsigned pings = 0, written = 0;
	bool arrived = true;
	uint64_t all, sent_at = 0;

	(void)state;
	start();
	for (size_t i = 0; i < LEN; i++)
		source[i] = (uint8_t)(i * 7 + (i >> 9));
	for (unsigned i = 0; i < BULK; i++)
		post_bulk(&bulk[i]);
	all = moved() + 2ull * BULK * WRITES * LEN;
	while (written < BULK * WRITES || moved() < all) {
		if (arrived) {
			pings++;
			sent_at = moved();
			assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
		}
		arrived = step(&written);
		if (arrived)
			post_recv(&pair, pair.server);
		assert_true(moved() - sent_at <= PING);
	}
	assert_true(pings > 8);
	for (unsigned i = 0; i < BULK; i++)
		assert_memory_equal(bulk[i].target, source, LEN);
	end();
}

/* Many connections that together move as much as a turn may, each so little that it need not wait for the end of
 * the turn. */
enum {
	CROWD = 12,
	SHARE = 45000, /* octets of one in a turn: all but the last begin before these are too many */
	ROUNDS = 2000, /* turns that one beside them may have to wait */
};

static struct sock_pair far; /* the other ends of .crowd */
static struct bulk crowd[CROWD];

static void both_step(void)
{
	sock_pair_step(&far);
	sock_pair_step(&pair);
}

/* From one instance to the other. */
static void connect_far(struct bulk *b)
{
	nsec_t late = poll_loop_now() + 20 * NSEC_PER_SEC;

	pair.logged = far.logged = 0;
	assert_int_equal(fabric_connect(far.f, &pair.addr, &far.params, b, &b->client), 0);
	while (!sock_pair_count(&far, b->client, FABRIC_EV_CONNECTED)) {
		assert_true(poll_loop_now() < late);
		both_step();
	}
	b->server = pair.server;
	pair.server = NULL;
	assert_non_null(b->server);
}

/* Return: Writes that were over. */
static unsigned session_limits_writes(void)
{
	static struct segment segs[CROWD];
	struct fabric_sge sge = {source, SHARE};
	unsigned n = 0;

	for (unsigned i = 0; i < CROWD; i++) {
		struct bulk *b = &crowd[i];

		if (!segs[i].length)
			assert_int_equal(fabric_expose(b->server, b->target, SHARE,
						       FABRIC_REMOTE_WRITE, &segs[i]),
					 0);
		else if (sock_pair_count(&far, b->client, FABRIC_EV_WRITE))
			n++;
		else
			continue;
		assert_int_equal(fabric_write(b->client, &sge, 1, &segs[i], b), 0);
	}
	pair.logged = far.logged = 0;
	return n;
}

/* A new connection waits for its turn, which comes. */
static void test_new_beside_crowd(void **state)
{
	static struct bulk one;
	struct fabric_sge sge = {"hello", 5};
	struct iwarp_config cfg;
	nsec_t late = poll_loop_now() + 20 * NSEC_PER_SEC;
	unsigned rounds = 0;
	bool sent = false, came = false;

	(void)state;
	iwarp_config_default(&cfg);
	cfg.crc = false;
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	sock_pair_init(&far, &cfg, "127.0.0.1");
	pair.before_accept = post_recv;
	pair.wait_ms = far.wait_ms = 0;
	for (unsigned i = 0; i < CROWD; i++)
		connect_far(&crowd[i]);
	/* Each waits a little before it speaks. */
	for (unsigned written = 0; written < 64 * CROWD; written += session_limits_writes()) {
		assert_true(poll_loop_now() < late);
		both_step();
	}
	assert_int_equal(fabric_connect(far.f, &pair.addr, &far.params, &one, &one.client), 0);
	while (!came && rounds < ROUNDS) {
		assert_true(poll_loop_now() < late);
		if (sock_pair_count(&far, one.client, FABRIC_EV_CONNECTED))
			assert_int_equal(fabric_send(one.client, &sge, 1, 0, NULL), 0);
		sent |= sock_pair_count(&far, one.client, FABRIC_EV_SEND) > 0;
		(void)session_limits_writes();
		both_step();
		came = sock_pair_count(&pair, pair.server, FABRIC_EV_RECV) > 0;
		rounds += sent;
	}
	assert_true(came);
	for (unsigned i = 0; i < CROWD; i++) {
		fabric_destroy(crowd[i].client);
		fabric_destroy(crowd[i].server);
	}
	fabric_destroy(one.client);
	sock_pair_fini(&far);
	sock_pair_fini(&pair);
}

/* A connection that always has an event must not get all events. */
enum { MANY = 32, BETWEEN = 16 };

static void post_many(struct sock_pair *p, struct fabric_conn *c)
{
	for (unsigned i = 0; i < MANY; i++)
		post_recv(p, c);
}

static void test_events_by_turns(void **state)
{
	struct fabric_sge sge = {"ping", 4};
	struct iwarp_config cfg;
	unsigned before = 0, i = 0;

	(void)state;
	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.params.max_sends = MANY;
	pair.params.max_recvs = MANY;
	pair.before_accept = post_many;
	connect_pair();
	post_recv(&pair, pair.server);
	bulk[0] = (struct bulk){.client = pair.client, .server = pair.server};
	pair.client = pair.server = NULL;
	connect_pair();
	pair.logged = 0;
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(fabric_send(bulk[0].client, &sge, 1, 0, NULL), 0);
	assert_int_equal(fabric_send(pair.client, &sge, 1, 0, NULL), 0);
	sock_pair_wait(&pair, pair.server, FABRIC_EV_RECV, 1);
	for (; pair.log[i].conn != pair.server; i++)
		before += pair.log[i].conn == bulk[0].server;
	assert_true(before <= BETWEEN);
	sock_pair_wait(&pair, bulk[0].server, FABRIC_EV_RECV, MANY);
	fabric_destroy(bulk[0].client);
	fabric_destroy(bulk[0].server);
	sock_pair_fini(&pair);
}

/* Where the payload of a Read is expected each empty Write costs a system call: these count, too. */
enum { EMPTY = 4000, CALLS = 600 };

static void test_empty_writes(void **state)
{
	static uint8_t wire[EMPTY * 32], sink[4097];
	struct ddp_header h = {.tagged = true, .last = true, .opcode = RDMAP_WRITE};
	struct segment remote = {.handle = 1, .length = sizeof(sink)};
	struct iwarp_config cfg;
	size_t n = 0;
	unsigned steps = 0;
	int fd;

	(void)state;
	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 0;
	fd = sock_pair_raw_open(&pair);
	assert_int_equal(fabric_read(pair.server, sink, &remote, NULL), 0);
	for (unsigned i = 0; i < EMPTY; i++)
		n += make_fpdu(wire + n, &h, "", 0, true);
	assert_int_equal(send(fd, wire, n, 0), n);
	for (uint64_t in = 0; in < n; steps++) {
		uint64_t calls = iwarp_counters(pair.f)->syscalls_read;

		sock_pair_step(&pair);
		assert_true(iwarp_counters(pair.f)->syscalls_read - calls <= CALLS);
		in = iwarp_counters(pair.f)->bytes_in;
	}
	assert_true(steps > EMPTY / CALLS);
	assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), 0);
	close(fd);
	sock_pair_fini(&pair);
}

/* A connection that sends much, and to which nothing is sent, costs no reads. */
static void test_nothing_to_read(void **state)
{
	enum { MESSAGES = 24 };
	static uint8_t taken[1 << 20];
	struct ddp_header h = {.tagged = true, .last = true, .opcode = RDMAP_WRITE};
	struct fabric_sge sge = {source, LEN};
	struct segment remote = {.handle = 1, .length = LEN};
	struct iwarp_config cfg;
	uint64_t calls, out;
	size_t n;
	int fd;

	(void)state;
	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 0;
	pair.params.max_sends = MESSAGES;
	fd = sock_pair_raw_open(&pair);
	/* The initiator speaks first. */
	n = make_fpdu(taken, &h, "", 0, true);
	assert_int_equal(send(fd, taken, n, 0), n);
	while (iwarp_counters(pair.f)->bytes_in < n)
		sock_pair_step(&pair);
	calls = iwarp_counters(pair.f)->syscalls_read;
	out = iwarp_counters(pair.f)->bytes_out;
	for (unsigned i = 0; i < MESSAGES; i++)
		assert_int_equal(fabric_write(pair.server, &sge, 1, &remote, NULL), 0);
	while (iwarp_counters(pair.f)->bytes_out - out < (uint64_t)MESSAGES * LEN) {
		sock_pair_step(&pair);
		while (recv(fd, taken, sizeof(taken), MSG_DONTWAIT) > 0)
			;
	}
	assert_in_range(iwarp_counters(pair.f)->syscalls_read - calls, 0, 4);
	close(fd);
	sock_pair_fini(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_flush),	 cmocka_unit_test(test_small_beside_bulk),
		cmocka_unit_test(test_new_beside_crowd), cmocka_unit_test(test_events_by_turns),
		cmocka_unit_test(test_empty_writes),	 cmocka_unit_test(test_nothing_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
