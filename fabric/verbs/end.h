/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_END_H
#define FABRIC_VERBS_END_H

struct fabric_conn;
struct verbs_conn;

/**
 * end - how connections end
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** end_finish - end @c now: destroy the queue pair, and complete everything posted. @status, @why:
 * the cause, unless there was one before. */
void end_finish(struct verbs_conn *c, int status, const char *why);

/** end_by_peer - the connection manager reported that the peer disconnected: ends @c. */
void end_by_peer(struct verbs_conn *c, int status);

/** end_disconnect, end_destroy - disconnect and destroy of struct fabric_ops. */
void end_disconnect(struct fabric_conn *fc);
void end_destroy(struct fabric_conn *fc);

/** end_free - takes @c: releases all that it has, without events. */
void end_free(struct verbs_conn *c);

#endif
