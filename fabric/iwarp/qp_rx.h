/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_RX_H
#define FABRIC_IWARP_QP_RX_H

#include <stdint.h>

struct qp;

/** qp_rx_steps - process the input in the stage as far as possible. */
void qp_rx_steps(struct qp *qp);

/** qp_rx_sum - add @payload, the next @n octets of the current FPDU's payload, to its CRC, and to
 * .sums if there are any. */
void qp_rx_sum(struct qp *qp, const uint8_t *payload, uint32_t n);

#endif
