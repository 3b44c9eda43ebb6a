/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include "base/mem.h"
#include "fabric/iwarp/iwarp.h"
#include "tests/poll_loop.h"

/* The contract over fabric/iwarp: two instances on one loop, sockets on loopback. */

enum { WAIT_MS = 2 };

static void start_on(struct contract *t, const char *host, bool crc)
{
	struct poll_loop *loop = mem_zalloc(sizeof(*loop));
	struct iwarp_config cfg;
	int err;

	assert_non_null(loop);
	t->impl = loop;
	assert_int_equal(poll_loop_init(loop), 0);
	iwarp_config_default(&cfg);
	cfg.crc = crc;
	for (int i = 0; i < 2; i++) {
		t->fabric[i] = iwarp_new(&cfg, &loop->loop);
		assert_non_null(t->fabric[i]);
	}
	assert_int_equal(fabric_addr_parse(host, 0, &t->addr), 0);
	t->listener = iwarp_listen(&t->addr, &err);
	assert_non_null(t->listener);
	iwarp_listener_addr(t->listener, &t->addr);
}

static void start(struct contract *t)
{
	start_on(t, "127.0.0.1", true);
}

static void start_v6(struct contract *t)
{
	start_on(t, "::1", false);
}

static void stop(struct contract *t)
{
	fabric_free(t->fabric[0]);
	fabric_free(t->fabric[1]);
	iwarp_listener_free(t->listener);
	poll_loop_fini(t->impl);
	mem_free(t->impl);
}

static int step(struct contract *t)
{
	nsec_t due = nsec_min(fabric_deadline(t->fabric[0]), fabric_deadline(t->fabric[1]));
	int timeout = poll_loop_timeout(due, WAIT_MS);
	int n = poll_loop_step(t->impl, timeout);

	for (int i = 0; i < 2; i++)
		fabric_tick(t->fabric[i], poll_loop_now());
	return n > 0 || timeout == 0;
}

static const struct contract_provider iwarp = {
	.name = "iwarp, IPv4, CRC", .start = start, .stop = stop, .step = step, .patience = 20};
static const struct contract_provider iwarp_v6 = {.name = "iwarp, IPv6, no CRC",
						  .start = start_v6,
						  .stop = stop,
						  .step = step,
						  .patience = 20};

const struct contract_provider *const contract_providers[] = {&iwarp, &iwarp_v6, NULL};
