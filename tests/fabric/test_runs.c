/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "fabric/runs.h"
#include "tests/rng.h"

/* Octets of an exposure that were written, in any order. */

enum { LEN = 200 };

/** struct model - octet by octet: written, or blanked. */
struct model {
	struct fabric_runs w;
	bool covered[LEN];
	unsigned blanked; /* octets, ever */
};

static void write_at(struct model *m, uint32_t from, uint32_t len)
{
	struct fabric_run gap;
	bool blank = fabric_runs_add(&m->w, from, len, &gap);

	memset(m->covered + from, true, len);
	if (!blank)
		return;
	assert_true(gap.from < gap.end && gap.end <= fabric_runs_reach(&m->w));
	for (uint32_t i = gap.from; i < gap.end; i++) {
		assert_false(m->covered[i]);
		m->covered[i] = true;
		m->blanked++;
	}
}

static void agrees(const struct model *m)
{
	uint32_t start = 0, reach = 0;

	while (start < LEN && m->covered[start])
		start++;
	for (uint32_t i = 0; i < LEN; i++)
		if (m->covered[i])
			reach = i + 1;
	assert_int_equal(fabric_runs_start(&m->w), start);
	assert_int_equal(fabric_runs_reach(&m->w), reach);
	assert_true(m->w.n <= FABRIC_RUNS);
	for (uint32_t i = 0; i < m->w.n; i++) {
		assert_true(m->w.run[i].from < m->w.run[i].end);
		assert_true(i == 0 || m->w.run[i - 1].end < m->w.run[i].from);
	}
}

static void begins_with_nothing(void **state)
{
	struct model m = {0};

	(void)state;
	agrees(&m);
	write_at(&m, 0, LEN);
	agrees(&m);
	assert_int_equal(m.w.n, 1);
}

/* Forwards, backwards, from the middle to both sides: no gap is ever filled with zeros. */
static void orders_that_cost_nothing(void **state)
{
	struct model up = {0}, down = {0}, out = {0};

	(void)state;
	for (uint32_t i = 0; i < LEN; i += 10) {
		write_at(&up, i, 10);
		write_at(&down, LEN - 10 - i, 10);
		write_at(&out, i / 10 % 2 ? LEN / 2 - 10 - i / 20 * 10 : LEN / 2 + i / 20 * 10, 10);
		agrees(&up);
		agrees(&down);
		agrees(&out);
	}
	assert_int_equal(fabric_runs_start(&up.w), LEN);
	assert_int_equal(fabric_runs_start(&down.w), LEN);
	assert_int_equal(fabric_runs_start(&out.w), LEN);
	assert_int_equal(up.blanked + down.blanked + out.blanked, 0);
}

/* One gap too many: the smallest goes, wherever it is, and no other. */
static void the_smallest_gap_goes(void **state)
{
	static const uint32_t at[FABRIC_RUNS + 1] = {10, 40, 60, 65, 100};

	(void)state;
	for (unsigned last = 0; last <= FABRIC_RUNS; last++) {
		struct model m = {0};

		for (unsigned i = 0; i <= FABRIC_RUNS; i++)
			if (i != last)
				write_at(&m, at[i], 2);
		assert_int_equal(m.blanked, 0);
		write_at(&m, at[last], 2);
		assert_int_equal(m.blanked, 3); /* 62 to 65 */
		agrees(&m);
		assert_int_equal(fabric_runs_start(&m.w), 0);
		write_at(&m, 0, 10);
		assert_int_equal(fabric_runs_start(&m.w), 12);
	}
}

static void any_order_agrees_with_a_plain_model(void **state)
{
	struct rng rng = rng_seeded("runs", 5);

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct model m = {0};
		unsigned writes = 1 + rng_below(&rng, 30);
		uint32_t most = 1 + rng_below(&rng, round % 2 ? LEN : 12);

		for (unsigned i = 0; i < writes; i++) {
			uint32_t from = rng_below(&rng, LEN);
			uint32_t len = 1 + rng_below(&rng, most);

			write_at(&m, from, len < LEN - from ? len : LEN - from);
			agrees(&m);
		}
		assert_true(m.blanked < LEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_with_nothing),
		cmocka_unit_test(orders_that_cost_nothing),
		cmocka_unit_test(the_smallest_gap_goes),
		cmocka_unit_test(any_order_agrees_with_a_plain_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
