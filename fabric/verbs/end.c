/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "base/mem.h"
#include "fabric/verbs/internal.h"

/*
 * Operation
 *
 *	OPEN --disconnect--> DRAINING --last word out--> LEAVING --peer's word--> ENDED
 *	  |                                                 ^
 *	  `--- a work request or the queue pair failed -----'
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

enum { AT_ONCE_MS = 1 };

static void note_cause(struct verbs_conn *c, int status, const char *why)
{
	if (c->caused)
		return;
	c->caused = true;
	c->status = status;
	c->why = why;
}

/* Not from here to ENDED: completions of a batch may still be looked at. */
void end_leave(struct verbs_conn *c, int status, const char *why)
{
	if (c->state >= VERBS_LEAVING)
		return;
	note_cause(c, status, why);
	c->state = VERBS_LEAVING;
	wake_conn_in(c, rdma_disconnect(c->id) ? AT_ONCE_MS : c->v->cfg.linger_ms);
}

static void stop_queue_pair(struct verbs_conn *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (c->id && c->id->qp)
		(void)ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE);
}

/* From here on the device touches nothing of ours. */
static void tear_down(struct verbs_conn *c)
{
	expose_end(c);
	queue_destroy(c);
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
	note_cause(c, status, why);
	if (c->state == VERBS_REQUESTED && c->tell_request) {
		end_free(c); /* its user never heard of it */
		return;
	}
	if (c->state < VERBS_OPEN)
		c->v->counters.setup_failures++;
	c->state = VERBS_LEAVING;
	complete_drain(c);
	stop_queue_pair(c);
	tear_down(c);
	c->state = VERBS_ENDED;
	wake_conn(c);
}

/* What the device says of the queue pair; 0: it is, or was until now, sound. */
static int fault(struct verbs_conn *c, const char **why)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int note = atomic_load(&c->async);

	if (note >= 0)
		return words_async(note, why);
	if (!c->id->qp || c->dev->iwarp || ibv_query_qp(c->id->qp, &attr, IBV_QP_STATE, &init) ||
	    attr.qp_state != IBV_QPS_ERR)
		return 0;
	return words_async(IBV_EVENT_QP_ACCESS_ERR, why);
}

static void note_fault(struct verbs_conn *c)
{
	const char *why = NULL;
	int status = fault(c, &why);

	if (!status)
		return;
	c->v->counters.breaches += !c->caused && err_class(status) == ERR_CLASS_PEER;
	note_cause(c, status, why);
}

void end_by_itself(struct verbs_conn *c)
{
	note_fault(c);
	if (c->caused) {
		end_leave(c, c->status, c->why);
		return;
	}
	/* iWARP: with the stream goes the queue pair; the event that tells why follows. */
	c->state = VERBS_LEAVING;
	wake_conn_in(c, c->v->cfg.linger_ms);
}

void end_by_peer(struct verbs_conn *c, int status)
{
	complete_drain(c);
	if (c->state < VERBS_LEAVING) {
		note_fault(c);
		(void)rdma_disconnect(c->id); /* the answer */
	}
	end_finish(c, status ? ERR_CLOSED : 0, "closed by the peer");
}

void end_check_drained(struct verbs_conn *c)
{
	if (c->state == VERBS_DRAINING && !c->words_out)
		end_leave(c, 0, NULL);
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
		end_check_drained(c);
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
