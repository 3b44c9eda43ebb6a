/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/proxy.h"

#include "base/log.h"
#include "base/mem.h"
#include "proxy/session.h"

enum { TURN_EVENTS = 256 /* a turn is bounded, so that no fabric starves another */ };

static int register_arena(struct proxy *p)
{
	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		int err = fabric_register(p->cfg.fabrics[i], p->arena.base, p->arena.bytes);

		if (err < 0) {
			log_error("memory.register", "fabric=%s bytes=%zu cause=%s",
				  p->cfg.fabrics[i]->ops->name, p->arena.bytes, err_name(err));
			return err;
		}
		p->nregistered++;
	}
	return 0;
}

/* Receives large enough for every leg. A fabric that cannot share them is none the worse. */
static int share_receives(struct proxy *p)
{
	size_t fixed = buf_zone_bytes(&p->arena, BUF_ZONE_FIXED);
	uint32_t bytes = BUDGET_LEAST_RECEIVE;

	for (unsigned i = 0; i < p->cfg.nroutes; i++) {
		const struct proxy_route *route = &p->cfg.routes[i];

		if (route->client.inline_bytes > bytes)
			bytes = route->client.inline_bytes;
		if (route->server.inline_bytes > bytes)
			bytes = route->server.inline_bytes;
	}
	p->fixed_limit = fixed;
	p->recvs = mem_zalloc(p->cfg.nfabrics * sizeof(*p->recvs));
	if (!p->recvs)
		return ERR_NOMEM;
	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		int err = recvs_init(&p->recvs[i], p->cfg.fabrics[i], &p->arena, bytes);

		if (err == 0)
			p->fixed_limit -= fixed / BUDGET_SHARED;
		else if (err != ERR_CONFIG)
			return err;
	}
	return 0;
}

struct proxy *proxy_new(const struct proxy_config *cfg)
{
	struct proxy *p = mem_zalloc(sizeof(*p) + cfg->nroutes * sizeof(p->routes[0]));

	if (!p)
		return NULL;
	p->cfg = *cfg;
	if (!cfg->sessions)
		p->cfg.sessions = &p->own_sessions;
	p->random = cfg->seed;
	p->next_session = (uint64_t)cfg->worker * 1000000000u + 1;
	p->drain_deadline = NSEC_NEVER;
	p->watch_at = p->late_at = NSEC_NEVER;
	list_init(&p->sessions);
	list_init(&p->dirty);
	list_init(&p->timed);
	list_init(&p->modest);
	for (unsigned i = 0; i < cfg->nroutes; i++) {
		p->routes[i] = (struct route_state){.proxy = p, .route = &cfg->routes[i]};
		p->routes[i].server_v1 = cfg->routes[i].server;
		p->routes[i].server_v1.versions = LEG_V1;
		list_init(&p->routes[i].unanswered[0]);
		list_init(&p->routes[i].unanswered[1]);
	}
	pool_init(&p->txns, sizeof(struct txn), SIZE_MAX / 2 / sizeof(struct txn));
	if (buf_arena_init(&p->arena, cfg->memory_bytes) < 0) {
		log_error("memory.reserve", "bytes=%zu", cfg->memory_bytes);
		mem_free(p);
		return NULL;
	}
	buf_arena_part(&p->arena, (p->arena.bytes - p->arena.reserve) / BUDGET_FIXED);
	if (register_arena(p) < 0 || share_receives(p) < 0) {
		proxy_free(p);
		return NULL;
	}
	return p;
}

void *proxy_route_owner(struct proxy *p, unsigned i)
{
	return &p->routes[i];
}

static void on_event(struct fabric *f, const struct fabric_event *ev)
{
	if (!ev->conn) { /* a shared Receive whose queue is gone */
		recvs_arrived(recvs_of(f));
		recvs_put(recvs_of(f), ev->cookie);
		return;
	}
	if (ev->type == FABRIC_EV_REQUEST) {
		session_open(ev->conn->owner, ev);
		return;
	}
	session_input(session_of(ev->conn->owner), ev->conn->owner, ev);
}

static int poll_fabrics(struct proxy *p)
{
	struct fabric_event ev;
	int more = 0;

	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		int n = 0;

		while (n < TURN_EVENTS && fabric_poll(p->cfg.fabrics[i], &ev)) {
			on_event(p->cfg.fabrics[i], &ev);
			n++;
		}
		more |= n == TURN_EVENTS;
	}
	return more;
}

/* A waiter is a transaction queue of a session, or a leg that assembles a message. */
static void resume(struct buf_waiter *w)
{
	if (w->purpose != BUF_TRANSACTION) {
		struct leg *leg = container_of(w, struct leg, waiter);

		leg_resume(leg);
		session_touch(session_of(leg));
		return;
	}
	session_resume(container_of(w, struct session_queue, waiter));
}

static void resume_waiters(struct proxy *p)
{
	struct buf_waiter *w;

	/* Bounded: a request that meets fragmented memory goes back to the queue's end. */
	for (unsigned i = 0; i < TURN_EVENTS && (w = buf_next_ready(&p->arena)); i++)
		resume(w);
}

static void check_deadlines(struct proxy *p)
{
	list_for_each_safe(it, tmp, &p->timed)
	{
		struct session *s = container_of(it, struct session, timed);

		if (session_deadline(s) <= p->now)
			session_tick(s, p->now);
	}
}

static void end_hungriest(struct proxy *p, const struct recvs *r)
{
	struct session *worst = NULL;
	uint32_t most = 0;

	for (struct list *it = p->sessions.next; it != &p->sessions; it = it->next) {
		struct session *s = container_of(it, struct session, link);
		uint32_t holds = (s->client.recvs == r ? leg_holds(&s->client) : 0) +
				 (s->server.recvs == r ? leg_holds(&s->server) : 0);

		if (s->state == SESSION_OPEN && holds > most) {
			most = holds;
			worst = s;
		}
	}
	if (!worst)
		return;
	session_close(worst, ERR_NOMEM, "its messages hold the Receives that others wait for");
	session_touch(worst);
}

/* As often as sessions are looked at. */
static void look_at_receives(struct proxy *p)
{
	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		struct recvs *r = recvs_of(p->cfg.fabrics[i]);

		if (!r)
			continue;
		recvs_trim(r);
		if (recvs_stuck(r))
			end_hungriest(p, r);
	}
}

static void look_at_sessions(struct proxy *p)
{
	if (p->watch_at == NSEC_NEVER && p->nsessions > 0)
		p->watch_at = p->now + SESSION_WATCH;
	if (p->now < p->watch_at)
		return;
	p->watch_at = p->nsessions > 0 ? p->now + SESSION_WATCH : NSEC_NEVER;
	list_for_each_safe(it, tmp, &p->sessions)
		session_look(container_of(it, struct session, link));
	look_at_receives(p);
}

static void drain_sessions(struct proxy *p)
{
	list_for_each_safe(it, tmp, &p->sessions)
	{
		struct session *s = container_of(it, struct session, link);

		if (s->ntxns == 0 || p->now >= p->drain_deadline)
			session_close(s, 0, "shutting down");
	}
}

/* Who stood back looks again each turn, for no event of its own tells of the others' memory. */
static void look_again(struct proxy *p)
{
	struct list *it;

	while ((it = list_pop(&p->modest)))
		session_touch(container_of(it, struct session, modest));
}

static void pump_dirty(struct proxy *p)
{
	struct list *it;

	while ((it = list_pop(&p->dirty))) {
		struct session *s = container_of(it, struct session, dirty);

		if (s->state != SESSION_DEAD)
			session_pump(s);
		if (s->state == SESSION_DEAD)
			session_free(s);
	}
}

int proxy_turn(struct proxy *p, nsec_t now)
{
	size_t available;
	int more;

	p->now = now;
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		if (fabric_deadline(p->cfg.fabrics[i]) <= now)
			fabric_tick(p->cfg.fabrics[i], now);
	more = poll_fabrics(p);
	resume_waiters(p);
	check_deadlines(p);
	late_look(p);
	look_at_sessions(p);
	if (p->draining)
		drain_sessions(p);
	look_again(p);
	available = buf_available(&p->arena, BUF_TRANSACTION);
	pump_dirty(p);
	/* Memory that came back just now may be what somebody waits for: no event will tell. */
	resume_waiters(p);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		if (recvs_of(p->cfg.fabrics[i]))
			recvs_fill(recvs_of(p->cfg.fabrics[i]));
		fabric_flush(p->cfg.fabrics[i]);
	}
	if (!list_is_empty(&p->modest) && buf_available(&p->arena, BUF_TRANSACTION) > available)
		more = 1;
	return more || !list_is_empty(&p->dirty);
}

nsec_t proxy_deadline(const struct proxy *p)
{
	/* Once it has passed, what is left are connections on their way out. */
	nsec_t at = p->now < p->drain_deadline ? p->drain_deadline : NSEC_NEVER;

	at = nsec_min(nsec_min(at, p->watch_at), p->late_at);
	/* Few: only sessions in set-up have a deadline. */
	for (const struct list *it = p->timed.next; it != &p->timed; it = it->next)
		at = nsec_min(at, session_deadline(container_of(it, struct session, timed)));
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		at = nsec_min(at, fabric_deadline(p->cfg.fabrics[i]));
	return at;
}

void proxy_drain(struct proxy *p, nsec_t deadline)
{
	p->draining = true;
	p->drain_deadline = deadline;
}

unsigned proxy_sessions(const struct proxy *p)
{
	return p->nsessions;
}

void proxy_log_legs(const struct proxy *p)
{
	for (const struct list *it = p->sessions.next; it != &p->sessions; it = it->next)
		session_log_legs(container_of(it, struct session, link));
}

const struct proxy_counters *proxy_counters(const struct proxy *p)
{
	return &p->count;
}

void proxy_free(struct proxy *p)
{
	while (!list_is_empty(&p->sessions))
		session_free(list_first(&p->sessions, struct session, link));
	for (unsigned i = 0; p->recvs && i < p->cfg.nfabrics; i++)
		if (recvs_of(p->cfg.fabrics[i]))
			recvs_fini(&p->recvs[i]);
	mem_free(p->recvs);
	for (unsigned i = 0; i < p->nregistered; i++)
		fabric_unregister(p->cfg.fabrics[i], p->arena.base);
	pool_fini(&p->txns);
	buf_arena_fini(&p->arena);
	mem_free(p);
}
