/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_SERVER_H
#define TESTS_ISOLATION_ROUTE_SERVER_H

#include "tests/isolation/route_end.h"

/**
 * route_server - a server of version 1 with any number of connections: NULLs it answers at once, calls with chunks one after
 * the other on each connection
 */

enum { SERVER_CONNS = 96, SERVER_CALLS = 72, SERVER_SEGS = 16, SERVER_SINK = 1 << 20 };

struct server_call {
	uint32_t xid;
	bool is_read; /* what it returns is written; else what it brings is read */
	unsigned nsegs;
	struct segment segs[SERVER_SEGS];
};

struct server_conn {
	struct route_end end;
	struct route_server *server;
	uint8_t *sink;	   /* SERVER_SINK of it */
	unsigned first, n; /* of .calls: those that wait, the first under way */
	bool begun;
	unsigned ops; /* Reads and Writes of the first */
	nsec_t due;   /* its answer */
	struct server_call calls[SERVER_CALLS];
};

struct route_server {
	struct fabric *fabric;
	struct fabric_addr addr;
	struct fabric_listener *listener;
	bool hangs;	      /* takes calls, answers none */
	bool hangs_at_chunks; /* ... but those without chunks */
	nsec_t thinks;	      /* before it answers a rogue's call with chunks, on each connection */
	unsigned nconns;      /* that there ever were at once */
	unsigned accepted;
	uint8_t *memory; /* ROUTE_SERVER_BYTES of it */
	struct server_conn conns[SERVER_CONNS];
};

enum { ROUTE_SERVER_BYTES = (8 << 20) + SERVER_CONNS * (END_BYTES + SERVER_SINK) };

/** route_server_init - @memory: ROUTE_SERVER_BYTES, registered. */
void route_server_init(struct route_server *s, struct fabric *fabric, uint8_t *memory);

/** route_server_turn - all that has come and is due at @now. Return: when it is needed next. */
nsec_t route_server_turn(struct route_server *s, nsec_t now);

/** route_server_leave - all connections end. */
void route_server_leave(struct route_server *s);

#endif
