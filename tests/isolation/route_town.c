/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation.
 * - The honest clients connect first, and are served alone for CALM.
 * - Then the rogues connect, one after the other, and each makes a NULL.
 * - When all are connected, the rogues and their server act as their kind does. From then on all
 *   waiting times of honest clients count, for MEASURED.
 *
 * If there are two servers, the first is the rogues'. A client's server depends on its address, so
 * addresses are tried until one leads to the wanted server.
 */
#include "tests/isolation/route_town.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/window.h"
#include "tests/cmocka_all.h"

enum { MIB = 1 << 20, LONG_OCTETS = 20000, CREDITS = 64, FIRST_ALLOWED = 4 };
enum { HONEST = 1, ROGUES = 9 }; /* networks they come from */
#define CALM (5 * NSEC_PER_SEC)
#define MEASURED (120 * NSEC_PER_SEC)
#define NEWCOMERS (10 * NSEC_PER_SEC)
#define GIVES_UP (30 * NSEC_PER_SEC)
#define WAITS (NSEC_PER_SEC / 4)

static const struct {
	const char *name;
	struct call_shape shape;
	nsec_t each, goal;
} probes[PROBES] = {
	[PROBE_NULL] = {"NULL", {CALL_NULL, 0, 0}, NSEC_PER_SEC / 2, NSEC_PER_SEC},
	[PROBE_READ_64K] = {"READ 64K", {CALL_READ, 65536, 0}, 2 * NSEC_PER_SEC, 5 * NSEC_PER_SEC},
	[PROBE_WRITE_64K] = {"WRITE 64K",
			     {CALL_WRITE, 65536, 0},
			     2 * NSEC_PER_SEC,
			     5 * NSEC_PER_SEC},
	[PROBE_READ_1M] = {"READ 1M", {CALL_READ, MIB, 0}, 2 * NSEC_PER_SEC, 5 * NSEC_PER_SEC},
	[PROBE_WRITE_1M] = {"WRITE 1M", {CALL_WRITE, MIB, 0}, 2 * NSEC_PER_SEC, 5 * NSEC_PER_SEC},
	[PROBE_LONG] = {"continued",
			{CALL_LONG, LONG_OCTETS, 0},
			2 * NSEC_PER_SEC,
			5 * NSEC_PER_SEC},
	[PROBE_FIRST] = {"first call", {CALL_NULL, 0, 0}, NEWCOMERS, 5 * NSEC_PER_SEC},
};

struct honest {
	struct route_client client;
	struct route_town *town;
	unsigned number;
	nsec_t wanted[PROBES]; /* the one that waits; NSEC_NEVER: none */
	bool sent[PROBES];
	nsec_t next[PROBES];
};

struct rogue_client {
	struct route_client client;
	bool greeted, loaded;
	unsigned answers;
	nsec_t next, load_at;
};

struct route_town {
	const struct rogue_kind *kind;
	const struct route_place *place; /* NULL: the gateway is .proxy */
	const struct net_ops *on;
	void *net;
	struct net_watcher watcher;
	struct fabric *gw, *clients, *servers[TOWN_HOSTS];
	struct fabric_listener *listener;
	struct fabric_addr addr, line; /* where honest clients and rogues connect to */
	struct proxy_route route;
	struct proxy *proxy;
	uint8_t *memory, *server_memory[TOWN_HOSTS];
	struct route_server *hosts[TOWN_HOSTS];
	struct rogue_client rogues[TOWN_ROGUES];
	struct honest honest[TOWN_HONEST], newcomer;
	struct fabric_addr live; /* a client's from there has the live server, of two */
	unsigned newcomers;
	bool measures;
	nsec_t began; /* to measure */
	size_t heap;  /* before it all */
	struct route_verdict *verdict;
};

const char *route_probe_name(enum probe p)
{
	return probes[p].name;
}

nsec_t route_probe_goal(enum probe p)
{
	return probes[p].goal;
}

static nsec_t now_of(const struct route_town *t)
{
	return t->on->now(t->net);
}

/* Clients' addresses begin with it. */
static unsigned first_octet(const struct route_town *t)
{
	return t->place ? 127 : 10;
}

static void unwatched(void *arg, struct fabric_conn *conn, enum fabric_ev_type kind,
		      const uint8_t *octets, uint32_t len, bool last)
{
	(void)arg, (void)conn, (void)kind, (void)octets, (void)len, (void)last;
}

static void uncounted(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len)
{
	(void)arg, (void)by, (void)octets, (void)len;
}

/* --- honest clients --- */

/* Whether the live server answers it. */
static bool is_asked(const struct route_town *t, const struct honest *h, enum probe p)
{
	const struct rogue_kind *k = t->kind;

	if (p == PROBE_FIRST)
		return false;
	if (p == PROBE_LONG && h->client.end.version != 2)
		return false;
	return p == PROBE_NULL || k->hosts == 2 || !k->server_hangs_at_chunks;
}

static void note(struct route_town *t, enum probe p, nsec_t waited, unsigned victim, bool answered)
{
	struct route_verdict *v = t->verdict;

	if (!t->measures)
		return;
	if (v->probes[p].worst != NSEC_NEVER && v->probes[p].worst >= waited)
		return;
	v->probes[p].worst = waited;
	v->probes[p].victim = victim;
	v->probes[p].answered = answered;
}

static void on_answer(void *arg, const struct route_call *c, nsec_t now)
{
	struct honest *h = arg;

	note(h->town, (enum probe)c->tag, now - c->began, h->number, true);
	h->wanted[c->tag] = NSEC_NEVER;
	h->sent[c->tag] = false;
}

static void honest_init(struct route_town *t, struct honest *h, unsigned number)
{
	h->town = t;
	h->number = number;
	h->client.answered = on_answer;
	h->client.arg = h;
	for (unsigned p = 0; p < PROBES; p++) {
		h->wanted[p] = NSEC_NEVER;
		h->sent[p] = false;
		h->next[p] = now_of(t) + p * NSEC_PER_SEC / 10;
	}
}

static void see_waiting(struct route_town *t, nsec_t since)
{
	struct route_verdict *v = t->verdict;

	if (t->measures && v->began_waiting == NSEC_NEVER && now_of(t) - since > WAITS)
		v->began_waiting = now_of(t);
}

static nsec_t honest_turn(struct route_town *t, struct honest *h)
{
	nsec_t now = now_of(t), next = NSEC_NEVER;

	if (!h->client.end.connected)
		return NSEC_NEVER;
	for (unsigned p = 0; p < PROBES; p++) {
		if (!is_asked(t, h, (enum probe)p))
			continue;
		if (h->wanted[p] == NSEC_NEVER && h->next[p] <= now) {
			h->wanted[p] = now;
			h->next[p] = now + probes[p].each;
		}
		if (h->wanted[p] == NSEC_NEVER) {
			next = nsec_min(next, h->next[p]);
			continue;
		}
		if (!h->sent[p])
			h->sent[p] =
				route_client_call(&h->client, &probes[p].shape, p, h->wanted[p]);
		see_waiting(t, h->wanted[p]);
	}
	return next;
}

/* A call that still waits at the end counts with the time that it has waited. */
static void honest_end(struct route_town *t, struct honest *h)
{
	for (unsigned p = 0; p < PROBES; p++)
		if (h->wanted[p] != NSEC_NEVER)
			note(t, (enum probe)p, now_of(t) - h->wanted[p], h->number, false);
	if (h->client.ended != NSEC_NEVER)
		t->verdict->honest_ended++;
}

/* A client from an address of its own each time, which leaves when it has its first answer. */
static nsec_t newcomer_turn(struct route_town *t)
{
	struct honest *h = &t->newcomer;
	nsec_t now = now_of(t), *wanted = &h->wanted[PROBE_FIRST];
	struct fabric_addr from;
	char host[32];

	if (!t->measures)
		return NSEC_NEVER;
	if (*wanted == NSEC_NEVER && h->next[PROBE_FIRST] > now)
		return h->next[PROBE_FIRST];
	if (*wanted == NSEC_NEVER) {
		route_client_leave(&h->client);
		snprintf(host, sizeof(host), "%u.0.7.%u", first_octet(t), ++t->newcomers);
		assert_int_equal(fabric_addr_parse(host, 0, &from), 0);
		if (t->kind->hosts == 2)
			from = t->live; /* another address may lead to the server that hangs */
		h->number = t->newcomers;
		route_client_connect(&h->client, 1 + t->newcomers % 2, &from, &t->addr);
		*wanted = now;
		h->next[PROBE_FIRST] = now + NEWCOMERS;
	}
	if (h->client.end.connected && !h->sent[PROBE_FIRST])
		h->sent[PROBE_FIRST] = route_client_call(&h->client, &probes[PROBE_FIRST].shape,
							 PROBE_FIRST, *wanted);
	see_waiting(t, *wanted);
	if (now - *wanted > GIVES_UP) {
		note(t, PROBE_FIRST, now - *wanted, h->number, false);
		*wanted = NSEC_NEVER;
		h->sent[PROBE_FIRST] = false;
	}
	return now + NSEC_PER_SEC;
}

/* --- rogues --- */

static void on_rogue_answer(void *arg, const struct route_call *c, nsec_t now)
{
	struct rogue_client *r = arg;

	(void)c, (void)now;
	r->answers++;
}

static nsec_t rogue_by_clock(struct route_town *t, struct rogue_client *r)
{
	const struct rogue_kind *k = t->kind;
	struct route_end *e = &r->client.end;
	nsec_t now = now_of(t);

	if (!k->part_each && !k->allow_each)
		return NSEC_NEVER;
	if (r->next > now)
		return r->next;
	r->next = now + (k->part_each ? k->part_each : k->allow_each);
	if (k->part_each) {
		route_client_drip(&r->client, 8 * MIB, k->part);
	} else {
		e->allows++;
		end_grant(e);
	}
	return r->next;
}

static nsec_t rogue_turn(struct route_town *t, struct rogue_client *r)
{
	static const struct call_shape hello = {CALL_NULL, 0, 0};
	const struct rogue_kind *k = t->kind;
	nsec_t now = now_of(t);

	if (!r->client.end.connected)
		return NSEC_NEVER;
	if (!r->greeted)
		r->greeted = route_client_call(&r->client, &hello, 0, now);
	if (!r->answers || !t->measures)
		return NSEC_NEVER;
	while (r->client.busy < k->calls && route_client_call(&r->client, &k->call, 0, now))
		;
	if (r->load_at == NSEC_NEVER)
		r->load_at = now + NSEC_PER_SEC;
	if (!r->loaded && (r->client.busy == k->calls || now >= r->load_at)) {
		r->loaded = true;
		t->on->pace(r->client.end.conn, &k->pace);
	}
	return nsec_min(rogue_by_clock(t, r), r->loaded ? NSEC_NEVER : r->load_at);
}

/* --- everybody --- */

static nsec_t clients_turn(struct route_town *t)
{
	nsec_t next = NSEC_NEVER;
	struct fabric_event ev;

	while (fabric_poll(t->clients, &ev))
		route_client_event(ev.conn->owner, &ev, now_of(t));
	for (unsigned i = 0; i < TOWN_HONEST; i++)
		next = nsec_min(next, honest_turn(t, &t->honest[i]));
	for (unsigned i = 0; i < t->kind->clients; i++)
		next = nsec_min(next, rogue_turn(t, &t->rogues[i]));
	next = nsec_min(next, newcomer_turn(t));
	fabric_flush(t->clients);
	return next;
}

static void run(struct route_town *t, nsec_t time)
{
	nsec_t end = now_of(t) + time, next;

	while (now_of(t) < end) {
		next = nsec_min(end, clients_turn(t));
		for (unsigned i = 0; i < t->kind->hosts; i++)
			next = nsec_min(next, route_server_turn(t->hosts[i], now_of(t)));
		for (unsigned n = 0; t->proxy && proxy_turn(t->proxy, now_of(t)); n++)
			assert_true(n < 1000);
		if (t->proxy)
			next = nsec_min(next, proxy_deadline(t->proxy));
		(void)t->on->step(t->net, next > now_of(t) ? next : now_of(t));
	}
}

/* --- how it begins --- */

static struct leg_config leg_config(unsigned versions)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = 4096,
		.credits = CREDITS,
		.rev_credits = 16,
		.max_message = 8 * MIB,
		.segment_bytes = MIB,
		.segment_count = 64,
		.reverse = RPC_REV_GENL,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

static void hosts_new(struct route_town *t)
{
	struct servers_config cfg = {.nhosts = t->kind->hosts,
				     .v4 = true,
				     .by_client = true,
				     .timeout = 10 * NSEC_PER_SEC};
	char text[32];

	for (unsigned i = 0; i < t->kind->hosts; i++) {
		struct route_server *s = t->hosts[i] = calloc(1, sizeof(*s));

		assert_non_null(s);
		snprintf(text, sizeof(text), "10.0.0.%u", 2 + i);
		assert_int_equal(fabric_addr_parse(text, 20049, &s->addr), 0);
		if (t->place)
			s->addr = t->place->hosts[i];
		snprintf(cfg.hosts[i].name, sizeof(cfg.hosts[i].name), "server%u", i);
		cfg.hosts[i].addr = s->addr;
		t->servers[i] = t->on->fabric(t->net, false);
		t->server_memory[i] = calloc(1, ROUTE_SERVER_BYTES);
		assert_non_null(t->server_memory[i]);
		assert_int_equal(
			fabric_register(t->servers[i], t->server_memory[i], ROUTE_SERVER_BYTES), 0);
		route_server_init(s, t->servers[i], t->server_memory[i]);
		s->listener = t->on->listen(t->net, &s->addr);
		assert_non_null(s->listener);
		assert_int_equal(fabric_attach(t->servers[i], s->listener, s), 0);
	}
	if (t->place)
		return;
	t->route.upstream = t->hosts[0]->addr;
	t->route.servers = servers_new(&cfg, NULL);
	t->route.several = t->kind->hosts > 1;
}

static void gateway_new(struct route_town *t, uint64_t seed)
{
	struct proxy_config cfg = {
		.routes = &t->route,
		.nroutes = 1,
		.fabrics = &t->gw,
		.nfabrics = 1,
		.memory_bytes = (size_t)256 * MIB,
		.max_sessions = 128,
		.continue_max = 64 << 10,
		.max_payload = 8 * MIB,
		.cut_through_bytes = FABRIC_STREAM_WINDOW,
		.cut_through_from = 32 * MIB,
		.seed = seed,
	};

	snprintf(t->route.name, sizeof(t->route.name), "same");
	t->route.client = leg_config(LEG_V1_OR_V2);
	t->route.server = leg_config(LEG_V1);
	t->route.version_memory = 600 * NSEC_PER_SEC;
	t->gw = t->on->fabric(t->net, false);
	t->proxy = proxy_new(&cfg);
	assert_non_null(t->proxy);
	assert_int_equal(fabric_addr_parse("10.0.0.1", 20049, &t->addr), 0);
	t->line = t->addr;
	t->listener = t->on->listen(t->net, &t->addr);
	assert_int_equal(fabric_attach(t->gw, t->listener, proxy_route_owner(t->proxy, 0)), 0);
}

static void client_init(struct route_town *t, struct route_client *c, unsigned i)
{
	c->fabric = t->clients;
	c->memory = t->memory;
	c->end.memory = t->memory + CLIENT_MEMORY + (size_t)i * END_BYTES;
	c->ended = NSEC_NEVER;
	c->end.closed = true;
}

static void clients_new(struct route_town *t)
{
	const unsigned all = TOWN_ROGUES + TOWN_HONEST + 1;
	const size_t bytes = CLIENT_MEMORY + (size_t)all * END_BYTES;

	t->clients = t->on->fabric(t->net, false);
	t->memory = calloc(1, bytes);
	assert_non_null(t->memory);
	assert_int_equal(fabric_register(t->clients, t->memory, bytes), 0);
	for (unsigned i = 0; i < TOWN_ROGUES; i++) {
		client_init(t, &t->rogues[i].client, i);
		t->rogues[i].client.answered = on_rogue_answer;
		t->rogues[i].client.arg = &t->rogues[i];
		t->rogues[i].load_at = NSEC_NEVER;
	}
	for (unsigned i = 0; i < TOWN_HONEST; i++) {
		client_init(t, &t->honest[i].client, TOWN_ROGUES + i);
		honest_init(t, &t->honest[i], i);
	}
	client_init(t, &t->newcomer.client, all - 1);
	honest_init(t, &t->newcomer, 0);
}

static unsigned accepted(const struct route_town *t)
{
	return t->hosts[0]->accepted + (t->hosts[1] ? t->hosts[1]->accepted : 0);
}

/* Calls sent on a connection that was left are not answered. */
static void forget_calls(struct honest *h)
{
	for (unsigned p = 0; p < PROBES; p++) {
		h->wanted[p] = NSEC_NEVER;
		h->sent[p] = false;
	}
}

/* Until a server has accepted one more connection, 2 s at most. */
static void settle(struct route_town *t)
{
	unsigned before = accepted(t);

	for (unsigned n = 0; n < 40 && accepted(t) == before; n++)
		run(t, 50 * NSEC_PER_MS);
}

/* Connect a client whose server must be @host, which matters if there are two: addresses
 * 10.@net.0.@number, 10.@net.1.@number ... are tried. */
static void connect_to(struct route_town *t, struct route_client *c, unsigned version, unsigned net,
		       unsigned number, unsigned host)
{
	for (unsigned again = 0; again < 255; again++) {
		unsigned before = t->hosts[0]->accepted;
		struct fabric_addr from;
		char text[32];

		snprintf(text, sizeof(text), "%u.%u.%u.%u", first_octet(t), net, again, number);
		assert_int_equal(fabric_addr_parse(text, 0, &from), 0);
		route_client_connect(c, version, &from, net == ROGUES ? &t->line : &t->addr);
		if (t->kind->allow_each && net == ROGUES)
			c->end.allows = FIRST_ALLOWED;
		settle(t);
		if (host == 1)
			t->live = from;
		if (t->kind->hosts == 1 || (t->hosts[0]->accepted == before) == (host == 1))
			return;
		route_client_leave(c);
		if (net == HONEST)
			forget_calls(container_of(c, struct honest, client));
	}
	fail_msg("no address leads to server %u", host);
}

static void come(struct route_town *t)
{
	const struct rogue_kind *k = t->kind;

	for (unsigned i = 0; i < TOWN_HONEST; i++)
		connect_to(t, &t->honest[i].client, 1 + i % 2, HONEST, 1 + i, k->hosts - 1);
	run(t, CALM);
	for (unsigned i = 0; i < TOWN_HONEST; i++)
		if (!t->honest[i].client.end.connected)
			fail_msg("honest client %u is not served before the rogues come", i);
	for (unsigned i = 0; i < k->clients; i++) {
		connect_to(t, &t->rogues[i].client, k->version, ROGUES, k->one_host ? 1 : 1 + i, 0);
		t->rogues[i].client.next_xid = ROGUE_XIDS;
	}
	t->measures = true;
	t->began = now_of(t);
	t->hosts[0]->thinks = k->server_thinks;
	t->hosts[0]->hangs = k->server_hangs;
	t->hosts[0]->hangs_at_chunks = k->server_hangs_at_chunks;
}

/* --- how it ends --- */

static void judge(struct route_town *t)
{
	struct route_verdict *v = t->verdict;

	for (unsigned i = 0; i < TOWN_HONEST; i++)
		honest_end(t, &t->honest[i]);
	if (t->newcomer.wanted[PROBE_FIRST] != NSEC_NEVER)
		note(t, PROBE_FIRST, now_of(t) - t->newcomer.wanted[PROBE_FIRST],
		     t->newcomer.number, false);
	for (unsigned i = 0; i < t->kind->clients; i++) {
		nsec_t ended = t->rogues[i].client.ended;
		nsec_t until = nsec_min(ended, now_of(t));

		v->rogues_ended += ended != NSEC_NEVER;
		if (ended != NSEC_NEVER)
			v->first_ended = nsec_min(v->first_ended, ended - t->began);
		v->honest_ended += ended != NSEC_NEVER && t->kind->is_honest;
		if (v->began_waiting < until && until - v->began_waiting > v->rogues_held_for)
			v->rogues_held_for = until - v->began_waiting;
	}
	t->measures = false;
}

static void gateway_free(struct route_town *t)
{
	assert_int_equal(proxy_sessions(t->proxy), 0);
	fabric_detach(t->gw, t->listener);
	proxy_free(t->proxy);
	servers_put(t->route.servers);
	t->on->listener_free(t->listener);
	fabric_free(t->gw);
}

static void end(struct route_town *t)
{
	const nsec_t goodbye = t->proxy ? 20 * NSEC_PER_SEC : 100 * NSEC_PER_MS;

	for (unsigned i = 0; i < TOWN_ROGUES; i++)
		route_client_leave(&t->rogues[i].client);
	for (unsigned i = 0; i < TOWN_HONEST; i++)
		route_client_leave(&t->honest[i].client);
	route_client_leave(&t->newcomer.client);
	run(t, goodbye);
	for (unsigned i = 0; i < t->kind->hosts; i++)
		route_server_leave(t->hosts[i]);
	run(t, goodbye);
	if (t->proxy)
		gateway_free(t);
	for (unsigned i = 0; i < t->kind->hosts; i++) {
		fabric_detach(t->servers[i], t->hosts[i]->listener);
		t->on->listener_free(t->hosts[i]->listener);
		fabric_unregister(t->servers[i], t->server_memory[i]);
		fabric_free(t->servers[i]);
		free(t->server_memory[i]);
		free(t->hosts[i]);
	}
	fabric_unregister(t->clients, t->memory);
	fabric_free(t->clients);
	free(t->memory);
	assert_int_equal(t->on->held(t->net), 0);
	t->on->free(t->net);
	assert_int_equal(mem_live(), t->heap);
}

void route_town_run(const struct net_ops *on, const struct rogue_kind *kind, uint64_t seed,
		    const struct route_place *place, struct route_verdict *verdict)
{
	static struct route_town town;
	const struct net_config net = {
		.seed = seed, .latency_min = 10000, .latency_max = 200000, .shares_receives = true};

	town = (struct route_town){
		.kind = kind, .place = place, .on = on, .verdict = verdict, .heap = mem_live()};
	*verdict = (struct route_verdict){.began_waiting = NSEC_NEVER, .first_ended = NSEC_NEVER};
	for (unsigned p = 0; p < PROBES; p++)
		verdict->probes[p].worst = NSEC_NEVER;
	town.watcher = (struct net_watcher){unwatched, uncounted, NULL};
	town.net = on->new (&net, &town.watcher);
	hosts_new(&town);
	if (place) {
		town.addr = place->gateway;
		town.line = place->line;
	} else {
		gateway_new(&town, seed);
	}
	clients_new(&town);
	come(&town);
	run(&town, place ? place->measured : MEASURED);
	judge(&town);
	end(&town);
}
