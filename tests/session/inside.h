/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_INSIDE_H
#define TESTS_SESSION_INSIDE_H

#include "proxy/internal.h"
#include "proxy/probe.h"
#include "proxy/session_debts.h"
#include "proxy/session_flow.h"
#include "proxy/txn_remote_inval.h"

/**
 * inside - the only access of tests to the inside of proxy/: facts that no peer can see, for
 * example counts of waiting objects and memory held. All other facts are tested by what peers see.
 */

/** inside_session - session @n of @p, the oldest first; asserted to exist. */
static inline struct session *inside_session(struct proxy *p, unsigned n)
{
	struct list *it = p->sessions.next;

	while (n-- > 0)
		it = it->next;
	return container_of(it, struct session, link);
}

#endif
