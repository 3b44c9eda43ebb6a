/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_CONN_CLOSE_H
#define FABRIC_VERBS_CONN_CLOSE_H

struct verbs_conn;

/** conn_close - how the end of a connection begins */

/** conn_close_begin - disconnect, then end; the cause is kept if it is the first. */
void conn_close_begin(struct verbs_conn *c, int status, const char *why);

/** conn_close_failed - the queue pair failed and no completion has the reason. */
void conn_close_failed(struct verbs_conn *c);

/** conn_close_if_drained - ends a connection that is to end, if its last Send and Write are out. */
void conn_close_if_drained(struct verbs_conn *c);

/** conn_close_note_cause - keep the cause of @c's end, if it is the first. */
void conn_close_note_cause(struct verbs_conn *c, int status, const char *why);

/** conn_close_note_fault - keep the device's fault of the queue pair as the cause, if it has one. */
void conn_close_note_fault(struct verbs_conn *c);

#endif
