/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_CLIENT_H
#define TOOLS_PERF_CLIENT_H

#include "tools/perf/env.h"
#include "tools/perf/program.h"
#include "tools/perf/stats.h"

/**
 * perf_client - requester of the private program (program.h). It runs one step for each size, and
 * keeps .depth calls in flight on each of its .connections. The caller calls perf_client_turn()
 * after fabric events and at deadlines, until perf_client_is_done().
 */
struct perf_client_config {
	struct fabric_addr to, from; /* .from: a local address; .len 0: any */
	struct leg_config leg;	     /* .versions has one bit set */
	enum perf_op op;
	const uint32_t *sizes; /* octets of data; each size is a step */
	unsigned nsizes;
	unsigned depth, connections;
	nsec_t duration; /* of a step; NSEC_NEVER: no limit */
	uint64_t count;	 /* RPCs of a step; UINT64_MAX: no limit */
	unsigned rate;	 /* calls per second of all connections together, at most; 0: no limit */
	nsec_t call_timeout;
	uint32_t slack;	  /* READ: octets the Write chunk has beyond the data asked for */
	bool reply_chunk; /* offer a Reply chunk if the reply may need it */
	bool call_chunk;  /* version 2: use a Call chunk instead of continuation */
	bool inline_data; /* READ, WRITE: no chunk for data that fits inline */
	bool verify;
	/* A connection that ends is made again, and its calls in flight are sent again with the
	 * same XID. A call has to be answered within .call_timeout from its first send, and a
	 * connection made again within .call_timeout from its end. */
	bool reconnects;
	bool is_silent; /* for tests: print no errors */
};

/** perf_spread_at - quantiles of the JSON report, per million. */
enum { PERF_SPREAD = 10 };
extern const uint32_t perf_spread_at[PERF_SPREAD];

/** struct perf_step - results of one size. */
struct perf_step {
	uint32_t size;
	uint64_t rpcs, bytes, errors;
	nsec_t took;
	nsec_t p50, p99, p999, max;
	nsec_t spread[PERF_SPREAD];
};

struct perf_client;

/** perf_client_new - begin to connect. @cfg and what @env points to are borrowed for life. Return:
 * owned, or NULL without memory. For the arena's memory see perf_client_memory(). */
struct perf_client *perf_client_new(const struct perf_client_config *cfg,
				    const struct perf_env *env);

/** perf_client_memory - octets that the arena needs for @cfg. */
size_t perf_client_memory(const struct perf_client_config *cfg);

/** perf_client_turn - do all that is due, within bounds. Return: 1 if there is more to do, else
 * 0. */
int perf_client_turn(struct perf_client *c);

/** perf_client_deadline - when the next turn is needed without a fabric event. */
nsec_t perf_client_deadline(const struct perf_client *c);

/** perf_client_stop - start no new calls, and end when the calls in flight are answered. */
void perf_client_stop(struct perf_client *c);

/** perf_client_is_done - whether every connection is closed. */
bool perf_client_is_done(const struct perf_client *c);

/** perf_client_steps - the finished steps; *@n is their number. */
const struct perf_step *perf_client_steps(const struct perf_client *c, unsigned *n);

/** perf_client_total - sum of all steps, including the step under way. */
void perf_client_total(const struct perf_client *c, struct perf_step *total);

/** struct perf_again - numbers of connections made again, and of calls sent again on them. */
struct perf_again {
	uint64_t reconnects, resent;
};
struct perf_again perf_client_again(const struct perf_client *c);

const struct perf_errors *perf_client_errors(const struct perf_client *c);

/** perf_client_proof - the server's proven identity on the first connection, and how long the
 * handshake took; NULL: none. */
const struct leg_proof *perf_client_proof(const struct perf_client *c, nsec_t *took);

/** perf_client_free - takes @c, which may be NULL. */
void perf_client_free(struct perf_client *c);

#endif
