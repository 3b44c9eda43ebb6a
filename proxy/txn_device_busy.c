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
 *         than one RPC needs: a call fails, and for a Read or Write the session ends. For a call the
 *         time does not run while others of its session have so much exposed that the limit of the
 *         leg leaves too little: they give that back when their responder answers, and it may take
 *         any time.
 * Pinned: tests/session/test_shortage.c:a_shortage_is_waited_out,
 *         :one_that_does_not_end_is_reported, :one_beside_a_call_that_takes_long_is_reported,
 *         :one_that_leaves_room_for_a_part_is_reported,
 *         tests/session/test_pressure.c:calls_wait_for_places_as_long_as_the_server_takes
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

static bool others_have_places(const struct txn *t)
{
	return t->rsp->conn->handles_live + t->exposures >=
	       leg_exposures(t->rsp->cfg, SESSION_OP_DEPTH);
}

/* Once all calls of @calls have withdrawn what they had exposed, what is left belongs to others. */
void txn_device_busy_round(const struct list *calls)
{
	for (const struct list *it = calls->next; it != calls; it = it->next)
		if (container_of(it, struct txn, wait_link)->ops > 0)
			return;
	for (const struct list *it = calls->next; it != calls; it = it->next) {
		struct txn *t = container_of(it, struct txn, wait_link);

		if (others_have_places(t))
			t->busy_since = 0;
	}
}
