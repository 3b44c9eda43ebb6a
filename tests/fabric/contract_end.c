/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Ends of connections. Rules for every end are checked while events are recorded. */

#define MIB (1024u * 1024)

static void closed_for_good(struct side *s)
{
	struct segment seg = {.handle = 1, .length = 1};

	assert_int_equal(do_recv(s, 0, 1), ERR_CLOSED);
	assert_int_equal(do_send(s, 0, 1), ERR_CLOSED);
	assert_int_equal(do_write(s, 0, 1, &seg), ERR_CLOSED);
	assert_int_equal(do_read(s, 0, &seg), ERR_CLOSED);
	assert_int_equal(fabric_expose(s->conn, s->mem, 1, FABRIC_REMOTE_READ, &seg), ERR_CLOSED);
	assert_int_equal(do_withdraw(s, 1), ERR_CLOSED);
	fabric_disconnect(s->conn); /* harmless */
	assert_int_equal(s->conn->handles_live, 0);
}

static void disconnects_when_idle(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	do_expose(&p->a, 0, 100, FABRIC_REMOTE_READ);
	do_expose(&p->b, 0, 100, FABRIC_REMOTE_WRITE);
	fabric_disconnect(p->a.conn);
	both_end(t, p);
	assert_int_equal(p->a.status, 0);
	assert_int_equal(p->b.status, 0);
	closed_for_good(&p->a);
	closed_for_good(&p->b);
	settle(t);
}

static void acceptor_disconnects(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	for (unsigned i = 0; i < 10; i++) {
		assert_true(do_recv(&p->a, i * 64, 64) >= 0);
		assert_true(do_recv(&p->b, i * 64, 64) >= 0);
	}
	fabric_disconnect(p->b.conn);
	fabric_disconnect(p->b.conn);
	both_end(t, p);
	for (int i = 0; i < 10; i++)
		assert_int_equal(p->a.ops[i].status, ERR_FLUSHED);
	closed_for_good(&p->a);
	closed_for_good(&p->b);
}

static void both_disconnect(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	do_recv(&p->a, 0, 64);
	do_recv(&p->b, 0, 64);
	fabric_disconnect(p->a.conn);
	fabric_disconnect(p->b.conn);
	both_end(t, p);
}

/* Messages posted before the disconnect arrive. */
static void last_words_arrive(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = do_expose(&p->b, 0, 4 * MIB, FABRIC_REMOTE_WRITE);
	int r = do_recv(&p->b, 5 * MIB, 4096), w, s;

	pump(t);
	fill(&p->a, 0, 4 * MIB, 1);
	fill(&p->a, 5 * MIB, 4096, 2);
	w = do_write(&p->a, 0, 4 * MIB, &seg);
	s = do_send(&p->a, 5 * MIB, 4096);
	fabric_disconnect(p->a.conn);
	both_end(t, p);
	assert_int_equal(p->b.ops[r].status, 0);
	assert_int_equal(p->b.ops[r].len, 4096);
	check(&p->b, 0, 4 * MIB, 1);
	check(&p->b, 5 * MIB, 4096, 2);
	assert_int_equal(p->a.ops[w].status, 0);
	assert_int_equal(p->a.ops[s].status, 0);
	assert_int_equal(p->a.status, 0);
	assert_int_equal(p->b.status, 0);
}

/* The messages that arrive before a disconnect may be the first of the connection. */
static void only_words_arrive(void **state)
{
	struct contract *t = *state;
	int r;
	struct pair *p = establish_prepared(t, 0, 64, &r);

	fill(&p->a, 0, 64, 8);
	assert_true(do_send(&p->a, 0, 64) >= 0);
	fabric_disconnect(p->a.conn);
	both_end(t, p);
	assert_int_equal(p->b.ops[r].status, 0);
	check(&p->b, 0, 64, 8);
}

/* Everything at once on both sides, so that an end finds something of each kind. */
static void load(struct contract *t, struct pair *p)
{
	struct segment ra = do_expose(&p->a, 0, MIB, FABRIC_REMOTE_READ);
	struct segment rb = do_expose(&p->b, 0, MIB, FABRIC_REMOTE_READ);
	struct segment wa = do_expose(&p->a, 2 * MIB, MIB, FABRIC_REMOTE_WRITE);
	struct segment wb = do_expose(&p->b, 2 * MIB, MIB, FABRIC_REMOTE_WRITE);

	for (unsigned i = 0; i < 20; i++) {
		assert_true(do_recv(&p->a, 16 * MIB + i * 4096, 4096) >= 0);
		assert_true(do_recv(&p->b, 16 * MIB + i * 4096, 4096) >= 0);
	}
	pump(t);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(do_send(&p->a, 17 * MIB + i * 4096, 4096) >= 0);
		assert_true(do_send(&p->b, 17 * MIB + i * 4096, 4000) >= 0);
		assert_true(do_write(&p->a, 4 * MIB, MIB - i, &wb) >= 0);
		assert_true(do_write(&p->b, 4 * MIB, MIB - i, &wa) >= 0);
		assert_true(do_read(&p->a, (6 + i) * MIB, &rb) >= 0);
		assert_true(do_read(&p->b, (6 + i) * MIB, &ra) >= 0);
	}
	/* Handles nobody uses any more may go; some of these are answered later. */
	for (unsigned i = 0; i < 8; i++) {
		struct segment seg = do_expose(&p->a, 18 * MIB, 10, FABRIC_REMOTE_READ);

		do_withdraw(&p->a, seg.handle);
	}
}

static void steps(struct contract *t, int n)
{
	for (int i = 0; i < n; i++) {
		pump(t);
		t->provider->step(t);
	}
}

static void again(struct contract *t, void **state)
{
	(void)t;
	contract_stop(state);
	contract_start(state);
}

enum { MOMENTS = 24 };

static void disconnect_while_busy(void **state)
{
	for (int n = 0; n < MOMENTS; n++) {
		struct contract *t = *state;
		struct pair *p = establish(t, 0);

		load(t, p);
		steps(t, n * 3);
		fabric_disconnect(n % 2 ? p->a.conn : p->b.conn);
		if (n % 4 == 3)
			fabric_disconnect(p->a.conn);
		both_end(t, p);
		closed_for_good(&p->a);
		closed_for_good(&p->b);
		again(t, state);
	}
}

/* After fabric_destroy() all memory is the caller's: write all over it. */
static void destroy_while_busy(void **state)
{
	for (int n = 0; n < MOMENTS; n++) {
		struct contract *t = *state;
		struct pair *p = establish(t, 0);
		struct side *gone = n % 2 ? &p->a : &p->b, *left = n % 2 ? &p->b : &p->a;

		load(t, p);
		steps(t, n * 3);
		drop(gone);
		memset(gone->mem, 0x11, CONTRACT_MEMORY);
		until(t, &left->disconnected);
		check_byte(gone, 0, CONTRACT_MEMORY, 0x11);
		closed_for_good(left);
		again(t, state);
	}
}

/* At every step of a connection's life, on either side, with nothing polled in between. */
static void destroy_at_any_step(void **state)
{
	for (int n = 0; n < MOMENTS; n++) {
		struct contract *t = *state;
		struct fabric_conn_params params = default_params();
		struct pair *p = t->pair[0];

		t->next_request = 0;
		assert_int_equal(fabric_connect(t->fabric[0], &t->addr, &params, &p->a, &p->a.conn),
				 0);
		for (int i = 0; i < n / 2; i++) {
			bool fresh = !p->b.requested;

			steps(t, 1);
			if (fresh && p->b.requested)
				assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
		}
		drop(n % 2 ? &p->a : &p->b);
		t->provider->step(t);
		drop(n % 2 ? &p->b : &p->a);
		p->b.requested = false;
		steps(t, 5);
		again(t, state);
	}
}

/* Nothing was flushed: nothing went out, and everything comes back. */
static void disconnect_without_a_flush_between(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = do_expose(&p->b, 0, MIB, FABRIC_REMOTE_READ);

	for (unsigned i = 0; i < 10; i++) {
		do_recv(&p->a, MIB + i * 64, 64);
		do_read(&p->a, 2 * MIB + i * 1024, &(struct segment){seg.handle, 1024, seg.offset});
	}
	fabric_disconnect(p->a.conn);
	assert_int_equal(do_recv(&p->a, 0, 64), ERR_CLOSED);
	assert_int_equal(do_send(&p->a, 0, 64), ERR_CLOSED);
	both_end(t, p);
}

static void other_connections_go_on(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *q = establish(t, 1);
	int r = do_recv(&q->b, 19 * MIB, 64);

	load(t, p);
	drop(&p->b);
	until(t, &p->a.disconnected);
	fill(&q->a, 19 * MIB, 64, 4);
	do_send(&q->a, 19 * MIB, 64);
	succeed(&q->b, r);
	check(&q->b, 19 * MIB, 64, 4);
}

int contract_run_end(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(disconnects_when_idle),
		contract_test(acceptor_disconnects),
		contract_test(both_disconnect),
		contract_test(last_words_arrive),
		contract_test(only_words_arrive),
		contract_test(disconnect_while_busy),
		contract_test(destroy_while_busy),
		contract_test(destroy_at_any_step),
		contract_test(disconnect_without_a_flush_between),
		contract_test(other_connections_go_on),
	};
	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
