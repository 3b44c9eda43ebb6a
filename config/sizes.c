/* SPDX-License-Identifier: BSD-2-Clause */
/* Resources of a configuration: workers, sessions, and the memory they need (base/budget.h). */
#include <string.h>

#include "base/budget.h"
#include "base/budget_queues.h"
#include "config/config.h"

static uint64_t sizes_round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

static uint32_t leg_receives(const struct config_end *end)
{
	return budget_receives(end->credits, end->reverse_credits, end->reply_timeout_s > 0);
}

/* Memory of a leg with its own Receives, without heap. */
static uint64_t leg_blocks(const struct config_end *end)
{
	return budget_leg(end->inline_bytes, leg_receives(end)) +
	       budget_bulk(end->bulk_bytes, leg_receives(end));
}

/* Memory of queues, on RDMA devices only, for the most calls that the peer may have to answer at
 * once. */
static uint64_t leg_queues(const struct config_end *end, uint32_t calls, bool shares)
{
	const struct budget_depths depths = {leg_receives(end), BUDGET_SENDS + BUDGET_OPS,
					     budget_exposures(calls)};

	return strcmp(end->fabric, "verbs") == 0 ? budget_queues(&depths, shares) : 0;
}

static uint64_t leg_bytes(const struct config_end *end, uint32_t calls)
{
	/* Two handshakes may always run: proxy/session_auth.c. */
	uint64_t handshakes = end->hostauth.mode == CONFIG_HOSTAUTH_OFF ? 0 : 2 * BUDGET_HANDSHAKE;

	return BUDGET_LEG_HEAP + handshakes + leg_blocks(end) +
	       (uint64_t)leg_receives(end) * BUDGET_RECV_HEAP + leg_queues(end, calls, false);
}

uint64_t config_session_bytes(const struct config_route *route)
{
	return leg_bytes(&route->listen, route->listen.reverse_credits) +
	       leg_bytes(&route->upstream, route->upstream.credits);
}

uint64_t config_worker_bytes(const struct config *cfg)
{
	uint64_t payload = 4096, rest, bytes;

	while (payload < cfg->max_payload)
		payload *= 2;
	rest = payload * BUDGET_PAYLOADS * BUDGET_SHARES;
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		rest += BUDGET_FIXED * config_session_bytes(&cfg->routes[i]);
	bytes = sizes_round_up(rest, BUDGET_STEP);
	while (bytes - budget_reserve(bytes) < rest)
		bytes += BUDGET_STEP;
	return bytes;
}

uint32_t config_workers(const struct config *cfg, uint32_t cpus)
{
	uint64_t fed = cfg->memory_bytes / config_worker_bytes(cfg);

	if (cfg->workers)
		return cfg->workers;
	if (fed < cpus)
		cpus = (uint32_t)fed;
	return cpus ? cpus : 1;
}

/* The least memory of a leg on the fabric of @end. */
static uint64_t leg_least(const struct config_end *end, uint32_t calls, bool shares)
{
	uint64_t blocks;

	shares = shares && !end->bulk_bytes;
	blocks = shares ? budget_sharing_leg(end->inline_bytes) : leg_blocks(end);
	if (strcmp(end->fabric, "verbs") != 0)
		return BUDGET_LEAST_TCP + blocks;
	return BUDGET_LEAST_HEAP + leg_queues(end, calls, shares) + blocks;
}

uint64_t config_session_least(const struct config *cfg, const struct config_route *route)
{
	bool shares = cfg->receives != CONFIG_RECEIVES_OWN;

	return leg_least(&route->listen, route->listen.reverse_credits, shares) +
	       leg_least(&route->upstream, route->upstream.credits, shares);
}

uint64_t config_share_bytes(const struct config *cfg, uint32_t workers)
{
	return cfg->memory_bytes / workers / BUDGET_STEP * BUDGET_STEP;
}

uint32_t config_route_sessions(const struct config *cfg, const struct config_route *route,
			       uint32_t workers, uint64_t worker_bytes)
{
	uint64_t fixed = (worker_bytes - budget_reserve(worker_bytes)) / BUDGET_FIXED, most;

	if (cfg->receives != CONFIG_RECEIVES_OWN)
		fixed -= fixed / BUDGET_SHARED;
	most = fixed / config_session_least(cfg, route);
	most = (most ? most : 1) * workers;
	return most < CONFIG_SESSIONS_MAX ? (uint32_t)most : CONFIG_SESSIONS_MAX;
}

/* An upper limit: each worker also counts the octets that its sessions really hold. */
uint32_t config_max_sessions(const struct config *cfg, uint32_t workers)
{
	uint32_t most = cfg->nroutes * workers;

	if (cfg->max_sessions)
		return cfg->max_sessions;
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		uint32_t fed = config_route_sessions(cfg, &cfg->routes[i], workers,
						     config_share_bytes(cfg, workers));

		most = fed > most ? fed : most;
	}
	return most < CONFIG_SESSIONS_MAX ? most : CONFIG_SESSIONS_MAX;
}

uint32_t config_max_setups(const struct config *cfg, uint32_t workers)
{
	if (cfg->max_setups)
		return cfg->max_setups;
	return (config_max_sessions(cfg, workers) + 1) / 2;
}
