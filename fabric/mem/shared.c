/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/mem/shared.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"
#include "fabric/mem/range.h"

/*
 * Operation. Receives that all connections of an instance share are slots of the instance:
 *
 *   .free --post--> .posted --flush--> .queue --message--> event --poll--> .free
 *                                        ^------ its connection destroyed ---'
 *
 * These operations wait in the .backlog of the end at which they arrived, as on a device that tells
 * its sender to try again:
 * - a Send that finds .queue empty;
 * - a Send to an end that holds too many Receives (fabric_may_hold()), unless the instance shares
 *   blindly;
 * - a Send of an end whose messages a test limits (memnet_limit_messages()), even if Receives are
 *   not shared;
 * - a Write to a stream that has no room;
 * - every operation that arrives behind one of these.
 *
 * The connection is in .waiting. Each connection that can continue has a .resume due: when one
 * comes, the connection that waited longest has one operation delivered and goes to the end of the
 * list. The disconnect of the sender waits, too, for a limited time.
 */

enum { DEFAULT_LEAST = 8, DEFAULT_MOST = 1024 };

int mem_share_receives(struct fabric *base, uint32_t len)
{
	struct mem_fabric *f = mem_fabric_of(base);
	const struct memnet_config *cfg = &f->net->cfg;
	struct mem_share *s = &f->share;

	assert(!s->ops);
	for (struct list *it = f->conns.next; it != &f->conns; it = it->next)
		assert(!container_of(it, struct mem_conn, link)->ops);
	if (!cfg->shares_receives)
		return ERR_CONFIG;
	fabric_depth_init(&s->depth, cfg->shared_least ? cfg->shared_least : DEFAULT_LEAST,
			  cfg->shared_most ? cfg->shared_most : DEFAULT_MOST);
	s->ops = mem_zalloc(s->depth.most * sizeof(*s->ops));
	if (!s->ops)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < s->depth.most; i++) {
		mem_op_init(NULL, &s->ops[i]);
		list_add_tail(&s->free, &s->ops[i].link);
	}
	s->len = len;
	s->held = s->queued = 0;
	s->period_end = f->net->now + NSEC_PER_SEC;
	return 0;
}

void mem_unshare_receives(struct fabric *base)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct mem_share *s = &f->share;

	assert(s->ops);
	for (struct list *it = f->conns.next; it != &f->conns; it = it->next)
		assert(!container_of(it, struct mem_conn, link)->ops);
	assert(s->depth.promised == 0);
	for (uint32_t i = 0; i < s->depth.most; i++) {
		list_del(&s->ops[i].done.link);
		mem_op_guard(&s->ops[i], false);
	}
	mem_free(s->ops);
	s->ops = NULL;
	s->held = s->queued = 0;
	list_init(&s->free);
	list_init(&s->posted);
	list_init(&s->queue);
}

uint32_t mem_receives_wanted(const struct fabric *base)
{
	const struct mem_share *s = &mem_fabric_of((struct fabric *)base)->share;

	assert(s->ops);
	return fabric_depth_missing(&s->depth, s->held);
}

/* Poisons and guards the memory of the Receive @op, which a message may take from now on. */
static void mem_shared_arm(struct mem_op *op)
{
	op->due.conn = NULL;
	op->done.ev = (struct fabric_event){.type = FABRIC_EV_RECV, .cookie = op->cookie};
	mem_op_arm(op);
}

int mem_post_shared(struct fabric *base, void *buf, void *cookie)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct mem_share *s = &f->share;
	struct list *slot;
	struct mem_op *op;

	assert(s->ops);
	assert(mem_range_owns(f, buf, s->len));
	slot = list_pop(&s->free);
	if (!slot)
		return ERR_AGAIN;
	op = container_of(slot, struct mem_op, link);
	op->kind = MEM_RECV;
	op->cookie = cookie;
	op->to[0] = (struct fabric_piece){buf, s->len};
	op->npieces = 1;
	op->len = s->len;
	mem_shared_arm(op);
	list_add_tail(&s->posted, &op->link);
	s->held++;
	return 0;
}

static bool may_keep(const struct mem_conn *c)
{
	const struct fabric *f = c->base.fabric;

	uint64_t left = (uint64_t)f->receives_left + mem_conn_fabric(c)->share.queued;

	return !f->shares_out ||
	       fabric_may_hold(c->base.recvs_held + c->unpolled, left, f->receives_most) ||
	       (c->base.reads_blocked && left > f->receives_most / FABRIC_RECV_RESERVE_DIV);
}

/* Whether the user of @c holds too many Receives, so that another message has to wait. */
static bool has_its_share(const struct mem_conn *c)
{
	return c->may_receive == 0 || (mem_shared_serves(c) && !may_keep(c));
}

/* Whether a message to @c waits for a Receive. */
static bool lacks_recv(const struct mem_conn *c)
{
	return has_its_share(c) || (mem_shared_serves(c) && !mem_conn_fabric(c)->share.queued);
}

static bool next_is_send(const struct mem_conn *c)
{
	return list_first(&c->backlog, struct mem_op, link)->kind == MEM_SEND;
}

static bool can_go_on(const struct mem_conn *c)
{
	if (c->state != MEM_OPEN || c->closing)
		return false;
	return c->base.sink_blocked ? c->has_room : !next_is_send(c) || !lacks_recv(c);
}

static void note_whether_it_waits(struct mem_conn *c)
{
	bool was_limited = c->base.recv_limited, were_blocked = c->base.reads_blocked;

	c->base.recv_limited = !list_is_empty(&c->backlog) && next_is_send(c) && has_its_share(c);
	c->base.read_turn_unused = c->base.recv_limited && c->turn_unused;
	c->base.reads_blocked &= c->base.recv_limited;
	if (!(c->base.recv_limited ? !was_limited : were_blocked) ||
	    !list_is_empty(&c->recv_limited.link))
		return;
	c->recv_limited.ev.type = FABRIC_EV_RECV_LIMITED;
	mem_event_push(c, &c->recv_limited);
}

/* The next flush checks whether messages of @conn can continue. */
void mem_gave_back(struct fabric_conn *conn)
{
	(void)conn;
}

/* Connections that can continue try again, each over its own wire. */
void mem_shared_wake(struct mem_fabric *f)
{
	for (struct list *it = f->share.waiting.next; it != &f->share.waiting; it = it->next) {
		struct mem_conn *c = container_of(it, struct mem_conn, waiting);
		nsec_t any = 0;

		if (can_go_on(c) && list_is_empty(&c->resume.link))
			memnet_schedule(f->net, &c->resume, memnet_wire(c->peer, &any));
		note_whether_it_waits(c);
	}
}

/* The first operation of @c that waited. */
static struct mem_op *unqueue(struct mem_fabric *f, struct mem_conn *c)
{
	struct mem_op *op = container_of(list_pop(&c->backlog), struct mem_op, link);

	list_del(&c->waiting);
	c->base.sink_blocked = false;
	if (!list_is_empty(&c->backlog))
		list_add_tail(&f->share.waiting, &c->waiting);
	note_whether_it_waits(c);
	return op;
}

struct mem_op *mem_shared_next(struct mem_fabric *f, struct mem_conn **target)
{
	for (struct list *it = f->share.waiting.next; it != &f->share.waiting; it = it->next) {
		struct mem_conn *c = container_of(it, struct mem_conn, waiting);

		if (!can_go_on(c) || c->peer->stall_until > f->net->now)
			continue;
		*target = c;
		return unqueue(f, c);
	}
	return NULL;
}

void mem_shared_back(struct mem_conn *target, struct mem_op *op)
{
	target->base.sink_blocked = true;
	target->has_room = false;
	list_add_head(&target->backlog, &op->link);
	if (list_is_empty(&target->waiting))
		list_add_tail(&mem_conn_fabric(target)->share.waiting, &target->waiting);
	note_whether_it_waits(target);
}

void mem_shared_room(struct mem_conn *c)
{
	if (!c->base.sink_blocked)
		return;
	c->has_room = true;
	mem_shared_wake(mem_conn_fabric(c));
}

bool mem_shared_wait(struct mem_conn *target, struct mem_op *op)
{
	struct mem_share *s = &mem_conn_fabric(target)->share;

	if (list_is_empty(&target->backlog)) {
		if (op->kind != MEM_SEND || !lacks_recv(target))
			return false;
		list_add_tail(&s->waiting, &target->waiting);
		if (mem_shared_serves(target) && !s->queued) {
			if (!s->dry)
				fabric_depth_low(&s->depth);
			s->dry = true;
		}
	}
	list_add_tail(&target->backlog, &op->link);
	note_whether_it_waits(target);
	return true;
}

void mem_shared_forget(struct mem_conn *c)
{
	while (list_pop(&c->backlog))
		;
	c->base.sink_blocked = false;
	list_del(&c->waiting);
	list_del(&c->resume.link);
}

struct mem_op *mem_shared_pick(struct mem_fabric *f)
{
	struct list *queue = &f->share.queue;

	return container_of(memnet_random(f->net) % 2 ? queue->next : queue->prev, struct mem_op,
			    link);
}

void mem_shared_take(struct mem_conn *c, struct mem_op *op)
{
	struct mem_share *s = &mem_conn_fabric(c)->share;

	list_del(&op->link);
	op->due.conn = c;
	c->unpolled++;
	s->queued--;
	fabric_depth_see(&s->depth, s->queued);
}

void mem_shared_repost(struct mem_fabric *f, struct mem_op *op)
{
	op->due.conn->unpolled--;
	mem_shared_arm(op);
	list_add_tail(&f->share.queue, &op->link);
	f->share.queued++;
	f->share.dry = false;
}

void mem_shared_polled(struct mem_fabric *f, struct mem_op *op)
{
	if (op->due.conn)
		op->due.conn->unpolled--;
	op->due.conn = NULL;
	mem_op_guard(op, false);
	op->npieces = 0;
	list_add_tail(&f->share.free, &op->link);
	f->share.held--;
}

void mem_shared_flush(struct mem_fabric *f)
{
	struct mem_share *s = &f->share;

	if (!s->ops)
		return;
	fabric_depth_see(&s->depth, s->queued);
	if (f->net->now >= s->period_end) {
		fabric_depth_period(&s->depth);
		s->period_end = f->net->now + NSEC_PER_SEC;
	}
	for (struct list *item; (item = list_pop(&s->posted));) {
		list_add_tail(&s->queue, item);
		s->queued++;
		s->dry = false;
	}
	fabric_depth_see(&s->depth, s->queued);
	mem_shared_wake(f);
}

void memnet_limit_messages(struct fabric_conn *base, uint32_t n, bool turn_unused)
{
	struct mem_conn *target = mem_conn_of(base)->peer;

	assert(target);
	target->may_receive = n;
	target->turn_unused = turn_unused;
	mem_shared_wake(mem_conn_fabric(target));
}

void memnet_starve(struct fabric *base, bool starves)
{
	base->recv_starving = starves;
}

void memnet_flush_shared(struct fabric *base)
{
	struct mem_fabric *f = mem_fabric_of(base);
	struct mem_share *s = &f->share;

	mem_shared_flush(f);
	for (struct list *item; (item = list_pop(&s->queue));) {
		struct mem_op *op = container_of(item, struct mem_op, link);

		op->done.ev.status = ERR_FLUSHED;
		list_add_tail(&f->ready, &op->done.link);
	}
	s->queued = 0;
}
