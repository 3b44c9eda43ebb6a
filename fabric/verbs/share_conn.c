/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/wakeup.h"

#include "base/mem.h"

/*
 * Operation
 *
 * A completion of the shared queue names a queue pair (drain.c). A hash table has its connection.
 * The message gets a record in the connection's own ring of Receives, which has room for .max_recvs
 * messages.
 *
 * State:  a queue pair ends. It is in the error state, so it takes no further Receive, but
 *         completions of its messages may be in the shared queue.
 * Danger: drivers drop the completions of a queue pair that was destroyed, and their Receives are
 *         lost.
 * Rule:   - Completions are processed before the queue pair is destroyed.
 *         - The event LAST_WQE_REACHED says that the queue pair's last Receive has completed. On a
 *           device that has reported this event before, the end waits for it, for a short time.
 *         - Other devices (rxe, siw) do not drop a late completion. The queue is polled once more
 *           after the queue pair was destroyed. A completion of no connection is found then, and
 *           its Receive is posted again.
 *         - A Receive may still be lost before a device has reported its first such event, at most
 *           one for each queue pair. It is returned to the user when the shared queue closes.
 */

enum {
	RNR_TIMER = 12, /* 0.64 ms */
	LAST_WAIT_MS = 2,
};

static struct verbs_conn **share_bucket(const struct vshare *s, uint32_t pair)
{
	return &s->buckets[(pair * 0x9e3779b1u) >> 7 & s->mask];
}

struct verbs_conn *share_find(const struct vshare *s, uint32_t pair)
{
	struct verbs_conn *c = *share_bucket(s, pair);

	while (c && c->pair != pair)
		c = c->next_pair;
	return c;
}

static void share_insert(struct vshare *s, struct verbs_conn *c)
{
	struct verbs_conn **at = share_bucket(s, c->pair);

	c->next_pair = *at;
	*at = c;
}

static int share_grow(struct vshare *s)
{
	struct verbs_conn **old = s->buckets;
	uint32_t size = s->mask + 1;
	struct verbs_conn **buckets = mem_zalloc(2 * size * sizeof(struct verbs_conn *));

	if (!buckets)
		return ERR_NOMEM;
	s->buckets = buckets;
	s->mask = 2 * size - 1;
	for (uint32_t i = 0; i < size; i++) {
		for (struct verbs_conn *c = old[i], *next; c; c = next) {
			next = c->next_pair;
			share_insert(s, c);
		}
	}
	mem_free(old);
	return 0;
}

int share_join(struct verbs_conn *c)
{
	struct vshare *s = c->dev->share;

	if (s->npairs > s->mask && share_grow(s))
		return ERR_NOMEM;
	c->share = s;
	c->pair = c->id->qp->qp_num;
	share_insert(s, c);
	s->npairs++;
	s->users++;
	s->depth.promised += c->max_recvs;
	if (s->cq.busy_poll_us < c->tuning.busy_poll_us)
		s->cq.busy_poll_us = c->tuning.busy_poll_us;
	wake_shares(c->v, wake_now());
	return 0;
}

static void await_last(const struct verbs_conn *c)
{
	nsec_t until = wake_now() + LAST_WAIT_MS * NSEC_PER_MS;

	while (c->was_open && c->dev->reports_last && !c->dev->closed && !atomic_load(&c->last) &&
	       wake_now() < until)
		device_async(c->dev);
}

bool share_leave(struct verbs_conn *c)
{
	struct vshare *s = c->share;
	struct verbs_conn **at;

	if (!s || !c->pair)
		return false;
	at = share_bucket(s, c->pair);
	while (*at != c)
		at = &(*at)->next_pair;
	*at = c->next_pair;
	c->pair = 0; /* no queue pair has this number */
	s->npairs--;
	s->depth.promised -= c->max_recvs;
	await_last(c);
	return true;
}

/* Needed because the connection manager sets the timer to 0, which means the longest time: 655
 * ms. */
void share_set_timer(struct verbs_conn *c)
{
	struct ibv_qp_attr attr = {.min_rnr_timer = RNR_TIMER};

	if (c->share && !c->dev->iwarp)
		(void)ibv_modify_qp(c->id->qp, &attr, IBV_QP_MIN_RNR_TIMER);
}
