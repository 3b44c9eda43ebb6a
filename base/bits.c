/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/bits.h"

#include <string.h>

#include "base/mem.h"

static size_t strings_for(size_t n)
{
	return n / 64 + (n % 64 != 0);
}

int bits_init(struct bits *b, size_t n)
{
	size_t words = 0, at = n;

	*b = (struct bits){.n = n};
	do {
		at = strings_for(at);
		words += at;
		b->levels++;
	} while (at > 1);
	b->level[0] = mem_zalloc((words ? words : 1) * sizeof(uint64_t));
	if (!b->level[0])
		return ERR_NOMEM;
	at = n;
	for (unsigned i = 1; i < b->levels; i++) {
		at = strings_for(at);
		b->level[i] = b->level[i - 1] + at;
	}
	return 0;
}

void bits_fini(struct bits *b)
{
	mem_free(b->level[0]);
	*b = (struct bits){0};
}

void bits_zero(struct bits *b)
{
	size_t at = b->n;

	for (unsigned i = 0; i < b->levels; i++) {
		at = strings_for(at);
		memset(b->level[i], 0, at * sizeof(uint64_t));
	}
}

/* From a bit that is set in @level down to the least member below it. */
static size_t descend(const struct bits *b, unsigned level, size_t at)
{
	while (level-- > 0)
		at = at * 64 + (unsigned)__builtin_ctzll(b->level[level][at]);
	return at;
}

size_t bits_next(const struct bits *b, size_t from)
{
	size_t n = b->n;

	for (unsigned level = 0; level < b->levels && from < n; level++) {
		uint64_t word = b->level[level][from / 64] & ~UINT64_C(0) << from % 64;

		if (word)
			return descend(b, level, from / 64 * 64 + (unsigned)__builtin_ctzll(word));
		from = from / 64 + 1;
		n = strings_for(n);
	}
	return BITS_END;
}
