/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/on_loop.h"

/* The contract over fabric/iwarp: sockets on loopback. */

static void start_v4(struct contract *t)
{
	on_loop_start(t, PROVIDER_IWARP, "127.0.0.1", true);
}

static void start_v6(struct contract *t)
{
	on_loop_start(t, PROVIDER_IWARP, "::1", false);
}

#define IWARP(n, f)                                                                                \
	static const struct contract_provider f##_provider = {.name = n,                           \
							      .start = f,                          \
							      .stop = on_loop_stop,                \
							      .step = on_loop_step,                \
							      .timeout = 20,                       \
							      .exact_pdata = true,                 \
							      .shares = true,                      \
							      .sends_early = true,                 \
							      .hands_back = true,                  \
							      .tells_both = true}

IWARP("iwarp, IPv4, CRC", start_v4);
IWARP("iwarp, IPv6, no CRC", start_v6);

const struct contract_provider *const contract_providers[] = {&start_v4_provider,
							      &start_v6_provider, NULL};
