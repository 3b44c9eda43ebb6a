/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Set-up of connections, successful and not. */

static void connects(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	char text[FABRIC_ADDR_TEXT];

	assert_ptr_equal(p->a.conn->fabric, t->fabric[0]);
	assert_ptr_equal(p->b.conn->owner, &p->b);
	assert_int_equal(p->a.pd_len, 0);
	assert_int_equal(p->b.pd_len, 0);
	assert_int_equal(p->a.conn->handles_live, 0);
	assert_true(p->a.conn->peer.len > 0);
	assert_true(p->b.conn->peer.len > 0);
	assert_true(strlen(fabric_addr_format(&p->b.conn->peer, text)) > 1);
}

static void is_private_data(const struct side *s, const uint8_t *data, size_t len)
{
	if (s->t->provider->exact_pdata)
		assert_int_equal(s->pd_len, len);
	assert_true(s->pd_len >= len);
	assert_memory_equal(s->pd, data, len);
	for (size_t i = len; i < s->pd_len; i++)
		assert_int_equal(s->pd[i], 0);
}

static void private_data_of(struct contract *t, int i, uint8_t len_a, uint8_t len_b)
{
	struct fabric_conn_params params = default_params();
	struct pair *p = t->pair[i];
	uint8_t data[256];

	for (unsigned k = 0; k < sizeof(data); k++)
		data[k] = (uint8_t)(k * 7 + 1);
	params.private_data = data;
	params.private_data_len = len_a;
	begin(t, i, &params);
	is_private_data(&p->b, data, len_a);
	for (unsigned k = 0; k < sizeof(data); k++)
		data[k] ^= 0xff;
	params.private_data_len = len_b;
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	until(t, &p->b.connected);
	is_private_data(&p->a, data, len_b);
	assert_int_equal(p->b.pd_len, 0);
}

static void private_data_goes_both_ways(void **state)
{
	private_data_of(*state, 0, 12, 8);
	private_data_of(*state, 1, 56, 196); /* the most there may be */
}

static void private_data_may_be_one_sided(void **state)
{
	private_data_of(*state, 0, 0, 5);
	private_data_of(*state, 1, 1, 0);
}

static void rejects_with_private_data(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = begin(t, 0, &params);

	assert_true(do_recv(&p->a, 0, 100) >= 0);
	fabric_reject(p->b.conn, view_of("not today", 9));
	p->b.conn = NULL;
	until(t, &p->a.disconnected);
	assert_int_equal(p->a.status, ERR_REJECTED);
	assert_false(p->a.connected);
	is_private_data(&p->a, (const uint8_t *)"not today", 9);
	assert_int_equal(p->a.ops[0].status, ERR_FLUSHED);
	assert_int_equal(do_recv(&p->a, 0, 100), ERR_CLOSED);
}

static void rejects_without_words(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = begin(t, 0, &params);

	fabric_reject(p->b.conn, view_of(NULL, 0));
	p->b.conn = NULL;
	until(t, &p->a.disconnected);
	assert_int_equal(p->a.status, ERR_REJECTED);
}

static void a_connection_to_an_address_without_listener_ends(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct side *a = &t->pair[0]->a;
	struct fabric_addr nowhere;

	assert_int_equal(fabric_addr_parse("127.0.0.1", 1, &nowhere), 0);
	assert_int_equal(fabric_connect(t->fabric[0], &nowhere, &params, a, &a->conn), 0);
	assert_true(do_recv(a, 0, 10) >= 0);
	until(t, &a->disconnected);
	assert_int_equal(a->status, ERR_REFUSED);
	assert_false(a->connected);
}

static void receives_before_accept_are_used(void **state)
{
	struct contract *t = *state;
	int r;
	struct pair *p = establish_prepared(t, 0, 64, &r);

	/* Sent before the acceptor saw CONNECTED, perhaps. */
	fill(&p->a, 0, 64, 5);
	assert_true(do_send(&p->a, 0, 64) >= 0);
	assert_int_equal(succeed(&p->b, r)->len, 64);
	check(&p->b, 0, 64, 5);
	assert_true(p->b.connected);
}

static void initiator_posts_at_once(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = t->pair[0];
	int r;

	assert_int_equal(fabric_connect(t->fabric[0], &t->addr, &params, &p->a, &p->a.conn), 0);
	r = do_recv(&p->a, 0, 64);
	assert_true(r >= 0);
	until(t, &p->b.requested);
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->b.connected);
	/* The acceptor's message may have to wait for the initiator's first. */
	assert_true(do_recv(&p->b, 0, 64) >= 0);
	assert_true(do_send(&p->b, 64, 64) >= 0);
	until(t, &p->a.connected);
	assert_true(do_send(&p->a, 64, 64) >= 0);
	succeed(&p->a, r);
}

static void destroyed_before_the_request(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = t->pair[0];

	t->next_request = 0;
	assert_int_equal(fabric_connect(t->fabric[0], &t->addr, &params, &p->a, &p->a.conn), 0);
	drop(&p->a);
	settle(t);
	/* Whether the request got through is the fabric's business; the end of it shows. */
	if (p->b.requested && !p->b.disconnected && fabric_accept(p->b.conn, &params, &p->b) == 0)
		until(t, &p->b.disconnected);
}

static void destroyed_while_unanswered(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = begin(t, 0, &params);

	drop(&p->a);
	settle(t);
	if (!p->b.disconnected && fabric_accept(p->b.conn, &params, &p->b) == 0)
		until(t, &p->b.disconnected);
	drop(&p->b);
	/* The other way round: the acceptor goes without a word. */
	p = begin(t, 1, &params);
	drop(&p->b);
	until(t, &p->a.disconnected);
	assert_int_not_equal(p->a.status, 0);
}

static void accepted_then_destroyed(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = begin(t, 0, &params);

	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	drop(&p->b);
	until(t, &p->a.disconnected);
}

static void opens_and_closes_many_times(void **state)
{
	struct contract *t = *state;

	for (int round = 0; round < 30; round++) {
		struct pair *p = establish(t, 0);
		int r = do_recv(&p->b, 0, 64);

		assert_true(r >= 0);
		pump(t);
		assert_true(do_send(&p->a, 0, 64) >= 0);
		succeed(&p->b, r);
		if (round % 3 == 0) {
			fabric_disconnect(p->a.conn);
			both_end(t, p);
		}
		drop(round % 2 ? &p->a : &p->b);
		settle(t);
		drop(&p->a);
		drop(&p->b);
		p->a.connected = p->a.disconnected = false;
		p->b.requested = p->b.connected = p->b.disconnected = false;
		p->a.nops = p->a.ndone = p->b.nops = p->b.ndone = 0;
		memset(p->a.last, 0xff, sizeof(p->a.last));
		memset(p->b.last, 0xff, sizeof(p->b.last));
	}
}

static void no_requests_after_detach(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p = t->pair[0];

	t->next_request = -1; /* a request would fail the test */
	fabric_detach(t->fabric[1], t->listener);
	assert_int_equal(fabric_connect(t->fabric[0], &t->addr, &params, &p->a, &p->a.conn), 0);
	settle(t);
	assert_false(p->a.connected);
	drop(&p->a);
	assert_int_equal(fabric_attach(t->fabric[1], t->listener, t), 0);
	t->next_request = 0;
	settle(t); /* it may have waited in a backlog */
}

int contract_run_setup(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(connects),
		contract_test(private_data_goes_both_ways),
		contract_test(private_data_may_be_one_sided),
		contract_test(rejects_with_private_data),
		contract_test(rejects_without_words),
		contract_test(a_connection_to_an_address_without_listener_ends),
		contract_test(receives_before_accept_are_used),
		contract_test(initiator_posts_at_once),
		contract_test(destroyed_before_the_request),
		contract_test(destroyed_while_unanswered),
		contract_test(accepted_then_destroyed),
		contract_test(opens_and_closes_many_times),
		contract_test(no_requests_after_detach),
	};
	return cmocka_run_group_tests_name("set-up", tests, NULL, NULL);
}
