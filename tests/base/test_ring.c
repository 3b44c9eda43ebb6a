/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "base/ring.h"

enum { SMALL = 64, RECORDS = 20000, LONGEST = 200 };

static struct ring r;

static bool put(const void *data, size_t len)
{
	struct view whole = view_of(data, len);

	return ring_put(&r, &whole, 1);
}

/* A record leaves as it entered, wherever it is in the ring, and in however many pieces it was
 * put. */
static void records_come_in_order(void **state)
{
	char got[SMALL];

	(void)state;
	assert_int_equal(ring_init(&r, SMALL), 0);
	assert_int_equal(ring_next(&r), 0);
	for (unsigned i = 0; i < 500; i++) {
		struct view two[] = {view_of("first ", 6), view_of(NULL, 0),
				     view_of(&i, sizeof(i))};

		assert_true(ring_put(&r, two, 3));
		assert_true(put("second", 6 - i % 3));
		assert_int_equal(ring_next(&r), 6 + sizeof(i));
		(void)ring_take(&r, got, sizeof(got));
		assert_memory_equal(got, "first ", 6);
		assert_memory_equal(got + 6, &i, sizeof(i));
		assert_int_equal(ring_next(&r), 6 - i % 3);
		(void)ring_take(&r, got, sizeof(got));
		assert_memory_equal(got, "second", 6 - i % 3);
		assert_int_equal(ring_next(&r), 0);
	}
	assert_int_equal(ring_lost(&r), 0);
	ring_fini(&r);
}

static void what_does_not_fit_is_counted(void **state)
{
	char octets[SMALL] = {0}, got[SMALL];

	(void)state;
	assert_int_equal(ring_init(&r, SMALL), 0);
	assert_false(put(octets, SMALL));
	assert_true(put(octets, SMALL - sizeof(uint32_t))); /* all of it */
	assert_false(put(octets, 1));
	assert_int_equal(ring_lost(&r), 2);
	assert_int_equal(ring_next(&r), SMALL - sizeof(uint32_t));
	assert_int_equal(ring_take(&r, got, 5), 5); /* the rest goes with it */
	assert_true(put(octets, 1));
	assert_int_equal(ring_lost(&r), 2);
	ring_fini(&r);
	mem_fail_at(1);
	assert_int_equal(ring_init(&r, SMALL), ERR_NOMEM);
	mem_fail_at(0);
	ring_fini(&r);
}

static void *write_all(void *arg)
{
	unsigned char record[LONGEST];

	(void)arg;
	for (unsigned i = 0; i < RECORDS;) {
		size_t len = sizeof(i) + i % (LONGEST - sizeof(i));

		memset(record, (int)i, sizeof(record));
		memcpy(record, &i, sizeof(i));
		if (put(record, len))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

/* Two threads: each record is whole, none is missing. */
static void one_writes_another_reads(void **state)
{
	unsigned char got[LONGEST];
	pthread_t writer;

	(void)state;
	assert_int_equal(ring_init(&r, 1024), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_all, NULL), 0);
	for (unsigned i = 0; i < RECORDS;) {
		size_t len = ring_next(&r);

		if (!len) {
			sched_yield();
			continue;
		}
		assert_int_equal(len, sizeof(i) + i % (LONGEST - sizeof(i)));
		(void)ring_take(&r, got, sizeof(got));
		assert_memory_equal(got, &i, sizeof(i));
		for (size_t at = sizeof(i); at < len; at++)
			assert_int_equal(got[at], (unsigned char)i);
		i++;
	}
	pthread_join(writer, NULL);
	assert_int_equal(ring_next(&r), 0);
	ring_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(one_writes_another_reads),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
