/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_RX_IO_H
#define FABRIC_IWARP_QP_RX_IO_H

#include <stddef.h>

struct qp;

/** qp_spill_bytes - octets of memory for input of @qp that was read ahead and set aside. */
size_t qp_spill_bytes(const struct qp *qp);

/** qp_rx_drop - discards input that was read and not processed; gives its memory back. */
void qp_rx_drop(struct qp *qp);

#endif
