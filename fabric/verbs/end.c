/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "fabric/verbs/internal.h"
#include "fabric/verbs/share_internal.h"

/*
 * Operation
 *
 *	OPEN --(leave.c)--> LEAVING --peer's word--> ENDED
 *
 * LEAVING means rdma_disconnect() was called: the queue pair takes nothing any
 * more, what was posted is flushed. A peer that stays silent has .linger_ms.
 *
 * ENDED is reached in one place. What the queue holds is taken out first, for it
 * happened before the end; windows are given up, then the queue pair; from there
 * on the device touches nothing of ours, and what had not completed comes back as
 * flushed. So an end never waits for the device, nor depends on its flushing.
 *
 * That the peer ends the connection says nothing of why. But the queue pair of a
 * connection that nobody broke is sound then: if it is not, the peer broke it.
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
	/* Drivers drop what completed for a queue pair that is gone. */
	if (share_leave(c))
		drain_shared(c->share);
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->share)
		drain_shared(c->share); /* siw: its number is the next one's */
	cq_destroy(&c->cq);
}

/* From here on the device touches nothing of ours. */
static void tear_down(struct verbs_conn *c)
{
	expose_end(c);
	destroy_pair(c);
	expose_end(c); /* what had to wait for that */
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
	leave_note_cause(c, status, why);
	if (c->state == VERBS_REQUESTED && c->tell_request) {
		end_free(c); /* its user never heard of it */
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
		leave_note_fault(c);
		(void)rdma_disconnect(c->id); /* the answer */
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
		leave_if_drained(c);
	}
}

void end_free(struct verbs_conn *c)
{
	stop_queue_pair(c);
	tear_down(c);
	c->v->untold -= c->tell_request;
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
