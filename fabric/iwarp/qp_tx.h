/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_TX_H
#define FABRIC_IWARP_QP_TX_H

struct qp;

/** qp_tx_drop - discards the batch and gives its memory back; its octets are not sent. */
void qp_tx_drop(struct qp *qp);

#endif
