/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that get no answer. A procedure may have none (Call-only, draft-07 4.7), which only its
 * caller knows, or the responder has lost the call. Where the operator has set a time
 * (reply_timeout of the responder's end) a call is let go after it:
 *
 *     WAIT --> FAILED: fenced, then its memory and its credit given back
 *
 * The requester is told nothing: of a call without a reply it expects nothing, and the gateway
 * invents no replies. An answer that comes yet is dropped by the transport, which knows the
 * XID (rpc/late.h); a Receive stays posted for it. RDMA into what was exposed for the call
 * ends the connection like any other use of a handle withdrawn.
 *
 * No timer for each RPC: all calls of one route and direction have the same time to be
 * answered, so a list in the order they were sent is in the order they fall due as well. All lists
 * have one time before which nobody looks at any, however many routes there are: the first of
 * theirs when they were looked at last, or of a call sent since. Answers do not put it off, so
 * it may come for nothing, but then the next is that of a call still waiting.
 */
#include "proxy/session.h"

static struct list *list_of(const struct txn *t)
{
	return &t->s->route->unanswered[t->reverse];
}

void txn_await(struct txn *t)
{
	nsec_t patience = t->rsp->cfg->reply_timeout;

	if (patience == 0)
		return;
	t->answer_by = t->s->proxy->now + patience;
	t->s->proxy->late_at = nsec_min(t->s->proxy->late_at, t->answer_by);
	list_add_tail(list_of(t), &t->late_link);
}

static void look_at_list(struct proxy *p, struct list *unanswered)
{
	while (!list_is_empty(unanswered)) {
		struct txn *t = list_first(unanswered, struct txn, late_link);

		if (t->answer_by > p->now)
			return;
		list_del(&t->late_link);
		/* A session about to end gives back all it has. */
		if (t->s->state != SESSION_OPEN)
			continue;
		if (t->rsp->stalled)
			txn_await(t); /* the answer may be here, and wait for memory */
		else
			txn_let_go(t);
	}
}

static nsec_t first_of(const struct list *unanswered)
{
	return list_is_empty(unanswered) ? NSEC_NEVER
					 : list_first(unanswered, struct txn, late_link)->answer_by;
}

void late_look(struct proxy *p)
{
	if (p->now < p->late_at)
		return;
	p->late_at = NSEC_NEVER;
	for (unsigned i = 0; i < p->cfg.nroutes; i++)
		for (unsigned reverse = 0; reverse < 2; reverse++) {
			struct list *unanswered = &p->routes[i].unanswered[reverse];

			look_at_list(p, unanswered);
			p->late_at = nsec_min(p->late_at, first_of(unanswered));
		}
}
