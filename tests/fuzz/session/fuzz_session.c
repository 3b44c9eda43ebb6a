/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole session of the relay between a client and a server that both send what the input says.
 * Whatever they send: the gateway keeps running, both ends can be removed, and nothing is left.
 * Beside it there is a well-behaved session with a call in each step: its calls are answered
 * correctly, and none of its octets reach the others.
 *
 * First octet: bits 0-1 versions on the client side, 2-3 on the server side (each 0 stands for
 * both), 4 the server answers by itself, correctly, 5 the client begins likewise, 6 the gateway's
 * connections share Receives. Second octet: seed of the network; if it is odd, cut-through is on.
 * From 0xe0 on its bit 0 lets the client speak the early draft of version 2 as well, and with bit 1
 * the server is only spoken to in the early draft. Then steps:
 *
 *   0-3  the client sends a message      4-7  the server sends one
 *   8    a short time passes             9    a long time passes
 *   10   the client disconnects or connects   11   the server disconnects
 *   12   the client exposes memory       13   the server does
 *   14   the gateway must drain          15   the client stops or resumes receiving
 *
 * The low four bits of a step's octet give the step. A message is a count of words and then each
 * word: below 0xf0 the word itself, else see put_word().
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/isolation/taint.h"
#include "tests/session/hoard.h"
#include "tests/session/inside.h"
#include "tests/session/peer.h"
#include "tests/session/raw.h"

enum { BYSTANDER = 5 /* its mark */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *pos, *end;
};

struct scene {
	struct memnet *net;
	struct fabric *fabric;
	struct fabric_addr gw, upstream, by_gw, by_upstream;
	struct fabric_listener *front, *back, *by_front, *by_back;
	struct proxy_route routes[2];
	struct memnet_watcher watcher;
	struct peer by_client, by_server;
	bool forged; /* the input itself has said what only the bystander says */
	struct proxy *proxy;
	struct raw client, server;
	struct segment client_seg, server_seg;
	uint32_t client_xid, server_xid; /* seen last */
	bool polite;
	uint8_t early; /* bits: which ends speak the early draft */
};

enum { EARLY_CLIENT = 1, EARLY_SERVER = 2, EARLY_SEEDS = 0xe0 };

static struct scene sc;
static struct hoard hoard;

static uint8_t next(struct input *in)
{
	return in->pos < in->end ? *in->pos++ : 0;
}

static struct leg_config leg_config(unsigned versions)
{
	return (struct leg_config){.versions = versions ? versions : LEG_V1_OR_V2,
				   .inline_bytes = 4096,
				   .credits = 8,
				   .rev_credits = 4,
				   .max_message = 1 << 20,
				   .segment_bytes = 1 << 20,
				   .segment_count = 64,
				   .reverse = RPC_REV_GENL,
				   .reply_timeout = 3 * NSEC_PER_SEC,
				   .setup_timeout = 5 * NSEC_PER_SEC};
}

/* The first Write segment of a call, for a polite answer. */
static struct segment first_write(struct view in, uint32_t vers)
{
	struct segment s = {0};
	struct xdr_in x;

	xdr_in_init(&x, in);
	xdr_skip(&x, vers == 1 ? 16 : 20);
	while (xdr_get_bool(&x)) {
		xdr_skip(&x, 4);
		sc.server_seg = xdr_get_segment(&x);
	}
	if (xdr_get_bool(&x) && xdr_get_u32(&x) == 1)
		s = xdr_get_segment(&x);
	return x.failed ? (struct segment){0} : s;
}

static void answer(struct raw *r, struct view in, uint32_t vers)
{
	uint32_t xid = xdr_peek_u32(in.data);
	struct segment s = first_write(in, vers);

	if (s.length > 0 && s.length <= 65536)
		raw_write(r, &s, s.length);
	else
		s.length = 0;
	if (vers == 1 && s.handle)
		raw_words(r, xid, 1, 8, 0, 0, 1, 1, s.handle, s.length, (uint32_t)(s.offset >> 32),
			  (uint32_t)s.offset, 0, 0, RAW_REPLY_BODY(xid));
	else if (vers == 1)
		raw_words(r, RAW_V1_REPLY(xid, 8));
	else if (sc.early & EARLY_SERVER && s.handle)
		raw_words(r, xid, 2, 8, 0, 1, 0, 1, 1, s.handle, s.length,
			  (uint32_t)(s.offset >> 32), (uint32_t)s.offset, 0, 0,
			  RAW_REPLY_BODY(xid));
	else if (sc.early & EARLY_SERVER)
		raw_words(r, xid, 2, 8, 0, 1, 0, 0, 0, RAW_REPLY_BODY(xid));
	else if (s.handle)
		raw_words(r, xid, 2, 1000, 13, 1, 1, s.handle, s.length, (uint32_t)(s.offset >> 32),
			  (uint32_t)s.offset, 0, RAW_REPLY_BODY(xid));
	else
		raw_words(r, RAW_V2_REPLY(xid, 1000));
}

static void on_server(struct raw *r, struct view in, void *arg)
{
	uint32_t vers, type;

	(void)arg;
	if (in.len < 16)
		return;
	sc.server_xid = xdr_peek_u32(in.data);
	vers = xdr_peek_u32(in.data + 4);
	type = xdr_peek_u32(in.data + 12);
	if (!sc.polite)
		return;
	if (vers == 2 && type == 7)
		raw_words(r, RAW_V2_PROPS(0x55, 1000));
	else if ((vers == 1 && type == 0) ||
		 (vers == 2 && type == (sc.early & EARLY_SERVER ? 0 : 10)))
		answer(r, in, vers);
}

static void on_client(struct raw *r, struct view in, void *arg)
{
	(void)r;
	(void)arg;
	if (in.len >= 16)
		sc.client_xid = xdr_peek_u32(in.data);
}

static size_t shared_bytes(void)
{
	const struct recv_pool *r = recv_pool_of(sc.fabric);

	return r ? budget_blocks(r->total, r->bytes) : 0;
}

/* All shared Receives but a few. */
static void hold_receives(void)
{
	struct recv_pool *r = recv_pool_of(sc.fabric);
	enum { FEW = 6 };

	if (r)
		(void)hoard_receives(&hoard, r, r->most - FEW);
}

static bool is_at(const struct fabric_addr *a, const struct fabric_addr *b)
{
	return a->len == b->len && memcmp(&a->ss, &b->ss, a->len) == 0;
}

static bool is_bystanders(const struct fabric_conn *c)
{
	return c->fabric == sc.by_client.fabric || c->fabric == sc.by_server.fabric ||
	       is_at(&c->local, &sc.by_gw) || is_at(&c->peer, &sc.by_upstream);
}

/* All messages to and from the ends whose messages the input chooses. */
static void octets_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind,
			 const uint8_t *octets, uint32_t len)
{
	(void)arg;
	(void)kind;
	if (is_bystanders(to) || !taint_has(BYSTANDER, view_of(octets, len)))
		return;
	sc.forged |= to->fabric == sc.fabric;
	assert(sc.forged);
}

static void bystander_new(uint8_t seed)
{
	const unsigned versions[] = {LEG_V1, LEG_V2};

	sc.by_front = memnet_listen(sc.net, &sc.by_gw);
	sc.by_back = memnet_listen(sc.net, &sc.by_upstream);
	peer_init(&sc.by_client, sc.net, versions[seed & 1], 4096, 8, mark_word32(BYSTANDER, 0),
		  32 << 20);
	peer_init(&sc.by_server, sc.net, versions[seed >> 1 & 1], 4096, 8,
		  mark_word32(BYSTANDER, 0x08000000), 32 << 20);
	if (fabric_attach(sc.fabric, sc.by_front, proxy_route_owner(sc.proxy, 1)) ||
	    fabric_attach(sc.by_server.fabric, sc.by_back, &sc.by_server))
		abort();
	peer_connect(&sc.by_client, &sc.by_gw);
}

static void bystander_calls(void)
{
	static const struct peer_spec spec = {.body = 256,
					      .reply = 256,
					      .segs = 1,
					      .nreads = 1,
					      .reads = {0x0f00},
					      .nwrites = 1,
					      .write_caps = {8192},
					      .writes = {0x1000 + 0x0f00}};

	if (sc.by_client.open && !sc.by_client.closed && peer_busy(&sc.by_client) < 2)
		peer_call(&sc.by_client, &spec);
}

static void bystander_free(void)
{
	fabric_detach(sc.fabric, sc.by_front);
	fabric_detach(sc.by_server.fabric, sc.by_back);
	peer_fini(&sc.by_client);
	peer_fini(&sc.by_server);
	memnet_listener_free(sc.by_front);
	memnet_listener_free(sc.by_back);
}

static void scene_new(uint8_t how, uint8_t seed)
{
	const struct memnet_config net = {.seed = seed,
					  .latency_min = 1000,
					  .latency_max = 50000,
					  .shares_receives = how & 64};
	struct proxy_config cfg;

	memset(&sc, 0, sizeof(sc));
	sc.early = seed >= EARLY_SEEDS ? seed & (EARLY_CLIENT | EARLY_SERVER) : 0;
	sc.net = memnet_new(&net);
	sc.fabric = memnet_fabric(sc.net);
	if (fabric_addr_parse("10.0.0.1", 1, &sc.gw) ||
	    fabric_addr_parse("10.0.0.2", 1, &sc.upstream) ||
	    fabric_addr_parse("10.0.0.1", 2, &sc.by_gw) ||
	    fabric_addr_parse("10.0.0.2", 2, &sc.by_upstream))
		abort();
	sc.routes[0] = (struct proxy_route){.name = "fuzz",
					    .client = leg_config(how & 3),
					    .server = leg_config(how >> 2 & 3),
					    .upstream = sc.upstream,
					    .version_memory = NSEC_PER_SEC};
	if (sc.early & EARLY_CLIENT)
		sc.routes[0].client.versions |= LEG_V2_EARLY;
	if (sc.early & EARLY_SERVER)
		sc.routes[0].server.versions = LEG_V2_EARLY;
	sc.routes[1] = (struct proxy_route){.name = "bystander",
					    .client = leg_config(LEG_V1_OR_V2),
					    .server = leg_config(LEG_V1_OR_V2),
					    .upstream = sc.by_upstream,
					    .version_memory = NSEC_PER_SEC};
	sc.routes[1].server.reply_timeout = 0;
	sc.watcher = (struct memnet_watcher){octets_moved, NULL};
	memnet_watch(sc.net, &sc.watcher);
	cfg = (struct proxy_config){.routes = sc.routes,
				    .nroutes = 2,
				    .fabrics = &sc.fabric,
				    .nfabrics = 1,
				    .memory_bytes = 32 << 20,
				    .max_sessions = 4,
				    .max_payload = 1 << 20,
				    .continue_max = 64 << 10,
				    .cut_through_bytes = seed % 2 ? 64 : 0,
				    .seed = seed};
	sc.proxy = proxy_new(&cfg);
	sc.front = memnet_listen(sc.net, &sc.gw);
	sc.back = memnet_listen(sc.net, &sc.upstream);
	raw_init(&sc.client, sc.net);
	raw_init(&sc.server, sc.net);
	if (fabric_attach(sc.fabric, sc.front, proxy_route_owner(sc.proxy, 0)) ||
	    fabric_attach(sc.server.fabric, sc.back, &sc.server))
		abort();
	sc.server.on_message = on_server;
	sc.client.on_message = on_client;
	sc.polite = how & 16;
	bystander_new(seed);
	if (how & 128)
		hold_receives();
	raw_connect(&sc.client, &sc.gw);
}

static void turn(void)
{
	raw_turn(&sc.client);
	raw_turn(&sc.server);
	peer_turn(&sc.by_client);
	peer_turn(&sc.by_server);
	for (unsigned n = 0; proxy_turn(sc.proxy, memnet_now(sc.net)); n++)
		assert(n < 1000);
}

static void run(nsec_t limit)
{
	nsec_t end = memnet_now(sc.net) + limit;

	turn();
	while (memnet_now(sc.net) < end) {
		nsec_t at = proxy_deadline(sc.proxy);

		assert(at > memnet_now(sc.net));
		memnet_step(sc.net, nsec_min(end, at));
		turn();
	}
}

static void put_segment(struct xdr_out *x, struct segment s, uint32_t length)
{
	s.length = length;
	xdr_put_segment(x, &s);
}

static void put_words(struct xdr_out *x, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		xdr_put_u32(x, words[i]);
}

static void put_word(struct input *in, struct xdr_out *x, uint32_t xid, struct segment seg)
{
	const uint32_t call[] = {RAW_CALL_BODY(xid)}, reply[] = {RAW_REPLY_BODY(xid)};
	uint8_t b = next(in);

	switch (b) {
	case 0xf0:
		xdr_put_u32(x, (uint32_t)next(in) << 24 | (uint32_t)next(in) << 16 |
				       (uint32_t)next(in) << 8 | next(in));
		break;
	case 0xf1: /* what this end exposed, whole */
		put_segment(x, seg, seg.length);
		break;
	case 0xf2: /* and otherwise */
		put_segment(x, seg, seg.length + next(in) - 128u);
		break;
	case 0xf3:
		put_words(x, call, sizeof(call) / 4);
		break;
	case 0xf4:
		put_words(x, reply, sizeof(reply) / 4);
		break;
	case 0xf5: /* a lot of filler */
		for (unsigned i = next(in) * 3u; i > 0; i--)
			xdr_put_u32(x, i);
		break;
	case 0xf6:
		xdr_put_u32(x, 0xffffffff);
		break;
	case 0xf7:
		xdr_put_u32(x, xid);
		break;
	default:
		xdr_put_u32(x, b);
		break;
	}
}

/* XID, version, credit, type, then words: the XID seen last unless the input wants another. */
static void say(struct input *in, struct raw *r, uint32_t seen, struct segment seg)
{
	struct xdr_out x = raw_begin(r);
	uint8_t x8 = next(in), v8 = next(in);
	uint32_t xid = x8 ? x8 : seen;
	unsigned n = next(in) % 64;

	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, v8 & 7);
	xdr_put_u32(&x, v8 & 8 ? 1000 : next(in));
	xdr_put_u32(&x, v8 >> 4);
	for (unsigned i = 0; i < n && xdr_out_len(&x) < 2500; i++)
		put_word(in, &x, xid, seg);
	if (!x.failed)
		raw_end(r, &x);
}

static void step(struct input *in, uint8_t op)
{
	switch (op & 15) {
	case 8:
		run(50000);
		break;
	case 9:
		run((nsec_t)next(in) * 200 * NSEC_PER_MS);
		break;
	case 10:
		if (sc.client.conn)
			raw_hang_up(&sc.client);
		else
			raw_connect(&sc.client, &sc.gw);
		break;
	case 11:
		raw_hang_up(&sc.server);
		break;
	case 12:
		if (sc.client.connected && sc.client.exposed < RAW_EXPOSED / 2)
			sc.client_seg =
				raw_expose(&sc.client, 1 + next(in) * 200u, 1 + (op >> 4 & 1));
		break;
	case 13:
		if (sc.server.connected && sc.server.exposed < RAW_EXPOSED / 2)
			sc.server_seg =
				raw_expose(&sc.server, 1 + next(in) * 200u, 1 + (op >> 4 & 1));
		break;
	case 14:
		proxy_drain(sc.proxy, memnet_now(sc.net) + NSEC_PER_SEC);
		break;
	case 15:
		sc.client.deaf = !sc.client.deaf;
		break;
	default:
		if (op & 4)
			say(in, &sc.server, sc.server_xid, sc.server_seg);
		else
			say(in, &sc.client, sc.client_xid, sc.client_seg);
		break;
	}
}

static void scene_free(void)
{
	struct memnet_usage usage;

	raw_hang_up(&sc.client);
	run(20 * NSEC_PER_SEC);
	assert(sc.by_client.corrupt + sc.by_server.corrupt + sc.by_client.errors == 0);
	leg_close(&sc.by_client.leg, ERR_CLOSED, "test over");
	leg_close(&sc.by_server.leg, ERR_CLOSED, "test over");
	raw_hang_up(&sc.server);
	run(20 * NSEC_PER_SEC);
	hoard_end(&hoard);
	assert(proxy_sessions(sc.proxy) == 0);
	assert(sc.proxy->arena.used == shared_bytes());
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		assert(!quota_has_line(&sc.proxy->quota, (enum buf_purpose)i));
	peer_end(&sc.by_client);
	peer_end(&sc.by_server);
	memnet_usage(sc.net, &usage);
	assert(usage.conns == 0 && usage.posted == 0 && usage.exposures == 0);
	bystander_free();
	fabric_detach(sc.fabric, sc.front);
	fabric_detach(sc.server.fabric, sc.back);
	proxy_free(sc.proxy);
	raw_fini(&sc.client);
	raw_fini(&sc.server);
	fabric_free(sc.fabric);
	memnet_listener_free(sc.front);
	memnet_listener_free(sc.back);
	memnet_free(sc.net);
	assert(mem_live() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	uint8_t how = next(&in);

	log_set_level(getenv("GW_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	scene_new(how, next(&in));
	run(NSEC_PER_MS);
	if (how & 32 && sc.client.connected) {
		if (sc.early & EARLY_CLIENT)
			raw_words(&sc.client, 0x97, 2, 8, 0, 0, 0, 0, 0, RAW_CALL_BODY(0x97));
		else if ((how & 3) == LEG_V2)
			raw_words(&sc.client, RAW_V2_PROPS(0x99, 1000));
		else
			raw_words(&sc.client, RAW_V1_CALL(0x98));
		run(NSEC_PER_MS);
	}
	for (unsigned i = 0; i < 60 && in.pos < in.end; i++) {
		step(&in, next(&in));
		bystander_calls();
		turn();
	}
	run(NSEC_PER_SEC);
	scene_free();
	return 0;
}
