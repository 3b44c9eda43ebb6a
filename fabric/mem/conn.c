/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "base/mem.h"
#include "fabric/mem/conn.h"
#include "fabric/mem/due.h"
#include "fabric/mem/expose.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"
#include "fabric/mem/shared.h"

/*
 * Operation. A connection is two struct mem_conn that point to each other. All its memory is
 * allocated when its depths are known: a slot for each operation and exposure, with room for a
 * timer and a completion. So nothing later allocates.
 *
 * Each side ends in two steps:
 * - mem_conn_end() stops everything: posts return ERR_CLOSED, operations on the wire are dropped,
 *   and the peer reaches no exposure.
 * - A random time later mem_conn_report_end() queues the completions that are left, and
 *   DISCONNECTED behind them. The order of completions of different kinds is random.
 */

/* How long a disconnect waits for what was sent before. */
enum { LINGER_S = 5 };

struct mem_conn *mem_conn_new(struct mem_fabric *f, void *owner)
{
	struct mem_conn *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->base.fabric = &f->base;
	c->base.owner = owner;
	c->base.remote_inv = !f->net->cfg.no_remote_inv;
	list_init(&c->dirty);
	memnet_due_init(&c->setup, c, MEM_NOTHING);
	memnet_due_init(&c->bye, c, MEM_BYE_ARRIVES);
	memnet_due_init(&c->end, c, MEM_END_IS_TOLD);
	memnet_due_init(&c->resume, c, MEM_RESUMES);
	c->end.local = c->bye.local = true;
	c->may_receive = UINT32_MAX;
	list_init(&c->set_up.link);
	list_init(&c->ended.link);
	list_init(&c->recv_limited.link);
	list_init(&c->posted);
	list_init(&c->held);
	list_init(&c->reads);
	list_init(&c->backlog);
	list_init(&c->waiting);
	list_init(&c->free_ops);
	list_init(&c->free_recvs);
	list_init(&c->free_exposures);
	for (unsigned i = 0; i < MEM_KINDS; i++)
		list_init(&c->flight[i]);
	list_add_tail(&f->conns, &c->link);
	return c;
}

static struct mem_op *new_ops(struct mem_conn *c, uint32_t n, struct list *free)
{
	struct mem_op *ops = mem_zalloc(n * sizeof(*ops));

	for (uint32_t i = 0; ops && i < n; i++) {
		mem_op_init(c, &ops[i]);
		list_add_tail(free, &ops[i].link);
	}
	return ops;
}

static struct mem_exposure *new_exposures(struct mem_conn *c, uint32_t n)
{
	struct mem_exposure *e = mem_zalloc(n * sizeof(*e));

	for (uint32_t i = 0; e && i < n; i++) {
		mem_op_init(c, &e[i].fence);
		list_init(&e[i].placed.link);
		e[i].fence.exposure = &e[i];
		list_add_tail(&c->free_exposures, &e[i].link);
	}
	while (c->handle_mask < n)
		c->handle_mask = c->handle_mask * 2 + 1;
	c->handle_secret = (uint32_t)memnet_random(mem_conn_net(c));
	return e;
}

static void free_queues(struct mem_conn *c)
{
	mem_free(c->ops);
	mem_free(c->recvs);
	mem_free(c->exposures);
	c->ops = c->recvs = NULL;
	c->exposures = NULL;
	list_init(&c->free_ops);
	list_init(&c->free_recvs);
	list_init(&c->free_exposures);
}

/* fabric_accept() calls this after fabric_prepare() did: both must have been given the same
 * depths. */
int mem_conn_queues(struct mem_conn *c, const struct fabric_conn_params *params)
{
	c->ird = params->ird ? params->ird : MEM_DEFAULT_READ_DEPTH;
	c->ord = params->ord ? params->ord : MEM_DEFAULT_READ_DEPTH;
	if (c->ops) {
		assert(c->max_recvs == params->max_recvs && c->max_ops == params->max_sends &&
		       c->max_exposures == params->max_exposures &&
		       c->recv_pieces == params->recv_pieces);
		return 0;
	}
	c->max_recvs = params->max_recvs;
	c->recv_pieces = params->recv_pieces;
	c->max_ops = params->max_sends;
	c->max_exposures = params->max_exposures;
	c->ops = new_ops(c, c->max_ops, &c->free_ops);
	c->recvs = new_ops(c, mem_shared_serves(c) ? 0 : c->max_recvs, &c->free_recvs);
	c->exposures = new_exposures(c, c->max_exposures);
	if (c->ops && c->recvs && c->exposures) {
		if (c->recv_pieces < 2)
			mem_conn_fabric(c)->share.depth.promised += c->max_recvs;
		return 0;
	}
	free_queues(c);
	return ERR_NOMEM;
}

/* The status of @op when its connection ends. As with TCP, a Send or Write that never arrived may
 * report success (*@lucky). As with InfiniBand, the first one that fails has the reason of the end,
 * and those after it are flushed. */
static int end_status(struct mem_conn *c, struct mem_op *op, bool *lucky)
{
	bool is_first = *lucky && !c->orderly;

	if (op->kind != MEM_SEND && op->kind != MEM_WRITE)
		return ERR_FLUSHED;
	if (!op->flushed)
		*lucky = false;
	else if (!(c->orderly && op->delivered))
		*lucky = *lucky && memnet_random(mem_conn_net(c)) % 2;
	return *lucky ? 0 : is_first ? ERR_TIMEOUT : ERR_FLUSHED;
}

void mem_conn_report_end(struct mem_conn *c)
{
	bool lucky[MEM_KINDS] = {[MEM_SEND] = true, [MEM_WRITE] = true};
	unsigned left;

	do {
		unsigned kind = (unsigned)(memnet_random(mem_conn_net(c)) % MEM_KINDS);

		left = 0;
		for (unsigned i = 0; i < MEM_KINDS; i++)
			left += !list_is_empty(&c->flight[i]);
		if (!list_is_empty(&c->flight[kind])) {
			struct mem_op *op = list_first(&c->flight[kind], struct mem_op, kin);

			mem_op_finish(op, end_status(c, op, &lucky[kind]));
		}
	} while (left);
	mem_event_push(c, &c->ended);
}

/* Drops everything of @c on the wire, and ends its exposures. */
static void mem_conn_stop(struct mem_conn *c)
{
	list_del(&c->setup.link);
	list_del(&c->bye.link);
	list_del(&c->end.link);
	list_del(&c->dirty);
	mem_shared_forget(c);
	if (c->peer)
		mem_shared_forget(c->peer);
	list_init(&c->reads);
	list_init(&c->held);
	list_init(&c->posted);
	for (unsigned kind = 0; kind < MEM_KINDS; kind++)
		for (struct list *it = c->flight[kind].next; it != &c->flight[kind];
		     it = it->next) {
			struct mem_op *op = container_of(it, struct mem_op, kin);

			list_del(&op->due.link);
			list_init(&op->link);
		}
	for (uint32_t i = 0; c->exposures && i < c->max_exposures; i++)
		if (c->exposures[i].live)
			mem_exposure_invalidate(c, &c->exposures[i]);
}

void mem_conn_end(struct mem_conn *c, int status, const char *why)
{
	if (c->state == MEM_ENDED)
		return;
	if (c->state == MEM_REQUESTED && !c->polled) {
		mem_destroy(&c->base);
		return;
	}
	c->state = MEM_ENDED;
	mem_conn_stop(c);
	c->ended.ev.type = FABRIC_EV_DISCONNECTED;
	c->ended.ev.status = status;
	c->ended.ev.why = why;
	memnet_schedule(mem_conn_net(c), &c->end, memnet_soon(mem_conn_net(c)));
}

void mem_conn_breach(struct mem_conn *c, int status, const char *why)
{
	struct mem_conn *peer = c->peer;

	mem_conn_end(c, status, why);
	if (peer)
		mem_conn_end(peer, ERR_REMOTE, why);
}

/* Octets sent before still wait for a Receive: @c ends when they were taken, or after LINGER_S. */
static void bye_waits(struct mem_conn *c, struct mem_conn *peer)
{
	struct memnet *net = mem_conn_net(c);

	c->bye_waits = net->now < c->linger_until;
	if (c->bye_waits) {
		memnet_schedule(net, &c->bye, c->linger_until);
		return;
	}
	mem_conn_end(c, ERR_TIMEOUT, "the peer does not take what was sent");
	mem_conn_end(peer, ERR_CLOSED, "connection lost");
}

void mem_conn_bye_goes_on(struct mem_conn *c)
{
	struct memnet *net = mem_conn_net(c);

	if (!c->bye_waits || list_is_empty(&c->bye.link))
		return;
	c->bye_waits = false;
	list_del(&c->bye.link);
	memnet_schedule(net, &c->bye, nsec_min(memnet_wire(c, &c->last_sent), c->linger_until));
}

void mem_conn_bye_arrives(struct mem_conn *c)
{
	struct mem_conn *peer = c->peer;

	if (c->vanished) {
		mem_conn_end(c, ERR_TIMEOUT, "the peer does not take what was sent");
		return;
	}
	if (peer && !peer->closing && !list_is_empty(&peer->backlog)) {
		bye_waits(c, peer);
		return;
	}
	c->orderly = true;
	mem_conn_end(c, 0, NULL);
	if (peer)
		mem_conn_end(peer, 0, "closed by the peer");
}

void mem_conn_send_bye(struct mem_conn *c)
{
	nsec_t at;

	if (!c->closing || !list_is_empty(&c->bye.link))
		return;
	c->linger_until = mem_conn_net(c)->now + LINGER_S * NSEC_PER_SEC;
	at = memnet_wire(c, &c->last_sent);
	memnet_schedule(mem_conn_net(c), &c->bye, nsec_min(at, c->linger_until));
}

void mem_disconnect(struct fabric_conn *base)
{
	struct mem_conn *c = mem_conn_of(base);

	if (c->state == MEM_ENDED || c->closing)
		return;
	c->closing = true;
	if (list_is_empty(&c->dirty))
		list_add_tail(&mem_conn_fabric(c)->dirty, &c->dirty);
}

/* Memory under operations whose completions were queued, or never will be, is the user's again. */
static void purge(struct mem_conn *c)
{
	struct mem_fabric *f = mem_conn_fabric(c);

	for (unsigned kind = 0; kind < MEM_KINDS; kind++)
		for (struct list *it; (it = list_pop(&c->flight[kind]));) {
			struct mem_op *op = container_of(it, struct mem_op, kin);

			mem_op_guard(op, false);
		}
	list_for_each_safe(it, tmp, &f->ready)
	{
		struct mem_event *e = container_of(it, struct mem_event, link);

		if (e->ev.conn != &c->base)
			continue;
		list_del(it);
		if (e->op && mem_shared_has(f, e->op))
			mem_shared_repost(f, e->op);
		else if (e->op)
			mem_op_guard(e->op, false);
	}
}

void mem_destroy(struct fabric_conn *base)
{
	struct mem_conn *c = mem_conn_of(base), *peer = c->peer;
	bool unanswered = c->state == MEM_REQUESTED;

	mem_conn_stop(c);
	purge(c);
	list_del(&c->link);
	if (peer) {
		peer->peer = NULL;
		if (!c->vanished)
			mem_conn_end(peer, unanswered ? ERR_REFUSED : ERR_CLOSED,
				     "closed by the peer");
	}
	if (c->ops && c->recv_pieces < 2)
		mem_conn_fabric(c)->share.depth.promised -= c->max_recvs;
	free_queues(c);
	mem_free(c);
}
