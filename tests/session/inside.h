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
 *
 * Tests read here and write nothing (tests/tree/check-tree inner): peers, fabric/mem and the configuration lead to
 * the state that a test needs.
 */

/** inside_session - session @n of @p, the oldest first; asserted to exist. */
static inline const struct session *inside_session(const struct proxy *p, unsigned n)
{
	const struct list *it = p->sessions.next;

	while (n-- > 0)
		it = it->next;
	return container_of(it, const struct session, link);
}

#endif
