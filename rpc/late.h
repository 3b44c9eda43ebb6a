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
 *
 * A requester may send a call again that got no answer, with its XID (draft-07 4.6.5). Then there may be two
 * answers, or one, where the responder saw that it is the same call. So the first that comes, whichever it is, is that
 * of the call that waits, and one more is late; but where it can be seen whose it is that counts.
 */
enum { RPC_LATE = 64 };

struct rpc_late {
	uint32_t xids[RPC_LATE];
	bool again[RPC_LATE]; /* of the newest with an XID: a call with that waits for an answer */
	unsigned n;
};

/** rpc_late_add - @xid was let go; the oldest makes room. */
void rpc_late_add(struct rpc_late *l, uint32_t xid);

/** rpc_late_again - a call with @xid goes out: the next answer is its. */
void rpc_late_again(struct rpc_late *l, uint32_t xid);

/** rpc_late_take - @xid was answered. Return: whether nobody waits for that, for the call had been let go. */
bool rpc_late_take(struct rpc_late *l, uint32_t xid);

/** rpc_late_take_first - @xid was answered, and it is a call that was let go whose answer that is. Return: whether it is
 * known. */
bool rpc_late_take_first(struct rpc_late *l, uint32_t xid);

/** rpc_late_has - whether an answer to @xid that comes now is one that nobody waits for: rpc_late_take(), but nothing changes. */
bool rpc_late_has(const struct rpc_late *l, uint32_t xid);

/** rpc_late_awaits - whether a call with @xid, which was let go before, waits for an answer. */
bool rpc_late_awaits(const struct rpc_late *l, uint32_t xid);

#endif
