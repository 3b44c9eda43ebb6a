/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/budget_queues.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/descriptors.h"

static unsigned listen_versions(const struct config_end *listen)
{
	/* Version 1 has no host authentication (draft-07 5.2.6 has no counterpart in RFC 8166). */
	bool all_prove =
		listen->hostauth.mode == CONFIG_HOSTAUTH_REQUIRE && !listen->hostauth.unneeded.n;

	return all_prove ? CONFIG_V2 : listen->versions;
}

/*
 * The level is announced before the client is known. So it is one level for all clients of the
 * route: the forms of reverse calls that all of them accept. Version 1 and the early draft of
 * version 2 accept inline calls only.
 */
static enum rpc_reverse reverse_level(const struct config_route *route)
{
	_Static_assert((int)CONFIG_REVERSE_NONE - 1 == (int)RPC_REV_NONE &&
			       (int)CONFIG_REVERSE_GENL - 1 == (int)RPC_REV_GENL,
		       "one order");
	if (route->upstream.reverse != CONFIG_REVERSE_AUTO)
		return (enum rpc_reverse)(route->upstream.reverse - 1);
	return listen_versions(&route->listen) == CONFIG_V2 ? RPC_REV_GENL : RPC_REV_SIMPLE;
}

static enum hop map_hop(enum config_hop hop)
{
	static const enum hop hops[] = {
		[CONFIG_HOP_AUTO] = HOP_AUTO,
		[CONFIG_HOP_NEAR] = HOP_NEAR,
		[CONFIG_HOP_FAR] = HOP_FAR,
	};

	return hops[hop];
}

static void map_leg(const struct config *cfg, const struct config_end *end, struct leg_config *leg)
{
	_Static_assert((int)CONFIG_V1 == (int)LEG_V1 && (int)CONFIG_V2 == (int)LEG_V2 &&
			       (int)CONFIG_V2_EARLY == (int)LEG_V2_EARLY,
		       "one mask");
	*leg = (struct leg_config){
		.versions = end->versions,
		.inline_bytes = end->inline_bytes,
		.bulk_bytes = end->bulk_bytes,
		.peer_bulk_bytes = end->bulk_bytes,
		.credits = end->credits,
		.rev_credits = end->reverse_credits,
		.literal_credits = end->literal_credits,
		.max_message = cfg->max_payload,
		.segment_bytes = cfg->max_payload,
		.segment_count = RPC_MAX_SEGMENTS,
		/* the property has no meaning when a server sends it (draft-07 5.2.5) */
		.reverse = RPC_REV_GENL,
		.reply_timeout = end->reply_timeout_s * NSEC_PER_SEC,
		.tuning = {.retry_count = (uint8_t)end->retry_count,
			   .rnr_retry_count = (uint8_t)end->rnr_retry_count,
			   .resolve_ms = end->resolve_timeout_s * 1000,
			   .busy_poll_us = end->busy_poll_us},
		.setup_timeout = end->timeout_s * NSEC_PER_SEC,
	};
}

/* All routes share one verbs instance, because each instance would pin the memory again. Legs
 * enforce shorter time-outs themselves. */
static bool share_fabric(struct provider_config *has, const struct provider_config *want)
{
	if (has->kind != want->kind)
		return false;
	if (has->kind == PROVIDER_VERBS) {
		if (has->setup_timeout_ms < want->setup_timeout_ms)
			has->setup_timeout_ms = want->setup_timeout_ms;
		return true;
	}
	return has->crc == want->crc && has->setup_timeout_ms == want->setup_timeout_ms;
}

struct provider_config gateway_fabric(const struct gateway *gw, const struct config_end *end)
{
	struct provider_config want = {.crc = end->crc,
				       .setup_timeout_ms = end->timeout_s * 1000,
				       .peer_timeout_ms = gw->cfg->peer_timeout_s * 1000,
				       .max_setups = gateway_worker_setups(gw),
				       .receives = (enum provider_receives)gw->cfg->receives,
				       .needs_windows = gw->cfg->handles == CONFIG_HANDLES_REFUSE};

	_Static_assert((int)CONFIG_RECEIVES_AUTO == (int)PROVIDER_RECEIVES_AUTO &&
			       (int)CONFIG_RECEIVES_SHARED == (int)PROVIDER_RECEIVES_SHARED &&
			       (int)CONFIG_RECEIVES_OWN == (int)PROVIDER_RECEIVES_OWN,
		       "one meaning");
	if (provider_parse(end->fabric, &want.kind))
		want.kind = PROVIDER_IWARP; /* config/ accepts no other word */
	return want;
}

/* Ends with the same needs share one instance. */
static unsigned intern_fabric(struct gateway *gw, const struct config_end *end)
{
	struct provider_config want = gateway_fabric(gw, end);
	unsigned i;

	for (i = 0; i < gw->nfabrics; i++)
		if (share_fabric(&gw->fabrics[i], &want))
			return i;
	gw->fabrics[gw->nfabrics++] = want;
	return i;
}

/* After start no instance is added: the caller finds an existing one (change.c). */
static unsigned choose_fabric(struct gateway *gw, const struct config_end *end)
{
	return gw->is_settled ? 0 : intern_fabric(gw, end);
}

static int map_listen(const struct config_route *route, const char *file, struct fabric_addr *addr)
{
	const struct config_end *end = &route->listen;
	int err = fabric_addr_parse(end->address, end->port, addr);

	if (err == ERR_IO)
		log_error("address.failed",
			  "config=\"%s:%u\" route=%s address=%s why=\"there is no such interface: "
			  "name one that ip link lists, or make it before the gateway starts\"",
			  file, end->line, route->name, end->address);
	return err;
}

static bool is_listening(const struct gateway *gw, unsigned i)
{
	return gw->listens[i].leader == i;
}

/* Names of the clients that use the route, if several routes share a listener. */
static void map_names(struct gateway *gw, unsigned i)
{
	const struct config_route *from = gw->listens[i].from;

	for (unsigned n = 0; n < from->names.n; n++)
		gw->listens[i].names[n] = config_name(&from->names, n);
	gw->routes[i].names = gw->listens[i].names;
	gw->routes[i].nnames = from->names.n;
	gw->routes[i].shares = is_listening(gw, i) ? NULL : &gw->routes[gw->listens[i].leader];
}

static struct fabric_net map_net(const struct config_net *from)
{
	struct fabric_net to = {.is_v6 = from->is_v6, .bits = from->bits};

	memcpy(to.octets, from->octets, sizeof(to.octets));
	return to;
}

static void map_nets(const struct config_nets *from, struct fabric_net *to)
{
	for (unsigned n = 0; n < from->n; n++)
		to[n] = map_net(&from->nets[n]);
}

/* The local address, for each client, from which servers are connected. */
static void map_sources(struct gateway *gw, unsigned i)
{
	const struct config_sources *from = &gw->listens[i].from->upstream.sources;
	struct proxy_source *to = gw->listens[i].sources;

	for (unsigned n = 0; n < from->n; n++)
		to[n] = (struct proxy_source){.clients = map_net(&from->at[n].clients),
					      .addresses = map_net(&from->at[n].addresses),
					      .name = config_source_name(from, &from->at[n]),
					      .everywhere = from->at[n].everywhere};
	gw->routes[i].sources = to;
	gw->routes[i].nsources = from->n;
}

/* Clients that may connect, and clients that need not authenticate. */
static void map_clients(struct gateway *gw, unsigned i)
{
	const struct config_end *from = &gw->listens[i].from->listen;
	struct gateway_listen *listen = &gw->listens[i];
	struct proxy_route *to = &gw->routes[i];

	map_nets(&from->clients, listen->clients);
	to->clients = listen->clients;
	to->nclients = from->clients.n;
	map_nets(&from->hostauth.unneeded, listen->unneeded);
	to->unneeded = listen->unneeded;
	to->nunneeded = from->hostauth.unneeded.n;
}

/* Peers that must authenticate speak version 2 or are refused: hostauth-profile sections 7.2 and
 * 7.3. */
static void map_hostauth(struct gateway *gw, unsigned i)
{
	const struct config_route *from = gw->listens[i].from;
	struct proxy_route *to = &gw->routes[i];

	to->client_unneeded = to->client;
	if (from->listen.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE)
		to->client.versions &= LEG_V2;
	if (from->upstream.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE)
		to->server.versions &= LEG_V2;
}

/* A signature takes less than a millisecond. So few threads are enough, which leaves CPUs to the
 * workers. */
static unsigned job_threads(const struct gateway *gw)
{
	return gw->nworkers < 4 ? 1 : gw->nworkers / 4 + 1;
}

bool gateway_prove(struct gateway *gw, unsigned slot, const struct auth *auth)
{
	const struct config_route *from = gw->listens[slot].from;
	struct proxy_route *to = &gw->routes[slot];

	to->client_unneeded.auth = auth_leg(auth, slot, AUTH_LISTEN, false);
	to->client.auth = auth_leg(auth, slot, AUTH_LISTEN,
				   from->listen.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE);
	to->server.auth = auth_leg(auth, slot, AUTH_UPSTREAM,
				   from->upstream.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE);
	return to->client.auth || to->server.auth;
}

static int make_jobs(struct gateway *gw)
{
	if (!gw->jobs)
		gw->jobs = jobs_new(job_threads(gw));
	return gw->jobs ? 0 : ERR_NOMEM;
}

int gateway_start_jobs(struct gateway *gw)
{
	int err = make_jobs(gw);

	return err ? err : jobs_start(gw->jobs);
}

int gateway_authenticate(struct gateway *gw, const struct auth *auth)
{
	bool any = false;

	for (unsigned i = 0; i < gw->nroutes; i++)
		any |= gateway_prove(gw, i, auth);
	return any ? make_jobs(gw) : 0;
}

static void map_sizes(struct gateway *gw, unsigned slot)
{
	const struct config_route *from = gw->listens[slot].from;
	struct proxy_route *to = &gw->routes[slot];

	_Static_assert((int)CONFIG_NAME_BYTES <= (int)PROXY_NAME_MAX, "names fit");
	memcpy(to->name, from->name, sizeof(from->name));
	map_leg(gw->cfg, &from->listen, &to->client);
	map_leg(gw->cfg, &from->upstream, &to->server);
	to->client_hop = map_hop(from->listen.hop);
	to->server_hop = map_hop(from->upstream.hop);
	/* Memory is exposed to the side that answers the calls. */
	to->client.exposures = budget_exposures(from->listen.reverse_credits);
	to->server.exposures = budget_exposures(from->upstream.credits);
	/* All clients of a listener are one domain. All servers of a route are another. */
	to->client.domain = 2 * gw->listens[slot].sock;
	to->server.domain = 2 * slot + 1;
	to->server.reverse = reverse_level(from);
	to->max_handshakes =
		(from->listen.hostauth.max_handshakes + gw->nworkers - 1) / gw->nworkers;
	to->version_memory = from->upstream.version_memory_s * NSEC_PER_SEC;
	to->users = &gw->listens[slot].users;
	to->locks_logged = &gw->listens[slot].locks_logged;
}

/* Families in which servers may be connected: those of the local addresses in upstream.source. */
static void choose_families(const struct config_sources *sources, struct servers_config *to)
{
	to->v4 = to->v6 = sources->n == 0;
	for (uint32_t i = 0; i < sources->n; i++) {
		to->v4 |= !sources->at[i].addresses.is_v6;
		to->v6 |= sources->at[i].addresses.is_v6;
	}
}

/* Whether @host is an address that stays what it is. Any other is looked up as often as the name of
 * a server: an interface has another number when it was made again. */
static bool is_fixed(const char *host)
{
	return config_is_literal(host) && !strchr(host, '%');
}

/* Return: 0 or ERR_CONFIG. */
static int find_servers(const struct config_route *from, struct servers_config *to)
{
	const struct config_end *up = &from->upstream;
	int err = 0;

	memset(to, 0, sizeof(*to));
	to->nhosts = config_hosts(up);
	to->port = up->port;
	to->by_client = up->balance == CONFIG_BALANCE_CLIENT;
	to->probes = up->probe_interval_s > 0;
	to->timeout = up->timeout_s * NSEC_PER_SEC;
	choose_families(&up->sources, to);
	for (unsigned i = 0; i < to->nhosts && !err; i++) {
		struct servers_host *host = &to->hosts[i];

		snprintf(host->name, sizeof(host->name), "%s", config_host(up, i));
		if (is_fixed(host->name))
			err = fabric_addr_parse(host->name, up->port, &host->addr);
	}
	return err;
}

/* A changed route keeps its struct servers with all that is known. The new settings of servers take
 * effect when the change is done. */
static struct servers *inherited(const struct gateway *gw, unsigned slot)
{
	unsigned was = gateway_named(gw, gw->listens[slot].from->name);

	return was == GATEWAY_NONE || was == slot ? NULL : gw->listens[was].servers;
}

static int map_servers(struct gateway *gw, unsigned slot)
{
	struct gateway_listen *listen = &gw->listens[slot];
	struct servers_config cfg;
	struct servers *was = inherited(gw, slot);
	int err = find_servers(listen->from, &cfg);

	if (err)
		return err;
	listen->servers = was ? servers_hold(was) : servers_new(&cfg, gw->changes);
	gw->routes[slot].servers = listen->servers;
	gw->routes[slot].several = cfg.nhosts > 1 || !config_is_literal(cfg.hosts[0].name);
	gw->routes[slot].probe_interval = listen->from->upstream.probe_interval_s * NSEC_PER_SEC;
	gw->routes[slot].move_timeout_s = &gw->drain_s;
	return listen->servers ? 0 : ERR_NOMEM;
}

int gateway_configure_servers(struct gateway *gw, unsigned slot)
{
	struct servers_config cfg;
	int err = find_servers(gw->listens[slot].from, &cfg);

	return err ? err : servers_configure(gw->listens[slot].servers, &cfg);
}

const char *gateway_upstream_text(const struct gateway *gw, unsigned slot, char *text)
{
	const struct config_end *up = &gw->listens[slot].from->upstream;
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < config_hosts(up) && len < GATEWAY_UPSTREAM_TEXT; i++) {
		const char *host = config_host(up, i), *open = strchr(host, ':') ? "[" : "";

		len += (size_t)snprintf(text + len, GATEWAY_UPSTREAM_TEXT - len, "%s%s%s%s:%u",
					i ? "," : "", open, host, *open ? "]" : "", up->port);
	}
	return text;
}

/* A random number by which this and other gateways recognise the listener. Two listeners have the
 * same with a probability of 1 in 2^32. */
static int number_listener(struct proxy_route *route)
{
	while (!route->id)
		if (getrandom(&route->id, sizeof(route->id), 0) != (ssize_t)sizeof(route->id))
			return ERR_IO;
	return 0;
}

int gateway_map(struct gateway *gw, unsigned slot, const struct config_route *from, unsigned leader,
		const char *file)
{
	struct gateway_listen *listen = &gw->listens[slot];
	struct proxy_route *to = &gw->routes[slot];
	int err;

	listen->from = mem_zalloc(sizeof(*from));
	if (!listen->from)
		return ERR_NOMEM;
	*listen->from = *from;
	listen->leader = leader;
	listen->state = GATEWAY_NEW;
	map_sizes(gw, slot);
	map_hostauth(gw, slot);
	map_clients(gw, slot);
	map_sources(gw, slot);
	map_names(gw, slot);
	to->upstream_fabric = choose_fabric(gw, &from->upstream);
	listen->fabric = choose_fabric(gw, &from->listen);
	err = number_listener(to);
	if (err)
		return err;
	err = map_listen(from, file, &listen->addr);
	return err ? err : map_servers(gw, slot);
}

void gateway_free_slot(struct gateway *gw, unsigned slot)
{
	mem_free(gw->listens[slot].from);
	servers_put(gw->listens[slot].servers);
	memset(&gw->listens[slot], 0, sizeof(gw->listens[slot]));
	gw->listens[slot].reported_as = GATEWAY_NONE;
	memset(&gw->routes[slot], 0, sizeof(gw->routes[slot]));
}

/* The current slot of that route name, or the first of its retired slots. */
static unsigned reported_as(const struct gateway *gw, unsigned slot)
{
	unsigned first = GATEWAY_NONE;

	for (unsigned i = 0; i < gw->nslots; i++) {
		if (gw->listens[i].state < GATEWAY_CURRENT ||
		    strcmp(gw->routes[i].name, gw->routes[slot].name) != 0)
			continue;
		if (gw->listens[i].state == GATEWAY_CURRENT)
			return i;
		if (first == GATEWAY_NONE)
			first = i;
	}
	return first;
}

void gateway_name_slots(struct gateway *gw)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		gw->listens[i].reported_as =
			gw->listens[i].state >= GATEWAY_CURRENT ? reported_as(gw, i) : GATEWAY_NONE;
}

bool gateway_has(const struct gateway *gw, unsigned slot)
{
	bool has = gw->listens[slot].state == GATEWAY_CURRENT;

	for (unsigned i = 0; !has && i < gw->nslots; i++)
		has = gw->listens[i].reported_as == slot && atomic_load(&gw->listens[i].users) > 0;
	return has;
}

unsigned gateway_named(const struct gateway *gw, const char *name)
{
	for (unsigned i = 0; i < gw->nslots; i++)
		if (gateway_has(gw, i) && strcmp(gw->routes[i].name, name) == 0)
			return i;
	return GATEWAY_NONE;
}

/* A name may resolve to an address on any device. Return: number of entries. */
static unsigned list_upstream_uses(const struct gateway *gw, unsigned i, struct fabric_use *uses)
{
	const struct config_end *up = &gw->listens[i].from->upstream;

	for (uint32_t k = 0; k < config_hosts(up); k++) {
		const char *host = config_host(up, k);
		bool known = config_is_literal(host) &&
			     fabric_addr_parse(host, up->port, &uses[k].addr) == 0;

		if (!known)
			(void)fabric_addr_parse("0.0.0.0", 0, &uses[k].addr);
		uses[k].listens = !known;
		uses[k].domain = gw->routes[i].server.domain;
	}
	return config_hosts(up);
}

/* Collect the addresses through which routes use devices. */
static void list_uses(struct gateway *gw)
{
	unsigned n = 0;

	for (unsigned i = 0; i < gw->nroutes; i++) {
		const struct proxy_route *route = &gw->routes[i];

		if (is_listening(gw, i) &&
		    gw->fabrics[gw->listens[i].fabric].kind == PROVIDER_VERBS)
			gw->uses[n++] = (struct fabric_use){.addr = gw->listens[i].addr,
							    .listens = true,
							    .domain = route->client.domain};
		if (gw->fabrics[route->upstream_fabric].kind == PROVIDER_VERBS)
			n += list_upstream_uses(gw, i, &gw->uses[n]);
	}
	gw->nuses = n;
	for (unsigned i = 0; i < gw->nfabrics; i++) {
		gw->fabrics[i].uses = gw->uses;
		gw->fabrics[i].nuses = gw->fabrics[i].kind == PROVIDER_VERBS ? n : 0;
	}
}

static struct session_limits *make_session_limits(const struct gateway *gw)
{
	struct session_limits_config session_limits = {
		.max_sessions = gw->max_sessions,
		.max_per_client = gw->cfg->max_sessions_per_client,
		.workers = gw->nworkers,
		.setups_per_second = gw->cfg->max_setups_per_second};

	if (getrandom(&session_limits.seed, sizeof(session_limits.seed), 0) !=
	    (ssize_t)sizeof(session_limits.seed))
		return NULL;
	return session_limits_new(&session_limits);
}

unsigned gateway_worker_setups(const struct gateway *gw)
{
	return (gw->max_setups + gw->nworkers - 1) / gw->nworkers;
}

static size_t count_uses(const struct config *cfg)
{
	size_t n = cfg->nroutes;

	for (uint32_t i = 0; i < cfg->nroutes; i++)
		n += config_hosts(&cfg->routes[i].upstream);
	return n;
}

static int make_tables(struct gateway *gw)
{
	gw->routes = mem_zalloc(gw->nslots * sizeof(*gw->routes));
	gw->listens = mem_zalloc(gw->nslots * sizeof(*gw->listens));
	gw->socks = mem_zalloc(gw->nslots * sizeof(*gw->socks));
	gw->fabrics = mem_zalloc(2 * gw->nroutes * sizeof(*gw->fabrics));
	gw->changes = mem_zalloc(sizeof(*gw->changes));
	gw->uses = mem_zalloc(count_uses(gw->cfg) * sizeof(*gw->uses));
	return gw->routes && gw->listens && gw->socks && gw->fabrics && gw->uses && gw->changes
		       ? 0
		       : ERR_NOMEM;
}

/* At start, the slot, the listening socket and the memory part of a route have the route's index in
 * the file. */
static int map_all(struct gateway *gw, const char *file)
{
	int first = 0;

	for (unsigned i = 0; i < gw->nroutes; i++) {
		const struct config_route *from = &gw->cfg->routes[i];
		int err;

		gw->listens[i].sock = from->listener;
		gw->listens[i].part = i;
		err = gateway_map(gw, i, from, from->listener, file);
		gw->listens[i].state = GATEWAY_CURRENT;
		if (from->listen.inline_bytes > gw->inline_most)
			gw->inline_most = from->listen.inline_bytes;
		if (from->upstream.inline_bytes > gw->inline_most)
			gw->inline_most = from->upstream.inline_bytes;
		if (!first)
			first = err;
	}
	return first;
}

/* A reload may add routes on any instance. Sessions on fabric verbs take no descriptor. */
static bool bound_sessions(struct gateway *gw, uint32_t limit)
{
	struct descriptors_need need = {.workers = gw->nworkers, .listeners = gw->nslots};

	for (unsigned i = 0; i < gw->nfabrics; i++)
		need.instances += gw->fabrics[i].kind == PROVIDER_IWARP;
	for (unsigned i = 0; i < gw->nroutes; i++)
		need.hosts += config_hosts(&gw->cfg->routes[i].upstream);
	need.legs = need.instances ? 2 : 0;
	if (!descriptors_bound(limit, &need, &gw->max_sessions, &gw->max_setups))
		return false;
	for (unsigned i = 0; i < gw->nfabrics; i++) {
		gw->fabrics[i].max_setups = gateway_worker_setups(gw);
		gw->fabrics[i].descriptors = descriptors_for_workers(limit);
	}
	return true;
}

int gateway_init(struct gateway *gw, const struct config *cfg, const char *file, unsigned cpus,
		 uint32_t descriptors)
{
	int err;

	*gw = (struct gateway){.cfg = cfg, .nroutes = cfg->nroutes, .nparts = cfg->nroutes};
	gw->nslots = gw->nroutes + CONFIG_ROUTES_SPARE;
	gw->nworkers = config_workers(cfg, cpus);
	/* A multiple of the budget's step, because the relay would round up beyond the limit. */
	gw->worker_bytes = config_share_bytes(cfg, gw->nworkers);
	gw->max_sessions = config_max_sessions(cfg, gw->nworkers);
	gw->max_setups = config_max_setups(cfg, gw->nworkers);
	atomic_init(&gw->drain_s, cfg->drain_timeout_s);
	err = make_tables(gw);
	if (!err)
		err = map_all(gw, file);
	if (!err && !bound_sessions(gw, descriptors))
		err = ERR_LOCAL;
	if (!err)
		gw->session_limits = make_session_limits(gw);
	if (!err && !gw->session_limits)
		err = ERR_NOMEM;
	if (err) {
		gateway_fini(gw);
		return err;
	}
	gateway_name_slots(gw);
	list_uses(gw);
	gw->is_settled = true;
	return 0;
}

static const char *versions_text(unsigned versions)
{
	static const char *const text[] = {"-",	      "1",	   "2",		"1,2",
					   "2-early", "1,2-early", "2,2-early", "1,2,2-early"};

	return text[versions & CONFIG_VERSIONS];
}

static const char *hostauth_text(const struct config_end *end)
{
	static const char *const text[] = {[CONFIG_HOSTAUTH_OFF] = "off",
					   [CONFIG_HOSTAUTH_ALLOW] = "allow",
					   [CONFIG_HOSTAUTH_REQUIRE] = "require"};

	return text[end->hostauth.mode];
}

/* Advice for errors that do not explain themselves. */
const char *gateway_remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return ": another program, or this gateway at an overlapping address, "
		       "listens there: see ss -tlnp, rdma resource show cm_id, and "
		       "NEW CONFIGURATION in rpcrdma-gw(8)";
	case EADDRNOTAVAIL:
		return ": give an address of this machine, see ip address";
	case ENODEV:
		return ": no RDMA device has this address, see rdma link, or use fabric = iwarp";
	case EACCES:
		return ": ports below 1024 need CAP_NET_BIND_SERVICE";
	default:
		return "";
	}
}

/* A listener on a socket that was passed to this process, if one has the address. */
static struct fabric_listener *adopt(struct gateway *gw, enum provider_kind kind,
				     const struct fabric_addr *addr)
{
	struct fabric_listener *l;
	int fd = gw->inherit && kind == PROVIDER_IWARP ? inherit_take(gw->inherit, addr) : -1;

	if (fd < 0)
		return NULL;
	l = provider_adopt(kind, fd);
	if (!l)
		close(fd);
	return l;
}

struct fabric_listener *gateway_bind(struct gateway *gw, unsigned fabric,
				     const struct fabric_addr *addr, int *err)
{
	enum provider_kind kind = gw->fabrics[fabric].kind;
	struct fabric_listener *l = adopt(gw, kind, addr);

	*err = 0;
	return l ? l : provider_listen(kind, addr, err);
}

void gateway_unbind(struct gateway *gw, unsigned fabric, struct fabric_listener *l)
{
	enum provider_kind kind = gw->fabrics[fabric].kind;
	struct fabric_addr addr;

	provider_listener_addr(kind, l, &addr);
	provider_listener_free(kind, l);
	if (gw->inherit && kind == PROVIDER_IWARP)
		inherit_give_back(gw->inherit, &addr);
}

static int bind_route(struct gateway *gw, unsigned i, const char *file)
{
	struct gateway_listen *listen = &gw->listens[i];
	struct gateway_sock *sock = &gw->socks[listen->sock];
	enum provider_kind kind = gw->fabrics[listen->fabric].kind;
	char at[FABRIC_ADDR_TEXT];
	int err = 0;

	sock->fabric = listen->fabric;
	sock->listener = gateway_bind(gw, listen->fabric, &listen->addr, &err);
	if (!sock->listener) {
		int why = errno;

		log_error("listen.failed", "config=\"%s:%u\" route=%s address=%s why=\"%s%s\"",
			  file, listen->from->listen.line, gw->routes[i].name,
			  fabric_addr_format(&listen->addr, at), strerror(why),
			  gateway_remedy(why));
		return err ? err : ERR_IO;
	}
	provider_listener_addr(kind, sock->listener, &listen->addr);
	return 0;
}

void gateway_log_route(const struct gateway *gw, unsigned i)
{
	const struct proxy_route *route = &gw->routes[i];
	const struct config_route *from = gw->listens[i].from;
	char at[FABRIC_ADDR_TEXT], to[GATEWAY_UPSTREAM_TEXT], names[32] = "";

	if (route->nnames > 0)
		snprintf(names, sizeof(names), " names=%u", route->nnames);
	log_info("listen",
		 "route=%s address=%s versions=%s credits=%u inline=%u upstream=%s "
		 "upstream_versions=%s hostauth=%s upstream_hostauth=%s%s",
		 route->name, fabric_addr_format(&gw->listens[i].addr, at),
		 versions_text(route->client.versions), route->client.credits,
		 route->client.inline_bytes, gateway_upstream_text(gw, i, to),
		 versions_text(route->server.versions), hostauth_text(&from->listen),
		 hostauth_text(&from->upstream), names);
}

static int listen_route(struct gateway *gw, unsigned i, const char *file)
{
	int err = is_listening(gw, i) ? bind_route(gw, i, file) : 0;

	if (!err)
		gateway_log_route(gw, i);
	return err;
}

/* Called before any route is bound, so that a missing feature of the machine is reported once. */
static int check_fabrics(const struct gateway *gw, const char *file)
{
	char why[PROVIDER_WHY];

	for (unsigned i = 0; i < gw->nfabrics; i++) {
		int err = provider_check(gw->fabrics[i].kind, why);

		if (!err)
			continue;
		log_error("fabric.failed", "config=\"%s\" fabric=verbs why=\"%s\"", file, why);
		return err;
	}
	return 0;
}

int gateway_listen(struct gateway *gw, const char *file)
{
	int first = check_fabrics(gw, file);

	if (first)
		return first;
	for (unsigned i = 0; i < gw->nroutes; i++) {
		int err = listen_route(gw, i, file);

		if (!first)
			first = err;
	}
	return first;
}

void gateway_unlisten(struct gateway *gw)
{
	for (unsigned i = 0; i < gw->nslots; i++) {
		struct gateway_sock *sock = &gw->socks[i];

		if (sock->listener && !sock->is_borrowed)
			gateway_unbind(gw, sock->fabric, sock->listener);
		*sock = (struct gateway_sock){.listener = NULL};
	}
}

void gateway_fini(struct gateway *gw)
{
	if (gw->socks && gw->fabrics)
		gateway_unlisten(gw);
	for (unsigned i = 0; gw->listens && i < gw->nslots; i++) {
		mem_free(gw->listens[i].from);
		servers_put(gw->listens[i].servers);
	}
	mem_free(gw->changes);
	mem_free(gw->fabrics);
	mem_free(gw->uses);
	mem_free(gw->socks);
	mem_free(gw->listens);
	mem_free(gw->routes);
	session_limits_free(gw->session_limits);
	jobs_free(gw->jobs);
	*gw = (struct gateway){0};
}
