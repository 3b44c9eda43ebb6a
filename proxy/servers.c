/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   up --connection failed, or SERVERS_PROBES_FAILED probes--> down --time is over--> tried
 *   ^                                                           ^                      |  |
 *   |                                                           +---failed, for longer-+  |
 *   +------------------------------------------------------------connected---------------+
 *
 * A server is up until a connection fails, or until some in a row end before the server has sent
 * anything (servers_ended_unheard()). Then it is down for SERVERS_BACKOFF, and for twice the time
 * after each further failure, up to SERVERS_BACKOFF_MOST. After that the first session that
 * comes tries it, for as long as a set-up may take, while other sessions still go elsewhere. If
 * servers are probed, a probe finds the server up again, so no client has to.
 *
 * A client follows its own sessions. If one of them is open at a server, the next one goes there,
 * even if the server failed others, because it need not fail this client. The client moves to
 * another server, with all its sessions, only if probes report its server down or this very
 * connection to the server fails without an answer. If an operator drains the client, and the
 * client would choose another server by now, its next sessions do not follow the open ones.
 */
#include "proxy/servers_internal.h"
#include "proxy/servers_names.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static bool is_known_down(const struct server *server)
{
	return server->failures > 0 || server->unprobed >= SERVERS_PROBES_FAILED;
}

/* Whether the server is down for clients that are not assigned to it. */
static bool is_down(const struct server *server, nsec_t now)
{
	return is_known_down(server) && now < server->down_until;
}

static nsec_t backoff(unsigned failures)
{
	nsec_t wait = SERVERS_BACKOFF;

	while (--failures > 0 && wait < SERVERS_BACKOFF_MOST)
		wait *= 2;
	return wait < SERVERS_BACKOFF_MOST ? wait : SERVERS_BACKOFF_MOST;
}

/* --- pins --- */

static struct servers_pin **bucket_of(struct servers *s, const uint8_t *key)
{
	uint64_t hash = s->seed;

	for (unsigned i = 0; i < CHOICE_KEY; i++)
		hash = (hash ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return &s->pins[(hash >> 32) % SERVERS_BUCKETS];
}

/* Find or make the pin of @client. Return: NULL without memory. */
static struct servers_pin *pin_get(struct servers *s, const struct fabric_addr *client)
{
	uint8_t key[CHOICE_KEY];
	struct servers_pin **at, *pin;

	servers_key(client, key);
	at = bucket_of(s, key);
	for (pin = *at; pin && memcmp(pin->key, key, sizeof(key)) != 0;)
		pin = pin->next;
	if (!pin) {
		pin = mem_zalloc(sizeof(*pin));
		if (!pin)
			return NULL;
		memcpy(pin->key, key, sizeof(key));
		pin->next = *at;
		*at = pin;
	}
	pin->users++;
	return pin;
}

static void pin_put(struct servers *s, struct servers_pin *pin)
{
	struct servers_pin **at = bucket_of(s, pin->key);

	if (--pin->users > 0)
		return;
	if (pin->has_server)
		s->at[pin->server].users--;
	while (*at != pin)
		at = &(*at)->next;
	*at = pin->next;
	mem_free(pin);
}

static void pin_to(struct servers *s, struct servers_pin *pin, uint32_t server)
{
	if (pin->has_server && pin->server == server)
		return;
	if (pin->has_server)
		s->at[pin->server].users--;
	s->at[server].users++;
	pin->has_server = true;
	pin->server = server;
	pin->open = 0;
	pin->epoch++;
}

/* --- users --- */

static bool has_failed(const struct servers_user *g, uint32_t server)
{
	return g->tried >> server & 1;
}

/* Whether the session was rejected by the server at which its client has sessions open. */
static bool is_unwanted(const struct servers_user *g)
{
	return g->pin->open > 0 && (g->rejected >> g->pin->server & 1);
}

/* Whether the session goes to the server of its client's other sessions. */
static bool follows(const struct servers *s, const struct servers_user *g, nsec_t now)
{
	const struct servers_pin *pin = g->pin;
	const struct server *server;

	if (!pin->has_server || has_failed(g, pin->server))
		return false;
	server = &s->at[pin->server];
	if (pin->open > 0)
		return server->unprobed < SERVERS_PROBES_FAILED;
	return pin->users > 1 && server->is_listed && !is_down(server, now);
}

/* Return: CHOICE_NONE when none is left. */
static uint32_t pick(const struct servers *s, const struct servers_user *g, nsec_t now)
{
	struct choice_server at[SERVERS_MOST];

	for (unsigned i = 0; i < s->nat; i++) {
		const struct server *server = &s->at[i];

		at[i] = (struct choice_server){.rank = server->rank,
					       .is_down = is_down(server, now),
					       .is_out = !server->is_listed || has_failed(g, i)};
		memcpy(at[i].key, server->key, CHOICE_KEY);
	}
	return choice_pick(at, s->nat, s->cfg.by_client ? g->pin->key : NULL);
}

static void give_up_server(struct servers *s, struct servers_user *g)
{
	if (!g->has_server)
		return;
	if (g->is_open) {
		s->at[g->server].count.sessions--;
		g->pin->open -= g->epoch == g->pin->epoch;
	}
	s->at[g->server].heard -= g->is_heard;
	s->at[g->server].users--;
	g->has_server = g->is_open = g->is_heard = false;
}

/* A server that has been down for its time is tried by one session. For other sessions it stays
 * down for as long as a set-up may take. */
static void take_server(struct servers *s, struct servers_user *g, uint32_t server, nsec_t now)
{
	struct server *at = &s->at[server];

	give_up_server(s, g);
	at->users++;
	g->server = server;
	g->has_server = true;
	if (is_known_down(at) && !is_down(at, now)) {
		at->is_tried = true;
		at->down_until = now + s->cfg.timeout;
	}
}

static enum servers_answer choose(struct servers *s, struct servers_user *g,
				  const struct fabric_addr *client, nsec_t now)
{
	uint32_t server;
	bool waits;

	if (!g->pin)
		g->pin = pin_get(s, client);
	if (!g->pin)
		return SERVERS_SHORT;
	if (is_unwanted(g))
		return SERVERS_OVER;
	if (follows(s, g, now)) {
		take_server(s, g, g->pin->server, now);
		return SERVERS_GO;
	}
	if (g->ticket <= s->since) /* the ticket belongs to an older configuration */
		g->ticket = 0;
	waits = !servers_are_known(s, now) && (!g->ticket || g->ticket > s->answered);
	if (waits && !g->ticket)
		g->ticket = servers_ask(s);
	if (waits && !g->has_waited)
		return SERVERS_WAIT;
	server = pick(s, g, now);
	if (server == CHOICE_NONE)
		return waits ? SERVERS_WAIT : SERVERS_OVER;
	take_server(s, g, server, now);
	/* If the client has sessions open, @server becomes the client's server only when it accepts
	 * this connection. */
	if (g->pin->open == 0)
		pin_to(s, g->pin, server);
	return SERVERS_GO;
}

enum servers_answer servers_choose(struct servers *s, struct servers_user *g,
				   const struct fabric_addr *client, nsec_t now)
{
	enum servers_answer answer;

	pthread_mutex_lock(&s->lock);
	answer = choose(s, g, client, now);
	if (answer == SERVERS_GO)
		g->epoch = g->pin->epoch;
	pthread_mutex_unlock(&s->lock);
	if (answer == SERVERS_WAIT)
		servers_notify(s, false);
	return answer;
}

void servers_addr(struct servers *s, unsigned slot, struct fabric_addr *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->at[slot].addr;
	pthread_mutex_unlock(&s->lock);
}

/* The server accepted or rejected a connection, which does not count as an answer to a probe.
 * Return: whether it came up by that. */
static bool note_connected(struct server *server)
{
	bool was_down = is_known_down(server);

	server->failures = 0;
	server->is_tried = false;
	if (is_known_down(server))
		return false;
	server->down_until = 0;
	return was_down;
}

/* Whether the session is to follow its client to another server, although its own connection is
 * set up. */
static bool client_has_moved(const struct servers *s, const struct servers_user *g)
{
	const struct servers_pin *pin = g->pin;

	if (!pin->has_server && g->epoch != pin->epoch)
		return true; /* the client was released after this session had chosen */
	return pin->open > 0 && pin->server != g->server &&
	       (!has_failed(g, pin->server) || is_unwanted(g)) &&
	       s->at[pin->server].unprobed < SERVERS_PROBES_FAILED;
}

bool servers_opened(struct servers *s, struct servers_user *g, bool *came_up)
{
	struct server *server;
	bool stays, moves;

	pthread_mutex_lock(&s->lock);
	server = &s->at[g->server];
	server->count.connects++;
	*came_up = server->unheard < SERVERS_UNHEARD && note_connected(server);
	stays = !client_has_moved(s, g);
	moves = stays && g->pin->open > 0 && g->pin->server != g->server;
	s->count.moves += moves;
	if (stays) {
		pin_to(s, g->pin, g->server);
		g->pin->open++;
		g->epoch = g->pin->epoch;
		g->is_open = true;
		server->count.sessions++;
	}
	pthread_mutex_unlock(&s->lock);
	if (moves)
		servers_notify(s, true);
	return stays;
}

bool servers_heard(struct servers *s, struct servers_user *g)
{
	struct server *server;
	bool came_up = false;

	pthread_mutex_lock(&s->lock);
	if (g->has_server && !g->is_heard) {
		server = &s->at[g->server];
		g->is_heard = true;
		server->heard++;
		server->unheard = 0;
		came_up = note_connected(server);
	}
	pthread_mutex_unlock(&s->lock);
	return came_up;
}

static void note_failed(const struct servers *s, struct server *server, nsec_t now)
{
	/* Failures of connections that were under way together count as one. */
	if (server->failures == 0 || server->is_tried || now >= server->down_until) {
		server->failures++;
		server->down_until =
			now + (s->cfg.probes ? SERVERS_BACKOFF_MOST : backoff(server->failures));
	}
	server->is_tried = false;
}

bool servers_ended_unheard(struct servers *s, struct servers_user *g, nsec_t now)
{
	struct server *server;
	bool was_down, is_down_now;

	pthread_mutex_lock(&s->lock);
	server = &s->at[g->server];
	was_down = is_known_down(server);
	server->unheard += server->unheard < SERVERS_UNHEARD;
	if (server->unheard == SERVERS_UNHEARD && server->heard == 0)
		note_failed(s, server, now);
	is_down_now = is_known_down(server);
	pthread_mutex_unlock(&s->lock);
	return is_down_now && !was_down;
}

bool servers_failed(struct servers *s, struct servers_user *g, nsec_t now)
{
	struct server *server;
	bool was_down;

	pthread_mutex_lock(&s->lock);
	server = &s->at[g->server];
	was_down = is_known_down(server);
	server->count.failures++;
	note_failed(s, server, now);
	g->tried |= UINT64_C(1) << g->server;
	give_up_server(s, g);
	pthread_mutex_unlock(&s->lock);
	return !was_down;
}

bool servers_rejected(struct servers *s, struct servers_user *g)
{
	struct server *server;
	bool came_up;

	pthread_mutex_lock(&s->lock);
	server = &s->at[g->server];
	server->count.failures++;
	came_up = note_connected(server);
	g->tried |= UINT64_C(1) << g->server;
	g->rejected |= UINT64_C(1) << g->server;
	give_up_server(s, g);
	pthread_mutex_unlock(&s->lock);
	return came_up;
}

bool servers_has_moved(struct servers *s, const struct servers_user *g)
{
	bool moved;

	pthread_mutex_lock(&s->lock);
	moved = g->is_open && g->epoch != g->pin->epoch;
	pthread_mutex_unlock(&s->lock);
	return moved;
}

uint64_t servers_moves(struct servers *s)
{
	uint64_t moves;

	pthread_mutex_lock(&s->lock);
	moves = s->count.moves + s->released;
	pthread_mutex_unlock(&s->lock);
	return moves;
}

/* Whether the client would choose another server now. A name that has to be looked up again may
 * lead anywhere. */
static bool has_other(const struct servers *s, struct servers_pin *pin, nsec_t now)
{
	const struct servers_user anew = {.pin = pin};
	uint32_t own = pick(s, &anew, now);

	return own != CHOICE_NONE && (own != pin->server || !servers_are_known(s, now));
}

bool servers_release(struct servers *s, const struct servers_user *g, nsec_t now)
{
	bool released;

	pthread_mutex_lock(&s->lock);
	released = g->is_open && g->epoch == g->pin->epoch && has_other(s, g->pin, now);
	if (released) {
		s->at[g->pin->server].users--; /* the session itself is another user */
		g->pin->has_server = false;
		g->pin->open = 0;
		g->pin->epoch++;
		s->released++;
	}
	pthread_mutex_unlock(&s->lock);
	if (released)
		servers_notify(s, true);
	return released;
}

void servers_leave(struct servers *s, struct servers_user *g)
{
	pthread_mutex_lock(&s->lock);
	give_up_server(s, g);
	if (g->pin)
		pin_put(s, g->pin);
	pthread_mutex_unlock(&s->lock);
	*g = (struct servers_user){.pin = NULL};
}

nsec_t servers_v1_until(struct servers *s, unsigned slot)
{
	nsec_t until;

	pthread_mutex_lock(&s->lock);
	until = slot < s->nat ? s->at[slot].v1_until : 0;
	pthread_mutex_unlock(&s->lock);
	return until;
}

void servers_remember_v1(struct servers *s, unsigned slot, nsec_t until)
{
	pthread_mutex_lock(&s->lock);
	s->at[slot].v1_until = until;
	pthread_mutex_unlock(&s->lock);
}

nsec_t servers_bare_until(struct servers *s, unsigned slot)
{
	nsec_t until;

	pthread_mutex_lock(&s->lock);
	until = slot < s->nat ? s->at[slot].bare_until : 0;
	pthread_mutex_unlock(&s->lock);
	return until;
}

void servers_remember_bare(struct servers *s, unsigned slot, nsec_t until)
{
	pthread_mutex_lock(&s->lock);
	s->at[slot].bare_until = until;
	pthread_mutex_unlock(&s->lock);
}

nsec_t servers_habit_until(const struct servers *s, unsigned slot, enum servers_habit habit)
{
	return atomic_load_explicit(&s->habits[slot][habit], memory_order_relaxed);
}

void servers_remember_habit(struct servers *s, unsigned slot, enum servers_habit habit,
			    nsec_t until)
{
	atomic_store_explicit(&s->habits[slot][habit], until, memory_order_relaxed);
}

/* --- probes --- */

unsigned servers_list(struct servers *s, uint32_t *slots, nsec_t now)
{
	unsigned n = 0;
	bool asks;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->nat; i++)
		if (s->at[i].is_listed)
			slots[n++] = i;
	asks = !servers_are_known(s, now);
	if (asks)
		(void)servers_ask(s);
	pthread_mutex_unlock(&s->lock);
	if (asks)
		servers_notify(s, false);
	return n;
}

void servers_probe_begin(struct servers *s, unsigned slot, struct fabric_addr *addr)
{
	pthread_mutex_lock(&s->lock);
	s->at[slot].users++;
	*addr = s->at[slot].addr;
	pthread_mutex_unlock(&s->lock);
}

void servers_probe_end(struct servers *s, unsigned slot)
{
	pthread_mutex_lock(&s->lock);
	s->at[slot].users--;
	pthread_mutex_unlock(&s->lock);
}

bool servers_probed(struct servers *s, unsigned slot, bool answered, nsec_t now)
{
	struct server *server;
	bool was_down, is_down_now;

	pthread_mutex_lock(&s->lock);
	server = &s->at[slot];
	was_down = is_known_down(server);
	server->count.probes++;
	server->count.probe_failures += !answered;
	server->unprobed = answered ? 0 : server->unprobed + 1;
	if (answered) {
		server->unheard = 0;
		(void)note_connected(server);
	} else if (is_known_down(server)) {
		server->down_until = now + SERVERS_BACKOFF_MOST;
	}
	is_down_now = is_known_down(server);
	pthread_mutex_unlock(&s->lock);
	return was_down != is_down_now;
}

/* --- statistics --- */

static void look_at(const struct servers *s, const struct server *server, struct server_view *v)
{
	v->addr = server->addr;
	v->host[0] = '\0';
	if (server->is_listed)
		memcpy(v->host, s->cfg.hosts[server->host].name, sizeof(v->host));
	v->figures = server->count;
	v->figures.up = !is_known_down(server);
}

void servers_snapshot(struct servers *s, struct servers_view *view)
{
	pthread_mutex_lock(&s->lock);
	view->n = 0;
	view->by_client = s->cfg.by_client;
	view->figures = s->count;
	view->figures.servers_up = view->figures.servers_down = 0;
	for (unsigned i = 0; i < s->nat; i++) {
		const struct server *server = &s->at[i];

		if (!server->is_listed && server->count.sessions == 0)
			continue;
		look_at(s, server, &view->at[view->n]);
		view->figures.servers_up += server->is_listed && !is_known_down(server);
		view->figures.servers_down += server->is_listed && is_known_down(server);
		view->n++;
	}
	pthread_mutex_unlock(&s->lock);
}

void servers_figures_add(struct servers_figures *sum, const struct servers_figures *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}
