/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Route A leads to route B if A's upstream is B's listener.
 * - Routes that lead to no remaining route are removed, repeatedly. The remaining routes are on
 *   rings or lead into one.
 * - From any of them, following the first route that each leads to ends in a ring. The ring is
 *   reported and removed, and the search begins again.
 *
 * Loops through names, or through gateways on other machines, are found when a client connects:
 * proxy/leg/via.h.
 */
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "config/address.h"
#include "config/config.h"

enum { SHOWN = 8, NOWHERE = CONFIG_ROUTES_MAX, LOOPBACKS = 2 };

struct loops {
	const struct config *cfg;
	config_is_own *is_own;
	const char *path;
	FILE *errors;
	unsigned n;
	struct address listens[CONFIG_ROUTES_MAX];
	bool left[CONFIG_ROUTES_MAX];
};

/* struct goal - where connections to a host arrive. */
struct goal {
	const char *host; /* as the file has it */
	uint16_t port;
	const char *fabric;
	struct address at[LOOPBACKS];
	unsigned n; /* number of .at; 0: not known */
};

static bool is_loopback(const struct address *a)
{
	static const unsigned char v6[16] = {[15] = 1};

	return a->family == AF_INET ? a->octets[0] == 127 : memcmp(a->octets, v6, sizeof(v6)) == 0;
}

/* RFC 6761 6.3: these names mean loopback and are not resolved. */
static bool is_localhost(const char *host)
{
	static const char own[] = "localhost";
	size_t len = strlen(host), n = sizeof(own) - 1;

	if (len > 0 && host[len - 1] == '.')
		len--;
	return len >= n && strncasecmp(host + len - n, own, n) == 0 &&
	       (len == n || host[len - n - 1] == '.');
}

static struct goal goal_of(const struct config_end *up, uint32_t i)
{
	struct goal g = {.host = config_host(up, i), .port = up->port, .fabric = up->fabric};

	if (is_localhost(g.host)) {
		g.at[g.n++] = address_parse("127.0.0.1");
		g.at[g.n++] = address_parse("::1");
	} else if (config_is_literal(g.host)) {
		g.at[g.n++] = address_parse(g.host);
	}
	return g;
}

/* Whether a connection to @to arrives at a listener on @on. */
static bool comes_to(const struct loops *l, const struct address *to, const char *host,
		     const struct address *on)
{
	if (on->family != to->family)
		return false;
	if (address_is_any(on))
		return is_loopback(to) || (l->is_own && l->is_own(host));
	return memcmp(on->octets, to->octets, sizeof(to->octets)) == 0 &&
	       strcmp(on->interface, to->interface) == 0;
}

static bool leads_to(const struct loops *l, const struct goal *g, uint32_t route)
{
	const struct config_end *listen = &l->cfg->routes[route].listen;

	if (listen->port != g->port || strcmp(listen->fabric, g->fabric) != 0)
		return false;
	for (unsigned i = 0; i < g->n; i++)
		if (comes_to(l, &g->at[i], g->host, &l->listens[route]))
			return true;
	return false;
}

/* The first remaining route that route @i leads to, other than routes on the listener of @i. */
static uint32_t next_of(const struct loops *l, uint32_t i)
{
	const struct config_route *routes = l->cfg->routes;

	for (uint32_t h = 0; h < config_hosts(&routes[i].upstream); h++) {
		const struct goal g = goal_of(&routes[i].upstream, h);

		for (uint32_t to = 0; g.n && to < l->cfg->nroutes; to++)
			if (l->left[to] && routes[to].listener != routes[i].listener &&
			    leads_to(l, &g, to))
				return to;
	}
	return NOWHERE;
}

static unsigned line_of(const struct config_end *up)
{
	unsigned line = up->hosts.n ? up->hosts.line : up->line;

	return line ? line : 1;
}

static void report_own_loop(struct loops *l, uint32_t i)
{
	const struct config_route *route = &l->cfg->routes[i];
	const struct config_end *up = &route->upstream;

	for (uint32_t h = 0; h < config_hosts(up); h++) {
		const struct goal g = goal_of(up, h);

		if (!leads_to(l, &g, route->listener))
			continue;
		fprintf(l->errors,
			"%s:%u: route \"%s\" leads to its own listener, by %s port %u: give the "
			"server's address\n",
			l->path, line_of(up), route->name, g.host, g.port);
		l->n++;
	}
}

/* Return: a remaining route, from which a ring can be reached; NOWHERE: none. */
static uint32_t leave_dead_ends_out(struct loops *l)
{
	uint32_t found;
	bool changed;

	do {
		changed = false;
		found = NOWHERE;
		for (uint32_t i = 0; i < l->cfg->nroutes; i++) {
			if (!l->left[i])
				continue;
			l->left[i] = next_of(l, i) != NOWHERE;
			changed |= !l->left[i];
			if (l->left[i] && found == NOWHERE)
				found = i;
		}
	} while (changed);
	return found;
}

/* The first route, in file order, of the ring that is reached from @at. */
static uint32_t ring_from(const struct loops *l, uint32_t at)
{
	uint32_t first;

	for (uint32_t i = 0; i < l->cfg->nroutes; i++)
		at = next_of(l, at);
	first = at;
	for (uint32_t i = next_of(l, at); i != at; i = next_of(l, i))
		first = i < first ? i : first;
	return first;
}

/* Report the ring that @at is on. */
static void report_loop(struct loops *l, uint32_t at)
{
	const struct config_route *routes = l->cfg->routes;
	bool on[CONFIG_ROUTES_MAX] = {false};
	unsigned n = 0;

	fprintf(l->errors, "%s:%u: routes lead to each other in a ring:", l->path,
		line_of(&routes[at].upstream));
	for (; !on[at]; at = next_of(l, at)) {
		if (n < SHOWN)
			fprintf(l->errors, "%s \"%s\"", n ? "," : "", routes[at].name);
		on[at] = true;
		n++;
	}
	if (n > SHOWN)
		fprintf(l->errors, " and %u more", n - SHOWN);
	fputs(": give one of them the address of a server\n", l->errors);
	for (uint32_t i = 0; i < l->cfg->nroutes; i++)
		l->left[i] &= !on[i];
	l->n++;
}

unsigned config_check_loops(const struct config *cfg, const char *path, config_is_own *is_own,
			    FILE *errors)
{
	struct loops l = {.cfg = cfg, .is_own = is_own, .path = path, .errors = errors};
	uint32_t at;

	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		l.listens[i] = address_parse(cfg->routes[i].listen.address);
		l.left[i] = true;
	}
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		report_own_loop(&l, i);
	while ((at = leave_dead_ends_out(&l)) != NOWHERE)
		report_loop(&l, ring_from(&l, at));
	return l.n;
}
