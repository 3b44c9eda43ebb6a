/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Valid peers that share no code with the gateway (stranger.h), with every form of call and reply
 * that the documents allow, on all pairs of versions 1, 2 and the early draft. For all habits, thresholds,
 * memory sizes and distances each call reaches its server, and each reply its client, octet for
 * octet, and no session ends. The same holds behind a second gateway, with any version between the
 * two, and with the round-trip extension.
 */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/session/stage.h"
#include "tests/session/stranger.h"
#include "tests/session/world.h"

enum { MOST_PAIRS = 3 };

/** struct couple - a client, its server, and what they have to say to each other. */
struct couple {
	struct stranger client, server;
	struct talk talks[TALKS], rtalks[TALKS_BACK];
	unsigned made, rmade;
};

/** struct second - a gateway between that of the world and the servers; .proxy NULL: there is none. */
struct second {
	struct fabric *fabric;
	struct proxy *proxy;
	struct session_limits *limits;
	struct proxy_route routes[MOST_PAIRS];
	struct fabric_addr addr[MOST_PAIRS]; /* of the servers */
	struct fabric_listener *listeners[MOST_PAIRS];
};

/** struct hop - how the two gateways speak with each other. */
struct hop_between {
	unsigned versions; /* as in leg_config; 0: there is one gateway */
	uint32_t bulk;	   /* receive_structure at both ends */
};

static struct world w;
static struct second second;
static struct couple couples[MOST_PAIRS];
static char story[200];

static struct habits some_habits(struct rng *r, unsigned version)
{
	static const uint32_t sizes[] = {1024, 2048, 4096, 8192, 16384};
	struct habits h = {
		.inline_bytes = version == 2 ? sizes[2 + rng_below(r, 3)] : sizes[rng_below(r, 5)],
		.credits = 4 + rng_below(r, 30),
		.no_private_data = version == 1 && rng_below(r, 4) == 0,
		.sets_r = rng_below(r, 2),
		.pads_reads = version == 1 && rng_below(r, 2),
		.always_room = rng_below(r, 2),
		.tells_room = rng_below(r, 2),
		.pads_writes = version == 1 && rng_below(r, 4) == 0,
		.leaves_out = version == 1 && rng_below(r, 4) == 0,
	};

	if (h.no_private_data) {
		h.inline_bytes = 1024;
		h.sets_r = false;
	}
	if (version == 3) {
		h.no_private_data = true;
		h.inline_bytes = 4096;
		h.sets_r = h.pads_reads = h.pads_writes = false;
	}
	if (version == 2 && rng_below(r, 2))
		h.segment_bytes = UINT32_C(16384) << rng_below(r, 6);
	return h;
}

static struct hop_between some_hop(struct rng *r)
{
	static const unsigned versions[] = {LEG_V2, LEG_V2, LEG_V2_EARLY, LEG_V1};
	struct hop_between hop = {.versions = versions[rng_below(r, 4)]};

	if (hop.versions != LEG_V1 && rng_below(r, 2))
		hop.bulk = UINT32_C(16384) << rng_below(r, 5);
	return hop;
}

/* Receives of the first gateway's upstream, and of the listener of the second. */
static uint32_t hop_inline(struct rng *r, const struct hop_between *hop)
{
	bool is_fixed = hop->versions == LEG_V2_EARLY && hop->bulk;

	return is_fixed ? 4096 : UINT32_C(4096) << rng_below(r, 3);
}

static struct setup some_setup(struct rng *r, unsigned cv, unsigned sv,
			       const struct hop_between *hop)
{
	static const uint32_t megabytes[] = {12, 16, 24, 128};
	struct setup s = setup_defaults(cv == 3 ? LEG_V2_EARLY : cv, sv == 3 ? LEG_V2_EARLY : sv,
					rng_next(r));

	s.raw = true;
	s.gw_inline = hop_inline(r, hop);
	s.credits = 3 + rng_below(r, 30);
	s.max_payload = 1 << 20;
	s.continue_max = rng_below(r, 3) * 40000;
	s.pairs = 1 + rng_below(r, MOST_PAIRS);
	s.memory = megabytes[rng_below(r, 4)] << 20;
	s.peer_memory = 1 << 20;
	s.hop = rng_below(r, 3) ? HOP_AUTO : HOP_FAR;
	s.net.no_written = rng_below(r, 3) == 0;
	s.net.no_remote_inv = rng_below(r, 3) == 0;
	s.net.shares_receives = rng_below(r, 3) == 0;
	s.two_fabrics = rng_below(r, 3) == 0;
	if (!hop->versions)
		return s;
	s.upstream_versions = hop->versions;
	s.gw_up_bulk = s.gw_knows = hop->bulk;
	if (hop->bulk) /* each connection has that many Receives of that size */
		s.memory = 256 << 20;
	if (rng_below(r, 3) == 0)
		s.cut_through_bytes = 2048u << rng_below(r, 4);
	return s;
}

/* The server that the world has for pair @i, and whose place the second gateway, or the stranger, takes. */
static struct fabric *other_fabric(unsigned i)
{
	return i == 0 ? w.raw.fabric : w.pairs[i].server.fabric;
}

static void *other_owner(unsigned i)
{
	return i == 0 ? (void *)&w.raw : (void *)&w.pairs[i].server;
}

static void second_route(struct rng *r, unsigned i, const struct hop_between *hop, unsigned sv)
{
	struct proxy_route *to = &second.routes[i];

	*to = w.routes[i];
	assert_int_equal(fabric_addr_parse("10.0.0.3", (uint16_t)(20049 + i), &second.addr[i]), 0);
	snprintf(to->name, sizeof(to->name), "second%u", i);
	to->client.versions = hop->versions | (rng_below(r, 2) ? LEG_V1_OR_V2 : 0);
	to->server.versions = sv == 3 ? LEG_V2_EARLY : LEG_V1_OR_V2;
	to->client.bulk_bytes = to->client.peer_bulk_bytes = hop->bulk;
	to->server.bulk_bytes = to->server.peer_bulk_bytes = 0;
	to->client.inline_bytes = hop_inline(r, hop);
	to->server.inline_bytes = UINT32_C(4096) << rng_below(r, 3);
	to->client.credits = to->server.credits = 3 + rng_below(r, 30);
	to->client_hop = to->server_hop;
	to->server_hop = HOP_AUTO;
	to->upstream = second.addr[i];
	to->upstream_fabric = 0;
}

static void second_begin(struct rng *r, const struct hop_between *hop, unsigned sv)
{
	struct proxy_config cfg;

	second.fabric = memnet_fabric(w.net);
	second.limits = session_limits_new(
		&(struct session_limits_config){.max_sessions = 10, .seed = rng_next(r)});
	for (unsigned i = 0; i < w.s.pairs; i++)
		second_route(r, i, hop, sv);
	cfg = (struct proxy_config){
		.routes = second.routes,
		.nroutes = w.s.pairs,
		.fabrics = &second.fabric,
		.nfabrics = 1,
		.memory_bytes = w.s.memory,
		.max_sessions = 10,
		.session_limits = second.limits,
		.max_payload = w.s.max_payload,
		.continue_max = rng_below(r, 3) * 40000,
		.cut_through_bytes = rng_below(r, 2) ? w.s.cut_through_bytes : 0,
		.seed = rng_next(r),
	};
	second.proxy = proxy_new(&cfg);
	assert_non_null(second.proxy);
	for (unsigned i = 0; i < w.s.pairs; i++) {
		assert_int_equal(fabric_attach(second.fabric, w.pairs[i].server_listener,
					       proxy_route_owner(second.proxy, i)),
				 0);
		second.listeners[i] = memnet_listen(w.net, &second.addr[i]);
		assert_non_null(second.listeners[i]);
	}
}

static void second_turn(void)
{
	for (unsigned n = 0; second.proxy && proxy_turn(second.proxy, memnet_now(w.net)); n++)
		assert_true(n < 1000);
}

static nsec_t gateways_due(void)
{
	nsec_t due = proxy_deadline(w.proxy);

	return second.proxy ? nsec_min(due, proxy_deadline(second.proxy)) : due;
}

static void second_end(void)
{
	if (!second.proxy)
		return;
	assert_int_equal(proxy_sessions(second.proxy), 0);
	for (unsigned i = 0; i < w.s.pairs; i++) {
		fabric_detach(second.fabric, w.pairs[i].server_listener);
		memnet_listener_free(second.listeners[i]);
	}
	proxy_free(second.proxy);
	session_limits_free(second.limits);
	fabric_free(second.fabric);
	memset(&second, 0, sizeof(second));
}

/* Where the gateway before the server of couple @i finds that server. */
static struct fabric_listener *server_listener(unsigned i)
{
	return second.proxy ? second.listeners[i] : w.pairs[i].server_listener;
}

static void couple_begin(struct couple *c, unsigned i, struct rng *r, unsigned cv, unsigned sv,
			 unsigned between)
{
	struct habits ch = some_habits(r, cv), sh = some_habits(r, sv);

	stranger_init(&c->client, w.net, cv == 3 ? 1 : cv, false, &ch, r);
	stranger_init(&c->server, w.net, sv == 3 ? 1 : sv, true, &sh, r);
	c->client.is_early = cv == 3;
	c->server.is_early = sv == 3;
	c->client.is_padded = sh.pads_writes;
	c->server.has_chunks_back = cv == 2 && sv == 2 && (!between || between == LEG_V2);
	c->client.talks = c->server.talks = c->talks;
	c->client.rtalks = c->server.rtalks = c->rtalks;
	c->made = c->rmade = 0;
	for (unsigned k = 0; k < TALKS; k++)
		talk_init(&c->talks[k]);
	for (unsigned k = 0; k < TALKS_BACK; k++)
		talk_init(&c->rtalks[k]);
	assert_int_equal(fabric_attach(c->server.fabric, server_listener(i), &c->server), 0);
	stranger_connect(&c->client, &w.pairs[i].gw_addr);
}

static void couple_end(struct couple *c, unsigned i)
{
	fabric_detach(c->server.fabric, server_listener(i));
	stranger_fini(&c->server);
	for (unsigned k = 0; k < TALKS; k++)
		talk_fini(&c->talks[k]);
	for (unsigned k = 0; k < TALKS_BACK; k++)
		talk_fini(&c->rtalks[k]);
}

static void town_begin(struct rng *r, unsigned cv, unsigned sv, const struct hop_between *hop)
{
	struct setup s = some_setup(r, cv, sv, hop);

	world_new(&w, &s);
	for (unsigned i = 0; i < s.pairs; i++)
		fabric_detach(other_fabric(i), w.pairs[i].server_listener);
	if (hop->versions)
		second_begin(r, hop, sv);
	for (unsigned i = 0; i < s.pairs; i++)
		couple_begin(&couples[i], i, r, cv, sv, hop->versions);
}

static void everybody(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		stranger_turn(&couples[i].client);
		stranger_turn(&couples[i].server);
	}
	world_turn(&w);
	second_turn();
}

/* The clients have left: one gateway after the other notices. */
static void settle(nsec_t limit)
{
	nsec_t end = memnet_now(w.net) + limit;

	while (memnet_now(w.net) < end) {
		world_turn(&w);
		second_turn();
		for (unsigned i = 0; i < w.s.pairs; i++)
			stranger_turn(&couples[i].server);
		memnet_step(w.net, nsec_min(end, gateways_due()));
	}
}

static void town_end(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++)
		stranger_fini(&couples[i].client);
	settle(2 * NSEC_PER_SEC);
	for (unsigned i = 0; i < w.s.pairs; i++)
		couple_end(&couples[i], i);
	second_end();
	for (unsigned i = 0; i < w.s.pairs; i++)
		assert_int_equal(
			fabric_attach(other_fabric(i), w.pairs[i].server_listener, other_owner(i)),
			0);
	world_quit(&w);
	world_free(&w);
}

/* More calls, perhaps. Return: whether there are some to be made or waited for. */
static bool couple_talks(struct couple *c, struct rng *r, unsigned calls)
{
	unsigned rcalls = calls / 4;

	if (c->made < calls && rng_below(r, 3) && stranger_call(&c->client))
		c->made++;
	if (c->rmade < rcalls && c->client.done && rng_below(r, 8) == 0 &&
	    stranger_call_back(&c->server))
		c->rmade++;
	return c->client.done < calls || c->server.rdone < rcalls;
}

static nsec_t next_due(nsec_t limit)
{
	nsec_t next = nsec_min(limit, gateways_due());

	for (unsigned i = 0; i < w.s.pairs; i++)
		next = nsec_min(next, nsec_min(stranger_due(&couples[i].client),
					       stranger_due(&couples[i].server)));
	return next;
}

static void town(struct rng *r, unsigned calls)
{
	const nsec_t timeout = 200 * NSEC_PER_SEC;
	nsec_t moved = memnet_now(w.net);
	uint64_t all = 0, before;

	for (;;) {
		bool more = false;

		before = all;
		all = 0;
		for (unsigned i = 0; i < w.s.pairs; i++) {
			struct couple *c = &couples[i];

			more |= couple_talks(c, r, calls);
			all += c->client.done + c->server.rdone + c->made + c->rmade;
			must(!c->client.closed && !c->server.closed);
		}
		if (!more)
			break;
		if (rng_below(r, 3000) == 0)
			memnet_short(w.gw_fabrics[0], memnet_now(w.net),
				     memnet_now(w.net) + 20 * NSEC_PER_MS);
		everybody();
		if (all != before)
			moved = memnet_now(w.net);
		must(memnet_now(w.net) < moved + timeout); /* or nothing moves any more */
		memnet_step(w.net, next_due(memnet_now(w.net) + NSEC_PER_MS));
	}
}

/* @pairs: versions of client and server; 3 is the early draft. TOWNS=n: that many; PAIR=cs: only
 * these versions. */
static void towns(const char *name, unsigned most, const unsigned *pairs, unsigned npairs,
		  bool chain)
{
	unsigned n = getenv("TOWNS") ? (unsigned)atoi(getenv("TOWNS")) : most;
	struct rng all = rng_seeded(name, 11);
	uint64_t first = all.state;

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	for (unsigned i = 0; i < n; i++) {
		struct rng r = {first + i};
		struct hop_between hop = {0};
		unsigned pair = getenv("PAIR") ? (unsigned)atoi(getenv("PAIR")) : pairs[i % npairs];

		if (chain)
			hop = some_hop(&r);
		snprintf(story, sizeof(story), "%s: SEED=%llu TOWNS=1 PAIR=%u", name,
			 (unsigned long long)(first + i), pair);
		stranger_story = story;
		town_begin(&r, pair / 10, pair % 10, &hop);
		town(&r, 120);
		town_end();
	}
}

static const unsigned pairs[] = {11, 21, 12, 22}, early_pairs[] = {31, 13, 33, 32, 23};

static void every_octet_of_strangers(void **state)
{
	(void)state;
	towns("strangers", 48, pairs, 4, false);
}

static void every_octet_through_two_gateways(void **state)
{
	(void)state;
	towns("strangers of two gateways", 40, pairs, 4, true);
}

static void every_octet_of_the_early_draft(void **state)
{
	(void)state;
	towns("strangers of the early draft", 20, early_pairs, 5, false);
	towns("early strangers of two gateways", 20, early_pairs, 5, true);
}

/* Found by the other one: what it names need not be a handle at all, and to invalidate it ended the connection. */
static void a_handle_without_octets_is_not_invalidated(void **state)
{
	struct segment real;

	(void)state;
	stage_client(1, LEG_V1);
	raw_words(&stage.raw, 0x100, 1, 16, 0, 0, 1, 1, 0x77, 0, 0, 0, 0, 0, RAW_CALL_BODY(0x100));
	stage_run(0);
	assert_int_equal(stage.raw.nkept, 1);
	assert_int_equal(stage.raw.invalidated, 0);
	/* A handle without octets does not hide a handle that can be invalidated. */
	real = raw_expose(&stage.raw, 64, FABRIC_REMOTE_WRITE);
	raw_words(&stage.raw, 0x101, 1, 16, 0, 0, 1, 2, 0x77, 0, 0, 0, real.handle, real.length,
		  (uint32_t)(real.offset >> 32), (uint32_t)real.offset, 0, 0, RAW_CALL_BODY(0x101));
	stage_run(0);
	assert_int_equal(stage.raw.nkept, 2);
	assert_int_equal(stage.raw.invalidated, real.handle);
	stage_goes_on();
	stage_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_without_octets_is_not_invalidated),
		cmocka_unit_test(every_octet_of_strangers),
		cmocka_unit_test(every_octet_through_two_gateways),
		cmocka_unit_test(every_octet_of_the_early_draft),
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
