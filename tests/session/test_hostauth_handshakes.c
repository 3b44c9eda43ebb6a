/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes that wait for a place, and clients that wait or take long. */
#include "tests/cmocka_all.h"

#include <stdio.h>

#include "tests/session/cast.h"

/* All places are taken: the first message waits, and is looked at when there is one. */
static void a_handshake_without_a_place_waits(void **state)
{
	const struct cast cast = {.client = "client", .listen = "server"};
	struct handshake_slot others[64];
	struct fabric_addr addr;
	struct session *s;
	struct handshake_limit *d;
	unsigned n;

	(void)state;
	cast_begin(&cast);
	d = &hall.proxy->routes[0]->handshakes[PROXY_CLIENT];
	assert_in_range(d->inside.most, 2, 64);
	for (n = 0; !preauth_queue_is_full(&d->inside); n++) {
		char text[32];

		snprintf(text, sizeof(text), "192.0.2.%u", n + 1);
		assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
		handshake_slot_init(&others[n], NULL);
		assert_true(handshake_limit_enter(d, &others[n], &addr, hall.proxy->now));
	}
	cast_connect();
	/* Not as long as those inside have. */
	assert_int_equal(hall.pairs[0].client.done, 0);
	assert_true(handshake_limit_has_waiting(d));
	cast_not_said("event=hostauth ");
	while (n > 0)
		handshake_limit_leave(d, &others[--n]);
	/* Another's leave would have called it: here nobody does. */
	s = container_of(handshake_limit_next(d, hall.proxy->now), struct session,
			 slots[PROXY_CLIENT]);
	leg_admit(&s->client, s->proxy->now);
	session_touch(s);
	world_turn(&hall);
	world_run(&hall, NSEC_PER_SEC);
	cast_said("name=\"client.example\"");
	assert_int_equal(d->inside.count, 0);
	cast_is_served();
	cast_end();
}

/* Take all places for handshakes, as handshakes that are never displaced would. */
static void fill_slots(struct handshake_limit *d)
{
	static struct handshake_slot others[64];
	struct fabric_addr addr;
	char text[32];

	for (unsigned n = 0; !preauth_queue_is_full(&d->inside); n++) {
		assert_true(n < 64);
		snprintf(text, sizeof(text), "192.0.2.%u", n + 1);
		assert_int_equal(fabric_addr_parse(text, 1, &addr), 0);
		handshake_slot_init(&others[n], NULL);
		assert_true(handshake_limit_enter(d, &others[n], &addr,
						  hall.proxy->now + 1000 * NSEC_PER_SEC));
	}
}

static void empty_slots(struct handshake_limit *d)
{
	struct preauth_queue_member *m;

	while ((m = preauth_queue_first(&d->inside)))
		handshake_limit_leave(d, container_of(m, struct handshake_slot, member));
}

/* A server that hangs up while our proof waits for a place is asked in version 1. Nobody is called in for the
 * connection that is gone. */
static void a_leg_that_goes_on_without_proof_waits_no_more(void **state)
{
	const struct cast cast = {
		.upstream = "client", .upstream_allows = true, .server_version = LEG_V1_OR_V2};
	struct handshake_limit *d;

	(void)state;
	cast_begin(&cast);
	d = &hall.proxy->routes[0]->handshakes[PROXY_SERVER];
	fill_slots(d);
	cast_connect();
	assert_true(handshake_limit_has_waiting(d));
	peer_end(&hall.pairs[0].server);
	hall.pairs[0].server.has_leg = false;
	world_run(&hall, NSEC_PER_SEC);
	cast_is_served();
	assert_false(handshake_limit_has_waiting(d));
	empty_slots(d);
	cast_end();
}

/* If there was no place for the handshake, that is not the server's fault, and no reason to do
 * without authentication. */
static void taken_slots_are_not_the_servers_fault(void **state)
{
	const struct cast cast = {
		.upstream = "client", .upstream_allows = true, .server_version = LEG_V1_OR_V2};

	(void)state;
	cast_begin(&cast);
	fill_slots(&hall.proxy->routes[0]->handshakes[PROXY_SERVER]);
	cast_connect();
	cast_is_refused();
	cast_said("cause=again why=\"no place for host authentication came free in time\"");
	cast_not_said("event=upstream.");
	empty_slots(&hall.proxy->routes[0]->handshakes[PROXY_SERVER]);
	cast_end();
}

/* A handshake that takes long makes room for others, and its client still gets another server. */
static void a_server_that_takes_long_is_left_for_the_next(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "server",
				  .silent = true,
				  .third = true,
				  .is_patient = true};
	struct peer *next = &hall.pairs[2].client;
	struct servers_view view;
	struct handshake_limit *d;

	(void)state;
	cast_begin(&cast);
	d = &hall.proxy->routes[0]->handshakes[PROXY_SERVER];
	cast_connect();
	assert_int_equal(d->inside.count, 1);
	fill_slots(d);
	hall.pairs[2].gw_addr = hall.pairs[0].gw_addr;
	world_connect_pair(&hall, 2); /* the silent one takes one connection */
	world_run(&hall, NSEC_PER_SEC);
	assert_true(handshake_limit_has_waiting(d));
	world_run(&hall, HANDSHAKE_SLOT_TIME);
	assert_true(peer_call(next, &cast_hello));
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(next->done, 1);
	servers_snapshot(hall.s.servers, &view);
	assert_int_equal(view.at[0].figures.failures, 2);
	cast_not_said("event=upstream.retry");
	cast_not_said("others wait for theirs");
	empty_slots(d);
	cast_end();
}

/* After a pause of the process a handshake has its time once more. */
static void a_pause_is_not_the_fault_of_a_handshake(void **state)
{
	const struct cast cast = {.upstream = "client",
				  .upstream_allows = true,
				  .server = "server",
				  .silent = true,
				  .third = true,
				  .is_patient = true};
	struct handshake_limit *d;
	nsec_t until;

	(void)state;
	cast_begin(&cast);
	d = &hall.proxy->routes[0]->handshakes[PROXY_SERVER];
	cast_connect();
	fill_slots(d);
	hall.pairs[2].gw_addr = hall.pairs[0].gw_addr;
	world_connect_pair(&hall, 2);
	world_run(&hall, NSEC_PER_SEC / 2);
	for (until = memnet_now(hall.net) + 10 * NSEC_PER_SEC; memnet_now(hall.net) < until;)
		memnet_step(hall.net, until);
	world_run(&hall, HANDSHAKE_SLOT_TIME - NSEC_PER_SEC);
	assert_true(handshake_limit_has_waiting(d));
	world_run(&hall, 3 * NSEC_PER_SEC);
	assert_false(handshake_limit_has_waiting(d));
	empty_slots(d);
	cast_end();
}

/* One that hangs leaves places for the connections to the others. */
static void one_server_has_half_of_the_slots(void **state)
{
	const struct cast cast = {
		.upstream = "client", .server = "server", .silent = true, .third = true};
	struct handshake_slot of_one[64];
	struct fabric_addr addr;
	struct handshake_limit *d;
	unsigned n = 0;

	(void)state;
	cast_begin(&cast);
	d = &hall.proxy->routes[0]->handshakes[PROXY_SERVER];
	assert_int_equal(fabric_addr_parse("10.0.0.2", 1, &addr), 0);
	do {
		assert_true(n < 64);
		handshake_slot_init(&of_one[n], NULL);
	} while (handshake_limit_enter(d, &of_one[n++], &addr, hall.proxy->now));
	assert_int_equal(n, (d->inside.most + 1) / 2 + 1);
	while (n > 0)
		handshake_limit_leave(d, &of_one[--n]);
	cast_connect();
	cast_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handshake_without_a_place_waits),
		cmocka_unit_test(a_leg_that_goes_on_without_proof_waits_no_more),
		cmocka_unit_test(taken_slots_are_not_the_servers_fault),
		cmocka_unit_test(a_server_that_takes_long_is_left_for_the_next),
		cmocka_unit_test(a_pause_is_not_the_fault_of_a_handshake),
		cmocka_unit_test(one_server_has_half_of_the_slots),
	};

	return cmocka_run_group_tests_name("hostauth_handshakes", tests, NULL, NULL);
}
