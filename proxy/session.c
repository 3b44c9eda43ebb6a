/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   CONNECT: a client's connection request waits unanswered while the server leg connects and
 *            negotiates; so a client learns at once if there is no server.
 *   ACCEPT:  the server is ready; the client is being accepted.
 *   PROVE:   the client has to prove its name: it is accepted first, and nothing is asked of a
 *            server before that (session_route.c).
 *   JOIN:    after that the server leg of its route connects; the client's messages wait.
 *   OPEN:    transactions flow.
 *   CLOSING: one leg ended, or the session has to end: the other leg sends what is posted and
 *            ends. The gateway never invents a reply nor repeats a call: the client reconnects
 *            and sends its calls again.
 *   DEAD:    both legs ended; freed at the end of the turn.
 */
#include <stdio.h>

#include "base/min.h"
#include "proxy/internal.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_handshakes.h"
#include "proxy/session_hop.h"
#include "proxy/session_log.h"
#include "proxy/session_route.h"
#include "proxy/session_server.h"
#include "proxy/session_share.h"
#include "proxy/session_version.h"
#include "proxy/txn_admit.h"
#include "proxy/txn_alloc.h"
#include "proxy/txn_call.h"
#include "proxy/txn_reply.h"
#include "proxy/txn_step.h"

#include "base/log.h"
#include "base/mem.h"

/* A client that does not prove its name breaks no rule of the protocol. In SESSION_CONNECT
 * session_reject_client() counts that client. */
static void count_fault(struct session *s, int status)
{
	if (status == ERR_VERS)
		s->route->count.version_faults++;
	else if (status == ERR_AUTH && s->state != SESSION_CONNECT)
		session_count_refusal(s, PROXY_REFUSED_HOSTAUTH);
	else if (status == ERR_AUTH)
		return;
	else if (err_class(status) == ERR_CLASS_PEER)
		s->route->count.peer_faults++;
}

static void session_on_closed(struct session *s, struct leg *leg, const struct leg_out *out)
{
	char why[LEG_WHY_BYTES];
	int status = out->status;

	if (leg == &s->server &&
	    (session_retry_bare(s, &status) || session_retry_as_v1(s, &status)))
		return;
	/* If session_retry_bare() or session_retry_as_v1() tried another connection, out->why is
	 * about the connection before. */
	if (status != out->status)
		snprintf(why, sizeof(why), "%s", session_upstream_strerror(s, status));
	else
		snprintf(why, sizeof(why), "%s",
			 out->why ? out->why : "the peer ended the connection");
	/* An orderly end is a failure nevertheless if the server leg was not ready. */
	if (leg == &s->server && session_awaits_server(s) && status == 0)
		status = ERR_CLOSED;
	if (leg == &s->server && s->state != SESSION_CLOSING) {
		session_forget_v1(s, status);
		session_judge_bare(s, status);
		if (session_fail_over(s, status, why))
			return;
		session_note_unheard(s, status);
	}
	if (s->state != SESSION_CLOSING) {
		count_fault(s, status);
		session_log_end(s, leg, status, why);
	}
	if (s->state == SESSION_CONNECT && leg == &s->server)
		session_reject_client(s, session_refusal(status));
	session_begin_end(s);
	leg_close(leg == &s->client ? &s->server : &s->client, ERR_CLOSED, "other leg ended");
	if (leg_ended(&s->client) && leg_ended(&s->server))
		session_die(s);
}

static void open_both(struct session *s)
{
	char client[FABRIC_ADDR_TEXT], server[FABRIC_ADDR_TEXT], names[SESSION_NAMES_BYTES];

	s->state = SESSION_OPEN;
	session_count_version(s, &s->server);
	log_peer(LOG_LEVEL_INFO, "session.open", s->host,
		 "session=%llu route=%s client=%s server=%s server_version=%s%s",
		 (unsigned long long)s->id, s->route->route->name,
		 fabric_addr_format(&s->client.conn->peer, client),
		 fabric_addr_format(&s->server.conn->peer, server), s->server.t->ops->name,
		 session_names(s, names));
}

/* The server leg is ready: the client is accepted, or its messages go on. */
static void on_server_ready(struct session *s)
{
	if (!session_upstream_ready(s))
		return;
	session_hop_ready(s);
	if (s->server.t->count.recvs > 0)
		session_hear(s);
	if (s->server.t->version == 1 && s->server.cfg->versions == LEG_V1_OR_V2)
		session_remember_v1(s); /* the server answered that it has no version 2 */
	session_judge_bare(s, 0);
	if (s->state == SESSION_CONNECT) {
		s->state = SESSION_ACCEPT;
		session_accept(s);
		return;
	}
	open_both(s);
	leg_go_on(&s->client);
	session_touch(s);
}

static void session_on_ready(struct session *s, struct leg *leg)
{
	/* The other leg may have ended meanwhile. */
	if (leg == &s->server && session_awaits_server(s))
		on_server_ready(s);
	else if (leg == &s->client && s->state == SESSION_ACCEPT)
		open_both(s);
}

static void session_on_msg(struct session *s, struct leg *leg, struct leg_out *out)
{
	const struct leg *other = leg == &s->client ? &s->server : &s->client;
	const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};

	if (leg == &s->server && !s->has_heard)
		session_hear(s);
	if (out->held.reasm)
		s->route->count.assembled_bytes += rpc_msg_body_len(out->msg);
	if (leg == &s->server && s->retried_v1) {
		s->retried_v1 = false;
		session_remember_v1(s);
	}
	if (out->msg->dir == RPC_REPLY) {
		txn_reply(s, leg, out);
		return;
	}
	if (session_is_leaving(s) && !out->reverse) {
		/* No call is begun any more. The session ends as soon as the calls in flight are
		 * done, and the client sends this call again over its next connection. */
		leg_put(leg, &out->held);
		return;
	}
	if (s->state == SESSION_OPEN && other->state == LEG_OPEN) {
		txn_call(s, out);
		return;
	}
	/* A reverse call came before the client's first message: the client's version is not
	 * known yet. */
	leg_reject(leg, out->msg->xid, &system);
	leg_put(leg, &out->held);
}

static void session_on_out(struct session *s, struct leg *leg, struct leg_out *out)
{
	switch (out->kind) {
	case LEG_OUT_NONE:
		break;
	case LEG_OUT_READY:
		session_on_ready(s, leg);
		break;
	case LEG_OUT_MSG:
		session_on_msg(s, leg, out);
		break;
	case LEG_OUT_ERROR:
		txn_error(s, leg, out);
		break;
	case LEG_OUT_SENT:
		txn_sent(out->tx->owner, out->tx);
		break;
	case LEG_OUT_OP:
		txn_op(out->cookie, out);
		break;
	case LEG_OUT_RECV_LIMITED:
		/* If the state has ended, session_pump() tries the waiting calls. */
		if (leg_is_recv_limited(leg))
			txn_move_all(s, leg);
		break;
	case LEG_OUT_CLOSED:
		session_on_closed(s, leg, out);
		break;
	}
}

/* Whether host authentication of @leg has something left to do. Most legs have no host
 * authentication, or it is over. */
static bool auth_goes_on(const struct session *s, const struct leg *leg)
{
	const struct handshake_slot *slot = &s->slots[session_side(leg)];

	return (leg->proof && !leg->proof->reported) || slot->member.host;
}

static void on_first_word(struct session *s)
{
	session_leave_preauth_queue(s);
	session_count_version(s, &s->client);
}

static void drain_leg(struct session *s, struct leg *leg)
{
	const struct list *waits = leg->rxq.next;
	struct leg_out out;
	bool asked;

	if (auth_goes_on(s, leg))
		session_auth(s, leg);
	do {
		struct leg_tx *tx;

		while ((tx = leg_next_sent(leg)))
			txn_sent(tx->owner, tx);
		leg_next(leg, &out);
		session_on_out(s, leg, &out);
	} while (out.kind != LEG_OUT_NONE);
	/* Messages that waited were processed. Now GRANTs, or an answer of host authentication, may
	 * be due, and perhaps no further event of this leg comes before they are sent. */
	if (waits != &leg->rxq && waits != leg->rxq.next)
		session_touch(s);
	asked = auth_goes_on(s, leg);
	if (asked)
		session_auth(s, leg);
	if (s->state == SESSION_PROVE)
		session_choose(s);
	session_hop_asked(s);
	if (asked)
		session_log_auth(s, leg);
	/* The client has sent a message, and proved its name if that is asked. */
	if (s->silent.host && s->client.t && !leg_is_unproved(&s->client))
		on_first_word(s);
}

/* Whether @leg has nothing to do but its events: set-up is over and nothing is queued. True for
 * most events. */
static inline bool is_calm(const struct session *s, const struct leg *leg)
{
	return !leg_has_next(leg) && !auth_goes_on(s, leg) && !s->silent.host &&
	       s->state != SESSION_PROVE;
}

void session_input(struct session *s, struct leg *leg, const struct fabric_event *ev)
{
	struct leg_out out;

	if (s->state == SESSION_DEAD)
		return;
	leg_input(leg, ev, &out);
	if (out.kind == LEG_OUT_MSG) /* most events */
		session_on_msg(s, leg, &out);
	else
		session_on_out(s, leg, &out);
	if (!is_calm(s, leg))
		drain_leg(s, leg);
	session_touch(s);
}

/* A version 1 client may send one call before the first reply grants it more (RFC 8166 3.3.1). If a
 * version 2 client were granted only one message, it would need a GRANT for nearly each of its
 * first messages. So until the server's first message the client is granted as many as the gateway
 * will ask the server for, and the client's calls wait here. */
static uint32_t server_takes(const struct session *s)
{
	const struct rpc_transport *t = s->server.t;

	if (t->ops->traits->counts_calls && t->count.recvs == 0)
		return s->server.cfg->credits;
	return t->ops->call_credits(t);
}

/*
 * Set the client's grant.
 *
 * State:  each credit lets the client have one more call (version 1) or message (version 2) here,
 *         which holds a Receive.
 * Danger: too many credits: calls that wait hold the Receives that replies need. Too few: a version
 *         2 client's GRANTs use up what its calls need.
 * Rule:   the grant is the number that the server takes, and a small queue. These limits apply:
 * - While calls of the client wait, the grant is halved.
 * - If the grants of all busy legs exceed the shared Receives, the grant is the leg's part of the
 *   Receives, or GRANT_MIN if that is more.
 * - While few Receives are left, the grant is GRANT_MIN at most.
 * - The grant is at least one (RFC 8166 section 3.3.1).
 * Pinned: tests/session/test_credits.c:any_schedule,
 *         tests/session/test_pressure.c:credits_shrink_and_recover,
 *         tests/session/test_shared.c:grants_shrink_while_receives_are_short,
 *         :many_clients_are_granted_their_part, decision 81.
 */
static void set_grants(struct session *s)
{
	enum { GRANT_MIN = 4 };
	/* A client without a reply so far may be one of many that begin now. */
	unsigned connections = s->stat[PROXY_CLIENT].replies ? 1 : s->proxy->nsessions;
	uint32_t grant = server_takes(s), part;

	grant += grant / 8 + 1;
	/* A call over a far hop may take many messages. */
	if (s->hop[PROXY_CLIENT].is_far && s->client.t && !s->client.t->ops->traits->counts_calls)
		grant = s->client.cfg->credits;
	if (session_calls_wait(&s->forward))
		grant = grant / 2 + 1;
	part = recv_pool_share(s->client.recvs, connections, grant);
	grant = min_u32(grant, part > GRANT_MIN ? part : GRANT_MIN);
	if (grant > GRANT_MIN &&
	    (recv_pool_is_low(s->client.recvs) || recv_pool_is_low(s->server.recvs)))
		grant = GRANT_MIN;
	if (grant != s->client.grant)
		leg_set_grant(&s->client, grant);
}

/*
 * State:  a version 2 client has used all its credits for calls, which wait here in their Receives.
 *         Calls of the server wait for the client's answers.
 * Danger: the server's calls fill the client's Receives. The client has no credit for an answer,
 *         and the gateway has none for the replies that would let the client's calls proceed.
 * Rule:   the client's calls that wait are copied out of their Receives, as a server's are
 *         (txn_admit.c). This gives the client new credits.
 * Pinned: tests/session/test_credits.c:calls_that_wait_leave_credits_to_answers, decision 74.
 */
static void free_credits_for_answers(struct session *s)
{
	if (s->reverse.running > 0 && session_calls_wait(&s->forward) &&
	    leg_peer_has_no_credit(&s->client))
		txn_move_all(s, &s->client);
}

/* Something happened on @s, so something may be in flight; the next look at debts finds out. */
static inline void note_flight(struct session *s)
{
	if (list_is_empty(&s->owing))
		session_debts_begin(s);
	if (s->server.cfg->reply_timeout)
		(void)session_blocked_ns(s, &s->server);
	if (s->client.cfg->reply_timeout)
		(void)session_blocked_ns(s, &s->client);
}

void session_pump(struct session *s)
{
	if (s->state == SESSION_OPEN) {
		txn_run(&s->reverse);
		txn_run(&s->forward);
		txn_resume(&s->reverse);
		txn_resume(&s->forward);
		free_credits_for_answers(s);
		set_grants(s);
	}
	if (s->ntxns == 0) {
		txn_free_cached(&s->reverse);
		txn_free_cached(&s->forward);
	}
	leg_pump(&s->server);
	leg_pump(&s->client);
	if (!is_calm(s, &s->server))
		drain_leg(s, &s->server);
	if (!is_calm(s, &s->client))
		drain_leg(s, &s->client);
	session_await_setup(s);
	if (s->state == SESSION_OPEN)
		note_flight(s);
	if (session_is_leaving(s) && session_may_leave(s))
		session_close(s, 0, s->proxy->draining ? "shutting down" : "drained");
}

void session_resume(struct session_queue *q, bool has_block)
{
	if (q->s->state == SESSION_OPEN)
		has_block ? txn_resume(q) : txn_run(q);
	session_touch(q->s);
}

void session_free(struct session *s)
{
	struct proxy *p = s->proxy;

	session_log_suppressed(s);
	txn_drop_deferred(&s->forward);
	txn_drop_deferred(&s->reverse);
	session_auth_end(s);
	/* Connections first: after that no operation uses the memory. */
	leg_fini(&s->client);
	leg_fini(&s->server);
	while (!list_is_empty(&s->txns))
		txn_release(list_first(&s->txns, struct txn, link));
	session_stop_waiting(s);
	if (p->log_next == &s->link)
		p->log_next = s->link.next;
	if (p->drain_next == &s->link)
		p->drain_next = s->link.next;
	if (p->snapshot_next == &s->link)
		p->snapshot_next = s->link.next;
	list_del(&s->link);
	list_del(&s->dirty);
	list_del(&s->owing);
	timer_disarm(&p->timers, &s->setup);
	timer_disarm(&p->timers, &s->leave);
	txn_device_busy_end(s);
	p->fixed_bytes -= s->fixed_bytes;
	p->nsessions--;
	session_leave_preauth_queue(s);
	session_limits_leave(p->session_limits, s->place);
	s->listener->count.sessions_closed++;
	session_upstream_end(s);
	if (s->route) {
		s->route->count.sessions--;
		session_share_leave(s);
		session_uncount_versions(s);
		route_put(s->route);
	}
	route_put(s->listener);
	session_drop_request(s);
	mem_free(s);
}
