/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   begin --> in worker 0 --> in worker 1 --> ... --> ready --end--> out of worker 0 --> ... -->
 *   freed
 *
 * A ring belongs to its worker until the worker has said that the trace is removed. So a trace that
 * is cancelled early still goes the whole way.
 */
#include "daemon/control/tracer.h"

#include "base/mem.h"

/* Enough for a tenth of a second, the time between two reads: of RPCs at a worker's highest rate,
 * and of messages at some 80 MB/s inline. */
static const size_t ring_bytes[TRACE_KINDS] = {[TRACE_RPCS] = 4 << 20, [TRACE_MESSAGES] = 8 << 20};

struct tracer {
	struct list link;
	struct tracers *all;
	struct worker_query q;
	unsigned worker; /* the worker being asked */
	bool is_leaving, is_in;
	void (*ready)(void *arg);
	void *arg;
	unsigned turn; /* the worker whose ring is read first */
	struct trace_ring rings[];
};

void tracers_init(struct tracers *all, struct worker_queries *worker_queries, unsigned nworkers)
{
	*all = (struct tracers){.worker_queries = worker_queries, .nworkers = nworkers};
	list_init(&all->all);
}

static void free_tracer(struct tracer *t)
{
	for (unsigned i = 0; i < t->all->nworkers; i++)
		ring_fini(&t->rings[i].ring);
	list_del(&t->link);
	t->all->n--;
	mem_free(t);
}

void tracers_fini(struct tracers *all)
{
	list_for_each_safe(it, tmp, &all->all) free_tracer(container_of(it, struct tracer, link));
}

static void ask(struct tracer *t)
{
	t->q.snapshot.kind = t->is_leaving ? SNAPSHOT_UNTRACE : SNAPSHOT_TRACE;
	t->q.snapshot.ring = &t->rings[t->worker];
	worker_query_begin(t->all->worker_queries, &t->q, t->worker);
}

static void leave(struct tracer *t)
{
	t->worker = 0;
	t->is_in = false;
	ask(t);
}

static void on_answer(struct worker_query *q)
{
	struct tracer *t = container_of(q, struct tracer, q);
	bool was_leaving = q->snapshot.kind == SNAPSHOT_UNTRACE;

	if (t->is_leaving && !was_leaving) {
		leave(t);
	} else if (++t->worker < t->all->nworkers) {
		ask(t);
	} else if (was_leaving) {
		free_tracer(t);
	} else {
		t->is_in = true;
		t->ready(t->arg);
	}
}

struct tracer *tracer_begin(struct tracers *all, enum trace_kind kind,
			    const struct trace_want *want, void (*ready)(void *arg), void *arg)
{
	struct tracer *t;
	int err = 0;

	if (all->n == TRACERS_MAX)
		return NULL;
	t = mem_zalloc(sizeof(*t) + all->nworkers * sizeof(t->rings[0]));
	if (!t)
		return NULL;
	t->all = all;
	t->ready = ready;
	t->arg = arg;
	t->q.answered = on_answer;
	list_init(&t->link);
	list_add_tail(&all->all, &t->link);
	all->n++;
	for (unsigned i = 0; i < all->nworkers && !err; i++) {
		t->rings[i].kind = kind;
		t->rings[i].want = *want;
		list_init(&t->rings[i].link);
		err = ring_init(&t->rings[i].ring, ring_bytes[kind]);
	}
	if (err) {
		free_tracer(t);
		return NULL;
	}
	ask(t);
	return t;
}

size_t tracer_take(struct tracer *t, void *to, size_t size)
{
	for (unsigned i = 0; i < t->all->nworkers; i++) {
		struct ring *r = &t->rings[t->turn].ring;
		size_t len = ring_next(r);

		t->turn = (t->turn + 1) % t->all->nworkers;
		if (len)
			return ring_take(r, to, size);
	}
	return 0;
}

uint64_t tracer_lost(struct tracer *t)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < t->all->nworkers; i++)
		lost += ring_lost(&t->rings[i].ring);
	return lost;
}

void tracer_end(struct tracer *t)
{
	if (!t)
		return;
	t->is_leaving = true;
	if (t->is_in)
		leave(t);
}
