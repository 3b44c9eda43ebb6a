/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define PREFIX "rpcrdma_gw_"

enum { LEAST = 16 << 10, LINE = 512 };

static bool reserve(struct text *t, size_t len)
{
	size_t cap = t->cap ? t->cap : LEAST;
	char *to;

	if (t->is_broken)
		return false;
	while (cap < t->len + len)
		cap *= 2;
	if (cap == t->cap)
		return true;
	to = mem_zalloc(cap);
	if (to && t->len)
		memcpy(to, t->at, t->len);
	mem_free(t->at);
	t->at = to;
	t->cap = to ? cap : 0;
	t->len = to ? t->len : 0;
	t->is_broken = !to;
	return to != NULL;
}

static void line(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* No line is longer than LINE, because names are short. */
static void line(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!reserve(t, LINE))
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->at + t->len, LINE, fmt, ap);
	va_end(ap);
	if (n > 0 && n < LINE - 1) {
		t->len += (size_t)n;
		t->at[t->len++] = '\n';
	}
}

/* A family: the lines before its samples. */
struct family {
	const char *name; /* without prefix and "_total" */
	const char *type, *unit, *help;
};

static const char *total_of(const struct family *f)
{
	return strcmp(f->type, "counter") == 0 ? "_total" : "";
}

static void begin(struct text *t, const struct family *f)
{
	const char *suffix = t->is_open ? "" : total_of(f);

	line(t, "# TYPE " PREFIX "%s%s %s", f->name, suffix, f->type);
	if (t->is_open && f->unit)
		line(t, "# UNIT " PREFIX "%s %s", f->name, f->unit);
	line(t, "# HELP " PREFIX "%s%s %s.", f->name, suffix, f->help);
}

static void sample(struct text *t, const struct family *f, const char *labels, uint64_t value)
{
	line(t, PREFIX "%s%s%s %" PRIu64, f->name, total_of(f), labels, value);
}

static void single(struct text *t, const struct family *f, uint64_t value)
{
	begin(t, f);
	sample(t, f, "", value);
}

static void about_process(struct text *t, const struct text_process *p)
{
	static const struct family start = {"start_time_seconds", "gauge", "seconds",
					    "Start of the process, in seconds since 1970"};
	static const struct family workers = {"workers", "gauge", NULL, "Worker threads"};
	static const struct family limit = {"sessions_limit", "gauge", NULL,
					    "Largest number of sessions at once"};
	static const struct family fds = {"descriptors", "gauge", NULL, "Open descriptors"};
	static const struct family rss = {"resident_memory_bytes", "gauge", "bytes",
					  "Resident memory of the process"};
	static const struct family live = {"heap_live", "gauge", NULL,
					   "Allocations of the heap that are not freed"};
	static const struct family allocs = {"heap_allocs", "counter", NULL,
					     "Allocations of the heap"};
	static const struct family heap = {"heap_bytes", "gauge", "bytes",
					   "Octets of the heap in use"};
	struct stats_table_process now;

	stats_table_process(&now);
	line(t, "# TYPE " PREFIX "build%s %s", t->is_open ? "" : "_info",
	     t->is_open ? "info" : "gauge");
	line(t, "# HELP " PREFIX "build%s Version of the gateway.", t->is_open ? "" : "_info");
	line(t, PREFIX "build_info{version=\"" GW_VERSION "\"} 1");
	single(t, &start, (uint64_t)p->start);
	single(t, &workers, p->gw->nworkers);
	single(t, &limit, p->gw->max_sessions);
	single(t, &fds, now.descriptors);
	single(t, &rss, now.resident_bytes);
	single(t, &live, now.heap_live);
	single(t, &allocs, now.heap_allocs);
	single(t, &heap, now.heap_bytes);
}

static void about_memory(struct text *t, const struct snapshot_memory *m)
{
	static const struct family total = {"memory_limit_bytes", "gauge", "bytes",
					    "The setting memory_limit: memory of all workers"};
	static const struct family used = {"memory_used_bytes", "gauge", "bytes",
					   "Part of memory_limit that is in use"};
	static const struct family peak = {
		"memory_peak_bytes", "gauge", "bytes",
		"Sum over all workers of the largest amount that each has used at any time"};
	static const struct family touched = {"memory_touched_bytes", "gauge", "bytes",
					      "Part of memory_limit that was used at some time and "
					      "not returned to the kernel since "
					      "then"};
	static const struct family by_use = {"memory_use_bytes", "gauge", "bytes",
					     "Memory in use, by purpose"};
	static const struct family waits = {"memory_waits", "counter", NULL,
					    "Times that a call or a session waited for memory"};
	char labels[64];

	single(t, &total, m->total);
	single(t, &used, m->used);
	single(t, &peak, m->peak);
	single(t, &touched, m->touched);
	begin(t, &by_use);
	for (unsigned i = 0; i < BUF_PURPOSES; i++) {
		snprintf(labels, sizeof(labels), "{use=\"%s\"}",
			 snapshot_use_name((enum buf_purpose)i));
		sample(t, &by_use, labels, m->by_use[i]);
	}
	sample(t, &by_use, "{use=\"routes\"}", m->own);
	single(t, &waits, m->waits);
}

static void about_fabrics(struct text *t, const struct stats_table *f)
{
	static const char *const names[PROVIDER_KINDS] = {
		[PROVIDER_IWARP] = "iwarp", [PROVIDER_VERBS] = "verbs"};
	char name[96];

	for (unsigned kind = 0; kind < PROVIDER_KINDS; kind++) {
		const struct provider_counter *table;
		unsigned n = provider_counters((enum provider_kind)kind, &table);

		for (unsigned i = 0; i < n; i++) {
			const struct family family = {name, table[i].is_state ? "gauge" : "counter",
						      NULL, table[i].help};

			snprintf(name, sizeof(name), "%s_%s", names[kind], table[i].name);
			single(t, &family, f->fabric[kind][i]);
		}
	}
}

/* Whether the figures of the route in @slot are published. Those of a removed route are not: each
 * worker gives the route up when its own sessions have ended, so its counters would fall. */
static bool is_published(const struct text_process *p, unsigned slot)
{
	return p->gw->listens[slot].state == GATEWAY_CURRENT;
}

static void about_routes(struct text *t, const struct text_process *p, const struct stats_table *f)
{
	static const struct family sessions = {"sessions", "gauge", NULL,
					       "Sessions now, those in set-up included"};
	char labels[PROXY_NAME_MAX + 16];

	begin(t, &sessions);
	for (unsigned r = 0; r < f->nroutes; r++) {
		if (!is_published(p, r))
			continue;
		snprintf(labels, sizeof(labels), "{route=\"%s\"}", p->gw->routes[r].name);
		sample(t, &sessions, labels, f->routes[r].sessions);
	}
	for (unsigned i = 0; i < stats_table_nrelayed; i++) {
		const struct figure *figure = &stats_table_relayed[i];
		const struct family family = {figure->metric, "counter", figure->unit,
					      figure->help};

		begin(t, &family);
		for (unsigned r = 0; r < f->nroutes; r++) {
			if (!is_published(p, r))
				continue;
			snprintf(labels, sizeof(labels), "{route=\"%s\"}", p->gw->routes[r].name);
			sample(t, &family, labels, figure_of(&f->routes[r], figure));
		}
	}
}

/* Each figure is a family, with a sample for each server. */
static void sample_servers(struct text *t, const struct family *f, const struct figure *figure,
			   const char *route, const struct servers_view *view)
{
	char labels[PROXY_NAME_MAX + FABRIC_ADDR_TEXT + 64], at[FABRIC_ADDR_TEXT];

	for (unsigned i = 0; i < view->n; i++) {
		snprintf(labels, sizeof(labels), "{route=\"%s\",server=\"%s\"}", route,
			 fabric_addr_format(&view->at[i].addr, at));
		sample(t, f, labels, figure_at(&view->at[i].figures, figure));
	}
}

static void about_figure(struct text *t, const struct text_process *p, const struct figure *figure,
			 bool of_each, struct servers_view *view)
{
	const struct family family = {figure->metric, figure->is_state ? "gauge" : "counter",
				      figure->unit, figure->help};
	char labels[PROXY_NAME_MAX + 16];

	begin(t, &family);
	for (unsigned r = 0; r < p->gw->nslots; r++) {
		const char *route = p->gw->routes[r].name;

		if (!is_published(p, r))
			continue;
		servers_snapshot(p->gw->listens[r].servers, view);
		if (of_each) {
			sample_servers(t, &family, figure, route, view);
			continue;
		}
		snprintf(labels, sizeof(labels), "{route=\"%s\"}", route);
		sample(t, &family, labels, figure_at(&view->figures, figure));
	}
}

static void about_upstreams(struct text *t, const struct text_process *p)
{
	struct servers_view *view = mem_zalloc(sizeof(*view));

	for (unsigned i = 0; view && i < stats_table_nservers; i++)
		about_figure(t, p, &stats_table_servers[i], false, view);
	for (unsigned i = 0; view && i < stats_table_nserver; i++)
		about_figure(t, p, &stats_table_server[i], true, view);
	mem_free(view);
}

static void about_versions(struct text *t, const struct text_process *p,
			   const struct stats_table *f)
{
	static const struct family speaking = {"sessions_speaking", "gauge", NULL,
					       "Sessions by leg and by the leg's version"};
	static const char *const legs[PROXY_SIDES] = {
		[PROXY_CLIENT] = "client", [PROXY_SERVER] = "server"};
	char labels[PROXY_NAME_MAX + 64];

	begin(t, &speaking);
	for (unsigned r = 0; r < f->nroutes; r++)
		for (unsigned i = 0; is_published(p, r) && i < PROXY_SIDES * LEG_VERSIONS; i++) {
			unsigned side = i / LEG_VERSIONS, version = i % LEG_VERSIONS;

			snprintf(labels, sizeof(labels), "{route=\"%s\",leg=\"%s\",version=\"%s\"}",
				 p->gw->routes[r].name, legs[side], leg_spoken_name(version));
			sample(t, &speaking, labels, f->routes[r].speaking[side][version]);
		}
}

static const struct family durations = {
	"rpc_duration_seconds", "histogram", "seconds",
	"Duration of each step of the RPCs that were answered by a reply"};

static void sample_latency(struct text *t, const char *labels, const struct latency *l)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		count += l->buckets[i];
		if (latency_bound(i) == UINT64_MAX)
			line(t, PREFIX "%s_bucket{%s,le=\"+Inf\"} %" PRIu64, durations.name, labels,
			     count);
		else
			line(t, PREFIX "%s_bucket{%s,le=\"%.9f\"} %" PRIu64, durations.name, labels,
			     (double)latency_bound(i) / 1e9, count);
	}
	line(t, PREFIX "%s_count{%s} %" PRIu64, durations.name, labels, count);
	line(t, PREFIX "%s_sum{%s} %" PRIu64 ".%09" PRIu64, durations.name, labels,
	     l->sum / NSEC_PER_SEC, l->sum % NSEC_PER_SEC);
}

/* Only kinds that occurred. */
static void about_latency(struct text *t, const struct text_process *p, const struct stats_table *f)
{
	char labels[PROXY_NAME_MAX + 96];

	begin(t, &durations);
	for (unsigned r = 0; r < f->nroutes; r++)
		for (unsigned kind = 0; is_published(p, r) && kind < LATENCY_KINDS; kind++) {
			const struct latency *l = f->routes[r].latency[kind];

			for (unsigned step = 0; latency_count(&l[0]) > 0 && step < LATENCY_STEPS;
			     step++) {
				snprintf(labels, sizeof(labels),
					 "route=\"%s\",program=\"%s\",procedure=\"%s\",step=\"%s\"",
					 p->gw->routes[r].name,
					 latency_program((enum latency_kind)kind),
					 latency_procedure((enum latency_kind)kind),
					 latency_step_name((enum latency_step)step));
				sample_latency(t, labels, &l[step]);
			}
		}
}

static void about_refusals(struct text *t, const struct text_process *p,
			   const struct stats_table *f)
{
	static const struct family refusals = {
		"refusals", "counter", NULL,
		"Clients whose connection the gateway rejected, by reason"};
	char labels[PROXY_NAME_MAX + 64];

	begin(t, &refusals);
	for (unsigned r = 0; r < f->nroutes; r++)
		for (unsigned i = 0; is_published(p, r) && i < PROXY_REFUSALS; i++) {
			snprintf(labels, sizeof(labels), "{route=\"%s\",reason=\"%s\"}",
				 p->gw->routes[r].name, proxy_refusal_name((enum proxy_refusal)i));
			sample(t, &refusals, labels, f->routes[r].refused[i]);
		}
}

static const struct family errors = {"rpc_errors", "counter", NULL,
				     "Error reports about RPCs, sent or received, by leg"};

/* Only errors that occurred: most never do. */
static void sample_errors(struct text *t, const char *route, const char *way, const char *leg,
			  const uint64_t by_code[RPC_ERROR_CODES])
{
	char labels[PROXY_NAME_MAX + 96];

	for (unsigned i = 0; i < RPC_ERROR_CODES; i++) {
		if (by_code[i] == 0)
			continue;
		snprintf(labels, sizeof(labels), "{route=\"%s\",leg=\"%s\",way=\"%s\",code=\"%s\"}",
			 route, leg, way, rpc_error_name((enum rpc_error_code)i));
		sample(t, &errors, labels, by_code[i]);
	}
}

static void about_errors(struct text *t, const struct text_process *p, const struct stats_table *f)
{
	begin(t, &errors);
	for (unsigned r = 0; r < f->nroutes; r++) {
		const struct proxy_counters *c = &f->routes[r];
		const char *route = p->gw->routes[r].name;

		if (!is_published(p, r))
			continue;
		sample_errors(t, route, "sent", "client", c->errors_to[PROXY_CLIENT]);
		sample_errors(t, route, "sent", "server", c->errors_to[PROXY_SERVER]);
		sample_errors(t, route, "received", "client", c->errors_from[PROXY_CLIENT]);
		sample_errors(t, route, "received", "server", c->errors_from[PROXY_SERVER]);
	}
}

static void sample_expiry(struct text *t, const struct family *f, const char *route,
			  const char *side, const char *what, int64_t end)
{
	if (end != INT64_MAX)
		line(t, PREFIX "%s{route=\"%s\",side=\"%s\",what=\"%s\"} %" PRId64, f->name, route,
		     side, what, end);
}

static void about_certificates(struct text *t, const struct text_process *p)
{
	static const struct family expiry = {
		"certificate_expiry_timestamp_seconds", "gauge", "seconds",
		"Expiry of a file of host authentication, in seconds since 1970"};
	static const char *const sides[] = {[AUTH_LISTEN] = "listen", [AUTH_UPSTREAM] = "upstream"};
	struct hostauth_times times;

	begin(t, &expiry);
	for (unsigned r = 0; r < p->gw->nslots; r++)
		for (unsigned side = AUTH_LISTEN; is_published(p, r) && side <= AUTH_UPSTREAM;
		     side++) {
			const char *route = p->gw->routes[r].name;

			if (!auth_times(p->auth, r, (enum auth_side)side, &times))
				continue;
			sample_expiry(t, &expiry, route, sides[side], "certificate", times.end);
			sample_expiry(t, &expiry, route, sides[side], "ca", times.ca_end);
			sample_expiry(t, &expiry, route, sides[side], "crl", times.crl_end);
		}
}

void text_figures(struct text *t, const struct text_process *p, const struct stats_table *f)
{
	about_process(t, p);
	about_memory(t, &f->memory);
	about_routes(t, p, f);
	about_upstreams(t, p);
	about_versions(t, p, f);
	about_latency(t, p, f);
	about_refusals(t, p, f);
	about_errors(t, p, f);
	about_certificates(t, p);
	about_fabrics(t, f);
	if (t->is_open)
		line(t, "# EOF");
}
