/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/proxy.h"

#include "base/log.h"
#include "base/mem.h"
#include "proxy/internal.h"
#include "proxy/probe.h"
#include "proxy/session_auth.h"
#include "proxy/session_debts.h"
#include "proxy/session_end.h"
#include "proxy/session_log.h"
#include "proxy/session_open.h"
#include "proxy/session_recv_reclaim.h"
#include "proxy/session_server.h"
#include "proxy/txn_call.h"
#include "proxy/txn_zero_sink.h"

/* A turn is bounded, so that no fabric starves another, and the end of many sessions does not
 * delay one at work. Bounds of events: poll_fabrics(). */
enum {
	TURN_EVENTS = 12,      /* events of a fabric that a turn handles in any case */
	TURN_EVENTS_MOST = 64, /* events of a fabric, at most */
	TURN_SESSIONS = 2,     /* a turn ends after events of so many sessions */
	EVENTS_LOOK = 4,       /* events between two looks at the clock */
	FLUSHES = 4,	       /* a turn ends when its events took so many times a flush's time */
	FLUSH_WEIGHT = 8,      /* weight of a new flush in the average: 1/FLUSH_WEIGHT */
	TURN_TIMERS = 256,
	TURN_ENDS = 32, /* sessions closed in a turn of a shutdown */
	/* Octets of groups (messages in several Sends) copied in a turn, and of one leg at a
	 * time; about 0.1 ms. */
	TURN_COPY_BYTES = 1 << 19,
	COPY_STEP = 1 << 17,
	/* Looks at shared Receives after the last session, because fabrics give Receives back by
	 * and by. */
	TRIMS_AFTER = 3,
};

/* Interval of looks at shared Receives. */
#define TRIM_INTERVAL (10 * NSEC_PER_SEC)

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

/* Share Receives, large enough for every leg, on each fabric that can. */
static int share_receives(struct proxy *p)
{
	size_t fixed = buf_zone_bytes(&p->arena, BUF_ZONE_CONN);
	/* The share of each fabric; tests have no fabric. */
	size_t share = p->cfg.nfabrics ? fixed / BUDGET_SHARED / p->cfg.nfabrics : 0;
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
		int err = recv_pool_init(&p->recvs[i], p->cfg.fabrics[i], &p->arena, share, bytes);

		if (err == 0)
			p->fixed_limit -= share;
		else if (err != ERR_CONFIG)
			return err;
	}
	return 0;
}

/* Connections take memory of the fabrics' pools after they were accepted. If sessions and pools
 * together hold more than their limit, fabrics give memory up. */
static void shed(struct proxy *p)
{
	size_t excess = session_excess(p);

	for (unsigned i = 0; i < p->cfg.nfabrics && excess; i++)
		fabric_shed(p->cfg.fabrics[i], excess);
}

static void on_trim(struct timer *timer, nsec_t now)
{
	struct proxy *p = container_of(timer, struct proxy, trim);

	if (p->nsessions > 0)
		p->trims_left = TRIMS_AFTER;
	else if (p->trims_left > 0)
		p->trims_left--;
	if (p->trims_left > 0)
		timer_arm(&p->timers, timer, now + TRIM_INTERVAL);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++) {
		struct recv_pool *r = recv_pool_of(p->cfg.fabrics[i]);

		if (!r)
			continue;
		recv_pool_trim(r);
		session_reclaim_recvs(p, r);
	}
	shed(p);
	if (p->nsessions == 0 && !p->pinned)
		buf_release_soon(&p->arena);
}

/* PROXY_SETTLE is over: drain_some() looks at all sessions once more. */
static void on_settle(struct timer *timer, nsec_t now)
{
	struct proxy *p = container_of(timer, struct proxy, settle);

	p->settled = true;
	if (now < p->drain_deadline)
		p->drain_next = p->sessions.next;
}

/* Divide the arena among routes, and set up the quotas. */
static int part_arena(struct proxy *p)
{
	size_t fixed = (p->arena.bytes - p->arena.reserve) / BUDGET_FIXED;
	int err = buf_arena_part(&p->arena, fixed, p->cfg.nroutes);

	if (err < 0)
		return err;
	quota_init(&p->quota, &p->arena);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		p->pinned |= p->cfg.fabrics[i]->pins;
	p->release_at = NSEC_NEVER;
	return 0;
}

/* The limit of sessions: as configured, or as many as memory could ever hold. */
static unsigned most_sessions(const struct proxy *p)
{
	size_t most = buf_zone_bytes(&p->arena, BUF_ZONE_CONN) / sizeof(struct session);

	if (p->cfg.max_sessions)
		return p->cfg.max_sessions;
	return most < UINT32_MAX ? (unsigned)most : UINT32_MAX;
}

/* Set up the session limits and the list of connections without a message. */
static int open_session_limits(struct proxy *p)
{
	const struct session_limits_config alone = {.max_sessions = most_sessions(p),
						    .seed = p->cfg.seed};
	unsigned most = p->cfg.max_setups;

	if (most == 0 || most > alone.max_sessions)
		most = alone.max_sessions;
	p->session_limits = p->cfg.session_limits;
	if (!p->session_limits)
		p->session_limits = p->own_limits = session_limits_new(&alone);
	p->most_sessions = alone.max_sessions;
	return p->session_limits ? preauth_queue_init(&p->preauth_queue, most, p->cfg.seed)
				 : ERR_NOMEM;
}

struct proxy *proxy_new(const struct proxy_config *cfg)
{
	struct proxy *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->cfg = *cfg;
	p->random = cfg->seed;
	p->next_session = cfg->worker + UINT64_C(1);
	timer_queue_init(&p->timers);
	list_init(&p->blanking);
	list_init(&p->group_copiers);
	list_init(&p->caching_queues);
	timer_init(&p->trim, on_trim);
	timer_init(&p->debts, session_debts_look);
	list_init(&p->owing);
	list_init(&p->round_end);
	timer_init(&p->settle, on_settle);
	list_init(&p->sessions);
	p->log_next = p->drain_next = p->snapshot_next = &p->sessions;
	list_init(&p->dirty);
	for (unsigned i = 0; i < TRACE_KINDS; i++)
		list_init(&p->traces[i]);
	if (buf_arena_init(&p->arena, cfg->memory_bytes) < 0) {
		log_error("memory.reserve", "bytes=%zu", cfg->memory_bytes);
		mem_free(p);
		return NULL;
	}
	if (part_arena(p) < 0 || open_session_limits(p) < 0 || register_arena(p) < 0 ||
	    share_receives(p) < 0 || routes_open(p) < 0) {
		proxy_free(p);
		return NULL;
	}
	return p;
}

void *proxy_route_owner(struct proxy *p, unsigned i)
{
	return &p->listeners[i];
}

static void open_session(struct route_state *rs, const struct fabric_event *ev)
{
	session_open(rs, ev);
	rs->proxy->touched++;
	if (!timer_is_armed(&rs->proxy->trim))
		timer_arm(&rs->proxy->timers, &rs->proxy->trim, rs->proxy->now + TRIM_INTERVAL);
}

static void on_event(struct fabric *f, const struct fabric_event *ev)
{
	struct leg *leg;

	if (!ev->conn) { /* a shared Receive whose queue was destroyed */
		recv_pool_arrived(recv_pool_of(f));
		recv_pool_put(recv_pool_of(f), ev->cookie);
		return;
	}
	if (ev->type == FABRIC_EV_REQUEST) {
		struct route_state *rs = *(struct route_state **)ev->conn->owner;

		if (rs)
			open_session(rs, ev);
		else
			fabric_reject(ev->conn, view_of(NULL, 0));
		return;
	}
	leg = ev->conn->owner;
	if (leg->is_probe)
		probe_input(leg, ev);
	else
		session_input(session_of(leg), leg, ev);
}

static nsec_t clock_of(const struct proxy *p)
{
	return p->cfg.clock ? p->cfg.clock() : p->now;
}

static bool has_had_enough(const struct proxy *p)
{
	return p->touched >= TURN_SESSIONS || clock_of(p) >= p->events_until;
}

/* Return: whether there may be more events. */
static bool poll_fabric(struct proxy *p, struct fabric *f)
{
	struct fabric_event ev;

	for (unsigned n = 0; n < TURN_EVENTS_MOST; n++) {
		if (n >= TURN_EVENTS && n % EVENTS_LOOK == 0 && has_had_enough(p))
			return true;
		if (!fabric_poll(f, &ev))
			return false;
		on_event(f, &ev);
	}
	return true;
}

/*
 * State:  fabrics have many events. The messages that they cause are sent by the flush at the end
 *         of the turn, all those of a connection with one system call.
 * Danger: turns of few events spend most of their time in system calls. In turns of many events a
 *         peer waits for its first message, although it could work on that while others are
 *         relayed. In turns of many sessions all of them hold memory for what they send, until the
 *         flush.
 * Rule:   a turn handles TURN_EVENTS events of each fabric. It continues, up to TURN_EVENTS_MOST of
 *         each, until its events have taken FLUSHES times as long as a flush does (the average of
 *         recent ones), or were events of TURN_SESSIONS sessions. So the first message waits no
 *         longer than a few system calls take on this machine.
 * Pinned: tests/session/test_turns.c:events_take_as_long_as_a_few_flushes,
 *         :two_sessions_end_a_turn, daemon_writers.
 */
static int poll_fabrics(struct proxy *p)
{
	int more = 0;

	p->touched = 0;
	p->events_until = clock_of(p) + FLUSHES * p->flush_takes;
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		more |= poll_fabric(p, p->cfg.fabrics[i]);
	return more;
}

static void flush(struct proxy *p)
{
	nsec_t began = clock_of(p);

	fabric_flush_posts(p->cfg.fabrics, p->cfg.nfabrics);
	p->flush_takes -= p->flush_takes / FLUSH_WEIGHT;
	p->flush_takes += (clock_of(p) - began) / FLUSH_WEIGHT;
	fabric_go_on(p->cfg.fabrics, p->cfg.nfabrics, &p->goes_on);
}

/* The member is in a queue of a session, or in a leg that reassembles a message. */
static void proxy_resume(struct quota_member *m, enum buf_purpose purpose)
{
	struct leg *leg;

	if (purpose == BUF_TRANSACTION) {
		session_resume(container_of(m, struct session_queue, quota), false);
		return;
	}
	if (purpose == BUF_TXN_FORWARD || purpose == BUF_TXN_REVERSE) {
		session_resume(container_of(m, struct session_queue, block_quota), true);
		return;
	}
	leg = leg_of_quota(m, purpose);
	leg_resume(leg);
	session_touch(session_of(leg));
}

/* Replies first, because they free what others wait for. */
static void resume_waiters(struct proxy *p)
{
	static const enum buf_purpose each[] = {BUF_REASM_REPLY, BUF_REASM_CALL,  BUF_REASM_START,
						BUF_TRANSACTION, BUF_TXN_REVERSE, BUF_TXN_FORWARD};
	struct quota_member *m;

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		while ((m = quota_next(&p->quota, each[i])))
			proxy_resume(m, each[i]);
}

/* The gateway shuts down: each session has to leave, TURN_ENDS of them in a turn. */
static void drain_some(struct proxy *p)
{
	for (unsigned i = 0; i < TURN_ENDS && p->drain_next != &p->sessions; i++) {
		struct session *s = container_of(p->drain_next, struct session, link);

		p->drain_next = s->link.next;
		session_leave(s, p->drain_deadline);
	}
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

/*
 * State:  all workers accept from the same listening sockets. Each has the same memory and one
 *         processor.
 * Danger: one worker runs out of memory, or of processor time, while another has plenty.
 * Rule:   a worker with more sessions than the least loaded one does not accept
 *         (session_limits_worker_is_overloaded()). Neither does a worker that had no memory for a
 *         session, for PROXY_NO_ROOM, because sessions of different routes take different amounts.
 * Pinned: tests/proxy/test_session_limits.c:the_more_loaded_worker_is_known
 *
 * Each turn reads shared memory here, but writes it only when sessions begin or end.
 */
static void share_out(struct proxy *p)
{
	unsigned changes;
	uint32_t here, coming = 0; /* connections in set-up are not sessions yet */

	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		coming += p->cfg.fabrics[i]->arrived;
	here = p->now < p->no_room_until ? SESSION_LIMITS_NO_MEMORY : p->nsessions + coming;
	if (here != p->published_load) {
		p->published_load = here;
		session_limits_publish(p->session_limits, p->cfg.worker, here);
	}
	changes = session_limits_changes(p->session_limits);
	if (changes == p->seen_changes)
		return;
	p->seen_changes = changes;
	p->is_fullest =
		session_limits_worker_is_overloaded(p->session_limits, p->cfg.worker, coming);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		p->cfg.fabrics[i]->is_fullest = p->is_fullest || p->yields;
}

static unsigned changes_of_servers(const struct proxy *p)
{
	return p->cfg.changes ? atomic_load_explicit(&p->cfg.changes->number, memory_order_acquire)
			      : 0;
}

/* Act on changes of servers that a relay or the main thread made known. */
static void poll_upstream_changes(struct proxy *p)
{
	unsigned number = changes_of_servers(p);

	if (number == p->server_changes)
		return;
	p->server_changes = number;
	sessions_note_changes(p);
}

/* Blank some more memory. Return: whether there is more. */
static bool go_on_blanking(struct proxy *p)
{
	struct txn *t;

	while ((t = txn_blank_next(p)))
		txn_blanked(t);
	return !list_is_empty(&p->blanking);
}

/* Copy some octets of each group in turn. */
static void go_on_copying_groups(struct proxy *p)
{
	uint32_t left = TURN_COPY_BYTES;

	while (left > 0 && !list_is_empty(&p->group_copiers)) {
		struct leg *leg = list_first(&p->group_copiers, struct leg, copier_link);

		left -= leg_copy_group(leg, left < COPY_STEP ? left : COPY_STEP);
		if (leg->group_state == LEG_GROUP_READY) {
			session_touch(session_of(leg));
			continue;
		}
		list_del(&leg->copier_link);
		list_add_tail(&p->group_copiers, &leg->copier_link);
	}
}

static void note_pause(struct proxy *p)
{
	if (pause_is_noticed(timer_next(&p->timers), p->now))
		p->paused_until = p->now;
}

int proxy_turn(struct proxy *p, nsec_t now)
{
	int more;

	p->now = now;
	p->blank_left = TXN_BLANK_TURN;
	quota_turn(&p->quota, now);
	note_pause(p);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		if (fabric_deadline(p->cfg.fabrics[i]) <= now)
			fabric_tick(p->cfg.fabrics[i], now);
	more = poll_fabrics(p);
	session_auth_back(p);
	resume_waiters(p);
	drain_some(p);
	more |= timer_run(&p->timers, now, TURN_TIMERS);
	more |= go_on_blanking(p);
	go_on_copying_groups(p);
	poll_upstream_changes(p);
	pump_dirty(p);
	share_out(p);
	if (p->sweep)
		routes_sweep(p);
	/* Memory that came back in this turn may be what a session waits for, and no event will
	 * follow. */
	resume_waiters(p);
	more |= quota_is_over_budget(&p->quota);
	if (!p->pinned)
		p->release_at = buf_release(&p->arena, now);
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		if (recv_pool_of(p->cfg.fabrics[i]))
			recv_pool_fill(recv_pool_of(p->cfg.fabrics[i]));
	flush(p);
	return more || p->drain_next != &p->sessions || !list_is_empty(&p->dirty) ||
	       !list_is_empty(&p->group_copiers) || changes_of_servers(p) != p->server_changes;
}

nsec_t proxy_deadline(const struct proxy *p)
{
	bool more = p->drain_next != &p->sessions || !list_is_empty(&p->blanking) ||
		    !list_is_empty(&p->group_copiers);
	nsec_t at = more ? p->now : timer_next(&p->timers);

	at = nsec_min(nsec_min(at, p->release_at), quota_deadline(&p->quota));
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		at = nsec_min(at, fabric_deadline(p->cfg.fabrics[i]));
	return at;
}

void proxy_drain(struct proxy *p, nsec_t deadline)
{
	p->draining = true;
	p->drain_deadline = deadline;
	p->drain_next = p->sessions.next;
	timer_arm(&p->timers, &p->settle, nsec_min(p->now + PROXY_SETTLE, deadline));
}

void proxy_yield(struct proxy *p)
{
	p->yields = true;
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		p->cfg.fabrics[i]->is_fullest = true;
}

bool proxy_arriving(const struct proxy *p)
{
	for (unsigned i = 0; i < p->cfg.nfabrics; i++)
		if (fabric_arriving(p->cfg.fabrics[i]))
			return true;
	return false;
}

unsigned proxy_sessions(const struct proxy *p)
{
	return p->nsessions;
}

void proxy_log_begin(struct proxy *p)
{
	p->log_next = p->sessions.next;
	p->log_end = p->next_session;
}

/* Sessions are in the order of their numbers; session_free() moves .log_next on from one that
 * ends. */
bool proxy_log_legs(struct proxy *p, unsigned most)
{
	while (p->log_next != &p->sessions) {
		struct session *s = container_of(p->log_next, struct session, link);

		if (s->id >= p->log_end)
			return false;
		if (most-- == 0)
			return true;
		p->log_next = s->link.next;
		session_log_legs(s);
	}
	return false;
}

const struct proxy_counters *proxy_counters(struct proxy *p)
{
	p->count = p->gone;
	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			proxy_counters_add(&p->count, &p->routes[i]->count);
	return &p->count;
}

const struct proxy_counters *proxy_route_counters(const struct proxy *p, unsigned i)
{
	return &p->routes[i]->count;
}

void proxy_free(struct proxy *p)
{
	while (!list_is_empty(&p->sessions))
		session_free(list_first(&p->sessions, struct session, link));
	if (p->cfg.jobs)
		jobs_port_wait(p->cfg.jobs);
	session_auth_back(p);
	routes_close(p);
	for (unsigned i = 0; p->recvs && i < p->cfg.nfabrics; i++)
		if (recv_pool_of(p->cfg.fabrics[i]))
			recv_pool_fini(&p->recvs[i]);
	mem_free(p->recvs);
	preauth_queue_fini(&p->preauth_queue);
	session_limits_free(p->own_limits);
	for (unsigned i = 0; i < p->nregistered; i++)
		fabric_unregister(p->cfg.fabrics[i], p->arena.base);
	buf_arena_fini(&p->arena);
	mem_free(p);
}
