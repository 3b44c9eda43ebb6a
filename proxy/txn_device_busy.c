/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: temporary shortages of an RDMA device
 *
 * State:  a device has no Memory Window, registration or place in a queue left for a while, and the
 *         fabric answers ERR_AGAIN. (The limit of the leg is no such shortage: txn_admit.c starts no
 *         call that it leaves too few exposures.)
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
 */
#include "proxy/txn_device_busy.h"
#include "proxy/internal.h"

#define BUSY_PAUSE (10 * NSEC_PER_MS)

bool txn_device_busy_wait(struct txn *t)
{
	struct proxy *p = t->s->proxy;

	if (!t->busy_since)
		t->busy_since = p->now ? p->now : 1;
	if (p->now - t->busy_since > DEBT_TIMEOUT)
		return false;
	t->s->route->count.shortages++;
	if (!timer_is_armed(&t->s->busy_timer))
		timer_arm(&p->timers, &t->s->busy_timer, p->now + BUSY_PAUSE);
	return true;
}

bool txn_device_busy_retry(struct txn *t)
{
	if (!txn_device_busy_wait(t))
		return false;
	list_add_tail(&t->s->busy_calls, &t->wait_link);
	return true;
}
