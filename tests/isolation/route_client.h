/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_CLIENT_H
#define TESTS_ISOLATION_ROUTE_CLIENT_H

#include "tests/isolation/route_end.h"

/**
 * route_client - a client's connection that makes calls of NFS version 3, and knows how long each waited
 *
 * What it exposes is memory of all clients together, which nobody looks at.
 */

enum { CLIENT_CALLS = 64, CLIENT_SEGS = 160 };

enum call_kind { CALL_NULL, CALL_READ, CALL_WRITE, CALL_LONG, CALL_KINDS };

/** struct call_shape - what is asked. */
struct call_shape {
	enum call_kind kind; /* LONG: without chunks, its own @bytes continued (version 2) */
	uint32_t bytes;	     /* of READ, WRITE and LONG */
	unsigned small; /* segments of 4 octets before the one with the rest, below CLIENT_SEGS */
};

struct route_call {
	bool used;
	uint32_t xid;
	unsigned tag; /* the caller's */
	nsec_t began; /* when it was wanted */
	unsigned nhandles;
	uint32_t handles[CLIENT_SEGS];
};

struct route_client {
	struct route_end end;
	struct fabric *fabric;
	uint8_t *memory; /* CLIENT_MEMORY of it, registered: of all clients */
	uint32_t next_xid;
	unsigned busy; /* calls without an answer */
	nsec_t ended;  /* when its connection ended */
	struct route_call calls[CLIENT_CALLS];
	/* A continued call that drips. */
	uint32_t part_xid, part_left;
	/* Told of each answer; or NULL. */
	void (*answered)(void *arg, const struct route_call *c, nsec_t now);
	void *arg;
};

enum { CLIENT_MEMORY = 8 << 20 };

/** route_client_connect - @version 1 or 2; all of @c but .end.memory, .fabric, .memory, .answered and .arg begins anew. */
void route_client_connect(struct route_client *c, unsigned version, const struct fabric_addr *from,
			  const struct fabric_addr *to);

/** route_client_call - now. Return: false: the gateway has not granted it yet, or there is no room for it. */
bool route_client_call(struct route_client *c, const struct call_shape *shape, unsigned tag,
		       nsec_t now);

/** route_client_drip - the next @len octets of a continued call of @total, which ends with its connection alone. */
void route_client_drip(struct route_client *c, uint32_t total, uint32_t len);

/** route_client_event - one of its connection's. */
void route_client_event(struct route_client *c, const struct fabric_event *ev, nsec_t now);

/** route_client_leave - at once. */
void route_client_leave(struct route_client *c);

#endif
