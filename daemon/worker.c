/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A worker repeats these steps:
 * - It waits in the loop, no longer than the proxy's next deadline. The fabrics note which of their
 *   sockets became ready.
 * - It takes requests of the main thread.
 * - It turns the proxy until nothing is left to do, or a bound is reached.
 * - It writes a part of a report, and a piece of the answer to a query, if there is any.
 *
 * The bound lets a busy worker hear the main thread and accept connections.
 *
 * A worker that must end does so in steps, whether or not a successor serves:
 * - It accepts no more connections, but still serves clients that have connected.
 * - It detaches from the listeners.
 * - It drains, which proxy/ does, and ends when its sessions have ended.
 * - A little after the drain deadline it ends in any case: proxy_free() ends the sessions that are
 *   left.
 */
#include "daemon/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/change.h"
#include "daemon/worker_query.h"
#include "daemon/report.h"
#include "proxy/routes.h"

enum {
	TURNS_MAX = 16,
	CUT_THROUGH_BYTES = 256 << 10 /* window of memory for a large result, octets */
};
/* after a turn that took this long, the loop runs before the next turn */
#define TURN_LONG (NSEC_PER_MS / 50)
/* longest wait for connections that have sent no message yet */
#define YIELD_TIMEOUT (2 * NSEC_PER_SEC)
#define YIELD_LOOK (5 * NSEC_PER_MS)
#define DRAIN_GRACE (1 * NSEC_PER_SEC) /* after the drain deadline, for connections to close */

enum { ASK_DRAIN = 1, ASK_STOP = 2, ASK_REPORT = 4, ASK_QUERY = 8 };

struct worker {
	const struct gateway *gw;
	unsigned index;
	struct loop *parent, *loop;
	struct fabric **fabrics;
	struct jobs_port jobs;
	bool has_jobs;
	struct proxy *proxy;
	struct report report;
	struct worker_query *worker_query; /* while it is being answered */
	struct gateway_sock *socks;	   /* listening sockets to which this worker is attached */
	bool draining, stopping;
	nsec_t yielded;	 /* ending: connected clients are served until then */
	nsec_t deadline; /* ending: calls in flight may finish until then */
	nsec_t end;	 /* draining: the worker ends then in any case */
	atomic_uint asked;
	struct worker_query *begun; /* used by the main thread: the last query */
	atomic_bool answering;	    /* the worker is answering .begun */
	atomic_uint state;
	pthread_t thread;
	bool started;
};

static void set_state(struct worker *w, enum worker_state state)
{
	atomic_store(&w->state, state);
	loop_wake(w->parent);
}

enum worker_state worker_state(const struct worker *w)
{
	return (enum worker_state)atomic_load(&w->state);
}

static void detach_sock(struct worker *w, unsigned sock)
{
	struct gateway_sock *at = &w->socks[sock];

	if (at->listener)
		fabric_detach(w->fabrics[at->fabric], at->listener);
	*at = (struct gateway_sock){.listener = NULL};
}

static int attach_sock(struct worker *w, unsigned sock)
{
	const struct gateway_sock *at = &w->gw->socks[sock];
	int err;

	if (!at->listener || w->draining)
		return 0;
	err = fabric_attach(w->fabrics[at->fabric], at->listener,
			    proxy_route_owner(w->proxy, sock));
	if (!err)
		w->socks[sock] = *at;
	return err;
}

static void detach(struct worker *w)
{
	for (unsigned i = 0; w->socks && i < w->gw->nslots; i++)
		detach_sock(w, i);
}

static int attach(struct worker *w)
{
	w->socks = mem_zalloc(w->gw->nslots * sizeof(*w->socks));
	if (!w->socks)
		return ERR_NOMEM;
	for (unsigned i = 0; i < w->gw->nslots; i++) {
		int err = attach_sock(w, i);

		if (err)
			return err;
	}
	return 0;
}

static int open_fabrics(struct worker *w)
{
	w->fabrics = mem_zalloc(w->gw->nfabrics * sizeof(struct fabric *));
	if (!w->fabrics)
		return ERR_NOMEM;
	for (unsigned i = 0; i < w->gw->nfabrics; i++) {
		w->fabrics[i] = provider_new(&w->gw->fabrics[i], w->loop);
		if (!w->fabrics[i])
			return ERR_NOMEM;
	}
	return 0;
}

static void wake(void *loop)
{
	loop_wake(loop);
}

static int open_proxy(struct worker *w)
{
	struct proxy_config cfg = {
		.routes = w->gw->routes,
		.nroutes = w->gw->nroutes,
		.nslots = w->gw->nslots,
		.fabrics = w->fabrics,
		.nfabrics = w->gw->nfabrics,
		.memory_bytes = w->gw->worker_bytes,
		.max_sessions = w->gw->max_sessions,
		.session_limits = w->gw->session_limits,
		.max_setups = gateway_worker_setups(w->gw),
		.max_payload = w->gw->cfg->max_payload,
		.continue_max = w->gw->cfg->continue_max,
		.cut_through_bytes = w->gw->cfg->cut_through ? CUT_THROUGH_BYTES : 0,
		.cut_through_from = w->gw->cfg->cut_through_from,
		.jobs = w->gw->jobs ? &w->jobs : NULL,
		.worker = w->index,
		.workers = w->gw->nworkers,
		.changes = w->gw->changes,
		.clock = loop_now,
	};

	if (getrandom(&cfg.seed, sizeof(cfg.seed), 0) != (ssize_t)sizeof(cfg.seed))
		return ERR_IO;
	w->has_jobs = w->gw->jobs;
	if (w->has_jobs)
		jobs_port_init(&w->jobs, w->gw->jobs, wake, w->loop);
	w->proxy = proxy_new(&cfg);
	w->report = (struct report){.from = {.gw = w->gw, .fabrics = w->fabrics, .proxy = w->proxy},
				    .figures = stats_table_new(w->gw->nslots),
				    .worker = w->index};
	return w->proxy && w->report.figures ? 0 : ERR_NOMEM;
}

struct worker *worker_new(const struct gateway *gw, unsigned index, struct loop *parent)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	int err = ERR_NOMEM;

	if (w) {
		w->gw = gw;
		w->index = index;
		w->parent = parent;
		w->end = w->yielded = NSEC_NEVER;
		atomic_init(&w->asked, 0);
		atomic_init(&w->state, WORKER_RUNNING);
		w->loop = loop_new();
		err = w->loop ? open_fabrics(w) : ERR_NOMEM;
		if (!err)
			err = open_proxy(w);
		if (!err)
			err = attach(w);
	}
	if (err) {
		log_error("worker.failed", "worker=%u memory_bytes=%zu cause=%s", index,
			  gw->worker_bytes, err_name(err));
		worker_free(w);
		return NULL;
	}
	return w;
}

static void begin_yielding(struct worker *w)
{
	nsec_t now = loop_now();

	w->deadline = now + atomic_load(&w->gw->drain_s) * NSEC_PER_SEC;
	w->yielded = nsec_min(now + YIELD_TIMEOUT, w->deadline);
	proxy_yield(w->proxy);
}

static void begin_drain(struct worker *w)
{
	w->draining = true;
	w->end = w->deadline + DRAIN_GRACE;
	detach(w);
	proxy_drain(w->proxy, w->deadline);
	set_state(w, WORKER_DRAINING);
}

/* Detach when every client that had connected has a session, or after YIELD_TIMEOUT. Return: when
 * to call again. */
static nsec_t go_on_yielding(struct worker *w, nsec_t now)
{
	if (w->draining || w->yielded == NSEC_NEVER)
		return NSEC_NEVER;
	if (now < w->yielded && proxy_arriving(w->proxy))
		return now + YIELD_LOOK;
	begin_drain(w);
	return 0;
}

static void take_requests(struct worker *w)
{
	unsigned asked = atomic_exchange(&w->asked, 0);

	if (asked & ASK_REPORT)
		report_ask(&w->report);
	if (asked & ASK_QUERY)
		w->worker_query = w->begun;
	if ((asked & ASK_DRAIN) && w->yielded == NSEC_NEVER)
		begin_yielding(w);
	if (asked & ASK_STOP)
		w->stopping = true;
}

static bool is_over(const struct worker *w, nsec_t now)
{
	return w->stopping || (w->draining && (proxy_sessions(w->proxy) == 0 || now >= w->end));
}

/* Turn until nothing is due, because what a turn posts often completes in its own flush. After a
 * long turn the loop runs first: otherwise clients with a small call would wait for several turns
 * of clients that move as much as a turn allows. */
static nsec_t turn(struct worker *w, nsec_t now)
{
	unsigned i = 0;

	do {
		if (!proxy_turn(w->proxy, now) && proxy_deadline(w->proxy) > now)
			return nsec_min(proxy_deadline(w->proxy), w->end);
	} while (++i < TURNS_MAX && loop_now() - now < TURN_LONG);
	return 0;
}

/* Add new routes and listeners, up to the first failure. */
static int add_some(struct worker *w, struct change *c)
{
	int err = 0;

	if (w->gw->jobs && !w->has_jobs) {
		jobs_port_init(&w->jobs, w->gw->jobs, wake, w->loop);
		proxy_use_jobs(w->proxy, &w->jobs);
		w->has_jobs = true;
	}
	for (c->added = 0; c->added < c->nnew && !err; c->added += !err)
		err = proxy_route_add(w->proxy, c->new[c->added].slot,
				      w->gw->listens[c->new[c->added].slot].part, c->sides);
	for (unsigned i = 0; i < c->nnew && !err; i++)
		if (c->new[i].opens) {
			proxy_listen_by(w->proxy, w->gw->listens[c->new[i].slot].sock,
					c->new[i].slot);
			err = attach_sock(w, w->gw->listens[c->new[i].slot].sock);
		}
	return err;
}

static void take_back(struct worker *w, const struct change *c, unsigned added)
{
	for (unsigned i = 0; i < added; i++) {
		if (c->new[i].opens) {
			detach_sock(w, w->gw->listens[c->new[i].slot].sock);
			proxy_listen_by(w->proxy, w->gw->listens[c->new[i].slot].sock,
					PROXY_NO_SLOT);
		}
		proxy_route_retire(w->proxy, c->new[i].slot);
	}
}

/* Nothing in this function can fail. */
static void turn_over(struct worker *w, const struct change *c)
{
	for (unsigned i = 0; i < c->nnew; i++)
		if (c->new[i].leads && !c->new[i].opens)
			proxy_listen_by(w->proxy, w->gw->listens[c->new[i].slot].sock,
					c->new[i].slot);
	for (unsigned i = 0; i < c->nold; i++) {
		if (c->old[i].closes) {
			detach_sock(w, w->gw->listens[c->old[i].slot].sock);
			proxy_listen_by(w->proxy, w->gw->listens[c->old[i].slot].sock,
					PROXY_NO_SLOT);
		}
		proxy_route_retire(w->proxy, c->old[i].slot);
	}
}

static void change_step(struct worker *w, struct change *c)
{
	switch (c->step) {
	case CHANGE_ADD:
		c->err = add_some(w, c);
		if (c->err)
			take_back(w, c, c->added);
		break;
	case CHANGE_TAKE_BACK:
		take_back(w, c, c->nnew);
		break;
	case CHANGE_TURN_OVER:
		turn_over(w, c);
		break;
	}
}

/* Return: whether there is more to answer. */
static bool answer_piece(struct worker *w, struct worker_query *q, nsec_t now)
{
	if (!q->change)
		return worker_query_some(q, &w->report.from, now);
	change_step(w, q->change);
	return false;
}

/* Return: whether there is more to answer. */
static bool answer_some(struct worker *w, nsec_t now)
{
	if (!w->worker_query)
		return false;
	if (answer_piece(w, w->worker_query, now))
		return true;
	w->worker_query = NULL;
	atomic_store(&w->answering, false);
	loop_wake(w->parent);
	return false;
}

static int run(struct worker *w)
{
	nsec_t now = loop_now(), deadline = 0;
	bool more;

	while (!is_over(w, now)) {
		if (loop_run_once(w->loop, deadline))
			return ERR_IO;
		if (atomic_load_explicit(&w->asked, memory_order_relaxed))
			take_requests(w);
		now = loop_now();
		/* before the turn, because the turn performs what the answer began */
		more = answer_some(w, now);
		deadline = nsec_min(turn(w, now), report_some(&w->report, now));
		if (more)
			deadline = 0;
		deadline = nsec_min(deadline, go_on_yielding(w, now));
	}
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	char name[16];
	int err;

	loop_poll_first(w->loop, w->gw->cfg->adaptive_poll_us * (nsec_t)1000);
	snprintf(name, sizeof(name), "worker-%u", w->index);
	pthread_setname_np(pthread_self(),
			   /* only the thread itself can set it without opening a file, which the
			    * sandbox forbids */
			   name);
	err = run(w);
	detach(w);
	report_totals(&w->report);
	set_state(w, err ? WORKER_FAILED : WORKER_ENDED);
	return NULL;
}

int worker_start(struct worker *w)
{
	int err = pthread_create(&w->thread, NULL, worker_main, w);

	if (err) {
		log_error("worker.failed", "worker=%u why=\"%s\"", w->index, strerror(err));
		return ERR_NOMEM;
	}
	w->started = true;
	return 0;
}

static void ask(struct worker *w, unsigned what)
{
	atomic_fetch_or(&w->asked, what);
	loop_wake(w->loop);
}

void worker_drain(struct worker *w)
{
	ask(w, ASK_DRAIN);
}

void worker_stop(struct worker *w)
{
	ask(w, ASK_STOP);
}

void worker_wake(struct worker *w)
{
	loop_wake(w->loop);
}

void worker_report(struct worker *w)
{
	ask(w, ASK_REPORT);
}

void worker_give_query(struct worker *w, struct worker_query *q)
{
	w->begun = q;
	atomic_store(&w->answering, true);
	ask(w, ASK_QUERY);
}

bool worker_has_answered(struct worker *w)
{
	enum worker_state state = worker_state(w);

	if (!atomic_load(&w->answering))
		return true;
	if (state != WORKER_ENDED && state != WORKER_FAILED)
		return false;
	/* The worker's thread has ended, so this thread answers. */
	while (answer_piece(w, w->begun, loop_now()))
		;
	atomic_store(&w->answering, false);
	return true;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	if (w->started) {
		worker_stop(w);
		pthread_join(w->thread, NULL);
	}
	detach(w);
	if (w->proxy)
		proxy_free(w->proxy);
	for (unsigned i = 0; w->fabrics && i < w->gw->nfabrics; i++)
		if (w->fabrics[i])
			fabric_free(w->fabrics[i]);
	mem_free(w->fabrics);
	mem_free(w->socks);
	mem_free(w->report.figures);
	loop_free(w->loop);
	mem_free(w);
}
