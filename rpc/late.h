/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_LATE_H
#define RPC_LATE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rpc_late - calls of this end that were abandoned without an answer, the oldest first
 *
 * Procedures without replies (Call-only, draft-07 4.7) look like any other, so a call that was
 * abandoned may still be answered. An answer to one of the last RPC_LATE such calls is recognized.
 * Calls that were abandoned earlier count as Call-only: no answer is expected.
 *
 * A requester may send a call again that got no answer, with its XID (draft-07 4.6.5). Then there
 * may be two answers, or one if the responder noticed that it is the same call. So the first answer
 * counts as that of the waiting call, and one more is late. An answer whose call is known in
 * another way goes to rpc_late_take_first() instead.
 */
enum { RPC_LATE = 64 };

struct rpc_late {
	uint32_t xids[RPC_LATE];
	/* set in the newest entry of an XID: another call with that XID waits for an answer */
	bool again[RPC_LATE];
	unsigned n;
};

/** rpc_late_add - the call @xid was abandoned; it replaces the oldest entry. */
void rpc_late_add(struct rpc_late *l, uint32_t xid);

/* Private: for rpc_late_again(). */
void rpc_late_mark(struct rpc_late *l, uint32_t xid);

/** rpc_late_again - a call with @xid is sent: the next answer belongs to it. (Inline, as the next,
 * because few calls are abandoned.) */
static inline void rpc_late_again(struct rpc_late *l, uint32_t xid)
{
	if (l->n > 0)
		rpc_late_mark(l, xid);
}

/* Private: for rpc_late_take(). */
bool rpc_late_find(struct rpc_late *l, uint32_t xid);

/** rpc_late_take - an answer to @xid came. Return: whether the answer is late: its call was
 * abandoned, and no other call with that XID waits. */
static inline bool rpc_late_take(struct rpc_late *l, uint32_t xid)
{
	return l->n > 0 && rpc_late_find(l, xid);
}

/** rpc_late_take_first - an answer to @xid came that is known to belong to an abandoned call.
 * Return: whether that call is in the list. */
bool rpc_late_take_first(struct rpc_late *l, uint32_t xid);

/** rpc_late_has - whether an answer to @xid that comes now is late: rpc_late_take() without a
 * change. */
bool rpc_late_has(const struct rpc_late *l, uint32_t xid);

/** rpc_late_awaits - whether a call with @xid waits for an answer and an earlier one with it was
 * abandoned. */
bool rpc_late_awaits(const struct rpc_late *l, uint32_t xid);

#endif
