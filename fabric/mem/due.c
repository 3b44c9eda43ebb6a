/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "base/random.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"

/*
 * Operation. Everything that will happen is a struct mem_due in one list, sorted by virtual time.
 * All choices come from one seeded generator, so a run can be repeated exactly.
 *
 * The time of everything that uses the wire of a connection comes from memnet_wire(), which draws a
 * latency, keeps the order (*last), and waits for the end of a stall.
 */

uint64_t memnet_random(struct memnet *net)
{
	return random_next(&net->rng);
}

bool memnet_fault_hits(struct memnet *net, enum memnet_fault fault, uint64_t *counter)
{
	if (++*counter < net->cfg.fault_at || net->cfg.fault != fault || net->fault_done)
		return false;
	net->fault_done = true;
	return true;
}

nsec_t memnet_after(nsec_t at, nsec_t delay)
{
	return at > NSEC_NEVER - delay ? NSEC_NEVER : at + delay;
}

static nsec_t latency(struct memnet *net)
{
	nsec_t span = net->cfg.latency_max - net->cfg.latency_min;

	return net->cfg.latency_min + (span ? memnet_random(net) % (span + 1) : 0);
}

nsec_t memnet_soon(struct memnet *net)
{
	return memnet_after(net->now, latency(net));
}

static nsec_t in_order(const struct mem_conn *c, nsec_t at, nsec_t *last)
{
	if (at < c->stall_until)
		at = c->stall_until;
	if (at < *last)
		at = *last;
	*last = at;
	return at;
}

nsec_t memnet_wire(struct mem_conn *c, nsec_t *last)
{
	return in_order(c, memnet_after(memnet_soon(mem_conn_net(c)), c->delay), last);
}

nsec_t memnet_wire_slow(struct mem_conn *c, nsec_t *last, nsec_t takes)
{
	nsec_t from = *last > mem_conn_net(c)->now ? *last : mem_conn_net(c)->now;
	nsec_t at = memnet_wire(c, last);

	if (takes && at < memnet_after(from, takes))
		*last = at = memnet_after(from, takes);
	return at;
}

nsec_t memnet_here(struct mem_conn *c, nsec_t *last)
{
	return in_order(c, memnet_soon(mem_conn_net(c)), last);
}

void memnet_due_init(struct mem_due *due, struct mem_conn *conn, enum mem_what what)
{
	list_init(&due->link);
	due->conn = conn;
	due->what = what;
}

void memnet_schedule(struct memnet *net, struct mem_due *due, nsec_t at)
{
	struct list *before = net->due.prev;

	assert(list_is_empty(&due->link));
	due->at = at;
	while (before != &net->due && container_of(before, struct mem_due, link)->at > at)
		before = before->prev;
	list_add_head(before, &due->link);
}
