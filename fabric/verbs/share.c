/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"
#include "fabric/verbs/share.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device_removal.h"
#include "fabric/verbs/drain.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * The common part of an instance's shared receive queues (srq.c). Each queue is as deep as its load
 * needs (fabric/depth.h).
 *
 * - The device reports once that a queue has fewer Receives than the armed limit. Then the limit
 *   has to be armed again.
 * - The limit is not armed while the queue has fewer Receives, or while the queue has a Receive for
 *   every message that peers may send.
 * - All workers share the descriptor of these events. The worker that reads an event sets a flag at
 *   the queue. The queue's own worker acts on the flag in its next turn, or after a second at most.
 *   Usually that worker is awake, because its queue is in use.
 */

void share_flush(struct verbs *v)
{
	for (struct list *it = v->shares.next; it != &v->shares; it = it->next) {
		struct vshare *s = container_of(it, struct vshare, link);

		if (s->srq)
			srq_flush(s);
	}
}

/* Flags and time */

static void look_at(struct verbs_conn *c)
{
	if (atomic_load(&c->async) < 0 && !atomic_load(&c->last))
		return;
	if (c->state != VERBS_OPEN && c->state != VERBS_DRAINING)
		return;
	drain_conn(c); /* its completions may tell why */
	if (c->state < VERBS_LEAVING)
		conn_close_failed(c);
	wake_conn(c);
}

/* Acts on the events that are stored at connections of @s. */
static void look_at_pairs(struct vshare *s)
{
	for (uint32_t i = 0; i <= s->mask; i++)
		for (struct verbs_conn *c = s->buckets[i]; c; c = c->next_pair)
			look_at(c);
}

static bool act_on_notes(struct vshare *s)
{
	struct verbs_dev *dev = s->dev;

	if (atomic_load(&s->low)) {
		atomic_store(&s->low, false);
		s->armed = 0;
		s->v->counters.receives_low++;
		fabric_depth_low(&s->depth);
	}
	if (atomic_load(&s->noted)) {
		atomic_store(&s->noted, false);
		look_at_pairs(s);
		return true;
	}
	if (!atomic_load(&s->failed))
		return false;
	device_removal_lost(dev); /* ends @s as well */
	return true;
}

bool share_notes(struct verbs *v)
{
	bool any = false;

	list_for_each_safe(it, tmp, &v->shares)
	{
		struct vshare *s = container_of(it, struct vshare, link);

		if (s->srq)
			any |= act_on_notes(s);
	}
	return any;
}

void share_tick(struct verbs *v, nsec_t now)
{
	if (now < v->period)
		return;
	v->period = NSEC_NEVER;
	(void)share_notes(v);
	for (struct list *it = v->shares.next; it != &v->shares; it = it->next) {
		struct vshare *s = container_of(it, struct vshare, link);

		if (!s->srq)
			continue;
		fabric_depth_see(&s->depth, s->nposted);
		fabric_depth_period(&s->depth);
		if (s->npairs)
			wake_shares(v, now);
	}
}

/* Operations of the contract */

static int open_all(struct verbs *v)
{
	int err = v->cfg.receives == VERBS_RECEIVES_OWN ? ERR_CONFIG : 0;

	for (struct list *it = v->devs.next; it != &v->devs && !err; it = it->next) {
		struct verbs_dev *dev = container_of(it, struct verbs_dev, link);

		if (!dev->closed && srq_open(dev))
			err = ERR_CONFIG;
	}
	if (err)
		srq_free_all(v);
	return err;
}

int share_begin(struct fabric *f, uint32_t len)
{
	struct verbs *v = verbs_of(f);
	int err = open_all(v);

	v->shares_receives = err == 0;
	v->recv_len = len;
	for (struct list *it = v->devs.next; it != &v->devs; it = it->next) {
		const struct verbs_dev *dev = container_of(it, struct verbs_dev, link);

		if (!dev->closed)
			srq_log(dev);
	}
	if (err && v->cfg.receives == VERBS_RECEIVES_SHARED)
		log_warn("verbs.receives",
			 "receives=own why=\"receive_queue is shared, but a device "
			 "has no such queues: connections have their own\"");
	return err;
}

void share_end(struct fabric *f)
{
	struct verbs *v = verbs_of(f);

	srq_free_all(v);
	v->shares_receives = false;
	v->period = NSEC_NEVER;
}

uint32_t share_wanted(const struct fabric *f)
{
	const struct verbs *v = container_of(f, const struct verbs, base);
	uint32_t n = 0;

	for (const struct list *it = v->shares.next; it != &v->shares; it = it->next)
		n += srq_missing(container_of(it, const struct vshare, link));
	return n;
}

int share_post(struct fabric *f, void *buf, void *cookie)
{
	struct verbs *v = verbs_of(f);
	int err = ERR_AGAIN;

	for (struct list *it = v->shares.next; it != &v->shares && err; it = it->next)
		err = srq_post(container_of(it, struct vshare, link), buf, cookie);
	return err;
}

bool share_event(struct verbs *v, struct fabric_event *ev)
{
	list_for_each_safe(it, tmp, &v->shares)
	{
		void *cookie;

		if (!srq_next_back(container_of(it, struct vshare, link), &cookie))
			continue;
		*ev = (struct fabric_event){
			.type = FABRIC_EV_RECV, .cookie = cookie, .status = ERR_FLUSHED};
		return true;
	}
	return false;
}
