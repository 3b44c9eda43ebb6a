/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log_ring.h"
#include "tests/rng.h"

/* Octets leave as they entered, whatever the pieces, over many times the ring's length. */
static void octets_keep_their_order(void **state)
{
	struct log_ring *ring = calloc(1, sizeof(*ring));
	struct rng rng = rng_seeded("log_ring", 1);
	size_t put = 0, got = 0;
	char line[1000];

	(void)state;
	assert_non_null(ring);
	while (got < 5u * LOG_RING_BYTES) {
		size_t len = 1 + rng_below(&rng, sizeof(line));
		const char *text;

		while (log_ring_fits(ring, len, false)) {
			for (size_t i = 0; i < len; i++)
				line[i] = (char)((put + i) % 251);
			log_ring_put(ring, line, len);
			put += len;
		}
		assert_true(log_ring_used(ring) + len > LOG_RING_BYTES - LOG_RING_SPARE);
		for (size_t left = rng_below(&rng, LOG_RING_BYTES); left > 0;) {
			size_t n = log_ring_peek(ring, &text);

			if (n == 0)
				break;
			n = n < left ? n : left;
			for (size_t i = 0; i < n; i++)
				if (text[i] != (char)((got + i) % 251))
					fail_msg("octet %zu", got + i);
			log_ring_drop(ring, n);
			got += n;
			left -= n;
		}
		assert_int_equal(log_ring_used(ring), put - got);
	}
	free(ring);
}

static void the_spare_part_is_for_what_is_urgent(void **state)
{
	struct log_ring *ring = calloc(1, sizeof(*ring));
	char octets[LOG_RING_SPARE] = {0};

	(void)state;
	assert_non_null(ring);
	while (log_ring_fits(ring, sizeof(octets), false))
		log_ring_put(ring, octets, sizeof(octets));
	assert_int_equal(log_ring_used(ring), LOG_RING_BYTES - LOG_RING_SPARE);
	assert_false(log_ring_fits(ring, 1, false));
	assert_true(log_ring_fits(ring, sizeof(octets), true));
	log_ring_put(ring, octets, sizeof(octets));
	assert_false(log_ring_fits(ring, 1, true));
	free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_keep_their_order),
		cmocka_unit_test(the_spare_part_is_for_what_is_urgent),
	};

	return cmocka_run_group_tests_name("log_ring", tests, NULL, NULL);
}
