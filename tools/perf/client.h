/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_CLIENT_H
#define TOOLS_PERF_CLIENT_H

#include "tools/perf/env.h"
#include "tools/perf/program.h"
#include "tools/perf/stats.h"

/**
 * perf_client - requester of the private program (program.h): keeps .depth calls
 * in flight on each of .connections, one size after the other. It is driven:
 * perf_client_turn() after fabric events and at deadlines, until perf_client_is_done().
 */
struct perf_client_config {
	struct fabric_addr to, from; /* .from: an address of this machine; .len 0: any */
	struct leg_config leg;	     /* .versions one bit */
	enum perf_op op;
	const uint32_t *sizes; /* octets of data; a step each */
	unsigned nsizes;
	unsigned depth, connections;
	nsec_t duration; /* of a step; NSEC_NEVER: no limit */
	uint64_t count;	 /* RPCs of a step; UINT64_MAX: no limit */
	unsigned
		rate; /* at most so many calls a second, of all connections together; 0: no limit */
	nsec_t call_timeout;
	uint32_t slack;	  /* READ: octets the Write chunk has beyond the data asked for */
	bool reply_chunk; /* offer one where the reply may need it */
	bool call_chunk;  /* version 2: a Call chunk instead of continuation */
	bool inline_data; /* READ, WRITE: no chunk for data that fits inline */
	bool verify;
	/* A connection that ends is made again, and its calls in flight are sent again, with the same XID. All of
	 * that within .call_timeout, from when a call was sent first, or the connection ended. */
	bool reconnects;
	bool is_silent; /* tests: no error text */
};

/** perf_spread_at - the quantiles that are told as JSON, per million. */
enum { PERF_SPREAD = 10 };
extern const uint32_t perf_spread_at[PERF_SPREAD];

/** struct perf_step - what one size gave. */
struct perf_step {
	uint32_t size;
	uint64_t rpcs, bytes, errors;
	nsec_t took;
	nsec_t p50, p99, p999, max;
	nsec_t spread[PERF_SPREAD];
};

struct perf_client;

/** perf_client_new - begins to connect; @cfg and what @env points to are borrowed for life.
 * Returns owned, or NULL without memory (the arena's counts: perf_client_memory()). */
struct perf_client *perf_client_new(const struct perf_client_config *cfg,
				    const struct perf_env *env);

/** perf_client_memory - octets the arena must have for @cfg. */
size_t perf_client_memory(const struct perf_client_config *cfg);

/** perf_client_turn - do all that is due; bounded. Return: 1 when there is more, else 0. */
int perf_client_turn(struct perf_client *c);

/** perf_client_deadline - when the next turn is needed without a fabric event. */
nsec_t perf_client_deadline(const struct perf_client *c);

/** perf_client_stop - no new calls; ends when those in flight are answered. */
void perf_client_stop(struct perf_client *c);

/** perf_client_is_done - every connection is closed. */
bool perf_client_is_done(const struct perf_client *c);

/** perf_client_steps - the steps finished; @n of them. */
const struct perf_step *perf_client_steps(const struct perf_client *c, unsigned *n);

/** perf_client_total - all steps together; of a step under way as well, for progress. */
void perf_client_total(const struct perf_client *c, struct perf_step *total);

/** struct perf_again - connections that were made again, and calls that were sent again on these. */
struct perf_again {
	uint64_t reconnects, resent;
};
struct perf_again perf_client_again(const struct perf_client *c);

const struct perf_errors *perf_client_errors(const struct perf_client *c);

/** perf_client_proof - who the server is, as the first connection saw it proved, and how long that took;
 * NULL: it was not. */
const struct leg_proof *perf_client_proof(const struct perf_client *c, nsec_t *took);

/** perf_client_free - takes @c, which may be NULL. */
void perf_client_free(struct perf_client *c);

#endif
