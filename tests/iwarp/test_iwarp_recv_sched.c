/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection whose user keeps too many of the shared Receives is the only one that waits for them
 * (fabric_may_hold()). It continues when its user keeps fewer, or more are free.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/iwarp/sock_pair.h"

enum { RECVS = 2 * FABRIC_RECV_PER_CONN_DIV, LEN = 4096, CALLS = 6 };

struct peer {
	struct fabric_conn *conn;
	int fd;
	uint32_t sent;
};

static struct sock_pair pair;
static struct peer greedy, modest;
static uint8_t recvs[RECVS][LEN];
static uint32_t window = 32; /* messages that a peer may have sent and nobody has polled */

static void peer_open(struct peer *p)
{
	int at_once = 1;

	*p = (struct peer){.fd = sock_pair_raw_open(&pair)};
	assert_int_equal(setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)), 0);
	p->conn = pair.server;
	pair.server = NULL;
	pair.logged = 0;
}

static void peer_close(struct peer *p)
{
	close(p->fd);
	fabric_destroy(p->conn);
}

static void say_octets(struct peer *p, uint32_t len)
{
	static const uint8_t octets[LEN];
	struct ddp_header h = {.last = true, .opcode = RDMAP_SEND, .msn = ++p->sent};
	uint8_t wire[LEN + 64];
	size_t n = make_fpdu(wire, &h, octets, len, true);

	assert_int_equal(send(p->fd, wire, n, 0), n);
}

static void say(struct peer *p)
{
	say_octets(p, 4);
}

static unsigned told(const struct peer *p)
{
	return sock_pair_count(&pair, p->conn, FABRIC_EV_RECV);
}

static void steps(unsigned n)
{
	while (n-- > 0)
		sock_pair_step(&pair);
}

/* Longer than one turn of a granted connection. */
static void steps_for_a_while(void)
{
	nsec_t end = poll_loop_now() + 2 * NSEC_PER_SEC;

	while (poll_loop_now() < end)
		sock_pair_step(&pair);
}

static void calls(struct peer *p)
{
	for (unsigned i = 0; i < CALLS; i++)
		say(p);
}

/* All but one part in FABRIC_RECV_PER_CONN_DIV of what is left, and nothing more could be posted. */
static void start(void)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	sock_pair_init(&pair, &cfg, "127.0.0.1");
	pair.wait_ms = 10;
	pair.params.max_recvs = window;
	assert_int_equal(fabric_share_receives(pair.f, LEN, &pair), 0);
	pair.f->receives_left = 0;
	pair.keeps = true;
	peer_open(&greedy);
	peer_open(&modest);
	for (unsigned i = 0; i < RECVS; i++)
		assert_int_equal(fabric_post_shared(pair.f, recvs[i], recvs[i]), 0);
	calls(&greedy);
	steps(50);
	assert_int_equal(told(&greedy), 2);
	assert_true(greedy.conn->recv_limited);
}

static void end(void)
{
	assert_int_equal(sock_pair_count(&pair, NULL, FABRIC_EV_DISCONNECTED), 0);
	peer_close(&greedy);
	peer_close(&modest);
	fabric_unshare_receives(pair.f);
	sock_pair_fini(&pair);
}

static void others_have_theirs(void **state)
{
	(void)state;
	start();
	say(&modest);
	steps(5);
	assert_int_equal(told(&modest), 1);
	end();
}

static void a_connection_that_gives_back_continues(void **state)
{
	(void)state;
	start();
	assert_int_equal(iwarp_counters(pair.f)->receive_waits, 1);
	fabric_gave_back(greedy.conn);
	steps(50);
	assert_int_equal(told(&greedy), 3);
	end();
}

/* At once, for there may be no Receive for what it said, and that may be for want of what he reads. */
static void a_user_that_holds_back_reads_hears_of_the_end_of_the_wait(void **state)
{
	struct fabric_event ev;

	(void)state;
	start();
	greedy.conn->reads_blocked = true;
	assert_false(fabric_poll(pair.f, &ev));
	fabric_gave_back(greedy.conn);
	assert_false(greedy.conn->recv_limited || greedy.conn->reads_blocked);
	assert_true(fabric_poll(pair.f, &ev));
	assert_int_equal(ev.type, FABRIC_EV_RECV_LIMITED);
	assert_ptr_equal(ev.conn, greedy.conn);
	end();
}

/* Without a word of its own. */
static void where_more_are_left_it_goes_on(void **state)
{
	(void)state;
	start();
	pair.f->receives_left = 100 * FABRIC_RECV_PER_CONN_DIV;
	sock_pair_wait(&pair, greedy.conn, FABRIC_EV_RECV, CALLS);
	end();
}

static void a_connection_that_holds_none_gets_the_last_receives(void **state)
{
	(void)state;
	start();
	for (; modest.sent < RECVS - 2; fabric_gave_back(modest.conn)) {
		say(&modest);
		sock_pair_wait(&pair, modest.conn, FABRIC_EV_RECV, modest.sent);
	}
	steps(50);
	assert_int_equal(told(&greedy), 2);
	end();
}

static void a_connection_may_end_while_it_waits(void **state)
{
	(void)state;
	start();
	fabric_disconnect(greedy.conn);
	sock_pair_wait(&pair, greedy.conn, FABRIC_EV_DISCONNECTED, 1);
	fabric_gave_back(greedy.conn);
	say(&modest);
	sock_pair_wait(&pair, modest.conn, FABRIC_EV_RECV, 1);
	pair.logged = 0;
	end();
}

/* --- where the last of all are for those whose Reads are behind, one of them at a time --- */

static void read_of(struct peer *p)
{
	static uint8_t sink[64];
	const struct segment seg = {1, sizeof(sink), 0};

	assert_int_equal(fabric_read(p->conn, sink, &seg, sink), 0);
}

/* Few are left of so many that nobody has more for his Reads; the other one keeps some, too. */
static void start_with_few(void)
{
	start();
	pair.f->receives_most = RECVS * FABRIC_RECV_LOW_DIV;
	calls(&modest);
	steps(50);
	assert_true(modest.conn->recv_limited);
	assert_in_range(told(&modest), 1, 2);
}

static void reads_are_answered_one_after_the_other(void **state)
{
	(void)state;
	start_with_few();
	read_of(&greedy);
	read_of(&modest);
	steps(30);
	assert_true((told(&greedy) == CALLS) != (told(&modest) == CALLS));
	/* The peer answers none, so the next one gets the turn. */
	steps_for_a_while();
	assert_int_equal(told(&greedy), CALLS);
	assert_int_equal(told(&modest), CALLS);
	end();
}

static void a_connection_with_held_back_reads_gets_a_turn(void **state)
{
	(void)state;
	start_with_few();
	modest.conn->reads_blocked = true;
	steps_for_a_while();
	assert_int_equal(told(&modest), CALLS);
	assert_false(modest.conn->reads_blocked);
	assert_int_equal(told(&greedy), 2);
	end();
}

static void the_very_last_receives_are_for_connections_that_hold_none(void **state)
{
	(void)state;
	start_with_few();
	pair.f->receives_most = RECVS * FABRIC_RECV_RESERVE_DIV;
	read_of(&greedy);
	steps_for_a_while();
	assert_int_equal(told(&greedy), 2);
	assert_true(pair.f->recv_starving);
	pair.f->receives_left = 100 * FABRIC_RECV_PER_CONN_DIV;
	steps_for_a_while();
	assert_int_equal(told(&greedy), CALLS);
	assert_false(pair.f->recv_starving);
	end();
}

/* No time passes. */
static void go(unsigned n)
{
	struct fabric_event ev;

	while (n-- > 0) {
		fabric_flush(pair.f);
		poll_loop_step(&pair.loop, 1);
		while (fabric_poll(pair.f, &ev)) {
			if (ev.type == FABRIC_EV_RECV_LIMITED)
				continue;
			assert_true(pair.logged < SOCK_LOG);
			pair.log[pair.logged++] = ev;
			ev.conn->recvs_held += ev.type == FABRIC_EV_RECV;
		}
	}
}

/* Where what is left is enough for all that both may send. */
static void several_connections_have_a_turn_at_once(void **state)
{
	(void)state;
	window = CALLS;
	start_with_few();
	window = 32;
	pair.f->receives_left = 2;
	read_of(&greedy);
	read_of(&modest);
	for (unsigned i = 0; i < 1000 && told(&greedy) + told(&modest) < 2 * CALLS; i++)
		go(1);
	assert_int_equal(told(&greedy), CALLS);
	assert_int_equal(told(&modest), CALLS);
	end();
}

/* A connection that holds Receives leaves as many as one peer may send (recvq_spare()). So the
 * connection with a turn finds enough of the last ones. */
static void as_many_are_left_as_one_may_send(void **state)
{
	(void)state;
	window = 20;
	start();
	window = 32;
	pair.f->receives_most = 64;
	pair.f->receives_left =
		8; /* more than a fourth, but fewer than a fourth plus the last Receives, which are for
		    * connections that hold none */
	fabric_gave_back(greedy.conn);
	steps(50);
	assert_int_equal(told(&greedy), 2);
	pair.f->receives_left = 9;
	steps(50);
	assert_int_equal(told(&greedy), 3);
	end();
}

/* --- many peers that answer no Reads --- */

enum { CROWD = 4, MANY = 400, LOOK_MS = 250, TURN = 4 };

static struct peer crowd[MANY];
static nsec_t ahead; /* of the clock, so that regular looks are when the test wants them */

/* Run what is due at the next regular check. */
static void look(void)
{
	ahead += LOOK_MS * NSEC_PER_MS;
	fabric_tick(pair.f, poll_loop_now() + ahead);
	go(4);
}

static void start_crowd(unsigned n)
{
	ahead = 0;
	start();
	pair.f->receives_most = RECVS * FABRIC_RECV_LOW_DIV;
	for (unsigned i = 0; i < n; i++)
		peer_open(&crowd[i]);
	pair.logged = 0;
}

static void end_crowd(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		peer_close(&crowd[i]);
	end();
}

static void says_until_reported(struct peer *p)
{
	say(p);
	while (told(p) < p->sent)
		look();
}

/* No Receive is left. Connections that hold none get those that come back, in the order in which they began to wait. */
static void the_first_that_waits_is_the_first_that_continues(void **state)
{
	enum { N = 4 };

	(void)state;
	start_crowd(N);
	for (; modest.sent < RECVS - 2; fabric_gave_back(modest.conn)) {
		say(&modest);
		sock_pair_wait(&pair, modest.conn, FABRIC_EV_RECV, modest.sent);
	}
	for (unsigned i = 0; i < N; i++) {
		say(&crowd[i]);
		steps(5);
	}
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(told(&crowd[i]), 0);
		assert_int_equal(fabric_post_shared(pair.f, recvs[i], recvs[i]), 0);
		sock_pair_wait(&pair, crowd[i].conn, FABRIC_EV_RECV, 1);
	}
	end_crowd(N);
}

/* Each has its turn, and does not answer while it has it. */
static void session_limits_has_its_turn(void)
{
	for (unsigned i = 0; i < CROWD; i++)
		says_until_reported(&crowd[i]);
	for (unsigned i = 0; i < CROWD; i++) {
		read_of(&crowd[i]);
		says_until_reported(&crowd[i]);
	}
	for (unsigned i = 0; i < TURN; i++)
		look();
	for (unsigned i = 0; i < CROWD; i++)
		assert_true(crowd[i].conn->read_turn_unused);
}

/* Otherwise the connections before it would get their turns again, one after the other. */
static void a_connection_that_did_not_use_its_turn_comes_last(void **state)
{
	unsigned looks = 0;

	(void)state;
	start_crowd(CROWD);
	session_limits_has_its_turn();
	for (unsigned i = 0; i < CROWD; i++)
		say(&crowd[i]);
	look();
	says_until_reported(&modest);
	assert_false(modest.conn->read_turn_unused);
	read_of(&modest);
	say(&modest);
	for (; told(&modest) < modest.sent; looks++) {
		assert_true(looks <= TURN); /* the rest of one's turn */
		look();
	}
	end_crowd(CROWD);
}

/* About LEN octets of Writes without payload. */
static void write_nothing(struct peer *p)
{
	enum { TIMES = LEN / 20 };
	static const struct ddp_header h = {.tagged = true, .last = true, .opcode = RDMAP_WRITE};
	uint8_t wire[64];
	size_t n = make_fpdu(wire, &h, NULL, 0, true);

	for (unsigned i = 0; i < TIMES; i++)
		assert_int_equal(send(p->fd, wire, n, 0), n);
}

/* Payload on its way takes the time of the line, and answers are behind it: the turn does not count
 * as unused. */
static void payload_received_in_a_turn_counts_as_use(void **state)
{
	(void)state;
	for (unsigned has_payload = 0; has_payload < 2; has_payload++) {
		start_crowd(0);
		says_until_reported(&modest);
		read_of(&modest);
		for (unsigned i = 0; i <= TURN; i++) {
			for (unsigned k = 0; k < 2; k++)
				say_octets(&modest, has_payload ? LEN : 4);
			for (unsigned k = 0; k < 4; k++)
				write_nothing(&modest);
			look();
		}
		assert_int_equal(told(&modest), modest.sent);
		look();
		assert_int_equal(modest.conn->read_turn_unused, !has_payload);
		end_crowd(0);
	}
}

/* Answer a Read, whichever connection it is of. */
static void answer_a_read(struct peer *p)
{
	static const uint8_t octets[64];
	struct ddp_header h = {.tagged = true, .last = true, .opcode = RDMAP_READ_RESPONSE};
	uint8_t wire[128];
	size_t n = fpdu_bytes(DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES);
	struct ddp_read read;

	assert_int_equal(recv(p->fd, wire, n, MSG_DONTWAIT), n);
	ddp_read_decode(wire + FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES, &read);
	h.stag = read.sink_stag;
	h.offset = read.sink_offset;
	n = make_fpdu(wire, &h, octets, sizeof(octets), true);
	assert_int_equal(send(p->fd, wire, n, 0), n);
}

/* The peer's call is finished as soon as it was reported. The peer answers one Read of many, and
 * has the next call to send. */
static void drip(struct peer *p)
{
	for (unsigned i = 0; i < pair.logged; i++) {
		struct fabric_event *ev = &pair.log[i];

		if (ev->conn != p->conn || ev->type != FABRIC_EV_RECV)
			continue;
		fabric_gave_back(p->conn);
		assert_int_equal(fabric_post_shared(pair.f, ev->cookie, ev->cookie), 0);
		answer_a_read(p);
		read_of(p);
		say(p);
	}
}

static void look_and_drip(unsigned drips)
{
	look();
	for (unsigned i = 0; i < drips; i++)
		drip(&crowd[i]);
	pair.logged = 0;
}

/* A connection whose user waits with Reads comes behind connections with outstanding Reads, but not
 * for as long as any of these has some. */
static void a_connection_that_answers_rarely_is_not_first_for_ever(void **state)
{
	enum { DRIPS = 3, OUT = 8, LOOKS = 150 };

	(void)state;
	start_crowd(DRIPS);
	for (unsigned i = 0; i < DRIPS; i++) {
		says_until_reported(&crowd[i]);
		for (unsigned n = 0; n < OUT; n++)
			read_of(&crowd[i]);
	}
	says_until_reported(&modest);
	pair.logged = 0;
	for (unsigned i = 0; i < DRIPS; i++)
		say(&crowd[i]);
	look_and_drip(DRIPS);
	say(&modest);
	look_and_drip(DRIPS);
	assert_true(modest.conn->recv_limited);
	modest.conn->reads_blocked = true;
	for (unsigned n = 0; modest.conn->recv_limited; n++) {
		assert_true(n < LOOKS);
		look_and_drip(DRIPS);
	}
	for (unsigned i = 0; i < DRIPS; i++)
		assert_false(crowd[i].conn->read_turn_unused);
	end_crowd(DRIPS);
}

/* The users of many connections hold back Reads, for want of memory. A connection whose Reads are outstanding has
 * that memory. */
static void outstanding_reads_wait_for_no_crowd(void **state)
{
	enum { N = 200, LOOKS = 400 };
	unsigned n = 0;

	(void)state;
	start_crowd(N);
	says_until_reported(&modest);
	read_of(&modest);
	pair.logged = 0;
	for (unsigned i = 0; i < N; i++) {
		crowd[i].conn->recvs_held = RECVS;
		say(&crowd[i]);
	}
	look();
	modest.conn->recvs_held = RECVS;
	say(&modest);
	look();
	pair.logged = 0;
	assert_true(modest.conn->recv_limited);
	for (; n < LOOKS && modest.conn->recv_limited; n++) {
		for (unsigned i = 0; i < N; i++)
			if (crowd[i].conn->recv_limited)
				crowd[i].conn->reads_blocked = true;
		look();
		for (unsigned j = 0; j < pair.logged; j++) {
			struct fabric_event *ev = &pair.log[j];

			if (ev->type != FABRIC_EV_RECV || ev->conn == modest.conn)
				continue;
			fabric_gave_back(ev->conn);
			ev->conn->recvs_held = RECVS;
			assert_int_equal(fabric_post_shared(pair.f, ev->cookie, ev->cookie), 0);
			for (unsigned i = 0; i < N; i++)
				if (crowd[i].conn == ev->conn)
					say(&crowd[i]);
		}
		pair.logged = 0;
	}
	assert_in_range(n, 0, 2 * TURN);
	end_crowd(N);
}

/* However many wait, a turn looks at some. */
static void a_turn_looks_at_some(void **state)
{
	const struct iwarp_counters *count;
	uint64_t looks;

	(void)state;
	start_crowd(MANY);
	count = iwarp_counters(pair.f);
	for (unsigned i = 0; i < MANY; i++) {
		crowd[i].conn->recvs_held = RECVS;
		say(&crowd[i]);
	}
	look();
	pair.logged = 0;
	look();
	for (unsigned i = 0; i < MANY; i++)
		assert_true(crowd[i].conn->recv_limited);
	looks = count->recv_limited_looks;
	look();
	assert_in_range(count->recv_limited_looks - looks, 1, MANY - 1);
	end_crowd(MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_have_theirs),
		cmocka_unit_test(a_connection_that_gives_back_continues),
		cmocka_unit_test(a_user_that_holds_back_reads_hears_of_the_end_of_the_wait),
		cmocka_unit_test(where_more_are_left_it_goes_on),
		cmocka_unit_test(a_connection_that_holds_none_gets_the_last_receives),
		cmocka_unit_test(a_connection_may_end_while_it_waits),
		cmocka_unit_test(reads_are_answered_one_after_the_other),
		cmocka_unit_test(a_connection_with_held_back_reads_gets_a_turn),
		cmocka_unit_test(the_very_last_receives_are_for_connections_that_hold_none),
		cmocka_unit_test(several_connections_have_a_turn_at_once),
		cmocka_unit_test(as_many_are_left_as_one_may_send),
		cmocka_unit_test(the_first_that_waits_is_the_first_that_continues),
		cmocka_unit_test(a_connection_that_did_not_use_its_turn_comes_last),
		cmocka_unit_test(payload_received_in_a_turn_counts_as_use),
		cmocka_unit_test(a_connection_that_answers_rarely_is_not_first_for_ever),
		cmocka_unit_test(outstanding_reads_wait_for_no_crowd),
		cmocka_unit_test(a_turn_looks_at_some),
	};

	return cmocka_run_group_tests_name("iwarp_recv_sched", tests, NULL, NULL);
}
