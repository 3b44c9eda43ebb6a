/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/collect.h"

#include "base/mem.h"
#include "daemon/loop.h"

/* Least time between two collections: copying all counters takes a worker as long as some RPCs. A
 * client that asks without end gets the result of these collections. */
#define INTERVAL (25 * NSEC_PER_MS)

struct collector {
	struct inquiries *all;
	const struct gateway *gw;
	unsigned at; /* index of the worker that is asked */
	bool is_running;
	nsec_t begins_at; /* earliest time of the next collection */
	struct inquiry q;
	struct figures *one, *sum;
	struct list next, now; /* requests for the next collection, and for the current one */
};

static void ask(struct collector *c)
{
	figures_clear(c->one);
	inquire(c->all, &c->q, c->at);
}

static void begin(struct collector *c)
{
	nsec_t now = loop_now();

	if (c->is_running || list_is_empty(&c->next) || now < c->begins_at)
		return;
	c->is_running = true;
	c->begins_at = now + INTERVAL;
	c->at = 0;
	while (!list_is_empty(&c->next))
		list_add_tail(&c->now, list_pop(&c->next));
	figures_clear(c->sum);
	ask(c);
}

static void on_answer(struct inquiry *q)
{
	struct collector *c = container_of(q, struct collector, q);
	struct list *it;

	figures_add(c->sum, c->one);
	if (++c->at < c->gw->nworkers) {
		ask(c);
		return;
	}
	figures_total(c->sum);
	figures_fold(c->sum, c->gw);
	while ((it = list_pop(&c->now))) {
		struct collect *who = container_of(it, struct collect, link);

		who->collected(who, c->sum);
	}
	c->is_running = false;
	begin(c);
}

struct collector *collector_new(struct inquiries *all, const struct gateway *gw)
{
	struct collector *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->all = all;
	c->gw = gw;
	c->one = figures_new(gw->nslots);
	c->sum = figures_new(gw->nslots);
	c->q.figures = c->one;
	c->q.answered = on_answer;
	list_init(&c->next);
	list_init(&c->now);
	if (c->one && c->sum)
		return c;
	collector_free(c);
	return NULL;
}

void collect(struct collector *from, struct collect *c)
{
	list_init(&c->link);
	list_add_tail(&from->next, &c->link);
	begin(from);
}

void collector_go_on(struct collector *c)
{
	begin(c);
}

nsec_t collector_due(const struct collector *c)
{
	return c->is_running || list_is_empty(&c->next) ? NSEC_NEVER : c->begins_at;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	mem_free(c->one);
	mem_free(c->sum);
	mem_free(c);
}
