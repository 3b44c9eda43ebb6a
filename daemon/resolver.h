/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RESOLVER_H
#define DAEMON_RESOLVER_H

#include "daemon/loop.h"
#include "daemon/names.h"

/**
 * resolver - names to addresses, by /etc/hosts first and then by the name servers of /etc/resolv.conf, through
 * libevent, in the thread that runs @loop, which never waits for them
 *
 * Both files are looked at again when they are needed, and were changed.
 */
struct resolver;

struct resolver_config {
	struct loop *loop;
	const char *hosts, *resolv_conf; /* paths; borrowed */
};

/** resolver_new - nothing is opened before it is asked. Return: owned, or NULL. */
struct resolver *resolver_new(const struct resolver_config *cfg);

/** resolver_ask - look @name up; names_answer() follows, perhaps at once. Return: false without memory or descriptors. */
bool resolver_ask(struct resolver *r, struct name *name);

/** resolver_tick - those that took too long. Return: when it is due again. */
nsec_t resolver_tick(struct resolver *r, nsec_t now);

/** resolver_free - takes @r, which may be NULL; nothing is answered any more. Runs the loop. */
void resolver_free(struct resolver *r);

#endif
