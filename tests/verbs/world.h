/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VERBS_WORLD_H
#define TESTS_VERBS_WORLD_H

#include "tests/cmocka_all.h"

#include "fabric/verbs/verbs.h"
#include "tests/poll_loop.h"

/**
 * world - two instances of fabric/verbs on the device with the address VERBS_ADDRESS, and a record
 * of their events. Receives belong to each connection, or are shared.
 */
enum {
	WORLD_DEPTH = 32,    /* depth of queues in world_params() */
	WORLD_MESSAGE = 512, /* octets of a shared Receive, and of each slot of .memory */
	WORLD_POOL = 1024,   /* most shared Receives of an end; they are the last slots */
	WORLD_SLOTS = WORLD_POOL + 2 * WORLD_DEPTH,
	WORLD_TIMEOUT = 2000,
};

/** struct end - an instance; [0] is the initiator. */
struct end {
	struct fabric *fabric;
	struct fabric_conn *conn; /* the newest connection */
	uint8_t *memory;
	unsigned requests, connected, ended;
	int status;	 /* status of the ended connection */
	const char *why; /* description of that status */
	struct fabric_conn *ended_conn;
	unsigned done[FABRIC_EV_WITHDRAWN + 1], failed;
	/* With shared Receives: */
	bool deaf; /* does not poll */
	bool posted[WORLD_POOL];
	unsigned nposted, came_back;
};

struct world {
	struct poll_loop loop;
	struct fabric_listener *listener;
	bool shares;
	struct end end[2];
};

/** world_start - cmocka set-up: *state is a struct world. */
int world_start(void **state, const struct verbs_config *cfg, bool shares);
int world_stop(void **state);

/** world_turn - flush, poll and wait once. */
void world_turn(struct world *w);

#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		for (int turns = 0; !(condition) && turns < WORLD_TIMEOUT; turns++)                \
			world_turn(w);                                                             \
		assert_true(condition);                                                            \
	} while (0)

struct fabric_conn_params world_params(void);

/** world_establish - make one more connection; if it has its own Receives, they are posted at the
 * acceptor. */
void world_establish(struct world *w, const struct fabric_conn_params *a,
		     const struct fabric_conn_params *b);

/** world_send - send @n messages of @len octets on @c. */
void world_send(struct world *w, struct fabric_conn *c, unsigned n, uint32_t len);

/** world_has_device - whether there is a device; if not, prints why nothing is tested. */
bool world_has_device(void);

#endif
