/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "fabric/verbs/verbs.h"
#include "tests/poll_loop.h"

/*
 * The contract over fabric/verbs: two instances on one loop, both on the device that has the
 * address VERBS_ADDRESS. A device that cannot reach itself (siw) cannot run it.
 */

enum { WAIT_MS = 2 };

static void start(struct contract *t)
{
	struct poll_loop *loop = mem_zalloc(sizeof(*loop));
	struct verbs_config cfg;
	int err;

	assert_non_null(loop);
	t->impl = loop;
	assert_int_equal(poll_loop_init(loop), 0);
	verbs_config_default(&cfg);
	for (int i = 0; i < 2; i++) {
		t->fabric[i] = verbs_new(&cfg, &loop->loop);
		assert_non_null(t->fabric[i]);
	}
	assert_int_equal(fabric_addr_parse(getenv("VERBS_ADDRESS"), 0, &t->addr), 0);
	t->listener = verbs_listen(&t->addr, &err);
	assert_non_null(t->listener);
	verbs_listener_addr(t->listener, &t->addr);
}

static void stop(struct contract *t)
{
	fabric_free(t->fabric[0]);
	fabric_free(t->fabric[1]);
	verbs_listener_free(t->listener);
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

static const struct contract_provider verbs = {
	.name = "verbs", .start = start, .stop = stop, .step = step, .patience = 50, .ib = true};

const struct contract_provider *const contract_providers[] = {&verbs, NULL};

/* Before main(): without a device there is nothing to test. */
__attribute__((constructor)) static void look_for_device(void)
{
	char why[VERBS_WHY] = "VERBS_ADDRESS is not set to an address of an RDMA device";

	log_set_level(LOG_LEVEL_WARN);
	if (getenv("VERBS_ADDRESS") && verbs_check(why) == 0)
		return;
	printf("skipped: %s\n", why);
	exit(0);
}
