/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up of a town, all of it drawn from its seed, and its end with the accounting oracle.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/isolation/town_internal.h"
#include "tests/session/inside.h"

unsigned town_free_mark(const struct town *t)
{
	static const uint8_t marks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15};

	for (size_t i = 0; i < sizeof(marks); i++) {
		bool used = false;

		for (unsigned k = 0; k < t->npairs; k++)
			used |= t->pairs[k].mark == marks[i];
		for (unsigned k = 0; k < t->nclients; k++)
			used |= t->clients[k].mark == marks[i] ||
				t->clients[k].fresh_mark == marks[i];
		if (!used)
			return marks[i];
	}
	return MARK_NONE;
}

static struct leg_config leg_config(struct town *t, unsigned versions, bool server)
{
	static const unsigned timeout[] = {0, 5, 20, 60};

	return (struct leg_config){
		.versions = versions,
		.inline_bytes = 4096,
		.credits = 8 + rng_below(&t->rng, 24),
		.rev_credits = 8,
		.max_message = 1 << 18,
		.segment_bytes = 1 << 20,
		.segment_count = 64,
		.reverse = RPC_REV_GENL,
		.reply_timeout = server ? timeout[rng_below(&t->rng, 4)] * NSEC_PER_SEC : 0,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

/* The extension on either leg, or on none. */
static void set_bulk(struct town *t, unsigned i, struct proxy_route *r)
{
	uint32_t bulk[2] = {0};

	for (unsigned k = 0; k < 2; k++)
		if (town_draw(t, 2))
			bulk[k] = 4096u << rng_below(&t->rng, 3);
	r->client.bulk_bytes = r->client.peer_bulk_bytes = bulk[0];
	r->server.bulk_bytes = r->server.peer_bulk_bytes = bulk[1];
	if (i < t->npairs)
		memcpy(t->pairs[i].bulk, bulk, sizeof(bulk));
}

static void route_init(struct town *t, unsigned i, const char *kind, struct fabric_addr *gw,
		       struct fabric_addr *server)
{
	struct proxy_route *r = &t->routes[i];
	bool is_early = i < t->npairs && t->pairs[i].speaks[1] == LEG_V2_EARLY;

	assert_int_equal(fabric_addr_parse("10.0.0.1", (uint16_t)(20049 + i), gw), 0);
	assert_int_equal(fabric_addr_parse("10.0.0.2", (uint16_t)(20049 + i), server), 0);
	snprintf(r->name, sizeof(r->name), "%s%u", kind, i);
	r->client = leg_config(t, LEG_V1_OR_V2 | LEG_V2_EARLY, false);
	r->server = leg_config(t, is_early ? LEG_V2_EARLY : LEG_V1_OR_V2, true);
	if (i >= t->npairs && t->misdeeds & MISDEED_GREED)
		r->client.max_message = r->server.max_message = 8 << 20;
	if (i < t->npairs)
		r->server.reply_timeout = 0;
	set_bulk(t, i, r);
	r->client_hop = (enum hop)rng_below(&t->rng, 3);
	r->server_hop = (enum hop)rng_below(&t->rng, 3);
	r->upstream = *server;
	r->upstream_fabric = t->gw_fabrics[1] != NULL;
	r->version_memory = 100 * NSEC_PER_SEC;
}

static void listen_both(struct town *t, unsigned i, const struct fabric_addr *gw,
			const struct fabric_addr *server, struct fabric_listener **at_gw,
			struct fabric_listener **at_server)
{
	*at_gw = t->on->listen(t->net, gw);
	*at_server = t->on->listen(t->net, server);
	assert_int_equal(fabric_attach(t->gw_fabrics[0], *at_gw, proxy_route_owner(t->proxy, i)),
			 0);
}

static void pair_new(struct town *t, unsigned i)
{
	struct town_pair *p = &t->pairs[i];
	char host[24];

	listen_both(t, i, &p->gw_addr, &p->server_addr, &p->gw_listener, &p->server_listener);
	peer_init_on(&p->client, t->on->fabric(t->net, false), t->on->now, t->net, p->speaks[0],
		     4096, 16, mark_word32(p->mark, 0), 32 << 20);
	peer_init_on(&p->server, t->on->fabric(t->net, false), t->on->now, t->net, p->speaks[1],
		     4096, 16, mark_word32(p->mark, 0x08000000), 32 << 20);
	p->client.cfg.bulk_bytes = p->client.cfg.peer_bulk_bytes = p->bulk[0];
	p->server.cfg.bulk_bytes = p->server.cfg.peer_bulk_bytes = p->bulk[1];
	p->client.places = p->client.asks = p->bulk[0] > 0;
	p->server.divides = t->seed % 2;
	/* Connections of a host with few sessions are not displaced, however many the rogues' hosts
	 * have. */
	snprintf(host, sizeof(host), "10.0.1.%u", i + 1);
	assert_int_equal(fabric_addr_parse(host, 0, &p->client.from), 0);
	p->depth = 1 + rng_below(&t->rng, 4);
	assert_int_equal(fabric_attach(p->server.fabric, p->server_listener, &p->server), 0);
	peer_connect(&p->client, &p->gw_addr);
}

static void rogues_new(struct town *t)
{
	const size_t all = TOWN_CLIENTS + TOWN_SERVERS, bytes = all * ROGUE_BYTES + ROGUE_DUMP;
	uint8_t *at;

	t->rogue_fabric = t->on->fabric(t->net, true);
	at = t->rogue_memory = calloc(1, bytes);
	assert_non_null(at);
	assert_int_equal(fabric_register(t->rogue_fabric, at, bytes), 0);
	for (unsigned i = 0; i < all; i++, at += ROGUE_BYTES) {
		bool client = i < TOWN_CLIENTS;
		struct rogue *r = client ? &t->clients[i] : &t->servers[i - TOWN_CLIENTS];
		const struct town_quarter *q = &t->quarters[i % t->nquarters];

		rogue_init(r, t->rogue_fabric, client ? &q->gw_addr : NULL, &t->rng, at,
			   t->rogue_memory + all * ROGUE_BYTES);
		r->now = t->on->now;
		r->delay = t->on->delay;
		r->clock = t->net;
		r->allowed = t->misdeeds;
		r->heard = &t->heard;
	}
	for (unsigned i = 0; i < t->nquarters; i++) {
		struct town_quarter *q = &t->quarters[i];

		q->town = t;
		listen_both(t, t->npairs + i, &q->gw_addr, &q->server_addr, &q->gw_listener,
			    &q->server_listener);
		assert_int_equal(fabric_attach(t->rogue_fabric, q->server_listener, q), 0);
	}
}

/*
 * The mark shows memory that was sent without having been written. Blocks are handed out from the bottom, so the lowest
 * 16 MiB are marked: to mark all takes as long as the rest of a town.
 */
static void mark_unused(struct buf_arena *a)
{
	enum { BLOCK = 1 << 18, MOST = 64 };
	static void *blocks[MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		while (n < MOST && (blocks[n] = buf_alloc(a, BLOCK, (enum buf_purpose)i)))
			memset(blocks[n++], MARK_UNUSED * 0x11, BLOCK);
	while (n)
		buf_free(a, blocks[--n]);
}

/* In every other town large results go on as they come, or once many are stored; a segment of iwarp has to fit. */
static uint32_t cut_through_bytes(const struct town *t)
{
	if (t->seed % 2 == 0)
		return 0;
	return t->on == &net_streams ? FABRIC_STREAM_WINDOW : 16384;
}

static void gateway_new(struct town *t)
{
	bool greed = t->misdeeds & MISDEED_GREED;
	struct proxy_config cfg = {
		.routes = t->routes,
		.nroutes = t->npairs + t->nquarters,
		.fabrics = t->gw_fabrics,
		.nfabrics = t->gw_fabrics[1] ? 2 : 1,
		.memory_bytes = (size_t)(64 + 32 * rng_below(&t->rng, 3)) << (greed ? 21 : 20),
		.max_sessions = 64,
		/* A version 1 server is offered as much for a reply whose length is not known. What a
		 * route has for itself holds such a call: more than that is not promised. */
		.continue_max = 64 << 10,
		.max_payload = greed ? 1 << 20 : 1 << 18,
		.cut_through_bytes = cut_through_bytes(t),
		.cut_through_from = t->seed % 4 == 3 ? 1 << 20 : 0,
		.seed = t->seed,
	};

	t->proxy = proxy_new(&cfg);
	assert_non_null(t->proxy);
	mark_unused(&t->proxy->arena);
}

static void net_new(struct town *t)
{
	struct net_config net = {.seed = t->seed, .latency_min = 1000, .misdeeds = t->misdeeds};

	net.latency_max = UINT64_C(2000) << rng_below(&t->rng, 8);
	net.shares_receives = town_draw(t, 4);
	net.no_written = town_draw(t, 4);
	net.no_remote_inv = town_draw(t, 6);
	t->watcher = (struct net_watcher){town_moved, town_counted, t};
	t->net = t->on->new (&net, &t->watcher);
	t->gw_fabrics[0] = t->on->fabric(t->net, false);
	t->gw_fabrics[1] = town_draw(t, 3) ? t->on->fabric(t->net, false) : NULL;
}

/* Rogues that may do all misdeeds are ended early. So most towns allow only some misdeeds. */
static unsigned town_misdeeds(struct town *t)
{
	unsigned few = (unsigned)(rng_next(&t->rng) & rng_next(&t->rng) & rng_next(&t->rng));

	if (town_draw(t, 3))
		return MISDEEDS;
	return town_draw(t, 2) ? few : few | MISDEED_LATE | MISDEED_FALSE_LENGTH;
}

static void clear(struct town *t)
{
	memset(t, 0, offsetof(struct town, pairs));
	for (unsigned i = 0; i < TOWN_PAIRS; i++) {
		memset(&t->pairs[i], 0, offsetof(struct town_pair, client));
		peer_clear(&t->pairs[i].client);
		peer_clear(&t->pairs[i].server);
	}
}

void town_new(struct town *t, const struct net_ops *ops, uint64_t seed, unsigned misdeeds)
{
	clear(t);
	t->on = ops;
	t->seed = t->rng.state = seed;
	t->misdeeds = misdeeds & town_misdeeds(t);
	net_new(t);
	t->rarely = town_draw(t, 2) ? 4 : town_draw(t, 2) ? 40 : 400;
	t->npairs = 1 + rng_below(&t->rng, TOWN_PAIRS);
	t->nquarters = 1 + rng_below(&t->rng, TOWN_QUARTERS);
	t->nclients = 2 + rng_below(&t->rng, TOWN_CLIENTS - 1);
	for (unsigned i = 0; i < t->npairs; i++) {
		struct town_pair *p = &t->pairs[i];

		for (unsigned k = 0; k < 2; k++)
			p->speaks[k] = 1u << rng_below(&t->rng, 3);
		route_init(t, i, "good", &p->gw_addr, &p->server_addr);
		p->mark = town_free_mark(t);
	}
	for (unsigned i = 0; i < t->nquarters; i++)
		route_init(t, t->npairs + i, "rogue", &t->quarters[i].gw_addr,
			   &t->quarters[i].server_addr);
	gateway_new(t);
	rogues_new(t);
	for (unsigned i = 0; i < t->npairs; i++)
		pair_new(t, i);
}

static size_t pool_bytes(const struct fabric *f)
{
	const struct recv_pool *r = f ? recv_pool_of(f) : NULL;

	return r ? budget_blocks(r->total, r->bytes) : 0;
}

static void balance(struct town *t)
{
	size_t used =
		t->proxy->arena.used - pool_bytes(t->gw_fabrics[0]) - pool_bytes(t->gw_fabrics[1]);

	if (proxy_sessions(t->proxy))
		DEFECT(t, "%u sessions are left", proxy_sessions(t->proxy));
	if (used)
		DEFECT(t, "%zu octets of memory are not given back", used);
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		if (quota_has_line(&t->proxy->quota, (enum buf_purpose)i))
			DEFECT(t, "somebody who is gone waits for memory");
}

void town_end(struct town *t)
{
	town_leave(t);
	balance(t);
	for (unsigned i = 0; i < t->npairs; i++) {
		struct town_pair *p = &t->pairs[i];

		t->extended += p->client.placed_out + p->client.returned_in + p->server.placed_in +
			       p->server.returned_out;
		fabric_detach(t->gw_fabrics[0], p->gw_listener);
		fabric_detach(p->server.fabric, p->server_listener);
		peer_end(&p->client);
		peer_end(&p->server);
	}
	for (unsigned i = 0; i < t->nquarters; i++) {
		fabric_detach(t->gw_fabrics[0], t->quarters[i].gw_listener);
		fabric_detach(t->rogue_fabric, t->quarters[i].server_listener);
	}
	proxy_free(t->proxy);
	if (t->on->held(t->net))
		DEFECT(t, "connections, operations or handles are left: %llu",
		       (unsigned long long)t->on->held(t->net));
	fabric_unregister(t->rogue_fabric, t->rogue_memory);
	fabric_free(t->rogue_fabric);
	free(t->rogue_memory);
	for (unsigned i = 0; i < t->npairs; i++) {
		peer_fini(&t->pairs[i].client);
		peer_fini(&t->pairs[i].server);
		t->on->listener_free(t->pairs[i].gw_listener);
		t->on->listener_free(t->pairs[i].server_listener);
	}
	for (unsigned i = 0; i < t->nquarters; i++) {
		t->on->listener_free(t->quarters[i].gw_listener);
		t->on->listener_free(t->quarters[i].server_listener);
	}
	if (t->gw_fabrics[1])
		fabric_free(t->gw_fabrics[1]);
	fabric_free(t->gw_fabrics[0]);
	t->on->free(t->net);
	if (mem_live())
		DEFECT(t, "heap is not given back");
}
