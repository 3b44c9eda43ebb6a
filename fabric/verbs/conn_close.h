/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONN_CLOSE_H
#define FABRIC_VERBS_CONN_CLOSE_H

struct verbs_conn;

/** conn_close - how the end of a connection begins */

/** conn_close_begin - disconnect @c, which then ends. @status and @why (static storage) are the
 * cause, unless there was one before. */
void conn_close_begin(struct verbs_conn *c, int status, const char *why);

/** conn_close_failed - begins the end of @c, whose queue pair failed without a completion that has
 * the reason. */
void conn_close_failed(struct verbs_conn *c);

/** conn_close_refused - begins the end of @c, because the device refused a work request or its
 * completion queue failed. */
void conn_close_refused(struct verbs_conn *c);

/** conn_close_if_drained - goes on with the end of @c if @c is VERBS_DRAINING and its last Send and
 * Write have completed. */
void conn_close_if_drained(struct verbs_conn *c);

/** conn_close_note_cause - record the cause of @c's end, unless there is one. */
void conn_close_note_cause(struct verbs_conn *c, int status, const char *why);

/** conn_close_note_fault - if the device reported a fault of @c's queue pair, record the fault as
 * the cause of @c's end, unless there is one. */
void conn_close_note_fault(struct verbs_conn *c);

#endif
