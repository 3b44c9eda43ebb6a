/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_TOWN_H
#define TESTS_ISOLATION_ROUTE_TOWN_H

#include "proxy/proxy.h"
#include "tests/isolation/route_client.h"
#include "tests/isolation/route_server.h"

/**
 * route_town - one route of one gateway in virtual time, with honest clients and rogues of one kind on it
 *
 * The liveness oracle is of the honest ones: how long their calls waited, whether a new client is served, and whether
 * anybody honest was ended.
 */

enum { TOWN_ROGUES = 64, TOWN_HONEST = 3, TOWN_HOSTS = 2 };

/** struct rogue_kind - what all rogues of a run are like. */
struct rogue_kind {
	const char *name;
	unsigned clients; /* connections, one each, but where they are .one_host: of one client */
	bool one_host;
	unsigned version;
	/* Calls that each keeps in flight. */
	struct call_shape call;
	unsigned calls;
	/* How slow each is from when its calls were sent; in version 2 it allows one more message each .allow_each, if that
	 * is not 0, and sends .part octets of a continued call each .part_each. */
	struct net_pace pace;
	nsec_t allow_each;
	uint32_t part;
	nsec_t part_each;
	/* What their server is like; of two, the other one is live, and all honest clients are at that. */
	unsigned hosts;
	bool server_hangs, server_hangs_at_chunks;
	nsec_t server_thinks;
	bool is_honest; /* slow, but none of them may be ended */
	bool drips;	/* all of them are to be ended within DRIP_BOUND once somebody waits */
	bool contends; /* its calls ask for more memory than there is: some wait for what others of them hold */
	bool iwarp_only;
	/* Known failures: what was seen on fabric/mem and over iWARP; NULL: it holds. */
	const char *fails[2];
};

enum probe {
	PROBE_NULL,
	PROBE_READ_64K,
	PROBE_WRITE_64K,
	PROBE_READ_1M,
	PROBE_WRITE_1M,
	PROBE_LONG,
	PROBE_FIRST, /* a new client, from its connection to its first answer */
	PROBES
};

#define DRIP_BOUND (60 * NSEC_PER_SEC)
/* The first of a kind that contends ends after 6 s, or 38 s where a fabric tells of completions alone (proxy/deadlines.h), and the looks. */
#define CONTEND_BOUND (55 * NSEC_PER_SEC)

/** route_probe_name, route_probe_goal - how long it may wait. */
const char *route_probe_name(enum probe p);
nsec_t route_probe_goal(enum probe p);

/** struct route_verdict - what came of a run. */
struct route_verdict {
	struct {
		nsec_t worst;	 /* NSEC_NEVER: it is not asked for */
		unsigned victim; /* whose; of PROBE_FIRST how many came before */
		bool answered;
	} probes[PROBES];
	unsigned honest_ended; /* honest clients, slow ones among them */
	unsigned rogues_ended;
	nsec_t first_ended; /* the first of these, from when the rogues began; NSEC_NEVER: none */
	nsec_t began_waiting; /* somebody honest, for longer than a quarter of a second; NSEC_NEVER: nobody */
	nsec_t rogues_held_for; /* after that, the longest time that a rogue held its connection */
};

/** route_town_run - @kind beside honest clients for two minutes. */
void route_town_run(const struct net_ops *on, const struct rogue_kind *kind, uint64_t seed,
		    struct route_verdict *verdict);

#endif
