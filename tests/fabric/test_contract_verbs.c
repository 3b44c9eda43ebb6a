/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/on_loop.h"

#include <stdlib.h>

#include "base/log.h"

/*
 * The contract over fabric/verbs, on the device that has the address VERBS_ADDRESS: Receives are
 * the connections' own, but shared in the cases of contract_shared.c. A device that cannot reach
 * itself (siw) cannot run it. What can be reached by handles is tried once more without Memory Windows, as on
 * adapters that have none: there two connections have nothing of each other if their domains differ, as
 * those of contract.c do.
 */

static void start(struct contract *t)
{
	on_loop_start(t, PROVIDER_VERBS, getenv("VERBS_ADDRESS"), false);
}

static void start_without_windows(struct contract *t)
{
	on_loop_start_as(t,
			 &(struct provider_config){.kind = PROVIDER_VERBS,
						   .setup_timeout_ms = 10000,
						   .no_windows = true},
			 getenv("VERBS_ADDRESS"));
	assert_false(t->fabric[1]->remote_inv);
}

/* Properties of InfiniBand's connection manager and queue pairs. */
static const struct contract_provider verbs = {.name = "verbs",
					       .start = start,
					       .stop = on_loop_stop,
					       .step = on_loop_step,
					       .timeout = 50,
					       .exact_pdata = false,
					       .tells_both = false,
					       .shares = true};

static const struct contract_provider regions = {.name = "verbs without windows",
						 .start = start_without_windows,
						 .stop = on_loop_stop,
						 .step = on_loop_step,
						 .timeout = 50,
						 .exact_pdata = false,
						 .tells_both = false,
						 .access_alone = true};

const struct contract_provider *const contract_providers[] = {&verbs, &regions, NULL};

/* Before main(): without a device there is nothing to test. */
__attribute__((constructor)) static void look_for_device(void)
{
	char why[PROVIDER_WHY] = "VERBS_ADDRESS is not set to an address of an RDMA device";

	log_set_level(LOG_LEVEL_WARN);
	if (getenv("VERBS_ADDRESS") && provider_check(PROVIDER_VERBS, why) == 0)
		return;
	printf("skipped: %s\n", why);
	exit(0);
}
