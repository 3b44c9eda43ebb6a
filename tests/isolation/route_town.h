/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_TOWN_H
#define TESTS_ISOLATION_ROUTE_TOWN_H

#include "proxy/proxy.h"
#include "tests/isolation/route_client.h"
#include "tests/isolation/route_server.h"

/**
 * route_town - one route of one gateway in virtual time, with honest clients and rogues of one kind;
 * or the same around a gateway that is another process, in real time
 *
 * The oracle checks liveness of the honest clients: how long their calls waited, whether a new
 * client is served, and whether any honest client's connection was ended.
 */

enum { TOWN_ROGUES = 64, TOWN_HONEST = 3, TOWN_HOSTS = 2 };

/** struct rogue_kind - properties of all rogues of a run. */
struct rogue_kind {
	const char *name;
	unsigned clients; /* number of connections: each is a client of its own, unless .one_host */
	bool one_host;
	unsigned version;
	/* The kind of calls, and how many each keeps in flight. */
	struct call_shape call;
	unsigned calls;
	/* How slow each rogue is after it has sent its calls. In version 2 it grants one more
	 * message every .allow_each, unless that is 0, and sends .part octets of a continued call
	 * every .part_each. */
	struct net_pace pace;
	nsec_t allow_each;
	uint32_t part;
	nsec_t part_each;
	/* The rogues' server. If .hosts is 2, the other server works, and all honest clients use
	 * it. */
	unsigned hosts;
	bool server_hangs, server_hangs_at_chunks;
	nsec_t server_thinks;
	bool is_honest; /* slow, but none of them may be ended */
	bool drips; /* each must be ended within DRIP_BOUND after an honest client begins to wait */
	/* its calls need more memory than there is, so some wait for memory that others hold */
	bool contends;
	bool iwarp_only;
};

enum { ROUTE_KINDS = 14 };
extern const struct rogue_kind route_kinds[ROUTE_KINDS];

enum probe {
	PROBE_NULL,
	PROBE_READ_64K,
	PROBE_WRITE_64K,
	PROBE_READ_1M,
	PROBE_WRITE_1M,
	PROBE_LONG,
	PROBE_FIRST, /* a new client, from connect to its first answer */
	PROBES
};

#define DRIP_BOUND (60 * NSEC_PER_SEC)
/* Limit for the first client of a kind that contends: it ends after 6 s, or after 38 s on a fabric
 * that only reports completions (proxy/deadlines.h), plus the intervals of the checks. */
#define CONTEND_BOUND (55 * NSEC_PER_SEC)

/** route_probe_name - name of a probe. route_probe_goal - how long it may wait. */
const char *route_probe_name(enum probe p);
nsec_t route_probe_goal(enum probe p);

/** struct route_verdict - result of a run. */
struct route_verdict {
	struct {
		nsec_t worst;	 /* NSEC_NEVER: the probe is not made */
		unsigned victim; /* index of the client; for PROBE_FIRST how many came before */
		bool answered;
	} probes[PROBES];
	unsigned honest_ended; /* honest clients whose connection was ended, slow ones among them */
	unsigned rogues_ended;
	/* when the first rogue was ended, from the beginning of the rogues; NSEC_NEVER: none */
	nsec_t first_ended;
	/* when an honest client began to wait longer than a quarter of a second; NSEC_NEVER:
	 * never */
	nsec_t began_waiting;
	/* the longest time, after that, for which a rogue kept its connection */
	nsec_t rogues_held_for;
};

/** struct route_place - addresses of a gateway that is another process, and of what is around it. Clients come from 127.0.0.0/8. */
struct route_place {
	struct fabric_addr gateway;
	struct fabric_addr
		line; /* rogues connect to it: a line to the gateway that is as slow as they are */
	struct fabric_addr hosts[TOWN_HOSTS]; /* where servers listen */
	nsec_t measured;		      /* how long */
};

/** route_town_run - @kind beside honest clients: two minutes with a gateway of its own; or with the one at @place, over
 * net_sockets; NULL: none. */
void route_town_run(const struct net_ops *on, const struct rogue_kind *kind, uint64_t seed,
		    const struct route_place *place, struct route_verdict *verdict);

#endif
