/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_VERBS_H
#define FABRIC_VERBS_VERBS_H

#include "fabric/fabric.h"

/**
 * fabric/verbs - librdmacm and libibverbs: InfiniBand, RoCE and iWARP adapters, rxe and siw.
 *
 * What reliable-connected queue pairs and the InfiniBand connection manager cannot do as well as
 * the other providers:
 * - Private data has fields of fixed size: zeros follow what the peer gave. 56 octets fit a
 *   request, 196 an answer, 148 a rejection.
 * - An end whose peer found fault with it may learn only that the connection ended.
 * - Nothing tells how much of an exposure was written: fabric_withdraw().
 * - Without Memory Windows a handle is scoped to its worker and domain, not to its connection: its user
 *   may refuse such devices (verbs_config.needs_windows).
 */

/** enum verbs_receives - what fabric_share_receives() makes of an instance. */
enum verbs_receives {
	VERBS_RECEIVES_AUTO,   /* shared where every device can and none is iWARP */
	VERBS_RECEIVES_SHARED, /* ... where every device can */
	VERBS_RECEIVES_OWN,    /* never */
};

struct verbs_config {
	uint32_t setup_timeout_ms;   /* resolving and connecting; default 10000 */
	uint32_t linger_ms;	     /* a disconnect waits for what was posted, then for the peer's
				      word, so long each; default 5000 */
	uint8_t retry_count;	     /* of a message nobody acknowledges; default 6, as Linux */
	uint8_t rnr_retry_count;     /* of a Send that found no Receive; default 0, as Linux */
	uint32_t resolve_timeout_ms; /* an address, then a route; default 5000, as Linux */
	uint32_t idle_ms;  /* a silent peer is asked whether it is there; default 15000, 0: never */
	uint32_t stuck_ms; /* looked at as often: a peer that takes no Send for so long is given up,
			      answer it or not; default 60000 */
	uint16_t ird, ord; /* read depth offered, cut to what the device has; default 32 */
	enum verbs_receives receives; /* default AUTO */
	bool needs_windows; /* devices without Memory Windows of type 2 are not used; default false */
	bool no_windows;    /* for tests: do without them; default false */
	/* Borrowed for verbs_new(): only devices that these lead to are opened before a connection leads to
	 * them. None, as by default: all there are. */
	const struct fabric_use *uses;
	unsigned nuses;
	const char *only; /* borrowed for verbs_new(): the one device of that name; default NULL */
};

struct verbs_counters {
	uint64_t sends, receives, reads, writes;
	uint64_t binds, invalidates, remote_invalidates, registrations;
	uint64_t posts, signals, inlines;    /* calls of ibv_post_*, completions asked for, and
						messages within their work request */
	uint64_t polls, completions, events; /* calls of ibv_poll_cq, what they gave, wake-ups */
	uint64_t setup_failures, breaches, removals;
	uint64_t asked;		  /* silent peers, whether they are there */
	uint64_t receives_low;	  /* times that a shared receive queue ran low */
	uint64_t receives_posted; /* that shared receive queues have now */
};

/** struct verbs_agreed - what a queue pair was told: whatever the ends wanted, this is in force. */
struct verbs_agreed {
	unsigned reads_issued, reads_served; /* at once */
	unsigned retry_count, rnr_retry_count;
	unsigned
		rnr_timer; /* how long the peer waits that found no Receive, as InfiniBand encodes */
	uint32_t max_inline; /* octets of a message that travel within their work request */
};

/** struct verbs_facts - a device, as an instance found it; words and figures are those of the log. */
struct verbs_facts {
	char name[64];
	bool is_usable; /* else the log has the reason */
	bool is_iwarp, windows, send_inv, can_share;
	const char *exposures, *handles; /* static storage */
	unsigned max_sge, max_inline;
	int max_qp_wr, max_srq_wr, reads_served, reads_issued, max_mr, max_mw;
};

enum { VERBS_WHY = 256 };

/** verbs_check - whether this machine has what it takes; else ERR_IO and @why in VERBS_WHY octets:
 * what is missing, and what to do. */
int verbs_check(char *why) WARN_UNUSED;

/** verbs_config_default - every field at its default. */
void verbs_config_default(struct verbs_config *cfg);

/** verbs_new - an instance for one worker on @loop (borrowed). Returns owned, or NULL (logged). */
struct fabric *verbs_new(const struct verbs_config *cfg, struct loop *loop);

/** verbs_listen - as iwarp_listen(). */
struct fabric_listener *verbs_listen(const struct fabric_addr *addr, int *err);

/** verbs_listener_addr - the bound address (port 0 resolved). */
void verbs_listener_addr(const struct fabric_listener *l, struct fabric_addr *addr);

/** verbs_listener_free - takes @l, detached everywhere. */
void verbs_listener_free(struct fabric_listener *l);

/** verbs_agreed - of an established connection. Return: 0 or ERR_CLOSED. */
int verbs_agreed(const struct fabric_conn *c, struct verbs_agreed *agreed) WARN_UNUSED;

/** verbs_facts - of the device @name, which @f has. Return: 0, or ERR_IO: it has not. */
int verbs_facts(const struct fabric *f, const char *name, struct verbs_facts *facts) WARN_UNUSED;

/** verbs_device_address - one by which the device @name of @f is connected to, port 0. Return: 0, or
 * ERR_IO: none of this machine's is. */
int verbs_device_address(struct fabric *f, const char *name, struct fabric_addr *addr) WARN_UNUSED;

/** verbs_counters - of one instance; borrowed, live. */
const struct verbs_counters *verbs_counters(const struct fabric *f);

#endif
