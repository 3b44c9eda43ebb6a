/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/fpdu.h"

#include <isa-l/crc.h>
#include <limits.h>
#include <string.h>

uint32_t fpdu_max(uint32_t emss)
{
	if (emss > FPDU_MAX)
		emss = FPDU_MAX;
	if (emss < FPDU_MIN_MAX)
		emss = FPDU_MIN_MAX;
	return emss & ~3u;
}

/* ISA-L neither inverts at the start nor at the end, so a running value continues as it is. */
uint32_t fpdu_crc(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > INT_MAX) {
		crc = crc32_iscsi((unsigned char *)(uintptr_t)p, INT_MAX, crc);
		p += INT_MAX;
		len -= INT_MAX;
	}
	return len ? crc32_iscsi((unsigned char *)(uintptr_t)p, (int)len, crc) : crc;
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
