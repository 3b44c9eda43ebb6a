/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_QP_COMPLETE_H
#define FABRIC_IWARP_QP_COMPLETE_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "fabric/iwarp/ddp.h"

struct exposure;
struct qp;
struct qp_event;
struct qp_recv;

/** qp_fail - the peer broke the protocol: a Terminate with @term is the last thing sent. */
void qp_fail(struct qp *qp, int err, struct ddp_term term);

/** qp_complete - queue the event @e; its .cookie and the fields that depend on the type are set. */
void qp_complete(struct qp *qp, struct qp_event *e, enum fabric_ev_type type, int status,
		 uint32_t len);

/** qp_receive - the Receive that the message under way goes into: the first one posted, or a
 * shared one. NULL: there is none. */
struct qp_recv *qp_receive(struct qp *qp);

/** qp_return_receive - no more octets come: gives back the shared Receive of a message that is
 * not complete. */
void qp_return_receive(struct qp *qp);

/** qp_complete_recv - the current Receive holds a whole message of @len octets. */
void qp_complete_recv(struct qp *qp, uint32_t len, uint32_t invalidated);

/** qp_complete_withdrawn - the withdrawal of @e is complete: no operation reaches its memory any
 * more. */
void qp_complete_withdrawn(struct qp *qp, struct exposure *e, int status);

/** qp_cancel_events - @e is withdrawn: removes its PLACED event from the queue. */
void qp_cancel_events(struct qp *qp, struct exposure *e);

/** qp_complete_op - qp_complete() for the operation @op. */
void qp_complete_op(struct qp *qp, uint32_t op, int status);

/** qp_revoke - end an exposure: the peer can no longer reach it. Its owner has still to
 * withdraw it. */
void qp_revoke(struct qp *qp, struct exposure *e);

#endif
