/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

/* Patterns in the memory of a side. */

void fill(struct side *s, size_t off, size_t len, uint64_t key)
{
	struct rng r = {key};

	for (size_t i = 0; i < len; i++)
		s->mem[off + i] = (uint8_t)(i % 8 ? r.state >> i % 8 * 8 : rng_next(&r));
}

void check(const struct side *s, size_t off, size_t len, uint64_t key)
{
	struct rng r = {key};

	for (size_t i = 0; i < len; i++) {
		uint8_t want = (uint8_t)(i % 8 ? r.state >> i % 8 * 8 : rng_next(&r));

		if (s->mem[off + i] != want)
			fail_msg("octet %zu of %zu differs", i, len);
	}
}

void check_byte(const struct side *s, size_t off, size_t len, uint8_t byte)
{
	for (size_t i = 0; i < len; i++)
		if (s->mem[off + i] != byte)
			fail_msg("octet %zu of %zu was touched", i, len);
}

struct segment part(struct segment seg, uint64_t skip, uint32_t len)
{
	return (struct segment){.handle = seg.handle, .offset = seg.offset + skip, .length = len};
}
