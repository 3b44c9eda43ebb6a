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

static void open_ops(struct session_ops *ops)
{
	list_init(&ops->queue);
}

static size_t server_bytes(const struct route_state *rs)
{
	return leg_fixed_bytes(&rs->route->server,
			       rs->proxy->cfg.fabrics[rs->route->upstream_fabric],
			       SESSION_OP_DEPTH);
}

/* Of whichever route that shares the listener takes most: it is not known yet which it will be. */
static size_t fixed_bytes(const struct route_state *listener, const struct fabric_conn *client)
{
	const struct proxy *p = listener->proxy;
	size_t most = server_bytes(listener);

	for (unsigned i = 0; i < p->cfg.nroutes; i++)
		if (p->cfg.routes[i].shares == listener->route &&
		    server_bytes(&p->routes[i]) > most)
			most = server_bytes(&p->routes[i]);
	return sizeof(struct session) +
	       leg_fixed_bytes(&listener->route->client, client->fabric, SESSION_OP_DEPTH) + most;
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

static struct session *session_new(struct route_state *listener, const struct fabric_event *ev,
				   struct host *place)
{
	struct session *s = mem_zalloc(sizeof(*s));
	struct proxy *p = listener->proxy;

	if (!s)
		return NULL;
	s->proxy = p;
	s->listener = listener;
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
	open_ops(&s->cops);
	open_ops(&s->sops);
	timer_init(&s->setup, on_setup);
	session_watch_init(s);
	txn_short_init(s);
	leg_init(&s->client, RPC_ACCEPTOR);
	leg_init(&s->server, RPC_INITIATOR);
	s->client.jobs = p->cfg.jobs;
	s->client.gated = listener->client_door.inside.most > 0;
	door_guest_init(&s->client_guest);
	door_guest_init(&s->server_guest);
	s->client.conn = ev->conn;
	ev->conn->owner = &s->client; /* should it go away before it is accepted */
	s->fixed_bytes = fixed_bytes(listener, ev->conn);
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

static void connect_server(struct session *s)
{
	int err = session_connect_server(s);

	if (err >= 0)
		return;
	session_log_end(s, &s->server, err,
			err == ERR_AGAIN ? "memory_limit reached" : "connect failed");
	session_reject_client(s);
	session_die(s);
}

void session_open(struct route_state *listener, const struct fabric_event *ev)
{
	struct route_state *rs = session_route_of(listener, &ev->conn->peer);
	char peer[FABRIC_ADDR_TEXT];
	struct session *s = NULL;
	const char *why = rs ? admit_client(listener, ev, &s)
			     : "it need not prove a name, and no route is for those without";

	if (why) {
		refuse_client(listener, ev, why);
		return;
	}
	session_set_route(s, rs);
	log_debug("session.begin", "session=%llu route=%s peer=%s", (unsigned long long)s->id,
		  rs->route->name, fabric_addr_format(&ev->conn->peer, peer));
	if (session_goes_by_name(listener) && !session_is_unneeded(listener, &ev->conn->peer))
		session_prove(s);
	else
		connect_server(s);
}
