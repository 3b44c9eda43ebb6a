/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_ENV_H
#define TOOLS_PERF_ENV_H

#include "fabric/fabric.h"
#include "proxy/leg/leg.h"

/** struct perf_env - what client and server run on; all borrowed. The clock is a parameter, so that
 * both run in virtual time over fabric/mem. */
struct perf_env {
	struct fabric *fabric;
	struct buf_arena *arena; /* registered with the fabric */
	nsec_t (*clock)(void *arg);
	void *clock_arg;
	uint64_t seed; /* seed of the XIDs */
};

static inline nsec_t perf_now(const struct perf_env *env)
{
	return env->clock(env->clock_arg);
}

/**
 * struct perf_errors - counts all errors, and prints only the first few, because one cause often
 * has thousands of errors
 */
struct perf_errors {
	uint64_t count;
	char first[160]; /* text of the first error; empty: none */
	bool is_silent;	 /* for tests: print no errors */
};

enum { PERF_ERRORS_TOLD = 10 };

/** perf_error - count an error, and print it on standard error. */
void perf_error(struct perf_errors *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** perf_spread_chunk - append chunk @c of @from to @to, with the lengths of its segments for
 * @length octets (4.5.2.1). */
int perf_spread_chunk(const struct rpc_msg *from, const struct rpc_chunk *c, uint64_t length,
		      struct rpc_msg *to, struct rpc_chunk *out) WARN_UNUSED;

/** perf_send_limit - most octets of one Send on an open leg. */
static inline uint32_t perf_send_limit(const struct leg *leg)
{
	uint32_t own = leg->t->own.send_bytes, peer = leg->t->peer.send_bytes;

	return own < peer ? own : peer;
}

#endif
