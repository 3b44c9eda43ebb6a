/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_RX_H
#define FABRIC_IWARP_QP_RX_H

struct qp;

/** qp_rx_steps - process the input in the stage as far as possible. */
void qp_rx_steps(struct qp *qp);

#endif
