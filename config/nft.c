/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Rules for nft, in a table of our own.
 * - Packets that clients send to a listener's address on side_ports go to the server, with the
 *   source address that upstream.source gives the client.
 * - Connections that a server opens to such a source address go to the client, with the listener's
 *   address as source.
 * - Each direction has two parts: DNAT when the first packet arrives, and SNAT when it leaves. The
 *   connection's original addresses show which parts belong together, so no packet mark is needed
 *   (other rules may use marks).
 * - The kernel's connection tracking handles all further packets.
 *
 * A server's answers to the gateway's own RDMA connections go to the same addresses. Connection
 * tracking knows these connections, unless they are older than the rules. So for TCP only packets
 * that open a connection are translated.
 */
#include <arpa/inet.h>
#include <string.h>

#include "config/address.h"
#include "config/side.h"

struct rules {
	FILE *out;
	const char *ip; /* family in the words of nft: "ip" or "ip6" */
	bool is_v6;
	/* addresses as text: of the listener, and of the server */
	char here[INET6_ADDRSTRLEN], server[INET6_ADDRSTRLEN];
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

/* nft accepts neither brackets nor other spellings of an address. */
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

/* The next source, from @i on, that has clients of the listener's family; NULL: none. */
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

/* Write "ip prefix to ip WHICH map { FROM : TO }": the host bits stay the same. */
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

/* Clients that are not in the listener's .clients are refused here, too. */
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

/* Rules for the first packet when it arrives: the new destination. */
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

/* Rules for the first packet when it leaves: the new source. */
static void put_sources(const struct rules *r)
{
	const struct config_source *source;
	char text[NET_TEXT];

	for (uint32_t i = 0; (source = next_source(r, &i));) {
		struct config_net addresses = side_addresses(source);

		/* Only packets to the server, that is, packets that a rule of this table
		 * translated. */
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

	/* The table is created before it is deleted, so that both commands work whether it exists
	 * or not. nft applies all commands as one change. */
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
