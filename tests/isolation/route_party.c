/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route_party KIND SECONDS GATEWAY LINE SERVER [SERVER]: all clients and servers of route_town around a gateway that is another
 * process, with rogues of one kind of route_kinds.c. Addresses are HOST:PORT; LINE leads to the gateway as well, and is as slow
 * as the rogues are. The result is one line of JSON on standard output. bench/crowd runs it.
 *
 * Exit status: 0 the run was measured, 2 bad arguments, any other: the run failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/isolation/route_town.h"

static double seconds(nsec_t t)
{
	return (double)t / NSEC_PER_SEC;
}

static const struct rogue_kind *kind_named(const char *name)
{
	for (unsigned i = 0; i < ROUTE_KINDS; i++)
		if (strcmp(route_kinds[i].name, name) == 0)
			return &route_kinds[i];
	return NULL;
}

/* Return: whether @text, HOST:PORT, is an address. */
static bool address(const char *text, struct fabric_addr *addr)
{
	const char *colon = strrchr(text, ':');
	char host[FABRIC_ADDR_TEXT];

	if (!colon || colon - text >= FABRIC_ADDR_TEXT)
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	return fabric_addr_parse(host, (uint16_t)strtoul(colon + 1, NULL, 10), addr) == 0;
}

static void print_verdict(const struct rogue_kind *k, const struct route_verdict *v)
{
	printf("{");
	for (unsigned p = 0; p < PROBES; p++)
		if (v->probes[p].worst != NSEC_NEVER)
			printf("\"%s\": {\"waited\": %.3f, \"goal\": %.0f, \"answered\": %s}, ",
			       route_probe_name((enum probe)p), seconds(v->probes[p].worst),
			       seconds(route_probe_goal((enum probe)p)),
			       v->probes[p].answered ? "true" : "false");
	printf("\"honest_ended\": %u, \"rogues\": %u, \"rogues_ended\": %u, \"drips\": %s, "
	       "\"bound\": %.0f, \"waited_for\": %s, \"held_for\": %.1f}\n",
	       v->honest_ended, k->clients, v->rogues_ended, k->drips ? "true" : "false",
	       seconds(DRIP_BOUND), v->began_waiting == NSEC_NEVER ? "false" : "true",
	       seconds(v->rogues_held_for));
}

static void be_silent(const char *line)
{
	(void)line;
}

int main(int argc, char **argv)
{
	const struct rogue_kind *k = argc > 1 ? kind_named(argv[1]) : NULL;
	struct route_verdict verdict;
	struct route_place place;
	bool good = k && argc == 5 + (int)k->hosts;

	if (good) {
		place.measured = strtoul(argv[2], NULL, 10) * NSEC_PER_SEC;
		good = address(argv[3], &place.gateway) && address(argv[4], &place.line);
	}
	for (unsigned i = 0; good && i < k->hosts; i++)
		good = address(argv[5 + i], &place.hosts[i]);
	if (!good) {
		fprintf(stderr,
			"usage: route_party KIND SECONDS GATEWAY LINE SERVER...: KIND is a "
			"name in tests/isolation/route_kinds.c, with as many servers as it has\n");
		return 2;
	}
	log_set_sink(be_silent);
	route_town_run(&net_sockets, k, 1, &place, &verdict);
	print_verdict(k, &verdict);
	return 0;
}
