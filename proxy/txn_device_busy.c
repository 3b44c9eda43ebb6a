/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: temporary shortages of an RDMA device
 *
 * State:  a device has no Memory Window, registration or place in a queue left for a while, and the
 *         fabric answers ERR_AGAIN.
 * Danger: RPCs fail although the shortage would pass; or two calls each hold exposures that the
 *         other needs.
 * Rule:   the RPC waits. A Read or Write stays first in its leg's queue. A call whose regions
 *         cannot all be exposed withdraws those that were, and is formed again. All are tried again
 *         every BUSY_PAUSE. If the shortage lasts longer than DEBT_TIMEOUT, the device has less
 *         than one RPC needs: a call fails, and for a Read or Write the session ends.
 * Pinned: tests/session/test_shortage.c:a_shortage_is_waited_out,
 *         :one_that_does_not_end_is_reported, :one_beside_a_call_that_takes_long_is_reported,
 *         :one_that_leaves_room_for_a_part_is_reported,
 *         :one_for_a_call_that_may_need_all_is_reported
 *
 * State:  other calls of the session have so much exposed that the limit of the leg leaves too
 *         little for a call. They give that back when their responder answers, which may take any
 *         time.
 * Danger: calls that need few exposures take each place that becomes free, and a call that needs
 *         many waits for ever. Or a call fails although its turn would come.
 * Rule:   no call of this leg exposes anything until that call has its exposures or has failed:
 *         later calls wait behind it. The time of the call does not run while others have its
 *         places, and the time of those behind it does not run at all.
 * Pinned: tests/session/test_pressure.c:a_call_that_needs_many_places_gets_them,
 *         :calls_wait_for_places_as_long_as_the_server_takes
 */
#include "proxy/txn_device_busy.h"
#include "proxy/internal.h"

#define BUSY_PAUSE (10 * NSEC_PER_MS)

static void try_later(struct session *s)
{
	if (!timer_is_armed(&s->busy_timer))
		timer_arm(&s->proxy->timers, &s->busy_timer, s->proxy->now + BUSY_PAUSE);
}

bool txn_device_busy_wait(struct txn *t)
{
	struct proxy *p = t->s->proxy;

	if (!t->busy_since)
		t->busy_since = p->now ? p->now : 1;
	if (p->now - t->busy_since > DEBT_TIMEOUT)
		return false;
	t->s->route->count.shortages++;
	try_later(t->s);
	return true;
}

bool txn_device_busy_lacks_places(const struct session *s, const struct leg *rsp)
{
	const struct list *calls = &s->busy_calls;

	for (const struct list *it = calls->next; it != calls; it = it->next) {
		const struct txn *first = container_of(it, struct txn, wait_link);

		if (first->lacks_places && first->rsp == rsp)
			return true;
	}
	return false;
}

/* Whether all places of the responder's leg are taken. @t alone never needs all of them and one
 * more (txn_admit.c), so other calls have some. While a place is free, the device is short. */
static bool others_have_places(const struct txn *t)
{
	return t->rsp->conn->handles_live >= leg_exposures(t->rsp->cfg, SESSION_OP_DEPTH);
}

bool txn_device_busy_retry(struct txn *t)
{
	bool is_behind = txn_device_busy_lacks_places(t->s, t->rsp);

	/* exposures of @t under withdrawal would count as those of others */
	if (!is_behind && t->ops == 0 && others_have_places(t)) {
		t->lacks_places = true;
		t->busy_since = 0;
	}
	if (is_behind) {
		t->busy_since = 0;
		try_later(t->s);
	} else if (!txn_device_busy_wait(t)) {
		return false;
	}
	list_add_tail(&t->s->busy_calls, &t->wait_link);
	return true;
}
