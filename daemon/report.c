/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A worker writes its report over several turns: a few sessions a turn, and then its counters. So a
 * report on many sessions does not delay calls. When the log has no room the worker waits a little
 * and tries again. After REPORT_TIMEOUT without room it leaves the rest out.
 */
#include "daemon/report.h"

#include <stdio.h>

#include "base/log.h"
#include "base/log_line.h"
#include "fabric/provider/provider.h"

enum { REPORT_SLICE = 16 /* sessions in one turn */ };
#define REPORT_RETRY (10 * NSEC_PER_MS)
#define REPORT_TIMEOUT (10 * NSEC_PER_SEC)

void report_process(void)
{
	struct stats_table_process p;

	stats_table_process(&p);
	log_info("process",
		 "descriptors=%u resident_bytes=%llu heap_live=%llu heap_allocs=%llu "
		 "heap_bytes=%llu",
		 p.descriptors, (unsigned long long)p.resident_bytes,
		 (unsigned long long)p.heap_live, (unsigned long long)p.heap_allocs,
		 (unsigned long long)p.heap_bytes);
}

/* A line of counters: NAME=VALUE. */
struct counters {
	char text[LOG_LINE_MAX];
	size_t len;
};

static void add(struct counters *c, const char *name, uint64_t value)
{
	int n = snprintf(c->text + c->len, sizeof(c->text) - c->len, " %s=%llu", name,
			 (unsigned long long)value);

	if (n > 0 && (size_t)n < sizeof(c->text) - c->len)
		c->len += (size_t)n;
}

/* Add the counters of the instances of @kind. */
static void add_fabrics(struct counters *c, const struct stats_table *f, enum provider_kind kind)
{
	const struct provider_counter *table;
	unsigned n = provider_counters(kind, &table);

	for (unsigned i = 0; i < n; i++)
		add(c, table[i].name, f->fabric[kind][i]);
}

/* One line: counters of the relay, then of its user-space fabric instances. */
void report_counters(const struct report *r, const char *event)
{
	const struct stats_table *f = r->figures;
	struct counters c = {.len = 0};

	for (unsigned i = 0; i < stats_table_nrelayed; i++)
		add(&c, stats_table_relayed[i].name, figure_of(&f->total, &stats_table_relayed[i]));
	add_fabrics(&c, f, PROVIDER_IWARP);
	log_info(event, "worker=%u sessions=%llu%s", r->worker, (unsigned long long)f->sessions,
		 c.text);
}

/* Counters of the verbs instance; no line on gateways without one. */
static void log_verbs(const struct report *r, const char *event)
{
	const struct gateway *gw = r->from.gw;
	struct counters c = {.len = 0};
	bool any = false;

	for (unsigned i = 0; i < gw->nfabrics; i++)
		any |= gw->fabrics[i].kind == PROVIDER_VERBS;
	if (!any)
		return;
	add_fabrics(&c, r->figures, PROVIDER_VERBS);
	log_info(event, "worker=%u%s", r->worker, c.text);
}

static void log_figures(const struct report *r, const char *counters, const char *verbs)
{
	stats_table_take(r->figures, &r->from);
	report_counters(r, counters);
	log_verbs(r, verbs);
}

void report_ask(struct report *r)
{
	r->is_due = true;
}

void report_totals(const struct report *r)
{
	log_figures(r, "worker.totals", "worker.verbs");
}

static void report_begin(struct report *r, nsec_t now)
{
	r->is_due = false;
	r->running = true;
	r->again_at = 0;
	r->give_up_at = now + REPORT_TIMEOUT;
	proxy_log_begin(r->from.proxy);
}

static void report_finish(struct report *r)
{
	r->running = false;
	log_figures(r, "worker.counters", "worker.verbs");
}

nsec_t report_some(struct report *r, nsec_t now)
{
	if (r->is_due && !r->running)
		report_begin(r, now);
	if (!r->running)
		return NSEC_NEVER;
	if (now < r->again_at)
		return r->again_at;
	if (log_has_room()) {
		r->give_up_at = now + REPORT_TIMEOUT;
		if (!proxy_log_legs(r->from.proxy, REPORT_SLICE))
			report_finish(r);
		return 0;
	}
	if (now >= r->give_up_at) {
		log_warn("report.cut", "worker=%u why=\"nobody reads the log\"", r->worker);
		report_finish(r);
		return 0;
	}
	r->again_at = now + REPORT_RETRY;
	return r->again_at;
}
