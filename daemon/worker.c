/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *     wait in the loop, no longer than the proxy's next deadline
 *         fabric sockets become ready; the fabrics take note
 *     take what the main thread asked for
 *     turn the proxy until nothing is left to do, or a bound is reached
 *     tell a little of the report that was asked for, if one was; a piece of what the main
 *     thread wants to know
 *
 * The bound keeps a worker that is never idle able to hear its main thread and to
 * accept connections. Draining is the proxy's business; the worker gives up its
 * part in the listeners, waits for the sessions to end and goes. A little after
 * the drain deadline it goes regardless: proxy_free() ends what is left.
 */
#include "daemon/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/inquiry.h"
#include "daemon/report.h"

enum { TURNS_MAX = 16 };
#define DRAIN_GRACE (1 * NSEC_PER_SEC) /* for closing connections after the drain deadline */

enum { ASK_DRAIN = 1, ASK_STOP = 2, ASK_REPORT = 4, ASK_INQUIRY = 8 };

struct worker {
	const struct gateway *gw;
	unsigned index;
	struct loop *parent, *loop;
	struct fabric **fabrics;
	struct jobs_port jobs;
	struct proxy *proxy;
	struct report report;
	struct inquiry *inquiry; /* while it is being answered */
	bool attached;
	bool draining, stopping;
	nsec_t end; /* draining: go, whatever is left */
	atomic_uint asked;
	struct inquiry *inquired; /* the main thread's: the last one */
	atomic_bool answering;	  /* it is the worker's, while its thread runs */
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

static void detach_first(struct worker *w, unsigned routes)
{
	const struct gateway *gw = w->gw;

	for (unsigned i = 0; i < routes; i++)
		if (!gw->routes[i].shares)
			fabric_detach(w->fabrics[gw->listens[i].fabric], gw->listens[i].listener);
}

static void detach(struct worker *w)
{
	if (w->attached)
		detach_first(w, w->gw->nroutes);
	w->attached = false;
}

static int attach(struct worker *w)
{
	const struct gateway *gw = w->gw;

	for (unsigned i = 0; i < gw->nroutes; i++) {
		const struct gateway_listen *l = &gw->listens[i];
		int err = gw->routes[i].shares ? 0
					       : fabric_attach(w->fabrics[l->fabric], l->listener,
							       proxy_route_owner(w->proxy, i));

		if (err) {
			detach_first(w, i);
			return err;
		}
	}
	w->attached = true;
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
		.fabrics = w->fabrics,
		.nfabrics = w->gw->nfabrics,
		.memory_bytes = w->gw->worker_bytes,
		.max_sessions = w->gw->max_sessions,
		.crowd = w->gw->crowd,
		.max_setups = gateway_worker_setups(w->gw),
		.max_payload = w->gw->cfg->max_payload,
		.continue_max = w->gw->cfg->continue_max,
		.jobs = w->gw->jobs ? &w->jobs : NULL,
		.worker = w->index,
	};

	if (getrandom(&cfg.seed, sizeof(cfg.seed), 0) != (ssize_t)sizeof(cfg.seed))
		return ERR_IO;
	if (w->gw->jobs)
		jobs_port_init(&w->jobs, w->gw->jobs, wake, w->loop);
	w->proxy = proxy_new(&cfg);
	w->report = (struct report){.from = {.gw = w->gw, .fabrics = w->fabrics, .proxy = w->proxy},
				    .figures = figures_new(w->gw->nroutes),
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
		w->end = NSEC_NEVER;
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

static void take_requests(struct worker *w)
{
	unsigned asked = atomic_exchange(&w->asked, 0);

	if (asked & ASK_REPORT)
		report_ask(&w->report);
	if (asked & ASK_INQUIRY)
		w->inquiry = w->inquired;
	if ((asked & ASK_DRAIN) && !w->draining) {
		nsec_t deadline = loop_now() + w->gw->cfg->drain_timeout_s * NSEC_PER_SEC;

		w->draining = true;
		w->end = deadline + DRAIN_GRACE;
		detach(w);
		proxy_drain(w->proxy, deadline);
		set_state(w, WORKER_DRAINING);
	}
	if (asked & ASK_STOP)
		w->stopping = true;
}

static bool is_over(const struct worker *w, nsec_t now)
{
	return w->stopping || (w->draining && (proxy_sessions(w->proxy) == 0 || now >= w->end));
}

/* Turn until nothing is due: what a turn posts often completes in its own flush. */
static nsec_t turn(struct worker *w, nsec_t now)
{
	for (unsigned i = 0; i < TURNS_MAX; i++)
		if (!proxy_turn(w->proxy, now) && proxy_deadline(w->proxy) > now)
			return nsec_min(proxy_deadline(w->proxy), w->end);
	return 0;
}

/* Return: whether there is more of it to be done. */
static bool answer_some(struct worker *w, nsec_t now)
{
	if (!w->inquiry)
		return false;
	if (inquiry_some(w->inquiry, &w->report.from, now))
		return true;
	w->inquiry = NULL;
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
		more = answer_some(w, now); /* before the turn, which does what follows of it */
		deadline = nsec_min(turn(w, now), report_some(&w->report, now));
		if (more)
			deadline = 0;
	}
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	int err = run(w);

	detach(w);
	report_totals(&w->report);
	set_state(w, err ? WORKER_FAILED : WORKER_ENDED);
	return NULL;
}

int worker_start(struct worker *w)
{
	char name[16];
	int err = pthread_create(&w->thread, NULL, worker_main, w);

	if (err) {
		log_error("worker.failed", "worker=%u why=\"%s\"", w->index, strerror(err));
		return ERR_NOMEM;
	}
	w->started = true;
	snprintf(name, sizeof(name), "worker-%u", w->index);
	pthread_setname_np(w->thread, name);
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

void worker_report(struct worker *w)
{
	ask(w, ASK_REPORT);
}

void worker_inquire(struct worker *w, struct inquiry *q)
{
	w->inquired = q;
	atomic_store(&w->answering, true);
	ask(w, ASK_INQUIRY);
}

bool worker_has_answered(struct worker *w)
{
	enum worker_state state = worker_state(w);

	if (!atomic_load(&w->answering))
		return true;
	if (state != WORKER_ENDED && state != WORKER_FAILED)
		return false;
	/* Its thread touches nothing any more. */
	while (inquiry_some(w->inquired, &w->report.from, loop_now()))
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
	mem_free(w->report.figures);
	loop_free(w->loop);
	mem_free(w);
}
