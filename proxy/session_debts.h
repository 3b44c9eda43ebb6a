/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_DEBTS_H
#define PROXY_SESSION_DEBTS_H

#include "proxy/session.h"

/** session_debts - what peers owe, and the end of sessions whose peers do not deliver */

/** session_debts_init - @s owes nothing yet. */
void session_debts_init(struct session *s);

/** session_debts_begin - puts @s, which is in no list, into proxy.owing, because something may be
 * in flight on it. */
void session_debts_begin(struct session *s);

/** session_debts_look - timer callback: look at some sessions of proxy.owing. */
void session_debts_look(struct timer *timer, nsec_t now);

/**
 * session_blocked_ns - the total time in which input of @leg's peer was blocked here
 * (leg_input_is_blocked()), ns
 *
 * reply_timeout of calls to the peer does not run in this time, because an answer may lie unread.
 * The debts of the peer have leg_blocked_by() instead.
 */
nsec_t session_blocked_ns(struct session *s, const struct leg *leg);

static inline unsigned session_ops_posted(const struct session_ops *ops)
{
	return ops->reads.posted + ops->writes.posted;
}

#endif
