/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/top_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/ctl/show.h"

enum { HEAD_ROWS = 6, LEAST_ROWS = 3 };

static const char *const orders[TOP_ORDERS] = {"calls", "octets", "calls in flight", "memory"};

const char *top_order_name(enum top_order order)
{
	return orders[order];
}

/* Rates per second, from differences of counters. */
struct rate {
	double seconds;
};

static double per_second(const struct rate *r, uint64_t now, uint64_t before)
{
	return now >= before && r->seconds > 0 ? (double)(now - before) / r->seconds : 0;
}

static const char *show_ms(uint64_t ns, char *text)
{
	if (ns)
		snprintf(text, 16, "%.2f", (double)ns / 1e6);
	else
		snprintf(text, 16, "-");
	return text;
}

static void view_head(FILE *to, const struct sample *s)
{
	char memory[16], limit[16], resident[16];

	fprintf(to, "rpcrdma-gw %s, %s for %.0f s: %" PRIu64 " of at most %" PRIu64 " sessions\n",
		s->version, s->state, s->uptime_s, s->sessions, s->max_sessions);
	fprintf(to,
		"memory %s of %s in use, %s resident; %" PRIu64 " sessions refused so far%s\n\n",
		show_size(s->memory, memory), show_size(s->memory_limit, limit),
		show_size(s->resident, resident), s->refused,
		s->is_short ? "; not all of it had room here" : "");
}

static void view_route(FILE *to, const struct rate *rate, const struct sample_route *r,
		       const struct sample_route *was)
{
	static const struct sample_route none;
	const struct sample_route *from = was ? was : &none;
	char out[16], back[16], call[16], server[16], p99[16], reply[16];

	fprintf(to,
		"%-16.16s %8" PRIu64 " %9.0f %8s/s %8s/s %9s %9s %9s %9s %7" PRIu64 "  %" PRIu64
		" of %" PRIu64 " up\n",
		r->name, r->sessions, per_second(rate, r->calls, from->calls),
		show_size((uint64_t)per_second(rate, r->to_server, from->to_server), out),
		show_size((uint64_t)per_second(rate, r->to_client, from->to_client), back),
		show_ms(sample_mean(&r->steps[SAMPLE_CALL], &from->steps[SAMPLE_CALL]), call),
		show_ms(sample_mean(&r->steps[SAMPLE_RESPONDER], &from->steps[SAMPLE_RESPONDER]),
			server),
		show_ms(sample_p99(&r->steps[SAMPLE_RESPONDER], &from->steps[SAMPLE_RESPONDER]),
			p99),
		show_ms(sample_mean(&r->steps[SAMPLE_REPLY], &from->steps[SAMPLE_REPLY]), reply),
		r->errors >= from->errors ? r->errors - from->errors : r->errors, r->servers_up,
		r->servers_up + r->servers_down);
}

/* Replace the totals of each session by the differences since @before. */
static void make_rates(struct sample *now, const struct sample *before, const struct rate *rate)
{
	static const struct sample_session none;

	if (before->nlist == 0 && before->sessions > 0)
		return; /* the sessions were too many to list, so their rates are not known yet */
	for (size_t i = 0; i < now->nlist; i++) {
		struct sample_session *s = &now->list[i];
		const struct sample_session *was = sample_session_of(before, s->id);

		if (!was)
			was = &none;
		s->calls_rate = per_second(rate, s->calls, was->calls);
		s->bytes_rate = per_second(rate, s->bytes, was->bytes);
	}
}

static int compare(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int by_calls(const void *a, const void *b)
{
	return compare(((const struct sample_session *)a)->calls_rate,
		       ((const struct sample_session *)b)->calls_rate);
}

static int by_bytes(const void *a, const void *b)
{
	return compare(((const struct sample_session *)a)->bytes_rate,
		       ((const struct sample_session *)b)->bytes_rate);
}

static int by_flight(const void *a, const void *b)
{
	return compare((double)((const struct sample_session *)a)->in_flight,
		       (double)((const struct sample_session *)b)->in_flight);
}

static int by_memory(const void *a, const void *b)
{
	return compare((double)((const struct sample_session *)a)->memory,
		       (double)((const struct sample_session *)b)->memory);
}

static void view_sessions(FILE *to, const struct top_view *v, struct sample *now, size_t most)
{
	static int (*const compares[TOP_ORDERS])(const void *,
						 const void *) = {[TOP_CALLS] = by_calls,
								  [TOP_BYTES] = by_bytes,
								  [TOP_FLIGHT] = by_flight,
								  [TOP_MEMORY] = by_memory};
	char rate[16], memory[16];

	fprintf(to, "\n%-11s %-14s %-26s %-8s %9s %10s %7s %8s  NAME\n", "SESSION", "ROUTE",
		"CLIENT", "VERSIONS", "CALLS/s", "OCTETS", "FLIGHT", "MEMORY");
	if (now->nlist)
		qsort(now->list, now->nlist, sizeof(now->list[0]), compares[v->order]);
	for (size_t i = 0; i < now->nlist && i < most; i++) {
		const struct sample_session *s = &now->list[i];

		fprintf(to,
			"%-11" PRIu64 " %-14.14s %-26.26s %-8.8s %9.0f %8s/s %7" PRIu64
			" %8s  %s\n",
			s->id, s->route, s->client, s->versions, s->calls_rate,
			show_size((uint64_t)s->bytes_rate, rate), s->in_flight,
			show_size(s->memory, memory), s->name);
	}
}

void top_view(FILE *to, const struct top_view *v, const struct sample *before, struct sample *now)
{
	struct rate rate = {.seconds = (double)(now->at_ns - before->at_ns) / 1e9};
	size_t routes = now->nroutes, left = SIZE_MAX;

	if (v->rows) {
		left = v->rows > HEAD_ROWS + 2 * LEAST_ROWS ? v->rows - HEAD_ROWS : 2 * LEAST_ROWS;
		if (routes > left / 2)
			routes = left / 2;
		left -= routes;
	}
	view_head(to, now);
	fprintf(to, "%-16s %8s %9s %10s %10s %9s %9s %9s %9s %7s  %s\n", "ROUTE", "SESSIONS",
		"CALLS/s", "TO SERVER", "TO CLIENT", "CALL ms", "SERVER ms", "99% <=", "REPLY ms",
		"ERRORS", "SERVERS");
	for (size_t i = 0; i < routes; i++)
		view_route(to, &rate, &now->routes[i],
			   sample_route_of(before, now->routes[i].name));
	if (!v->has_list) {
		fprintf(to, "\ntoo many sessions to list: choose some by --route, --client or "
			    "--name\n");
		return;
	}
	make_rates(now, before, &rate);
	view_sessions(to, v, now, left);
	sample_sort(now); /* @now is @before of the next call */
}
