/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *     wait in the loop, no longer than the proxy's next deadline
 *         fabric sockets become ready; the fabrics take note
 *     take what the main thread asked for
 *     turn the proxy until nothing is left to do, or a bound is reached
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
#include "fabric/iwarp/iwarp.h"
#ifdef HAVE_VERBS
#include "fabric/verbs/verbs.h"
#endif

enum { TURNS_MAX = 16 };
#define DRAIN_GRACE (1 * NSEC_PER_SEC) /* for closing connections after the drain deadline */

enum { ASK_DRAIN = 1, ASK_STOP = 2, ASK_REPORT = 4 };

struct worker {
	const struct gateway *gw;
	unsigned index;
	struct loop *parent, *loop;
	struct fabric **fabrics;
	struct proxy *proxy;
	bool attached;
	bool draining, stopping;
	nsec_t end; /* draining: go, whatever is left */
	atomic_uint asked;
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

static void detach(struct worker *w)
{
	const struct gateway *gw = w->gw;

	for (unsigned i = 0; w->attached && i < gw->nroutes; i++)
		fabric_detach(w->fabrics[gw->listens[i].fabric], gw->listens[i].listener);
	w->attached = false;
}

static int attach(struct worker *w)
{
	const struct gateway *gw = w->gw;

	for (unsigned i = 0; i < gw->nroutes; i++) {
		const struct gateway_listen *l = &gw->listens[i];
		int err = fabric_attach(w->fabrics[l->fabric], l->listener,
					proxy_route_owner(w->proxy, i));

		if (err) {
			while (i-- > 0)
				fabric_detach(w->fabrics[gw->listens[i].fabric],
					      gw->listens[i].listener);
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

static int open_proxy(struct worker *w)
{
	struct proxy_config cfg = {
		.routes = w->gw->routes,
		.nroutes = w->gw->nroutes,
		.fabrics = w->fabrics,
		.nfabrics = w->gw->nfabrics,
		.memory_bytes = w->gw->worker_bytes,
		.max_sessions = w->gw->cfg->max_sessions,
		.sessions = w->gw->sessions,
		.max_payload = w->gw->cfg->max_payload,
		.worker = w->index,
	};

	if (getrandom(&cfg.seed, sizeof(cfg.seed), 0) != (ssize_t)sizeof(cfg.seed))
		return ERR_IO;
	w->proxy = proxy_new(&cfg);
	return w->proxy ? 0 : ERR_NOMEM;
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

/* One line: what the relay did, then what its fabric instances did, summed. */
static void log_counters(const struct worker *w, const char *event)
{
	const struct proxy_counters *p = proxy_counters(w->proxy);
	struct iwarp_counters f = {0};

	for (unsigned i = 0; i < w->gw->nfabrics; i++) {
		const struct iwarp_counters *c;

		if (w->gw->fabrics[i].kind != PROVIDER_IWARP)
			continue;
		c = iwarp_counters(w->fabrics[i]);
		f.fpdus_in += c->fpdus_in;
		f.fpdus_out += c->fpdus_out;
		f.bytes_in += c->bytes_in;
		f.bytes_out += c->bytes_out;
		f.syscalls_read += c->syscalls_read;
		f.syscalls_write += c->syscalls_write;
		f.copied_bytes += c->copied_bytes;
		f.crc_errors += c->crc_errors;
		f.terminates_sent += c->terminates_sent;
		f.terminates_received += c->terminates_received;
		f.setup_failures += c->setup_failures;
	}
#define N(field) " " #field "=%llu"
#define V(value) (unsigned long long)(value)
	log_info(event,
		 "worker=%u sessions=%u" N(sessions_opened) N(sessions_closed) N(sessions_refused)
			 N(calls) N(replies) N(rcalls) N(rreplies) N(bytes_to_server) N(
				 bytes_to_client) N(errors_to_requester) N(errors_from_responder)
				 N(let_go) N(peer_faults) N(budget_waits) N(fpdus_in) N(fpdus_out)
					 N(bytes_in) N(bytes_out) N(reads) N(writes) N(copied_bytes)
						 N(crc_errors) N(terminates_sent)
							 N(terminates_received) N(setup_failures),
		 w->index, proxy_sessions(w->proxy), V(p->sessions_opened), V(p->sessions_closed),
		 V(p->sessions_refused), V(p->calls), V(p->replies), V(p->rcalls), V(p->rreplies),
		 V(p->bytes_to_server), V(p->bytes_to_client), V(p->errors_to_requester),
		 V(p->errors_from_responder), V(p->let_go), V(p->peer_faults), V(p->budget_waits),
		 V(f.fpdus_in), V(f.fpdus_out), V(f.bytes_in), V(f.bytes_out), V(f.syscalls_read),
		 V(f.syscalls_write), V(f.copied_bytes), V(f.crc_errors), V(f.terminates_sent),
		 V(f.terminates_received), V(f.setup_failures));
#undef V
#undef N
}

/* What the verbs instance did; nothing on gateways without one. */
static void log_verbs(const struct worker *w, const char *event)
{
#ifdef HAVE_VERBS
	for (unsigned i = 0; i < w->gw->nfabrics; i++) {
		const struct verbs_counters *v;

		if (w->gw->fabrics[i].kind != PROVIDER_VERBS)
			continue;
		v = verbs_counters(w->fabrics[i]);
#define N(field) " " #field "=%llu"
#define V(field) (unsigned long long)v->field
		log_info(event,
			 "worker=%u" N(sends) N(receives) N(reads) N(writes) N(binds) N(invalidates)
				 N(remote_invalidates) N(registrations) N(posts) N(signals)
					 N(inlines) N(polls) N(completions) N(events)
						 N(setup_failures) N(breaches) N(removals)
							 N(receives_low) N(receives_posted),
			 w->index, V(sends), V(receives), V(reads), V(writes), V(binds),
			 V(invalidates), V(remote_invalidates), V(registrations), V(posts),
			 V(signals), V(inlines), V(polls), V(completions), V(events),
			 V(setup_failures), V(breaches), V(removals), V(receives_low),
			 V(receives_posted));
#undef V
#undef N
	}
#else
	(void)w, (void)event;
#endif
}

static void take_requests(struct worker *w)
{
	unsigned asked = atomic_exchange(&w->asked, 0);

	if (asked & ASK_REPORT) {
		proxy_log_legs(w->proxy);
		log_counters(w, "worker.counters");
		log_verbs(w, "worker.verbs");
	}
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

static int run(struct worker *w)
{
	nsec_t now = loop_now(), deadline = 0;

	while (!is_over(w, now)) {
		if (loop_run_once(w->loop, deadline))
			return ERR_IO;
		if (atomic_load_explicit(&w->asked, memory_order_relaxed))
			take_requests(w);
		now = loop_now();
		deadline = turn(w, now);
	}
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	int err = run(w);

	detach(w);
	log_counters(w, "worker.totals");
	log_verbs(w, "worker.verbs");
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
	loop_free(w->loop);
	mem_free(w);
}
