/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/iwarp_internal.h"

/*
 * Receives that all connections of an instance share (recvq.h): its verbs, and who waits for one.
 * A connection that found none is on the list `starved` and does not read. A flush that has some
 * goes on with those on it in turn. Who keeps too many waits elsewhere (lines.c).
 *
 * A message takes its Receive with its first octets, so peers that begin messages, a thousand at once, and
 * do not end them have all there are (RFC 5042 section 6.4.3.1): far cheaper than the least rate that
 * stream_stalled() asks for. So, while others wait and none is left, each of those has a second for every eighth of a
 * Receive.
 */

enum { PRESS_LOOKS = 4, PRESS_PARTS = 8 };

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
	timer_disarm(&iw->timers, &iw->press);
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

/* Octets of the Send under way that have come. */
static uint32_t come(const struct qp_rx *rx)
{
	bool placing = rx->state == QP_RX_PLACE && !rx->h.tagged;

	return rx->send_done + (placing ? rx->payload_len - rx->left : 0);
}

/* So many looks saw it within the same message, and hardly further: who has a slow line gets on. */
static bool is_late(struct iwarp_conn *c)
{
	uint32_t msn = c->qp.rx.send_msn, at = come(&c->qp.rx);
	bool had_no_turn = !list_is_empty(&c->resting) && c->press_octets == c->qp.rx.octets;

	if (!c->qp.shared || had_no_turn) /* the rest may be in the socket */
		return false;
	c->press_octets = c->qp.rx.octets;
	if (c->press_msn != msn || at >= c->press_at + c->qp.shared->len / PRESS_PARTS) {
		c->press_msn = msn;
		c->press_at = at;
		c->press_looks = 0;
	}
	return ++c->press_looks > PRESS_LOOKS;
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

void receives_press(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, press);

	lines_look(iw);
	if (list_is_empty(&iw->starved) && list_is_empty(&iw->sated))
		return;
	timer_arm(&iw->timers, timer, now + IWARP_PRESS_INTERVAL);
	if (!list_is_empty(&iw->starved) && !iw->recvq.posted)
		end_late_ones(iw);
}

/* Each takes what it needs of the Receives there are; who finds too few is last in line again. */
void receives_feed(struct iwarp *iw)
{
	struct list *last, *item = NULL;

	iw->recvq.left = iw->base.receives_left;
	iw->recvq.most = iw->base.receives_most;
	lines_turn(iw);
	last = iw->starved.prev;
	while (iw->recvq.posted && item != last && (item = list_pop(&iw->starved)))
		stream_resume(container_of(item, struct iwarp_conn, starved));
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
