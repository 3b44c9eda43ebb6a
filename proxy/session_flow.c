/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a leg's Reads and Writes is posted, and has moved, and how long its peer was kept: session_debts.c looks at it. */
#include "proxy/internal.h"

void session_posted(struct session_flow *f, uint32_t bytes)
{
	f->posted++;
	f->octets += bytes;
}

/* Which one it was nobody tells, but that it was the oldest: in the end all have counted as what
 * they were. */
void session_completed(struct session_flow *f)
{
	uint64_t octets = f->octets / f->posted;

	f->octets -= octets;
	f->posted--;
	f->done++;
	f->moved += octets;
}

nsec_t session_behind(struct session *s, const struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);
	nsec_t now = s->proxy->now;

	if (ops->behind_since != NSEC_NEVER)
		ops->behind += now - ops->behind_since;
	ops->behind_since = leg_is_behind(leg) ? now : NSEC_NEVER;
	return ops->behind;
}
