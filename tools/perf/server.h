/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_SERVER_H
#define TOOLS_PERF_SERVER_H

#include "tools/perf/env.h"

/**
 * perf_server - responder of the private program (program.h), on any number of connections in one
 * thread. The caller calls perf_server_turn() after fabric events and at deadlines.
 */
struct perf_server_config {
	struct leg_config leg;
	/* the server checks received data and fills sent data; otherwise it does neither */
	bool verify;
	bool is_silent; /* for tests: print no errors */
};

struct perf_server_totals {
	uint64_t connections, rpcs;
	uint64_t bytes_in, bytes_out; /* octets of data; in: ECHO, WRITE; out: ECHO, READ */
	uint64_t refused;	      /* calls answered with an RPC error or an error report */
	uint64_t proved;	      /* clients that authenticated */
	uint64_t waits;		      /* waits for memory */
	char last_peer[HOSTAUTH_NAME_BYTES]; /* name of the last of them */
};

struct perf_server;

/** perf_server_new - @cfg and what @env points to are borrowed for life. Returns owned, or NULL. */
struct perf_server *perf_server_new(const struct perf_server_config *cfg,
				    const struct perf_env *env);

/** perf_server_owner - owner for fabric_attach(). */
void *perf_server_owner(struct perf_server *s);

/** perf_server_turn - do all that is due, within bounds. Return: 1 if there is more to do, else
 * 0. */
int perf_server_turn(struct perf_server *s);

/** perf_server_deadline - when the next turn is needed without a fabric event. */
nsec_t perf_server_deadline(const struct perf_server *s);

const struct perf_server_totals *perf_server_totals(const struct perf_server *s);
const struct perf_errors *perf_server_errors(const struct perf_server *s);

/** perf_server_free - takes @s, which may be NULL; ends every connection at once. */
void perf_server_free(struct perf_server *s);

#endif
