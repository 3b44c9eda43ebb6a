/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever holds memory that others wait for keeps to a least rate (session.h), or its session ends:
 * a client that leaves no credit for its replies, half a continued message, Reads without an
 * answer, Sends and Writes that nobody takes. One octet a minute is no progress.
 *
 *	nothing owed --> owed: until = now + patience, earning with what moves --> too late: ends
 *	                   ^                                   |
 *	                   +--- paused: the gateway keeps it from going on; what is left stays
 *
 * Nothing need happen to a session when it can go on: that there are Receives again for all others say by what they do. So while
 * anything is paused it is looked at every SESSION_SETTLED.
 *
 * A server that has a call owes nothing: some RPCs take as long as they take.
 *
 * One more stand-still is nobody's fault. A continued call of a client that waits for memory
 * has the client's replies to the server's calls behind it, and these calls may hold memory. In
 * most cases one of both directions moves; where none does, ending the session frees all.
 *
 * Calls that others cannot pass are let go when none of them was answered in that time: they may have
 * no answer (txn_late.c).
 *
 * A message of several Sends that waits for credits which an idle peer does not advertise any longer
 * (v2/cover.c only knows the most it ever did) begins after SESSION_SETTLED with those there are.
 *
 * What moved is seen after each batch of a session's events, so one timer is enough, armed for
 * whatever is due first and put off only when it fires: a session costs nothing while it is idle, and
 * next to nothing while it is busy.
 */
#include "proxy/internal.h"

enum watch_turn { WATCH_NOTHING, WATCH_PAUSED, WATCH_OWED };

#define NSEC_PER_OCTET (SESSION_PATIENCE / SESSION_RATE)

/* What @moved since the last look, as time; more than the patience there is makes no difference. */
static nsec_t watch_earned(const struct session_watch *w, uint64_t moved, nsec_t patience)
{
	uint64_t octets = moved - w->mark;

	return octets < patience / NSEC_PER_OCTET ? octets * NSEC_PER_OCTET : patience;
}

static void watch_look(struct session *s, struct session_watch *w, enum watch_turn turn,
		       uint64_t moved, nsec_t patience)
{
	nsec_t now = s->proxy->now, due = w->until;

	if (turn == WATCH_NOTHING) {
		w->until = NSEC_NEVER;
		w->left = 0;
	} else if (turn == WATCH_PAUSED) {
		if (due != NSEC_NEVER) {
			due = nsec_min(due + watch_earned(w, moved, patience), now + patience);
			w->left = due > now ? due - now : 1;
		}
		w->until = NSEC_NEVER;
		s->look = now + SESSION_SETTLED;
	} else if (due == NSEC_NEVER) {
		w->until = now + (w->left ? w->left : patience);
		w->left = 0;
	} else {
		w->until = nsec_min(due + watch_earned(w, moved, patience), now + patience);
	}
	w->mark = moved;
	if (w->until < s->patience.at)
		timer_arm(&s->proxy->timers, &s->patience, w->until);
}

static void look_at_flow(struct session *s, struct session_flow *f, bool is_kept)
{
	enum watch_turn turn = !f->posted ? WATCH_NOTHING : is_kept ? WATCH_PAUSED : WATCH_OWED;

	watch_look(s, &f->watch, turn, f->moved, SESSION_PATIENCE);
}

/* Without credit, without memory of the gateway's, or a Receive, a peer cannot go on with its message. */
static enum watch_turn turn_of_message(const struct leg *leg)
{
	if (!leg->assembly && !leg_takes_reply(leg))
		return WATCH_NOTHING;
	return leg_is_behind(leg) || leg_keeps_closed(leg) ? WATCH_PAUSED : WATCH_OWED;
}

/* Between replies those that wait for memory make none: that is no merit of who takes them slowly. */
static enum watch_turn turn_of_sends(const struct session *s, const struct leg *leg)
{
	if (leg_owes_sends(leg)) /* its credits may be among what waits */
		return leg_is_full(leg) ? WATCH_PAUSED : WATCH_OWED;
	return leg == &s->client && session_calls_wait(&s->forward) ? WATCH_PAUSED : WATCH_NOTHING;
}

/* Any word of more credits is one. */
static void look_at_credits(struct session *s, const struct leg *leg, struct session_watch *w)
{
	if (leg_limit(leg) != w->mark)
		w->until = NSEC_NEVER;
	watch_look(s, w, leg_waits(leg) ? WATCH_OWED : WATCH_NOTHING, leg_limit(leg),
		   SESSION_SETTLED);
}

static void look_at_leg(struct session *s, struct leg *leg, struct session_ops *ops)
{
	if (leg->state != LEG_OPEN)
		return;
	(void)session_behind(s, leg);
	if (ops->behind_since != NSEC_NEVER) /* or a moment would count until something happens */
		s->look = s->proxy->now + SESSION_SETTLED;
	watch_look(s, &ops->sends, turn_of_sends(s, leg), leg->sent, SESSION_PATIENCE);
	watch_look(s, &ops->message, turn_of_message(leg), leg->parts, SESSION_PATIENCE);
	/* What is read of it may be here, behind a message that waits for a Receive: but not if there was none when nothing
	 * waited; or behind a result that the other peer does not take, who owes that. A Write waits for nothing it says. */
	look_at_flow(s, &ops->reads, (leg_is_sated(leg) && !leg->conn->idles) || leg_is_full(leg));
	look_at_flow(s, &ops->writes, leg_is_full(leg));
	look_at_credits(s, leg, &ops->credits);
}

static bool is_crossed(const struct session *s)
{
	return s->client.stalled && s->reverse.running > 0;
}

/* Answers may be here that wait for memory of the gateway's, or Receives. */
static enum watch_turn turn_of_answers(const struct session_queue *q)
{
	if (!txn_is_jammed(q))
		return WATCH_NOTHING;
	return leg_is_behind(session_responder(q)) ? WATCH_PAUSED : WATCH_OWED;
}

/* How long an answer takes is no merit of the octets in it: any one is all there can be. */
static void look_at_queue(struct session *s, struct session_queue *q)
{
	if (q->ended != q->jam.mark) {
		q->jam.until = NSEC_NEVER;
		q->jam.left = 0;
	}
	watch_look(s, &q->jam, turn_of_answers(q), q->ended, SESSION_PATIENCE);
}

void session_watch(struct session *s)
{
	s->look = NSEC_NEVER;
	look_at_queue(s, &s->forward);
	look_at_queue(s, &s->reverse);
	look_at_leg(s, &s->client, &s->cops);
	look_at_leg(s, &s->server, &s->sops);
	/* Any step forward is one, for nobody here is slow. */
	if (s->client.parts != s->crossed.mark)
		s->crossed.until = NSEC_NEVER;
	watch_look(s, &s->crossed, is_crossed(s) ? WATCH_OWED : WATCH_NOTHING, s->client.parts,
		   SESSION_PATIENCE);
	if (s->look < s->patience.at)
		timer_arm(&s->proxy->timers, &s->patience, s->look);
	if (s->client.stalled || s->server.stalled)
		session_press_begin(s->proxy);
}

static const char *stuck_leg(const struct session_ops *ops, nsec_t now)
{
	if (ops->sends.until <= now)
		return "the peer takes replies too slowly, or leaves no credit for them";
	if (ops->message.until <= now)
		return "the rest of a continued message does not come, or too slowly";
	if (ops->reads.watch.until <= now)
		return "the peer does not answer Reads, or too slowly";
	if (ops->writes.watch.until <= now)
		return "the peer does not take Writes, or too slowly";
	return NULL;
}

static const char *watch_unjam(struct session *s, nsec_t now)
{
	struct session_queue *queues[] = {&s->forward, &s->reverse};
	const char *why = NULL;

	for (unsigned i = 0; i < 2 && !why; i++)
		if (queues[i]->jam.until <= now) {
			queues[i]->jam.until = NSEC_NEVER; /* begins anew if it is jammed yet */
			why = txn_unjam(queues[i]);
			session_touch(s);
		}
	return why;
}

static void watch_settle(struct session *s, struct leg *leg, struct session_ops *ops, nsec_t now)
{
	if (ops->credits.until > now)
		return;
	ops->credits.until = NSEC_NEVER;
	leg_settle(leg);
	session_touch(s);
}

static nsec_t first_of(const struct session_ops *ops)
{
	return nsec_min(
		nsec_min(nsec_min(ops->sends.until, ops->message.until), ops->credits.until),
		nsec_min(ops->reads.watch.until, ops->writes.watch.until));
}

static nsec_t first_of_all(const struct session *s)
{
	nsec_t queues = nsec_min(s->forward.jam.until, s->reverse.jam.until);

	return nsec_min(nsec_min(s->look, nsec_min(s->crossed.until, queues)),
			nsec_min(first_of(&s->cops), first_of(&s->sops)));
}

static void on_patience(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, patience);
	bool is_fault = true;
	const char *why;

	if (s->state != SESSION_OPEN)
		return;
	session_watch(s); /* what came in this very turn counts */
	watch_settle(s, &s->client, &s->cops, now);
	watch_settle(s, &s->server, &s->sops, now);
	why = stuck_leg(&s->cops, now);
	if (!why)
		why = stuck_leg(&s->sops, now);
	if (!why && s->crossed.until <= now) {
		why = "calls of both directions wait for each other's memory";
		is_fault = false;
	}
	if (!why)
		why = watch_unjam(s, now);
	if (!why) {
		timer_arm(&s->proxy->timers, timer, first_of_all(s));
		return;
	}
	s->route->count.peer_faults += is_fault;
	session_close(s, ERR_TIMEOUT, why);
	session_touch(s);
}

static void init_ops(struct session_ops *ops)
{
	ops->sends.until = ops->message.until = ops->credits.until = NSEC_NEVER;
	ops->reads.watch.until = ops->writes.watch.until = NSEC_NEVER;
	ops->behind_since = NSEC_NEVER;
}

void session_watch_init(struct session *s)
{
	timer_init(&s->patience, on_patience);
	s->look = s->crossed.until = s->forward.jam.until = s->reverse.jam.until = NSEC_NEVER;
	init_ops(&s->cops);
	init_ops(&s->sops);
}
