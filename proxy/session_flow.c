/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a leg's Reads and Writes is posted, and has moved: session_watch.c looks at it. */
#include "proxy/session.h"

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
	f->moved += octets > LEG_LEAST ? octets : LEG_LEAST;
}
