/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CM_H
#define FABRIC_VERBS_CM_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/view.h"

struct fabric;
struct fabric_addr;
struct fabric_conn;
struct fabric_conn_params;
struct loop_watch;
struct rdma_event_channel;
struct verbs_conn;
struct vevent;

/**
 * cm - how connections begin: resolving, connect, accept, reject
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** cm_ready - callback of verbs.watch: process the events of the connection manager. */
void cm_ready(struct loop_watch *w, unsigned events);

/** cm_next - copy the next event of @channel to @e and acknowledge it. Return: false: there is
 * none. */
bool cm_next(struct rdma_event_channel *channel, struct vevent *e);

/** cm_handle - process @e, an event about @c. */
void cm_handle(struct verbs_conn *c, const struct vevent *e);

/** cm_expired - .deadline of @c, in set-up or closing, has passed. */
void cm_expired(struct verbs_conn *c);

/** cm_connect, cm_prepare, cm_accept, cm_reject - those of struct fabric_ops. */
int cm_connect(struct fabric *f, const struct fabric_addr *to,
	       const struct fabric_conn_params *params, void *owner,
	       struct fabric_conn **conn) WARN_UNUSED;
int cm_prepare(struct fabric_conn *fc, const struct fabric_conn_params *params) WARN_UNUSED;
int cm_accept(struct fabric_conn *fc, const struct fabric_conn_params *params,
	      void *owner) WARN_UNUSED;
void cm_reject(struct fabric_conn *fc, struct view pd);

#endif
