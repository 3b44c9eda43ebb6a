/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config/ computes the memory of a session over an RDMA device without having one; the relay counts
 * what it really takes. This test compares both, over a device and over TCP, for all settings: the
 * computed memory is enough, and the default of max_sessions is no number that memory_limit cannot
 * serve.
 */
#include "tests/verbs/adapter.h"

#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "config/keys.h"
#include "daemon/gateway.h"
#include "fabric/iwarp/iwarp.h"
#include "tests/poll_loop.h"
#include "tests/rng.h"
#include "tests/session/inside.h"

static struct fabric tcp; /* costs what a connection of fabric/iwarp costs */

static int know_tcp(void **state)
{
	struct iwarp_config cfg;
	struct poll_loop loop;
	struct fabric *f;

	(void)state;
	iwarp_config_default(&cfg);
	assert_int_equal(poll_loop_init(&loop), 0);
	f = iwarp_new(&cfg, &loop.loop);
	assert_non_null(f);
	tcp.conn_bytes = f->conn_bytes;
	fabric_free(f);
	poll_loop_fini(&loop);
	return 0;
}

static void random_end(struct rng *r, struct config_end *e)
{
	e->inline_bytes = 1024 * (1 + rng_below(r, 64));
	e->credits = 1 + rng_below(r, rng_below(r, 2) ? 4096 : 100);
	e->reverse_credits = 1 + rng_below(r, rng_below(r, 2) ? 1024 : 20);
	e->reply_timeout_s = rng_below(r, 2) * 60;
	strcpy(e->fabric, rng_below(r, 3) ? "verbs" : "iwarp");
	strcpy(e->address, "127.0.0.1");
}

static struct config *one_route(void)
{
	struct config *cfg = mem_zalloc(sizeof(*cfg) + sizeof(cfg->routes[0]));

	assert_non_null(cfg);
	*cfg = config_defaults;
	cfg->nroutes = 1;
	cfg->workers = 1;
	cfg->routes[0] = config_route_defaults;
	return cfg;
}

/* Memory that the relay counts for a session of the only route, with shared Receives or its own. */
static uint64_t counted(const struct config *cfg, bool shares)
{
	const struct config_route *route = &cfg->routes[0];
	struct recv_pool *receives =
		shares ? (struct recv_pool *)&adapter : NULL; /* it is not looked into */
	struct fabric iwarp = tcp;
	struct gateway gw;
	uint64_t sum;

	if (shares)
		assert_int_equal(fabric_share_receives(&adapter.v.base, 4096, receives), 0);
	iwarp.receives = receives;
	assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
	sum = sizeof(struct session) +
	      leg_fixed_bytes(&gw.routes[0].client,
			      strcmp(route->listen.fabric, "verbs") ? &iwarp : &adapter.v.base,
			      SESSION_OP_DEPTH) +
	      leg_fixed_bytes(&gw.routes[0].server,
			      strcmp(route->upstream.fabric, "verbs") ? &iwarp : &adapter.v.base,
			      SESSION_OP_DEPTH);
	gateway_fini(&gw);
	if (shares)
		fabric_unshare_receives(&adapter.v.base);
	return sum;
}

static void what_config_reckons_is_enough(void **state)
{
	struct rng r = rng_seeded("budget", 13);

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		struct config *cfg = one_route();
		uint64_t reckoned;

		random_end(&r, &cfg->routes[0].listen);
		random_end(&r, &cfg->routes[0].upstream);
		cfg->memory_bytes = config_worker_bytes(cfg);
		reckoned = config_session_bytes(&cfg->routes[0]);
		assert_in_range(counted(cfg, false), 1, reckoned);
		assert_in_range(counted(cfg, true), 1, reckoned);
		config_free(cfg);
	}
}

/* The part of memory that connections have is found as in proxy_new(); a part of it is the shared Receives'. */
static void max_sessions_is_what_can_be_fed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool shares = i & 1;
		const char *fabric = i & 4 ? "iwarp" : "verbs";
		struct config *cfg = one_route();
		uint64_t fixed, each;

		cfg->receives = shares ? CONFIG_RECEIVES_AUTO : CONFIG_RECEIVES_OWN;
		cfg->memory_bytes = (i & 2 ? UINT64_C(4) : UINT64_C(1)) << 30;
		strcpy(cfg->routes[0].listen.fabric, fabric);
		strcpy(cfg->routes[0].upstream.fabric, fabric);
		strcpy(cfg->routes[0].listen.address, "127.0.0.1");
		strcpy(cfg->routes[0].upstream.address, "127.0.0.1");
		fixed = (cfg->memory_bytes - budget_reserve(cfg->memory_bytes)) / BUDGET_FIXED;
		if (shares)
			fixed -= fixed / BUDGET_SHARED;
		each = counted(cfg, shares);
		print_message("%s, %s Receives, %u MiB: %u sessions of %u KiB\n", fabric,
			      shares ? "shared" : "own", (unsigned)(cfg->memory_bytes >> 20),
			      config_max_sessions(cfg, 1), (unsigned)(each >> 10));
		assert_in_range(config_max_sessions(cfg, 1), fixed / each, fixed / each * 5 / 4);
		config_free(cfg);
	}
}

/* Two workers that share the default memory_limit, one with as many more as session_limits.c allows. */
static void ten_thousand_fit_the_default(void **state)
{
	struct config *cfg = one_route();
	uint64_t bytes = cfg->memory_bytes / 2,
		 fixed = (bytes - budget_reserve(bytes)) / BUDGET_FIXED;

	(void)state;
	assert_int_equal(cfg->memory_bytes, UINT64_C(1) << 30);
	strcpy(cfg->routes[0].listen.fabric, "iwarp");
	strcpy(cfg->routes[0].upstream.fabric, "iwarp");
	strcpy(cfg->routes[0].listen.address, "127.0.0.1");
	strcpy(cfg->routes[0].upstream.address, "127.0.0.1");
	cfg->workers = 2;
	fixed -= fixed / BUDGET_SHARED;
	assert_in_range(fixed / counted(cfg, true), 5000 + 5000 / 64 + 8, UINT32_MAX);
	assert_in_range(config_max_sessions(cfg, 2), 10000, 12000);
	config_free(cfg);
}

#define budget_test(f) cmocka_unit_test_setup_teardown(f, adapter_start, adapter_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		budget_test(what_config_reckons_is_enough),
		budget_test(max_sessions_is_what_can_be_fed),
		budget_test(ten_thousand_fit_the_default),
	};

	return cmocka_run_group_tests_name("budget", tests, know_tcp, NULL);
}
