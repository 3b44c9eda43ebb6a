/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "fabric/verbs/end.h"
#include "fabric/verbs/complete.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/drain.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * 	OPEN --(conn_close.c)--> LEAVING --peer's answer--> ENDED
 *
 * LEAVING means that rdma_disconnect() was called: the queue pair takes no more work requests, and
 * those posted are flushed. A peer that does not answer has .linger_ms.
 *
 * Only end_finish() moves a connection to ENDED, in these steps:
 * - Process the completions that are in the queue, because these operations completed before.
 * - Release the windows, then the queue pair. Now the device accesses no memory of the connection.
 * - Complete all other operations with ERR_FLUSHED. So the end does not wait until the device has
 *   flushed them.
 *
 * A peer that ends the connection gives no reason. If the queue pair has failed by then, the peer
 * broke the protocol; otherwise neither end did.
 */

static void stop_queue_pair(struct verbs_conn *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (c->id && c->id->qp)
		(void)ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE);
}

static void destroy_pair(struct verbs_conn *c)
{
	submit_drop(c);
	/* Drivers drop completions of a queue pair that is gone. */
	if (share_leave(c))
		drain_shared(c->share);
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->share)
		drain_shared(c->share); /* siw: the next queue pair gets its number */
	cq_destroy(&c->cq);
}

/* Destroys the queue pair. On return the device accesses no memory of the connection. */
static void tear_down(struct verbs_conn *c)
{
	expose_end(c);
	destroy_pair(c);
	expose_end(c); /* releases what had to wait for the end of the queue pair */
	complete_flush(c);
	if (c->id)
		(void)rdma_destroy_id(c->id);
	c->id = NULL;
	wake_conn_in(c, 0);
}

void end_finish(struct verbs_conn *c, int status, const char *why)
{
	if (c->state == VERBS_ENDED)
		return;
	conn_close_note_cause(c, status, why);
	if (c->state == VERBS_REQUESTED && c->request_due) {
		end_free(c); /* the user does not know this connection */
		return;
	}
	if (c->state < VERBS_OPEN)
		c->v->counters.setup_failures++;
	c->state = VERBS_LEAVING;
	drain_conn(c);
	stop_queue_pair(c);
	tear_down(c);
	c->state = VERBS_ENDED;
	wake_conn(c);
}

void end_by_peer(struct verbs_conn *c, int status)
{
	drain_conn(c);
	if (c->state < VERBS_LEAVING) {
		conn_close_note_fault(c);
		(void)rdma_disconnect(c->id); /* answers the peer's disconnect */
	}
	end_finish(c, status ? ERR_CLOSED : 0, "closed by the peer");
}

void end_disconnect(struct fabric_conn *fc)
{
	struct verbs_conn *c = vconn_of(fc);

	if (c->state < VERBS_OPEN) {
		end_finish(c, 0, "disconnected during set-up");
	} else if (c->state == VERBS_OPEN) {
		submit_conn(c);
		c->state = VERBS_DRAINING;
		wake_conn_in(c, c->v->cfg.linger_ms);
		conn_close_if_drained(c);
	}
}

void end_free(struct verbs_conn *c)
{
	stop_queue_pair(c);
	tear_down(c);
	c->v->unpolled -= c->request_due;
	list_del(&c->active);
	list_del(&c->all);
	queue_put_back(c);
	queue_free(c);
	if (c->dev)
		device_put(c->dev);
	mem_free(c);
}

void end_destroy(struct fabric_conn *fc)
{
	end_free(vconn_of(fc));
}
