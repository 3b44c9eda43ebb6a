/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROUTE_CLIENT_H
#define TESTS_ISOLATION_ROUTE_CLIENT_H

#include "tests/isolation/route_end.h"

/**
 * route_client - a client connection that makes calls of NFS version 3, and measures how long each
 * waits
 *
 * It exposes memory that all clients share and that is not checked.
 */

enum { CLIENT_CALLS = 64, CLIENT_SEGS = 160 };

enum call_kind { CALL_NULL, CALL_READ, CALL_WRITE, CALL_LONG, CALL_KINDS };

/** struct call_shape - kind and size of a call. */
struct call_shape {
	enum call_kind kind; /* LONG: without chunks, @bytes of its own, continued (version 2) */
	uint32_t bytes;	     /* octets of READ, WRITE and LONG */
	/* number of segments of 4 octets before the segment with the rest; less than CLIENT_SEGS */
	unsigned small;
};

struct route_call {
	bool used;
	uint32_t xid;
	unsigned tag; /* chosen by the caller */
	nsec_t began; /* when the caller wanted it */
	unsigned nhandles;
	uint32_t handles[CLIENT_SEGS];
};

struct route_client {
	struct route_end end;
	struct fabric *fabric;
	uint8_t *memory; /* CLIENT_MEMORY octets, registered; shared by all clients */
	uint32_t next_xid;
	unsigned busy; /* number of calls without an answer */
	nsec_t ended;  /* when its connection ended */
	struct route_call calls[CLIENT_CALLS];
	/* A continued call that is sent slowly. */
	uint32_t part_xid, part_left;
	/* Called for each answer; may be NULL. */
	void (*answered)(void *arg, const struct route_call *c, nsec_t now);
	void *arg;
};

enum { CLIENT_MEMORY = 8 << 20 };

/** route_client_connect - connect with @version 1 or 2. All of @c is reset except .end.memory,
 * .fabric, .memory, .answered and .arg. */
void route_client_connect(struct route_client *c, unsigned version, const struct fabric_addr *from,
			  const struct fabric_addr *to);

/** route_client_call - call now. Return: false: no credit, or no room. */
bool route_client_call(struct route_client *c, const struct call_shape *shape, unsigned tag,
		       nsec_t now);

/** route_client_drip - send the next @len octets of a continued call of @total octets, which ends
 * only with its connection. */
void route_client_drip(struct route_client *c, uint32_t total, uint32_t len);

/** route_client_event - handle an event of its connection. */
void route_client_event(struct route_client *c, const struct fabric_event *ev, nsec_t now);

/** route_client_leave - end its connection at once. */
void route_client_leave(struct route_client *c);

#endif
