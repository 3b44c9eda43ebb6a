/* SPDX-License-Identifier: BSD-2-Clause */
/* A large request of one session beside busy sessions of the same client, in virtual time. */
#include "tests/cmocka_all.h"

#include "base/mem.h"
#include "proxy/memory/quota.h"

#define MIB ((size_t)1024 * 1024)

enum { SESSIONS = 33, SMALL = 64 << 10 };

static struct {
	struct buf_arena arena;
	struct quota quota;
	struct quota_group group;
	struct quota_account client;
	struct quota_member m[SESSIONS];
	void *block[SESSIONS];
	size_t wants[SESSIONS]; /* 0: nothing */
	nsec_t until[SESSIONS]; /* holds its block until then */
} s;

static void try_to_take(unsigned i)
{
	struct quota_member *m = &s.m[i];

	if (quota_may_take(m, buf_round(s.wants[i])))
		s.block[i] = quota_take(m, s.wants[i]);
	if (!s.block[i]) {
		quota_wait(m, buf_round(s.wants[i]));
		return;
	}
	quota_served(m);
	s.wants[i] = 0;
	s.until[i] = s.quota.now + (2 + i % 3) * NSEC_PER_MS;
}

static void give_back(unsigned i)
{
	quota_give(&s.m[i], s.block[i]);
	s.block[i] = NULL;
}

/* All sessions but the first make one RPC after the other, without a pause. */
static void step(void)
{
	struct quota_member *m;

	s.quota.now += NSEC_PER_MS;
	quota_turn(&s.quota, s.quota.now);
	for (unsigned i = 1; i < SESSIONS; i++) {
		if (s.block[i] && s.until[i] <= s.quota.now)
			give_back(i);
		if (s.block[i] || s.wants[i])
			continue;
		s.wants[i] = SMALL;
		try_to_take(i);
	}
	while ((m = quota_next(&s.quota, BUF_TRANSACTION)))
		try_to_take((unsigned)(m - s.m));
}

/* One call of the first session hangs. Its next request, a large one, is served all the same. */
static void a_session_that_holds_little_gets_a_large_request(void **state)
{
	void *hangs;

	(void)state;
	assert_int_equal(buf_arena_init(&s.arena, 64 * MIB), 0);
	assert_int_equal(buf_arena_part(&s.arena, (64 * MIB - s.arena.reserve) / 2, 1), 0);
	quota_init(&s.quota, &s.arena);
	quota_group_init(&s.group, &s.quota, BUF_TRANSACTION, 0);
	for (unsigned i = 0; i < SESSIONS; i++) {
		quota_member_init(&s.m[i], &s.group);
		quota_count_for(&s.m[i], &s.client, NULL);
	}
	assert_true(quota_may_take(&s.m[0], 4096));
	hangs = quota_take(&s.m[0], 4096);
	for (unsigned i = 0; i < 1000; i++)
		step();
	s.wants[0] = 4 * MIB;
	try_to_take(0);
	for (unsigned i = 0; i < 2000 && s.wants[0]; i++)
		step();
	assert_int_equal(s.wants[0], 0);
	quota_give(&s.m[0], hangs);
	for (unsigned i = 0; i < SESSIONS; i++) {
		quota_unwait(&s.m[i]);
		if (s.block[i])
			give_back(i);
	}
	quota_group_fini(&s.group);
	buf_arena_fini(&s.arena);
	assert_int_equal(mem_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_that_holds_little_gets_a_large_request),
	};

	return cmocka_run_group_tests_name("quota reserves", tests, NULL, NULL);
}
