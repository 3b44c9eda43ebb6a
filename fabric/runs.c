/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/runs.h"

#include <string.h>

/* Closes the smallest gap between the @n runs, at least two: two of them become one. Return: the
 * gap. */
static struct fabric_run close_gap(struct fabric_run *run, uint32_t n)
{
	struct fabric_run gap;
	uint32_t at = 0;

	for (uint32_t i = 1; i + 1 < n; i++)
		if (run[i + 1].from - run[i].end < run[at + 1].from - run[at].end)
			at = i;
	gap = (struct fabric_run){run[at].end, run[at + 1].from};
	run[at].end = run[at + 1].end;
	memmove(&run[at + 1], &run[at + 2], (n - at - 2) * sizeof(*run));
	return gap;
}

/* Inserts the run @new before run number @at. Return: whether a gap was closed to make room; then
 * *@gap is that gap. */
static bool runs_insert(struct fabric_runs *w, uint32_t at, struct fabric_run new,
			struct fabric_run *gap)
{
	struct fabric_run all[FABRIC_RUNS + 1];

	if (w->n < FABRIC_RUNS) {
		memmove(&w->run[at + 1], &w->run[at], (w->n - at) * sizeof(new));
		w->run[at] = new;
		w->n++;
		return false;
	}
	memcpy(all, w->run, at * sizeof(new));
	all[at] = new;
	memcpy(all + at + 1, w->run + at, (FABRIC_RUNS - at) * sizeof(new));
	*gap = close_gap(all, FABRIC_RUNS + 1);
	memcpy(w->run, all, sizeof(w->run));
	return true;
}

bool fabric_runs_add(struct fabric_runs *w, uint32_t from, uint32_t len, struct fabric_run *gap)
{
	struct fabric_run *run = w->run, new = {from, from + len};
	uint32_t at = 0, last;

	while (at < w->n && run[at].end < from)
		at++;
	if (at == w->n || run[at].from > new.end)
		return runs_insert(w, at, new, gap);
	/* The new octets touch run number @at, and perhaps runs behind it. */
	if (from < run[at].from)
		run[at].from = from;
	for (last = at; last + 1 < w->n && run[last + 1].from <= new.end; last++)
		;
	run[at].end = run[last].end > new.end ? run[last].end : new.end;
	memmove(&run[at + 1], &run[last + 1], (w->n - last - 1) * sizeof(*run));
	w->n -= last - at;
	return false;
}
