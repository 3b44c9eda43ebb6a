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
 *
 * State:  a message takes its Receive with its first octets, and keeps it until the message is
 *         complete. No Receive is left, and other connections wait.
 * Danger: a thousand peers begin a message each and do not end it: they hold all Receives (RFC 5042
 *         section 6.4.3.1). The least rate that stream_stalled() demands does not prevent this.
 * Rule:   every IWARP_RECLAIM_INTERVAL each connection inside a message is examined. A connection
 *         ends if in RECLAIM_LOOKS of these looks its message got less than 1/RECLAIM_PARTS of a
 *         Receive. Looks before which the connection had no turn to read do not count.
 * Pinned: tests/iwarp/test_iwarp_begun.c:test_begun_without_octets, :test_slow_ones,
 *         :test_slow_alone.
 */

enum { RECLAIM_LOOKS = 4, RECLAIM_PARTS = 8 };

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

/* Octets of the Send under way that were received so far. */
static uint32_t come(const struct qp_rx *rx)
{
	bool placing = rx->state == QP_RX_PLACE && !rx->h.tagged;

	return rx->send_done + (placing ? rx->payload_len - rx->left : 0);
}

/* Whether RECLAIM_LOOKS looks in a row saw @c inside the same message with less than
 * 1/RECLAIM_PARTS of a Receive more. A peer on a slow line makes that much progress. */
static bool is_late(struct iwarp_conn *c)
{
	uint32_t msn = c->qp.rx.send_msn, at = come(&c->qp.rx);
	bool had_no_turn = !list_is_empty(&c->yielded) && c->reclaim_octets == c->qp.rx.octets;

	if (!c->qp.shared || had_no_turn) /* the rest of the message may be in the socket */
		return false;
	c->reclaim_octets = c->qp.rx.octets;
	if (c->reclaim_msn != msn || at >= c->reclaim_at + c->qp.shared->len / RECLAIM_PARTS) {
		c->reclaim_msn = msn;
		c->reclaim_at = at;
		c->reclaim_looks = 0;
	}
	return ++c->reclaim_looks > RECLAIM_LOOKS;
}

static void end_late_ones(struct iwarp *iw)
{
	list_for_each_safe(item, tmp, &iw->inside)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, inside);

		if (is_late(c))
			iwarp_conn_end(
				c, ERR_TIMEOUT,
				"others wait for the Receive of a message that does not end");
	}
}

void receives_reclaim(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, reclaim);

	recv_sched_look(iw);
	if (list_is_empty(&iw->recv_waiters) && list_is_empty(&iw->recv_limited))
		return;
	timer_arm(&iw->timers, timer, now + IWARP_RECLAIM_INTERVAL);
	if (!list_is_empty(&iw->recv_waiters) && !iw->recvq.posted)
		end_late_ones(iw);
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
