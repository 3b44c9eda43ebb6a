/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_RPCBIND_H
#define DAEMON_RPCBIND_H

#include "config/config.h"

/**
 * rpcbind - registers the listeners that have the key "rpcbind" with the local rpcbind (draft-07 9,
 * RFC 8166 7): the program of NFS, netid "rdma" or "rdma6", universal address
 *
 * Called by the main thread over rpcbind's local socket, with a short timeout. A failure is logged;
 * the gateway serves all the same.
 */

enum { RPCBIND_NETIDS = 2, RPCBIND_ADDRESS_BYTES = 64 };

struct rpcbind {
	/* registered universal addresses; empty: none */
	char at[RPCBIND_NETIDS][RPCBIND_ADDRESS_BYTES];
};

/** rpcbind_follow - register the listeners of @cfg, and remove registrations that @cfg no longer
 * has. */
void rpcbind_follow(struct rpcbind *r, const struct config *cfg);

/** rpcbind_end - remove all registrations. Idempotent. */
void rpcbind_end(struct rpcbind *r);

#endif
