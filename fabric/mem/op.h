/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_OP_H
#define FABRIC_MEM_OP_H

#include "fabric/mem/internal.h"

/** mem_op_init - set up @op, of @c, as a free operation. */
void mem_op_init(struct mem_conn *c, struct mem_op *op);

/** mem_op_post - append @op to the operations posted on @c and to those of its kind. */
void mem_op_post(struct mem_conn *c, struct mem_op *op, enum mem_kind kind, void *cookie);

/** mem_op_sum - checksum over the octets of a Send or Write. */
uint64_t mem_op_sum(const struct mem_op *op);

/** mem_op_guard - @on: any access to the memory that @op fills is an error from now on (under
 * AddressSanitizer). Not @on: access is permitted again. */
void mem_op_guard(const struct mem_op *op, bool on);

/** mem_op_arm - poison the memory that @op fills, and guard it. */
void mem_op_arm(const struct mem_op *op);

/** mem_event_push - queue @e for fabric_poll(). */
void mem_event_push(struct mem_conn *c, struct mem_event *e);

/** mem_op_finish - queue the completion of @op. */
void mem_op_finish(struct mem_op *op, int status);

#endif
