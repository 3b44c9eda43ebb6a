/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress of a leg's Reads and Writes, and how long the peer's input was blocked here; for
 * session_debts.c. */
#include "proxy/session_flow.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"

void session_posted(struct session_flow *f, uint32_t bytes)
{
	f->posted++;
	f->octets += bytes;
}

/* The length of the completed operation is not known, so the average of those outstanding is
 * counted. When all have completed, the sum is right. */
void session_completed(struct session_flow *f)
{
	uint64_t octets = f->octets / f->posted;

	f->octets -= octets;
	f->posted--;
	f->done++;
	f->moved += octets;
}

nsec_t session_blocked_ns(struct session *s, const struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);
	nsec_t now = s->proxy->now;

	if (ops->blocked_since != NSEC_NEVER)
		ops->blocked_ns += now - ops->blocked_since;
	ops->blocked_since = leg_input_is_blocked(leg) ? now : NSEC_NEVER;
	return ops->blocked_ns;
}
