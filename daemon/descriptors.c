/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/descriptors.h"

#include <sys/resource.h>

enum {
	/* 32 for the control socket, 16 for the metrics, and those of the main thread and of a
	 * reload */
	KEPT = 96,
	OF_WORKER = 16, /* for each worker: its loop, and its RDMA devices */
	SETUPS_SHARE =
		5, /* connections in set-up may take at most 1/SETUPS_SHARE of the descriptors */
};

uint32_t descriptors_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= UINT32_MAX)
		return 0;
	return (uint32_t)limit.rlim_cur;
}

uint32_t descriptors_for_workers(uint32_t limit)
{
	return limit > KEPT ? limit - KEPT : limit;
}

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

bool descriptors_bound(uint32_t limit, const struct descriptors_need *need, uint32_t *sessions,
		       uint32_t *setups)
{
	uint64_t fixed = KEPT + need->listeners +
			 (uint64_t)need->workers * (OF_WORKER + need->hosts + need->instances);
	uint64_t room = limit > fixed ? limit - fixed : 0;

	if (limit == 0 || need->legs == 0)
		return true;
	*setups = least(room / SETUPS_SHARE / (need->instances ? need->instances : 1), *setups);
	*sessions = least((room - (uint64_t)*setups * need->instances) / need->legs, *sessions);
	return *sessions > 0 && *setups > 0;
}
