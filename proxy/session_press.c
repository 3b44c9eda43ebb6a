/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * While others wait for memory of continued messages, whoever holds some of it has no minutes: with a whole block
 * taken by a client that then says nothing, the next one's turn comes at the least rate of session_watch.c, and with
 * a few hundred of them, a beginning each, hours later. So as long as anybody waits all sessions are looked at every
 * two seconds, some in a turn, and a session ends that holds what others could use and
 *
 *	- owes octets, and brought less than PRESS_LEAST of the same message in two looks, 500 kbit/s, or less than
 *	  PRESS_WINDOWS of what it is granted at once, where that is less;
 *	- or holds that of a whole call, which has got no answer for SESSION_PATIENCE, while other routes wait: some RPCs
 *	  take as long as they take, but not those of others' servers;
 *	- or holds a beginning, and was itself in line for the whole block for SESSION_PATIENCE. That is no fault of
 *	  its own, but the line is as long as there are beginnings, and those behind it have not even one.
 *
 * Who has no shared Receive for its next octets owes nothing: session_recvs.c sees to these. Nor does who has sent all of a
 * message of several Sends, which is put together here, a part a turn (leg_group.c). Who has too many Receives itself has
 * a minute: what it keeps is set aside meanwhile, where there is memory for that. So has who is granted no more, for calls of its
 * own wait in the Receives that it was granted: what they wait for is a server's affair, which may never answer, and be
 * of one mind with its client.
 *
 * So a client finds its place when those before it have had three looks each for every whole block there is; where
 * there are more of them than beginnings, these come back a minute later at most. Nothing is done, nor looked at,
 * while nobody waits.
 */
#include "proxy/internal.h"

#define PRESS_INTERVAL (2 * NSEC_PER_SEC)

enum {
	PRESS_TURN = 128, /* sessions looked at in a turn */
	PRESS_LEAST = 256 * 1024,
	PRESS_WINDOWS = 8,
	PRESS_OWED =
		2, /* looks that saw no progress, and one more: a grant may lie behind much that is sent */
	PRESS_STALLED = SESSION_PATIENCE / PRESS_INTERVAL,
};

void session_press_begin(struct proxy *p)
{
	if (!timer_is_armed(&p->press))
		timer_arm(&p->timers, &p->press, p->now + PRESS_INTERVAL);
}

static bool anybody_waits(const struct proxy *p)
{
	return quota_has_line(&p->quota, BUF_CALL) || quota_has_line(&p->quota, BUF_BEGUN) ||
	       quota_has_line(&p->quota, BUF_ASSEMBLY);
}

static uint32_t least(const struct leg *leg)
{
	uint64_t windows = (uint64_t)PRESS_WINDOWS * leg->grant * leg->cfg->inline_bytes;

	return windows < PRESS_LEAST ? (uint32_t)windows : PRESS_LEAST;
}

/* No GRANT goes into the middle of a message to it (draft-07 6.3.6). While it takes that, it has a minute; and while it
 * keeps many Receives, or all that it was granted. */
static bool has_a_minute(const struct leg *leg, const struct session_press *press)
{
	bool is_taking = leg_is_closed(leg) && leg->sent != press->sent;

	return (is_taking || leg_keeps_closed(leg) || leg_is_sated(leg) || leg_is_full(leg)) &&
	       press->excused < PRESS_STALLED;
}

static bool press_leg(struct leg *leg, struct session_press *press)
{
	const struct quota_member *m = leg_assembly_quota(leg);

	if (!m || !quota_is_in_the_way(m))
		return false;
	if (press->message != leg->begun || press->stalled != !!leg->stalled ||
	    leg->parts - press->mark >= least(leg) || leg_has_group(leg) ||
	    (!leg->stalled && recvs_are_out(leg->recvs)))
		*press = (struct session_press){
			.message = leg->begun, .mark = leg->parts, .stalled = leg->stalled};
	else if (!leg->stalled && has_a_minute(leg, press))
		press->excused++, press->looks = 0;
	else
		press->looks++;
	press->sent = leg->sent;
	return press->looks >= (press->stalled ? PRESS_STALLED : PRESS_OWED);
}

/* Of what is common to all routes. */
static bool is_of_calls(const struct session *s, const void *block)
{
	return block && buf_zone_of(&s->proxy->arena, block) == BUF_ZONE_CALLS;
}

/* The oldest of its continued calls that lies there, by when it came; one that has no place yet by what ended before; 0: there
 * is none. */
static uint64_t oldest_call(const struct session *s)
{
	const struct list *kept = &s->forward.kept;

	for (struct list *it = s->txns.next; it != &s->txns; it = it->next) {
		const struct txn *t = container_of(it, struct txn, link);

		if (t->req == &s->client && is_of_calls(s, t->call_held.assembly))
			return t->since;
	}
	for (struct list *it = kept->next; it != kept; it = it->next)
		if (is_of_calls(s, container_of(it, struct leg_rbuf, link)->assembly))
			return s->forward.ended + 1;
	return 0;
}

static bool press_calls(struct session *s)
{
	const struct quota_member *m = &s->client.quotas[BUF_CALL];
	struct session_queue *q = &s->forward;
	uint64_t call = m->used && quota_is_in_others_way(m) ? oldest_call(s) : 0;

	if (call != q->pressed)
		q->pressed_looks = 0;
	q->pressed = call;
	return call && ++q->pressed_looks > PRESS_STALLED;
}

static void press_message(struct session *s)
{
	bool client = press_leg(&s->client, &s->cops.press);
	bool server = press_leg(&s->server, &s->sops.press);

	if (!client && !server)
		return;
	if ((client && !s->cops.press.stalled) || (server && !s->sops.press.stalled)) {
		s->route->count.peer_faults++;
		session_close(s, ERR_TIMEOUT,
			      "others wait for the memory of a continued message whose rest does "
			      "not come");
	} else {
		session_close(
			s, ERR_NOMEM,
			"no memory for a continued message came free in time, and others wait");
	}
	session_touch(s);
}

static void press_session(struct session *s)
{
	if (press_calls(s)) {
		session_close(s, ERR_NOMEM,
			      "others wait for the memory of a call that gets no answer");
		session_touch(s);
		return;
	}
	press_message(s);
}

void session_press(struct timer *timer, nsec_t now)
{
	struct proxy *p = container_of(timer, struct proxy, press);

	if (p->press_next == &p->sessions && anybody_waits(p)) {
		p->press_next = p->sessions.next;
		p->press_end = now + PRESS_INTERVAL;
	}
	for (unsigned i = 0; i < PRESS_TURN && p->press_next != &p->sessions; i++) {
		struct session *s = container_of(p->press_next, struct session, link);

		p->press_next = s->link.next;
		p->press_looks++;
		if (s->state == SESSION_OPEN)
			press_session(s);
	}
	if (p->press_next != &p->sessions)
		timer_arm(&p->timers, timer, now + 1); /* in the next turn */
	else if (anybody_waits(p))
		timer_arm(&p->timers, timer, p->press_end);
}
