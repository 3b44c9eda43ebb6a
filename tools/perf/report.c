/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/report.h"

#include <stdio.h>
#include <unistd.h>

#define PROGRESS_EVERY (200 * NSEC_PER_MS)

static double in_seconds(nsec_t t)
{
	return (double)t / (double)NSEC_PER_SEC;
}

static double in_us(nsec_t t)
{
	return (double)t / 1000;
}

static double per_second(uint64_t n, nsec_t took)
{
	return took ? (double)n / in_seconds(took) : 0;
}

static void json_step(const struct perf_step *s)
{
	printf("\"rpcs\": %llu, \"seconds\": %.6f, \"rpcs_per_s\": %.1f, \"bytes_per_s\": %.1f, "
	       "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"errors\": %llu, "
	       "\"spread_us\": {",
	       (unsigned long long)s->rpcs, in_seconds(s->took), per_second(s->rpcs, s->took),
	       per_second(s->bytes, s->took), in_us(s->p50), in_us(s->p99), in_us(s->p999),
	       (unsigned long long)s->errors);
	for (unsigned i = 0; i < PERF_SPREAD; i++)
		printf("%s\"%g\": %.1f", i ? ", " : "", perf_spread_at[i] / 1e4,
		       in_us(s->spread[i]));
	printf("}");
}

static void json_proof(const struct leg_proof *proof, nsec_t took)
{
	if (proof)
		printf(", \"peer\": {\"name\": \"%s\", \"suite\": \"%s\", \"seconds\": %.6f, "
		       "\"messages\": %u, \"octets\": %zu}",
		       proof->peer, proof->suite, in_seconds(took), proof->values, proof->octets);
}

static void text_proof(const struct leg_proof *proof, nsec_t took)
{
	if (proof)
		printf("the server is %s: %s, proved in %.1f ms, %u messages, %zu octets\n",
		       proof->peer, proof->suite, in_us(took) / 1000, proof->values, proof->octets);
}

static void json_again(const struct perf_again *again)
{
	printf(", \"reconnects\": %llu, \"resent\": %llu", (unsigned long long)again->reconnects,
	       (unsigned long long)again->resent);
}

static void text_again(const struct perf_again *again)
{
	printf("connections made again %llu, calls sent again %llu\n",
	       (unsigned long long)again->reconnects, (unsigned long long)again->resent);
}

static void json(const struct perf_step *total, const struct perf_step *steps, unsigned n,
		 const struct leg_proof *proof, nsec_t took, const struct perf_again *again)
{
	printf("{");
	json_step(total);
	if (n > 1) {
		printf(", \"steps\": [");
		for (unsigned i = 0; i < n; i++) {
			printf("%s{\"size\": %u, ", i ? ", " : "", steps[i].size);
			json_step(&steps[i]);
			printf("}");
		}
		printf("]");
	}
	json_proof(proof, took);
	if (again)
		json_again(again);
	printf("}\n");
}

static void text_head(void)
{
	printf("%8s %10s %9s %11s %10s %9s %9s %9s %9s %7s\n", "size", "rpcs", "seconds", "rpcs/s",
	       "MiB/s", "p50 us", "p99 us", "p99.9 us", "max us", "errors");
}

static void text_step(const char *size, const struct perf_step *s)
{
	printf("%8s %10llu %9.3f %11.1f %10.1f %9.1f %9.1f %9.1f %9.1f %7llu\n", size,
	       (unsigned long long)s->rpcs, in_seconds(s->took), per_second(s->rpcs, s->took),
	       per_second(s->bytes, s->took) / (1024 * 1024), in_us(s->p50), in_us(s->p99),
	       in_us(s->p999), in_us(s->max), (unsigned long long)s->errors);
}

static const char *version_name(unsigned one)
{
	return one == LEG_V1 ? "1" : one == LEG_V2 ? "2" : "2-early";
}

void report_client(const struct perf_options *o, const struct perf_client *c)
{
	unsigned n;
	const struct perf_step *steps = perf_client_steps(c, &n);
	struct perf_step total;
	char size[16];
	nsec_t took;

	const struct leg_proof *proof = perf_client_proof(c, &took);
	const struct perf_again again = perf_client_again(c);

	perf_client_total(c, &total);
	if (o->json) {
		json(&total, steps, n, proof, took, o->client.reconnects ? &again : NULL);
		return;
	}
	text_proof(proof, took);
	printf("%s, version %s, depth %u, %u connection%s\n", perf_op_name(o->client.op),
	       version_name(o->client.leg.versions), o->client.depth, o->client.connections,
	       o->client.connections == 1 ? "" : "s");
	text_head();
	for (unsigned i = 0; i < n; i++) {
		snprintf(size, sizeof(size), "%u", steps[i].size);
		text_step(size, &steps[i]);
	}
	if (n != 1 || total.errors)
		text_step("all", &total);
	if (o->client.reconnects)
		text_again(&again);
}

void report_server(const struct perf_server *s)
{
	const struct perf_server_totals *t = perf_server_totals(s);

	printf("connections %llu, rpcs %llu, bytes in %llu, bytes out %llu, refused %llu, "
	       "errors %llu\n",
	       (unsigned long long)t->connections, (unsigned long long)t->rpcs,
	       (unsigned long long)t->bytes_in, (unsigned long long)t->bytes_out,
	       (unsigned long long)t->refused, (unsigned long long)perf_server_errors(s)->count);
	if (t->proved)
		printf("clients that proved who they are %llu, the last one %s\n",
		       (unsigned long long)t->proved, t->last_peer);
}

void progress_init(struct progress *p)
{
	p->is_on = isatty(STDERR_FILENO);
	p->next = p->is_on ? 0 : NSEC_NEVER;
}

void progress_show(struct progress *p, const struct perf_options *o, const struct perf_client *c,
		   nsec_t now)
{
	struct perf_step total;
	unsigned n;

	if (!p->is_on || now < p->next)
		return;
	p->next = now + PROGRESS_EVERY;
	perf_client_total(c, &total);
	(void)perf_client_steps(c, &n);
	fprintf(stderr, "\r\033[K%s %u/%u: %llu rpcs, %.0f/s, %.1f MiB/s, p99 %.0f us, errors %llu",
		perf_op_name(o->client.op), n < o->client.nsizes ? n + 1 : n, o->client.nsizes,
		(unsigned long long)total.rpcs, per_second(total.rpcs, total.took),
		per_second(total.bytes, total.took) / (1024 * 1024), in_us(total.p99),
		(unsigned long long)total.errors);
}

void progress_end(const struct progress *p)
{
	if (p->is_on)
		fprintf(stderr, "\r\033[K");
}
