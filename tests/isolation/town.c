/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/town_internal.h"
#include "tests/session/inside.h"

/*
 * Operation. In each round of live_once() rogues and pairs do something, or not; the gateway has a
 * turn, or not; and some of what is under way arrives. The taint oracle looks at all that moves,
 * the liveness oracle at the pairs every now and then.
 */

enum { LARGE = 16 }; /* one chunk in so many is large: what a town costs is the octets it moves */

/* The rogue that receives on @to; NULL: another receiver. */
static struct rogue *rogue_of(struct town *t, const struct fabric_conn *to)
{
	return to->fabric == t->rogue_fabric ? to->owner : NULL;
}

static unsigned mark_of(struct town *t, const struct fabric_conn *to)
{
	for (unsigned i = 0; i < t->npairs; i++)
		if (to->fabric == t->pairs[i].client.fabric ||
		    to->fabric == t->pairs[i].server.fabric)
			return t->pairs[i].mark;
	return MARK_NONE;
}

static void print_defect(struct town *t, const struct taint_defect *d, unsigned mark,
			 const char *where)
{
	DEFECT(t,
	       "%s to session %x (%s): octet %zu of %zu: %02x %02x %02x %02x %02x %02x %02x %02x",
	       d->what, mark, where, d->at, d->len, d->octets[0], d->octets[1], d->octets[2],
	       d->octets[3], d->octets[4], d->octets[5], d->octets[6], d->octets[7]);
}

void town_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind, const uint8_t *octets,
		uint32_t len, bool last)
{
	struct town *t = arg;
	struct rogue *r = rogue_of(t, to);
	struct taint_defect d = {0};
	unsigned mark;
	bool clean;

	t->ops += last;
	if (to->fabric == t->gw_fabrics[0] || to->fabric == t->gw_fabrics[1])
		return;
	mark = r ? r->mark : mark_of(t, to);
	if (kind == FABRIC_EV_RECV)
		clean = taint_message(&mark, view_of(octets, len), &d);
	else
		clean = taint_data(mark, view_of(octets, len), &d);
	if (!clean)
		print_defect(t, &d, mark,
			     kind == FABRIC_EV_RECV    ? "Send"
			     : kind == FABRIC_EV_WRITE ? "RDMA Write"
						       : "RDMA Read");
}

void town_counted(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len)
{
	struct town *t = arg;
	struct rogue *r = rogue_of(t, by);
	unsigned mark = r ? r->mark : mark_of(t, by);
	struct taint_defect d = {0};

	if (by->fabric == t->gw_fabrics[0] || by->fabric == t->gw_fabrics[1])
		return;
	if (mark != MARK_NONE && !taint_data(mark, view_of(octets, len), &d))
		print_defect(t, &d, mark, "counts as written");
}

/* One call of a well-behaved client: sizes in octets that are nobody's. */
static struct peer_spec modest_spec(struct town *t, const struct peer *client)
{
	struct rng *r = &t->rng;
	struct peer_spec s = {.segs = 1 + rng_below(r, PEER_SEGS), .body = 256, .reply = 256};
	bool long_ok = client->leg.t->ops->traits->continues;

	s.nreads = town_draw(t, 3);
	s.nwrites = town_draw(t, 2);
	for (unsigned i = 0; i < s.nreads; i++)
		s.reads[i] = 1 + mark_size(rng_below(r, town_draw(t, LARGE) ? 1 << 17 : 5000));
	for (unsigned i = 0; i < s.nwrites; i++) {
		s.write_caps[i] = 1 + rng_below(r, town_draw(t, LARGE) ? 1 << 18 : 5000);
		s.writes[i] = mark_size(rng_below(r, s.write_caps[i] + 1));
	}
	for (unsigned i = 0; i < s.nreads; i++)
		s.reads[i] = mark_size(s.reads[i]) ? mark_size(s.reads[i]) : 1;
	s.by_chunk = town_draw(t, 4);
	if (s.by_chunk || (long_ok && town_draw(t, 2)))
		s.body |= mark_size(rng_below(r, 20000)) & ~3u;
	if (town_draw(t, 3))
		s.reply_cap = 6000;
	if (s.reply_cap || long_ok)
		s.reply |= mark_size(rng_below(r, 5000)) & ~3u;
	return s;
}

static void gateway_turn(struct town *t)
{
	for (unsigned n = 0; proxy_turn(t->proxy, town_clock(t)); n++)
		if (n == 1000)
			DEFECT(t, "the gateway says for ever that more is waiting");
}

/* Print what the gateway holds when a call waits too long. */
static void print_state(struct town *t)
{
	const struct proxy *p = t->proxy;

	for (unsigned i = 0; i < p->arena.nzones; i++)
		print_error("zone %u: %zu of %zu octets used\n", i, p->arena.zones[i].used,
			    buf_zone_bytes(&p->arena, i));
	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		const struct session *s = container_of(it, struct session, link);

		print_error("session %llu of %s, state %d: %u calls, %u run, %zu octets; %s%s%s\n",
			    (unsigned long long)s->id, s->route->route->name, s->state, s->ntxns,
			    s->forward.running, s->forward.quota.used,
			    list_is_empty(&s->forward.waiting) ? "" : "calls wait ",
			    s->client.stalled ? "a part of a call waits " : "",
			    s->server.stalled ? "a part of a reply waits" : "");
	}
}

/* The pair's part of the liveness oracle. */
static void pair_check(struct town *t, const struct town_pair *p)
{
	nsec_t now = town_clock(t);

	if (p->client.errors || p->client.corrupt || p->server.corrupt || p->client.unexpected)
		DEFECT(t, "well-behaved session %x: %llu errors (the last %s), %llu corrupt",
		       p->mark, (unsigned long long)p->client.errors,
		       rpc_error_name(p->client.last_error.code),
		       (unsigned long long)(p->client.corrupt + p->server.corrupt));
	if (p->client.closed || p->server.closed)
		DEFECT(t, "well-behaved session %x ended", p->mark);
	if (!p->client.open && now > TOWN_BOUND)
		DEFECT(t, "well-behaved session %x is not set up", p->mark);
	for (unsigned i = 0; i < PEER_CALLS; i++) {
		const struct peer_call *c = &p->client.calls[i], *s = &p->server.calls[i];

		if ((c->busy && !c->answered && now - c->began > TOWN_BOUND) ||
		    (s->busy && !s->answered && now - s->began > TOWN_BOUND))
			print_state(t);
		if (c->busy && !c->answered && now - c->began > TOWN_BOUND)
			DEFECT(t, "well-behaved session %x: a call waits for %llu s", p->mark,
			       (unsigned long long)((now - c->began) / NSEC_PER_SEC));
		if (s->busy && !s->answered && now - s->began > TOWN_BOUND)
			DEFECT(t, "well-behaved session %x: a reverse call waits for %llu s",
			       p->mark, (unsigned long long)((now - s->began) / NSEC_PER_SEC));
	}
}

static void pair_turn(struct town *t, struct town_pair *p)
{
	/* A client that sends nothing for long after it has connected is displaced by others. */
	bool silent = p->client.done == 0 && peer_busy(&p->client) == 0;
	struct peer_spec spec;

	peer_turn(&p->client);
	peer_turn(&p->server);
	if (!p->client.open || p->client.closed)
		return;
	if (town_draw(t, 3000))
		p->asleep = !p->asleep;
	if (!silent && (p->asleep || !town_draw(t, t->rarely)))
		return;
	if (peer_busy(&p->client) < p->depth) {
		spec = modest_spec(t, &p->client);
		peer_call(&p->client, &spec);
	}
	if (p->server.leg.t && p->client.done > 0 && peer_busy(&p->server) == 0 &&
	    town_draw(t, 10)) {
		spec = (struct peer_spec){.body = 256, .reply = 256, .segs = 1};
		peer_call(&p->server, &spec);
	}
}

static void poll_rogues(struct town *t)
{
	struct fabric_event ev;

	while (fabric_poll(t->rogue_fabric, &ev)) {
		struct rogue *r = ev.conn->owner;

		if (ev.type == FABRIC_EV_REQUEST) {
			unsigned i = 0;

			while (i < TOWN_SERVERS && t->servers[i].conn)
				i++;
			if (i == TOWN_SERVERS || town_draw(t, 50)) {
				fabric_reject(ev.conn, view_of(NULL, 0));
				continue;
			}
			r = &t->servers[i];
			ev.conn->owner = r;
		}
		rogue_event(r, &ev);
	}
}

/* Each rogue may do something; one of them several things at once. */
static nsec_t rogues_turn(struct town *t, bool idle)
{
	const unsigned all = t->nclients + TOWN_SERVERS;
	nsec_t next = NSEC_NEVER;
	unsigned burst = rng_below(&t->rng, all);

	poll_rogues(t);
	for (unsigned i = 0; i < all; i++) {
		bool client = i < t->nclients;
		struct rogue *r = client ? &t->clients[i] : &t->servers[i - t->nclients];
		unsigned n = i == burst ? 1 + rng_below(&t->rng, 6) : town_draw(t, 6);

		if (client && !r->conn && r->connect_at <= town_clock(t)) {
			r->mark = r->fresh_mark = MARK_NONE;
			r->fresh_mark = town_free_mark(t);
		}
		next = nsec_min(next, rogue_wait(r));
		while (!idle && n--)
			rogue_act(r);
	}
	fabric_flush(t->rogue_fabric);
	return next;
}

/* Things happen, several before the gateway looks; then everybody has a turn. */
static void live_once(struct town *t, bool idle, nsec_t until)
{
	unsigned steps = 1 + rng_below(&t->rng, 12);
	nsec_t at;

	at = rogues_turn(t, idle);
	for (unsigned i = 0; i < t->npairs; i++)
		pair_turn(t, &t->pairs[i]);
	if (!town_draw(t, 3))
		gateway_turn(t);
	at = nsec_min(nsec_min(at, proxy_deadline(t->proxy)), until);
	if (at < town_clock(t))
		at = town_clock(t);
	while (steps-- && t->on->step(t->net, at))
		;
}

static void check_all(struct town *t)
{
	for (unsigned i = 0; i < t->npairs; i++)
		pair_check(t, &t->pairs[i]);
}

/* A while in which rogues do nothing but what they do against the clock. */
static void be_idle(struct town *t)
{
	unsigned most = t->misdeeds & MISDEED_HANG && town_draw(t, 4) ? 2000 : 60;
	nsec_t until = town_clock(t) + (1 + rng_below(&t->rng, most)) * NSEC_PER_SEC;

	while (town_clock(t) < until) {
		live_once(t, true, nsec_min(until, town_clock(t) + NSEC_PER_SEC));
		check_all(t);
	}
}

void town_live(struct town *t, uint64_t ops, nsec_t limit)
{
	const uint64_t end = t->ops + ops;
	const nsec_t over = town_clock(t) + limit;

	for (unsigned n = 0; t->ops < end && town_clock(t) < over; n++) {
		live_once(t, false, town_clock(t) + NSEC_PER_MS);
		if (n % 64 == 0)
			check_all(t);
		if (town_draw(t, 3000))
			be_idle(t);
	}
	gateway_turn(t);
	for (unsigned i = 0; i < t->npairs; i++)
		t->answered += t->pairs[i].client.done;
}

static void let_pass(struct town *t, nsec_t limit)
{
	nsec_t end = town_clock(t) + limit;

	while (town_clock(t) < end) {
		poll_rogues(t);
		fabric_flush(t->rogue_fabric);
		for (unsigned i = 0; i < t->npairs; i++) {
			peer_turn(&t->pairs[i].client);
			peer_turn(&t->pairs[i].server);
		}
		gateway_turn(t);
		t->on->step(t->net, nsec_min(end, proxy_deadline(t->proxy)));
	}
	gateway_turn(t);
}

void town_leave(struct town *t)
{
	for (unsigned i = 0; i < TOWN_CLIENTS; i++) {
		rogue_leave(&t->clients[i]);
		t->clients[i].connect_at = NSEC_NEVER;
	}
	for (unsigned i = 0; i < t->npairs; i++) {
		leg_close(&t->pairs[i].client.leg, ERR_CLOSED, "test over");
		leg_close(&t->pairs[i].server.leg, ERR_CLOSED, "test over");
	}
	let_pass(t, 30 * NSEC_PER_SEC);
	for (unsigned i = 0; i < TOWN_SERVERS; i++)
		rogue_leave(&t->servers[i]);
	let_pass(t, 30 * NSEC_PER_SEC);
}
