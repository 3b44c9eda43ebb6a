/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several routes on one listener. The key "for", a list of names that clients prove, chooses the
 * route. The first of these routes listens. The listen side of each other route has only fabric,
 * address and port, or the same settings as that of the first. No name leads to two routes, so the
 * order of the routes makes no difference.
 */
#include <string.h>
#include <strings.h>

#include "config/reader.h"

static bool is_uri(const char *name)
{
	return strchr(name, ':') != NULL;
}

static bool is_wildcard(const char *name)
{
	return name[0] == '*' && !is_uri(name);
}

static bool is_same(const char *a, const char *b)
{
	return is_uri(a) || is_uri(b) ? strcmp(a, b) == 0 : strcasecmp(a, b) == 0;
}

/* "*.example" stands for one label before ".example". */
static bool covers(const char *wildcard, const char *name)
{
	const char *dot = strchr(name, '.');

	return is_wildcard(wildcard) && !is_uri(name) && dot && strcasecmp(wildcard + 1, dot) == 0;
}

/* Whether some name matches both @a and @b. */
static bool meet(const char *a, const char *b)
{
	return is_same(a, b) || covers(a, b) || covers(b, a);
}

/* The first of @names such that a client name exists that matches it and @name; NULL: none. */
static const char *meeting(const struct config_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (meet(config_name(names, i), name))
			return config_name(names, i);
	return NULL;
}

static bool says_more(const config_setting_t *listen)
{
	static const char *const where[] = {"fabric", "address", "port"};
	int more = config_setting_length(listen);

	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		more -= config_setting_get_member(listen, where[i]) != NULL;
	return more > 0;
}

/* Let route @b share the listener of route @a. @a is earlier and already checked. */
static void take_listener(struct reader *r, const config_setting_t *item, struct config *cfg,
			  uint32_t a, uint32_t b)
{
	const config_setting_t *listen = reader_member(item, "listen");
	struct config_route *from = &cfg->routes[a], *to = &cfg->routes[b];
	char leader[READER_ROUTE_BYTES];

	to->listener = a;
	if (listen->type == CONFIG_TYPE_GROUP && says_more(listen) &&
	    !keys_are_same(&config_listen_keys, &from->listen, &to->listen))
		reader_error(r, reader_line(listen),
			     "listen differs from that of %s, whose listener it shares: repeat "
			     "that listen, or give fabric, address and port alone",
			     reader_route(cfg, a, leader));
	to->listen = from->listen;
}

static unsigned line_of_for(const config_setting_t *item)
{
	return reader_line(reader_member(item, "for"));
}

/* struct where - a list of client names: its key, its line and its route. */
struct where {
	const char *key;
	unsigned line;
	const struct config_hostauth *listen;
};

/* Client names are only usable with mode "require": the client then proves its name before the
 * route is chosen. */
static void check_proved(struct reader *r, const struct where *w)
{
	if (w->listen->mode != CONFIG_HOSTAUTH_REQUIRE)
		reader_error(
			r, w->line,
			"%s needs clients that prove their names: give the listener a hostauth "
			"with mode = \"require\", or leave %s out",
			w->key, strcmp(w->key, "for") == 0 ? "it" : "them");
}

/* Check that a client can prove @name. */
static void check_name(struct reader *r, const struct where *w, const char *name)
{
	const struct config_hostauth *h = w->listen;
	const char *star = is_uri(name) ? NULL : strchr(name, '*');

	if (star && h->psk.path[0])
		reader_error(r, w->line,
			     "%s has \"%s\", but a wildcard is for certificates: write "
			     "identities of the psk_file",
			     w->key, name);
	else if (star && (star != name || name[1] != '.' || !name[2] || strchr(name + 1, '*')))
		reader_error(r, w->line,
			     "%s has \"%s\", which matches nothing: a wildcard stands for the "
			     "whole first label, like *.example.net",
			     w->key, name);
	else if (h->names.n && !meeting(&h->names, name))
		reader_error(r, w->line,
			     "%s has \"%s\", which names of the listener's hostauth does not let "
			     "in: add it there, or leave it out here",
			     w->key, name);
}

/* Check that @name leads to no earlier route of the same listener. */
static void check_way(struct reader *r, const config_setting_t *item, const struct config *cfg,
		      uint32_t i, const char *name)
{
	char there[READER_ROUTE_BYTES];

	for (uint32_t other = 0; other < i; other++) {
		const char *taken = meeting(&cfg->routes[other].names, name);

		if (cfg->routes[other].listener == cfg->routes[i].listener && taken)
			reader_error(r, line_of_for(item),
				     "for has \"%s\", but \"%s\" leads to %s already: a name "
				     "leads to one route",
				     name, taken, reader_route(cfg, other, there));
	}
}

static void check_for(struct reader *r, const config_setting_t *item, const struct config *cfg,
		      uint32_t i)
{
	const struct config_route *route = &cfg->routes[i];
	const struct where w = {"for", line_of_for(item),
				&cfg->routes[route->listener].listen.hostauth};
	char first[READER_ROUTE_BYTES];

	if (route->names.n)
		check_proved(r, &w);
	for (uint32_t n = 0; n < route->names.n; n++) {
		check_name(r, &w, config_name(&route->names, n));
		check_way(r, item, cfg, i, config_name(&route->names, n));
	}
	for (uint32_t other = 0; other < i && route->names.n == 0; other++)
		if (cfg->routes[other].listener == route->listener &&
		    cfg->routes[other].names.n == 0)
			reader_error(r, line_of_for(item),
				     "%s on the same listener has no for either: at most one route "
				     "of a listener serves all other names",
				     reader_route(cfg, other, first));
}

static void check_source_names(struct reader *r, const struct config *cfg, uint32_t i)
{
	const struct config_route *route = &cfg->routes[i];
	const struct config_names *names = &route->upstream.sources.names;
	const struct where w = {"source", route->upstream.sources.line,
				&cfg->routes[route->listener].listen.hostauth};

	if (names->n)
		check_proved(r, &w);
	for (uint32_t n = 0; n < names->n; n++) {
		const char *name = config_name(names, n);

		check_name(r, &w, name);
		if (route->names.n && !meeting(&route->names, name))
			reader_error(r, w.line,
				     "source has \"%s\", which for of this route does not let in: "
				     "add it there, or leave it out here",
				     name);
	}
}

/* The first route that listens in the same place as route @i; @i itself, or an earlier one. */
static uint32_t first_there(const struct config *cfg, uint32_t i)
{
	uint32_t first = 0;

	while (first < i &&
	       !config_is_one_place(&cfg->routes[first].listen, &cfg->routes[i].listen))
		first++;
	return first;
}

/* Whether a route in @place has "for". If none has, the routes do not share a listener: two
 * listeners collide. */
static bool is_shared(const struct config *cfg, uint32_t place)
{
	for (uint32_t i = place; i < cfg->nroutes; i++)
		if (cfg->routes[i].names.n > 0 &&
		    config_is_one_place(&cfg->routes[i].listen, &cfg->routes[place].listen))
			return true;
	return false;
}

void check_shared(struct reader *r, const config_setting_t *routes, struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const config_setting_t *item = config_setting_get_elem(routes, i);
		uint32_t first = first_there(cfg, i);

		cfg->routes[i].listener = i;
		if (first < i && item->type == CONFIG_TYPE_GROUP && is_shared(cfg, first))
			take_listener(r, item, cfg, first, i);
	}
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		if (config_setting_get_elem(routes, i)->type == CONFIG_TYPE_GROUP)
			check_for(r, config_setting_get_elem(routes, i), cfg, i);
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		check_source_names(r, cfg, i);
}
