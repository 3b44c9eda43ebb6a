/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a peer with small calls waits beside peers with large transfers: octets moved between
 * two looks at the sockets. They are counted, not timed: the instance's clock stands still
 * meanwhile.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum {
	GREEDY = 8, /* connections: half of them bring octets, half take them */
	LEN = 1 << 20,
	WRITES = 4, /* in flight on each */
	PINGS = 200,
	FIRST = 8,	  /* that are not counted */
	SHARE = 64 << 10, /* of a turn, while there are small calls: a quarter of the default */
	/* A turn whose share is not spent, be it by a little, has a whole one for the next that rests. */
	TURN = 2 * SHARE,
	MEAN = SHARE + SHARE / 5, /* most have one, and nothing is left for another */
	SMALL = 2 << 10,	  /* small calls, and what greedy ones say beside their octets */
};

struct greedy {
	struct fabric_conn *near, *far;
	bool takes;
	uint8_t target[LEN];
	struct segment seg;
};

static struct sock_pair near, far;
static struct greedy greedy[GREEDY];
static struct fabric_conn *modest_near, *modest_far;
static uint8_t source[LEN], recv_buf[64];
static nsec_t still;
static unsigned spent; /* number of turns that reported this */

static void post_recv(struct sock_pair *p, struct fabric_conn *c)
{
	(void)p;
	assert_int_equal(fabric_post_recv(c, recv_buf, sizeof(recv_buf), recv_buf), 0);
}

static uint64_t moved(void)
{
	return iwarp_counters(near.f)->bytes_in + iwarp_counters(near.f)->bytes_out;
}

static void both_step(void)
{
	sock_pair_step(&far);
	sock_pair_step(&near);
}

/* The initiator is the far one, and has spoken. */
static void connect_far(struct fabric_conn **at_near, struct fabric_conn **at_far)
{
	nsec_t late = poll_loop_now() + 20 * NSEC_PER_SEC;
	struct fabric_sge sge = {"first", 5};

	near.logged = far.logged = 0;
	assert_int_equal(fabric_connect(far.f, &near.addr, &far.params, &far, at_far), 0);
	while (!sock_pair_count(&far, *at_far, FABRIC_EV_CONNECTED)) {
		assert_true(poll_loop_now() < late);
		both_step();
	}
	*at_near = near.server;
	near.server = NULL;
	assert_non_null(*at_near);
	assert_int_equal(fabric_send(*at_far, &sge, 1, 0, NULL), 0);
	while (!sock_pair_count(&near, *at_near, FABRIC_EV_RECV)) {
		assert_true(poll_loop_now() < late);
		both_step();
	}
	near.logged = far.logged = 0;
}

static void write_some(struct greedy *g)
{
	struct fabric_sge sge = {source, LEN};

	assert_int_equal(fabric_write(g->takes ? g->near : g->far, &sge, 1, &g->seg, g), 0);
}

/* All connections that small calls make latency-bound are in one instance, @near; what peers do is @far's, whose turns are long. */
static void start_near(bool crc)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	cfg.crc = crc;
	sock_pair_init(&near, &cfg, "127.0.0.1");
	sock_pair_init(&far, &cfg, "127.0.0.1");
	near.before_accept = post_recv;
	near.wait_ms = far.wait_ms = 0;
	connect_far(&modest_near, &modest_far);
	post_recv(&near, modest_near);
}

static void start(void)
{
	start_near(false);
	for (unsigned i = 0; i < GREEDY; i++) {
		struct greedy *g = &greedy[i];

		g->takes = i % 2;
		connect_far(&g->near, &g->far);
		assert_int_equal(fabric_expose(g->takes ? g->far : g->near, g->target, LEN,
					       FABRIC_REMOTE_WRITE, &g->seg),
				 0);
	}
	for (unsigned i = 0; i < GREEDY * WRITES; i++)
		write_some(&greedy[i % GREEDY]);
	still = poll_loop_now();
}

static void end_near(void)
{
	fabric_destroy(modest_near);
	fabric_destroy(modest_far);
	sock_pair_fini(&far);
	sock_pair_fini(&near);
}

static void end(void)
{
	for (unsigned i = 0; i < GREEDY; i++) {
		fabric_destroy(greedy[i].near);
		fabric_destroy(greedy[i].far);
	}
	end_near();
}

/* A peer whose octets were written writes again. Return: whether the small message arrived. */
static bool look_at(struct sock_pair *p)
{
	bool came = false;

	for (unsigned i = 0; i < p->logged; i++) {
		came |= p->log[i].type == FABRIC_EV_RECV;
		if (p->log[i].type == FABRIC_EV_WRITE)
			write_some(p->log[i].cookie);
	}
	p->logged = 0;
	return came;
}

/* One look at the sockets, one turn. */
static bool turn(void)
{
	struct fabric_event ev;

	poll_loop_step(&near.loop, 0);
	fabric_tick(near.f, still);
	while (fabric_poll(near.f, &ev))
		near.log[near.logged++] = ev;
	near.f->ops->flush(near.f);
	spent += near.f->ops->go_on(near.f);
	return look_at(&near);
}

/* Octets moved in turns while pings were under way. */
struct moves {
	uint64_t most, all;
	unsigned turns; /* that moved anything */
};

static bool counted_turn(struct moves *m)
{
	uint64_t before = moved(), octets;
	bool came = turn();

	octets = moved() - before;
	m->turns += octets > 0;
	m->all += octets;
	m->most = octets > m->most ? octets : m->most;
	return came;
}

/* @others: what peers do between turns that @far does not. */
static bool next_turn(struct moves *m, void (*others)(void))
{
	sock_pair_step(&far);
	(void)look_at(&far);
	if (others)
		others();
	return counted_turn(m);
}

/* A turn without one, and those that one takes. */
static void ping_goes(struct moves *m, void (*others)(void))
{
	struct fabric_sge sge = {"ping", 4};
	nsec_t late = poll_loop_now() + 60 * NSEC_PER_SEC;

	assert_false(next_turn(m, others));
	assert_int_equal(fabric_send(modest_far, &sge, 1, 0, NULL), 0);
	while (!next_turn(m, others))
		assert_true(poll_loop_now() < late);
	post_recv(&near, modest_near);
}

static struct moves pings_go(unsigned n, void (*others)(void))
{
	struct moves m = {0};

	/* The first find turns as long as they are without small calls, and peers that are not known to move much. */
	for (unsigned i = 0; i < FIRST; i++)
		ping_goes(&m, others);
	m = (struct moves){0};
	while (n-- > 0)
		ping_goes(&m, others);
	print_message("%u turns, at most %llu octets, on average %llu\n", m.turns,
		      (unsigned long long)m.most, (unsigned long long)(m.all / m.turns));
	return m;
}

static void test_turns_are_short(void **state)
{
	struct moves m;

	(void)state;
	start();
	spent = 0;
	m = pings_go(PINGS, NULL);
	assert_true(spent > PINGS);
	assert_true(m.most <= TURN + SMALL);
	assert_true(m.all <= m.turns * (uint64_t)MEAN);
	assert_true(m.all >= m.turns * (uint64_t)SHARE / 4); /* they are greedy */
	end();
}

/* Small calls alone spend no turn, however many there have been. */
static void test_a_turn_begins_anew(void **state)
{
	(void)state;
	start_near(false);
	still = poll_loop_now();
	spent = 0;
	(void)pings_go(PINGS, NULL);
	assert_int_equal(spent, 0);
	end_near();
}

/* --- FPDUs as they are on a wire: many are read at once --- */

enum { BIG = 24 << 20, PAYLOAD = 1400, PARTS = BIG / PAYLOAD };

static uint8_t target[BIG], wire[PARTS * (PAYLOAD + 40)];
static size_t wire_len, wire_at;
static int wire_fd;

/* One Write. */
static void make_wire(const struct segment *seg)
{
	struct ddp_header h = {.tagged = true, .opcode = RDMAP_WRITE, .stag = seg->handle};

	for (unsigned i = 0; i < PARTS; i++) {
		h.offset = seg->offset + (uint64_t)i * PAYLOAD;
		h.last = i + 1 == PARTS;
		wire_len += make_fpdu(wire + wire_len, &h, source, PAYLOAD, true);
	}
}

/* As much as the socket takes. */
static void fill_wire(void)
{
	ssize_t n;

	while ((n = send(wire_fd, wire + wire_at, wire_len - wire_at, MSG_DONTWAIT)) > 0)
		wire_at += (size_t)n;
	assert_true(n < 0 && errno == EAGAIN); /* there is more */
}

static void test_a_read_is_within_its_share(void **state)
{
	struct fabric_conn *one;
	struct segment seg;
	struct moves m;

	(void)state;
	start_near(true);
	near.logged = 0;
	wire_fd = sock_pair_raw_open(&near);
	one = near.server;
	near.server = NULL;
	near.logged = 0;
	assert_int_equal(fabric_expose(one, target, BIG, FABRIC_REMOTE_WRITE, &seg), 0);
	make_wire(&seg);
	still = poll_loop_now();
	m = pings_go(PINGS / 4, fill_wire);
	assert_true(m.most <= TURN + SMALL);
	assert_true(m.all <= m.turns * (uint64_t)MEAN);
	assert_true(m.all >= m.turns * (uint64_t)SHARE / 4);
	fabric_destroy(one);
	close(wire_fd);
	end_near();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns_are_short),
		cmocka_unit_test(test_a_turn_begins_anew),
		cmocka_unit_test(test_a_read_is_within_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
