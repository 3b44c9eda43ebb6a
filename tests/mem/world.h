/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MEM_WORLD_H
#define TESTS_MEM_WORLD_H

#include "tests/cmocka_all.h"

#include "fabric/mem/mem.h"

/** world - two instances on one network and at most one connection between them. */
enum { WORLD_ARENA = 1 << 20, WORLD_DEPTH = 32 };

struct world {
	struct memnet *net;
	struct fabric *f[2];
	struct fabric_listener *l;
	struct fabric_addr addr;
	uint8_t mem[2][WORLD_ARENA];
	struct fabric_conn *a, *b;
	bool connected[2], gone[2];
	int status[2];
	unsigned posted[2], completed[2], flushed[2];
	/* messages in shared Receives; shared Receives returned without a message */
	unsigned messages, returned;
	int expose_failures, post_failures;
	uint64_t trace; /* hash of all events, in order */
	bool hold;	/* leave connection requests unanswered */
};

/** world_quiet - a network without faults. */
extern const struct memnet_config world_quiet;

void world_start(struct world *w, const struct memnet_config *cfg);

/** world_stop - destroy what is left; neither the net nor the heap may then hold anything. */
void world_stop(struct world *w);

struct fabric_conn_params world_params(void);

/** world_pump - poll, record and flush; no time passes. */
void world_pump(struct world *w);

/** world_run - run until nothing is due. */
void world_run(struct world *w);

/** world_connect - connect; side 1 accepts the request. Return: result of fabric_connect(). */
int world_connect(struct world *w);

/** world_join - connect, and wait until both sides are connected. */
void world_join(struct world *w);

void world_recv(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len);
void world_send(struct world *w, int side, struct fabric_conn *c, size_t off, uint32_t len);

/** world_life - a whole life of a connection with every kind of operation; any of them may fail. */
void world_life(struct world *w);

#endif
