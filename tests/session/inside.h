/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_INSIDE_H
#define TESTS_SESSION_INSIDE_H

#include "proxy/internal.h"

/**
 * inside - the one door by which tests look inside of proxy/: what no peer can see, such as
 * counts of what waits, and memory held. Everything else is tested by what peers see.
 */

/** inside_session - the @n-th session of @p, the oldest first; asserted to exist. */
static inline struct session *inside_session(struct proxy *p, unsigned n)
{
	struct list *it = p->sessions.next;

	while (n-- > 0)
		it = it->next;
	return container_of(it, struct session, link);
}

#endif
