/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * - A worker whose client waits for a name takes a ticket from the route's struct servers, and
 *   wakes the main thread.
 * - The main thread asks names.h for each expired name. names.h asks the resolver unless its answer
 *   is still valid. A link-local address counts as a name, because the number of its interface
 *   changes when the interface is made again.
 * - When all names have an answer newer than the request, the ticket is answered and the workers
 *   are woken. Tickets taken meanwhile wait for the next round.
 * - Old slots of a route, which sessions still use, share struct servers with the route's new slot.
 *   So there is one round for all of them.
 */
#include "daemon/upstreams.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/stats_table.h"
#include "daemon/names.h"
#include "daemon/resolver.h"
#include "daemon/worker.h"

#define INTERFACE_TTL (1 * NSEC_PER_SEC)

/* One round of look-ups, for the servers of one route. */
struct round {
	struct servers *of; /* NULL: no round is under way */
	uint64_t ticket;
	struct round_host {
		struct name *name; /* NULL: not asked for, or done */
		uint64_t answers;  /* .answers of the name when the round began */
	} hosts[SERVERS_HOSTS];
};

struct upstreams {
	struct gateway *gw;
	struct loop *loop;
	struct worker **workers;
	struct resolver *resolver;
	struct names names;
	struct round *rounds; /* indexed by slot */
	unsigned notified;    /* number of the last change about which workers were notified */
	atomic_bool rung;
};

static void notify(void *arg)
{
	struct upstreams *u = arg;

	atomic_store(&u->rung, true);
	loop_wake(u->loop);
}

/* An address with an interface. The kernel numbers interfaces; one that is made again has another
 * number. */
static void find_interface(struct name *name)
{
	struct names_answer a = {.result = NAMES_FOUND, .ttl = INTERFACE_TTL, .n = 1};

	if (fabric_addr_parse(name->text, 0, &a.addrs[0]))
		a = (struct names_answer){
			.result = NAMES_NONE,
			.why = "there is no such interface: name one that ip link "
			       "lists"};
	names_answer(name, &a, loop_now());
}

static bool ask(void *arg, struct name *name)
{
	if (strchr(name->text, '%')) {
		find_interface(name);
		return true;
	}
	return resolver_ask(((struct upstreams *)arg)->resolver, name);
}

struct upstreams *upstreams_new(struct gateway *gw, struct loop *loop, struct worker **workers)
{
	const struct resolver_config files = {
		.loop = loop, .hosts = "/etc/hosts", .resolv_conf = "/etc/resolv.conf"};
	struct upstreams *u = mem_zalloc(sizeof(*u));

	if (!u)
		return NULL;
	u->gw = gw;
	u->loop = loop;
	u->workers = workers;
	u->names = (struct names){.ask = ask, .arg = u};
	u->resolver = resolver_new(&files);
	u->rounds = mem_zalloc(gw->nslots * sizeof(*u->rounds));
	if (!u->resolver || !u->rounds) {
		resolver_free(u->resolver);
		mem_free(u->rounds);
		mem_free(u);
		return NULL;
	}
	gw->changes->arg = u;
	gw->changes->notify = notify;
	return u;
}

/* Whether host @i is still the same: the servers may have been configured again. */
static bool is_wanted(const struct round *round, unsigned i)
{
	const char *text = servers_expired(round->of, i, NSEC_NEVER);

	return text && strcmp(text, round->hosts[i].name->text) == 0;
}

/* Pass on what is known of host @i. Return: whether the round is done with it. */
static bool take_host(struct round *round, unsigned i)
{
	struct round_host *host = &round->hosts[i];
	const struct name *name = host->name;

	if (!name)
		return true;
	if (!is_wanted(round, i)) { /* the route no longer has this host */
		host->name = NULL;
		return true;
	}
	if (name->answers == host->answers)
		return false;
	if (name->last.result == NAMES_FAILED)
		servers_lookup_failed(round->of, i, name->expires);
	else
		servers_lookup_result(round->of, i, name->last.addrs, name->last.n, name->expires);
	host->name = NULL;
	return true;
}

static void end_round(struct round *round)
{
	servers_put(round->of);
	*round = (struct round){.of = NULL};
}

static void go_on(struct round *round)
{
	bool is_done = true;

	for (unsigned i = 0; i < SERVERS_HOSTS; i++)
		is_done &= take_host(round, i);
	if (!is_done)
		return;
	servers_answered(round->of, round->ticket);
	end_round(round);
}

static void begin(struct upstreams *u, struct round *round, struct servers *of, uint64_t ticket,
		  nsec_t now)
{
	*round = (struct round){.of = servers_hold(of), .ticket = ticket};
	for (unsigned i = 0; i < SERVERS_HOSTS; i++) {
		const char *text = servers_expired(of, i, now);
		struct round_host *host = &round->hosts[i];

		if (!text)
			continue;
		host->name = names_want(&u->names, text, now);
		if (!host->name) /* no memory: try again soon */
			servers_lookup_failed(of, i, now + NAMES_RETRY);
		else if (host->name->is_asked)
			host->answers = host->name->answers;
		else /* the answer is still valid, or came at once */
			host->answers = host->name->answers - 1;
	}
	go_on(round);
}

static const struct round *round_of(const struct upstreams *u, const struct servers *of)
{
	for (unsigned i = 0; i < u->gw->nslots; i++)
		if (u->rounds[i].of == of)
			return &u->rounds[i];
	return NULL;
}

/* Begin a round for slot @i, unless a round for the same servers is under way. */
static void answer_changes(struct upstreams *u, unsigned i, nsec_t now)
{
	struct servers *of = u->gw->listens[i].servers;
	uint64_t ticket = of ? servers_asked(of) : 0;
	const struct round *under_way = ticket ? round_of(u, of) : NULL;

	if (ticket && !under_way)
		begin(u, &u->rounds[i], of, ticket, now);
	else if (under_way && ticket > under_way->ticket)
		atomic_store(&u->rung, true); /* run again after this round */
}

static void wake_workers(struct upstreams *u)
{
	unsigned number = atomic_load(&u->gw->changes->number);

	if (number == u->notified)
		return;
	u->notified = number;
	for (unsigned i = 0; i < u->gw->nworkers; i++)
		worker_wake(u->workers[i]);
}

nsec_t upstreams_tick(struct upstreams *u, nsec_t now)
{
	nsec_t at = resolver_tick(u->resolver, now);

	for (unsigned i = 0; i < u->gw->nslots; i++) {
		struct round *round = &u->rounds[i];

		/* The slot may be free, or have another route, by now. So this round ends, and
		 * the slot that has these servers begins another one. */
		if (round->of && round->of != u->gw->listens[i].servers) {
			end_round(round);
			atomic_store(&u->rung, true);
		}
		if (round->of)
			go_on(round);
	}
	for (unsigned i = 0, n = atomic_exchange(&u->rung, false) ? u->gw->nslots : 0; i < n; i++)
		answer_changes(u, i, now);
	wake_workers(u);
	return at;
}

static void report(const char *route, const struct server_view *server)
{
	char at[FABRIC_ADDR_TEXT], line[512] = "";
	size_t len = 0;

	for (unsigned i = 0; i < stats_table_nserver && len < sizeof(line); i++)
		len += (size_t)snprintf(
			line + len, sizeof(line) - len, " %s=%llu", stats_table_server[i].name,
			(unsigned long long)figure_at(&server->figures, &stats_table_server[i]));
	log_info("upstream", "route=%s server=%s host=%s%s", route,
		 fabric_addr_format(&server->addr, at), *server->host ? server->host : "-", line);
}

void upstreams_report(const struct gateway *gw)
{
	struct servers_view *view = mem_zalloc(sizeof(*view));

	for (unsigned i = 0; view && i < gw->nslots; i++) {
		if (!gateway_has(gw, i) || !gw->listens[i].servers)
			continue;
		servers_snapshot(gw->listens[i].servers, view);
		for (unsigned k = 0; k < view->n; k++)
			report(gw->routes[i].name, &view->at[k]);
	}
	mem_free(view);
}

void upstreams_free(struct upstreams *u)
{
	if (!u)
		return;
	u->gw->changes->notify = NULL;
	resolver_free(u->resolver);
	for (unsigned i = 0; i < u->gw->nslots; i++)
		servers_put(u->rounds[i].of);
	names_free(&u->names);
	mem_free(u->rounds);
	mem_free(u);
}
