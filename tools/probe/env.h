/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_ENV_H
#define TOOLS_PROBE_ENV_H

#include "fabric/fabric.h"

/**
 * struct probe_env - the world the probe lives in; all borrowed
 *
 * Clock and waiting are given, so that the probe runs in virtual time over
 * fabric/mem as well as over sockets.
 */
struct probe_env {
	struct fabric *fabric;
	nsec_t (*now)(void *arg);
	/* Let the world go on until something happened, or @deadline. May return early. */
	void (*wait)(void *arg, nsec_t deadline);
	bool (*stopped)(void *arg); /* the user wants an end; may be NULL */
	void *arg;
	uint32_t first_xid; /* random */
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
