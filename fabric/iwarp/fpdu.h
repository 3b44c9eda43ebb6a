/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_FPDU_H
#define FABRIC_IWARP_FPDU_H

#include <stddef.h>
#include <stdint.h>

/**
 * fpdu.h - framing of MPA without markers (RFC 5044 section 4):
 *
 *	ULPDU length (2) | ULPDU | pad to a multiple of 4 | CRC32c (4)
 *
 * The CRC covers everything before it. It is sent with the least significant octet first, as in
 * iSCSI. If the connection uses no CRC, the field is zero and ignored.
 */
enum {
	FPDU_LEN_BYTES = 2,
	FPDU_CRC_BYTES = 4,
	FPDU_OVERHEAD = FPDU_LEN_BYTES + FPDU_CRC_BYTES,
	FPDU_TRAILER_MAX = 3 + FPDU_CRC_BYTES,
	FPDU_MAX = 65536,   /* the length field has no room for larger FPDUs */
	FPDU_MIN_MAX = 128, /* RFC 5044 appendix A.3: an EMSS below this is not used */
};

#define FPDU_CRC_INIT 0xffffffffu

/** fpdu_pad - octets of padding after a ULPDU of @ulpdu_len. */
static inline uint32_t fpdu_pad(uint32_t ulpdu_len)
{
	return -(FPDU_LEN_BYTES + ulpdu_len) & 3;
}

/** fpdu_bytes - length of the whole FPDU that carries @ulpdu_len octets. */
static inline uint32_t fpdu_bytes(uint32_t ulpdu_len)
{
	return FPDU_LEN_BYTES + ulpdu_len + fpdu_pad(ulpdu_len) + FPDU_CRC_BYTES;
}

/** fpdu_max - largest FPDU, a multiple of 4, for an effective maximum segment size. */
uint32_t fpdu_max(uint32_t emss);

/** fpdu_crc - CRC32c continued over @len more octets; begin with FPDU_CRC_INIT. */
uint32_t fpdu_crc(uint32_t crc, const void *data, size_t len);

/**
 * fpdu_crc_shift - @crc continued over @len zero octets, without computing over them
 *
 * The CRC of two parts follows from their CRCs. Shift that of the first by the length of the
 * second, and XOR the result with that of the second, begun with 0.
 */
uint32_t fpdu_crc_shift(uint32_t crc, uint32_t len);

/** fpdu_crc_put - the finished @crc as the four octets on the wire. */
void fpdu_crc_put(uint8_t *out, uint32_t crc);

/** fpdu_crc_get - the CRC in the four octets at @in, to be compared with the value of
 * fpdu_crc(). */
uint32_t fpdu_crc_get(const uint8_t *in);

#endif
