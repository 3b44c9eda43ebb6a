/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Admission of clients: a connection becomes a session if the session limits allow one more for its
 * client, and if the worker has memory for both legs.
 *
 * State:  silent connections hold places and memory. A connection is silent until its client has
 *         sent a message and, if it has to, proved its name.
 * Danger: a client opens connections and sends nothing, and no other client can connect.
 * Rule:   if a place or memory is missing, a silent connection is closed for the new one: the
 *         oldest of the client address with most silent connections. If the client address of the
 *         new connection has reached its own limit, its own oldest silent connection is closed. A
 *         session that is not silent is never closed for a new one.
 * Pinned: tests/session/test_newcomers.c:many_connections_of_a_host_displace_their_own,
 *         :a_silent_connection_makes_room, :memory_is_room_as_well
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proxy/session_open.h"
#include "proxy/internal.h"
#include "proxy/session_address.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_log.h"
#include "proxy/session_route.h"
#include "proxy/session_server.h"
#include "proxy/txn_step.h"

/* Texts for the log. */
static const char *const refusals[PROXY_REFUSALS] = {
	[PROXY_REFUSED_RATE] = "max_setups_per_second reached",
	[PROXY_REFUSED_CLIENT] = "max_sessions_per_client reached",
	[PROXY_REFUSED_SESSIONS] = "max_sessions reached",
	[PROXY_REFUSED_MEMORY] = "memory_limit reached: raise it, or lower credits or inline",
	[PROXY_REFUSED_ADDRESS] = "its address is not on the listener's clients",
	[PROXY_REFUSED_NAME] = "it need not prove a name, and no route is for those without",
	[PROXY_REFUSED_SOURCE] = "no source address is for it",
	[PROXY_REFUSED_LOOP] =
		("a loop: it came through this listener before, or through 8 gateways; "
		 "look where their upstreams lead"),
	[PROXY_REFUSED_DRAINING] = "shutting down",
};

/* The client is admitted. */
#define IS_IN PROXY_REFUSALS

enum { REQUEST_MOST = 512 }; /* private data that any version looks at, octets */

static void refuse_client(struct route_state *rs, const struct fabric_event *ev,
			  enum proxy_refusal refusal)
{
	char peer[FABRIC_ADDR_TEXT], host[FABRIC_ADDR_TEXT];
	const char *why = refusals[refusal];

	rs->count.sessions_refused++;
	rs->count.refused[refusal]++;
	if (refusal == PROXY_REFUSED_MEMORY)
		rs->proxy->no_room_until = rs->proxy->now + PROXY_NO_ROOM;
	log_peer(LOG_LEVEL_WARN, "session.refused", fabric_addr_host(&ev->conn->peer, host),
		 "route=%s peer=%s why=\"%s\"", rs->route->name,
		 fabric_addr_format(&ev->conn->peer, peer), why);
	fabric_reject(ev->conn, view_of(NULL, 0));
}

static void open_ops(struct session_ops *ops)
{
	list_init(&ops->queue);
	list_init(&ops->cut_through_txns);
}

static size_t server_bytes(const struct route_state *rs)
{
	return leg_fixed_bytes(&rs->route->server,
			       rs->proxy->cfg.fabrics[rs->route->upstream_fabric],
			       SESSION_OP_DEPTH);
}

/* Octets of memory for a session. The route may not be known yet. So of the routes that share the
 * listener, the one whose server leg takes most memory counts. */
static size_t fixed_bytes(const struct route_state *listener, const struct fabric_conn *client)
{
	const struct proxy *p = listener->proxy;
	size_t most = server_bytes(listener);

	_Static_assert(sizeof(struct session) >= 2 * BUDGET_LEAST_HEAP, "config/ goes by that");
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i] && p->routes[i]->route->shares == listener->route &&
		    server_bytes(p->routes[i]) > most)
			most = server_bytes(p->routes[i]);
	return sizeof(struct session) + SESSION_UPSTREAM_BYTES +
	       leg_fixed_bytes(&listener->route->client, client->fabric, SESSION_OP_DEPTH) + most;
}

/* Octets that sessions may take together. The share of the shared Receives is kept free. The first
 * sessions, one for each route, may take it too, because the least memory that the configuration
 * accepts has room for no more. */
static size_t fixed_limit(const struct proxy *p, unsigned nsessions)
{
	return nsessions < p->nroutes ? buf_zone_bytes(&p->arena, BUF_ZONE_CONN) : p->fixed_limit;
}

static void on_setup(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, setup);
	bool server, client;

	if (session_is_waiting(s)) {
		session_lookup_late(s);
		return;
	}
	server = leg_tick(&s->server, now);
	client = leg_tick(&s->client, now);
	if (server || client)
		session_touch(s);
	else
		session_await_setup(s);
}

/* The deadline of session_leave() has passed, and calls are still in flight. */
static void on_leave(struct timer *timer, nsec_t now)
{
	struct session *s = container_of(timer, struct session, leave);

	(void)now;
	session_close(s, 0,
		      s->proxy->draining ? "shutting down: its calls in flight took too long"
					 : "drained: its calls in flight took too long");
	session_touch(s);
}

static size_t pooled_bytes(const struct proxy *p)
{
	size_t sum = 0;

	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		sum += fabric_pooled(p->cfg.fabrics[i]);
	return sum;
}

size_t session_excess(const struct proxy *p)
{
	size_t pooled = pooled_bytes(p), held = p->fixed_bytes + pooled;
	size_t limit = p->nsessions <= p->nroutes ? buf_zone_bytes(&p->arena, BUF_ZONE_CONN)
						  : p->fixed_limit;

	if (held <= limit)
		return 0;
	return held - limit < pooled ? held - limit : pooled;
}

/* Whether there is memory for one more session, or would be without @less sessions of @bytes
 * octets together. */
static bool has_memory(const struct route_state *rs, const struct fabric_conn *client,
		       unsigned less, size_t bytes)
{
	const struct proxy *p = rs->proxy;

	return p->fixed_bytes - bytes + pooled_bytes(p) + fixed_bytes(rs, client) <=
	       fixed_limit(p, p->nsessions - less);
}

/* Return: 0 or ERR_NOMEM. */
static int keep_request(struct session *s, struct view data)
{
	s->request_len = data.len < REQUEST_MOST ? data.len : REQUEST_MOST;
	if (!s->request_len)
		return 0;
	s->request = mem_zalloc(s->request_len);
	if (!s->request)
		return ERR_NOMEM;
	memcpy(s->request, data.data, s->request_len);
	return 0;
}

static struct session *session_new(struct route_state *listener, const struct fabric_event *ev,
				   struct host *place)
{
	struct session *s = mem_zalloc(sizeof(*s));
	struct proxy *p = listener->proxy;

	if (!s)
		return NULL;
	if (keep_request(s, ev->private_data) || session_upstream_new(s)) {
		session_drop_request(s);
		mem_free(s);
		return NULL;
	}
	s->proxy = p;
	s->listener = listener;
	route_hold(listener);
	s->id = p->next_session;
	p->next_session += p->cfg.workers ? p->cfg.workers : 1;
	s->begun = p->now;
	fabric_addr_host(&ev->conn->peer, s->host);
	s->place = place;
	list_init(&s->dirty);
	list_init(&s->txns);
	open_ops(&s->ops[PROXY_CLIENT]);
	open_ops(&s->ops[PROXY_SERVER]);
	timer_init(&s->setup, on_setup);
	timer_init(&s->leave, on_leave);
	session_debts_init(s);
	txn_device_busy_init(s);
	leg_init(&s->client, RPC_ACCEPTOR);
	leg_init(&s->server, RPC_INITIATOR);
	s->client.jobs = p->cfg.jobs;
	s->client.trace = &p->leg_trace;
	s->client.group_copiers = &p->group_copiers;
	s->client.copies = true;
	s->client.gated = listener->handshakes[PROXY_CLIENT].inside.most > 0;
	handshake_slot_init(&s->slots[PROXY_CLIENT], &s->client);
	handshake_slot_init(&s->slots[PROXY_SERVER], &s->server);
	s->client.conn = ev->conn;
	ev->conn->owner = &s->client; /* in case the connection ends before it is accepted */
	s->fixed_bytes = fixed_bytes(listener, ev->conn);
	p->fixed_bytes += s->fixed_bytes;
	p->silent_bytes += s->fixed_bytes;
	preauth_queue_enter(&p->preauth_queue, &s->silent, &ev->conn->peer);
	list_add_tail(&p->sessions, &s->link);
	p->nsessions++;
	listener->count.sessions_opened++;
	return s;
}

/* Close a silent connection, to admit another client. Its session is freed at once, whatever is
 * under way, because no call of its client was begun. */
static void evict_silent(struct preauth_queue_member *m)
{
	struct session *s = container_of(m, struct session, silent);

	s->listener->count.sessions_displaced++;
	session_log_end(s, &s->client, ERR_TIMEOUT,
			"its client has sent no message, and another connection needs its place");
	if (s->state == SESSION_CONNECT)
		session_send_rejection(s);
	session_free(s);
}

/* Take a place within the session limits. Silent connections are closed for it. Return: IS_IN, or
 * why there is none. */
static enum proxy_refusal take_place(struct proxy *p, const struct fabric_addr *peer,
				     struct host **place)
{
	for (;;) {
		struct preauth_queue_member *m = NULL;
		enum proxy_refusal why = PROXY_REFUSED_RATE;

		switch (session_limits_enter(p->session_limits, peer, p->now, place)) {
		case SESSION_LIMITS_OK:
			return IS_IN;
		case SESSION_LIMITS_RATE:
			return why;
		case SESSION_LIMITS_CLIENT:
			m = preauth_queue_first_of(&p->preauth_queue, peer);
			why = PROXY_REFUSED_CLIENT;
			break;
		case SESSION_LIMITS_ALL:
			m = preauth_queue_first(&p->preauth_queue);
			why = PROXY_REFUSED_SESSIONS;
			break;
		}
		if (!m)
			return why;
		evict_silent(m);
	}
}

/*
 * Make room for a session: memory, and a place among silent connections. Silent connections are
 * closed for this. If all silent connections together have too little memory, none is closed.
 */
static bool make_room(const struct route_state *rs, const struct fabric_conn *client)
{
	struct proxy *p = rs->proxy;

	if (!has_memory(rs, client, p->preauth_queue.count, p->silent_bytes))
		return false;
	while (preauth_queue_is_full(&p->preauth_queue) || !has_memory(rs, client, 0, 0)) {
		struct preauth_queue_member *m = preauth_queue_first(&p->preauth_queue);

		if (!m)
			return false;
		evict_silent(m);
	}
	return true;
}

/* Return: IS_IN, or why not. */
static enum proxy_refusal admit_client(struct route_state *rs, const struct fabric_event *ev,
				       struct session **out)
{
	struct proxy *p = rs->proxy;
	enum proxy_refusal why;
	struct host *place;

	if (p->draining)
		return PROXY_REFUSED_DRAINING;
	why = take_place(p, &ev->conn->peer, &place);
	if (why != IS_IN)
		return why;
	*out = make_room(rs, ev->conn) ? session_new(rs, ev, place) : NULL;
	if (*out)
		return IS_IN;
	session_limits_leave(p->session_limits, place);
	return PROXY_REFUSED_MEMORY;
}

/*
 * State:  a client that is a gateway names the listeners that its own client came through.
 * Danger: a gateway whose upstream leads back to itself, directly or through others, opens sessions
 *         until a limit is reached.
 * Rule:   a connection that came through this listener before is refused. So is one that came
 *         through VIA_MOST gateways.
 * Pinned: tests/daemon/loops.sh, decision 150.
 */
static bool is_loop(const struct route_state *listener, const struct via *via)
{
	uint32_t id = route_number(listener);

	return id && (via->n == VIA_MOST || via_has(via, id));
}

static void connect_server(struct session *s)
{
	int err = session_find_server(s);

	if (err >= 0)
		return;
	session_log_end(s, &s->server, err, session_upstream_strerror(s, err));
	session_reject_client(s, session_refusal(err));
	session_die(s);
}

void session_open(struct route_state *listener, const struct fabric_event *ev)
{
	struct route_state *rs = session_route_of(listener, &ev->conn->peer);
	bool proves = session_has_to_prove(listener, &ev->conn->peer);
	char peer[FABRIC_ADDR_TEXT];
	struct session *s = NULL;
	enum proxy_refusal why = IS_IN;
	struct via via;

	via_parse(&via, ev->private_data);
	if (!session_is_let_in(listener, &ev->conn->peer))
		why = PROXY_REFUSED_ADDRESS;
	else if (is_loop(listener, &via))
		why = PROXY_REFUSED_LOOP;
	else if (!rs)
		why = PROXY_REFUSED_NAME;
	else if (!proves && !session_has_source(rs, &ev->conn->peer, NULL))
		why = PROXY_REFUSED_SOURCE;
	if (why == IS_IN)
		why = admit_client(listener, ev, &s);
	if (why != IS_IN) {
		refuse_client(listener, ev, why);
		return;
	}
	route_pass(listener, &via);
	s->upstream->via = via;
	session_set_route(s, rs);
	log_debug("session.begin", "session=%llu route=%s peer=%s", (unsigned long long)s->id,
		  rs->route->name, fabric_addr_format(&ev->conn->peer, peer));
	if (proves)
		session_prove(s);
	else
		connect_server(s);
}
