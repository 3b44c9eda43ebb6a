/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RPCBIND_H
#define DAEMON_RPCBIND_H

#include "config/config.h"

/**
 * rpcbind - listeners with "rpcbind" as this machine's rpcbind knows them (draft-07 9, RFC 8166 7): programs of NFS,
 * netid "rdma" or "rdma6", universal address
 *
 * By the main thread; rpcbind answers at a local socket, within seconds or not at all. What cannot be told it is
 * logged, and no reason not to serve.
 */

enum { RPCBIND_NETIDS = 2, RPCBIND_ADDRESS_BYTES = 64 };

struct rpcbind {
	char at[RPCBIND_NETIDS][RPCBIND_ADDRESS_BYTES]; /* universal addresses; empty: none */
};

/** rpcbind_follow - what @cfg has is registered, and what it has no more is not. */
void rpcbind_follow(struct rpcbind *r, const struct config *cfg);

/** rpcbind_end - what was registered is taken back. Idempotent. */
void rpcbind_end(struct rpcbind *r);

#endif
