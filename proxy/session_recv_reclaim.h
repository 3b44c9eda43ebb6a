/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_RECV_RECLAIM_H
#define PROXY_SESSION_RECV_RECLAIM_H

#include "proxy/session.h"

/** session_reclaim_recvs - called at regular intervals: if Receives of @r are short, end sessions
 * whose messages hold them. */
void session_reclaim_recvs(struct proxy *p, struct recv_pool *r);

#endif
