/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_WIRE_H
#define FABRIC_IWARP_WIRE_H

#include <stdint.h>
#include <string.h>

/** Big-endian loads and stores of the codecs; no value leaves a codec in wire order. */
static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)((uint16_t)(p[0] << 8) | p[1]);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t wire_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void wire_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void wire_put32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void wire_put64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "wire.h is written for little-endian");

#endif
