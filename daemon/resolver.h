/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RESOLVER_H
#define DAEMON_RESOLVER_H

#include "daemon/loop.h"
#include "daemon/names.h"

/**
 * resolver - names to addresses: first /etc/hosts, then the name servers of /etc/resolv.conf
 *
 * Uses libevent in the thread that runs @loop, and never blocks. Changes of both files are noticed
 * at the next look-up.
 */
struct resolver;

struct resolver_config {
	struct loop *loop;
	const char *hosts, *resolv_conf; /* paths; borrowed */
};

/** resolver_new - opens nothing before the first look-up. Return: owned, or NULL. */
struct resolver *resolver_new(const struct resolver_config *cfg);

/** resolver_ask - look @name up; names_answer() follows, perhaps before this returns. Return: false
 * without memory or descriptors. */
bool resolver_ask(struct resolver *r, struct name *name);

/** resolver_tick - end look-ups that took too long. Return: when to call again. */
nsec_t resolver_tick(struct resolver *r, nsec_t now);

/** resolver_free - takes @r, which may be NULL; no look-up is answered any more. Runs the loop
 * until libevent has returned all cancelled queries. */
void resolver_free(struct resolver *r);

#endif
