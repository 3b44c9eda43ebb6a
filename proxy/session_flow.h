/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SESSION_FLOW_H
#define PROXY_SESSION_FLOW_H

#include "proxy/session.h"

/** session_flow - Reads and Writes outstanding on a leg of a session. */

/**
 * session_posted, session_completed - a Read or Write of @bytes was posted, or the oldest one
 * completed
 *
 * At most SESSION_OP_DEPTH are outstanding on one leg.
 */
void session_posted(struct session_flow *f, uint32_t bytes);
void session_completed(struct session_flow *f);

#endif
