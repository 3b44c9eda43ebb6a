/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for every version 2 message: watched (watch.c) during all cases before. */
#include "tools/probe/cases.h"

static enum verdict judge(struct run *r, enum breach which)
{
	const struct watch *w = &r->watch;

	if (w->messages == 0)
		return skipped(r, "no version 2 message was received");
	if (w->count[which])
		return failed(r, "%u of %u messages; the first: %s", w->count[which], w->messages,
			      w->first[which]);
	return passed(r, "%u messages", w->messages);
}

static enum verdict version(struct run *r)
{
	return judge(r, BREACH_VERSION);
}

static enum verdict grant_xid(struct run *r)
{
	return judge(r, BREACH_GRANT_XID);
}

static enum verdict grant_size(struct run *r)
{
	return judge(r, BREACH_GRANT_SIZE);
}

static enum verdict credits(struct run *r)
{
	return judge(r, BREACH_CREDITS);
}

static enum verdict size(struct run *r)
{
	return judge(r, BREACH_SIZE);
}

static enum verdict invalidate(struct run *r)
{
	return judge(r, BREACH_INVALIDATE);
}

static enum verdict xdr(struct run *r)
{
	return judge(r, BREACH_XDR);
}

/* After all cases the server still serves a fresh connection. */
static enum verdict alive(struct run *r)
{
	if (r->facts->v[2].welcome == WELCOME_SPOKEN)
		return v2_up(r) ?: null_call(r);
	return r->facts->v[1].welcome == WELCOME_SPOKEN ? v1_up(r) : early_up(r);
}

static const struct probe_case cases[] = {
	{"v2.always.version", "v2 4.3.1, 4.3.3", "MUST", "every message has version 2", version, 2,
	 false},
	{"v2.always.credits", "v2 4.2.1", "MUST", "never more messages than were granted", credits,
	 2, false},
	{"v2.always.size", "v2 4.2.2, 5.2.2", "MUST",
	 "no message is larger than the Receives announced", size, 2, false},
	{"v2.always.grant-xid", "v2 6.3.2", "MUST", "the XID of every GRANT is zero", grant_xid, 2,
	 false},
	{"v2.always.grant-size", "v2 6.3.2", "MUST", "every GRANT is a prefix and nothing else",
	 grant_size, 2, false},
	{"v2.always.invalidate", "v2 6.5", "MUST", "no control message invalidates a handle",
	 invalidate, 2, false},
	{"v2.always.xdr", "v2 8", "MUST", "every message can be parsed", xdr, 2, false},
	{"alive", "v2 7, v1 5.5", "MUST", "after all this a new connection is served", alive, 0,
	 false},
};

CASE_TABLE(cases_always, cases);
