/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RTREXT_HEX_H
#define TESTS_RTREXT_HEX_H

#include "tests/cmocka_all.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** hex_octets - hexadecimal with blanks, into @out of @cap octets. Return: number of octets. */
static inline size_t hex_octets(const char *hex, uint8_t *out, size_t cap)
{
	size_t n = 0;

	for (; *hex; hex++) {
		char pair[3] = {hex[0], hex[1], 0};

		if (*hex == ' ')
			continue;
		assert_true(n < cap);
		out[n++] = (uint8_t)strtoul(pair, NULL, 16);
		hex++;
	}
	return n;
}

/** hex_exact - @len octets in a heap block of exactly that size: a sanitizer sees any read
 * beyond. */
static inline uint8_t *hex_exact(const uint8_t *octets, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, octets, len);
	return copy;
}

#endif
