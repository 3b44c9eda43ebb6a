/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Rules for nft, one table of our own. What clients send to a listener's address, on side_ports, goes to the
 * server, from the address that upstream.source gives them there; what the server begins toward such an
 * address goes to the client, from the listener's. Each is two halves, DNAT when the first packet comes and SNAT
 * when it leaves; which of them belong together is told by the connection's original addresses, so no mark
 * is needed that others may use. All else of a connection the kernel carries by what it keeps of it.
 *
 * A server's answers to the gateway's own RDMA connections are for the same addresses. The kernel knows those
 * connections, but for ones that are older than the rules: so of TCP only what begins a connection goes elsewhere.
 */
#include <arpa/inet.h>
#include <string.h>

#include "config/address.h"
#include "config/side.h"

struct rules {
	FILE *out;
	const char *ip; /* "ip" or "ip6" */
	bool is_v6;
	char here[INET6_ADDRSTRLEN], server[INET6_ADDRSTRLEN]; /* addresses */
	const struct config_end *listen, *upstream;
};

enum { NET_TEXT = INET6_ADDRSTRLEN + 4 };

static const char *net_text(const struct config_net *net, char *text)
{
	size_t len;

	inet_ntop(net->is_v6 ? AF_INET6 : AF_INET, net->octets, text, INET6_ADDRSTRLEN);
	len = strlen(text);
	snprintf(text + len, NET_TEXT - len, "/%u", net->bits);
	return text;
}

/* Brackets, or another way to write it, are not for nft. */
static void address_text(const char *from, char *to)
{
	struct address a = address_parse(from);

	inet_ntop(a.family, a.octets, to, INET6_ADDRSTRLEN);
}

static struct rules rules_of(const struct config_route *route, FILE *out)
{
	struct rules r = {.out = out, .listen = &route->listen, .upstream = &route->upstream};

	r.is_v6 = address_parse(route->listen.address).family == AF_INET6;
	r.ip = r.is_v6 ? "ip6" : "ip";
	address_text(route->listen.address, r.here);
	address_text(route->upstream.address, r.server);
	return r;
}

/* The next of its sources that has clients of the listener's family, from @i on; NULL: no more. */
static const struct config_source *next_source(const struct rules *r, uint32_t *i)
{
	const struct config_sources *sources = &r->upstream->sources;

	while (*i < sources->n) {
		const struct config_source *source = &sources->at[(*i)++];

		if (source->clients.is_v6 == r->is_v6)
			return source;
	}
	return NULL;
}

/* "ip prefix to ip WHICH map { FROM : TO }": the host's bits stay. */
static void put_move(const struct rules *r, const char *which, const struct config_net *from,
		     const struct config_net *to)
{
	char a[NET_TEXT], b[NET_TEXT];

	fprintf(r->out, "%s prefix to %s %s map { %s : %s }\n", r->ip, r->ip, which,
		net_text(from, a), net_text(to, b));
}

static void put_ports(const struct rules *r)
{
	const struct config_ports *ports = &r->upstream->side_ports;

	fputs("{ ", r->out);
	for (uint32_t i = 0; i < ports->n; i++) {
		fprintf(r->out, "%s%u", i ? ", " : "", ports->at[i].first);
		if (ports->at[i].last > ports->at[i].first)
			fprintf(r->out, "-%u", ports->at[i].last);
	}
	fputs(" }", r->out);
}

/* Who is not on the listener's .clients goes no further, here as there. */
static void put_clients(const struct rules *r, uint32_t route)
{
	const struct config_nets *clients = &r->listen->clients;
	char text[NET_TEXT];

	fprintf(r->out, "\tchain clients_%u {\n", route);
	for (uint32_t i = 0; i < clients->n; i++)
		if (clients->nets[i].is_v6 == r->is_v6)
			fprintf(r->out, "\t\t%s saddr %s goto calls_%u\n", r->ip,
				net_text(&clients->nets[i], text), route);
	if (clients->n == 0)
		fprintf(r->out, "\t\tgoto calls_%u\n", route);
	fputs("\t}\n", r->out);
}

static void put_calls(const struct rules *r, uint32_t route)
{
	const struct config_source *source;
	char text[NET_TEXT];

	fprintf(r->out, "\tchain calls_%u {\n", route);
	for (uint32_t i = 0; (source = next_source(r, &i));)
		fprintf(r->out, "\t\t%s saddr %s counter dnat %s to %s\n", r->ip,
			net_text(&source->clients, text), r->ip, r->server);
	fputs("\t}\n", r->out);
}

static void put_callback(const struct rules *r, const struct config_source *source,
			 const char *which)
{
	struct config_net addresses = side_addresses(source);
	char text[NET_TEXT];

	fprintf(r->out, "\t\t%s saddr %s %s daddr %s %s counter dnat ", r->ip, r->server, r->ip,
		net_text(&addresses, text), which);
	put_move(r, "daddr", &addresses, &source->clients);
}

/* When the first packet comes: where it is to go. */
static void put_destinations(const struct rules *r, uint32_t route)
{
	const struct config_source *source;
	fprintf(r->out, "\t\t%s daddr %s meta l4proto { tcp, udp } th dport ", r->ip, r->here);
	put_ports(r);
	fprintf(r->out, " jump clients_%u\n", route);
	for (uint32_t i = 0; (source = next_source(r, &i));) {
		put_callback(r, source, "tcp flags & (fin | syn | rst | ack) == syn");
		put_callback(r, source, "meta l4proto udp");
	}
}

/* When it leaves: whose it is to be. */
static void put_sources(const struct rules *r)
{
	const struct config_source *source;
	char text[NET_TEXT];

	for (uint32_t i = 0; (source = next_source(r, &i));) {
		struct config_net addresses = side_addresses(source);

		/* To the server, and so by a rule of ours, not by what others do with that address. */
		fprintf(r->out,
			"\t\tct status dnat ct original %s daddr %s %s daddr %s %s saddr %s snat ",
			r->ip, r->here, r->ip, r->server, r->ip, net_text(&source->clients, text));
		put_move(r, "saddr", &source->clients, &addresses);
		fprintf(r->out,
			"\t\tct status dnat ct original %s saddr %s ct original %s daddr %s snat "
			"%s to %s\n",
			r->ip, r->server, r->ip, net_text(&addresses, text), r->ip, r->here);
	}
}

static void put_hook(const struct config *cfg, FILE *out, bool is_first)
{
	fprintf(out, "\tchain %s {\n\t\ttype nat hook %s priority %s; policy accept;\n",
		is_first ? "arrive" : "leave", is_first ? "prerouting" : "postrouting",
		is_first ? "dstnat" : "srcnat");
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		struct rules r = rules_of(&cfg->routes[i], out);

		if (!side_is_new(cfg, i))
			continue;
		fprintf(out, "\t\t# route %s\n", cfg->routes[i].name);
		if (is_first)
			put_destinations(&r, i);
		else
			put_sources(&r);
	}
	fputs("\t}\n", out);
}

void config_print_nft(const struct config *cfg, FILE *out)
{
	bool any = false;

	/* Made before it is deleted, so that both work in either case; nft takes all as one change. */
	fputs("table inet rpcrdma_gw\ndelete table inet rpcrdma_gw\n", out);
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		any |= side_is_new(cfg, i);
	if (!any) {
		fputs("# No route has side_ports.\n", out);
		return;
	}
	fputs("table inet rpcrdma_gw {\n", out);
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		struct rules r = rules_of(&cfg->routes[i], out);

		if (!side_is_new(cfg, i))
			continue;
		put_calls(&r, i);
		put_clients(&r, i);
	}
	put_hook(cfg, out, true);
	put_hook(cfg, out, false);
	fputs("}\n", out);
}
