/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers begin messages and do not finish them, as many as there are Receives. Another peer beside
 * them is served.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum {
	RECVS = 8, /* all there are */
	LEN = 65536,
	WAIT_S = 10, /* far less than the gateway's least rate leaves to a message */
};

struct peer {
	struct fabric_conn *conn;
	int fd;
};

static struct sock_pair pair;
static struct peer peers[RECVS], modest;
static uint8_t recvs[RECVS][LEN];

static void peer_open(struct peer *p)
{
	p->fd = sock_pair_raw_open(&pair);
	p->conn = pair.server;
	pair.server = NULL;
	pair.logged = 0;
}

static void peer_close(struct peer *p)
{
	close(p->fd);
	fabric_destroy(p->conn);
}

static uint32_t stall_timeout_ms; /* 0: the default */

static void start(void)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	if (stall_timeout_ms)
		cfg.stall_timeout_ms = stall_timeout_ms;
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 50;
	assert_int_equal(fabric_share_receives(pair.f, LEN, &pair), 0);
	for (unsigned i = 0; i < RECVS; i++)
		peer_open(&peers[i]);
	peer_open(&modest);
	for (unsigned i = 0; i < RECVS; i++)
		assert_int_equal(fabric_post_shared(pair.f, recvs[i], recvs[i]), 0);
}

static void end(void)
{
	for (unsigned i = 0; i < RECVS; i++)
		peer_close(&peers[i]);
	peer_close(&modest);
	fabric_unshare_receives(pair.f);
	sock_pair_fini(&pair);
}

static void say(int fd, struct ddp_header h, const char *payload)
{
	uint8_t wire[256];
	size_t n = make_fpdu(wire, &h, payload, (uint32_t)strlen(payload), true);

	assert_true(send(fd, wire, n, MSG_NOSIGNAL) == (ssize_t)n || errno == EPIPE ||
		    errno == ECONNRESET);
}

/* Octets that the peers send while another peer waits; NULL: none. */
typedef void keeping(const struct peer *p);

static void say_write(const struct peer *p)
{
	say(p->fd, (struct ddp_header){.tagged = true, .last = true, .opcode = RDMAP_WRITE}, "");
}

static void one_beside_them(const char *begun, keeping *keep)
{
	nsec_t next = 0, late = poll_loop_now() + WAIT_S * NSEC_PER_SEC;

	start();
	for (unsigned i = 0; i < RECVS; i++)
		say(peers[i].fd, (struct ddp_header){.opcode = RDMAP_SEND, .msn = 1}, begun);
	for (unsigned i = 0; i < 5; i++)
		sock_pair_step(&pair);
	say(modest.fd, (struct ddp_header){.last = true, .opcode = RDMAP_SEND, .msn = 1}, "hello");
	while (!sock_pair_count(&pair, modest.conn, FABRIC_EV_RECV)) {
		assert_true(poll_loop_now() < late);
		for (unsigned i = 0; keep && i < RECVS && poll_loop_now() > next; i++)
			if (!sock_pair_count(&pair, peers[i].conn, FABRIC_EV_DISCONNECTED))
				keep(&peers[i]);
		if (poll_loop_now() > next)
			next = poll_loop_now() + 100 * NSEC_PER_MS;
		sock_pair_step(&pair);
	}
	assert_int_equal(sock_pair_count(&pair, modest.conn, FABRIC_EV_DISCONNECTED), 0);
	end();
}

static void test_begun_without_octets(void **state)
{
	(void)state;
	one_beside_them("", NULL);
}

static void test_begun(void **state)
{
	(void)state;
	one_beside_them("x", NULL);
}

static void test_begun_and_other_messages(void **state)
{
	(void)state;
	one_beside_them("x", say_write);
}

/* More than the least number of octets for each look at a connection for which nobody waits, and less
 * than those for whom others wait have to send. */
static void say_little(const struct peer *p)
{
	static const uint8_t octets[600];
	static uint32_t at[RECVS];
	uint8_t wire[1024];
	unsigned i = (unsigned)(p - peers);
	struct ddp_header h = {.opcode = RDMAP_SEND, .msn = 1, .offset = 1 + at[i]};
	size_t n = make_fpdu(wire, &h, octets, sizeof(octets), true);

	assert_int_equal(send(p->fd, wire, n, 0), n);
	at[i] += sizeof(octets);
}

/* Each look has its own count of what came. */
static void test_begun_and_looked_at_often(void **state)
{
	(void)state;
	stall_timeout_ms = 1000;
	one_beside_them("x", say_little);
	stall_timeout_ms = 0;
}

/* Peers with slow lines send a little at a time, and end their messages. Another connection waits
 * for that. The worker does nothing for @pause after 11 parts. */
static void slow_ones(nsec_t pause)
{
	enum { PART = LEN / 16 };
	struct ddp_header h = {.opcode = RDMAP_SEND, .msn = 1};
	uint8_t wire[2 * PART], octets[PART] = {0};
	nsec_t next, began;

	start();
	pair.wait_ms = 5; /* the look for those that wait follows the other one at once */
	began = poll_loop_now();
	for (; h.offset < LEN; h.offset += PART) {
		h.last = h.offset == LEN - PART;
		for (unsigned i = 0; i < RECVS; i++) {
			size_t n = make_fpdu(wire, &h, octets, PART, true);

			assert_int_equal(send(peers[i].fd, wire, n, MSG_NOSIGNAL), n);
		}
		if (!h.offset) {
			for (unsigned i = 0; i < 5; i++)
				sock_pair_step(&pair);
			say(modest.fd,
			    (struct ddp_header){.last = true, .opcode = RDMAP_SEND, .msn = 1},
			    "hello");
		}
		next = began + (h.offset / PART + 1) * 250 * NSEC_PER_MS;
		while (poll_loop_now() < next - pause)
			sock_pair_step(&pair);
		if (pause && h.offset == 11 * PART)
			usleep((useconds_t)(2 * pause / 1000));
		while (poll_loop_now() < next)
			sock_pair_step(&pair);
		assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), 0);
	}
	for (unsigned i = 0; i < RECVS; i++) {
		sock_pair_wait(&pair, peers[i].conn, FABRIC_EV_RECV, 1);
		assert_int_equal(fabric_post_shared(pair.f, recvs[i], recvs[i]), 0);
	}
	sock_pair_wait(&pair, modest.conn, FABRIC_EV_RECV, 1);
	assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), 0);
	end();
}

static void test_slow_ones(void **state)
{
	(void)state;
	slow_ones(0);
}

/* Both looks at a message are due in the same tick: half of the time-out has passed, and others
 * wait. */
static void test_slow_ones_and_both_looks_at_once(void **state)
{
	(void)state;
	stall_timeout_ms = 6000;
	slow_ones(100 * NSEC_PER_MS);
	stall_timeout_ms = 0;
}

static void steps_for(nsec_t ns)
{
	for (nsec_t until = poll_loop_now() + ns; poll_loop_now() < until;)
		sock_pair_step(&pair);
}

/* Peers hold all Receives but one. Two others use this one in turn, and do not wait for it all of
 * the time. */
static void test_others_wait_at_times(void **state)
{
	enum { ROUNDS = 12, WAIT_MS = 600, PAUSE_MS = 300 };
	struct peer *others[2] = {&peers[0], &modest};

	(void)state;
	start();
	for (unsigned i = 1; i < RECVS; i++)
		say(peers[i].fd, (struct ddp_header){.opcode = RDMAP_SEND, .msn = 1}, "x");
	steps_for(50 * NSEC_PER_MS);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		struct fabric_event *ev;

		say(others[n % 2]->fd,
		    (struct ddp_header){.last = true, .opcode = RDMAP_SEND, .msn = n / 2 + 1}, "a");
		if (n == 0)
			continue;
		steps_for(WAIT_MS * NSEC_PER_MS);
		ev = sock_pair_wait(&pair, others[(n - 1) % 2]->conn, FABRIC_EV_RECV, (n + 1) / 2);
		assert_int_equal(fabric_post_shared(pair.f, ev->cookie, ev->cookie), 0);
		steps_for(PAUSE_MS * NSEC_PER_MS);
	}
	assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), RECVS - 1);
	end();
}

/* The gateway reads nothing more from a disconnected peer: memory that a message had begun to fill is free at once. */
static void test_disconnected(void **state)
{
	(void)state;
	start();
	for (unsigned i = 0; i < RECVS; i++)
		say(peers[i].fd, (struct ddp_header){.opcode = RDMAP_SEND, .msn = 1}, "x");
	for (unsigned i = 0; i < 5; i++)
		sock_pair_step(&pair);
	for (unsigned i = 0; i < RECVS; i++)
		fabric_disconnect(peers[i].conn);
	say(modest.fd, (struct ddp_header){.last = true, .opcode = RDMAP_SEND, .msn = 1}, "hello");
	sock_pair_wait(&pair, modest.conn, FABRIC_EV_RECV, 1);
	assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), 0);
	end();
}

/* As long as there are Receives nobody is in a hurry. */
static void test_slow_alone(void **state)
{
	nsec_t until;

	(void)state;
	start();
	say(peers[0].fd, (struct ddp_header){.opcode = RDMAP_SEND, .msn = 1}, "he");
	for (until = poll_loop_now() + 2 * NSEC_PER_SEC; poll_loop_now() < until;)
		sock_pair_step(&pair);
	say(peers[0].fd,
	    (struct ddp_header){.last = true, .opcode = RDMAP_SEND, .msn = 1, .offset = 2}, "llo");
	assert_int_equal(sock_pair_wait(&pair, peers[0].conn, FABRIC_EV_RECV, 1)->len, 5);
	end();
}

static void steps(unsigned n)
{
	while (n-- > 0)
		sock_pair_step(&pair);
}

enum { BEGUN = 10 };

static const struct ddp_header nothing = {.tagged = true, .last = true, .opcode = RDMAP_WRITE};

/* The first octets of a Write without payload. */
static void begin_write(const struct peer *p)
{
	uint8_t wire[64];

	make_fpdu(wire, &nothing, "", 0, true);
	(void)send(p->fd, wire, BEGUN, MSG_NOSIGNAL);
}

static void end_write(const struct peer *p)
{
	uint8_t wire[64];
	size_t n = make_fpdu(wire, &nothing, "", 0, true);

	(void)send(p->fd, wire + BEGUN, n - BEGUN, MSG_NOSIGNAL);
}

/* Writes without payload, of more octets than the read-ahead has room for. */
static void write_nothing(const struct peer *p)
{
	for (unsigned i = 0; i < 1000; i++)
		say_write(p);
}

/* As many octets of payload. */
static void move(const struct peer *p)
{
	static uint8_t memory[1024];
	static uint8_t wire[2048];
	struct ddp_header h = {.tagged = true, .last = true, .opcode = RDMAP_WRITE};
	struct segment to;
	uint32_t written;
	size_t n;

	assert_int_equal(fabric_expose(p->conn, memory, sizeof(memory), FABRIC_REMOTE_WRITE, &to),
			 0);
	h.stag = to.handle;
	h.offset = to.offset;
	n = make_fpdu(wire, &h, memory, sizeof(memory), true);
	for (unsigned i = 0; i < 20; i++)
		(void)send(p->fd, wire, n, MSG_NOSIGNAL);
	steps(5);
	(void)fabric_withdraw(p->conn, to.handle, NULL, &written);
	steps(1);
}

static unsigned ended(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RECVS; i++)
		n += sock_pair_count(&pair, peers[i].conn, FABRIC_EV_DISCONNECTED);
	return n;
}

static void read_nothing(const struct peer *p, uint32_t msn)
{
	static const uint8_t none[RDMAP_READ_BYTES];
	struct ddp_header h = {.last = true, .opcode = RDMAP_READ_REQUEST, .queue = 1, .msn = msn};
	uint8_t wire[128];
	size_t n = make_fpdu(wire, &h, none, sizeof(none), true);

	(void)send(p->fd, wire, n, MSG_NOSIGNAL);
}

/* Messages without payload are no progress, however many: neither of a Send within which they come,
 * nor of a connection that is always within one of them. Within a Send other payload is none either. */
static void test_messages_of_nothing(void **state)
{
	enum { WRITES = 60, READS = 24, PEERS = 4 };
	static const struct ddp_header send = {.opcode = RDMAP_SEND, .msn = 1};
	nsec_t late = poll_loop_now() + WAIT_S * NSEC_PER_SEC;
	uint32_t msn = 1;

	(void)state;
	stall_timeout_ms = 600;
	start();
	say(peers[0].fd, send, "x");
	begin_write(&peers[1]);
	begin_write(&peers[2]);
	say(peers[3].fd, send, "x");
	steps(5);
	while (ended() < PEERS) {
		assert_true(poll_loop_now() < late);
		for (unsigned k = 0; k < WRITES; k++)
			say_write(&peers[0]);
		end_write(&peers[1]);
		for (unsigned k = 0; k < WRITES; k++)
			say_write(&peers[1]);
		begin_write(&peers[1]);
		end_write(&peers[2]);
		for (unsigned k = 0; k < READS; k++)
			read_nothing(&peers[2], msn++);
		begin_write(&peers[2]);
		if (!sock_pair_count(&pair, peers[3].conn, FABRIC_EV_DISCONNECTED))
			move(&peers[3]);
		steps_for(50 * NSEC_PER_MS);
	}
	for (unsigned i = 0; i < PEERS; i++)
		assert_int_equal(
			sock_pair_wait(&pair, peers[i].conn, FABRIC_EV_DISCONNECTED, 1)->status,
			ERR_TIMEOUT);
	end();
	stall_timeout_ms = 0;
}

/* Where memory is short those go that have some, and hardly move; as many as have to. Writes without
 * payload are no moves. */
static void test_memory_is_short(void **state)
{
	(void)state;
	start();
	for (unsigned i = 0; i < RECVS; i++)
		begin_write(&peers[i]);
	steps(20);
	assert_true(fabric_pooled(pair.f) >= RECVS * QP_STAGE_BYTES);
	fabric_shed(pair.f, SIZE_MAX);
	steps(3);
	assert_int_equal(ended(), 0);
	for (unsigned i = 0; i < RECVS; i++) {
		end_write(&peers[i]);
		write_nothing(&peers[i]);
		begin_write(&peers[i]);
	}
	steps(20);
	fabric_shed(pair.f, 1);
	steps(3);
	assert_int_equal(ended(), 1);
	fabric_shed(pair.f, SIZE_MAX);
	steps(3);
	assert_int_equal(ended(), RECVS);
	assert_int_equal(sock_pair_count(&pair, modest.conn, FABRIC_EV_DISCONNECTED), 0);
	end();
}

static void test_a_connection_that_moves_stays(void **state)
{
	(void)state;
	start();
	for (unsigned i = 0; i < 3; i++) {
		begin_write(&peers[0]);
		steps(5);
		fabric_shed(pair.f, SIZE_MAX);
		steps(5);
		assert_int_equal(ended(), 0);
		end_write(&peers[0]);
		move(&peers[0]);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begun_without_octets),
		cmocka_unit_test(test_begun),
		cmocka_unit_test(test_begun_and_other_messages),
		cmocka_unit_test(test_begun_and_looked_at_often),
		cmocka_unit_test(test_messages_of_nothing),
		cmocka_unit_test(test_slow_ones),
		cmocka_unit_test(test_slow_ones_and_both_looks_at_once),
		cmocka_unit_test(test_others_wait_at_times),
		cmocka_unit_test(test_disconnected),
		cmocka_unit_test(test_slow_alone),
		cmocka_unit_test(test_memory_is_short),
		cmocka_unit_test(test_a_connection_that_moves_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
