/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/timer.h"
#include "tests/rng.h"

enum { MANY = 10000, ALL = 1 << 30 };

/** struct item - a timer, and what it should do. */
struct item {
	struct timer timer;
	nsec_t at;     /* due then, as the test has it */
	unsigned seen; /* times fired */
};

static struct timer_queue q;
static struct item items[MANY];
static struct item *fired[MANY];
static unsigned nfired;

static void note(struct timer *t, nsec_t now)
{
	struct item *it = container_of(t, struct item, timer);

	assert_false(timer_is_armed(t));
	assert_true(it->at <= now);
	it->seen++;
	it->at = NSEC_NEVER;
	fired[nfired++ % MANY] = it;
}

static int begin(void **state)
{
	(void)state;
	timer_queue_init(&q);
	memset(items, 0, sizeof(items));
	nfired = 0;
	for (unsigned i = 0; i < MANY; i++) {
		timer_init(&items[i].timer, note);
		items[i].at = NSEC_NEVER;
	}
	return 0;
}

static void arm(unsigned i, nsec_t at)
{
	items[i].at = at;
	timer_arm(&q, &items[i].timer, at);
}

/* --- examples --- */

static void without_timers_nothing_is_due(void **state)
{
	(void)state;
	assert_true(timer_next(&q) == NSEC_NEVER);
	assert_false(timer_run(&q, NSEC_NEVER, ALL));
	timer_disarm(&q, &items[0].timer);
	timer_arm(&q, &items[0].timer, NSEC_NEVER);
	assert_false(timer_is_armed(&items[0].timer));
	assert_true(timer_next(&q) == NSEC_NEVER);
}

static void fires_at_its_time_and_once(void **state)
{
	(void)state;
	arm(0, 100);
	assert_int_equal(timer_next(&q), 100);
	timer_run(&q, 99, ALL);
	assert_int_equal(nfired, 0);
	timer_run(&q, 100, ALL);
	assert_int_equal(nfired, 1);
	timer_run(&q, 1000, ALL);
	assert_int_equal(nfired, 1);
}

static void timers_of_one_time_fire_in_the_order_armed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		arm(i, 5);
	timer_run(&q, 5, ALL);
	assert_int_equal(nfired, 100);
	for (unsigned i = 0; i < 100; i++)
		assert_ptr_equal(fired[i], &items[i]);
}

static void put_off_it_wakes_early_once_at_most(void **state)
{
	(void)state;
	arm(0, 100);
	for (nsec_t at = 101; at < 1000; at++)
		arm(0, at);
	assert_true(timer_next(&q) <= 999);
	timer_run(&q, timer_next(&q), ALL);
	assert_int_equal(nfired, 0);
	assert_int_equal(timer_next(&q), 999); /* a wake-up for nothing makes progress */
	timer_run(&q, 999, ALL);
	assert_int_equal(nfired, 1);
}

static void armed_for_earlier_it_is_due_earlier(void **state)
{
	(void)state;
	arm(0, 100);
	arm(1, 50);
	arm(0, 10);
	assert_int_equal(timer_next(&q), 10);
	timer_run(&q, 10, ALL);
	assert_int_equal(nfired, 1);
	assert_int_equal(items[0].seen, 1);
}

static void a_run_is_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		arm(i, i);
	assert_true(timer_run(&q, 100, 4));
	assert_int_equal(nfired, 4);
	assert_true(timer_run(&q, 100, 4));
	assert_false(timer_run(&q, 100, 4));
	assert_int_equal(nfired, 10);
	assert_false(timer_run(&q, 100, 0));
}

/* A fire function that disarms and frees other timers, and arms its own timer anew. */
static void disarms_the_next(struct timer *t, nsec_t now)
{
	timer_disarm(&q, &items[1].timer);
	memset(&items[1], 0xff, sizeof(items[1]));
	timer_arm(&q, t, now + 7);
	nfired++;
}

static void a_fire_function_may_do_anything(void **state)
{
	(void)state;
	timer_init(&items[0].timer, disarms_the_next);
	arm(0, 5);
	arm(1, 5);
	arm(2, 6);
	timer_run(&q, 6, ALL);
	assert_int_equal(nfired, 2);
	assert_int_equal(items[2].seen, 1);
	assert_int_equal(timer_next(&q), 13);
}

/* --- properties --- */

static unsigned count_below(const struct timer *t, unsigned depth)
{
	unsigned n = 1;

	assert_true(depth <= 14); /* 2^14 > MANY */
	assert_true(t->key <= t->at);
	for (unsigned i = 0; i < 2; i++) {
		const struct timer *below = t->down[i];

		if (!below)
			continue;
		assert_ptr_equal(below->up, t);
		assert_true(t->key <= below->key);
		n += count_below(below, depth + 1);
	}
	return n;
}

static void heap_is_sound(void)
{
	unsigned n = 0;
	nsec_t least = NSEC_NEVER;

	for (unsigned i = 0; i < MANY; i++) {
		n += items[i].at != NSEC_NEVER;
		least = nsec_min(least, items[i].at);
		assert_true(items[i].timer.at == items[i].at);
	}
	assert_int_equal(q.n, n);
	assert_int_equal(q.first ? count_below(q.first, 0) : 0, n);
	assert_true(timer_next(&q) <= least);
}

/* Any number of timers, armed, put off, given up in any order: each fires at its time, the longest
 * due first, and no call looks at more than the heap is deep, three times over. */
static void behaves_as_a_list_would(void **state)
{
	struct rng r = rng_seeded("timer", 1);
	nsec_t now = 0;

	(void)state;
	for (unsigned op = 0; op < 300000; op++) {
		unsigned i = rng_below(&r, op < 1000 ? 20 : MANY), before = nfired;
		uint64_t steps = q.steps;
		nsec_t last = 0;

		switch (rng_below(&r, 8)) {
		case 0:
			items[i].at = NSEC_NEVER;
			timer_disarm(&q, &items[i].timer);
			break;
		case 1:
			now += rng_below(&r, 20);
			(void)timer_run(&q, now, ALL);
			assert_true(timer_next(&q) > now);
			for (unsigned k = before; k < nfired; k++) {
				assert_true(fired[k % MANY]->timer.key >= last);
				last = fired[k % MANY]->timer.key;
			}
			continue;
		default:
			arm(i, now + rng_below(&r, 20000));
			break;
		}
		assert_true(q.steps - steps <= 3 * 14);
		if (op % 10000 == 0)
			heap_is_sound();
	}
	for (unsigned i = 0; i < MANY; i++)
		assert_true(items[i].at > now); /* what was due has fired */
	assert_true(nfired > MANY);
	heap_is_sound();
}

/* The usual use of a timer: it is put off each time something moves. */
static void putting_off_looks_at_nobody(void **state)
{
	uint64_t steps;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		arm(i, 1000 + i);
	steps = q.steps;
	for (unsigned n = 1; n < 10; n++)
		for (unsigned i = 0; i < MANY; i++)
			arm(i, 1000 + i + n);
	assert_int_equal(q.steps, steps);
	assert_int_equal(mem_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_timers_nothing_is_due, begin),
		cmocka_unit_test_setup(fires_at_its_time_and_once, begin),
		cmocka_unit_test_setup(timers_of_one_time_fire_in_the_order_armed, begin),
		cmocka_unit_test_setup(put_off_it_wakes_early_once_at_most, begin),
		cmocka_unit_test_setup(armed_for_earlier_it_is_due_earlier, begin),
		cmocka_unit_test_setup(a_run_is_bounded, begin),
		cmocka_unit_test_setup(a_fire_function_may_do_anything, begin),
		cmocka_unit_test_setup(behaves_as_a_list_would, begin),
		cmocka_unit_test_setup(putting_off_looks_at_nobody, begin),
	};
	return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
