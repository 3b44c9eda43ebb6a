/* SPDX-License-Identifier: BSD-2-Clause */
/* How a session ends. Every file of session*.c may call this one; session.c has the states. */
#include "proxy/session_end.h"
#include "proxy/internal.h"
#include "proxy/session_handshakes.h"
#include "proxy/session_log.h"
#include "proxy/txn_alloc.h"

void session_await_setup(struct session *s)
{
	timer_arm(&s->proxy->timers, &s->setup, nsec_min(s->client.deadline, s->server.deadline));
}

void session_send_rejection(struct session *s)
{
	if (s->client.conn)
		fabric_reject(s->client.conn, view_of(NULL, 0));
	s->client.conn = NULL;
	s->client.state = LEG_CLOSED;
}

void session_count_refusal(struct session *s, enum proxy_refusal why)
{
	s->route->count.sessions_refused++;
	s->route->count.refused[why]++;
}

void session_reject_client(struct session *s, enum proxy_refusal why)
{
	session_count_refusal(s, why);
	if (why == PROXY_REFUSED_MEMORY)
		s->proxy->no_room_until = s->proxy->now + PROXY_NO_ROOM;
	session_send_rejection(s);
}

void session_leave_preauth_queue(struct session *s)
{
	if (s->silent.host)
		s->proxy->silent_bytes -= s->fixed_bytes;
	preauth_queue_leave(&s->proxy->preauth_queue, &s->silent);
}

void session_die(struct session *s)
{
	s->state = SESSION_DEAD;
	session_auth_end(s);
	session_leave_preauth_queue(s);
	session_touch(s);
}

static void stop_queue(struct session_queue *q)
{
	quota_unwait(&q->quota);
	quota_unwait(&q->block_quota);
	txn_free_cached(q);
}

void session_stop_waiting(struct session *s)
{
	stop_queue(&s->forward);
	stop_queue(&s->reverse);
}

/* Sessions that wait for memory behind @s need not wait until @s is freed: @s leaves the queues of
 * memory now. */
void session_begin_end(struct session *s)
{
	s->state = SESSION_CLOSING;
	session_auth_end(s);
	session_leave_preauth_queue(s);
	session_stop_waiting(s);
	leg_stop_waiting(&s->client);
	leg_stop_waiting(&s->server);
}

/* The reason to reject a client that has not been accepted yet. */
static enum proxy_refusal refusal_for(const struct session *s, int status)
{
	if (session_is_leaving(s))
		return PROXY_REFUSED_DRAINING;
	if (status == 0) /* nothing went wrong */
		return PROXY_REFUSED_KILLED;
	return session_refusal(status);
}

void session_close(struct session *s, int status, const char *why)
{
	session_close_for(s, &s->client, status, why);
}

void session_close_for(struct session *s, const struct leg *cause, int status, const char *why)
{
	if (s->state == SESSION_CLOSING || s->state == SESSION_DEAD)
		return;
	session_log_end(s, cause, status, why);
	if (s->state == SESSION_CONNECT)
		session_reject_client(s, refusal_for(s, status));
	session_begin_end(s);
	leg_close(&s->client, status, why);
	leg_close(&s->server, status, why);
	if (leg_ended(&s->client) && leg_ended(&s->server))
		session_die(s);
}

/*
 * State:  the gateway shuts down, an operator drains @s, its route was removed, or its client was
 *         assigned another server.
 * Danger: a call in flight is lost; or a call that never ends keeps @s, or the process, for ever.
 * Rule:   @s begins no more calls. It ends as soon as it may (session_may_leave()), and at the
 *         earliest @deadline that was set for it in any case.
 * Pinned: tests/session/test_snapshot.c:draining_does_not_wait_for_ever,
 *         tests/session/test_drain.c:the_deadline_holds, :no_deadline_is_put_off,
 *         tests/session/test_upstreams.c:a_client_moves_with_all_it_has
 */
void session_leave(struct session *s, nsec_t deadline)
{
	timer_arm(&s->proxy->timers, &s->leave, nsec_min(deadline, s->leave.at));
	session_touch(s); /* no call may be in flight now */
}

void session_breach(struct session *s, const struct leg *cause, const char *why)
{
	if (s->state != SESSION_CLOSING)
		s->route->count.peer_faults++;
	session_close_for(s, cause, ERR_PROTO, why);
}
