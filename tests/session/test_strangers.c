/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Valid peers that share no code with the gateway (stranger.h), with every form of call and reply
 * that the documents allow, on all four pairs of versions 1 and 2. For all habits, thresholds,
 * memory sizes and distances each call reaches its server, and each reply its client, octet for
 * octet, and no session ends.
 */
#include "tests/cmocka_all.h"

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

static struct world w;
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
	if (version == 2 && rng_below(r, 2))
		h.segment_bytes = UINT32_C(16384) << rng_below(r, 6);
	return h;
}

static struct setup some_setup(struct rng *r, unsigned cv, unsigned sv)
{
	static const uint32_t sizes[] = {4096, 8192, 16384}, megabytes[] = {12, 16, 24, 128};
	struct setup s = setup_defaults(cv, sv, rng_next(r));

	s.raw = true;
	s.gw_inline = sizes[rng_below(r, 3)];
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
	return s;
}

/* The server that the world has for pair @i, and whose place the stranger takes. */
static struct fabric *other_fabric(unsigned i)
{
	return i == 0 ? w.raw.fabric : w.pairs[i].server.fabric;
}

static void *other_owner(unsigned i)
{
	return i == 0 ? (void *)&w.raw : (void *)&w.pairs[i].server;
}

static void couple_begin(struct couple *c, unsigned i, struct rng *r, unsigned cv, unsigned sv)
{
	struct habits ch = some_habits(r, cv), sh = some_habits(r, sv);

	fabric_detach(other_fabric(i), w.pairs[i].server_listener);
	stranger_init(&c->client, w.net, cv, false, &ch, r);
	stranger_init(&c->server, w.net, sv, true, &sh, r);
	c->client.is_padded = sh.pads_writes;
	c->server.has_chunks_back = cv == 2 && sv == 2;
	c->client.talks = c->server.talks = c->talks;
	c->client.rtalks = c->server.rtalks = c->rtalks;
	c->made = c->rmade = 0;
	for (unsigned k = 0; k < TALKS; k++)
		talk_init(&c->talks[k]);
	for (unsigned k = 0; k < TALKS_BACK; k++)
		talk_init(&c->rtalks[k]);
	assert_int_equal(fabric_attach(c->server.fabric, w.pairs[i].server_listener, &c->server),
			 0);
	stranger_connect(&c->client, &w.pairs[i].gw_addr);
}

static void couple_end(struct couple *c, unsigned i)
{
	fabric_detach(c->server.fabric, w.pairs[i].server_listener);
	stranger_fini(&c->server);
	for (unsigned k = 0; k < TALKS; k++)
		talk_fini(&c->talks[k]);
	for (unsigned k = 0; k < TALKS_BACK; k++)
		talk_fini(&c->rtalks[k]);
	assert_int_equal(fabric_attach(other_fabric(i), w.pairs[i].server_listener, other_owner(i)),
			 0);
}

static void town_begin(struct rng *r, unsigned cv, unsigned sv)
{
	struct setup s = some_setup(r, cv, sv);

	world_new(&w, &s);
	for (unsigned i = 0; i < s.pairs; i++)
		couple_begin(&couples[i], i, r, cv, sv);
}

static void everybody(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		stranger_turn(&couples[i].client);
		stranger_turn(&couples[i].server);
	}
	world_turn(&w);
}

static void town_end(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++)
		stranger_fini(&couples[i].client);
	world_run(&w, NSEC_PER_SEC);
	for (unsigned i = 0; i < w.s.pairs; i++)
		stranger_turn(&couples[i].server);
	for (unsigned i = 0; i < w.s.pairs; i++)
		couple_end(&couples[i], i);
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
	nsec_t next = nsec_min(limit, proxy_deadline(w.proxy));

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

static void every_octet_of_strangers(void **state)
{
	unsigned towns = getenv("TOWNS") ? (unsigned)atoi(getenv("TOWNS")) : 48;
	struct rng all = rng_seeded("strangers", 11);
	uint64_t first = all.state;

	(void)state;
	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	for (unsigned i = 0; i < towns; i++) {
		struct rng r = {first + i};
		unsigned cv = 1 + i % 2, sv = 1 + i / 2 % 2;

		if (getenv("PAIR")) {
			cv = (unsigned)atoi(getenv("PAIR")) / 10;
			sv = (unsigned)atoi(getenv("PAIR")) % 10;
		}
		snprintf(story, sizeof(story), "SEED=%llu TOWNS=1 PAIR=%u%u",
			 (unsigned long long)(first + i), cv, sv);
		stranger_story = story;
		town_begin(&r, cv, sv);
		town(&r, 120);
		town_end();
	}
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
	};

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
