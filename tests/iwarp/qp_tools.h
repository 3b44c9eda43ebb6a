/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_IWARP_QP_TOOLS_H
#define TESTS_IWARP_QP_TOOLS_H

#include <string.h>

#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/wire.h"

/** Helpers for tests that exchange octets with a queue pair. */

/** make_fpdu - write one FPDU around @payload to @out, with a valid CRC if @crc. Return: its
 * length. */
static inline size_t make_fpdu(uint8_t *out, const struct ddp_header *h, const void *payload,
			       uint32_t len, bool crc)
{
	uint32_t n = ddp_header_encode(h, out + FPDU_LEN_BYTES);
	uint32_t ulpdu = n + len, total = fpdu_bytes(ulpdu);

	memset(out + FPDU_LEN_BYTES + n, 0, total - FPDU_LEN_BYTES - n);
	wire_put16(out, (uint16_t)ulpdu);
	if (len)
		memcpy(out + FPDU_LEN_BYTES + n, payload, len);
	if (crc)
		fpdu_crc_put(out + total - 4, fpdu_crc(FPDU_CRC_INIT, out, total - 4));
	return total;
}

/** feed - give octets to @qp, at most @step at once (0: as many as it takes). Return: octets
 * taken. */
static inline size_t feed(struct qp *qp, const uint8_t *data, size_t len, size_t step)
{
	size_t at = 0;

	while (at < len) {
		struct iovec iov[QP_RX_IOV];
		unsigned n = qp_rx_want(qp, iov);
		size_t now = step && step < len - at ? step : len - at, got = 0;

		if (!n)
			break;
		for (unsigned i = 0; i < n && got < now; i++) {
			size_t piece = iov[i].iov_len < now - got ? iov[i].iov_len : now - got;

			memcpy(iov[i].iov_base, data + at + got, piece);
			got += piece;
		}
		qp_rx_got(qp, got);
		at += got;
	}
	qp_rx_pause(qp);
	return at;
}

/** drain - take up to @max octets from @qp to @out. Return: octets. */
static inline size_t drain(struct qp *qp, uint8_t *out, size_t max)
{
	size_t at = 0;

	while (at < max) {
		struct iovec *iov;
		unsigned n = qp_tx_want(qp, &iov);
		size_t took = 0;

		if (!n)
			break;
		for (unsigned i = 0; i < n && at + took < max; i++) {
			size_t left = max - at - took;
			size_t piece = iov[i].iov_len < left ? iov[i].iov_len : left;

			memcpy(out + at + took, iov[i].iov_base, piece);
			took += piece;
		}
		qp_tx_took(qp, took);
		at += took;
	}
	return at;
}

#endif
