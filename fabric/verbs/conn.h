/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONN_H
#define FABRIC_VERBS_CONN_H

#include "fabric/verbs/types.h"

struct rdma_cm_id;
struct verbs;
struct verbs_conn;

/** conn - creation of a connection, and its step to VERBS_OPEN */

/** conn_new - a connection in @state; takes @id, which may be NULL. Return: owned by the caller;
 * NULL: no memory. */
struct verbs_conn *conn_new(struct verbs *v, struct rdma_cm_id *id, enum verbs_state state,
			    void *owner);

/** conn_opened - moves @c to VERBS_OPEN, if it is not yet: CONNECTED is due. */
void conn_opened(struct verbs_conn *c);

#endif
