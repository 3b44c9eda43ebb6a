/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_END_H
#define PROXY_SESSION_END_H

#include "proxy/session.h"

/** session_await_setup - a leg's set-up began or ended: arm the timer for the earlier deadline of
 * both legs. */
void session_await_setup(struct session *s);

/** session_leave_preauth_queue - the client has sent a message, or the session ends: it can no
 * longer be displaced; idempotent. */
void session_leave_preauth_queue(struct session *s);

/** session_close - end both legs in order, for @status and @why; the log names the client's leg. */
void session_close(struct session *s, int status, const char *why);

/** session_close_for - the same; the log names @cause as the leg that ended the session. */
void session_close_for(struct session *s, const struct leg *cause, int status, const char *why);

/** session_leave - @s begins no more calls and ends as soon as none is in flight, at @deadline in
 * any case. */
void session_leave(struct session *s, nsec_t deadline);

/** session_breach - the peer of the leg @cause broke the protocol: end @s. */
void session_breach(struct session *s, const struct leg *cause, const char *why);

/** session_refusal - the reason under which a refused client counts if its server's connection
 * failed with @err. */
static inline enum proxy_refusal session_refusal(int err)
{
	if (err == ERR_NOMEM || err == ERR_AGAIN)
		return PROXY_REFUSED_MEMORY;
	return err == ERR_LOCAL ? PROXY_REFUSED_MACHINE : PROXY_REFUSED_UPSTREAM;
}

/**
 * session_reject_client, session_send_rejection - reject a client that was not accepted yet
 *
 * A rejected client need not wait for its own time limit. Only session_reject_client() counts the
 * rejection.
 */
void session_reject_client(struct session *s, enum proxy_refusal why);
void session_send_rejection(struct session *s);

/** session_count_refusal - count a client that was accepted, but gets no server. */
void session_count_refusal(struct session *s, enum proxy_refusal why);

/** session_die - both legs have ended: @s is freed soon. */
void session_die(struct session *s);

/** session_begin_end - one leg of @s has ended or is about to. */
void session_begin_end(struct session *s);

/** session_stop_waiting - @s no longer waits for memory. */
void session_stop_waiting(struct session *s);

#endif
