/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/capacity.h"

#include <inttypes.h>
#include <sched.h>

#include "base/log.h"

enum { FEW_SESSIONS = 64, SIZE_TEXT = 24 };

#define REMEDY "give memory_limit more, or the route less of credits, inline or receive_structure"

unsigned capacity_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	return 1;
}

/* Rounded up, in the units of the configuration file. */
static const char *size_text(uint64_t bytes, char *text)
{
	bool is_large = bytes >= UINT64_C(10) << 20;
	unsigned shift = is_large ? 20 : 10;

	snprintf(text, SIZE_TEXT, "%" PRIu64 "%c", (bytes + (UINT64_C(1) << shift) - 1) >> shift,
		 is_large ? 'M' : 'K');
	return text;
}

/* Whether memory allows fewer sessions than max_sessions, or, without that setting, fewer than is
 * normal. */
static bool is_few(const struct config *cfg, uint32_t sessions)
{
	return sessions < FEW_SESSIONS && (!cfg->max_sessions || sessions < cfg->max_sessions);
}

static void print_route(const struct config *cfg, const struct config_route *route,
			const char *begin, FILE *out)
{
	char least[SIZE_TEXT], most[SIZE_TEXT];

	size_text(config_session_least(cfg, route), least);
	size_text(config_session_bytes(route), most);
	fprintf(out, "%sroute %s: memory a session %s to %s\n", begin, route->name, least, most);
}

void capacity_print(const struct config *cfg, const char *begin, const char *file, FILE *out,
		    FILE *warnings)
{
	uint32_t workers = config_workers(cfg, capacity_cpus());
	uint64_t share = config_share_bytes(cfg, workers);

	fprintf(out, "%sworkers %u, max_sessions %u\n", begin, workers,
		config_max_sessions(cfg, workers));
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const struct config_route *route = &cfg->routes[i];
		uint32_t sessions = config_route_sessions(cfg, route, workers, share);

		print_route(cfg, route, begin, out);
		if (is_few(cfg, sessions))
			fprintf(warnings,
				"%s: warning: memory_limit is enough for %u session%s of route "
				"%s: " REMEDY "\n",
				file, sessions, sessions == 1 ? "" : "s", route->name);
	}
}

void capacity_log(const struct config *cfg, uint32_t workers, uint64_t worker_bytes)
{
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const struct config_route *route = &cfg->routes[i];
		uint32_t sessions = config_route_sessions(cfg, route, workers, worker_bytes);

		if (is_few(cfg, sessions))
			log_warn("limit",
				 "what=memory_limit route=%s sessions=%u session_bytes=%" PRIu64
				 " why=\"memory is enough for no more: " REMEDY "\"",
				 route->name, sessions, config_session_least(cfg, route));
	}
}
