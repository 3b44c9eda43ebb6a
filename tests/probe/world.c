/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/probe/world.h"

#include <string.h>

#include "base/list.h"
#include "tests/cmocka_all.h"
#include "tools/perf/program.h"

enum { ARENA_BYTES = 64 << 20, IN_BYTES = WIRE_RECV_BYTES, STOCK = 48 };

/* The fabric's ops know only their fabric: one world at a time. */
static struct meddler *meddling;

/* --- meddling --- */

static uint32_t get(const uint8_t *d, uint32_t at)
{
	return xdr_peek_u32(d + (size_t)at * 4);
}

static void set(uint8_t *d, uint32_t at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		d[(size_t)at * 4 + i] = (uint8_t)(value >> (24 - 8 * i));
}

/* A message that its peer never sent, in a Receive that was kept back. */
static void forge(struct meddler *m, struct fabric_conn *c, const uint32_t *words, unsigned n)
{
	uint8_t *at;

	assert_true(m->nstock > 0 && m->nforged < STOCK);
	at = m->stock[--m->nstock];
	for (unsigned i = 0; i < n; i++)
		set(at, i, words[i]);
	m->forged[m->nforged++] = (struct fabric_event){
		.type = FABRIC_EV_RECV, .conn = c, .cookie = at, .len = n * 4};
}

static void forge_copy(struct meddler *m, struct fabric_conn *c, const uint8_t *d, uint32_t len)
{
	uint8_t *at;

	assert_true(m->nstock > 0 && m->nforged < STOCK);
	at = m->stock[--m->nstock];
	memcpy(at, d, len);
	m->forged[m->nforged++] =
		(struct fabric_event){.type = FABRIC_EV_RECV, .conn = c, .cookie = at, .len = len};
}

/* Both drafts have the number 2. A GRANT of draft -07 is no longer than its prefix. */
static bool is_early(const uint8_t *d, uint32_t len)
{
	return get(d, 1) == 2 && (get(d, 3) < 2 || (get(d, 3) == 5 && len > 16));
}

static void forge_answer(struct meddler *m, struct fabric_conn *c, const struct rule *r,
			 const uint8_t *d, uint32_t len)
{
	uint32_t xid = get(d, 0), version = get(d, 1);
	const uint32_t error[] = {xid, version, 10000, 4, r->value};
	const uint32_t v1_reply[] = {xid, 1, 32, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0};
	const uint32_t v2_reply[] = {xid, 2, 10000, 13, 0, xid, 1, 0, 0, 0, 0};
	const uint32_t early_reply[] = {xid, 2, 32, 0, 1, 0, 0, 0, xid, 1, 0, 0, 0, 0};
	const uint32_t grant[] = {0, 2, 10000, 5};

	for (unsigned i = 0; i < (r->action == ACT_ERROR ? 1 : r->value); i++) {
		if (r->action == ACT_ERROR)
			forge(m, c, error, 5);
		else if (r->action == ACT_GRANT)
			forge(m, c, grant, 4);
		else if (version == 1)
			forge(m, c, v1_reply, 13);
		else if (is_early(d, len))
			forge(m, c, early_reply, 14);
		else
			forge(m, c, v2_reply, 11);
	}
}

/* A status, and something after it: the least that is no NULL's reply, by length. */
static bool has_result(const uint8_t *d, uint32_t len)
{
	return len > (get(d, 1) == 1 ? 52u : is_early(d, len) ? 56u : 44u);
}

static bool matches(struct meddler *m, unsigned i, enum way way, const uint8_t *d, uint32_t len)
{
	const struct rule *r = &m->rules[i];

	if (!m->is_on || r->way != way || len < 4)
		return false;
	if (len >= 16 && r->version && get(d, 1) != r->version)
		return false;
	if (r->type != ANY && (len < 16 || get(d, 3) != r->type))
		return false;
	if (r->only_result && !has_result(d, len))
		return false;
	m->seen[i]++;
	return r->once ? m->seen[i] == r->skip + 1 : m->seen[i] > r->skip;
}

/* Return: whether the message still exists. */
static bool apply(struct meddler *m, struct fabric_conn *c, const struct rule *r, uint8_t *d,
		  uint32_t *len, uint32_t *invalidated)
{
	switch (r->action) {
	case ACT_NONE:
		break;
	case ACT_DROP:
		return false;
	case ACT_SET:
		set(d, r->at, r->value);
		break;
	case ACT_ADD:
		set(d, r->at, get(d, r->at) + r->value);
		break;
	case ACT_LENGTH:
		if (r->value > *len)
			memset(d + *len, 0, r->value - *len);
		*len = r->value;
		break;
	case ACT_INVALIDATE:
		*invalidated = r->value;
		break;
	case ACT_FLIP:
		assert_non_null(m->exposed);
		m->exposed[r->at] ^= 0xff;
		break;
	case ACT_ERROR:
	case ACT_REPLY:
	case ACT_GRANT:
		forge_answer(m, c, r, d, *len);
		break;
	case ACT_CLOSE:
		memnet_cut(c);
		break;
	case ACT_TWICE:
		forge_copy(m, c, d, *len);
		break;
	}
	return true;
}

static bool meddle(struct meddler *m, struct fabric_conn *c, enum way way, uint8_t *d,
		   uint32_t *len, uint32_t *invalidated)
{
	bool kept = true;

	for (unsigned i = 0; i < m->nrules && kept; i++) {
		if (matches(m, i, way, d, *len))
			kept = apply(m, c, &m->rules[i], d, len, invalidated);
	}
	return kept;
}

static int my_post_recv(struct fabric_conn *c, void *buf, uint32_t len, void *cookie)
{
	struct meddler *m = meddling;

	if (m->nstock < STOCK) {
		m->stock[m->nstock++] = buf;
		return 0;
	}
	return m->inner->post_recv(c, buf, len, cookie);
}

static int my_send(struct fabric_conn *c, const struct fabric_sge *sge, unsigned nsge, uint32_t inv,
		   void *cookie)
{
	struct fabric_sge mine = sge[0];
	uint32_t none = 0;

	assert_int_equal(nsge, 1);
	/* The probe's own copy: nobody minds. */
	(void)meddle(meddling, c, WAY_OUT, (uint8_t *)(uintptr_t)mine.addr, &mine.len, &none);
	return meddling->inner->send(c, &mine, 1, inv, cookie);
}

static int my_expose(struct fabric_conn *c, void *addr, uint32_t len, unsigned access,
		     struct segment *seg)
{
	meddling->exposed = addr;
	return meddling->inner->expose(c, addr, len, access, seg);
}

static void new_connection(struct meddler *m)
{
	m->nstock = m->nforged = m->next_forged = 0;
}

static int my_connect(struct fabric *f, const struct fabric_addr *to,
		      const struct fabric_conn_params *params, void *owner,
		      struct fabric_conn **conn)
{
	new_connection(meddling);
	return meddling->inner->connect(f, to, params, owner, conn);
}

static int my_prepare(struct fabric_conn *c, const struct fabric_conn_params *params)
{
	new_connection(meddling);
	return meddling->inner->prepare(c, params);
}

static void meddle_pdata(struct meddler *m, struct fabric_event *ev)
{
	if (!m->is_on || ev->private_data.len == 0 || ev->private_data.len > sizeof(m->pdata))
		return;
	memcpy(m->pdata, ev->private_data.data, ev->private_data.len);
	if (m->pdata_flags)
		m->pdata[5] = (uint8_t)*m->pdata_flags;
	ev->private_data = view_of(m->pdata, m->pdata_len ? m->pdata_len : ev->private_data.len);
}

static int my_poll(struct fabric *f, struct fabric_event *ev)
{
	struct meddler *m = meddling;

	for (;;) {
		if (m->next_forged < m->nforged) {
			*ev = m->forged[m->next_forged++];
			return 1;
		}
		if (!m->inner->poll(f, ev))
			return 0;
		if (ev->type == FABRIC_EV_CONNECTED || ev->type == FABRIC_EV_REQUEST)
			meddle_pdata(m, ev);
		if (ev->type != FABRIC_EV_RECV || ev->status < 0 ||
		    meddle(m, ev->conn, WAY_IN, ev->cookie, &ev->len, &ev->invalidated))
			return 1;
		(void)!m->inner->post_recv(ev->conn, ev->cookie, IN_BYTES, ev->cookie);
	}
}

void world_meddle(struct world *w, const struct rule *rules, unsigned n)
{
	struct meddler *m = &w->meddler;

	assert_true(n <= 2);
	m->nrules = n;
	m->seen[0] = m->seen[1] = 0;
	if (n > 0)
		memcpy(m->rules, rules, n * sizeof(*rules));
	m->is_on = n > 0;
}

static void meddler_init(struct meddler *m, struct fabric *f)
{
	*m = (struct meddler){.inner = f->ops, .ops = *f->ops};
	m->ops.post_recv = my_post_recv;
	m->ops.send = my_send;
	m->ops.expose = my_expose;
	m->ops.connect = my_connect;
	m->ops.prepare = my_prepare;
	m->ops.poll = my_poll;
	meddling = m;
	f->ops = &m->ops;
}

/* --- the world --- */

static nsec_t peer_clock(void *arg)
{
	return memnet_now(((struct world *)arg)->net);
}

static nsec_t world_now(void *arg)
{
	return memnet_now(((struct world *)arg)->net);
}

static void peer_turns(struct world *w)
{
	if (w->server)
		while (perf_server_turn(w->server))
			;
	if (w->client)
		while (perf_client_turn(w->client))
			;
}

static void world_wait(void *arg, nsec_t deadline)
{
	struct world *w = arg;
	nsec_t until = deadline, due = NSEC_NEVER;

	peer_turns(w);
	if (w->server)
		due = nsec_min(due, perf_server_deadline(w->server));
	if (w->client)
		due = nsec_min(due, perf_client_deadline(w->client));
	/* An event that is still due after a turn waits for another event. */
	if (due > memnet_now(w->net))
		until = nsec_min(until, due);
	memnet_step(w->net, until);
	peer_turns(w);
}

static struct leg_config leg_config(unsigned versions, uint32_t credits)
{
	return (struct leg_config){
		.versions = versions,
		.inline_bytes = 4096,
		.credits = credits,
		.max_message = PERF_MAX_DATA + 4096,
		.segment_bytes = 1 << 20,
		.segment_count = 32,
		.setup_timeout = 100 * NSEC_PER_SEC,
	};
}

void world_init(struct world *w, uint64_t seed)
{
	const struct memnet_config net = {.seed = seed, .latency_min = 1000, .latency_max = 20000};

	memset(w, 0, sizeof(*w));
	w->net = memnet_new(&net);
	assert_non_null(w->net);
	w->probe_fabric = memnet_fabric(w->net);
	w->peer_fabric = memnet_fabric(w->net);
	assert_non_null(w->probe_fabric);
	assert_non_null(w->peer_fabric);
	assert_int_equal(buf_arena_init(&w->arena, ARENA_BYTES), 0);
	assert_int_equal(fabric_register(w->peer_fabric, w->arena.base, w->arena.bytes), 0);
	w->peer_env = (struct perf_env){w->peer_fabric, &w->arena, peer_clock, w, seed};
	w->env = (struct probe_env){.fabric = w->probe_fabric,
				    .now = world_now,
				    .wait = world_wait,
				    .arg = w,
				    .first_xid = (uint32_t)seed * 0x9e3779b1u};
	w->o = (struct probe_options){
		.hostile = true,
		.versions = 1 << 1 | 1 << 2 | 1 << OPTIONS_EARLY,
		.connections = 1,
		.timeout = 2 * NSEC_PER_SEC,
		.total = 3600 * NSEC_PER_SEC,
		.programs = {{PERF_PROGRAM, PERF_VERSION}},
		.nprograms = 1,
	};
	w->o.addr.len = sizeof(w->o.addr.ss);
	meddler_init(&w->meddler, w->probe_fabric);
}

void world_server(struct world *w, unsigned versions)
{
	w->scfg = (struct perf_server_config){
		.leg = leg_config(versions, 16), .verify = true, .is_silent = true};
	w->scfg.leg.bulk_bytes = w->bulk;
	w->listener = memnet_listen(w->net, &w->o.addr);
	assert_non_null(w->listener);
	w->server = perf_server_new(&w->scfg, &w->peer_env);
	assert_non_null(w->server);
	assert_int_equal(fabric_attach(w->peer_fabric, w->listener, perf_server_owner(w->server)),
			 0);
}

void world_client(struct world *w, unsigned version, uint64_t count, struct listener *l)
{
	w->listener = memnet_listen(w->net, &w->o.addr);
	assert_non_null(w->listener);
	assert_int_equal(fabric_attach(w->probe_fabric, w->listener, &l->w), 0);
	w->ccfg = (struct perf_client_config){
		.to = w->o.addr,
		.leg = leg_config(version, 32),
		.op = PERF_NULL,
		.sizes = w->sizes,
		.nsizes = 1,
		.depth = 24,
		.connections = 1,
		.duration = NSEC_NEVER,
		.count = count,
		.call_timeout = 20 * NSEC_PER_SEC,
		.is_silent = true,
	};
	w->ccfg.leg.auth = w->client_auth;
	w->client = perf_client_new(&w->ccfg, &w->peer_env);
	assert_non_null(w->client);
}

void world_fini(struct world *w)
{
	struct memnet_usage usage;

	if (w->server)
		fabric_detach(w->peer_fabric, w->listener);
	else
		fabric_detach(w->probe_fabric, w->listener);
	perf_server_free(w->server);
	perf_client_free(w->client);
	memnet_usage(w->net, &usage);
	assert_int_equal(usage.conns, 0);
	assert_int_equal(usage.exposures, 0);
	memnet_listener_free(w->listener);
	fabric_unregister(w->peer_fabric, w->arena.base);
	fabric_free(w->probe_fabric);
	fabric_free(w->peer_fabric);
	buf_arena_fini(&w->arena);
	memnet_free(w->net);
}
