/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/stats_table.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define COUNT(field, text)                                                                         \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct proxy_counters, field),                  \
		.metric = #field, .help = (text)                                                   \
	}
#define BYTES(field, as, text)                                                                     \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct proxy_counters, field), .metric = (as),  \
		.unit = "bytes", .help = (text)                                                    \
	}

const struct figure stats_table_relayed[] = {
	COUNT(sessions_opened, "Sessions that began"),
	COUNT(sessions_closed, "Sessions that ended"),
	COUNT(sessions_refused, "Clients whose connection the gateway rejected"),
	COUNT(sessions_displaced,
	      "Sessions closed before the client's first message, to make room for others"),
	COUNT(calls, "Calls of clients"),
	COUNT(replies, "Replies to clients"),
	COUNT(rcalls, "Calls of servers (callbacks)"),
	COUNT(rreplies, "Replies to servers"),
	BYTES(bytes_to_server, "to_server_bytes",
	      "Octets of RPCs toward servers, inline and in chunks"),
	BYTES(bytes_to_client, "to_client_bytes",
	      "Octets of RPCs toward clients, inline and in chunks"),
	COUNT(errors_to_requester, "Transport errors reported to requesters"),
	COUNT(errors_from_responder, "Transport errors reported by responders"),
	COUNT(large, "Calls that took a block of memory of more than 16 KiB"),
	COUNT(written, "Replies that came by RDMA Write, in whole or in part"),
	COUNT(joined, "Calls whose data travelled with them over a far hop"),
	BYTES(joined_bytes, "joined_bytes",
	      "Octets of data that travelled with their calls over a far hop"),
	BYTES(passed_bytes, "passed_bytes",
	      "Octets of large results that were written to clients while they arrived "
	      "(cut-through)"),
	BYTES(assembled_bytes, "assembled_bytes",
	      "Payload of continued messages that was copied to reassemble them"),
	COUNT(formed_again, "Calls sent in another form after the responder refused the first"),
	COUNT(placed, "Calls sent with their data in the Send (round-trip extension)"),
	COUNT(asked, "Calls that ask for data in the Send of their reply (round-trip extension)"),
	COUNT(replies_placed, "Replies sent with their data in the Send (round-trip extension)"),
	COUNT(let_go, "Calls that the gateway abandoned: it no longer waits for their reply"),
	COUNT(duplicates,
	      "Calls of version 2 dropped because a call with the same XID was in flight"),
	COUNT(peer_faults, "Sessions closed because a peer broke the protocol or was too slow"),
	COUNT(version_faults,
	      "Sessions closed because a client or server speaks none of the configured versions"),
	COUNT(budget_waits, "Calls that waited for memory, or behind calls that waited for memory"),
	COUNT(place_waits, "Calls that waited for a place among the calls that run"),
	COUNT(shortages, "Times that a call waited because a device had no registration or Memory "
			 "Window left"),
};

#define SERVER(field, state, text)                                                                 \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct server_figures, field),                  \
		.metric = "upstream_" #field, .is_state = (state), .help = (text)                  \
	}

const struct figure stats_table_server[] = {
	SERVER(up, true, "1: the server is not known to be down"),
	SERVER(sessions, true, "Sessions with the server"),
	SERVER(connects, false, "Connections to the server that were set up"),
	SERVER(failures, false, "Connections to the server that could not be set up"),
	SERVER(probes, false, "Probes of the server that have ended"),
	SERVER(probe_failures, false, "Probes that the server did not answer"),
};

const unsigned stats_table_nserver = sizeof(stats_table_server) / sizeof(stats_table_server[0]);

#define SERVERS(field, state, text)                                                                \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct servers_figures, field),                 \
		.metric = "upstream_" #field, .is_state = (state), .help = (text)                  \
	}

const struct figure stats_table_servers[] = {
	SERVERS(servers_up, true, "Servers not known to be down"),
	SERVERS(servers_down, true, "Servers known to be down"),
	SERVERS(moves, false, "Clients that moved to another server"),
	SERVERS(lookups, false, "Look-ups of server names that have ended"),
	SERVERS(lookup_failures, false, "Look-ups of server names that failed"),
};

const unsigned stats_table_nservers = sizeof(stats_table_servers) / sizeof(stats_table_servers[0]);

const unsigned stats_table_nrelayed = sizeof(stats_table_relayed) / sizeof(stats_table_relayed[0]);

struct stats_table *stats_table_new(unsigned nroutes)
{
	struct stats_table *f = mem_zalloc(sizeof(*f) + nroutes * sizeof(f->routes[0]));

	if (f)
		f->nroutes = nroutes;
	return f;
}

void stats_table_clear(struct stats_table *f)
{
	unsigned nroutes = f->nroutes;

	memset(f, 0, sizeof(*f) + nroutes * sizeof(f->routes[0]));
	f->nroutes = nroutes;
}

static void take_fabrics(struct stats_table *f, const struct stats_table_source *from)
{
	memset(f->fabric, 0, sizeof(f->fabric));
	for (unsigned i = 0; i < from->gw->nfabrics; i++) {
		enum provider_kind kind = from->gw->fabrics[i].kind;
		const struct provider_counter *table;
		unsigned n = provider_counters(kind, &table);

		assert(n <= FIGURES_FABRIC);
		for (unsigned k = 0; k < n; k++)
			f->fabric[kind][k] += provider_count(kind, from->fabrics[i], &table[k]);
	}
}

bool stats_table_some(struct stats_table *f, const struct stats_table_source *from,
		      struct snapshot *l, nsec_t now)
{
	l->kind = SNAPSHOT_COUNTERS;
	l->counters = f->routes;
	if (proxy_snapshot(from->proxy, l, now))
		return true;
	l->kind = SNAPSHOT_MEMORY;
	(void)!proxy_snapshot(from->proxy, l, now);
	f->memory = l->memory;
	f->sessions = proxy_sessions(from->proxy);
	take_fabrics(f, from);
	f->total = l->gone;
	return false;
}

void stats_table_total(struct stats_table *f)
{
	for (unsigned i = 0; i < f->nroutes; i++)
		proxy_counters_add(&f->total, &f->routes[i]);
}

void stats_table_take(struct stats_table *f, const struct stats_table_source *from)
{
	struct snapshot l = {.kind = SNAPSHOT_COUNTERS};

	stats_table_clear(f);
	while (stats_table_some(f, from, &l, 0))
		;
	stats_table_total(f);
}

static void add_memory(struct snapshot_memory *sum, const struct snapshot_memory *more)
{
	sum->total += more->total;
	sum->used += more->used;
	sum->peak += more->peak;
	sum->reserve += more->reserve;
	sum->reserve_used += more->reserve_used;
	sum->touched += more->touched;
	sum->waits += more->waits;
	sum->own += more->own;
	for (unsigned i = 0; i < BUF_PURPOSES; i++)
		sum->by_use[i] += more->by_use[i];
}

void stats_table_add(struct stats_table *sum, const struct stats_table *more)
{
	sum->sessions += more->sessions;
	add_memory(&sum->memory, &more->memory);
	for (unsigned kind = 0; kind < PROVIDER_KINDS; kind++)
		for (unsigned i = 0; i < FIGURES_FABRIC; i++)
			sum->fabric[kind][i] += more->fabric[kind][i];
	proxy_counters_add(&sum->total, &more->total);
	for (unsigned i = 0; i < sum->nroutes; i++)
		proxy_counters_add(&sum->routes[i], &more->routes[i]);
}

void stats_table_fold(struct stats_table *f, const struct gateway *gw)
{
	for (unsigned i = 0; i < f->nroutes; i++) {
		unsigned to = gw->listens[i].reported_as;

		if (to == GATEWAY_NONE || to == i)
			continue;
		proxy_counters_add(&f->routes[to], &f->routes[i]);
		memset(&f->routes[i], 0, sizeof(f->routes[i]));
	}
}

/* Open for the life of the process: inside the sandbox /proc cannot be opened, because it shows
 * other processes. */
static DIR *descriptors;
static int statm = -1;

void stats_table_open_process(void)
{
	descriptors = opendir("/proc/self/fd");
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	if (!descriptors)
		return 0;
	rewinddir(descriptors);
	for (const struct dirent *e = readdir(descriptors); e; e = readdir(descriptors))
		n += e->d_name[0] != '.';
	return n;
}

static uint64_t resident_bytes(void)
{
	char line[128], *second;
	ssize_t n = pread(statm, line, sizeof(line) - 1, 0);

	if (n <= 0)
		return 0;
	line[n] = '\0';
	second = strchr(line, ' ');
	return second ? strtoul(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void stats_table_process(struct stats_table_process *p)
{
	*p = (struct stats_table_process){.descriptors = open_descriptors(),
					  .resident_bytes = resident_bytes(),
					  .heap_live = mem_live(),
					  .heap_allocs = mem_allocs(),
					  .heap_bytes = mem_bytes()};
}
