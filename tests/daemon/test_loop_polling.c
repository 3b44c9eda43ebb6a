/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a worker busy-polls, and when it blocks: a model of a worker, in virtual time.
 *
 * An event comes some time after the worker began to wait (struct model). A worker that blocks then
 * takes .wake longer. A worker that polls keeps the processor, if there is only one: the event
 * comes later by a part of the poll.
 */
#include "tests/cmocka_all.h"

#include "daemon/loop_polling.h"
#include "tests/rng.h"

#define US ((nsec_t)1000)
#define MOST (250 * US)

struct model {
	nsec_t soon, late; /* when events come */
	unsigned of_late;  /* in a hundred */
	nsec_t wake;
	bool one_processor;
};

struct result {
	unsigned waits, polled;
	nsec_t time;   /* that all waits took */
	nsec_t burned; /* spent polling */
	nsec_t lost;   /* spent on polls that saved nothing */
};

static nsec_t wait_once(const struct model *m, struct rng *rng, nsec_t poll, struct result *r)
{
	nsec_t event = rng_below(rng, 100) < m->of_late ? m->late : m->soon;

	event = event / 8 * 7 + rng_below(rng, (uint32_t)(event / 4)); /* an eighth more or less */
	r->waits++;
	if (!poll)
		return event + m->wake;
	r->polled++;
	if (m->one_processor)
		event += nsec_min(poll, event) / 2;
	r->burned += nsec_min(poll, event);
	if (event < poll)
		return event;
	r->lost += poll;
	return event + m->wake;
}

/* @n waits of @m. */
static struct result play(struct polling *p, const struct model *m, unsigned n)
{
	struct result r = {0};
	struct rng rng = {n};

	for (unsigned i = 0; i < n; i++) {
		nsec_t waited = wait_once(m, &rng, polling_time(p), &r);

		polling_note(p, waited);
		r.time += waited;
	}
	return r;
}

static struct result play_new(const struct model *m)
{
	struct polling p;

	polling_init(&p, MOST);
	return play(&p, m, 100000);
}

static const struct model calm = {.soon = 30 * US, .wake = 16 * US},
			  slow_wakes = {.soon = 60 * US, .wake = 180 * US},
			  one_processor = {.soon = 30 * US, .wake = 5 * US, .one_processor = true},
			  paced_300 = {30 * US, 3300 * US, 50, 16 * US, false},
			  paced_2000 = {30 * US, 450 * US, 50, 16 * US, false},
			  one_client = {25 * US, 200 * US, 50, 16 * US, false},
			  mostly_soon = {30 * US, 3300 * US, 3, 20 * US, false},
			  paced_reads = {30 * US, 3300 * US, 20, 16 * US, false},
			  busy = {.soon = 2 * US, .wake = 100};

static void polls_where_waking_is_slow(void **state)
{
	struct result r = play_new(&calm);

	(void)state;
	assert_true(r.polled > r.waits / 100 * 95);
	assert_true(r.time < (calm.soon + calm.wake) * r.waits / 100 * 70);
	r = play_new(&slow_wakes);
	assert_true(r.polled > r.waits / 100 * 95);
	assert_true(r.time < (slow_wakes.soon + slow_wakes.wake) * r.waits / 100 * 30);
}

/* A poll is not so long that a few late events cost more than the others save. */
static void polls_though_a_few_events_are_late(void **state)
{
	struct result r = play_new(&mostly_soon);

	(void)state;
	assert_true(r.polled > r.waits / 10 * 8);
}

static void blocks_on_the_only_processor(void **state)
{
	struct result r = play_new(&one_processor);

	(void)state;
	assert_true(r.polled < r.waits / 100 * 5);
	assert_true(r.time < (one_processor.soon + one_processor.wake) * r.waits / 100 * 103);
}

/* Paced calls: the reply comes soon, the next call does not. */
static void costs_little_where_events_are_paced(void **state)
{
	struct result r = play_new(&paced_300);

	(void)state;
	assert_true(r.burned < r.time / 100);
	r = play_new(&paced_2000);
	assert_true(r.burned < r.time / 100 * 3);
	/* A whole processor for a fourteenth of the time. */
	r = play_new(&one_client);
	assert_true(r.burned < r.time / 10);
}

/* Most waits of a READ are short, and still a late one costs more than they save. */
static void charges_polls_in_vain(void **state)
{
	struct result r = play_new(&paced_reads);

	(void)state;
	assert_true(r.burned < r.time / 100);
}

static void stops_soon_when_calls_stop(void **state)
{
	static const struct model rare = {.soon = 10000 * US, .wake = 16 * US};
	struct polling p;
	struct result r;

	(void)state;
	polling_init(&p, MOST);
	play(&p, &calm, 10000);
	r = play(&p, &rare, POLLING_BLOCK * POLLING_TRIAL);
	assert_in_range(r.polled, 1, 4 * POLLING_MISSES);
	assert_in_range(r.lost, 1, 3 * POLLING_MISSES * MOST);
}

/* If events are there before a processor can fall asleep, nothing is saved. */
static void blocks_where_polling_saves_nothing(void **state)
{
	struct result r = play_new(&busy);

	(void)state;
	assert_true(r.polled < r.waits / 100 * 5);
}

/* One worker meets each load after each other load. */
static void finds_out_again_when_the_load_changes(void **state)
{
	static const struct model *const loads[] = {&calm,	&one_processor, &slow_wakes,
						    &paced_300, &busy,		&paced_2000};
	static const bool pays[] = {true, false, true, false, false, false};
	enum { LOADS = 6, SETTLING = POLLING_BLOCK * (POLLING_TRIAL + 2) };
	struct polling p;

	(void)state;
	polling_init(&p, MOST);
	for (unsigned i = 0; i < LOADS * LOADS; i++) {
		unsigned to = i % 2 ? i % LOADS : i / LOADS;
		struct result r;

		play(&p, loads[to], SETTLING);
		r = play(&p, loads[to], SETTLING);
		assert_true(pays[to] ? r.polled > r.waits / 10 * 9 : r.polled < r.waits / 10);
	}
}

/* For any load: the waits, and the polls that saved nothing, take at most a tenth longer than the
 * waits of a worker that never polls. */
static void loses_little_whatever_comes(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 2000; seed++) {
		struct rng rng = {seed};
		struct model m = {.soon = (1 + rng_below(&rng, 400)) * US,
				  .late = (1 + rng_below(&rng, 5000)) * US,
				  .of_late = rng_below(&rng, 101),
				  .wake = rng_below(&rng, 300) * US};
		struct polling p, never;
		struct result r, blocked;

		polling_init(&p, MOST);
		polling_init(&never, 0);
		r = play(&p, &m, 5000);
		blocked = play(&never, &m, 5000);
		if (r.time + r.lost > blocked.time / 10 * 11)
			fail_msg("seed %u: %u %% of the time of a worker that never polls", seed,
				 (unsigned)((r.time + r.lost) * 100 / blocked.time));
	}
}

static void none_is_none(void **state)
{
	struct polling p;

	(void)state;
	polling_init(&p, 0);
	assert_int_equal(play(&p, &calm, 10000).polled, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls_where_waking_is_slow),
		cmocka_unit_test(blocks_on_the_only_processor),
		cmocka_unit_test(costs_little_where_events_are_paced),
		cmocka_unit_test(polls_though_a_few_events_are_late),
		cmocka_unit_test(charges_polls_in_vain),
		cmocka_unit_test(stops_soon_when_calls_stop),
		cmocka_unit_test(blocks_where_polling_saves_nothing),
		cmocka_unit_test(finds_out_again_when_the_load_changes),
		cmocka_unit_test(loses_little_whatever_comes),
		cmocka_unit_test(none_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
