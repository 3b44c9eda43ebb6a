/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: a device may have no Memory Window, no registration or no place in a queue left, for a
 * while: fabrics say ERR_AGAIN. As where memory is short nobody's RPC fails for that. A Read or Write
 * stays first of its leg's queue; a call whose regions cannot all be exposed withdraws those that
 * were, so nobody holds what another needs, and is formed anew. All are tried again after a pause.
 *
 * What is not over after DEBT_PATIENCE is no shortage but a device with less than one RPC needs.
 */
#include "proxy/internal.h"

#define SHORT_PAUSE (10 * NSEC_PER_MS)

bool txn_short(struct txn *t)
{
	struct proxy *p = t->s->proxy;

	if (!t->short_since)
		t->short_since = p->now ? p->now : 1;
	if (p->now - t->short_since > DEBT_PATIENCE)
		return false;
	t->s->route->count.shortages++;
	if (!timer_is_armed(&t->s->shortage))
		timer_arm(&p->timers, &t->s->shortage, p->now + SHORT_PAUSE);
	return true;
}

bool txn_short_call(struct txn *t)
{
	if (!txn_short(t))
		return false;
	list_add_tail(&t->s->short_calls, &t->wait_link);
	return true;
}
