/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Honest peers that share no code with the gateway (stranger.h), with every form that the documents let a call or a
 * reply have, on all four pairs of versions 1 and 2: whatever the habits, thresholds, memory and distance, each call
 * comes to its server, and each reply to its client, octet for octet, and no session ends.
 */
#include "tests/cmocka_all.h"

#include "base/log.h"
#include "tests/session/stage.h"
#include "tests/session/stranger.h"
#include "tests/session/world.h"

static struct world w;
static struct stranger client, server;
static struct talk talks[TALKS], rtalks[2];
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
	};

	if (h.no_private_data) {
		h.inline_bytes = 1024;
		h.sets_r = false;
	}
	if (version == 2 && rng_below(r, 2))
		h.segment_bytes = 16384 << rng_below(r, 6);
	return h;
}

static struct setup some_setup(struct rng *r, unsigned cv, unsigned sv)
{
	static const uint32_t sizes[] = {4096, 8192, 16384};
	struct setup s = setup_defaults(cv, sv, rng_next(r));

	s.raw = true;
	s.gw_inline = sizes[rng_below(r, 3)];
	s.credits = 3 + rng_below(r, 30);
	s.max_payload = 1 << 20;
	s.continue_max = rng_below(r, 3) * 40000;
	s.memory = rng_below(r, 2) ? 128 << 20 : 24 << 20;
	s.peer_memory = 1 << 20;
	s.hop = rng_below(r, 3) ? HOP_AUTO : HOP_FAR;
	s.net.no_written = rng_below(r, 3) == 0;
	s.net.no_remote_inv = rng_below(r, 3) == 0;
	s.net.shares_receives = rng_below(r, 3) == 0;
	s.two_fabrics = rng_below(r, 3) == 0;
	return s;
}

static void town_begin(struct rng *r, unsigned cv, unsigned sv)
{
	struct setup s = some_setup(r, cv, sv);
	struct habits ch = some_habits(r, cv), sh = some_habits(r, sv);

	for (unsigned i = 0; i < TALKS + 2; i++) {
		struct talk *t = i < TALKS ? &talks[i] : &rtalks[i - TALKS];

		*t = (struct talk){.call = t->call, .reply = t->reply};
	}
	world_new(&w, &s);
	fabric_detach(w.raw.fabric, w.pairs[0].server_listener);
	stranger_init(&client, w.net, cv, false, &ch, r);
	stranger_init(&server, w.net, sv, true, &sh, r);
	client.is_padded = sh.pads_writes;
	client.talks = server.talks = talks;
	client.rtalks = server.rtalks = rtalks;
	assert_int_equal(fabric_attach(server.fabric, w.pairs[0].server_listener, &server), 0);
	stranger_connect(&client, &w.pairs[0].gw_addr);
}

static void everybody(void)
{
	stranger_turn(&client);
	stranger_turn(&server);
	world_turn(&w);
	stranger_turn(&client);
	stranger_turn(&server);
}

static void town_end(void)
{
	stranger_fini(&client);
	world_turn(&w);
	world_run(&w, NSEC_PER_SEC);
	stranger_turn(&server);
	fabric_detach(server.fabric, w.pairs[0].server_listener);
	stranger_fini(&server);
	assert_int_equal(fabric_attach(w.raw.fabric, w.pairs[0].server_listener, &w.raw), 0);
	world_quit(&w);
	world_free(&w);
}

static void dump(const struct stranger *s)
{
	printf("%s v%u closed %d status %d (%s) queue %u sent %u limit %u received %u told %u "
	       "credits %u in flight %u "
	       "granted %u ready %d parts %u done %u+%u due %lld\n",
	       s->is_server ? "server" : "client", s->version, s->closed, s->status,
	       s->why ? s->why : "", s->nqueue, s->sent, s->limit, s->received, s->told,
	       s->h.credits, s->in_flight, s->granted, s->ready, s->parts_len, (unsigned)s->done,
	       (unsigned)s->rdone, (long long)stranger_due(s));
	for (unsigned i = 0; i < 2 * TALKS; i++)
		if (s->services[i].busy)
			printf("  serves %x ops %u due %d\n", s->services[i].in.xid,
			       s->services[i].ops, s->services[i].is_due);
}

static void dump_all(void)
{
	dump(&client);
	dump(&server);
	for (unsigned i = 0; i < TALKS + 2; i++) {
		struct talk *t = i < TALKS ? &talks[i] : &rtalks[i - TALKS];

		if (t->stage)
			printf("talk %x stage %d fences %u call %u reply %u room %u long %d\n",
			       t->xid, (int)t->stage, t->fences, t->call_len, t->reply_len,
			       t->reply_cap, t->is_long);
	}
}

static void town(struct rng *r, unsigned calls)
{
	const nsec_t patience = 200 * NSEC_PER_SEC;
	unsigned made = 0, rmade = 0, rcalls = calls / 4;
	nsec_t moved = memnet_now(w.net);

	for (;;) {
		nsec_t next;

		if (made < calls && rng_below(r, 3) && stranger_call(&client))
			made++;
		if (rmade < rcalls && client.done && rng_below(r, 8) == 0 &&
		    stranger_call_back(&server))
			rmade++;
		if (rng_below(r, 3000) == 0)
			memnet_short(w.gw_fabrics[0], memnet_now(w.net),
				     memnet_now(w.net) + 20 * NSEC_PER_MS);
		everybody();
		if (client.closed || server.closed)
			dump_all();
		must(!client.closed && !server.closed);
		if (client.done == calls && server.rdone == rcalls)
			break;
		next = nsec_min(nsec_min(moved + patience, proxy_deadline(w.proxy)),
				nsec_min(stranger_due(&client), stranger_due(&server)));
		if (made < calls || rmade < rcalls)
			next = nsec_min(next, memnet_now(w.net) + NSEC_PER_MS);
		if (memnet_step(w.net, next))
			moved = memnet_now(w.net);
		if (memnet_now(w.net) >= moved + patience)
			dump_all();
		must(memnet_now(w.net) < moved + patience); /* nothing moves any more */
	}
}

static void every_octet_of_strangers(void **state)
{
	unsigned towns = getenv("TOWNS") ? (unsigned)atoi(getenv("TOWNS")) : 24;
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
		town(&r, 150);
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
	/* Nor does it hide the one that can be. */
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

	for (unsigned i = 0; i < TALKS + 2; i++) {
		struct talk *t = i < TALKS ? &talks[i] : &rtalks[i - TALKS];

		t->call = malloc(TALK_BYTES);
		t->reply = malloc(TALK_BYTES);
	}
	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
