/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/inquiry.h"

#include "base/mem.h"
#include "daemon/worker.h"

/* Of one worker. */
struct line {
	struct list waiting;
	struct inquiry *asked;
};

struct inquiries {
	struct worker **workers;
	unsigned n;
	struct line lines[];
};

struct inquiries *inquiries_new(struct worker **workers, unsigned n)
{
	struct inquiries *all = mem_zalloc(sizeof(*all) + n * sizeof(all->lines[0]));

	if (!all)
		return NULL;
	all->workers = workers;
	all->n = n;
	for (unsigned i = 0; i < n; i++)
		list_init(&all->lines[i].waiting);
	return all;
}

void inquire(struct inquiries *all, struct inquiry *q, unsigned worker)
{
	q->look.begun = false;
	q->look.next_route = 0;
	list_init(&q->link);
	list_add_tail(&all->lines[worker].waiting, &q->link);
}

/* Return: whether anything happened. */
static bool run_line(struct worker *w, struct line *line)
{
	struct inquiry *q = line->asked;

	if (q && !worker_has_answered(w))
		return false;
	line->asked = NULL;
	if (q)
		q->answered(q);
	if (line->asked || list_is_empty(&line->waiting))
		return q != NULL;
	line->asked = container_of(list_pop(&line->waiting), struct inquiry, link);
	worker_inquire(w, line->asked);
	return true;
}

void inquiries_run(struct inquiries *all)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < all->n; i++)
			more |= run_line(all->workers[i], &all->lines[i]);
	}
}

void inquiries_free(struct inquiries *all)
{
	mem_free(all);
}
