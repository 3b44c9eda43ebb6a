/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_LATE_H
#define RPC_LATE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rpc_late - calls of ours that were let go without an answer, the oldest first
 *
 * Procedures without replies (Call-only, draft-07 4.7) look like any other, so a call that is
 * let go may have been answered in spite of all. Of the last RPC_LATE such calls an answer is
 * known for what it is when it comes; before that they were without one, and none is expected.
 */
enum { RPC_LATE = 64 };

struct rpc_late {
	uint32_t xids[RPC_LATE];
	unsigned n;
};

/** rpc_late_add - @xid was let go; the oldest makes room. */
void rpc_late_add(struct rpc_late *l, uint32_t xid);

/** rpc_late_take - @xid was answered, or is used again. Return: whether it had been let go. */
bool rpc_late_take(struct rpc_late *l, uint32_t xid);

#endif
