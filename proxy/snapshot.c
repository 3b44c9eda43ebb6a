/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A snapshot visits sessions in the order of their numbers, SNAPSHOT_PIECE at a time. Its position
 * is an element of the list, and session_free() moves it on from a session that ends. A list that
 * is requested page by page continues where the last page ended, unless another snapshot came
 * between. Then it searches its position from the start, also a piece at a time. Sessions that
 * begin after a snapshot are not part of it, so each snapshot ends.
 */
#include "proxy/snapshot.h"

#include <stdio.h>

#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/session_server.h"
#include "proxy/snapshot_want.h"

enum { ROUTES_PIECE = 32 };

const char *snapshot_use_name(enum buf_purpose purpose)
{
	static const char *const names[BUF_PURPOSES] = {
		[BUF_TRANSACTION] = "payload",	      [BUF_REASM_REPLY] = "replies_assembled",
		[BUF_REASM_CALL] = "calls_assembled", [BUF_REASM_START] = "messages_begun",
		[BUF_COPIED_CALL] = "set_aside",      [BUF_TXN_FORWARD] = "calls",
		[BUF_TXN_REVERSE] = "reverse_calls",  [BUF_CONN] = "connections",
	};

	return names[purpose];
}

static const char *state_name(const struct session *s)
{
	static const char *const names[] = {
		[SESSION_CONNECT] = "connecting", [SESSION_ACCEPT] = "accepting",
		[SESSION_PROVE] = "proving",	  [SESSION_JOIN] = "joining",
		[SESSION_OPEN] = "open",	  [SESSION_CLOSING] = "closing",
		[SESSION_DEAD] = "ended",
	};

	return names[s->state];
}

static const char *step_name(enum txn_state state)
{
	static const char *const names[] = {
		[TXN_WAITING] = "waiting", [TXN_PULL] = "pull",	    [TXN_CALL] = "call",
		[TXN_WAIT] = "wait",	   [TXN_AGAIN] = "again",   [TXN_BLANK] = "blank",
		[TXN_SHORT] = "short",	   [TXN_FENCE] = "fence",   [TXN_PUSH] = "push",
		[TXN_REPLY] = "reply",	   [TXN_FAILED] = "failed",
	};

	return names[state];
}

static void copy_memory(const struct proxy *p, struct snapshot_memory *m)
{
	const struct buf_arena *a = &p->arena;

	*m = (struct snapshot_memory){.total = a->bytes,
				      .used = a->used,
				      .own = a->used,
				      .peak = a->peak,
				      .reserve = a->reserve,
				      .reserve_used = a->reserve_used,
				      .touched = a->touched.bytes,
				      .waits = p->quota.waits};
	for (unsigned i = 0; i < BUF_PURPOSES; i++) {
		m->by_use[i] = a->zones[buf_zone_for((enum buf_purpose)i)].used;
		m->own -= m->by_use[i];
	}
}

static void copy_leg(const struct leg *leg, const struct session_stat *st, struct snapshot_leg *out)
{
	*out = (struct snapshot_leg){.calls = st->calls,
				     .replies = st->replies,
				     .rcalls = st->rcalls,
				     .rreplies = st->rreplies,
				     .bytes_in = st->bytes_in,
				     .bytes_out = st->bytes_out,
				     .large = st->large,
				     .written = st->written};
	if (leg->conn)
		fabric_addr_format(&leg->conn->peer, out->peer);
	snprintf(out->name, sizeof(out->name), "%s", leg_peer_name(leg));
	if (!leg->conn || !leg->t)
		return;
	out->version = leg->t->version;
	out->version_name = leg->t->ops->name;
	out->inline_send = leg->t->peer.send_bytes;
	out->inline_recv = leg->t->peer.recv_bytes;
	out->credits = leg->role == RPC_ACCEPTOR ? leg->grant : leg->t->ops->call_credits(leg->t);
	out->late = leg->t->count.late;
}

/* Return: calls of @q that wait and have no transaction yet. */
static unsigned count_deferred(const struct session_queue *q)
{
	unsigned n = 0;

	for (const struct list *it = q->deferred.next; it != &q->deferred; it = it->next)
		n++;
	return n;
}

static void copy_session(const struct session *s, nsec_t now, struct snapshot_session *out)
{
	*out = (struct snapshot_session){
		.id = s->id,
		.age = now - s->begun,
		.state = state_name(s),
		.route = s->route->slot,
		.is_old = s->route->is_retired,
		.is_leaving = timer_is_armed(&s->leave),
		.in_flight = s->forward.running + s->reverse.running,
		.waiting = s->ntxns - s->forward.running - s->reverse.running +
			   count_deferred(&s->forward) + count_deferred(&s->reverse),
		.fixed_bytes = s->fixed_bytes,
		.call_bytes = s->forward.quota.used + s->reverse.quota.used +
			      s->forward.block_quota.used + s->reverse.block_quota.used};
	snprintf(out->client, sizeof(out->client), "%s", s->host);
	copy_leg(&s->client, &s->stat[PROXY_CLIENT], &out->legs[PROXY_CLIENT]);
	copy_leg(&s->server, &s->stat[PROXY_SERVER], &out->legs[PROXY_SERVER]);
	out->legs[PROXY_CLIENT].is_far = s->hop[PROXY_CLIENT].is_far;
	out->legs[PROXY_SERVER].is_far = s->hop[PROXY_SERVER].is_far;
}

static void copy_calls(const struct session *s, nsec_t now, struct snapshot *l)
{
	for (const struct list *it = s->txns.next; it != &s->txns && l->ncalls < l->most;
	     it = it->next) {
		const struct txn *t = container_of(it, struct txn, link);

		l->calls[l->ncalls++] = (struct snapshot_call){.xid = t->in.xid,
							       .is_reverse = t->reverse,
							       .step = step_name(t->state),
							       .age = now - t->at[TRACE_ARRIVED],
							       .bytes = t->taken};
	}
	l->calls_left =
		s->ntxns - l->ncalls + count_deferred(&s->forward) + count_deferred(&s->reverse);
}

/* Drain one session, or the sessions of one proved name, without moving the client's other
 * sessions; or drain the whole client. */
static void drain(struct session *s, const struct snapshot *l, nsec_t deadline)
{
	if (l->want.id || *l->want.name)
		session_leave(s, deadline);
	else
		session_release(s, deadline);
}

/* Copy @s or act on it. Return: whether no further session is needed. */
static bool treat(struct session *s, struct snapshot *l, nsec_t now)
{
	switch (l->kind) {
	case SNAPSHOT_SESSIONS:
		copy_session(s, now, &l->sessions[l->nsessions]);
		break;
	case SNAPSHOT_CALLS:
		copy_session(s, now, l->sessions);
		copy_calls(s, now, l);
		break;
	case SNAPSHOT_DRAIN:
		drain(s, l, now + l->timeout);
		break;
	case SNAPSHOT_KILL:
		session_close(s, 0, "killed by the operator");
		session_touch(s);
		break;
	case SNAPSHOT_MEMORY:
	case SNAPSHOT_COUNTERS:
	case SNAPSHOT_TRACE:
	case SNAPSHOT_UNTRACE:
		break;
	}
	l->nsessions++;
	l->more = l->kind == SNAPSHOT_SESSIONS && l->nsessions == l->most;
	return l->more || l->want.id != 0;
}

static void begin(struct proxy *p, struct snapshot *l)
{
	l->begun = true;
	l->more = false;
	l->nsessions = l->ncalls = l->calls_left = 0;
	p->snapshot_end = p->next_session;
	if (p->snapshot_after != l->after || l->after == 0)
		p->snapshot_next = p->sessions.next;
	p->snapshot_after = l->after;
}

static bool copy_sessions(struct proxy *p, struct snapshot *l, nsec_t now)
{
	if (!l->begun)
		begin(p, l);
	for (unsigned i = 0; i < SNAPSHOT_PIECE; i++) {
		struct session *s = container_of(p->snapshot_next, struct session, link);

		if (p->snapshot_next == &p->sessions || s->id >= p->snapshot_end)
			return false;
		p->snapshot_next = s->link.next;
		if (s->id <= l->after)
			continue;
		l->after = p->snapshot_after = s->id;
		if (s->state != SESSION_DEAD && session_fits(s, &l->want) && treat(s, l, now))
			return false;
	}
	return true;
}

static bool copy_counters(const struct proxy *p, struct snapshot *l)
{
	for (unsigned i = 0; i < ROUTES_PIECE && l->next_route < p->nslots; i++) {
		const struct route_state *rs = p->routes[l->next_route];

		if (rs)
			l->counters[l->next_route] = rs->count;
		l->next_route++;
	}
	l->gone = p->gone;
	return l->next_route < p->nslots;
}

bool proxy_snapshot(struct proxy *p, struct snapshot *l, nsec_t now)
{
	switch (l->kind) {
	case SNAPSHOT_MEMORY:
		copy_memory(p, &l->memory);
		return false;
	case SNAPSHOT_COUNTERS:
		return copy_counters(p, l);
	case SNAPSHOT_TRACE:
		trace_attach(p, l->ring);
		return false;
	case SNAPSHOT_UNTRACE:
		trace_detach(p, l->ring);
		return false;
	case SNAPSHOT_SESSIONS:
	case SNAPSHOT_CALLS:
	case SNAPSHOT_DRAIN:
	case SNAPSHOT_KILL:
		break;
	}
	return copy_sessions(p, l, now);
}
