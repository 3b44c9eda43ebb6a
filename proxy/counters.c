/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/counters.h"

void proxy_counters_add(struct proxy_counters *sum, const struct proxy_counters *more)
{
	const uint64_t *from = (const uint64_t *)more;
	uint64_t *to = (uint64_t *)sum;

	_Static_assert(sizeof(*sum) % sizeof(*to) == 0, "nothing but uint64_t");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

const char *proxy_refusal_name(enum proxy_refusal refusal)
{
	static const char *const names[PROXY_REFUSALS] = {
		[PROXY_REFUSED_RATE] = "setup_rate",
		[PROXY_REFUSED_CLIENT] = "sessions_of_client",
		[PROXY_REFUSED_SESSIONS] = "sessions",
		[PROXY_REFUSED_MEMORY] = "memory",
		[PROXY_REFUSED_ADDRESS] = "address",
		[PROXY_REFUSED_NAME] = "name",
		[PROXY_REFUSED_HOSTAUTH] = "hostauth",
		[PROXY_REFUSED_SOURCE] = "source",
		[PROXY_REFUSED_LOOP] = "loop",
		[PROXY_REFUSED_DRAINING] = "draining",
		[PROXY_REFUSED_MACHINE] = "machine",
		[PROXY_REFUSED_KILLED] = "killed",
		[PROXY_REFUSED_UPSTREAM] = "upstream",
	};

	return names[refusal];
}
