/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which server a session uses, of those that servers.c knows for its route.
 *
 *   choose --> connect --> ready --> found: the client is accepted, or continues
 *     ^  |        |          |
 *     |  +- waits for a name |
 *     |           +--failed--+--its client was assigned another server meanwhile
 *     +-----------+----------+
 *
 * The client waits unanswered meanwhile and none of its calls is under way. Each server is tried
 * once, for as long as its set-up takes. If a server fails after that, the session ends and the
 * client connects again.
 */
#include "base/log.h"
#include "base/mem.h"
#include "proxy/session_server.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/session_handshakes.h"
#include "proxy/session_version.h"

/* After so many of SETUP_LOOKS a session uses older results of a look-up. */
enum { KNOWN_LOOKS = 2 };

int session_upstream_new(struct session *s)
{
	s->upstream = mem_zalloc(sizeof(*s->upstream));
	if (!s->upstream)
		return ERR_NOMEM;
	s->upstream->s = s;
	list_init(&s->upstream->link);
	return 0;
}

void session_upstream_end(struct session *s)
{
	if (s->route)
		servers_leave(s->route->servers, &s->upstream->user);
	list_del(&s->upstream->link);
	mem_free(s->upstream);
	s->upstream = NULL;
}

const char *session_upstream_strerror(const struct session *s, int err)
{
	const struct servers_user *g = &s->upstream->user;

	switch (err) {
	case ERR_AGAIN:
		return "memory_limit reached";
	case ERR_LOCAL:
		return "this machine has no port, descriptor or buffer left, or forbids it";
	case ERR_REFUSED:
		return g->has_server || g->tried ? "none of its servers can be reached"
						 : "the names of its servers lead to no address";
	default:
		return "connect failed";
	}
}

bool session_is_waiting(const struct session *s)
{
	return session_awaits_server(s) && s->upstream->user.ticket &&
	       !s->upstream->user.has_server;
}

static void log_up(const struct session *s, const char *server)
{
	log_peer(LOG_LEVEL_INFO, "upstream.up", s->route->route->name, "route=%s server=%s",
		 s->route->route->name, server);
}

static void log_down(const struct session *s, const char *server, int status)
{
	log_peer(LOG_LEVEL_WARN, "upstream.down", s->route->route->name,
		 "route=%s server=%s cause=%s", s->route->route->name, server, err_name(status));
}

static void note_rejection(struct session *s, const char *server, const char *why)
{
	log_peer(LOG_LEVEL_WARN, "upstream.rejected", s->host,
		 "session=%llu route=%s server=%s why=\"%s\"", (unsigned long long)s->id,
		 s->route->route->name, server, why);
	if (servers_rejected(s->route->servers, &s->upstream->user))
		log_up(s, server);
}

/*
 * State:  a server accepted a connection and ended it before its leg was ready. The server may be a
 *         gateway that needed the place of this silent session for another client (E13).
 * Danger: the server counts as down, and all its clients move although it serves.
 * Rule:   the server answered, so this end counts as a rejection. No other client moves.
 * Pinned: tests/session/test_hostauth_silent.c:a_server_that_ends_a_connection_in_set_up_is_not_down
 */
static bool was_accepted(const struct session *s, int status)
{
	return s->server.t && status == ERR_CLOSED;
}

static void note_failure(struct session *s, int status)
{
	char server[FABRIC_ADDR_TEXT];

	session_server_text(s, server);
	if (status == ERR_REJECTED) {
		note_rejection(s, server, "it rejected the connection");
		return;
	}
	if (was_accepted(s, status)) {
		note_rejection(s, server, "it ended the connection during set-up");
		return;
	}
	if (servers_failed(s->route->servers, &s->upstream->user, s->proxy->now))
		log_down(s, server, status);
}

/*
 * State:  this machine has no port, descriptor, buffer or memory for a connection to the server.
 * Danger: the server is taken for down, and its clients move although it serves.
 * Rule:   nothing is noted about the server, and no client moves.
 * Pinned: tests/session/test_hostauth_silent.c:a_shortage_at_the_second_connection_is_no_verdict
 */
static void note_shortage(const struct session *s, int err, const char *why)
{
	const char *route = s->route->route->name;
	char server[FABRIC_ADDR_TEXT];

	if (err == ERR_LOCAL)
		log_peer(LOG_LEVEL_WARN, "upstream.short", route, "route=%s server=%s why=\"%s\"",
			 route, session_server_text(s, server), why);
}

/*
 * State:  the names of the route's servers are being looked up, and the client waits unanswered.
 * Danger: a name server that does not answer holds up clients although an older result is known.
 * Rule:   the time for set-up has SETUP_LOOKS looks (base/pause.h). The session waits for
 *         KNOWN_LOOKS of them, and then uses an older result. If there is no older result, the
 *         session waits for the rest, and then ends.
 * Pinned: tests/session/test_upstreams.c:a_name_that_is_not_answered_holds_up_its_client_alone,
 *         :a_name_that_nobody_knew_is_waited_for_so_long,
 *         tests/session/test_pauses.c:pauses_that_recur_do_not_keep_a_client_waiting
 */
static void look_again_later(struct session *s)
{
	s->server.deadline = s->proxy->now + s->route->route->server.setup_timeout / SETUP_LOOKS;
	session_await_setup(s);
}

static void await_address(struct session *s)
{
	struct session_upstream *up = s->upstream;

	list_del(&up->link);
	list_add_tail(&s->route->waiting, &up->link);
	if (s->server.deadline == NSEC_NEVER) {
		up->looks = up->user.has_waited ? KNOWN_LOOKS : 0;
		look_again_later(s);
	}
}

int session_find_server(struct session *s)
{
	struct servers *servers = s->route->servers;
	int err;

	for (;;) {
		switch (servers_choose(servers, &s->upstream->user, &s->client.conn->peer,
				       s->proxy->now)) {
		case SERVERS_GO:
			break; /* leaves the switch */
		case SERVERS_WAIT:
			await_address(s);
			return 0;
		case SERVERS_OVER:
			return ERR_REFUSED;
		case SERVERS_SHORT:
			return ERR_NOMEM;
		}
		s->retried_v1 = s->retried_bare = s->retried_anew = false;
		err = session_connect_server(s);
		if (err >= 0 || !session_is_of_server(err)) {
			note_shortage(s, err, session_upstream_strerror(s, err));
			return err;
		}
		session_drop_server(s);
		note_failure(s, err);
	}
}

void session_lookup_late(struct session *s)
{
	struct servers_user *g = &s->upstream->user;
	unsigned looks = ++s->upstream->looks;
	int err = looks < SETUP_LOOKS ? 0 : ERR_TIMEOUT;

	if (looks < SETUP_LOOKS)
		look_again_later(s);
	if (looks == KNOWN_LOOKS) {
		g->has_waited = true;
		err = session_find_server(s);
	}
	if (err < 0)
		session_close_for(s, &s->server, err,
				  err == ERR_TIMEOUT
					  ? "the name of its server took too long to look up"
					  : session_upstream_strerror(s, err));
	session_touch(s);
}

bool session_upstream_ready(struct session *s)
{
	struct servers_user *g = &s->upstream->user;
	char server[FABRIC_ADDR_TEXT];
	bool came_up, stays = servers_opened(s->route->servers, g, &came_up);

	if (came_up)
		log_up(s, session_server_text(s, server));
	if (!stays) {
		s->upstream->has_moved = true;
		leg_close(&s->server, ERR_CLOSED, "its client is with another server");
	}
	return stays;
}

void session_hear(struct session *s)
{
	char server[FABRIC_ADDR_TEXT];

	s->has_heard = true;
	if (servers_heard(s->route->servers, &s->upstream->user))
		log_up(s, session_server_text(s, server));
}

void session_note_unheard(struct session *s, int status)
{
	const struct rpc_transport *t = s->server.t;
	char server[FABRIC_ADDR_TEXT];

	if (s->state != SESSION_OPEN || s->has_heard || session_is_leaving(s) ||
	    !session_is_of_server(status) || t->count.recvs > 0 || t->count.sends == 0)
		return;
	if (servers_ended_unheard(s->route->servers, &s->upstream->user, s->proxy->now))
		log_down(s, session_server_text(s, server), status ? status : ERR_CLOSED);
}

bool session_fail_over(struct session *s, int status, const char *why)
{
	if (!session_awaits_server(s) || !s->upstream->user.has_server)
		return false;
	if (!session_is_of_server(status)) {
		note_shortage(s, status, why);
		return false;
	}
	if (!s->upstream->has_moved)
		note_failure(s, status);
	s->upstream->has_moved = false;
	if (timer_is_armed(&s->leave))
		return false;
	session_drop_server(s);
	return session_find_server(s) == 0;
}

/* Let each session of @rs that waits for an address try again once; some will go on waiting. */
static void go_on_waiting(struct route_state *rs)
{
	struct list todo, *it;

	list_init(&todo);
	while ((it = list_pop(&rs->waiting)))
		list_add_tail(&todo, it);
	while ((it = list_pop(&todo))) {
		struct session *s = container_of(it, struct session_upstream, link)->s;
		int err = 0;

		list_add_tail(&rs->upstreams, it);
		if (session_is_waiting(s))
			err = session_find_server(s);
		if (err < 0)
			session_close_for(s, &s->server, err, session_upstream_strerror(s, err));
		session_touch(s);
	}
}

void session_release(struct session *s, nsec_t deadline)
{
	(void)servers_release(s->route->servers, &s->upstream->user, s->proxy->now);
	session_leave(s, deadline);
}

static nsec_t move_timeout(const struct proxy_route *route)
{
	return route->move_timeout_s ? atomic_load(route->move_timeout_s) * NSEC_PER_SEC : 0;
}

/*
 * State:  a client was assigned another server, and has sessions at the old one.
 * Danger: a call that one server has begun is sent to another.
 * Rule:   the client's sessions at the old server end between two RPCs, at the latest after the
 *         time that the route allows (.move_timeout_s).
 * Pinned: tests/session/test_upstreams.c:a_client_moves_with_all_it_has
 */
static void follow_clients(struct route_state *rs)
{
	for (struct list *it = rs->upstreams.next; it != &rs->upstreams; it = it->next) {
		struct session_upstream *up = container_of(it, struct session_upstream, link);
		struct session *s = up->s;

		if (timer_is_armed(&s->leave) || !servers_has_moved(rs->servers, &up->user))
			continue;
		log_peer(LOG_LEVEL_INFO, "session.moves", s->host,
			 "session=%llu route=%s why=\"its client leaves this server\"",
			 (unsigned long long)s->id, rs->route->name);
		session_leave(s, rs->proxy->now + move_timeout(rs->route));
	}
}

void sessions_note_changes(struct proxy *p)
{
	for (unsigned i = 0; i < p->nslots; i++) {
		struct route_state *rs = p->routes[i];
		uint64_t moves = rs ? servers_moves(rs->servers) : 0;

		if (!rs)
			continue;
		go_on_waiting(rs);
		if (moves != rs->moves)
			follow_clients(rs);
		rs->moves = moves;
	}
}
