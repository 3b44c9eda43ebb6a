/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_LISTS_H
#define RPC_LISTS_H

#include "base/err.h"
#include "rpc/msg.h"
#include "xdr/cursor.h"

/**
 * The three chunk lists of version 1 (RFC 8166 section 4, rfc5666bis-01 section 5), which the early
 * draft of version 2 kept as they were, to and from struct rpc_msg; and what the payload stream
 * behind them has to be. Draft -07 has other lists in other orders: v2/chunks.h.
 */

/**
 * rpc_lists_get - Read list, Write list and Reply chunk
 * @m: reset; its chunks are filled. A Read chunk at Position zero is its body chunk, others are
 *     sorted; the Reply chunk is provisional until rpc_lists_external() looks at it
 *
 * Return: 0; ERR_XDR malformed; ERR_TOOBIG more chunks or segments than struct rpc_msg holds.
 */
int rpc_lists_get(struct xdr_in *x, struct rpc_msg *m) WARN_UNUSED;

/**
 * rpc_lists_inline - the payload stream @body follows the lists
 * @m:         its dir becomes that of the RPC message
 * @dir_known: set when it does; else left alone
 *
 * Return: 0; ERR_SHORT no room for an RPC header; ERR_XDR it is none of m->xid's, or the lists
 * cannot be those of such a message.
 */
int rpc_lists_inline(struct rpc_msg *m, struct view body, bool *dir_known) WARN_UNUSED;

/**
 * rpc_lists_external - no payload stream follows the lists
 * @m:         a call's body is its Position-Zero Read chunk; that of a reply, which has none, the
 *             Reply chunk
 * @dir_known: as above
 *
 * Return: 0 or ERR_XDR.
 */
int rpc_lists_external(struct rpc_msg *m, bool *dir_known) WARN_UNUSED;

/** rpc_lists_len - octets the lists of @m take. */
size_t rpc_lists_len(const struct rpc_msg *m);

/** rpc_lists_put - the lists of @m: a body chunk is a Position-Zero Read chunk in a call, the Reply
 * chunk in a reply. */
void rpc_lists_put(struct xdr_out *x, const struct rpc_msg *m);

#endif
