/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_SERVER_H
#define TESTS_ISOLATION_ROUTE_SERVER_H

#include "tests/isolation/route_end.h"

/**
 * route_server - a version 1 server with any number of connections. It answers NULLs at once, and
 * calls with chunks one after the other on each connection.
 */

enum { SERVER_CONNS = 96, SERVER_CALLS = 72, SERVER_SEGS = 16, SERVER_SINK = 1 << 20 };

struct server_call {
	uint32_t xid;
	bool is_read; /* true: its result is written; false: its argument is read */
	unsigned nsegs;
	struct segment segs[SERVER_SEGS];
};

struct server_conn {
	struct route_end end;
	struct route_server *server;
	uint8_t *sink;	   /* SERVER_SINK octets */
	unsigned first, n; /* of .calls: the waiting calls; the first is being served */
	bool begun;
	unsigned ops; /* Reads and Writes in flight for the first */
	nsec_t due;   /* when its answer is due */
	struct server_call calls[SERVER_CALLS];
};

struct route_server {
	struct fabric *fabric;
	struct fabric_addr addr;
	struct fabric_listener *listener;
	bool hangs;	      /* receives calls and answers none */
	bool hangs_at_chunks; /* answers only calls without chunks */
	nsec_t thinks;	 /* time before it answers a rogue's call with chunks, on each connection */
	unsigned nconns; /* most connections at a time so far */
	unsigned accepted;
	uint8_t *memory; /* ROUTE_SERVER_BYTES octets */
	struct server_conn conns[SERVER_CONNS];
};

enum { ROUTE_SERVER_BYTES = (8 << 20) + SERVER_CONNS * (END_BYTES + SERVER_SINK) };

/** route_server_init - @memory: ROUTE_SERVER_BYTES, registered. */
void route_server_init(struct route_server *s, struct fabric *fabric, uint8_t *memory);

/** route_server_turn - handle all events, and all that is due at @now. Return: when to call
 * again. */
nsec_t route_server_turn(struct route_server *s, nsec_t now);

/** route_server_leave - end all connections. */
void route_server_leave(struct route_server *s);

#endif
