/* SPDX-License-Identifier: BSD-2-Clause */
/* Many clients of a route take all they may. A session that holds hardly any memory finds room all the same, at once. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "proxy/memory/quota.h"

#define MIB ((size_t)1024 * 1024)

enum { CLIENTS = 40, BLOCKS = 512 };

static struct {
	struct buf_arena arena;
	struct quota quota;
	struct quota_group group;
	struct quota_account clients[CLIENTS], other;
	struct quota_member m[CLIENTS], newcomer;
	void *blocks[CLIENTS][BLOCKS];
	unsigned n[CLIENTS];
	size_t small; /* octets of each of .blocks */
} s;

static void member_init(struct quota_member *m, struct quota_account *client)
{
	quota_member_init(m, &s.group);
	quota_count_for(m, client, NULL);
}

static bool takes_one(unsigned i)
{
	void *block = NULL;

	if (s.n[i] < BLOCKS && quota_may_take(&s.m[i], s.small))
		block = quota_take(&s.m[i], s.small);
	if (block)
		s.blocks[i][s.n[i]++] = block;
	return block;
}

/* Each of @clients clients takes blocks of @small octets in turn, until none gets another. */
static void begin_with(unsigned clients, enum buf_purpose purpose, size_t small)
{
	memset(&s, 0, sizeof(s));
	s.small = small;
	assert_int_equal(buf_arena_init(&s.arena, 64 * MIB), 0);
	assert_int_equal(buf_arena_part(&s.arena, (64 * MIB - s.arena.reserve) / 2, 1), 0);
	quota_init(&s.quota, &s.arena);
	quota_group_init(&s.group, &s.quota, purpose, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		member_init(&s.m[i], &s.clients[i]);
	member_init(&s.newcomer, &s.other);
	for (bool any = true; any;) {
		any = false;
		for (unsigned i = 0; i < clients; i++)
			any |= takes_one(i);
	}
}

static void begin(enum buf_purpose purpose, size_t small)
{
	begin_with(CLIENTS, purpose, small);
}

static void end(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		quota_unwait(&s.m[i]);
		while (s.n[i] > 0)
			quota_give(&s.m[i], s.blocks[i][--s.n[i]]);
	}
	quota_group_fini(&s.group);
	buf_arena_fini(&s.arena);
	assert_int_equal(mem_live(), 0);
}

static void takes_at_once(struct quota_member *m, size_t bytes)
{
	void *block;

	assert_true(quota_may_take(m, bytes));
	block = quota_take(m, bytes);
	assert_non_null(block);
	quota_give(m, block);
}

/* For payload, and for state of RPCs. */
static void a_part_is_kept_for_sessions_that_hold_nothing(void **state)
{
	static const struct {
		enum buf_purpose purpose;
		size_t small, bytes;
	} kinds[] = {{BUF_TRANSACTION, 64 << 10, MIB}, {BUF_TXN_FORWARD, 8 << 10, 8 << 10}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(kinds[i].purpose, kinds[i].small);
		assert_true(s.group.used >= s.group.all / 8 * 7);
		takes_at_once(&s.newcomer, kinds[i].bytes);
		end();
	}
}

/* A session that holds more than hardly any has reserved memory. Meanwhile sessions that hold nothing find room, and
 * others do not. */
static void reservations_of_sessions_that_hold_some_leave_the_kept_part_to_others(void **state)
{
	enum { SMALL = 64 << 10 };
	struct quota_member *m = &s.m[0];

	(void)state;
	begin(BUF_TRANSACTION, SMALL);
	quota_give(m, s.blocks[0][--s.n[0]]);
	assert_true(takes_one(1));
	assert_true(m->used > s.group.little / 4);
	assert_false(quota_may_take(m, SMALL));
	quota_wait(m, SMALL);
	s.quota.now += QUOTA_CLAIM_WAIT;
	quota_turn(&s.quota, s.quota.now);
	quota_give(&s.m[1], s.blocks[1][--s.n[1]]);
	(void)quota_next(&s.quota, BUF_TRANSACTION);
	quota_wait(m, SMALL);
	assert_ptr_equal(s.group.claimer, m);
	s.quota.now += QUOTA_CLAIM / 4 * 3;
	quota_turn(&s.quota, s.quota.now);
	takes_at_once(&s.newcomer, MIB);
	assert_false(quota_may_take(&s.m[2], SMALL));
	end();
}

/* A session whose only call hangs finds room as well. */
static void a_call_that_hangs_does_not_keep_its_session_waiting(void **state)
{
	void *hangs;

	(void)state;
	begin(BUF_TRANSACTION, 64 << 10);
	assert_true(quota_may_take(&s.newcomer, 4096));
	hangs = quota_take(&s.newcomer, 4096);
	assert_non_null(hangs);
	takes_at_once(&s.newcomer, 512 << 10);
	quota_give(&s.newcomer, hangs);
	end();
}

/* One client leaves a ninth of the memory for continued calls to others. */
static void a_client_leaves_a_ninth_of_messages_to_others(void **state)
{
	void *block = NULL;

	(void)state;
	begin_with(1, BUF_REASM_CALL, MIB / 64);
	assert_true(s.clients[0].used >= s.group.all / 4 * 3);
	if (quota_may_take(&s.newcomer, s.group.all / 16))
		block = quota_take(&s.newcomer, s.group.all / 16);
	assert_non_null(block);
	quota_give(&s.newcomer, block);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_kept_for_sessions_that_hold_nothing),
		cmocka_unit_test(
			reservations_of_sessions_that_hold_some_leave_the_kept_part_to_others),
		cmocka_unit_test(a_call_that_hangs_does_not_keep_its_session_waiting),
		cmocka_unit_test(a_client_leaves_a_ninth_of_messages_to_others),
	};

	return cmocka_run_group_tests_name("quota kept", tests, NULL, NULL);
}
