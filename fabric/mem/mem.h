/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_MEM_H
#define FABRIC_MEM_MEM_H

#include "fabric/fabric.h"

/**
 * fabric/mem - the contract within one process, in virtual time, with seeded
 * faults: every end-to-end test that needs no socket runs here.
 *
 * A struct memnet is the network: the instances made from it can reach each
 * other. Nothing happens between calls: memnet_step() delivers one thing.
 */
struct memnet;

enum memnet_fault {
	MEMNET_NONE,
	MEMNET_CUT,	    /* lose the connection at the nth delivered operation */
	MEMNET_REFUSE,	    /* the nth connect is refused */
	MEMNET_EXPOSE_FAIL, /* the nth expose fails with ERR_AGAIN */
	MEMNET_STALL,	    /* the nth operation's connection delivers nothing for .delay */
};

struct memnet_config {
	uint64_t seed;
	nsec_t latency_min, latency_max; /* per operation, drawn between; order within a
					  * connection's direction is kept */
	enum memnet_fault fault;
	uint64_t fault_at;
	nsec_t fault_delay;
};

/** memnet_new - returns owned, or NULL. */
struct memnet *memnet_new(const struct memnet_config *cfg);
void memnet_free(struct memnet *net);

/** memnet_fabric - an instance on @net; free with fabric_free() before memnet_free(). */
struct fabric *memnet_fabric(struct memnet *net);

/** memnet_listen - any fabric_addr value serves as a name; attach as usual. */
struct fabric_listener *memnet_listen(struct memnet *net, const struct fabric_addr *addr);
void memnet_listener_free(struct fabric_listener *l);

/** memnet_now - virtual time. */
nsec_t memnet_now(const struct memnet *net);

/** memnet_step - advance to the next thing due (not beyond @until) and do it.
 * Return: 1 something was delivered, 0 nothing left before @until (time is then @until,
 * or unchanged for NSEC_NEVER). */
int memnet_step(struct memnet *net, nsec_t until);

/** memnet_ops - operations delivered so far: bounds for fault_at. */
uint64_t memnet_ops(const struct memnet *net);

#endif
