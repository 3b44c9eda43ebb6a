/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_LISTS_H
#define RPC_LISTS_H

#include "base/err.h"
#include "rpc/msg.h"
#include "xdr/cursor.h"

/**
 * The three chunk lists of version 1 (RFC 8166 section 4, rfc5666bis-01 section 5), to and from
 * struct rpc_msg. The early draft of version 2 has the same lists. Also checks of the payload
 * stream after the lists. Draft -07 has other lists in other orders: v2/chunks.h.
 */

/* Private: for rpc_lists_get(). */
int rpc_lists_get_chunks(struct xdr_in *x, struct rpc_msg *m) WARN_UNUSED;

/**
 * rpc_lists_get - decode Read list, Write list and Reply chunk
 * @m: reset; its chunks are filled. A Read chunk at Position zero is its body chunk, others are
 *     sorted. The Reply chunk is provisional until rpc_lists_external() checks it
 *
 * Return: 0; ERR_XDR: malformed; ERR_TOOBIG: more chunks or segments than struct rpc_msg holds.
 */
static inline int WARN_UNUSED rpc_lists_get(struct xdr_in *x, struct rpc_msg *m)
{
	return xdr_get_empty_lists(x) ? 0 : rpc_lists_get_chunks(x, m);
}

/**
 * rpc_lists_inline - check a message whose payload stream @body follows the lists
 * @m:         its .dir becomes that of the RPC message
 * @dir_known: set to true when .dir was set; otherwise unchanged
 *
 * Return: 0; ERR_SHORT: no room for an RPC header; ERR_XDR: no RPC message with m->xid, or the
 *         lists cannot be those of such a message.
 */
int rpc_lists_inline(struct rpc_msg *m, struct view body, bool *dir_known) WARN_UNUSED;

/**
 * rpc_lists_external - check a message without a payload stream behind the lists
 * @m:         the body of a call is its Position-Zero Read chunk; a message without one is a reply,
 *             whose body is the Reply chunk
 * @dir_known: as in rpc_lists_inline()
 *
 * Return: 0 or ERR_XDR.
 */
int rpc_lists_external(struct rpc_msg *m, bool *dir_known) WARN_UNUSED;

/* Private: for rpc_lists_len(). */
size_t rpc_lists_len_of_chunks(const struct rpc_msg *m);

/** rpc_lists_len - octets the lists of @m take. */
static inline size_t rpc_lists_len(const struct rpc_msg *m)
{
	return rpc_msg_lists_are_empty(m) ? XDR_EMPTY_LISTS : rpc_lists_len_of_chunks(m);
}

/* Private: for rpc_lists_put(). */
void rpc_lists_put_chunks(struct xdr_out *x, const struct rpc_msg *m);

/** rpc_lists_put - encode the lists of @m: a body chunk is a Position-Zero Read chunk in a call,
 * the Reply chunk in a reply. */
static inline void rpc_lists_put(struct xdr_out *x, const struct rpc_msg *m)
{
	if (rpc_msg_lists_are_empty(m))
		xdr_put_empty_lists(x);
	else
		rpc_lists_put_chunks(x, m);
}

#endif
