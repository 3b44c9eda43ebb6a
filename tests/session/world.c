/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/inside.h"
#include "tests/session/world.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/cmocka_all.h"

struct setup setup_defaults(unsigned client, unsigned server, uint64_t seed)
{
	return (struct setup){
		.client_version = client,
		.server_version = server,
		/* The gateway speaks the early draft to a server only if it is configured. */
		.listen_versions = LEG_V1_OR_V2 | LEG_V2_EARLY,
		.upstream_versions = server == LEG_V2_EARLY ? LEG_V2_EARLY : LEG_V1_OR_V2,
		.client_inline = 4096,
		.gw_inline = 4096,
		.server_inline = 4096,
		.credits = 16,
		.rev_credits = 8,
		.max_sessions = 10,
		.max_payload = 4 << 20,
		.max_message = 8 << 20,
		.continue_max = 64 << 10,
		.memory = 128 << 20,
		.peer_memory = 128 << 20,
		.pairs = 1,
		.net = {.seed = seed, .latency_min = 1000, .latency_max = 100000},
	};
}

static struct leg_config gw_leg(const struct setup *s, unsigned versions)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = s->gw_inline,
		.credits = s->credits,
		.rev_credits = s->rev_credits,
		.max_message = s->max_message,
		.segment_bytes = 1 << 20,
		.segment_count = 64,
		.reverse = RPC_REV_GENL,
		.reply_timeout = s->reply_timeout,
		.setup_timeout = 10 * NSEC_PER_SEC,
	};
}

static bool has_raw_server(const struct world *w)
{
	return w->s.raw && !w->s.raw_client;
}

static void pair_new(struct world *w, unsigned i)
{
	const struct setup *s = &w->s;
	struct world_pair *p = &w->pairs[i];

	p->gw_listener = memnet_listen(w->net, &p->gw_addr);
	p->server_listener = memnet_listen(w->net, &p->server_addr);
	assert_int_equal(
		fabric_attach(w->gw_fabrics[0], p->gw_listener, proxy_route_owner(w->proxy, i)), 0);
	peer_init(&p->client, w->net, s->client_version, s->client_inline, s->credits,
		  0x1000 + 0x1000000 * i, s->peer_memory);
	peer_init(&p->server, w->net, s->server_version, s->server_inline, s->credits,
		  0x900000 + 0x1000000 * i, s->peer_memory);
	p->client.places = s->client_places;
	p->client.asks = s->client_asks;
	p->client.cfg.peer_bulk_bytes = s->client_knows;
	p->client.cfg.bulk_bytes = s->client_bulk;
	p->server.divides = s->cut_through_bytes > 0;
	p->server.cfg.bulk_bytes = s->server_bulk;
	p->server.cfg.peer_bulk_bytes = s->gw_up_bulk;
	if (i == 0) {
		p->client.cfg.auth = s->client_auth;
		p->server.cfg.auth = s->server_auth;
	}
	if (i > 0 || !has_raw_server(w))
		assert_int_equal(fabric_attach(p->server.fabric, p->server_listener, &p->server),
				 0);
}

static void route_init(struct world *w, unsigned i)
{
	struct world_pair *p = &w->pairs[i];
	struct proxy_route *r = &w->routes[i];

	assert_int_equal(fabric_addr_parse("10.0.0.1", (uint16_t)(20049 + i), &p->gw_addr), 0);
	assert_int_equal(fabric_addr_parse("10.0.0.2", (uint16_t)(20049 + i), &p->server_addr), 0);
	snprintf(r->name, sizeof(r->name), "route%u", i);
	r->client = gw_leg(&w->s, w->s.listen_versions);
	r->client.bulk_bytes = w->s.gw_bulk;
	r->server = gw_leg(&w->s, w->s.upstream_versions);
	r->server.exposures = w->s.exposures;
	r->client.peer_bulk_bytes = w->s.client_bulk;
	r->server.peer_bulk_bytes = w->s.gw_knows;
	r->server.bulk_bytes = w->s.gw_up_bulk;
	if (i == 0) {
		r->client.auth = w->s.listen_auth;
		r->server.auth = w->s.upstream_auth;
		r->servers = w->s.servers;
		r->several = w->s.servers;
		r->probe_interval = w->s.probes;
	}
	r->client_hop = r->server_hop = w->s.hop;
	r->upstream = p->server_addr;
	r->upstream_fabric = w->s.two_fabrics;
	r->version_memory = 100 * NSEC_PER_SEC;
}

/* Every end speaks the round-trip extension, where its version has it. */
static void extend(struct setup *s)
{
	s->gw_bulk = s->gw_up_bulk = s->client_bulk = s->server_bulk = 65536;
	s->client_knows = s->gw_knows = 65536;
	s->client_places = s->client_asks = true;
	if (s->server_version == LEG_V2_EARLY) /* as the profile has Receives there (section 2) */
		s->server_inline = EARLY_INLINE_BYTES;
}

static void clear(struct world *w)
{
	memset(w, 0, offsetof(struct world, pairs));
	for (unsigned i = 0; i < WORLD_PAIRS; i++) {
		memset(&w->pairs[i], 0, offsetof(struct world_pair, client));
		peer_clear(&w->pairs[i].client);
		peer_clear(&w->pairs[i].server);
	}
}

void world_new(struct world *w, const struct setup *s)
{
	struct proxy_config cfg;

	clear(w);
	w->s = *s;
	/* The same stories again, with Receives that the gateway's connections share. */
	if (getenv("SHARED_RECEIVES"))
		w->s.net.shares_receives = true;
	/* ... and as if every peer were far. */
	if (getenv("FAR_HOP"))
		w->s.hop = HOP_FAR;
	if (getenv("RTREXT"))
		extend(&w->s);
	/* ... and with results that go on while they come, some of them in pieces. */
	if (getenv("CUT_THROUGH") && !w->s.cut_through_bytes)
		w->s.cut_through_bytes = 2048;
	w->net = memnet_new(&w->s.net);
	assert_non_null(w->net);
	w->gw_fabrics[0] = memnet_fabric(w->net);
	if (s->two_fabrics)
		w->gw_fabrics[1] = memnet_fabric(w->net);
	for (unsigned i = 0; i < s->pairs; i++)
		route_init(w, i);
	w->session_limits = session_limits_new(
		&(struct session_limits_config){.max_sessions = s->max_sessions,
						.max_per_client = s->max_per_client,
						.setups_per_second = s->setups_per_second,
						.seed = s->net.seed});
	assert_non_null(w->session_limits);
	cfg = (struct proxy_config){
		.routes = w->routes,
		.nroutes = s->pairs,
		.fabrics = w->gw_fabrics,
		.nfabrics = s->two_fabrics ? 2 : 1,
		.memory_bytes = s->memory,
		.max_sessions = s->max_sessions,
		.session_limits = w->session_limits,
		.max_setups = s->max_setups,
		.max_payload = s->max_payload,
		.continue_max = s->continue_max,
		.cut_through_bytes = w->s.cut_through_bytes,
		.cut_through_from = w->s.cut_through_from,
		.seed = s->net.seed,
		.clock = s->clock,
	};
	w->proxy = proxy_new(&cfg);
	assert_non_null(w->proxy);
	for (unsigned i = 0; i < s->pairs; i++)
		pair_new(w, i);
	if (s->raw)
		raw_init(&w->raw, w->net);
	if (has_raw_server(w))
		assert_int_equal(fabric_attach(w->raw.fabric, w->pairs[0].server_listener, &w->raw),
				 0);
}

void world_turn(struct world *w)
{
	nsec_t now = memnet_now(w->net);

	for (unsigned i = 0; i < w->s.pairs; i++) {
		peer_turn(&w->pairs[i].client);
		if (!w->servers_sleep)
			peer_turn(&w->pairs[i].server);
	}
	if (w->s.raw)
		raw_turn(&w->raw);
	for (unsigned n = 0; proxy_turn(w->proxy, now); n++)
		assert_true(n < 1000); /* "more is waiting" for ever */
}

void world_run(struct world *w, nsec_t limit)
{
	nsec_t end = memnet_now(w->net) + limit;

	world_turn(w);
	while (memnet_now(w->net) < end) {
		nsec_t at = proxy_deadline(w->proxy);

		/* A deadline in the past would make a daemon spin. */
		assert_true(at > memnet_now(w->net));
		memnet_step(w->net, nsec_min(end, at));
		world_turn(w);
	}
}

void world_connect_pair(struct world *w, unsigned i)
{
	peer_connect(&w->pairs[i].client, &w->pairs[i].gw_addr);
}

void world_connect(struct world *w)
{
	unsigned first = w->s.raw ? 1 : 0;

	for (unsigned i = first; i < w->s.pairs; i++)
		world_connect_pair(w, i);
	world_run(w, NSEC_PER_SEC);
	for (unsigned i = first; i < w->s.pairs; i++)
		assert_true(w->pairs[i].client.open);
}

static bool pair_is_up(const struct world_pair *p)
{
	return p->client.open && p->server.open && !p->client.closed && !p->server.closed;
}

/* In the early draft the first call, of 1024 octets at most, asks what is spoken. */
static bool asks(const struct world_pair *p)
{
	return peer_is_early(&p->client) && p->client.leg.t->count.sends == 0;
}

/* Whether the pair has calls to make or to wait for. */
static bool pair_load(struct world *w, struct world_pair *p, const struct load *load)
{
	struct peer_spec spec;

	if (!pair_is_up(p))
		return false;
	while (p->made < load->calls && peer_busy(&p->client) < load->depth) {
		spec = load->spec(load->rng, w, &p->client);
		if (asks(p))
			spec = (struct peer_spec){.body = 100, .reply = 24, .segs = 1};
		peer_call(&p->client, &spec);
		p->made++;
	}
	/* Not before the client's first words: until then nobody knows its version. */
	while (p->rmade < load->rcalls && peer_busy(&p->server) < load->rdepth && p->server.leg.t &&
	       p->client.done > 0) {
		spec = peer_random_spec(load->rng, 1, true, 4096);
		peer_call(&p->server, &spec);
		p->rmade++;
	}
	return p->made < load->calls || p->rmade < load->rcalls || peer_busy(&p->client) ||
	       peer_busy(&p->server);
}

bool world_load(struct world *w, const struct load *load)
{
	const nsec_t timeout = 100 * NSEC_PER_SEC;
	nsec_t moved = memnet_now(w->net);

	for (unsigned i = 0; i < w->s.pairs; i++)
		w->pairs[i].made = w->pairs[i].rmade = 0;
	for (;;) {
		bool due = false;

		for (unsigned i = 0; i < w->s.pairs; i++)
			due |= pair_load(w, &w->pairs[i], load);
		if (!due)
			return true;
		world_turn(w);
		if (memnet_step(w->net, nsec_min(moved + timeout, proxy_deadline(w->proxy))))
			moved = memnet_now(w->net);
		else if (memnet_now(w->net) >= moved + timeout)
			return false;
	}
}

static size_t pool_bytes(const struct fabric *f)
{
	const struct recv_pool *r = f ? recv_pool_of(f) : NULL;

	return r ? budget_blocks(r->total, r->bytes) : 0;
}

size_t world_used(const struct world *w)
{
	return world_arena(w)->used - pool_bytes(w->gw_fabrics[0]) - pool_bytes(w->gw_fabrics[1]);
}

void world_quit(struct world *w)
{
	for (unsigned i = 0; i < w->s.pairs; i++) {
		leg_close(&w->pairs[i].client.leg, ERR_CLOSED, "test over");
		leg_close(&w->pairs[i].server.leg, ERR_CLOSED, "test over");
	}
	raw_hang_up(&w->raw);
	world_run(w, 30 * NSEC_PER_SEC);
	assert_int_equal(proxy_sessions(w->proxy), 0);
	assert_int_equal(world_used(w), 0);
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		assert_false(quota_has_line(&w->proxy->quota, (enum buf_purpose)i));
}

void world_free(struct world *w)
{
	struct memnet_usage usage;

	for (unsigned i = 0; i < w->s.pairs; i++) {
		fabric_detach(w->gw_fabrics[0], w->pairs[i].gw_listener);

		fabric_detach(w->pairs[i].server.fabric, w->pairs[i].server_listener);
		peer_end(&w->pairs[i].client);
		peer_end(&w->pairs[i].server);
	}
	if (has_raw_server(w))
		fabric_detach(w->raw.fabric, w->pairs[0].server_listener);
	if (w->s.raw)
		raw_fini(&w->raw);
	proxy_free(w->proxy);
	assert_int_equal(session_limits_sessions(w->session_limits), 0);
	session_limits_free(w->session_limits);
	memnet_usage(w->net, &usage);
	assert_int_equal(usage.conns, 0);
	assert_int_equal(usage.posted, 0);
	assert_int_equal(usage.exposures, 0);
	assert_int_equal(usage.exposed_bytes, 0);
	for (unsigned i = 0; i < w->s.pairs; i++) {
		peer_fini(&w->pairs[i].client);
		peer_fini(&w->pairs[i].server);
		memnet_listener_free(w->pairs[i].gw_listener);
		memnet_listener_free(w->pairs[i].server_listener);
	}
	if (w->gw_fabrics[1])
		fabric_free(w->gw_fabrics[1]);
	fabric_free(w->gw_fabrics[0]);
	memnet_free(w->net);
	assert_int_equal(mem_live(), 0);
}

const struct buf_arena *world_arena(const struct world *w)
{
	return &w->proxy->arena;
}

/* Inline where it can be seen: the smaller of what the client and the gateway take. */
static uint32_t front_inline(const struct world *w)
{
	if (w->s.client_version == LEG_V2_EARLY)
		return EARLY_INLINE_BYTES;
	return w->s.client_inline < w->s.gw_inline ? w->s.client_inline : w->s.gw_inline;
}

struct peer_spec spec_any(struct rng *r, const struct world *w, const struct peer *client)
{
	struct peer_spec s = peer_random_spec(r, client->leg.t->ops->traits->continues ? 2 : 1,
					      false, front_inline(w));

	/* Beside results a version 1 server gets a Reply chunk. */
	if (s.nwrites && !s.reply_cap && s.reply > 60000)
		s.reply = 60000;
	return s;
}

struct peer_spec spec_small(struct rng *r, const struct world *w, const struct peer *client)
{
	static const uint32_t sizes[] = {1, 7, 100, 1000, 3000, 5000};
	struct peer_spec s = {.segs = 1 + rng_below(r, PEER_SEGS), .body = 128, .reply = 24};
	bool long_ok = client->leg.t->ops->traits->continues;

	(void)w;
	s.body += 4 * rng_below(r, 200);
	s.nreads = rng_below(r, 3);
	s.nwrites = rng_below(r, 3);
	for (unsigned i = 0; i < s.nreads; i++)
		s.reads[i] = sizes[rng_below(r, 6)];
	for (unsigned i = 0; i < s.nwrites; i++) {
		s.write_caps[i] = sizes[rng_below(r, 6)];
		s.writes[i] = rng_below(r, s.write_caps[i] + 1);
	}
	s.by_chunk = rng_below(r, 4) == 0;
	if (s.by_chunk || long_ok)
		s.body += 4 * rng_below(r, 1500);
	if (rng_below(r, 3) == 0)
		s.reply_cap = 6000;
	s.reply += 4 * rng_below(r, s.reply_cap || long_ok ? 1400 : 200);
	return s;
}
