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

/** qp_fail - the peer broke the protocol: moves @qp to QP_TERMINATING, with a Terminate with @term
 * as its last message. @err is the status of the end. */
void qp_fail(struct qp *qp, int err, struct ddp_term term);

/** qp_complete - queue the event @e, in which the caller has set .cookie and the fields that depend
 * on @type. */
void qp_complete(struct qp *qp, struct qp_event *e, enum fabric_ev_type type, int status,
		 uint32_t len);

/** qp_receive - the Receive for the message under way: the first one posted, or a shared one, which
 * this call takes if none was taken. NULL: there is none. */
struct qp_recv *qp_receive(struct qp *qp);

/** qp_return_receive - the stream has ended: gives back the shared Receive of a message that is not
 * complete, if there is one. */
void qp_return_receive(struct qp *qp);

/** qp_complete_recv - the current Receive holds a whole message of @len octets. */
void qp_complete_recv(struct qp *qp, uint32_t len, uint32_t invalidated);

/** qp_complete_withdrawn - queue WITHDRAWN of @e, whose memory no operation can reach any more. */
void qp_complete_withdrawn(struct qp *qp, struct exposure *e, int status);

/** qp_cancel_events - @e is withdrawn: removes its PLACED event from the queue. */
void qp_cancel_events(struct qp *qp, struct exposure *e);

/** qp_complete_op - qp_complete() for the operation @op. */
void qp_complete_op(struct qp *qp, uint32_t op, int status);

/** qp_revoke - end an exposure: the peer can no longer reach it. Its owner has still to
 * withdraw it. */
void qp_revoke(struct qp *qp, struct exposure *e);

#endif
