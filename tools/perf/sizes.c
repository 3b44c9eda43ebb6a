/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/options.h"

/*
 * The ladder has every size at which the form of a message changes: tiny sizes, powers of two with
 * their neighbours, every size around the thresholds above which a message does not fit inline
 * (headers take 28 to 150 octets), and some odd large sizes.
 */
enum { TINY = 17, BELOW_THRESHOLD = 160, ABOVE_THRESHOLD = 4 };

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int sort_unique(uint32_t *sizes, int n)
{
	int kept = 0;

	qsort(sizes, (size_t)n, sizeof(*sizes), by_value);
	for (int i = 0; i < n; i++)
		if (kept == 0 || sizes[i] != sizes[kept - 1])
			sizes[kept++] = sizes[i];
	return kept;
}

static int add_around(uint32_t threshold, uint32_t *sizes, int n)
{
	for (uint32_t s = threshold - BELOW_THRESHOLD; s <= threshold + ABOVE_THRESHOLD; s++)
		sizes[n++] = s;
	return n;
}

static int ladder(uint32_t inline_bytes, uint32_t *sizes)
{
	static const uint32_t large[] = {100003, 1000003, 3000017, PERF_MAX_DATA - 3};
	int n = 0;

	for (uint32_t s = 0; s <= TINY; s++)
		sizes[n++] = s;
	for (uint32_t s = 32; s <= PERF_MAX_DATA; s *= 2) {
		sizes[n++] = s - 1;
		sizes[n++] = s;
		if (s < PERF_MAX_DATA)
			sizes[n++] = s + 1;
	}
	for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		sizes[n++] = large[i];
	n = add_around(1024, sizes, n);
	n = add_around(4096, sizes, n);
	if (inline_bytes != 1024 && inline_bytes != 4096)
		n = add_around(inline_bytes, sizes, n);
	return sort_unique(sizes, n);
}

static int parse_one(const char *text, size_t len, uint32_t *size)
{
	char *end;
	unsigned long value;

	if (len == 0 || text[0] < '0' || text[0] > '9')
		return ERR_CONFIG;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || value > PERF_MAX_DATA)
		return ERR_CONFIG;
	if (*end == 'k' || *end == 'K')
		value *= 1024, end++;
	else if (*end == 'm' || *end == 'M')
		value *= 1024 * 1024, end++;
	if (end != text + len || value > PERF_MAX_DATA)
		return ERR_CONFIG;
	*size = (uint32_t)value;
	return 0;
}

int perf_sizes_parse(const char *text, uint32_t inline_bytes, uint32_t *sizes)
{
	int n = 0;

	if (!strcmp(text, "ladder"))
		return ladder(inline_bytes, sizes);
	for (;;) {
		size_t len = strcspn(text, ",");

		if (n == PERF_MAX_SIZES || parse_one(text, len, &sizes[n++]) < 0)
			return ERR_CONFIG;
		if (text[len] == '\0')
			return n;
		text += len + 1;
	}
}
