/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/on_loop.h"

#include "base/mem.h"
#include "tests/poll_loop.h"

enum { WAIT_MS = 2, SETUP_TIMEOUT_MS = 10000 };

struct on_loop {
	struct poll_loop loop;
	enum provider_kind kind;
};

void on_loop_start(struct contract *t, enum provider_kind kind, const char *host, bool crc)
{
	const struct provider_config cfg = {
		.kind = kind, .crc = crc, .setup_timeout_ms = SETUP_TIMEOUT_MS};

	on_loop_start_as(t, &cfg, host);
}

void on_loop_start_as(struct contract *t, const struct provider_config *cfg, const char *host)
{
	struct on_loop *on = mem_zalloc(sizeof(*on));
	enum provider_kind kind = cfg->kind;
	int err;

	assert_non_null(on);
	t->impl = on;
	on->kind = kind;
	assert_int_equal(poll_loop_init(&on->loop), 0);
	for (int i = 0; i < 2; i++) {
		t->fabric[i] = provider_new(cfg, &on->loop.loop);
		assert_non_null(t->fabric[i]);
	}
	assert_int_equal(fabric_addr_parse(host, 0, &t->addr), 0);
	t->listener = provider_listen(kind, &t->addr, &err);
	assert_non_null(t->listener);
	provider_listener_addr(kind, t->listener, &t->addr);
}

void on_loop_stop(struct contract *t)
{
	struct on_loop *on = t->impl;

	fabric_free(t->fabric[0]);
	fabric_free(t->fabric[1]);
	provider_listener_free(on->kind, t->listener);
	poll_loop_fini(&on->loop);
	mem_free(on);
}

int on_loop_step(struct contract *t)
{
	struct on_loop *on = t->impl;
	nsec_t due = NSEC_NEVER;
	int timeout, n;

	/* An instance that is not polled is not waited for. */
	for (int i = 0; i < 2; i++)
		if (!t->deaf[i])
			due = nsec_min(due, fabric_deadline(t->fabric[i]));
	timeout = poll_loop_timeout(due, WAIT_MS);
	n = poll_loop_step(&on->loop, timeout);

	for (int i = 0; i < 2; i++)
		fabric_tick(t->fabric[i], poll_loop_now());
	return n > 0 || timeout == 0;
}
