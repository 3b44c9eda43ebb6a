/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONN_H
#define FABRIC_VERBS_CONN_H

#include "fabric/verbs/types.h"

struct rdma_cm_id;
struct verbs;
struct verbs_conn;

/** conn - a new connection, and an open one */

/** conn_new - a connection in @state; takes @id, which may be NULL. Return: NULL without memory. */
struct verbs_conn *conn_new(struct verbs *v, struct rdma_cm_id *id, enum verbs_state state,
			    void *owner);

/** conn_opened - the connection is open; does nothing if that was known. */
void conn_opened(struct verbs_conn *c);

#endif
