/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_RX_H
#define FABRIC_IWARP_QP_RX_H

#include <stdint.h>

struct qp;

/** qp_rx_steps - process the input in the stage as far as possible. */
void qp_rx_steps(struct qp *qp);

/** qp_rx_sum - the next @n octets of the current payload go into the CRC, and into the sums that
 * are kept of it. */
void qp_rx_sum(struct qp *qp, const uint8_t *payload, uint32_t n);

#endif
