/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/strings.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * 	OPEN --disconnect--> DRAINING --last Send or Write out--> LEAVING --> (end.c)
 * 	  |                                                          ^
 * 	  `--- a work request or the queue pair failed --------------'
 *
 * This file has the first part of a connection's end. Its functions may be called while completions
 * of a batch are processed, so they release nothing. The first cause is the one that is reported.
 */

enum { AT_ONCE_MS = 1 };

void conn_close_note_cause(struct verbs_conn *c, int status, const char *why)
{
	if (c->caused)
		return;
	c->caused = true;
	c->status = status;
	c->why = why;
}

/* ENDED follows later, because completions of a batch may still be processed. */
void conn_close_begin(struct verbs_conn *c, int status, const char *why)
{
	if (c->state >= VERBS_LEAVING)
		return;
	conn_close_note_cause(c, status, why);
	c->state = VERBS_LEAVING;
	wake_conn_in(c, rdma_disconnect(c->id) ? AT_ONCE_MS : c->v->cfg.linger_ms);
}

/* The state of the queue pair; RTS if it is unknown. */
static enum ibv_qp_state state_of_pair(const struct verbs_conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!c->id->qp || ibv_query_qp(c->id->qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_RTS;
	return attr.qp_state;
}

/* The fault of the queue pair that the device has reported; 0: none yet. */
static int fault(struct verbs_conn *c, const char **why)
{
	int note;

	if (c->dev)
		device_async(c->dev); /* a completion may be polled before the event is read */
	note = atomic_load(&c->async);
	if (note >= 0)
		return strings_async(note, why);
	if (!c->id->qp || c->dev->iwarp || state_of_pair(c) != IBV_QPS_ERR)
		return 0;
	return strings_async(IBV_EVENT_QP_ACCESS_ERR, why);
}

void conn_close_note_fault(struct verbs_conn *c)
{
	const char *why = NULL;
	int status = fault(c, &why);

	if (!status)
		return;
	c->v->counters.breaches += !c->caused && err_class(status) == ERR_CLASS_PEER;
	conn_close_note_cause(c, status, why);
}

void conn_close_failed(struct verbs_conn *c)
{
	conn_close_note_fault(c);
	if (c->caused) {
		conn_close_begin(c, c->status, c->why);
		return;
	}
	/* iWARP: the queue pair fails when the stream ends; the event with the reason follows. */
	c->state = VERBS_LEAVING;
	wake_conn_in(c, c->v->cfg.linger_ms);
}

/* Some libraries refuse all work requests once the stream has ended (cxgb4, erdma, siw). */
void conn_close_refused(struct verbs_conn *c)
{
	if (state_of_pair(c) != IBV_QPS_RTS)
		conn_close_failed(c);
	else
		conn_close_begin(c, ERR_IO, "the device refused a work request");
}

void conn_close_if_drained(struct verbs_conn *c)
{
	if (c->state == VERBS_DRAINING && !c->strings_out)
		conn_close_begin(c, 0, NULL);
}
