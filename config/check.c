/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "config/address.h"
#include "config/reader.h"

struct place {
	struct address at; /* family 0: unusable, already reported */
	bool is_any;
	uint16_t port;
};

/* PAYLOAD_LEAST: the largest read and write size of Linux. No default is smaller. */
enum {
	PAYLOAD_LEAST = 1024 * 1024,
	V2_INLINE_LEAST = 4096,
	V2_CREDITS_LEAST = 2,
	EARLY_INLINE = 4096, /* octets of inline of the early draft's extension */
};

static struct place place_of(const struct config_end *end)
{
	struct place p = {.port = end->port, .at = address_parse(end->address)};

	p.is_any = address_is_any(&p.at);
	return p;
}

/* Whether a connection to @b would reach a listener on @a, and so a listener on @b would collide
 * with it. */
static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->at.family && a->at.family == b->at.family && a->port == b->port &&
	       (a->is_any || b->is_any ||
		(memcmp(a->at.octets, b->at.octets, sizeof(a->at.octets)) == 0 &&
		 strcmp(a->at.interface, b->at.interface) == 0));
}

/* Line for messages about an end's address or port. */
static unsigned line_of(const config_setting_t *route, const char *end, const char *key)
{
	const config_setting_t *group = reader_member(route, end);

	if (group->type != CONFIG_TYPE_GROUP)
		return reader_line(group);
	return reader_line(reader_member(group, key));
}

static void check_pair(struct reader *r, const config_setting_t *routes, const struct config *cfg,
		       uint32_t i, uint32_t earlier)
{
	const config_setting_t *item = config_setting_get_elem(routes, i);
	const struct config_route *a = &cfg->routes[earlier], *b = &cfg->routes[i];
	struct place pa = place_of(&a->listen), pb = place_of(&b->listen);
	char other[READER_ROUTE_BYTES];

	if (item->type != CONFIG_TYPE_GROUP)
		return;
	if (b->name[0] && strcmp(a->name, b->name) == 0)
		reader_error(r, reader_line(reader_member(item, "name")),
			     "a second route \"%s\": give each its own name", b->name);
	if (is_same_place(&pa, &pb) && a->listener != b->listener)
		reader_error(r, line_of(item, "listen", "port"),
			     "%s listens on %s port %u already: use another address or port",
			     reader_route(cfg, earlier, other), a->listen.address, a->listen.port);
}

/* Version 2 needs Receives of the default size (draft-07 4.2.2; early draft 2.3). Draft-07 also
 * needs one credit more than the one that a GRANT takes; the early draft has no GRANT. */
static void check_version_2(struct reader *r, const config_setting_t *item, const char *name,
			    struct config_end *end)
{
	const char *which = end->versions & CONFIG_V2 ? "2" : "2-early";

	end->line = line_of(item, name, "address");
	if ((end->versions & (CONFIG_V2 | CONFIG_V2_EARLY)) && end->inline_bytes < V2_INLINE_LEAST)
		reader_error(r, line_of(item, name, "inline"),
			     "version %s needs an inline of 4096 or more: raise it, or leave out "
			     "version %s",
			     which, which);
	if ((end->versions & CONFIG_V2) && end->credits < V2_CREDITS_LEAST)
		reader_error(
			r, line_of(item, name, "credits"),
			"version 2 needs 2 credits or more: raise them, or leave out version 2");
}

/* Only version 2 carries data beside a call or a reply. In the early draft the data begin behind
 * 4096 octets of the Receive, whatever its first segment is (docs/rtrext-profile.md, section 2). */
static void check_structure(struct reader *r, const config_setting_t *item, const char *name,
			    const struct config_end *end)
{
	if (end->bulk_bytes && !(end->versions & (CONFIG_V2 | CONFIG_V2_EARLY)))
		reader_error(r, line_of(item, name, "receive_structure"),
			     "receive_structure needs version 2: allow version 2, or leave out "
			     "receive_structure");
	if (end->bulk_bytes && end->versions & CONFIG_V2_EARLY && end->inline_bytes != EARLY_INLINE)
		reader_error(r, line_of(item, name, "inline"),
			     "receive_structure with version 2-early needs an inline of 4096: "
			     "leave out inline, version 2-early or receive_structure");
}

static void check_hostauth_kind(struct reader *r, const struct config_hostauth *h)
{
	const struct config_file *files[] = {&h->certificate, &h->key, &h->ca};
	static const char *const names[] = {"certificate", "key", "ca"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (h->psk.path[0] && files[i]->path[0])
			reader_error(r, files[i]->line,
				     "%s and psk_file exclude each other: leave one of them out",
				     names[i]);
		if (!h->psk.path[0] && !files[i]->path[0])
			reader_error(
				r, h->line,
				"hostauth has no %s: give certificate, key and ca, or psk_file",
				names[i]);
	}
	if (h->psk.path[0] && h->crl.path[0])
		reader_error(r, h->crl.line,
			     "crl and psk_file exclude each other: leave one of them out");
}

/* Only version 2 has host authentication (draft-07 5.2.6). */
static void check_hostauth(struct reader *r, const config_setting_t *item, const char *name,
			   struct config_end *end)
{
	struct config_hostauth *h = &end->hostauth;

	h->line = line_of(item, name, "hostauth");
	if (h->mode == CONFIG_HOSTAUTH_OFF)
		return;
	if (!(end->versions & CONFIG_V2))
		reader_error(r, h->line,
			     "hostauth needs version 2, which this %s does not speak: allow "
			     "version 2, or use mode = \"off\"",
			     name);
	check_hostauth_kind(r, h);
	if (h->unneeded.n && h->mode != CONFIG_HOSTAUTH_REQUIRE)
		reader_error(
			r, h->line,
			"unneeded_from does nothing where hostauth is not required: use mode = "
			"\"require\", or leave it out");
}

/* Lower max_payload, if it has its default, until the memory_limit of the file is enough for it. */
static uint64_t fit_payload(const config_setting_t *root, struct config *cfg, uint32_t workers)
{
	bool is_set = config_setting_get_member(root, "max_payload");

	while (!is_set && cfg->max_payload > PAYLOAD_LEAST &&
	       cfg->memory_bytes < workers * config_worker_bytes(cfg))
		cfg->max_payload /= 2;
	return workers * config_worker_bytes(cfg);
}

static void check_memory(struct reader *r, const config_setting_t *root, struct config *cfg)
{
	uint32_t workers = cfg->workers ? cfg->workers : 1;
	uint64_t need = fit_payload(root, cfg, workers);
	const config_setting_t *where = config_setting_get_member(root, "memory_limit");

	if (cfg->memory_bytes >= need)
		return;
	if (!where)
		where = config_setting_get_member(root, "workers");
	reader_error(r, where ? reader_line(where) : 1,
		     "memory_limit is too small for %u worker%s, a session of each route and "
		     "max_payload: use at least \"%" PRIu64
		     "M\", or lower workers, credits, inline or max_payload",
		     workers, workers == 1 ? "" : "s", need >> 20);
}

/* Keys of one fabric are refused in groups of another fabric, because they would have no effect. */
static void check_fabric(struct reader *r, const config_setting_t *item, const char *name,
			 const struct config_end *end, const struct key_table *table)
{
	const config_setting_t *group = reader_member(item, name);

	if (group->type != CONFIG_TYPE_GROUP)
		return;
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];
		const config_setting_t *at = config_setting_get_member(group, key->name);

		if (at && key->fabric && strcmp(end->fabric, key->fabric))
			reader_error(r, reader_line(at),
				     "%s does nothing with fabric \"%s\": use it with \"%s\", or "
				     "leave it out",
				     key->name, end->fabric, key->fabric);
	}
}

/* Checks a listener once, at the first route that has it. */
static void check_listen(struct reader *r, const config_setting_t *item, struct config_route *route)
{
	check_version_2(r, item, "listen", &route->listen);
	check_structure(r, item, "listen", &route->listen);
	check_hostauth(r, item, "listen", &route->listen);
	check_fabric(r, item, "listen", &route->listen, &config_listen_keys);
}

/* The first source whose family is not that of @host; NULL: none. A name has no family here. */
static const struct config_net *other_family(const struct config_sources *sources, const char *host)
{
	int family = address_parse(host).family;

	for (uint32_t i = 0; family && i < sources->n; i++)
		if (sources->at[i].addresses.is_v6 != (family == AF_INET6))
			return &sources->at[i].addresses;
	return NULL;
}

/* A source of one family cannot reach a server of the other. A server's name needs no check: only
 * resolved addresses of the source's family are used. */
static void check_sources(struct reader *r, const struct config_end *upstream)
{
	const struct config_sources *sources = &upstream->sources;

	for (uint32_t i = 0; i < config_hosts(upstream); i++) {
		const char *host = config_host(upstream, i);
		const struct config_net *net = other_family(sources, host);

		if (net)
			reader_error(r, sources->line,
				     "source has %s addresses, and %s is of the other family: give "
				     "addresses of its own",
				     net->is_v6 ? "IPv6" : "IPv4", host);
	}
}

/* rpcbind holds one address for each netid, so for each family. */
static void check_rpcbind(struct reader *r, const config_setting_t *item, const struct config *cfg,
			  uint32_t i)
{
	const struct config_end *listen = &cfg->routes[i].listen;
	char name[READER_ROUTE_BYTES];

	if (cfg->routes[i].listener != i || !listen->rpcbind)
		return;
	for (uint32_t earlier = 0; earlier < i; earlier++) {
		const struct config_end *other = &cfg->routes[earlier].listen;

		if (cfg->routes[earlier].listener == earlier && other->rpcbind &&
		    address_parse(other->address).family == address_parse(listen->address).family)
			reader_error(r, line_of(item, "listen", "rpcbind"),
				     "%s has rpcbind already, and rpcbind has one address for "
				     "each address family: leave one of the two out",
				     reader_route(cfg, earlier, name));
	}
}

static void check_route(struct reader *r, const config_setting_t *item, struct config_route *route)
{
	check_sources(r, &route->upstream);
	check_hosts(r, item, route);
	check_version_2(r, item, "upstream", &route->upstream);
	check_structure(r, item, "upstream", &route->upstream);
	check_hostauth(r, item, "upstream", &route->upstream);
	check_fabric(r, item, "upstream", &route->upstream, &config_upstream_keys);
}

/* Check that names are as in the Host header, without a port. */
static void check_own_names(struct reader *r, const struct config_names *names)
{
	const char *name = names->text;

	for (uint32_t i = 0; i < names->n; i++, name += strlen(name) + 1)
		if (strpbrk(name, ":/*"))
			reader_error(r, names->line,
				     "names has \"%s\": write host names alone, without port or "
				     "path, each in full",
				     name);
}

/* Size of sun_path in struct sockaddr_un, with NUL. */
enum { SOCKET_PATH_BYTES = 108 };

static void check_operators(struct reader *r, const config_setting_t *root, struct config *cfg)
{
	struct config_end metrics = {.port = cfg->metrics.port};
	char there[READER_ROUTE_BYTES];
	struct place here;

	if (strlen(cfg->control.path) >= SOCKET_PATH_BYTES)
		reader_error(r, cfg->control.line,
			     "control has %zu octets: use %d at most, as for any socket",
			     strlen(cfg->control.path), SOCKET_PATH_BYTES - 1);
	if (!*cfg->metrics.address)
		return;
	cfg->metrics.line = reader_line(reader_member(root, "metrics"));
	check_own_names(r, &cfg->metrics.names);
	memcpy(metrics.address, cfg->metrics.address, sizeof(metrics.address));
	here = place_of(&metrics);
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		struct place listen = place_of(&cfg->routes[i].listen);

		if (is_same_place(&listen, &here))
			reader_error(r, cfg->metrics.line,
				     "%s listens on %s port %u already: give metrics another "
				     "address or port",
				     reader_route(cfg, i, there), cfg->routes[i].listen.address,
				     cfg->metrics.port);
	}
}

void check(struct reader *r, const config_setting_t *root, struct config *cfg)
{
	const config_setting_t *routes = reader_routes(root);

	check_shared(r, routes, cfg);
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const config_setting_t *item = config_setting_get_elem(routes, i);

		for (uint32_t earlier = 0; earlier < i; earlier++)
			check_pair(r, routes, cfg, i, earlier);
		if (item->type != CONFIG_TYPE_GROUP)
			continue;
		if (cfg->routes[i].listener == i)
			check_listen(r, item, &cfg->routes[i]);
		check_rpcbind(r, item, cfg, i);
		check_route(r, item, &cfg->routes[i]);
	}
	r->nerrors += config_check_loops(cfg, r->path, NULL, r->errors);
	check_side(r, cfg);
	check_memory(r, root, cfg);
	check_operators(r, root, cfg);
}
