/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "base/mem.h"
#include "fabric/mem/conn.h"
#include "fabric/mem/deliver.h"
#include "fabric/mem/due.h"
#include "fabric/mem/expose.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/listen.h"
#include "fabric/mem/op.h"

/*
 * Operation. memnet_step() takes the first struct mem_due of the list (due.c), sets the clock to
 * its time and executes it, or a fault in its place. Consequences are put into the list.
 */

void memnet_set_far(struct memnet *net, const struct fabric_addr *addr, nsec_t delay)
{
	net->far = *addr;
	net->far_delay = delay;
}

/* Delays everything of @c that uses the wire by @delay. */
static void delay_conn(struct memnet *net, struct mem_conn *c, nsec_t delay)
{
	struct list moved;

	c->stall_until = memnet_after(net->now, delay);
	c->last_sent = memnet_after(c->last_sent, delay);
	c->last_response = memnet_after(c->last_response, delay);
	for (unsigned i = 0; i < MEM_KINDS; i++)
		c->last_done[i] = memnet_after(c->last_done[i], delay);
	list_init(&moved);
	list_for_each_safe(it, tmp, &net->due)
	{
		struct mem_due *due = container_of(it, struct mem_due, link);

		if (due->conn != c || due->local)
			continue;
		list_del(it);
		list_add_tail(&moved, it);
	}
	for (struct list *it; (it = list_pop(&moved));) {
		struct mem_due *due = container_of(it, struct mem_due, link);

		memnet_schedule(net, due, memnet_after(due->at, delay));
	}
}

static void stall(struct memnet *net, struct mem_conn *c, nsec_t delay)
{
	struct mem_conn *peer = c->peer;

	delay_conn(net, c, delay);
	if (peer)
		delay_conn(net, peer, delay);
	if (delay == NSEC_NEVER) {
		c->vanished = true;
		if (peer)
			peer->vanished = true;
	}
}

void memnet_cut(struct fabric_conn *base)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_conn *peer = c->peer;

	if (peer)
		mem_conn_end(peer, ERR_CLOSED, "connection lost");
	mem_conn_end(c, ERR_CLOSED, "connection lost");
}

void memnet_limit_exposures(struct fabric *base, uint32_t n)
{
	mem_fabric_of(base)->most_exposed = n;
}

void memnet_short(struct fabric *base, nsec_t from, nsec_t until)
{
	mem_fabric_of(base)->short_from = from;
	mem_fabric_of(base)->short_until = until;
}

void memnet_pace(struct fabric_conn *base, const struct memnet_pace *pace)
{
	mem_conn_of(base)->pace = *pace;
}

void memnet_vanish(struct fabric_conn *base)
{
	struct mem_conn *c = mem_conn_of(base);

	stall(mem_conn_net(c), c, NSEC_NEVER);
}

/* Whether a fault took the place of @due, which is first on the list. */
static bool strike(struct memnet *net, struct mem_due *due)
{
	struct mem_conn *c = due->conn;

	if (net->fault_done || net->ops + 1 < net->cfg.fault_at || c->state == MEM_ENDED)
		return false;
	switch (net->cfg.fault) {
	case MEMNET_CUT:
		memnet_cut(&c->base);
		break;
	case MEMNET_STALL:
		stall(net, c, net->cfg.fault_delay);
		break;
	case MEMNET_VANISH:
		stall(net, c, NSEC_NEVER);
		break;
	default:
		return false;
	}
	net->fault_done = true;
	return true;
}

static struct mem_op *op_of(struct mem_due *due)
{
	return container_of(due, struct mem_op, due);
}

static void happen(struct mem_due *due)
{
	switch (due->what) {
	case MEM_REQUEST_ARRIVES:
		mem_request_arrives(due->conn);
		break;
	case MEM_ACCEPTED:
		mem_accepted(due->conn);
		break;
	case MEM_ANSWER_ARRIVES:
		mem_answer_arrives(due->conn);
		break;
	case MEM_BYE_ARRIVES:
		mem_conn_bye_arrives(due->conn);
		break;
	case MEM_END_IS_TOLD:
		mem_conn_report_end(due->conn);
		break;
	case MEM_RESUMES:
		mem_deliver_resumed(mem_conn_fabric(due->conn));
		break;
	case MEM_ARRIVES:
		mem_deliver(op_of(due));
		break;
	case MEM_COMPLETES:
		mem_op_finish(op_of(due), 0);
		break;
	case MEM_ANSWERED:
		mem_deliver_answer(op_of(due));
		break;
	case MEM_FENCED:
		mem_exposure_fenced(op_of(due));
		break;
	case MEM_NOTHING:
		assert(0);
	}
}

int memnet_step(struct memnet *net, nsec_t until)
{
	struct mem_due *due = list_first(&net->due, struct mem_due, link);

	if (list_is_empty(&net->due) || due->at > until || due->at == NSEC_NEVER) {
		if (until != NSEC_NEVER && until > net->now)
			net->now = until;
		return 0;
	}
	if (due->at > net->now)
		net->now = due->at;
	if (strike(net, due))
		return 1;
	list_del(&due->link);
	net->ops++;
	happen(due);
	return 1;
}

struct memnet *memnet_new(const struct memnet_config *cfg)
{
	struct memnet *net = mem_zalloc(sizeof(*net));

	assert(cfg->latency_min <= cfg->latency_max);
	if (!net)
		return NULL;
	net->cfg = *cfg;
	net->rng = cfg->seed;
	list_init(&net->due);
	list_init(&net->fabrics);
	list_init(&net->listeners);
	return net;
}

void memnet_free(struct memnet *net)
{
	if (!net)
		return;
	assert(list_is_empty(&net->fabrics));
	assert(list_is_empty(&net->listeners));
	mem_free(net);
}

nsec_t memnet_now(const struct memnet *net)
{
	return net->now;
}

uint64_t memnet_ops(const struct memnet *net)
{
	return net->ops;
}

void memnet_watch(struct memnet *net, const struct memnet_watcher *w)
{
	net->watcher = w;
}

static void add_usage(const struct mem_conn *c, struct memnet_usage *u)
{
	u->conns++;
	u->posted += c->nposted;
	u->exposures += c->base.handles_live;
	for (uint32_t i = 0; c->exposures && i < c->max_exposures; i++)
		if (c->exposures[i].live)
			u->exposed_bytes += c->exposures[i].len;
}

void memnet_usage(const struct memnet *net, struct memnet_usage *u)
{
	*u = (struct memnet_usage){0};
	for (struct list *it = net->fabrics.next; it != &net->fabrics; it = it->next) {
		struct mem_fabric *f = container_of(it, struct mem_fabric, link);

		u->shared += f->share.held;
		for (struct list *jt = f->conns.next; jt != &f->conns; jt = jt->next)
			add_usage(container_of(jt, struct mem_conn, link), u);
	}
}
