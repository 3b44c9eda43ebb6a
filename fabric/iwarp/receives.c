/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/receives.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"
#include "fabric/iwarp/recv_sched.h"
#include "fabric/iwarp/stream.h"

/*
 * Operation
 *
 * The Receives that all connections of an instance share (recvq.h): their operations, and the
 * connections that wait for one. A connection that found none is in the list `recv_waiters` and
 * does not read. A flush that has Receives resumes those connections in order. A connection that
 * holds too many waits in `recv_limited` (recv_sched.c).
 */

int receives_share(struct fabric *f, uint32_t len)
{
	struct iwarp *iw = iwarp_of(f);
	int rc = recvq_init(&iw->recvq, len);

	if (!rc)
		iw->store.recvq = &iw->recvq;
	return rc;
}

void receives_unshare(struct fabric *f)
{
	struct iwarp *iw = iwarp_of(f);

	recvq_fini(&iw->recvq);
	iw->store.recvq = NULL;
	timer_disarm(&iw->timers, &iw->period);
	timer_disarm(&iw->timers, &iw->reclaim);
}

uint32_t receives_wanted(const struct fabric *f)
{
	return recvq_wanted(&container_of(f, const struct iwarp, base)->recvq);
}

int receives_post(struct fabric *f, void *buf, void *cookie)
{
	struct iwarp *iw = iwarp_of(f);
	int rc = recvq_post(&iw->recvq, buf, cookie);

	if (!rc && !timer_is_armed(&iw->period))
		timer_arm(&iw->timers, &iw->period, iwarp_now() + NSEC_PER_SEC);
	return rc;
}

void receives_period(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, period);

	if (recvq_period(&iw->recvq))
		timer_arm(&iw->timers, timer, now + NSEC_PER_SEC);
}

void receives_reclaim(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, reclaim);

	recv_sched_look(iw);
	if (list_is_empty(&iw->recv_waiters) && list_is_empty(&iw->recv_limited))
		return;
	timer_arm(&iw->timers, timer, now + IWARP_RECLAIM_INTERVAL);
	if (!list_is_empty(&iw->recv_waiters) && !iw->recvq.posted)
		stream_press(iw);
}

/* A resumed connection takes as many Receives as it needs. If it finds too few, it waits again, at
 * the end of the list. */
void receives_feed(struct iwarp *iw)
{
	struct list *last, *item = NULL;

	iw->recvq.left = iw->base.receives_left;
	iw->recvq.most = iw->base.receives_most;
	recv_sched_turn(iw);
	last = iw->recv_waiters.prev;
	while (iw->recvq.posted && item != last && (item = list_pop(&iw->recv_waiters)))
		stream_resume(container_of(item, struct iwarp_conn, recv_wait));
}

bool receives_back(struct iwarp *iw, struct fabric_event *ev)
{
	void *cookie;

	if (!recvq_next_back(&iw->recvq, &cookie))
		return false;
	*ev = (struct fabric_event){
		.type = FABRIC_EV_RECV, .cookie = cookie, .status = ERR_FLUSHED};
	return true;
}
