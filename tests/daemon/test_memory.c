/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config/ computes how much memory a worker needs, without the relay's code. This test compares
 * both: with that much memory, a session of every route and an RPC of the largest payload fit, for
 * all settings.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "config/keys.h"
#include "daemon/gateway.h"
#include "tests/rng.h"
#include "tests/session/inside.h"

enum { MAX_ROUTES = 6, LEG_BLOCK = 64 * 1024 };

static void random_end(struct rng *r, struct config_end *e)
{
	e->inline_bytes = 1024 * (1 + rng_below(r, 64));
	e->credits = 1 + rng_below(r, rng_below(r, 2) ? 4096 : 100);
	e->reverse_credits = 1 + rng_below(r, rng_below(r, 2) ? 1024 : 20);
	e->reply_timeout_s = rng_below(r, 2) * 60;
}

static struct config *random_config(struct rng *r)
{
	uint32_t n = 1 + rng_below(r, MAX_ROUTES);
	struct config *cfg = mem_zalloc(sizeof(*cfg) + n * sizeof(cfg->routes[0]));

	assert_non_null(cfg);
	*cfg = config_defaults;
	cfg->nroutes = n;
	cfg->workers = 1;
	cfg->max_payload = 4096 * (16 + rng_below(r, 4081));
	for (uint32_t i = 0; i < n; i++) {
		cfg->routes[i] = config_route_defaults;
		random_end(r, &cfg->routes[i].listen);
		random_end(r, &cfg->routes[i].upstream);
		strcpy(cfg->routes[i].listen.address, "127.0.0.1");
		strcpy(cfg->routes[i].upstream.address, "127.0.0.1");
	}
	cfg->memory_bytes = config_worker_bytes(cfg);
	return cfg;
}

static void check_room(struct buf_arena *a, const struct gateway *gw, uint32_t max_payload)
{
	static void *blocks[100000];
	static const struct fabric own; /* one that does not share Receives */
	size_t fixed = 0, n = 0;

	for (unsigned i = 0; i < gw->nroutes; i++)
		fixed += leg_fixed_bytes(&gw->routes[i].client, &own, 64) +
			 leg_fixed_bytes(&gw->routes[i].server, &own, 64);
	for (size_t got = 0; got < fixed; got += LEG_BLOCK)
		assert_non_null(blocks[n++] = buf_alloc(a, LEG_BLOCK, BUF_CONN));
	/* The most memory of one transaction: see try_start(). */
	assert_true(2 * buf_round(max_payload) <= (a->bytes - a->reserve) / 4);
	/* A call or reply of that length with its header has room, and something beside it. */
	assert_true(buf_round(budget_message(max_payload)) > 0);
	assert_true(buf_round(budget_message(max_payload)) + (2 << 20) <=
		    (a->bytes - a->reserve) / 4);
	assert_non_null(blocks[n] = buf_alloc(a, budget_message(max_payload), BUF_TRANSACTION));
	buf_free(a, blocks[n]);
	for (unsigned i = 0; i < 2; i++)
		assert_non_null(blocks[n++] = buf_alloc(a, max_payload, BUF_TRANSACTION));
	assert_non_null(blocks[n++] = buf_alloc(a, max_payload, BUF_REASM_CALL));
	assert_non_null(blocks[n++] = buf_alloc(a, max_payload, BUF_REASM_REPLY));
	while (n > 0)
		buf_free(a, blocks[--n]);
}

static void what_config_asks_for_is_enough(void **state)
{
	struct rng r = rng_seeded("memory", 6);

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct config *cfg = random_config(&r);
		struct proxy_config pc = {.max_sessions = 1};
		struct gateway gw;
		struct proxy *p;

		assert_int_equal(gateway_init(&gw, cfg, "gw.conf", 1, 0), 0);
		pc.memory_bytes = gw.worker_bytes;
		p = proxy_new(&pc);
		assert_non_null(p);
		assert_int_equal(p->arena.bytes, config_worker_bytes(cfg));
		check_room(&p->arena, &gw, cfg->max_payload);
		proxy_free(p);
		gateway_fini(&gw);
		config_free(cfg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_config_asks_for_is_enough),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
