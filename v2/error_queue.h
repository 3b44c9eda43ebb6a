/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_ERROR_QUEUE_H
#define V2_ERROR_QUEUE_H

#include "v2/conn.h"

/** Answers to received messages: RDMA2_ERRORs, and Report Errors of the round-trip extension. */

/** v2_conn_queue_report - queue an RDMA2_ERROR for control(). Return: 0, or ERR_NOSPACE when the
 * ring is full. */
int v2_conn_queue_report(struct v2_conn *c, uint32_t xid, uint32_t vers,
			 const struct rpc_error *e) WARN_UNUSED;

/** v2_queue_error - answer the message @xid, whose header is @h, with the error @e. Return: 0, or
 * ERR_PROTO: the connection ends. */
int v2_queue_error(struct v2_conn *c, const struct v2_hdr *h, uint32_t xid,
		   const struct rpc_error *e);

/** v2_queue_error_code - v2_queue_error() to the message of @h, with an error @code that has no
 * arguments. Return: as v2_queue_error(). */
int v2_queue_error_code(struct v2_conn *c, const struct v2_hdr *h, enum rpc_error_code code);

/** v2_queue_fault - answer the message of @h with a Report Error: @fault of transmission @bad.
 * @lead: the group that led to the fault, or NULL. Return: as v2_queue_error(). */
int v2_queue_fault(struct v2_conn *c, const struct v2_hdr *h, const struct rtr_fault *fault,
		   const struct rtr_id *bad, const struct rtr_id *lead);

#endif
