/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole sessions through the relay over fabric/mem: every pair of versions, both directions. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proxy/proxy.h"
#include "tests/session/peer.h"

struct world {
	struct memnet *net;
	struct fabric *gw_fabric;
	struct fabric_addr gw_addr, server_addr;
	struct fabric_listener *gw_listener, *server_listener;
	struct proxy_route route;
	struct proxy *proxy;
	struct peer client, server;
};

struct setup {
	unsigned client_version, server_version; /* what the peers speak, as bit masks */
	uint32_t client_inline, gw_inline, server_inline;
	uint32_t credits;
	size_t memory;
	struct memnet_config net;
};

static struct setup defaults(unsigned client, unsigned server, uint64_t seed)
{
	return (struct setup){
		.client_version = client,
		.server_version = server,
		.client_inline = 4096,
		.gw_inline = 4096,
		.server_inline = 4096,
		.credits = 16,
		.memory = 256 << 20,
		.net = {.seed = seed, .latency_min = 1000, .latency_max = 100000},
	};
}

static struct leg_config gw_leg(const struct setup *s, unsigned versions)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = s->gw_inline,
		.credits = s->credits,
		.rev_credits = 8,
		.max_message = 8 << 20,
		.segment_bytes = 1 << 20,
		.segment_count = 64,
		.reverse = RPC_REV_GENL,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

static void world_new(struct world *w, const struct setup *s)
{
	struct proxy_config cfg;

	memset(w, 0, sizeof(*w));
	w->net = memnet_new(&s->net);
	assert_non_null(w->net);
	w->gw_fabric = memnet_fabric(w->net);
	assert_int_equal(fabric_addr_parse("10.0.0.1", 20049, &w->gw_addr), 0);
	assert_int_equal(fabric_addr_parse("10.0.0.2", 20049, &w->server_addr), 0);
	strcpy(w->route.name, "test");
	w->route.client = gw_leg(s, LEG_V1_OR_V2);
	w->route.server = gw_leg(s, LEG_V1_OR_V2);
	w->route.upstream = w->server_addr;
	w->route.version_memory = 100 * NSEC_PER_SEC;
	cfg = (struct proxy_config){
		.routes = &w->route,
		.nroutes = 1,
		.fabrics = &w->gw_fabric,
		.nfabrics = 1,
		.memory_bytes = s->memory,
		.max_sessions = 10,
		.max_payload = 4 << 20,
		.seed = s->net.seed,
	};
	w->proxy = proxy_new(&cfg);
	assert_non_null(w->proxy);
	w->gw_listener = memnet_listen(w->net, &w->gw_addr);
	w->server_listener = memnet_listen(w->net, &w->server_addr);
	assert_int_equal(
		fabric_attach(w->gw_fabric, w->gw_listener, proxy_route_owner(w->proxy, 0)), 0);
	peer_init(&w->client, w->net, s->client_version, s->client_inline, s->credits, 0x1000);
	peer_init(&w->server, w->net, s->server_version, s->server_inline, s->credits, 0x900000);
	assert_int_equal(fabric_attach(w->server.fabric, w->server_listener, &w->server), 0);
}

static void turn(struct world *w)
{
	nsec_t now = memnet_now(w->net);

	peer_turn(&w->client);
	peer_turn(&w->server);
	while (proxy_turn(w->proxy, now))
		;
}

/* Run until nothing happens any more, virtual time included up to @limit. */
static void run(struct world *w, nsec_t limit)
{
	nsec_t end = memnet_now(w->net) + limit;

	turn(w);
	for (;;) {
		nsec_t until = nsec_min(end, proxy_deadline(w->proxy));

		if (!memnet_step(w->net, until) && memnet_now(w->net) >= end)
			break;
		turn(w);
		if (memnet_now(w->net) >= end)
			break;
		if (until == NSEC_NEVER)
			break;
	}
	turn(w);
}

static void world_free(struct world *w)
{
	fabric_detach(w->gw_fabric, w->gw_listener);
	fabric_detach(w->server.fabric, w->server_listener);
	proxy_free(w->proxy);
	peer_fini(&w->client);
	peer_fini(&w->server);
	fabric_free(w->gw_fabric);
	memnet_listener_free(w->gw_listener);
	memnet_listener_free(w->server_listener);
	memnet_free(w->net);
	assert_int_equal(mem_live(), 0);
}

static void one_null_call(void **state)
{
	(void)state;
	for (unsigned cv = 1; cv <= 2; cv++)
		for (unsigned sv = 1; sv <= 3; sv++) {
			struct setup s = defaults(cv, sv, 1);
			const struct peer_spec spec = {.body = 100, .reply = 24, .segs = 1};
			struct world w;

			world_new(&w, &s);
			peer_connect(&w.client, &w.gw_addr);
			run(&w, NSEC_PER_SEC);
			assert_true(w.client.open);
			peer_call(&w.client, &spec);
			run(&w, NSEC_PER_SEC);
			assert_int_equal(w.client.done, 1);
			assert_int_equal(w.server.leg.t->version, sv == 1 ? 1 : 2);
			assert_int_equal(w.client.corrupt + w.server.corrupt, 0);
			world_free(&w);
		}
}

static void keep_busy(struct world *w, struct rng *r, unsigned calls, const struct setup *s)
{
	uint32_t front = s->client_inline < s->gw_inline ? s->client_inline : s->gw_inline;
	uint32_t small = front < s->server_inline ? front : s->server_inline;
	unsigned made = 0, rmade = 0;

	while (made < calls || rmade < calls / 4 || peer_busy(&w->client) ||
	       peer_busy(&w->server)) {
		struct peer_spec spec;

		while (made < calls && peer_busy(&w->client) < 24 && w->client.open) {
			spec = peer_random_spec(r, w->client.leg.t->version, false, front);
			peer_call(&w->client, &spec);
			made++;
		}
		while (rmade < calls / 4 && peer_busy(&w->server) < 4 && w->server.leg.t &&
		       w->client.done > 0) {
			spec = peer_random_spec(r, 1, true, small);
			peer_call(&w->server, &spec);
			rmade++;
		}
		turn(w);
		if (!memnet_step(w->net, memnet_now(w->net) + 100 * NSEC_PER_SEC) &&
		    (peer_busy(&w->client) || peer_busy(&w->server)))
			fail_msg("stalled: client %u server %u busy, done %llu errors %llu",
				 peer_busy(&w->client), peer_busy(&w->server),
				 (unsigned long long)w->client.done,
				 (unsigned long long)w->client.errors);
		if (w->client.closed || w->server.closed)
			fail_msg("closed: %s %s", err_name(w->client.status),
				 err_name(w->server.status));
	}
}

/* Whatever the versions, thresholds and shapes: every octet arrives, both ways. */
static void payload_is_equal_on_both_sides(void **state)
{
	struct rng r = rng_seeded("payload", 42);
	static const uint32_t sizes[] = {4096, 4096, 8192, 16384};

	(void)state;
	for (unsigned round = 0; round < 24; round++) {
		struct setup s = defaults(1 + round % 2, 1 + (round / 2) % 2, rng_next(&r));
		struct world w;

		s.client_inline = sizes[rng_below(&r, 4)];
		s.gw_inline = sizes[rng_below(&r, 4)];
		s.server_inline = sizes[rng_below(&r, 4)];
		s.credits = 4 + rng_below(&r, 28);
		printf("round %u: v%u-v%u inline %u %u %u credits %u\n", round, s.client_version,
		       s.server_version, s.client_inline, s.gw_inline, s.server_inline, s.credits);
		world_new(&w, &s);
		peer_connect(&w.client, &w.gw_addr);
		run(&w, NSEC_PER_SEC);
		assert_true(w.client.open);
		keep_busy(&w, &r, 200, &s);
		assert_int_equal(w.client.corrupt + w.server.corrupt, 0);
		assert_int_equal(w.client.errors + w.server.errors, 0);
		assert_int_equal(w.client.unexpected + w.server.unexpected, 0);
		assert_int_equal(w.client.done, 200);
		assert_int_equal(w.server.done, 50);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_null_call),
		cmocka_unit_test(payload_is_equal_on_both_sides),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
