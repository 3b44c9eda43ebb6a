/* SPDX-License-Identifier: BSD-2-Clause */
/* The bouts of test_bouts.c over real sockets. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/iwarp/iwarp.h"
#include "tests/poll_loop.h"
#include "tests/session/bout.h"
#include "tests/session/inside.h"

enum { CALLS = 45, WARM_CALLS = 72, BOUTS = 2 };

static struct {
	struct poll_loop loop;
	struct fabric *gw;
	struct fabric_listener *front[BOUTS], *back[BOUTS];
	struct fabric_addr gw_addr[BOUTS], server_addr[BOUTS];
	struct proxy_route routes[BOUTS];
	struct proxy *proxy;
	unsigned n;
} w;

static struct bout bouts[BOUTS];
static char story[200];
static uint64_t all_passed, all_replies, all_errors, all_fouls[FOULS];

static struct fabric *instance(void)
{
	struct iwarp_config cfg;
	struct fabric *f;

	iwarp_config_default(&cfg);
	f = iwarp_new(&cfg, &w.loop.loop);
	assert_non_null(f);
	return f;
}

static struct fabric_listener *listener(struct fabric_addr *addr)
{
	struct fabric_listener *l;
	int err;

	assert_int_equal(fabric_addr_parse("127.0.0.1", 0, addr), 0);
	l = iwarp_listen(addr, &err);
	assert_non_null(l);
	iwarp_listener_addr(l, addr);
	return l;
}

static struct leg_config leg_config(unsigned versions, uint32_t inline_bytes, nsec_t timeout)
{
	return (struct leg_config){.versions = versions,
				   .inline_bytes = inline_bytes,
				   .credits = 24,
				   .rev_credits = 4,
				   .max_message = 2 << 20,
				   .segment_bytes = 1 << 20,
				   .segment_count = 64,
				   .reverse = RPC_REV_GENL,
				   .reply_timeout = timeout,
				   .setup_timeout = 10 * NSEC_PER_SEC};
}

static void begin(struct rng *r, unsigned cv, unsigned sv)
{
	static const uint32_t windows[] = {0, 65536, 65536, 98304};
	static const uint32_t from[] = {1, 60000, 300000, 2 << 20, 8 << 20};
	nsec_t timeout = rng_below(r, 6) ? 0 : (1 + rng_below(r, 100)) * NSEC_PER_MS;
	bool is_foul = rng_below(r, 4) != 0, is_fast = rng_below(r, 2);
	uint32_t window = windows[rng_below(r, 4)];
	struct proxy_config cfg;

	assert_int_equal(poll_loop_init(&w.loop), 0);
	w.n = 1 + rng_below(r, BOUTS);
	w.gw = instance();
	for (unsigned i = 0; i < w.n; i++) {
		w.front[i] = listener(&w.gw_addr[i]);
		w.back[i] = listener(&w.server_addr[i]);
		w.routes[i] = (struct proxy_route){
			.client = leg_config(LEG_V1_OR_V2, 4096u << rng_below(r, 3), timeout),
			.server = leg_config(LEG_V1_OR_V2, 4096u << rng_below(r, 3), timeout),
			.upstream = w.server_addr[i],
			.version_memory = 100 * NSEC_PER_SEC};
		snprintf(w.routes[i].name, sizeof(w.routes[i].name), "route%u", i);
	}
	cfg = (struct proxy_config){.routes = w.routes,
				    .nroutes = w.n,
				    .fabrics = &w.gw,
				    .nfabrics = 1,
				    .memory_bytes = (16u << rng_below(r, 3)) << 20,
				    .cut_through_bytes = window,
				    .cut_through_from = from[rng_below(r, 5)],
				    .max_sessions = 4,
				    .max_payload = 1 << 20,
				    .continue_max = 64 << 10,
				    .seed = rng_next(r)};
	w.proxy = proxy_new(&cfg);
	assert_non_null(w.proxy);
	for (unsigned i = 0; i < w.n; i++) {
		struct bout *b = &bouts[i];

		assert_int_equal(fabric_attach(w.gw, w.front[i], proxy_route_owner(w.proxy, i)), 0);
		bout_begin(b, i, cv, sv, r);
		b->is_foul = is_foul && rng_below(r, 3) != 0;
		b->budget = 1 + rng_below(r, 3);
		b->plan = (enum foul)(1 + rng_below(r, FOULS - 1));
		b->has_timeout = timeout > 0;
		b->warm = is_fast && window;
		assert_int_equal(fabric_attach(b->server.fabric, w.back[i], &b->server), 0);
		bout_connect(b, &w.gw_addr[i]);
	}
}

static void turn(void)
{
	nsec_t due = proxy_deadline(w.proxy), now = poll_loop_now();
	bool more;

	for (unsigned i = 0; i < w.n; i++) {
		struct party *both[] = {&bouts[i].client, &bouts[i].server};

		for (unsigned k = 0; k < 2; k++) {
			party_turn(both[k]);
			due = nsec_min(due, fabric_deadline(both[k]->fabric));
			due = nsec_min(due, party_due(both[k]));
		}
	}
	more = proxy_turn(w.proxy, now);
	due = nsec_min(due, fabric_deadline(w.gw));
	poll_loop_step(&w.loop, more ? 0 : poll_loop_timeout(due, 1));
	for (unsigned i = 0; i < w.n; i++) {
		fabric_tick(bouts[i].client.fabric, poll_loop_now());
		fabric_tick(bouts[i].server.fabric, poll_loop_now());
	}
}

static bool is_over(const struct bout *b)
{
	return b->client.closed || b->server.closed;
}

static unsigned calls_of(const struct bout *b)
{
	return CALLS + (b->warm || b->made > CALLS ? WARM_CALLS : 0);
}

static bool bout_goes_on(struct bout *b, struct rng *r)
{
	bool busy = false;

	if (is_over(b)) {
		if (b->last == FAIR && !b->has_timeout)
			printf("client %d %d %s, server %d %d %s\n", b->client.closed,
			       b->client.status, b->client.why ? b->client.why : "",
			       b->server.closed, b->server.status,
			       b->server.why ? b->server.why : "");
		must(b->last != FAIR || b->has_timeout);
		return false;
	}
	if (b->warm && b->done >= WARM_CALLS)
		b->warm = false;
	if (b->made < calls_of(b) && rng_below(r, 3) && party_ask(&b->client))
		b->made++;
	if (b->done && b->rmade < 8 && rng_below(r, 30) == 0 && party_ask(&b->server))
		b->rmade++;
	party_foul(&b->client);
	party_foul(&b->server);
	for (unsigned i = 0; i < ASK_ALL; i++)
		busy |= b->asks[i].stage != ASK_IDLE;
	return b->made < calls_of(b) || busy;
}

static void run(struct rng *r)
{
	nsec_t moved = poll_loop_now();
	uint64_t all = 0, before;
	bool more;

	do {
		more = false;
		before = all;
		all = 0;
		for (unsigned i = 0; i < w.n; i++) {
			struct bout *b = &bouts[i];

			more |= bout_goes_on(b, r) && ((b->last == FAIR && !b->has_timeout) ||
						       poll_loop_now() < moved + NSEC_PER_SEC / 5);
			all += b->done + b->rdone + b->made + b->rmade;
		}
		turn();
		if (all != before)
			moved = poll_loop_now();
		must(poll_loop_now() < moved + 30 * NSEC_PER_SEC);
	} while (more);
}

static void end(void)
{
	nsec_t by = poll_loop_now() + 30 * NSEC_PER_SEC;

	all_passed += proxy_counters(w.proxy)->passed_bytes;
	for (unsigned i = 0; i < w.n; i++) {
		const struct bout *b = &bouts[i];

		must(b->last != FAIR || b->has_timeout || !is_over(b));
		all_replies += b->replies;
		all_errors += b->errors;
		for (unsigned k = 0; k < FOULS; k++)
			all_fouls[k] += b->fouls[k];
		party_hang_up(&bouts[i].client);
	}
	while (proxy_sessions(w.proxy)) {
		must(poll_loop_now() < by);
		turn();
	}
	for (unsigned i = 0; i < w.n; i++) {
		fabric_detach(w.gw, w.front[i]);
		fabric_detach(bouts[i].server.fabric, w.back[i]);
		bout_end(&bouts[i]);
	}
	proxy_free(w.proxy);
	fabric_free(w.gw);
	for (unsigned i = 0; i < w.n; i++) {
		iwarp_listener_free(w.front[i]);
		iwarp_listener_free(w.back[i]);
	}
	poll_loop_fini(&w.loop);
	assert_int_equal(mem_live(), 0);
}

static void no_octet_is_anothers(void **state)
{
	static const unsigned pairs[] = {11, 11, 21, 12, 22};
	unsigned n = getenv("TOWNS") ? (unsigned)atoi(getenv("TOWNS")) : 6;
	struct rng all = rng_seeded("bouts over iwarp", 7);
	uint64_t first = all.state;

	(void)state;
	bout_place = (struct bout_place){poll_loop_now, instance};
	for (unsigned i = 0; i < n; i++) {
		struct rng r = {first + i};
		unsigned pair =
			getenv("PAIR") ? (unsigned)atoi(getenv("PAIR")) : pairs[(first + i) % 5];

		snprintf(story, sizeof(story), "bouts over iwarp: SEED=%llu TOWNS=1 PAIR=%u",
			 (unsigned long long)(first + i), pair);
		stranger_story = story;
		begin(&r, pair / 10, pair % 10);
		run(&r);
		end();
	}
	printf("replies %llu errors %llu passed %llu\n", (unsigned long long)all_replies,
	       (unsigned long long)all_errors, (unsigned long long)all_passed);
	for (unsigned k = 1; k < FOULS; k++)
		printf(" foul %u: %llu", k, (unsigned long long)all_fouls[k]);
	printf("\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_octet_is_anothers),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("bouts over iwarp", tests, NULL, NULL);
}
