/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocols beside NFS version 3 (rpcbind, MOUNT, NLM, NSM), and NFS over TCP, do not use RDMA.
 * Clients send them to the listener's address. Servers call back to the address that the client has
 * on the server's side. The kernel forwards both directions. So each address must lead to one
 * server, and each source address must belong to one client. Any other configuration is refused
 * here.
 */
#include "config/side.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/address.h"
#include "config/reader.h"

/* Parse a port at *@at, which is then moved behind the number. Return: 0 if there is no port. */
static uint16_t parse_port(const char **at)
{
	unsigned long port;
	char *end;

	if (!isdigit((unsigned char)**at))
		return 0;
	port = strtoul(*at, &end, 10);
	*at = end;
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* "111" or "4045-4046". */
static bool parse_range(const char *text, struct config_port_range *range)
{
	range->first = range->last = parse_port(&text);
	if (*text == '-') {
		text++;
		range->last = parse_port(&text);
	}
	return range->first && range->last >= range->first && !*text;
}

static bool read_range(const config_setting_t *item, struct config_port_range *range)
{
	int64_t port;

	if (item->type == CONFIG_TYPE_STRING)
		return parse_range(item->value.sval, range);
	if (!reader_integer(item, &port) || port < 1 || port > UINT16_MAX)
		return false;
	range->first = range->last = (uint16_t)port;
	return true;
}

static bool has_port(const struct config_port_range *range, uint16_t port)
{
	return range->first <= port && port <= range->last;
}

static bool is_taken(const struct config_ports *ports, const struct config_port_range *range)
{
	for (uint32_t i = 0; i < ports->n; i++)
		if (has_port(&ports->at[i], range->first) || has_port(range, ports->at[i].first))
			return true;
	return false;
}

void reader_ports(struct reader *r, const config_setting_t *s, const struct key *key, void *field)
{
	int n = reader_list(r, s, key, CONFIG_PORTS_MAX, "111, 2049, ...");
	struct config_ports *ports = field;

	if (n < 0)
		return;
	memset(ports, 0, sizeof(*ports));
	ports->line = reader_line(s);
	for (int i = 0; i < n; i++) {
		const config_setting_t *item = config_setting_get_elem(s, (unsigned)i);
		struct config_port_range range;

		if (!read_range(item, &range))
			reader_error(
				r, reader_line(item),
				"%s has an item that is not a port: use 1 to 65535, or text like "
				"\"4045-4046\"",
				key->name);
		else if (is_taken(ports, &range))
			reader_error(r, reader_line(item), "%s has port %u twice: once is enough",
				     key->name, range.first);
		else
			ports->at[ports->n++] = range;
	}
}

static unsigned host_bits(const struct config_net *net)
{
	return (net->is_v6 ? 128u : 32u) - net->bits;
}

struct config_net side_addresses(const struct config_source *source)
{
	struct config_net net = source->addresses;
	unsigned own = host_bits(&source->clients);

	if (host_bits(&net) > own)
		net.bits = (uint8_t)(net.bits + host_bits(&net) - own);
	return net;
}

/* Whether several clients of @source have the same address. */
static bool is_shared(const struct config_source *source)
{
	return host_bits(&source->addresses) < host_bits(&source->clients);
}

static bool overlap(const struct config_net *a, const struct config_net *b)
{
	unsigned bits = a->bits < b->bits ? a->bits : b->bits;

	if (a->is_v6 != b->is_v6)
		return false;
	for (unsigned i = 0; i < bits; i++)
		if ((a->octets[i / 8] ^ b->octets[i / 8]) & 0x80u >> i % 8)
			return false;
	return true;
}

/* The listener and the server have one family, so clients of another family cannot connect. */
static bool can_come(const struct config_source *source)
{
	return source->clients.is_v6 == source->addresses.is_v6;
}

/* Whether @source has an address in common with one of the first @n entries of @b. */
static bool is_ambiguous(const struct config_source *source, const struct config_sources *b,
			 uint32_t n)
{
	struct config_net mine = side_addresses(source), theirs;

	for (uint32_t i = 0; i < n; i++) {
		theirs = side_addresses(&b->at[i]);
		if (can_come(source) && can_come(&b->at[i]) && overlap(&mine, &theirs))
			return true;
	}
	return false;
}

static bool is_one_address(const struct config_end *a, const struct config_end *b)
{
	struct address x = address_parse(a->address), y = address_parse(b->address);

	return x.family && x.family == y.family &&
	       memcmp(x.octets, y.octets, sizeof(x.octets)) == 0;
}

static bool are_same_sources(const struct config_sources *a, const struct config_sources *b)
{
	return memcmp(a, b, offsetof(struct config_sources, line)) == 0;
}

static bool are_same_ports(const struct config_ports *a, const struct config_ports *b)
{
	return memcmp(a, b, offsetof(struct config_ports, line)) == 0;
}

bool side_is_new(const struct config *cfg, uint32_t i)
{
	const struct config_route *route = &cfg->routes[i];

	for (uint32_t other = 0; other < i; other++)
		if (cfg->routes[other].upstream.side_ports.n &&
		    is_one_address(&cfg->routes[other].listen, &route->listen))
			return false;
	return route->upstream.side_ports.n > 0;
}

/* The two addresses that the kernel translates into each other. */
static void check_ends(struct reader *r, const struct config_route *route)
{
	struct address here = address_parse(route->listen.address);
	struct address there = address_parse(route->upstream.address);
	unsigned line = route->upstream.side_ports.line;
	const struct config_end *up = &route->upstream;

	if (config_hosts(up) > 1 || (*config_host(up, 0) && !config_is_literal(config_host(up, 0))))
		reader_error(r, line,
			     "side_ports lead to one server, whose address the kernel has to know: "
			     "give upstream one address and no name, or leave them out");
	if (!here.family || !there.family)
		return; /* reported here or elsewhere */
	if (address_is_any(&here))
		reader_error(r, line,
			     "side_ports need a listener with one address, and this one listens on "
			     "all: give listen an address that leads to this server alone");
	else if (here.family != there.family)
		reader_error(r, line,
			     "side_ports are carried from IPv4 to IPv4, or IPv6 to IPv6: listen on "
			     "an address of the upstream's family, or leave them out");
	else if (address_is_link_local(&here) || address_is_link_local(&there))
		reader_error(
			r, line,
			"side_ports are not carried from or to link-local addresses: use others, "
			"or leave them out");
}

/* Servers tell locks apart by the client's address, and callbacks go to it. So each client needs
 * its own. */
static void check_own_addresses(struct reader *r, const struct config_end *upstream)
{
	const struct config_sources *sources = &upstream->sources;
	unsigned line = upstream->side_ports.line;

	if (sources->n == 0)
		reader_error(r, line,
			     "side_ports need a source: if all clients have one address, the "
			     "server cannot tell their locks apart, and its callbacks cannot reach "
			     "the right client");
	if (sources->names.n > 0) {
		reader_error(r, line,
			     "side_ports are carried by the kernel, which does not know names of "
			     "clients: give a source without name, or leave side_ports out");
		return;
	}
	for (uint32_t i = 0; i < sources->n; i++) {
		if (can_come(&sources->at[i]) && is_shared(&sources->at[i])) {
			reader_error(r, line,
				     "side_ports need an address for each client, and source has "
				     "one for many: the server could not tell their locks apart");
			return;
		}
		if (is_ambiguous(&sources->at[i], sources, i)) {
			reader_error(r, line,
				     "side_ports need an address for each client, and two items of "
				     "source have the same ones: give them others");
			return;
		}
	}
}

static bool includes(const struct config_ports *ports, uint16_t port)
{
	for (uint32_t i = 0; i < ports->n; i++)
		if (has_port(&ports->at[i], port))
			return true;
	return false;
}

/* A forwarded port must not be one on which the gateway itself listens. */
static void check_own_port(struct reader *r, const struct config_route *route, const char *text,
			   uint16_t port)
{
	struct address at = address_parse(text), here = address_parse(route->listen.address);
	bool is_here = at.family && (address_is_any(&at) ||
				     (at.family == here.family &&
				      memcmp(at.octets, here.octets, sizeof(at.octets)) == 0));

	if (is_here && includes(&route->upstream.side_ports, port))
		reader_error(r, route->upstream.side_ports.line,
			     "side_ports have port %u, where the gateway itself listens: leave it "
			     "out",
			     port);
}

/* Route @i and the earlier route @other both have side_ports. */
static void check_two(struct reader *r, const struct config *cfg, uint32_t i, uint32_t other)
{
	const struct config_end *a = &cfg->routes[other].upstream, *b = &cfg->routes[i].upstream;
	const struct config_end *at = &cfg->routes[other].listen, *bt = &cfg->routes[i].listen;
	char earlier[READER_ROUTE_BYTES];

	reader_route(cfg, other, earlier);

	if (is_one_address(at, bt)) {
		if (!is_one_address(a, b) || !are_same_sources(&a->sources, &b->sources) ||
		    !are_same_ports(&a->side_ports, &b->side_ports) ||
		    memcmp(&at->clients, &bt->clients, sizeof(at->clients)) != 0)
			reader_error(
				r, b->side_ports.line,
				"%s has side_ports at the same address, with another "
				"server, source, clients or ports: one address has one rpcbind, so "
				"give both routes the same, or listen on another address",
				earlier);
		return;
	}
	for (uint32_t n = 0; is_one_address(a, b) && n < b->sources.n; n++)
		if (is_ambiguous(&b->sources.at[n], &a->sources, a->sources.n)) {
			reader_error(r, b->side_ports.line,
				     "%s has the same server and the same source addresses: "
				     "the server's callbacks could be for either: give one of the "
				     "two routes other addresses",
				     earlier);
			return;
		}
}

void check_side(struct reader *r, const struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const struct config_route *route = &cfg->routes[i];

		if (route->upstream.side_ports.n == 0)
			continue;
		check_ends(r, route);
		check_own_addresses(r, &route->upstream);
		check_own_port(r, route, cfg->metrics.address, cfg->metrics.port);
		for (uint32_t other = 0; other < cfg->nroutes; other++) {
			const struct config_end *listen = &cfg->routes[other].listen;

			if (cfg->routes[other].listener == other)
				check_own_port(r, route, listen->address, listen->port);
			if (other < i && cfg->routes[other].upstream.side_ports.n)
				check_two(r, cfg, i, other);
		}
	}
}
