/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "fabric/window.h"
#include "tests/rng.h"

/* The memory behind a stream. */

enum { BYTES = 1000, ENDLESS = 1 << 30 };

static uint8_t memory[BYTES];

/** struct model - octets that were reported and not given back, one by one. */
struct model {
	struct fabric_window w;
	struct fabric_runs written;
	bool taken[BYTES]; /* octets of a piece, reported or not, or stored */
	uint32_t reported; /* where the octets reported end */
	struct fabric_event held[FABRIC_STREAM_PIECES];
	unsigned nheld;
};

static void model_init(struct model *m, uint32_t len)
{
	*m = (struct model){.nheld = 0};
	fabric_window_init(&m->w, memory, BYTES, len);
}

static void take(struct model *m, const uint8_t *to, uint32_t offset, uint32_t len)
{
	assert_true(to >= memory && to + len <= memory + BYTES);
	for (uint32_t i = 0; i < len; i++) {
		bool *taken = &m->taken[to - memory + i];

		assert_false(*taken);
		*taken = true;
		memory[to - memory + i] = (uint8_t)((offset + i) * 7);
	}
}

static void window_report(struct model *m)
{
	struct fabric_event ev, *last = &m->held[FABRIC_STREAM_PIECES - 1];

	fabric_window_report(&m->w, &m->written, &ev);
	for (uint32_t i = 0; i < ev.len; i++)
		assert_int_equal(ev.at[i], (uint8_t)((ev.offset + i) * 7));
	m->reported = ev.offset + ev.len;
	if (m->nheld < FABRIC_STREAM_PIECES) {
		m->held[m->nheld++] = ev;
		return;
	}
	assert_ptr_equal(ev.at, last->at + last->len);
	assert_int_equal(ev.offset, last->offset + last->len);
	last->len += ev.len;
}

static void back(struct model *m)
{
	const struct fabric_event first = m->held[0];

	for (uint32_t i = 0; i < first.len; i++) {
		assert_true(m->taken[first.at - memory + i]);
		m->taken[first.at - memory + i] = false;
	}
	memmove(m->held, m->held + 1, --m->nheld * sizeof(first));
	fabric_window_back(&m->w, first.len);
}

/* Place a segment that may be stored. Return: whether there was room. */
static bool put_any(struct model *m, uint32_t offset, uint32_t len)
{
	uint8_t *to = fabric_window_place(&m->w, offset, len);

	if (!to)
		return false;
	take(m, to, offset, len);
	(void)!fabric_window_placed(&m->w, &m->written, offset, len);
	return true;
}

/* Return: whether there was room. */
static bool put(struct model *m, uint32_t offset, uint32_t len)
{
	uint8_t *to = fabric_window_place(&m->w, offset, len);
	bool begins = m->w.piece.len == 0;

	if (!to)
		return false;
	take(m, to, offset, len);
	assert_int_equal(fabric_window_placed(&m->w, &m->written, offset, len), begins);
	return true;
}

/* The segment is stored: it goes to its own place, and is not to be reported. */
static void keep(struct model *m, uint32_t offset, uint32_t len)
{
	uint8_t *to = fabric_window_place(&m->w, offset, len);

	assert_ptr_equal(to, memory + offset);
	take(m, to, offset, len);
	assert_false(fabric_window_placed(&m->w, &m->written, offset, len));
	assert_int_equal(m->w.piece.len, 0);
}

static void segments_become_one_piece(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, ENDLESS);
	assert_true(put(&m, 50, 100));
	assert_true(put(&m, 150, 300));
	assert_false(put(&m, 50, 1)); /* it does not go on there */
	window_report(&m);
	assert_int_equal(m.held[0].offset, 50);
	assert_int_equal(m.held[0].len, 400);
	assert_true(put(&m, 50, 1));
}

/* At its end: the next segment goes to the beginning once that is free, and the piece is another. */
static void round_and_round(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, ENDLESS);
	assert_true(put(&m, 0, 600));
	window_report(&m);
	assert_true(put(&m, 600, 300));
	assert_false(put(&m, 900, 200));
	window_report(&m);
	assert_false(put(&m, 900, 200));
	back(&m);
	assert_true(put(&m, 900, 200));
	assert_true(put(&m, 1100, 400));
	assert_false(put(&m, 1500, 1));
	window_report(&m);
	back(&m);
	back(&m);
	assert_int_equal(m.w.used, 0);
	assert_true(put(&m, 0, BYTES)); /* all of it is free */
}

static void from_its_beginning_when_empty(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, ENDLESS);
	for (uint32_t i = 0; i < 20; i++) {
		assert_true(put(&m, i * 100, 100));
		window_report(&m);
		assert_ptr_equal(m.held[0].at, memory);
		back(&m);
	}
	assert_false(put(&m, 0, BYTES + 1));
}

/* A report while a segment is arriving covers the octets before it. If the user has as many pieces as
 * it may have, the segment makes the last of them longer, and other octets have to wait. */
static void reported_in_between(void **state)
{
	struct model m;
	uint8_t *to;

	(void)state;
	model_init(&m, ENDLESS);
	for (uint32_t i = 0; i + 1 < FABRIC_STREAM_PIECES; i++) {
		assert_true(put(&m, 50 * i, 1));
		window_report(&m);
	}
	assert_true(put(&m, 500, 100));
	to = fabric_window_place(&m.w, 600, 100);
	assert_non_null(to);
	assert_int_equal(fabric_window_behind(&m.w, &m.written, 100), memory + BYTES - to - 100);
	window_report(&m);
	assert_int_equal(m.nheld, FABRIC_STREAM_PIECES);
	assert_int_equal(fabric_window_behind(&m.w, &m.written, 100), memory + BYTES - to - 100);
	take(&m, to, 600, 100);
	assert_true(fabric_window_placed(&m.w, &m.written, 600, 100));
	window_report(&m);
	assert_int_equal(m.held[FABRIC_STREAM_PIECES - 1].len, 200);
	assert_false(put(&m, 701, 1));
	assert_true(put(&m, 700, 1));
	window_report(&m);
	back(&m);
	assert_true(put(&m, 800, 1));
}

/* Memory for all octets: a user that gives nothing back keeps no segment waiting. */
static void as_long_as_the_stream(void **state)
{
	struct rng rng = {.state = 17};

	(void)state;
	for (unsigned run = 0; run < 100; run++) {
		uint32_t at = 0, most = 1 + (uint32_t)rng_below(&rng, BYTES / 8);
		unsigned given = (unsigned)rng_below(&rng, 20);
		struct model m;

		model_init(&m, BYTES);
		while (at < BYTES) {
			uint32_t len = 1 + (uint32_t)rng_below(&rng, most);

			len = len < BYTES - at ? len : BYTES - at;
			assert_true(put(&m, at, len));
			at += len;
			if (rng_below(&rng, 3) == 0)
				continue;
			window_report(&m);
			while (m.nheld > 0 && given > 0 && rng_below(&rng, 2)) {
				back(&m);
				given--;
			}
		}
	}
}

/* Octets behind a gap are stored when all before it are reported, and so are those that fill the gap. The user keeps its
 * piece meanwhile. Octets that come again wait for it. */
static void stored_behind_a_gap(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, BYTES);
	assert_true(put(&m, 0, 100));
	window_report(&m);
	back(&m);
	assert_true(put(&m, 100, 100)); /* at the beginning again */
	assert_false(put(&m, 400, 100));
	window_report(&m);
	keep(&m, 400, 100);
	assert_int_equal(fabric_runs_start(&m.written), 200);
	keep(&m, 200, 200);
	keep(&m, 500, 500);
	assert_int_equal(fabric_runs_start(&m.written), BYTES);
	assert_false(put(&m, 150, 10));
	back(&m);
	assert_true(put(&m, 150, 10));
	window_report(&m);
	back(&m);
}

/* Segments that a user of many gaps writes, in any order. The user keeps what it wants. All of them have room once what came
 * before is reported, and all octets are right. */
static void in_any_order(void **state)
{
	struct rng rng = {.state = 23};

	(void)state;
	for (unsigned run = 0; run < 300; run++) {
		enum { SEGMENT = 20, SEGMENTS = BYTES / SEGMENT };
		uint32_t order[SEGMENTS], sorted = (uint32_t)rng_below(&rng, SEGMENTS + 1);
		struct model m;

		memset(memory, 0xaa, sizeof(memory)); /* no octet of the pattern's first ones */
		model_init(&m, BYTES);
		for (uint32_t i = 0; i < SEGMENTS; i++)
			order[i] = i;
		for (uint32_t i = sorted; i < SEGMENTS; i++) {
			uint32_t k = i + (uint32_t)rng_below(&rng, SEGMENTS - i), was = order[i];

			order[i] = order[k];
			order[k] = was;
		}
		for (uint32_t i = 0; i < SEGMENTS; i++) {
			if (!put_any(&m, order[i] * SEGMENT, SEGMENT)) {
				window_report(&m);
				assert_true(put_any(&m, order[i] * SEGMENT, SEGMENT));
			}
			while (m.w.piece.len > 0 && rng_below(&rng, 2))
				window_report(&m);
			while (m.nheld > 0 && rng_below(&rng, 4) == 0)
				back(&m);
		}
		while (m.w.piece.len > 0)
			window_report(&m);
		assert_int_equal(fabric_runs_start(&m.written), BYTES);
		for (uint32_t i = m.reported; i < BYTES; i++)
			assert_int_equal(memory[i], (uint8_t)(i * 7));
	}
}

/* The same where all that was there before comes back meanwhile, round the end or not. */
static void back_in_between(void **state)
{
	(void)state;
	for (uint32_t first = 100; first <= 900; first += 400)
		for (uint32_t len = 50; len <= 100; len += 50) {
			struct model m;
			uint8_t *to;

			model_init(&m, ENDLESS);
			assert_true(put(&m, 0, 100));
			window_report(&m);
			assert_true(put(&m, 100, first - 50));
			window_report(&m);
			back(&m);
			to = fabric_window_place(&m.w, 3000, len);
			assert_non_null(to);
			take(&m, to, 3000, len);
			back(&m);
			assert_true(fabric_window_placed(&m.w, &m.written, 3000, len));
			window_report(&m);
			assert_true(put(&m, 3000 + len, 10));
			window_report(&m);
			back(&m);
			back(&m);
			assert_true(put(&m, 0, BYTES));
		}
}

/* Nobody's octets are ever another's, a window that is empty has room, and none is lost. */
static void at_random(void **state)
{
	struct rng rng = {.state = 41};

	(void)state;
	for (unsigned run = 0; run < 200; run++) {
		uint32_t offset = 0, most = 1 + (uint32_t)rng_below(&rng, BYTES);
		struct model m;

		model_init(&m, ENDLESS);
		for (unsigned i = 0; i < 500; i++) {
			uint32_t len = 1 + (uint32_t)rng_below(&rng, most);
			bool has_room;

			if (rng_below(&rng, 8) == 0)
				offset = (uint32_t)rng_below(&rng, 100000);
			has_room = put(&m, offset, len);
			assert_true(has_room || m.nheld > 0 || m.w.piece.len > 0);
			if (has_room)
				offset += len;
			while (m.w.piece.len > 0 && rng_below(&rng, 3) == 0)
				window_report(&m);
			while (m.nheld > 0 && rng_below(&rng, 3) == 0)
				back(&m);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_become_one_piece),
		cmocka_unit_test(round_and_round),
		cmocka_unit_test(from_its_beginning_when_empty),
		cmocka_unit_test(reported_in_between),
		cmocka_unit_test(as_long_as_the_stream),
		cmocka_unit_test(stored_behind_a_gap),
		cmocka_unit_test(in_any_order),
		cmocka_unit_test(back_in_between),
		cmocka_unit_test(at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
