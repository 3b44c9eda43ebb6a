/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_ENV_H
#define TOOLS_PROBE_ENV_H

#include "fabric/fabric.h"

/**
 * struct probe_env - environment of the probe; all borrowed
 *
 * Clock and waiting are parameters, so that the probe runs in virtual time over fabric/mem as well
 * as over sockets.
 */
struct probe_env {
	struct fabric *fabric;
	nsec_t (*now)(void *arg);
	/* Wait until something happens, or until @deadline. May return early. */
	void (*wait)(void *arg, nsec_t deadline);
	bool (*stopped)(void *arg); /* the user asked to stop; may be NULL */
	void *arg;
	uint32_t first_xid; /* XID of the first message, random */
};

static inline nsec_t probe_now(const struct probe_env *env)
{
	return env->now(env->arg);
}

static inline bool probe_stopped(const struct probe_env *env)
{
	return env->stopped && env->stopped(env->arg);
}

#endif
