/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that peers have proved choose routes and source addresses; calls wait until the server is there. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "proxy/routes.h"
#include "tests/session/cast.h"

/* The listener of route 0 is that of route 2 as well, which is for the rest. */
static void begin_shared(const char *const *names, unsigned nnames, bool both)
{
	const struct cast cast = {.client = "client", .listen = "server", .third = true};

	cast_begin(&cast);
	hall.routes[0].names = names;
	hall.routes[0].nnames = nnames;
	if (both)
		hall.routes[2].shares = &hall.routes[0];
}

static void the_name_chooses_the_route(void **state)
{
	static const char *const clients[] = {"other.example", "*.example"};
	static const char *const others[] = {"other.example", "*.client.example", "nfs://*"};

	(void)state;
	begin_shared(clients, 2, true);
	cast_connect();
	cast_is_served();
	assert_int_equal(hall.pairs[0].server.served, 20);
	cast_said("event=session.open session=2 route=route0 ");
	cast_end();

	begin_shared(others, 3, true);
	cast_connect();
	cast_is_served();
	assert_int_equal(hall.pairs[0].server.served, 0);
	assert_int_equal(hall.pairs[2].server.served, 20);
	cast_said("event=session.open session=2 route=route2 ");
	cast_said("event=hostauth session=2 route=route2 leg=client ");
	cast_end();
}

/* Route 2 is no longer in the file, or has other settings, while a client for that route proves its name. */
static void a_route_that_was_removed_takes_nobody(void **state)
{
	static const char *const names[] = {"other.example"};

	(void)state;
	for (unsigned goes_on = 0; goes_on < 2; goes_on++) {
		begin_shared(names, 1, true);
		cast_replace_route(2); /* it finds the route whose listener it shares */
		proxy_route_retire(hall.proxy, 2);
		if (goes_on)
			strcpy(hall.routes[1].name, hall.routes[2].name);
		cast_connect();
		if (goes_on) {
			cast_is_served();
		} else {
			cast_is_refused();
			cast_said("why=\"no route is for this name\"");
		}
		assert_int_equal(hall.pairs[2].server.served, 20 * goes_on);
		cast_end();
	}
}

static void a_name_without_a_route_is_refused(void **state)
{
	static const char *const names[] = {"other.example"};

	(void)state;
	begin_shared(names, 1, false);
	cast_connect();
	cast_is_refused();
	cast_is_counted(PROXY_REFUSED_HOSTAUTH);
	cast_said("event=hostauth session=2 route=route0 leg=client ");
	cast_said("event=hostauth.unrouted session=2 route=route0 ");
	cast_not_said("event=session.open session=2 ");
	cast_end();
}

static const char *seen_by(unsigned pair)
{
	static char text[FABRIC_ADDR_TEXT];

	return fabric_addr_host(&hall.pairs[pair].server.leg.conn->peer, text);
}

#define ADDRESS(last)                                                                              \
	{                                                                                          \
		.bits = 32, .octets = { 10, 9, 8, last }                                           \
	}

/* Once the client's name is known, the sources of the route that it leads to apply, whichever route that is. */
static void the_name_chooses_the_source(void **state)
{
	static const struct proxy_source own[] = {
		{.everywhere = true, .name = "other.example", .addresses = ADDRESS(7)},
		{.clients = {.is_v6 = true}, .name = "*.example", .addresses = ADDRESS(7)},
		{.everywhere = true, .name = "*.example", .addresses = ADDRESS(8)},
		{.addresses = ADDRESS(7)},
	};
	static const char *const others[] = {"other.example"};

	(void)state;
	for (unsigned shared = 0; shared < 2; shared++) {
		begin_shared(others, shared, shared);
		hall.routes[0].sources = own;
		hall.routes[0].nsources = shared ? 1 : 4;
		hall.routes[2].sources = own + 2;
		hall.routes[2].nsources = shared;
		cast_connect();
		cast_is_served();
		assert_string_equal(seen_by(2 * shared), "10.9.8.8");
		cast_end();
	}
}

static void a_name_without_a_source_is_refused(void **state)
{
	static const struct proxy_source others[] = {
		{.everywhere = true, .name = "other.example", .addresses = {.bits = 32}}};

	(void)state;
	begin_shared(NULL, 0, false);
	hall.routes[0].sources = others;
	hall.routes[0].nsources = 1;
	cast_connect();
	cast_is_refused();
	cast_said("event=session.end session=2 ");
	cast_said("why=\"no source address is for it\"");
	cast_end();
}

/* A client that need not authenticate has no name. */
static void an_exempt_client_has_no_name(void **state)
{
	static const struct proxy_source mixed[] = {
		{.everywhere = true,
		 .name = "*.example",
		 .addresses = {.bits = 32, .octets = {10, 9, 8, 7}}},
		{.everywhere = true, .addresses = {.bits = 32, .octets = {10, 9, 8, 8}}}};
	const struct cast cast = {.listen = "server", .unneeded_from = true};

	(void)state;
	cast_begin(&cast);
	hall.routes[0].sources = mixed;
	hall.routes[0].nsources = 2;
	cast_connect();
	cast_is_served();
	assert_string_equal(seen_by(0), "10.9.8.8");
	cast_end();

	cast_begin(&cast);
	hall.routes[0].sources = mixed;
	hall.routes[0].nsources = 1;
	cast_connect();
	cast_is_refused();
	assert_int_equal(proxy_counters(hall.proxy)->refused[PROXY_REFUSED_SOURCE], 1);
	cast_end();
}

/* Messages of the client wait for the server while it is being connected, within the server's
 * time. */
static void calls_wait_for_the_server(void **state)
{
	static const char *const names[] = {"client.example"};
	struct peer *client = &hall.pairs[0].client;

	(void)state;
	for (unsigned comes = 0; comes < 2; comes++) {
		begin_shared(names, 1, false);
		hall.servers_sleep = true;
		world_connect_pair(&hall, 0);
		world_run(&hall, NSEC_PER_SEC);
		assert_true(client->open);
		for (unsigned i = 0; i < 20; i++)
			assert_true(peer_call(client, &cast_hello));
		world_run(&hall, NSEC_PER_SEC);
		assert_int_equal(client->done, 0);
		if (!comes)
			world_run(&hall, 60 * NSEC_PER_SEC);
		hall.servers_sleep = false;
		world_connect_pair(&hall, 1);
		world_run(&hall, NSEC_PER_SEC);
		peer_call(&hall.pairs[1].client, &cast_hello);
		world_run(&hall, NSEC_PER_SEC);
		assert_int_equal(client->done, comes ? 20 : 0);
		assert_int_equal(client->closed, !comes);
		assert_int_equal(hall.pairs[0].server.served, comes ? 20 : 0);
		cast_end();
	}
}

/* The first call is a continued call of more parts than the client has credits. The parts wait for
 * the server, and the GRANTs for the others go out when the server is ready. */
static void a_call_beyond_the_credits_waits_for_the_server(void **state)
{
	static const char *const names[] = {"client.example"};
	const struct peer_spec spec = {.body = 256 << 10, .reply = 24, .segs = 1};
	struct peer *client = &hall.pairs[0].client;

	(void)state;
	begin_shared(names, 1, false);
	hall.servers_sleep = true;
	world_connect_pair(&hall, 0);
	world_run(&hall, NSEC_PER_SEC);
	assert_true(client->open);
	assert_true(peer_call(client, &spec));
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(client->done, 0);
	hall.servers_sleep = false;
	world_connect_pair(&hall, 1);
	world_run(&hall, NSEC_PER_SEC);
	assert_int_equal(client->done, 1);
	assert_int_equal(client->errors, 0);
	peer_call(&hall.pairs[1].client, &cast_hello);
	world_run(&hall, NSEC_PER_SEC);
	cast_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_chooses_the_route),
		cmocka_unit_test(a_route_that_was_removed_takes_nobody),
		cmocka_unit_test(a_name_without_a_route_is_refused),
		cmocka_unit_test(the_name_chooses_the_source),
		cmocka_unit_test(a_name_without_a_source_is_refused),
		cmocka_unit_test(an_exempt_client_has_no_name),
		cmocka_unit_test(calls_wait_for_the_server),
		cmocka_unit_test(a_call_beyond_the_credits_waits_for_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
