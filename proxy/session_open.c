/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who comes in: a connection becomes a session when the crowd has a place for its client, and the worker
 * memory for both legs. Where one of these is missing, who has not said a word yet makes room.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proxy/internal.h"

static void refuse_client(struct route_state *rs, const struct fabric_event *ev, const char *why)
{
	char peer[FABRIC_ADDR_TEXT], host[FABRIC_ADDR_TEXT];

	rs->proxy->count.sessions_refused++;
	log_peer(LOG_LEVEL_WARN, "session.refused", fabric_addr_host(&ev->conn->peer, host),
		 "route=%s peer=%s why=\"%s\"", rs->route->name,
		 fabric_addr_format(&ev->conn->peer, peer), why);
	fabric_reject(ev->conn, view_of(NULL, 0));
}

/* Version 2 grants messages, not calls: the bound on calls is the gateway's own. */
static void open_queue(struct session *s, struct session_queue *q, uint32_t a, uint32_t b)
{
	enum buf_purpose room = q == &s->forward ? BUF_FORWARD : BUF_REVERSE;

	quota_member_init(&q->quota, &s->route->groups[BUF_TRANSACTION]);
	quota_member_init(&q->room, &s->route->groups[room]);
	q->s = s;
	q->limit = a > b ? a : b;
	if (q->limit == 0)
		q->limit = 1;
	list_init(&q->waiting);
	list_init(&q->kept);
}

static void open_ops(struct session_ops *ops)
{
	list_init(&ops->queue);
}

static size_t fixed_bytes(const struct route_state *rs, const struct fabric_conn *client)
{
	const struct proxy_route *route = rs->route;

	return sizeof(struct session) +
	       leg_fixed_bytes(&route->client, client->fabric, SESSION_OP_DEPTH) +
	       leg_fixed_bytes(&route->server, rs->proxy->cfg.fabrics[route->upstream_fabric],
			       SESSION_OP_DEPTH);
}

/* What shared Receives may take is kept free, but for the least that the configuration allows: a
 * session of each route. */
static size_t fixed_limit(const struct proxy *p)
{
	return p->nsessions < p->cfg.nroutes ? buf_zone_bytes(&p->arena, BUF_ZONE_FIXED)
					     : p->fixed_limit;
}

static void on_setup(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, setup);

	leg_tick(&s->server, now);
	leg_tick(&s->client, now);
	session_touch(s);
}

/* What connections have of the fabrics' pools, while octets are under way. */
static size_t pooled_bytes(const struct proxy *p)
{
	size_t sum = 0;

	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		sum += fabric_pooled(p->cfg.fabrics[i]);
	return sum;
}

static bool has_memory(const struct route_state *rs, const struct fabric_conn *client)
{
	const struct proxy *p = rs->proxy;

	return p->fixed_bytes + pooled_bytes(p) + fixed_bytes(rs, client) <= fixed_limit(p);
}

static struct session *session_new(struct route_state *rs, const struct fabric_event *ev,
				   struct host *place)
{
	struct session *s = mem_zalloc(sizeof(*s));
	struct proxy *p = rs->proxy;

	if (!s)
		return NULL;
	s->proxy = p;
	s->route = rs;
	s->id = p->next_session++;
	fabric_addr_host(&ev->conn->peer, s->host);
	s->place = place;
	lobby_enter(&p->lobby, &s->silent, &ev->conn->peer);
	s->request_len = ev->private_data.len < sizeof(s->request) ? ev->private_data.len
								   : sizeof(s->request);
	if (s->request_len)
		memcpy(s->request, ev->private_data.data, s->request_len);
	list_init(&s->dirty);
	list_init(&s->txns);
	open_queue(s, &s->forward, rs->route->client.credits, rs->route->server.credits);
	/* No more than there are Receives beside those for replies. */
	open_queue(s, &s->reverse, rs->route->server.rev_credits, 0);
	open_ops(&s->cops);
	open_ops(&s->sops);
	timer_init(&s->setup, on_setup);
	session_watch_init(s);
	txn_short_init(s);
	leg_init(&s->client, RPC_ACCEPTOR);
	leg_init(&s->server, RPC_INITIATOR);
	s->client.jobs = p->cfg.jobs;
	s->client.gated = rs->client_door.inside.most > 0;
	door_guest_init(&s->client_guest);
	door_guest_init(&s->server_guest);
	leg_set_quotas(&s->client, rs->groups);
	s->client.conn = ev->conn;
	ev->conn->owner = &s->client; /* should it go away before it is accepted */
	s->fixed_bytes = fixed_bytes(rs, ev->conn);
	p->fixed_bytes += s->fixed_bytes;
	list_add_tail(&p->sessions, &s->link);
	p->nsessions++;
	p->count.sessions_opened++;
	return s;
}

/* At once, whatever is under way: nobody has asked anything of it yet. */
static void show_out(struct lobby_member *m)
{
	struct session *s = container_of(m, struct session, silent);

	s->proxy->count.sessions_displaced++;
	session_log_end(s, &s->client, ERR_TIMEOUT,
			"its client said nothing yet, and others want in");
	if (s->state == SESSION_CONNECT)
		session_send_rejection(s);
	session_free(s);
}

/* Who has not said a word yet makes room. Return: NULL, or why there is none. */
static const char *take_place(struct proxy *p, const struct fabric_addr *peer, struct host **place)
{
	for (;;) {
		struct lobby_member *m = NULL;
		const char *why = NULL;

		switch (crowd_enter(p->crowd, peer, p->now, place)) {
		case CROWD_IN:
			return NULL;
		case CROWD_RATE:
			return "max_setups_per_second reached";
		case CROWD_CLIENT:
			m = lobby_first_of(&p->lobby, peer);
			why = "max_sessions_per_client reached";
			break;
		case CROWD_FULL:
			m = lobby_first(&p->lobby);
			why = "max_sessions reached";
			break;
		}
		if (!m)
			return why;
		show_out(m);
	}
}

/* The same for memory, and for a place among those who have not said a word. */
static const char *make_room(const struct route_state *rs, const struct fabric_conn *client)
{
	struct proxy *p = rs->proxy;

	while (lobby_is_full(&p->lobby) || !has_memory(rs, client)) {
		struct lobby_member *m = lobby_first(&p->lobby);

		if (!m)
			return "memory_limit reached: raise it, or lower credits or inline";
		show_out(m);
	}
	return NULL;
}

/* Return: NULL, or why not. */
static const char *admit_client(struct route_state *rs, const struct fabric_event *ev,
				struct session **out)
{
	struct proxy *p = rs->proxy;
	struct host *place;
	const char *why;

	if (p->draining)
		return "shutting down";
	why = take_place(p, &ev->conn->peer, &place);
	if (why)
		return why;
	why = make_room(rs, ev->conn);
	*out = why ? NULL : session_new(rs, ev, place);
	if (!*out)
		crowd_leave(p->crowd, place);
	return why || *out ? why : "out of memory";
}

void session_open(struct route_state *rs, const struct fabric_event *ev)
{
	char peer[FABRIC_ADDR_TEXT];
	struct session *s;
	const char *why = admit_client(rs, ev, &s);
	int err;

	if (why) {
		refuse_client(rs, ev, why);
		return;
	}
	log_debug("session.begin", "session=%llu route=%s peer=%s", (unsigned long long)s->id,
		  rs->route->name, fabric_addr_format(&ev->conn->peer, peer));
	err = session_connect_server(s);
	if (err < 0) {
		session_log_end(s, &s->server, err,
				err == ERR_AGAIN ? "memory_limit reached" : "connect failed");
		session_reject_client(s);
		session_die(s);
	}
}
