/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/budget.h"
#include "base/budget_queues.h"
#include "base/log.h"
#include "base/mem.h"

static unsigned listen_versions(const struct config_end *listen)
{
	/* Version 1 cannot tell who it is (draft-07 5.2.6 has no like in RFC 8166). */
	bool all_prove =
		listen->hostauth.mode == CONFIG_HOSTAUTH_REQUIRE && !listen->hostauth.unneeded.n;

	return all_prove ? CONFIG_V2 : listen->versions;
}

/*
 * The level is announced before the client is known, so it is one for all clients of the route: the
 * forms of reverse calls that every one of them takes. Version 1 takes none but inline ones.
 */
static enum rpc_reverse reverse_level(const struct config_route *route)
{
	_Static_assert((int)CONFIG_REVERSE_NONE - 1 == (int)RPC_REV_NONE &&
			       (int)CONFIG_REVERSE_GENL - 1 == (int)RPC_REV_GENL,
		       "one order");
	if (route->upstream.reverse != CONFIG_REVERSE_AUTO)
		return (enum rpc_reverse)(route->upstream.reverse - 1);
	return listen_versions(&route->listen) & CONFIG_V1 ? RPC_REV_SIMPLE : RPC_REV_GENL;
}

static void map_leg(const struct config *cfg, const struct config_end *end, struct leg_config *leg)
{
	_Static_assert((int)CONFIG_V1 == (int)LEG_V1 && (int)CONFIG_V2 == (int)LEG_V2, "one mask");
	*leg = (struct leg_config){
		.versions = end->versions,
		.inline_bytes = end->inline_bytes,
		.credits = end->credits,
		.rev_credits = end->reverse_credits,
		.literal_credits = end->literal_credits,
		.max_message = cfg->max_payload,
		.segment_bytes = cfg->max_payload,
		.segment_count = RPC_MAX_SEGMENTS,
		.reverse = RPC_REV_GENL, /* of a server it means nothing: 5.2.5 */
		.reply_timeout = end->reply_timeout_s * NSEC_PER_SEC,
		.tuning = {.retry_count = (uint8_t)end->retry_count,
			   .rnr_retry_count = (uint8_t)end->rnr_retry_count,
			   .resolve_ms = end->resolve_timeout_s * 1000,
			   .busy_poll_us = end->busy_poll_us},
		.setup_timeout = end->timeout_s * NSEC_PER_SEC,
	};
}

/* One verbs instance for all, since each pins the memory anew: the legs keep shorter time-outs
 * themselves. */
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

/* One instance for all ends that want the same of the fabric. */
static unsigned intern_fabric(struct gateway *gw, const struct config_end *end)
{
	struct provider_config want = {.crc = end->crc,
				       .setup_timeout_ms = end->timeout_s * 1000,
				       .peer_timeout_ms = gw->cfg->peer_timeout_s * 1000,
				       .max_setups = gateway_worker_setups(gw),
				       .receives = (enum provider_receives)gw->cfg->receives,
				       .needs_windows = gw->cfg->handles == CONFIG_HANDLES_REFUSE};
	unsigned i;

	_Static_assert((int)CONFIG_RECEIVES_AUTO == (int)PROVIDER_RECEIVES_AUTO &&
			       (int)CONFIG_RECEIVES_SHARED == (int)PROVIDER_RECEIVES_SHARED &&
			       (int)CONFIG_RECEIVES_OWN == (int)PROVIDER_RECEIVES_OWN,
		       "one meaning");
	if (provider_parse(end->fabric, &want.kind))
		want.kind = PROVIDER_IWARP; /* config/ lets no other word through */
	for (i = 0; i < gw->nfabrics; i++)
		if (share_fabric(&gw->fabrics[i], &want))
			return i;
	gw->fabrics[gw->nfabrics++] = want;
	return i;
}

static int map_address(const struct config_route *route, const struct config_end *end,
		       const char *file, struct fabric_addr *addr)
{
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
	return gw->cfg->routes[i].listener == i;
}

/* Whose route it is, where several share a listener. */
static void map_names(struct gateway *gw, unsigned i)
{
	const struct config_route *from = &gw->cfg->routes[i];
	const char *at = from->names.text;

	for (unsigned n = 0; n < from->names.n; n++, at += strlen(at) + 1)
		gw->listens[i].names[n] = at;
	gw->routes[i].names = gw->listens[i].names;
	gw->routes[i].nnames = from->names.n;
	gw->routes[i].shares = is_listening(gw, i) ? NULL : &gw->routes[from->listener];
}

static void map_unneeded(struct gateway *gw, unsigned i, const struct config_nets *nets)
{
	struct proxy_route *to = &gw->routes[i];

	for (unsigned n = 0; n < nets->n; n++) {
		struct fabric_net *net = &gw->listens[i].unneeded[n];

		*net = (struct fabric_net){.is_v6 = nets->nets[n].is_v6,
					   .bits = nets->nets[n].bits};
		memcpy(net->octets, nets->nets[n].octets, sizeof(net->octets));
	}
	to->unneeded = gw->listens[i].unneeded;
	to->nunneeded = nets->n;
}

/* Who has to prove who it is speaks version 2, or nothing: profile sections 7.2 and 7.3. */
static void map_hostauth(struct gateway *gw, unsigned i)
{
	const struct config_route *from = &gw->cfg->routes[i];
	struct proxy_route *to = &gw->routes[i];

	to->client_unneeded = to->client;
	if (from->listen.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE)
		to->client.versions &= LEG_V2;
	if (from->upstream.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE)
		to->server.versions &= LEG_V2;
	map_unneeded(gw, i, &from->listen.hostauth.unneeded);
}

/* A signature takes less than a millisecond: few threads are enough, and leave CPUs to the workers. */
static unsigned job_threads(const struct gateway *gw)
{
	return gw->nworkers < 4 ? 1 : gw->nworkers / 4 + 1;
}

int gateway_authenticate(struct gateway *gw, const struct auth *auth)
{
	bool any = false;

	for (unsigned i = 0; i < gw->nroutes; i++) {
		const struct config_route *from = &gw->cfg->routes[i];
		struct proxy_route *to = &gw->routes[i];

		to->client_unneeded.auth = auth_leg(auth, i, AUTH_LISTEN, false);
		to->client.auth = auth_leg(auth, i, AUTH_LISTEN,
					   from->listen.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE);
		to->server.auth = auth_leg(auth, i, AUTH_UPSTREAM,
					   from->upstream.hostauth.mode == CONFIG_HOSTAUTH_REQUIRE);
		any |= to->client.auth || to->server.auth;
	}
	if (any)
		gw->jobs = jobs_new(job_threads(gw));
	return any && !gw->jobs ? ERR_NOMEM : 0;
}

static int map_route(struct gateway *gw, unsigned i, const char *file)
{
	const struct config_route *from = &gw->cfg->routes[i];
	struct proxy_route *to = &gw->routes[i];
	struct gateway_listen *listen = &gw->listens[i];
	int err, upstream_err;

	_Static_assert((int)CONFIG_NAME_BYTES <= (int)PROXY_NAME_MAX, "names fit");
	memcpy(to->name, from->name, sizeof(from->name));
	map_leg(gw->cfg, &from->listen, &to->client);
	map_leg(gw->cfg, &from->upstream, &to->server);
	/* What is exposed is exposed to who answers. */
	to->client.exposures = budget_exposures(from->listen.reverse_credits);
	to->server.exposures = budget_exposures(from->upstream.credits);
	/* Clients of a listener are one domain, and servers of a route another. */
	to->client.domain = 2 * from->listener;
	to->server.domain = 2 * i + 1;
	to->server.reverse = reverse_level(from);
	to->max_handshakes =
		(from->listen.hostauth.max_handshakes + gw->nworkers - 1) / gw->nworkers;
	map_hostauth(gw, i);
	map_names(gw, i);
	to->version_memory = from->upstream.version_memory_s * NSEC_PER_SEC;
	to->upstream_fabric = intern_fabric(gw, &from->upstream);
	listen->fabric = intern_fabric(gw, &from->listen);
	err = map_address(from, &from->listen, file, &listen->addr);
	upstream_err = map_address(from, &from->upstream, file, &to->upstream);
	return err ? err : upstream_err;
}

/* Which devices the routes lead through. */
static void tell_uses(struct gateway *gw)
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
			gw->uses[n++] = (struct fabric_use){.addr = route->upstream,
							    .domain = route->server.domain};
	}
	for (unsigned i = 0; i < gw->nfabrics; i++) {
		gw->fabrics[i].uses = gw->uses;
		gw->fabrics[i].nuses = gw->fabrics[i].kind == PROVIDER_VERBS ? n : 0;
	}
}

static struct crowd *make_crowd(const struct gateway *gw)
{
	struct crowd_config crowd = {.max_sessions = gw->max_sessions,
				     .max_per_client = gw->cfg->max_sessions_per_client,
				     .workers = gw->nworkers,
				     .setups_per_second = gw->cfg->max_setups_per_second};

	if (getrandom(&crowd.seed, sizeof(crowd.seed), 0) != (ssize_t)sizeof(crowd.seed))
		return NULL;
	return crowd_new(&crowd);
}

unsigned gateway_worker_setups(const struct gateway *gw)
{
	return (gw->max_setups + gw->nworkers - 1) / gw->nworkers;
}

int gateway_init(struct gateway *gw, const struct config *cfg, const char *file, unsigned cpus)
{
	int err = ERR_NOMEM;

	*gw = (struct gateway){.cfg = cfg, .nroutes = cfg->nroutes};
	gw->nworkers = config_workers(cfg, cpus);
	/* Whole steps, or the relay would round them up, beyond the limit. */
	gw->worker_bytes = cfg->memory_bytes / gw->nworkers / BUDGET_STEP * BUDGET_STEP;
	gw->max_sessions = config_max_sessions(cfg, gw->nworkers);
	gw->max_setups = config_max_setups(cfg, gw->nworkers);
	gw->crowd = make_crowd(gw);
	gw->routes = mem_zalloc(gw->nroutes * sizeof(*gw->routes));
	gw->listens = mem_zalloc(gw->nroutes * sizeof(*gw->listens));
	gw->fabrics = mem_zalloc(2 * gw->nroutes * sizeof(*gw->fabrics));
	gw->uses = mem_zalloc(2 * gw->nroutes * sizeof(*gw->uses));
	if (!gw->crowd || !gw->routes || !gw->listens || !gw->fabrics || !gw->uses)
		goto out;
	err = 0;
	for (unsigned i = 0; i < gw->nroutes; i++) {
		int route_err = map_route(gw, i, file);

		if (!err)
			err = route_err;
	}
	tell_uses(gw);
	if (!err)
		return 0;
out:
	gateway_fini(gw);
	return err;
}

static const char *versions_text(unsigned versions)
{
	static const char *const text[] = {"-", "1", "2", "1,2"};

	return text[versions & LEG_V1_OR_V2];
}

static const char *hostauth_text(const struct config_end *end)
{
	static const char *const text[] = {[CONFIG_HOSTAUTH_OFF] = "off",
					   [CONFIG_HOSTAUTH_ALLOW] = "allow",
					   [CONFIG_HOSTAUTH_REQUIRE] = "require"};

	return text[end->hostauth.mode];
}

/* What to do about it, where that is not plain. */
static const char *listen_remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return ": another program listens there, see ss -tlnp and rdma resource show cm_id";
	case EADDRNOTAVAIL:
		return ": give an address of this machine, see ip address";
	case ENODEV:
		return ": no RDMA device has this address, see rdma link, or use fabric = iwarp";
	case EACCES:
		return ": ports below 1024 take CAP_NET_BIND_SERVICE";
	default:
		return "";
	}
}

static int bind_route(struct gateway *gw, unsigned i, const char *file)
{
	struct gateway_listen *listen = &gw->listens[i];
	enum provider_kind kind = gw->fabrics[listen->fabric].kind;
	char at[FABRIC_ADDR_TEXT];
	int err = 0;

	listen->listener = provider_listen(kind, &listen->addr, &err);
	if (!listen->listener) {
		int why = errno;

		log_error("listen.failed", "config=\"%s:%u\" route=%s address=%s why=\"%s%s\"",
			  file, gw->cfg->routes[i].listen.line, gw->routes[i].name,
			  fabric_addr_format(&listen->addr, at), strerror(why), listen_remedy(why));
		return err ? err : ERR_IO;
	}
	provider_listener_addr(kind, listen->listener, &listen->addr);
	return 0;
}

static int listen_route(struct gateway *gw, unsigned i, const char *file)
{
	const struct proxy_route *route = &gw->routes[i];
	char at[FABRIC_ADDR_TEXT], to[FABRIC_ADDR_TEXT], names[32] = "";
	int err = is_listening(gw, i) ? bind_route(gw, i, file) : 0;

	if (err)
		return err;
	if (route->nnames > 0)
		snprintf(names, sizeof(names), " names=%u", route->nnames);
	log_info("listen",
		 "route=%s address=%s versions=%s credits=%u inline=%u upstream=%s "
		 "upstream_versions=%s hostauth=%s upstream_hostauth=%s%s",
		 route->name, fabric_addr_format(&gw->listens[i].addr, at),
		 versions_text(route->client.versions), route->client.credits,
		 route->client.inline_bytes, fabric_addr_format(&route->upstream, to),
		 versions_text(route->server.versions), hostauth_text(&gw->cfg->routes[i].listen),
		 hostauth_text(&gw->cfg->routes[i].upstream), names);
	return 0;
}

/* Before any route is bound: what a machine has not got is told once. */
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
	for (unsigned i = 0; i < gw->nroutes; i++) {
		if (gw->listens[i].listener && gw->fabrics)
			provider_listener_free(gw->fabrics[gw->listens[i].fabric].kind,
					       gw->listens[i].listener);
		gw->listens[i].listener = NULL;
	}
}

void gateway_fini(struct gateway *gw)
{
	if (gw->listens)
		gateway_unlisten(gw);
	mem_free(gw->fabrics);
	mem_free(gw->uses);
	mem_free(gw->listens);
	mem_free(gw->routes);
	crowd_free(gw->crowd);
	jobs_free(gw->jobs);
	*gw = (struct gateway){0};
}
