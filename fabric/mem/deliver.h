/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_DELIVER_H
#define FABRIC_MEM_DELIVER_H

#include "fabric/mem/internal.h"

/** mem_deliver - a flushed Send, Write or Read arrives at the peer. */
void mem_deliver(struct mem_op *op);

/** mem_deliver_resumed - an operation that waited for a shared Receive of @f takes effect, if it
 * can. */
void mem_deliver_resumed(struct mem_fabric *f);

/** mem_deliver_answer - the octets that the Read @op fetches arrive: completes @op. */
void mem_deliver_answer(struct mem_op *op);

#endif
