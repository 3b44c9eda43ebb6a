/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that owes the gateway something and does not move holds memory that all
 * sessions share: a client that leaves no credit for its replies, half a continued
 * message, an RDMA Read without an answer. (One that takes no octets at all is the
 * fabric's to notice.) Every SESSION_WATCH each session is looked at; one that
 * showed no progress SESSION_PATIENCE times in a row is ended.
 *
 * A server that has a call owes nothing: some RPCs take as long as they take.
 *
 * One more stand-still is nobody's fault. A continued call of a client that waits for memory
 * has the client's replies to the server's calls behind it, and these calls may hold memory. In
 * most cases one of both directions moves; where none does, ending the session frees all.
 */
#include "proxy/session.h"

/* Return: whether @mark, which moves with progress, has stood still for too long. */
static bool is_stuck(struct session_watch *w, bool owed, uint64_t mark)
{
	if (!owed || mark != w->mark)
		w->times = 0;
	else
		w->times++;
	w->mark = mark;
	return w->times >= SESSION_PATIENCE;
}

static const char *stuck_leg(const struct leg *leg, struct session_ops *ops)
{
	bool replies = leg->active || !list_is_empty(&leg->replies);
	bool message = leg->assembly && !leg->stalled;

	if (leg->state != LEG_OPEN)
		return NULL;
	if (is_stuck(&ops->sends, replies, leg->t->count.sends))
		return "the peer leaves no credit for replies";
	if (is_stuck(&ops->message, message, leg->parts))
		return "the rest of a continued message does not come";
	if (is_stuck(&ops->moves, ops->posted > 0, ops->done))
		return "the peer does not answer Reads or take Writes";
	return NULL;
}

static const char *crossed(struct session *s)
{
	bool both = s->client.stalled && s->reverse.running > 0;

	return is_stuck(&s->crossed, both, s->client.parts)
		       ? "calls of both directions wait for each other's memory"
		       : NULL;
}

void session_look(struct session *s)
{
	const char *why = stuck_leg(&s->client, &s->cops);
	bool is_fault = true;

	if (!why)
		why = stuck_leg(&s->server, &s->sops);
	if (!why) {
		why = crossed(s);
		is_fault = false;
	}
	if (!why || s->state != SESSION_OPEN)
		return;
	s->proxy->count.peer_faults += is_fault;
	session_close(s, ERR_TIMEOUT, why);
	session_touch(s);
}
