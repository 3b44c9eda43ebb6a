/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/fpdu.h"

#include <isa-l/crc.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* CRC_SHORT: up to this many octets the CPU's CRC instruction is as fast as ISA-L's function, which
 * is called through a pointer and has a set-up cost. Headers and small RPCs are shorter. */
enum { CRC_SHORT = 256, CRC_STRIDE = 32 };

uint32_t fpdu_max(uint32_t emss)
{
	if (emss > FPDU_MAX)
		emss = FPDU_MAX;
	if (emss < FPDU_MIN_MAX)
		emss = FPDU_MIN_MAX;
	return emss & ~3u;
}

/*
 * Entry i is x^(8 * 2^i - 33) modulo the polynomial of the CRC. It shifts a CRC by 2^i zero octets:
 * multiply the CRC by the entry without carries, and compute the CRC of the eight octets of the
 * product. The 33 is subtracted because the CRC of eight octets multiplies by x^32, and
 * the product of two reflected polynomials has one factor x too many.
 */
static const uint32_t powers[32] = {
	0xbf818109, 0x780d5a4d, 0x05ec76f1, 0x00000001, 0x493c7d27, 0xba4fc28e, 0x9e4addf8,
	0x0d3b6092, 0xb9e02b86, 0xdd7e3b0c, 0x170076fa, 0xa51b6135, 0x82f89c77, 0x54a86326,
	0x1dc403cc, 0x5ae703ab, 0xc5013a36, 0xac2ac6dd, 0x9b4615a9, 0x688d1c61, 0xf6af14e6,
	0xb6ffe386, 0xb717425b, 0x478b0d30, 0x54cc62e5, 0x7b2102ee, 0x8a99adef, 0xa7568c8f,
	0xd610d67e, 0x6b086b3f, 0xd94f3c0b, 0xbf818109,
};

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

static bool has_clmul(void)
{
	return has_crc32() && __builtin_cpu_supports("pclmul");
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t shift_fast(uint32_t crc, uint32_t len)
{
	for (; len; len &= len - 1) {
		__m128i a = _mm_cvtsi32_si128((int)crc),
			b = _mm_cvtsi32_si128((int)powers[__builtin_ctz(len)]);

		crc = (uint32_t)_mm_crc32_u64(
			0, (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0)));
	}
	return crc;
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
 * instruction that writes the lower half of a register waits for the CRC that was computed in it.
 * Small RPCs then take noticeably longer.
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

static bool has_clmul(void)
{
	return false;
}

static uint32_t shift_fast(uint32_t crc, uint32_t len)
{
	(void)len;
	return crc;
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

static uint64_t multiply(uint32_t a, uint32_t b)
{
	uint64_t product = 0;

	for (int i = 0; i < 32; i++)
		product ^= (b >> i & 1) ? (uint64_t)a << i : 0;
	return product;
}

uint32_t fpdu_crc_shift(uint32_t crc, uint32_t len)
{
	if (has_clmul())
		return shift_fast(crc, len);
	for (; len; len &= len - 1) {
		uint64_t product = multiply(crc, powers[__builtin_ctz(len)]);

		crc = fpdu_crc(0, &product, sizeof(product));
	}
	return crc;
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
