/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/fpdu.h"

#include <isa-l/crc.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Up to this length the CPU's CRC instruction is as fast as ISA-L's function, which is called
 * through a pointer and has a set-up cost. Headers and small RPCs are shorter. */
enum { CRC_SHORT = 256, CRC_STRIDE = 32 };

uint32_t fpdu_max(uint32_t emss)
{
	if (emss > FPDU_MAX)
		emss = FPDU_MAX;
	if (emss < FPDU_MIN_MAX)
		emss = FPDU_MIN_MAX;
	return emss & ~3u;
}

#if defined(__x86_64__)
static bool has_crc32(void)
{
	return __builtin_cpu_supports("sse4.2");
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc_short(uint32_t crc, const uint8_t *p,
							    size_t len)
{
	const uint8_t *strings_end = p + len / sizeof(uint64_t) * sizeof(uint64_t);
	uint64_t crc64 = crc;
	uint32_t half;

	for (; strings_end - p >= CRC_STRIDE; p += CRC_STRIDE) {
		crc64 = _mm_crc32_u64(_mm_crc32_u64(crc64, word_at(p)), word_at(p + 8));
		crc64 = _mm_crc32_u64(_mm_crc32_u64(crc64, word_at(p + 16)), word_at(p + 24));
	}
	for (; p < strings_end; p += sizeof(uint64_t))
		crc64 = _mm_crc32_u64(crc64, word_at(p));
	crc = (uint32_t)crc64;
	if (len & sizeof(half)) {
		memcpy(&half, p, sizeof(half));
		crc = _mm_crc32_u32(crc, half);
		p += sizeof(half);
	}
	for (len &= sizeof(half) - 1; len > 0; len--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}

/*
 * ISA-L leaves the upper halves of vector registers in use. Until they are cleared, every
 * instruction that writes the lower half of one waits for the CRC that was computed in it: a sixth
 * of the time of an ECHO of 512 octets.
 */
__attribute__((target("avx"))) static void clear_uppers(void)
{
	_mm256_zeroupper();
}

static bool has_uppers(void)
{
	return __builtin_cpu_supports("avx");
}
#else
static bool has_crc32(void)
{
	return false;
}

static uint32_t crc_short(uint32_t crc, const uint8_t *p, size_t len)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)p, (int)len, crc);
}

static bool has_uppers(void)
{
	return false;
}

static void clear_uppers(void)
{
}
#endif

/* The CRC functions do not invert at the start or at the end, so a running value continues as it
 * is. (Not inline, so that short pieces need not save registers.) */
static __attribute__((noinline)) uint32_t crc_long(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len > INT_MAX) {
		crc = crc32_iscsi((unsigned char *)(uintptr_t)p, INT_MAX, crc);
		p += INT_MAX;
		len -= INT_MAX;
	}
	if (len)
		crc = crc32_iscsi((unsigned char *)(uintptr_t)p, (int)len, crc);
	if (has_uppers())
		clear_uppers();
	return crc;
}

uint32_t fpdu_crc(uint32_t crc, const void *data, size_t len)
{
	return len <= CRC_SHORT && has_crc32() ? crc_short(crc, data, len)
					       : crc_long(crc, data, len);
}

void fpdu_crc_put(uint8_t *out, uint32_t crc)
{
	crc = ~crc;
	memcpy(out, &crc, sizeof(crc)); /* wire.h asserts little-endian */
}

uint32_t fpdu_crc_get(const uint8_t *in)
{
	uint32_t crc;

	memcpy(&crc, in, sizeof(crc));
	return ~crc;
}
