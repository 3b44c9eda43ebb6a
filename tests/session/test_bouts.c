/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks, in every order that the documents allow, and broken rules (bout.h): on all pairs of
 * versions 1 and 2, with results that are stored, sent early and cut through, for fast and slow
 * clients, with much memory and little.
 * - A requester gets no octet by RDMA Write that its responder has not written there for this call.
 * - A reply has the lengths and the octets of its responder's reply.
 * - A session ends only if one of its ends has broken a rule. Others go on.
 * - Each call is answered, and nothing is left behind.
 */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/session/bout.h"
#include "tests/session/inside.h"
#include "tests/session/world.h"

enum { BOUTS = 3, CALLS = 45, WARM_CALLS = 72 };

static struct world w;
static struct bout bouts[BOUTS];
static char story[200];
static uint64_t all_passed, all_writes, all_replies, all_errors, all_fouls[FOULS];

static void on_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
		     const uint8_t *octets, uint32_t len)
{
	(void)arg;
	if (kind != FABRIC_EV_WRITE)
		return;
	for (unsigned i = 0; i < w.s.pairs; i++) {
		if (to->fabric == bouts[i].client.fabric)
			bout_moved(&bouts[i], &bouts[i].client, octets, len);
		if (to->fabric == bouts[i].server.fabric)
			bout_moved(&bouts[i], &bouts[i].server, octets, len);
	}
}

static nsec_t now(void)
{
	return memnet_now(w.net);
}

static struct fabric *instance(void)
{
	return memnet_fabric(w.net);
}

static const struct memnet_watcher watcher = {.moved = on_moved};

static struct setup some_setup(struct rng *r, unsigned cv, unsigned sv, bool is_heavy)
{
	static const uint32_t megabytes[] = {16, 24, 64, 128};
	static const uint32_t windows[] = {0, 1024, 2048, 4096, 16384};
	static const uint32_t from[] = {1, 60000, 300000, 2 << 20, 8 << 20};
	struct setup s = setup_defaults(cv, sv, rng_next(r));

	s.gw_inline = 4096u << rng_below(r, 3);
	s.credits = 4 + rng_below(r, 30);
	s.max_payload = 1 << 20;
	s.continue_max = rng_below(r, 3) * 40000;
	s.pairs = 1 + rng_below(r, BOUTS);
	s.memory = megabytes[rng_below(r, 4)] << 20;
	s.peer_memory = 1 << 20;
	s.net.no_written = rng_below(r, 6) == 0;
	s.net.no_remote_inv = rng_below(r, 3) == 0;
	s.net.shares_receives = rng_below(r, 3) == 0;
	s.two_fabrics = rng_below(r, 3) == 0;
	s.cut_through_bytes = windows[rng_below(r, 5)];
	s.cut_through_from = from[rng_below(r, 5)];
	if (is_heavy) { /* results are sent early, and held back */
		s.memory = 128 << 20;
		s.cut_through_bytes = windows[1 + rng_below(r, 4)];
		s.cut_through_from = 8 << 20;
		s.net.no_written = false;
		s.credits = 30;
		s.pairs = 1 + rng_below(r, 2);
	}
	if (rng_below(r, 8) == 0)
		s.exposures = 16 + rng_below(r, 30);
	if (rng_below(r, 6) == 0)
		s.reply_timeout = (1 + rng_below(r, 3000)) * NSEC_PER_MS;
	if (rng_below(r, 6) == 0) {
		s.net.fault = MEMNET_STALL;
		s.net.fault_at = 1 + rng_below(r, 3000);
		s.net.fault_delay = 2 * NSEC_PER_SEC;
	}
	return s;
}

static struct fabric *other_fabric(unsigned i)
{
	return w.pairs[i].server.fabric;
}

static void begin(struct rng *r, unsigned cv, unsigned sv)
{
	bool is_foul = rng_below(r, 4) != 0, is_heavy = rng_below(r, 3) == 0;
	bool is_fast = is_heavy || rng_below(r, 2);
	struct setup s = some_setup(r, cv, sv, is_heavy);

	world_new(&w, &s);
	memnet_watch(w.net, &watcher);
	if (s.two_fabrics && rng_below(r, 4) == 0)
		w.gw_fabrics[0]->streams = false;
	for (unsigned i = 0; i < s.pairs; i++) {
		struct bout *b = &bouts[i];

		fabric_detach(other_fabric(i), w.pairs[i].server_listener);
		bout_begin(b, i, cv, sv, r);
		b->is_foul = is_foul && rng_below(r, 3) != 0;
		b->budget = 1 + rng_below(r, 3);
		b->plan = (enum foul)(1 + rng_below(r, FOULS - 1));
		b->has_timeout = s.reply_timeout > 0;
		b->no_written = s.net.no_written;
		b->is_heavy = is_heavy;
		b->warm = is_fast && s.cut_through_bytes;
		assert_int_equal(
			fabric_attach(b->server.fabric, w.pairs[i].server_listener, &b->server), 0);
		bout_connect(b, &w.pairs[i].gw_addr);
	}
}

static void everybody(void)
{
	for (unsigned i = 0; i < w.s.pairs; i++) {
		party_turn(&bouts[i].client);
		party_turn(&bouts[i].server);
	}
	world_turn(&w);
}

static bool is_over(const struct bout *b)
{
	return b->client.closed || b->server.closed;
}

static unsigned calls_of(const struct bout *b)
{
	return CALLS + (b->warm || b->made > CALLS ? WARM_CALLS : 0);
}

/* Some clients are slow for a while. */
static void change_pace(struct rng *r, struct bout *b)
{
	const struct memnet_pace slow = {.take_octet =
						 1000 + rng_below(r, b->is_heavy ? 5000 : 25000)},
				 usual = {0};

	if (is_over(b) || !b->client.conn || b->warm)
		return;
	b->client.slow = !b->client.slow;
	memnet_pace(b->client.conn, b->client.slow ? &slow : &usual);
}

/* Return: whether calls are still to be made or answered. */
static bool bout_goes_on(struct bout *b, struct rng *r)
{
	bool busy = false;

	if (is_over(b)) {
		if (b->last == FAIR && !b->has_timeout)
			printf("bout %u: %s: client %d %s, server %d %s\n", b->index,
			       b->client.closed ? "client" : "server", b->client.status,
			       b->client.why ? b->client.why : "", b->server.status,
			       b->server.why ? b->server.why : "");
		must(b->last != FAIR || b->has_timeout);
		return false;
	}
	if (b->warm && b->done >= WARM_CALLS) {
		b->warm = false;
		if (b->is_heavy)
			change_pace(r, b);
	}
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

static nsec_t next_due(nsec_t limit)
{
	nsec_t next = nsec_min(limit, proxy_deadline(w.proxy));

	for (unsigned i = 0; i < w.s.pairs; i++)
		next = nsec_min(next,
				nsec_min(party_due(&bouts[i].client), party_due(&bouts[i].server)));
	return next;
}

static uint64_t looks[3]; /* transactions seen with each enum txn_way */

static void look(void)
{
	for (const struct list *it = w.proxy->sessions.next; it != &w.proxy->sessions;
	     it = it->next) {
		const struct session *s = container_of(it, const struct session, link);

		for (const struct list *t = s->txns.next; t != &s->txns; t = t->next)
			looks[container_of(t, const struct txn, link)->way]++;
	}
}

static void run(struct rng *r)
{
	const nsec_t timeout = 50 * NSEC_PER_SEC;
	nsec_t moved = memnet_now(w.net);
	uint64_t all = 0, before;
	bool more;

	do {
		more = false;
		before = all;
		all = 0;
		for (unsigned i = 0; i < w.s.pairs; i++) {
			struct bout *b = &bouts[i];
			bool goes_on = bout_goes_on(b, r);

			/* A bout in which a rule was broken may wait for ever. */
			more |= goes_on && ((b->last == FAIR && !b->has_timeout) ||
					    memnet_now(w.net) < moved + 8 * NSEC_PER_SEC);
			all += b->done + b->rdone + b->made + b->rmade + b->writes;
		}
		if (rng_below(r, 100) == 0)
			look();
		if (rng_below(r, 4000) == 0)
			memnet_short(w.gw_fabrics[0], memnet_now(w.net),
				     memnet_now(w.net) + 20 * NSEC_PER_MS);
		if (rng_below(r, 1500) == 0)
			change_pace(r, &bouts[rng_below(r, w.s.pairs)]);
		everybody();
		if (all != before)
			moved = memnet_now(w.net);
		if (memnet_now(w.net) >= moved + timeout)
			for (unsigned i = 0; i < w.s.pairs; i++)
				printf("bout %u: foul %u made %llu done %llu rmade %llu rdone %llu "
				       "closed %d %d\n",
				       i, bouts[i].last, (unsigned long long)bouts[i].made,
				       (unsigned long long)bouts[i].done,
				       (unsigned long long)bouts[i].rmade,
				       (unsigned long long)bouts[i].rdone, bouts[i].client.closed,
				       bouts[i].server.closed);
		must(memnet_now(w.net) < moved + timeout); /* or nothing moves any more */
		memnet_step(w.net, next_due(memnet_now(w.net) + 20 * NSEC_PER_MS));
	} while (more);
}

/* Sessions of which all calls are answered hold nothing. */
static void check_idle(unsigned least)
{
	const struct proxy *p = w.proxy;
	unsigned n = 0;

	for (const struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		const struct session *s = container_of(it, const struct session, link);

		if (s->state != SESSION_OPEN || s->ntxns > 0)
			continue;
		n++;
		must(s->forward.taken_bytes == 0 && s->reverse.taken_bytes == 0);
		must(s->client.conn->handles_live == 0 && s->server.conn->handles_live == 0);
		must(s->ops[0].writes.posted == 0 && s->ops[1].writes.posted == 0);
		must(s->ops[0].writes.octets == 0 && s->ops[1].writes.octets == 0);
		must(s->ops[0].exposed == 0 && s->ops[1].exposed == 0);
		must(list_is_empty(&s->ops[0].queue) && list_is_empty(&s->ops[1].queue));
		must(list_is_empty(&s->ops[0].cut_through_txns) &&
		     list_is_empty(&s->ops[1].cut_through_txns));
	}
	must(n >= least);
}

static void settle(nsec_t limit)
{
	nsec_t end = memnet_now(w.net) + limit;

	while (memnet_now(w.net) < end) {
		world_turn(&w);
		for (unsigned i = 0; i < w.s.pairs; i++) {
			party_turn(&bouts[i].client);
			party_turn(&bouts[i].server);
		}
		memnet_step(w.net, next_due(end));
	}
}

static void end(void)
{
	unsigned fair = 0;

	settle(3 * NSEC_PER_SEC);
	for (unsigned i = 0; i < w.s.pairs; i++) {
		const struct bout *b = &bouts[i];

		fair += b->last == FAIR && !b->has_timeout;
		must(b->last != FAIR || b->has_timeout || !is_over(b));
		all_writes += b->writes;
		all_replies += b->replies;
		all_errors += b->errors;
		for (unsigned k = 0; k < FOULS; k++)
			all_fouls[k] += b->fouls[k];
	}
	check_idle(fair);
	all_passed += proxy_counters(w.proxy)->passed_bytes;
	for (unsigned i = 0; i < w.s.pairs; i++)
		party_hang_up(&bouts[i].client);
	settle(2 * NSEC_PER_SEC);
	memnet_watch(w.net, NULL);
	for (unsigned i = 0; i < w.s.pairs; i++) {
		fabric_detach(bouts[i].server.fabric, w.pairs[i].server_listener);
		bout_end(&bouts[i]);
		assert_int_equal(fabric_attach(other_fabric(i), w.pairs[i].server_listener,
					       &w.pairs[i].server),
				 0);
	}
	world_quit(&w);
	world_free(&w);
}

/* TOWNS=n: that many; PAIR=cs: only these versions. */
static void no_octet_is_anothers(void **state)
{
	static const unsigned pairs[] = {11, 11, 21, 12, 22};
	unsigned n = getenv("TOWNS") ? (unsigned)atoi(getenv("TOWNS")) : 10;
	struct rng all = rng_seeded("bouts", 7);
	uint64_t first = all.state;

	(void)state;
	bout_place = (struct bout_place){now, instance};
	for (unsigned i = 0; i < n; i++) {
		struct rng r = {first + i};
		unsigned pair =
			getenv("PAIR") ? (unsigned)atoi(getenv("PAIR")) : pairs[(first + i) % 5];

		snprintf(story, sizeof(story), "bouts: SEED=%llu TOWNS=1 PAIR=%u",
			 (unsigned long long)(first + i), pair);
		stranger_story = story;
		begin(&r, pair / 10, pair % 10);
		run(&r);
		end();
	}
	printf("writes %llu replies %llu errors %llu passed %llu\n", (unsigned long long)all_writes,
	       (unsigned long long)all_replies, (unsigned long long)all_errors,
	       (unsigned long long)all_passed);
	printf("stored %llu early %llu cut through %llu\n", (unsigned long long)looks[0],
	       (unsigned long long)looks[1], (unsigned long long)looks[2]);
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
	return cmocka_run_group_tests_name("bouts", tests, NULL, NULL);
}
