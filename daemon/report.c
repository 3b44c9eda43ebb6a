/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A worker asked for its report tells a few sessions' legs a turn and then its counters, so that
 * 10,000 sessions hold up nobody's call. It tells no more while the log has no room: then it looks
 * again a little later, and after REPORT_PATIENCE of that leaves the rest out.
 */
#include "daemon/report.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_line.h"
#include "base/mem.h"
#include "fabric/provider/provider.h"

enum { REPORT_SLICE = 16 /* sessions a turn */ };
#define REPORT_RETRY (10 * NSEC_PER_MS)
#define REPORT_PATIENCE (10 * NSEC_PER_SEC)

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n ? n - 1 : 0; /* but for the one that looked */
}

static unsigned long resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	char line[128], *second = NULL;

	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		second = strchr(line, ' ');
	fclose(f);
	return second ? strtoul(second, NULL, 10) * (unsigned long)sysconf(_SC_PAGESIZE) : 0;
}

void report_process(void)
{
	log_info("process",
		 "descriptors=%u resident_bytes=%lu heap_live=%llu heap_allocs=%llu heap_bytes=%zu",
		 open_descriptors(), resident_bytes(), (unsigned long long)mem_live(),
		 (unsigned long long)mem_allocs(), mem_bytes());
}

/* A line of counters, as NAME=VALUE. */
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

#define COUNTER(name)                                                                              \
	{                                                                                          \
#name, offsetof(struct proxy_counters, name)                                       \
	}

static const struct provider_counter relayed[] = {
	COUNTER(sessions_opened),
	COUNTER(sessions_closed),
	COUNTER(sessions_refused),
	COUNTER(sessions_displaced),
	COUNTER(calls),
	COUNTER(replies),
	COUNTER(rcalls),
	COUNTER(rreplies),
	COUNTER(bytes_to_server),
	COUNTER(bytes_to_client),
	COUNTER(errors_to_requester),
	COUNTER(errors_from_responder),
	COUNTER(large),
	COUNTER(written),
	COUNTER(formed_again),
	COUNTER(let_go),
	COUNTER(duplicates),
	COUNTER(peer_faults),
	COUNTER(budget_waits),
	COUNTER(shortages),
};

/* What the instances of @kind did, summed. */
static void add_fabrics(struct counters *c, const struct report *r, enum provider_kind kind)
{
	const struct provider_counter *table;
	unsigned n = provider_counters(kind, &table);

	for (unsigned i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (unsigned f = 0; f < r->gw->nfabrics; f++)
			if (r->gw->fabrics[f].kind == kind)
				sum += provider_count(kind, r->fabrics[f], &table[i]);
		add(c, table[i].name, sum);
	}
}

/* One line: what the relay did, then what its fabric instances in user space did. */
static void log_counters(const struct report *r, const char *event)
{
	const uint8_t *counts = (const uint8_t *)proxy_counters(r->proxy);
	struct counters c = {.len = 0};

	for (size_t i = 0; i < sizeof(relayed) / sizeof(relayed[0]); i++)
		add(&c, relayed[i].name,
		    *(const uint64_t *)(const void *)(counts + relayed[i].offset));
	add_fabrics(&c, r, PROVIDER_IWARP);
	log_info(event, "worker=%u sessions=%u%s", r->worker, proxy_sessions(r->proxy), c.text);
}

/* What the verbs instance did; nothing on gateways without one. */
static void log_verbs(const struct report *r, const char *event)
{
	struct counters c = {.len = 0};
	bool any = false;

	for (unsigned i = 0; i < r->gw->nfabrics; i++)
		any |= r->gw->fabrics[i].kind == PROVIDER_VERBS;
	if (!any)
		return;
	add_fabrics(&c, r, PROVIDER_VERBS);
	log_info(event, "worker=%u%s", r->worker, c.text);
}

void report_ask(struct report *r)
{
	r->asked = true;
}

void report_totals(const struct report *r)
{
	log_counters(r, "worker.totals");
	log_verbs(r, "worker.verbs");
}

static void report_begin(struct report *r, nsec_t now)
{
	r->asked = false;
	r->running = true;
	r->again_at = 0;
	r->give_up_at = now + REPORT_PATIENCE;
	proxy_log_begin(r->proxy);
}

static void report_finish(struct report *r)
{
	r->running = false;
	log_counters(r, "worker.counters");
	log_verbs(r, "worker.verbs");
}

nsec_t report_some(struct report *r, nsec_t now)
{
	if (r->asked && !r->running)
		report_begin(r, now);
	if (!r->running)
		return NSEC_NEVER;
	if (now < r->again_at)
		return r->again_at;
	if (log_has_room()) {
		r->give_up_at = now + REPORT_PATIENCE;
		if (!proxy_log_legs(r->proxy, REPORT_SLICE))
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
