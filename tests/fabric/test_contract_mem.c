/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include "fabric/mem/mem.h"

/* The contract over fabric/mem. */

static void start_with(struct contract *t, nsec_t min, nsec_t max)
{
	static uint64_t runs;
	struct memnet_config cfg = {.seed = 1000 + runs++,
				    .latency_min = min,
				    .latency_max = max,
				    .shares_receives = t->shares,
				    .shared_least = 8,
				    .shared_most = 100};
	struct memnet *net = memnet_new(&cfg);

	assert_non_null(net);
	t->impl = net;
	assert_int_equal(fabric_addr_parse("10.0.0.1", 20049, &t->addr), 0);
	for (int i = 0; i < 2; i++)
		t->fabric[i] = memnet_fabric(net);
	t->listener = memnet_listen(net, &t->addr);
	assert_non_null(t->listener);
}

static void start(struct contract *t)
{
	start_with(t, 1000, 100000);
}

static void start_instant(struct contract *t)
{
	start_with(t, 0, 0);
}

static void start_wild(struct contract *t)
{
	start_with(t, 0, NSEC_PER_SEC);
}

static void stop(struct contract *t)
{
	struct memnet_usage usage;

	memnet_usage(t->impl, &usage);
	assert_int_equal(usage.conns, 0);
	assert_int_equal(usage.shared, 0);
	fabric_free(t->fabric[0]);
	fabric_free(t->fabric[1]);
	memnet_listener_free(t->listener);
	memnet_free(t->impl);
}

static int step(struct contract *t)
{
	return memnet_step(t->impl, NSEC_NEVER);
}

#define MEM(n, f)                                                                                  \
	static const struct contract_provider f##_provider = {.name = n,                           \
							      .start = f,                          \
							      .stop = stop,                        \
							      .step = step,                        \
							      .timeout = 1,                        \
							      .exact_pdata = true,                 \
							      .tells_both = true,                  \
							      .shares = true}

MEM("mem", start);
MEM("mem, no latency at all", start_instant);
MEM("mem, latencies far apart", start_wild);

const struct contract_provider *const contract_providers[] = {
	&start_provider, &start_instant_provider, &start_wild_provider, NULL};
