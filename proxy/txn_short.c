/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: a device may have no Memory Window, no registration or no place in a queue left, for a
 * while: fabrics say ERR_AGAIN. As where memory is short nobody's RPC fails for that. A Read or Write
 * stays first of its leg's queue; a call whose regions cannot all be exposed withdraws those that
 * were, so nobody holds what another needs, and is formed anew. All are tried again after a pause.
 *
 * What is not over after SESSION_PATIENCE is no shortage but a device with less than one RPC needs.
 */
#include "proxy/internal.h"

#define SHORT_PAUSE (10 * NSEC_PER_MS)

bool txn_short(struct txn *t)
{
	struct proxy *p = t->s->proxy;

	if (!t->short_since)
		t->short_since = p->now ? p->now : 1;
	if (p->now - t->short_since > SESSION_PATIENCE)
		return false;
	p->count.shortages++;
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

static void try_calls(struct session *s)
{
	struct list again, *item;

	list_init(&again);
	while ((item = list_pop(&s->short_calls)))
		list_add_tail(&again, item);
	while (!list_is_empty(&again) && s->state == SESSION_OPEN) {
		struct txn *t = list_first(&again, struct txn, wait_link);

		list_del(&t->wait_link);
		if (t->ops == 0)
			txn_form_again(t);
		else if (!txn_short_call(t)) /* a withdrawal without an end */
			txn_fail(t, RPC_ERROR_SYSTEM, 0, 0);
	}
	while ((item = list_pop(&again)))
		list_add_tail(&s->short_calls, item);
}

static void on_shortage(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, shortage);

	(void)now;
	if (s->state != SESSION_OPEN)
		return;
	try_calls(s);
	txn_ops_run(s, &s->client);
	txn_ops_run(s, &s->server);
	session_touch(s);
}

void txn_short_init(struct session *s)
{
	list_init(&s->short_calls);
	timer_init(&s->shortage, on_shortage);
}

void txn_short_end(struct session *s)
{
	timer_disarm(&s->proxy->timers, &s->shortage);
}
