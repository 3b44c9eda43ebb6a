/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Octets that were read ahead wait behind a message that finds no Receive (qp_rx_io.c), while its
 * user keeps the Receives. Such connections prevent no other connection from reading ahead, or from
 * being served.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum { PEERS = 16, SEGMENTS = 60, SEGMENT = 1000, LEN = SEGMENTS * SEGMENT, SEND_BEHIND = 20 };

struct peer {
	struct fabric_conn *conn;
	struct segment seg;
	int fd;
	uint8_t region[LEN];
};

static struct sock_pair pair;
static struct peer waiting[PEERS], other;
static uint8_t recvs[PEERS][64], octets[LEN];

static void peer_open(struct peer *p)
{
	int at_once = 1;

	p->fd = sock_pair_raw_open(&pair);
	assert_int_equal(setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)), 0);
	p->conn = pair.server;
	pair.server = NULL;
	pair.logged = 0;
	assert_int_equal(fabric_expose(p->conn, p->region, LEN,
				       FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &p->seg),
			 0);
}

static void peer_close(struct peer *p)
{
	close(p->fd);
	fabric_destroy(p->conn);
	p->conn = NULL;
}

/* All of the region in one message of small segments, in order; behind so many of them a Send (0: there is none). */
static void write_region(struct peer *p, unsigned send_behind)
{
	static uint8_t wire[SEGMENTS * (SEGMENT + 64)];
	size_t n = 0;

	for (unsigned i = 0; i < SEGMENTS; i++) {
		struct ddp_header write = {.tagged = true,
					   .last = i + 1 == SEGMENTS || i + 1 == send_behind,
					   .opcode = RDMAP_WRITE,
					   .stag = p->seg.handle,
					   .offset = p->seg.offset + (uint64_t)i * SEGMENT};
		struct ddp_header send = {.last = true, .opcode = RDMAP_SEND, .msn = 1};

		n += make_fpdu(wire + n, &write, octets + (size_t)i * SEGMENT, SEGMENT, true);
		if (i + 1 == send_behind)
			n += make_fpdu(wire + n, &send, "call", 4, true);
	}
	assert_int_equal(send(p->fd, wire, n, 0), n);
}

static void steps(unsigned n)
{
	while (n-- > 0)
		sock_pair_step(&pair);
}

static void check_region(struct peer *p)
{
	uint32_t written;

	assert_int_equal(fabric_withdraw(p->conn, p->seg.handle, NULL, &written), 1);
	assert_int_equal(written, LEN);
	assert_memory_equal(p->region, octets, LEN);
}

/* System calls that it takes to read @p's region. */
static unsigned reads_of(struct peer *p)
{
	uint64_t before = iwarp_counters(pair.f)->syscalls_read;

	write_region(p, 0);
	steps(20);
	return (unsigned)(iwarp_counters(pair.f)->syscalls_read - before);
}

static void start(void)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 10;
	assert_int_equal(fabric_share_receives(pair.f, sizeof(recvs[0]), &pair), 0);
	for (size_t i = 0; i < LEN; i++)
		octets[i] = (uint8_t)(i * 31 >> 3);
}

static void end(void)
{
	fabric_unshare_receives(pair.f);
	sock_pair_fini(&pair);
}

static void another_reads_ahead(void **state)
{
	unsigned alone, beside;
	size_t pooled;

	(void)state;
	start();
	peer_open(&other);
	alone = reads_of(&other);
	check_region(&other);
	peer_close(&other);
	assert_in_range(alone, 1, SEGMENTS / 2);
	pooled = fabric_pooled(pair.f);
	for (unsigned i = 0; i < PEERS; i++) {
		peer_open(&waiting[i]);
		write_region(&waiting[i], SEND_BEHIND);
		steps(5);
		assert_int_equal(pair.logged, 0); /* its Send waits */
	}
	/* Octets that wait count as pooled memory, and are bounded. */
	assert_in_range(fabric_pooled(pair.f) - pooled, PEERS * LEN / 8, 2 * QP_SPILL_BYTES);
	peer_open(&other);
	beside = reads_of(&other);
	check_region(&other);
	peer_close(&other);
	/* Less each time, as there are more of them. */
	assert_in_range(beside, 1, 2 * alone);
	/* The messages that waited are whole. */
	for (unsigned i = 0; i < PEERS; i++)
		assert_int_equal(fabric_post_shared(pair.f, recvs[i], recvs[i]), 0);
	for (unsigned i = 0; i < PEERS; i++) {
		sock_pair_wait(&pair, waiting[i].conn, FABRIC_EV_RECV, 1);
		steps(5);
		check_region(&waiting[i]);
		peer_close(&waiting[i]);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_reads_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
