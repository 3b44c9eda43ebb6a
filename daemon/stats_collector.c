/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/stats_collector.h"

#include "base/mem.h"
#include "daemon/loop.h"

/* Least time between two collections: copying all counters takes a worker as long as some RPCs. A
 * client that asks without end gets the result of these collections. */
#define INTERVAL (25 * NSEC_PER_MS)

struct stats_collector {
	struct worker_queries *all;
	const struct gateway *gw;
	unsigned at; /* index of the worker that is asked */
	bool is_running;
	nsec_t begins_at; /* earliest time of the next collection */
	struct worker_query q;
	struct stats_table *one, *sum;
	struct list next, now; /* requests for the next collection, and for the current one */
};

static void ask(struct stats_collector *c)
{
	stats_table_clear(c->one);
	worker_query_begin(c->all, &c->q, c->at);
}

static void begin(struct stats_collector *c)
{
	nsec_t now = loop_now();

	if (c->is_running || list_is_empty(&c->next) || now < c->begins_at)
		return;
	c->is_running = true;
	c->begins_at = now + INTERVAL;
	c->at = 0;
	while (!list_is_empty(&c->next))
		list_add_tail(&c->now, list_pop(&c->next));
	stats_table_clear(c->sum);
	ask(c);
}

static void on_answer(struct worker_query *q)
{
	struct stats_collector *c = container_of(q, struct stats_collector, q);
	struct list *it;

	stats_table_add(c->sum, c->one);
	if (++c->at < c->gw->nworkers) {
		ask(c);
		return;
	}
	stats_table_total(c->sum);
	stats_table_fold(c->sum, c->gw);
	while ((it = list_pop(&c->now))) {
		struct stats_collect *who = container_of(it, struct stats_collect, link);

		who->collected(who, c->sum);
	}
	c->is_running = false;
	begin(c);
}

struct stats_collector *stats_collector_new(struct worker_queries *all, const struct gateway *gw)
{
	struct stats_collector *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->all = all;
	c->gw = gw;
	c->one = stats_table_new(gw->nslots);
	c->sum = stats_table_new(gw->nslots);
	c->q.figures = c->one;
	c->q.answered = on_answer;
	list_init(&c->next);
	list_init(&c->now);
	if (c->one && c->sum)
		return c;
	stats_collector_free(c);
	return NULL;
}

void collect(struct stats_collector *from, struct stats_collect *c)
{
	list_init(&c->link);
	list_add_tail(&from->next, &c->link);
	begin(from);
}

void collect_cancel(struct stats_collect *c)
{
	list_del(&c->link);
}

void stats_collector_go_on(struct stats_collector *c)
{
	begin(c);
}

nsec_t stats_collector_due(const struct stats_collector *c)
{
	return c->is_running || list_is_empty(&c->next) ? NSEC_NEVER : c->begins_at;
}

void stats_collector_free(struct stats_collector *c)
{
	if (!c)
		return;
	mem_free(c->one);
	mem_free(c->sum);
	mem_free(c);
}
