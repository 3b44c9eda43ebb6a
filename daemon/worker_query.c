/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/worker_query.h"

#include "base/mem.h"
#include "daemon/loop.h"
#include "daemon/worker.h"

/* Rate limit of queries to a worker: on average one in EACH, in a burst AT_ONCE. At this rate few
 * RPCs wait for the answer to a query. */
#define EACH (NSEC_PER_SEC / 400)
enum { AT_ONCE = 64 };

/* Queries to one worker. */
struct line {
	struct list waiting;
	struct worker_query *current;
	/* time until which earlier queries use up the rate; at most AT_ONCE * EACH ahead of
	 * now */
	nsec_t paid;
};

struct worker_queries {
	struct worker **workers;
	unsigned n;
	struct line lines[];
};

struct worker_queries *worker_queries_new(struct worker **workers, unsigned n)
{
	struct worker_queries *all = mem_zalloc(sizeof(*all) + n * sizeof(all->lines[0]));

	if (!all)
		return NULL;
	all->workers = workers;
	all->n = n;
	for (unsigned i = 0; i < n; i++)
		list_init(&all->lines[i].waiting);
	return all;
}

void worker_query_begin(struct worker_queries *all, struct worker_query *q, unsigned worker)
{
	q->snapshot.begun = false;
	q->snapshot.next_route = 0;
	list_init(&q->link);
	list_add_tail(&all->lines[worker].waiting, &q->link);
}

/* When the next query may begin. */
static nsec_t line_due(const struct line *line)
{
	return line->paid > AT_ONCE * EACH ? line->paid - AT_ONCE * EACH : 0;
}

/* Return: whether a query began or was answered. */
static bool run_line(struct worker *w, struct line *line, nsec_t now)
{
	struct worker_query *q = line->current;

	if (q && !worker_has_answered(w))
		return false;
	line->current = NULL;
	if (q)
		q->answered(q);
	if (line->current || list_is_empty(&line->waiting) || now < line_due(line))
		return q != NULL;
	line->paid = (line->paid > now ? line->paid : now) + EACH;
	line->current = container_of(list_pop(&line->waiting), struct worker_query, link);
	worker_give_query(w, line->current);
	return true;
}

void worker_queries_run(struct worker_queries *all)
{
	nsec_t now = loop_now();
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < all->n; i++)
			more |= run_line(all->workers[i], &all->lines[i], now);
	}
}

nsec_t worker_queries_due(const struct worker_queries *all)
{
	nsec_t at = NSEC_NEVER;

	/* The worker itself wakes the main thread when it has answered. */
	for (unsigned i = 0; i < all->n; i++)
		if (!all->lines[i].current && !list_is_empty(&all->lines[i].waiting))
			at = nsec_min(at, line_due(&all->lines[i]));
	return at;
}

void worker_queries_free(struct worker_queries *all)
{
	mem_free(all);
}
