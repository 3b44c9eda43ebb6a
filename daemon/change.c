/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * - Routes of the new file are matched with current routes by name. Each route that is not kept
 *   gets a free slot. A slot is free again when no worker uses its old route.
 * - A listening socket passes from the old route to the new one with the same address. If the new
 *   route needs another fabric instance (crc, setup_timeout), both have an entry (struct
 *   gateway_sock) for the socket until TURN_OVER.
 * - A running relay has fixed fabric instances, shared Receive sizes and memory. A file whose
 *   routes do not fit these is refused as a whole, and needs a restart.
 */
#include "daemon/change.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/capacity.h"

/* State during change_prepare(). */
struct plan {
	struct gateway *gw;
	struct auth *auth;
	struct change *c;
	const char *file;
	FILE *errors;
	/* indexed by route of the file: the current slot of its name, or GATEWAY_NONE */
	unsigned *was;
	unsigned *now;	  /* indexed by route of the file: the slot that it keeps or gets */
	bool *is_kept;	  /* indexed by slot */
	bool *is_claimed; /* indexed by part of memory: a route has it */
	int err;
};

static void plan_error(struct plan *p, int err, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void plan_error(struct plan *p, int err, unsigned line, const char *fmt, ...)
{
	va_list ap;

	fprintf(p->errors, "%s:%u: ", p->file, line ? line : 1);
	va_start(ap, fmt);
	vfprintf(p->errors, fmt, ap);
	va_end(ap);
	fputc('\n', p->errors);
	if (!p->err)
		p->err = err;
}

static void no_memory(struct plan *p)
{
	fprintf(p->errors, "%s: out of memory\n", p->file);
	p->err = ERR_NOMEM;
}

/* Free the retired slots that no worker uses any more. */
static void sweep(struct gateway *gw, struct auth *auth)
{
	for (unsigned i = 0; i < gw->nslots; i++) {
		if (gw->listens[i].state != GATEWAY_RETIRED ||
		    atomic_load(&gw->listens[i].users) > 0)
			continue;
		auth_drop(auth, i);
		gateway_free_slot(gw, i);
	}
	gateway_name_slots(gw);
}

static bool is_current(const struct gateway *gw, unsigned slot)
{
	return gw->listens[slot].state == GATEWAY_CURRENT;
}

static unsigned current_named(const struct gateway *gw, const char *name)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		if (is_current(gw, i) && strcmp(gw->routes[i].name, name) == 0)
			return i;
	return GATEWAY_NONE;
}

/* Number of routes on the listener of @leader. */
static unsigned sharers(const struct gateway *gw, unsigned leader)
{
	unsigned n = 0;

	for (unsigned i = 0; i < gw->nslots; i++)
		n += is_current(gw, i) && gw->listens[i].leader == leader;
	return n;
}

/* Whether no route on the listener of route @first of the file has changed. */
static bool listener_is_same(const struct plan *p, unsigned first)
{
	const struct config *cfg = p->c->cfg;
	const struct gateway *gw = p->gw;
	unsigned n = 0;

	for (unsigned i = first; i < cfg->nroutes; i++) {
		unsigned was = p->was[i];

		if (cfg->routes[i].listener != first)
			continue;
		if (was == GATEWAY_NONE || gw->listens[was].leader != p->was[first] ||
		    !config_is_same_route(gw->listens[was].from, &cfg->routes[i]))
			return false;
		n++;
	}
	return n == sharers(gw, p->was[first]);
}

static void keep_what_is_same(struct plan *p)
{
	const struct config *cfg = p->c->cfg;

	for (unsigned i = 0; i < cfg->nroutes; i++)
		p->was[i] = current_named(p->gw, cfg->routes[i].name);
	for (unsigned i = 0; i < cfg->nroutes; i++) {
		unsigned first = cfg->routes[i].listener;
		bool same = first == i ? listener_is_same(p, i)
				       : p->was[first] != GATEWAY_NONE && p->is_kept[p->was[first]];

		p->now[i] = same ? p->was[i] : GATEWAY_NONE;
		if (!same)
			continue;
		p->is_kept[p->was[i]] = true;
		p->c->nkept++;
	}
}

/* Find a fabric instance of this process: the one that @end needs, or one that differs only by a
 * longer time-out before a peer's first message. The leg itself enforces the shorter time-out. */
static unsigned find_fabric(const struct gateway *gw, const struct config_end *end)
{
	struct provider_config want = gateway_fabric(gw, end);
	unsigned best = GATEWAY_NONE;

	for (unsigned i = 0; i < gw->nfabrics; i++) {
		const struct provider_config *has = &gw->fabrics[i];

		if (has->kind != want.kind || has->setup_timeout_ms < want.setup_timeout_ms ||
		    (want.kind == PROVIDER_IWARP && has->crc != want.crc))
			continue;
		if (best == GATEWAY_NONE ||
		    has->setup_timeout_ms < gw->fabrics[best].setup_timeout_ms)
			best = i;
	}
	return best;
}

/* Whether the devices through which @host is reached were opened for @was. For a name all devices
 * were opened. */
static bool is_host_of(const char *host, const struct config_end *was)
{
	for (uint32_t i = 0; i < config_hosts(was); i++)
		if (!config_is_literal(config_host(was, i)) ||
		    strcmp(host, config_host(was, i)) == 0)
			return true;
	return false;
}

/* RDMA devices are opened at start, for the addresses in the file of that time. */
static bool is_new_to_devices(const struct config_end *end, const struct config_end *was)
{
	if (strcmp(end->fabric, "verbs") != 0)
		return false;
	if (!was || strcmp(was->fabric, end->fabric) != 0 || was->port != end->port)
		return true;
	for (uint32_t i = 0; i < config_hosts(end); i++)
		if (!is_host_of(config_host(end, i), was))
			return true;
	return false;
}

/* Whether an instance differs from the one that @end needs only by its time-out. */
static bool has_fabric_but_timeout(const struct gateway *gw, const struct config_end *end)
{
	struct config_end other = *end;

	other.timeout_s = 0;
	return find_fabric(gw, &other) != GATEWAY_NONE;
}

static unsigned settle_end(struct plan *p, const struct config_end *end,
			   const struct config_end *was, const char *side)
{
	unsigned fabric = find_fabric(p->gw, end);

	if (is_new_to_devices(end, was))
		plan_error(p, ERR_CONFIG, end->line,
			   "%s is a new address of fabric \"verbs\", whose devices are opened at "
			   "start: restart to have it",
			   side);
	else if (fabric == GATEWAY_NONE && has_fabric_but_timeout(p->gw, end))
		plan_error(
			p, ERR_CONFIG, end->line,
			"%s has a longer %s_timeout than any route had at start: restart to have "
			"it",
			side, strcmp(side, "listen") == 0 ? "setup" : "connect");
	else if (fabric == GATEWAY_NONE)
		plan_error(p, ERR_CONFIG, end->line,
			   "%s has a crc that no route had at start: restart to have it", side);
	if (end->inline_bytes > p->gw->inline_most)
		plan_error(p, ERR_CONFIG, end->line,
			   "%s has an inline of more than the %u that Receives have had since "
			   "start: restart to have it",
			   side, p->gw->inline_most);
	return fabric;
}

static unsigned free_slot(const struct gateway *gw)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		if (gw->listens[i].state == GATEWAY_FREE)
			return i;
	return GATEWAY_NONE;
}

static unsigned free_sock(const struct gateway *gw)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		if (!gw->socks[i].listener)
			return i;
	return GATEWAY_NONE; /* not reached: there are as many entries as slots */
}

/* A range of memory that belongs to no route; GATEWAY_NONE: none. */
static unsigned free_part(struct plan *p)
{
	const struct gateway *gw = p->gw;

	memset(p->is_claimed, 0, gw->nslots * sizeof(p->is_claimed[0]));
	for (unsigned i = 0; i < gw->nslots; i++)
		if (gw->listens[i].state != GATEWAY_FREE && gw->listens[i].part < gw->nparts)
			p->is_claimed[gw->listens[i].part] = true;
	for (unsigned i = 0; i < gw->nparts; i++)
		if (!p->is_claimed[i])
			return i;
	return GATEWAY_NONE;
}

/* The current route that listens at the address of @end and is not kept, or GATEWAY_NONE. */
static unsigned listens_there(const struct plan *p, const struct config_end *end)
{
	const struct gateway *gw = p->gw;

	for (unsigned i = 0; i < gw->nslots; i++)
		if (is_current(gw, i) && !p->is_kept[i] && gw->listens[i].leader == i &&
		    config_is_one_place(end, &gw->listens[i].from->listen))
			return i;
	return GATEWAY_NONE;
}

static void bind_sock(struct plan *p, unsigned slot)
{
	struct gateway_listen *listen = &p->gw->listens[slot];
	struct gateway_sock *sock = &p->gw->socks[listen->sock];
	enum provider_kind kind = p->gw->fabrics[listen->fabric].kind;
	char at[FABRIC_ADDR_TEXT];
	int err = 0;

	sock->fabric = listen->fabric;
	sock->listener = gateway_bind(p->gw, listen->fabric, &listen->addr, &err);
	if (sock->listener) {
		provider_listener_addr(kind, sock->listener, &listen->addr);
		return;
	}
	err = errno;
	plan_error(p, ERR_IO, listen->from->listen.line, "%s: %s%s",
		   fabric_addr_format(&listen->addr, at), strerror(err), gateway_remedy(err));
}

/* Set the listening socket (.sock) of the route in @slot, if the route listens. */
static void give_sock(struct plan *p, struct change_new *new)
{
	struct gateway *gw = p->gw;
	struct gateway_listen *listen = &gw->listens[new->slot];
	unsigned old = listens_there(p, &listen->from->listen);
	const struct gateway_sock *was =
		&gw->socks[old == GATEWAY_NONE ? 0 : gw->listens[old].sock];

	if (old != GATEWAY_NONE)
		listen->addr = gw->listens[old].addr;
	if (old != GATEWAY_NONE && was->fabric == listen->fabric) {
		listen->sock = gw->listens[old].sock;
		return;
	}
	new->opens = true;
	listen->sock = free_sock(gw);
	if (old != GATEWAY_NONE)
		gw->socks[listen->sock] = (struct gateway_sock){
			.listener = was->listener, .fabric = listen->fabric, .is_borrowed = true};
	else
		bind_sock(p, new->slot);
}

/* A route keeps its domains: on devices without Memory Windows of type 2 they separate the
 * routes. */
static void keep_domains(struct gateway *gw, unsigned slot, unsigned was)
{
	gw->routes[slot].client.domain = 2 * gw->listens[slot].sock;
	gw->routes[slot].client_unneeded.domain = gw->routes[slot].client.domain;
	if (was != GATEWAY_NONE)
		gw->routes[slot].server.domain = gw->routes[was].server.domain;
}

static void add_credentials(struct plan *p, unsigned slot)
{
	struct gateway *gw = p->gw;
	int err = auth_add(p->auth, slot, gw->listens[slot].from, gw->listens[slot].leader != slot,
			   p->errors);

	if (err && !p->err)
		p->err = err;
	if (!err && gateway_prove(gw, slot, p->auth) && gateway_start_jobs(gw))
		no_memory(p);
}

/* Add route @i of the file, which is new or changed. */
static void add_route(struct plan *p, unsigned i)
{
	struct gateway *gw = p->gw;
	const struct config_route *from = &p->c->cfg->routes[i];
	unsigned was = p->was[i], slot = free_slot(gw);
	const struct config_route *old = was == GATEWAY_NONE ? NULL : gw->listens[was].from;
	unsigned fabric = settle_end(p, &from->listen, old ? &old->listen : NULL, "listen");
	unsigned upstream = settle_end(p, &from->upstream, old ? &old->upstream : NULL, "upstream");
	struct change_new *new = &p->c->new[p->c->nnew];
	int err;

	if (slot == GATEWAY_NONE)
		plan_error(p, ERR_CONFIG, from->listen.line,
			   "no more than %d routes beside those at start, old settings that "
			   "sessions still have included: drain those sessions, or restart",
			   CONFIG_ROUTES_SPARE);
	if (p->err)
		return;
	*new = (struct change_new){.slot = slot, .leads = from->listener == i};
	p->c->nnew++;
	p->now[i] = slot;
	gw->listens[slot].part = old ? gw->listens[was].part : free_part(p);
	err = gateway_map(gw, slot, from, new->leads ? slot : p->now[from->listener], p->file);
	gw->listens[slot].fabric = fabric;
	gw->routes[slot].upstream_fabric = upstream;
	if (err == ERR_NOMEM)
		no_memory(p);
	else if (err)
		plan_error(p, err, from->listen.line,
			   "route \"%s\" names an interface that is not there: name one that ip "
			   "link lists",
			   from->name);
	if (p->err)
		return;
	if (new->leads)
		give_sock(p, new);
	else
		gw->listens[slot].sock = gw->listens[p->now[from->listener]].sock;
	keep_domains(gw, slot, was);
	add_credentials(p, slot);
}

static bool is_in_file(const struct config *cfg, const char *name)
{
	for (unsigned i = 0; i < cfg->nroutes; i++)
		if (strcmp(cfg->routes[i].name, name) == 0)
			return true;
	return false;
}

/* Whether a new route takes over the listening socket of the route in @slot. */
static bool is_inherited(const struct plan *p, unsigned slot)
{
	const struct gateway *gw = p->gw;

	for (unsigned i = 0; i < p->c->nnew; i++)
		if (p->c->new[i].leads && !p->c->new[i].opens &&
		    gw->listens[p->c->new[i].slot].sock == gw->listens[slot].sock)
			return true;
	return false;
}

static void list_old(struct plan *p)
{
	struct gateway *gw = p->gw;
	struct change *c = p->c;

	for (unsigned i = 0; i < gw->nslots; i++) {
		if (!is_current(gw, i) || p->is_kept[i])
			continue;
		c->old[c->nold++] = (struct change_old){
			.slot = i,
			.closes = gw->listens[i].leader == i && !is_inherited(p, i),
			.is_gone = !is_in_file(c->cfg, gw->routes[i].name)};
		c->nremoved += c->old[c->nold - 1].is_gone;
	}
}

static void count_sides(struct plan *p)
{
	for (unsigned i = 0; i < p->c->cfg->nroutes; i++) {
		const struct proxy_route *route = &p->gw->routes[p->now[i]];

		p->c->sides += (route->client.auth ? 1u : 0u) + (route->server.auth ? 1u : 0u);
	}
}

static void check_memory(struct plan *p)
{
	uint64_t need = config_worker_bytes(p->c->cfg);

	if (need > p->gw->worker_bytes)
		plan_error(p, ERR_CONFIG, 1,
			   "these routes take %llu MiB in each of %u workers, which have %llu MiB: "
			   "raise memory_limit and restart",
			   (unsigned long long)(need >> 20), p->gw->nworkers,
			   (unsigned long long)(p->gw->worker_bytes >> 20));
}

/* Whether @file leads to the value of @key that is in effect. The gateway chooses the value of a key
 * that a file lacks, so files that differ in a key may lead to the same value. */
static bool is_in_effect(const struct gateway *gw, const struct config *file, const char *key)
{
	uint32_t workers = config_workers(file, capacity_cpus());

	if (strcmp(key, "workers") == 0)
		return workers == gw->nworkers;
	if (strcmp(key, "max_sessions") == 0)
		return config_max_sessions(file, workers) == gw->max_sessions;
	return strcmp(key, "max_setups") == 0 && config_max_setups(file, workers) == gw->max_setups;
}

static void name_key(void *arg, const char *key)
{
	const struct plan *p = arg;
	struct change *c = p->c;
	size_t len = strlen(c->restart);

	if (!is_in_effect(p->gw, c->cfg, key))
		snprintf(c->restart + len, sizeof(c->restart) - len, "%s%s", len ? ", " : "", key);
}

static void close_sock(struct gateway *gw, unsigned sock)
{
	struct gateway_sock *d = &gw->socks[sock];

	if (d->listener && !d->is_borrowed)
		gateway_unbind(gw, d->fabric, d->listener);
	*d = (struct gateway_sock){.listener = NULL};
}

/* Free the new slots; no worker knows them. */
static void drop_new(struct plan *p)
{
	for (unsigned i = 0; i < p->c->nnew; i++) {
		const struct change_new *new = &p->c->new[i];

		if (new->opens)
			close_sock(p->gw, p->gw->listens[new->slot].sock);
		auth_drop(p->auth, new->slot);
		gateway_free_slot(p->gw, new->slot);
	}
}

static void plan(struct plan *p)
{
	const struct config *cfg = p->c->cfg;

	keep_what_is_same(p);
	check_memory(p);
	for (unsigned i = 0; i < cfg->nroutes; i++)
		if (p->now[i] == GATEWAY_NONE)
			add_route(p, i);
	if (p->err)
		return;
	for (unsigned i = 0; i < cfg->nroutes; i++)
		p->c->nadded += p->was[i] == GATEWAY_NONE;
	p->c->nchanged = cfg->nroutes - p->c->nadded - p->c->nkept;
	list_old(p);
	count_sides(p);
}

static int make_plan(struct plan *p)
{
	unsigned nroutes = p->c->cfg->nroutes, nslots = p->gw->nslots;

	p->was = mem_zalloc(nroutes * sizeof(p->was[0]));
	p->now = mem_zalloc(nroutes * sizeof(p->now[0]));
	p->is_kept = mem_zalloc(nslots * sizeof(p->is_kept[0]));
	p->is_claimed = mem_zalloc(nslots * sizeof(p->is_claimed[0]));
	p->c->new = mem_zalloc(nroutes * sizeof(p->c->new[0]));
	p->c->old = mem_zalloc(nslots * sizeof(p->c->old[0]));
	return p->was && p->now && p->is_kept && p->is_claimed && p->c->new && p->c->old
		       ? 0
		       : ERR_NOMEM;
}

static void free_plan(struct plan *p)
{
	mem_free(p->was);
	mem_free(p->now);
	mem_free(p->is_kept);
	mem_free(p->is_claimed);
}

int change_prepare(struct gateway *gw, struct auth *auth, struct config *cfg,
		   const struct config *running, const char *file, FILE *errors,
		   struct change **out)
{
	struct change *c = mem_zalloc(sizeof(*c));
	struct plan p = {.gw = gw, .auth = auth, .c = c, .file = file, .errors = errors};

	*out = NULL;
	if (!c) {
		config_free(cfg);
		no_memory(&p);
		return ERR_NOMEM;
	}
	c->cfg = cfg;
	config_keep(cfg, running, name_key, &p);
	sweep(gw, auth);
	if (make_plan(&p) == 0) {
		plan(&p);
		if (p.err)
			drop_new(&p);
	} else {
		no_memory(&p);
	}
	free_plan(&p);
	if (p.err) {
		change_free(c);
		return p.err;
	}
	*out = c;
	return 0;
}

/* One of the entries that borrow the socket of @sock becomes its owner. */
static void hand_on(struct gateway *gw, unsigned sock)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		if (gw->socks[i].is_borrowed && gw->socks[i].listener == gw->socks[sock].listener) {
			gw->socks[i].is_borrowed = false;
			gw->socks[sock].is_borrowed = true;
			return;
		}
}

void change_done(struct gateway *gw, struct auth *auth, struct change *c)
{
	for (unsigned i = 0; i < c->nold; i++) {
		unsigned slot = c->old[i].slot;

		gw->listens[slot].state = GATEWAY_RETIRED;
		auth_retire(auth, slot);
		if (c->old[i].is_gone)
			log_info("listen", "route=%s address=none", gw->routes[slot].name);
		if (!c->old[i].closes)
			continue;
		hand_on(gw, gw->listens[slot].sock);
		close_sock(gw, gw->listens[slot].sock);
	}
	for (unsigned i = 0; i < c->nnew; i++) {
		unsigned slot = c->new[i].slot;

		gw->listens[slot].state = GATEWAY_CURRENT;
		if (gateway_configure_servers(gw, slot))
			log_error("upstream.failed",
				  "route=%s why=\"no memory for its servers, or an interface is "
				  "gone: they stay as before, reload again\"",
				  gw->routes[slot].name);
		gateway_log_route(gw, slot);
	}
	gw->cfg = c->cfg;
	gw->nroutes = c->cfg->nroutes;
	atomic_store(&gw->drain_s, c->cfg->drain_timeout_s);
	gateway_name_slots(gw);
	c->cfg = NULL;
}

void change_undo(struct gateway *gw, struct auth *auth, struct change *c)
{
	for (unsigned i = 0; i < c->nnew; i++) {
		unsigned slot = c->new[i].slot;

		if (c->new[i].opens)
			close_sock(gw, gw->listens[slot].sock);
		gw->listens[slot].state = GATEWAY_RETIRED;
		auth_retire(auth, slot);
	}
	gateway_name_slots(gw);
}

void change_free(struct change *c)
{
	if (!c)
		return;
	config_free(c->cfg);
	mem_free(c->new);
	mem_free(c->old);
	mem_free(c);
}
