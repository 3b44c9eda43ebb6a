/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/complete.h"
#include "fabric/verbs/conn.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/strings.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/vring.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * - A completion stands for its own work request, and for all earlier ones that requested none.
 * - Queues should complete in order, but siw may complete a Send before a Read that was posted
 *   before the Send. So a completion waits in its record until all earlier operations have
 *   completed.
 * - A record stays until its completion is polled, which limits the operations outstanding.
 * - The completion of a Receive is checked, because only a Send is a message. An RDMA Write with
 *   Immediate takes a Receive, too, but its octets, as many as the peer likes, are elsewhere.
 * - When a connection fails, a work request that requested no completion gets a status from the
 *   next one that did: success if that one failed, unknown (ERR_FLUSHED) if that one was flushed.
 */

/* Releases the registration of a Read's sink. If the device refuses, the peer can still write to
 * the sink. Then the Read completes when the queue pair is gone. */
static void close_sink(struct verbs_conn *c, struct vop *op)
{
	if (!op->mr)
		return;
	if (ibv_dereg_mr(op->mr) == 0) {
		op->mr = NULL;
	} else if (c->id && c->id->qp) {
		op->complete = false;
		conn_close_begin(c, ERR_IO, "the device did not give up what the peer could reach");
	} else {
		op->mr = NULL;
		device_refuses(c->dev);
	}
}

static void took_place(struct verbs_conn *c, struct vop *op)
{
	close_sink(c, op);
	if (op->type == FABRIC_EV_SEND || op->type == FABRIC_EV_WRITE)
		c->strings_out--;
	else if (op->type == FABRIC_EV_WITHDRAWN)
		expose_fenced(c, op->exposure, op->status);
}

/* Whether the message of @wc invalidated a handle. Linux's rxe passes the kernel's flags on
 * unchanged (do_complete() in rxe_resp.c). The kernel's bit for invalidation is the user's bit for
 * a checksum, which reliable connections never report. */
static bool has_invalidated(const struct verbs_conn *c, const struct ibv_wc *wc)
{
	return wc->wc_flags & (IBV_WC_WITH_INV | (c->dev->rxe ? IBV_WC_IP_CSUM_OK : 0));
}

/* The peer broke the protocol: no further message of it is reported. */
static void breached(struct verbs_conn *c, const char *why)
{
	c->astray = true;
	if (c->state >= VERBS_LEAVING)
		return;
	c->v->counters.breaches++;
	conn_close_begin(c, ERR_PROTO, why);
	wake_conn(c);
}

/* Checks a Receive that succeeded: it must be a message, and not longer than the Receive. */
static void check_message(struct verbs_conn *c, const struct ibv_wc *wc, uint32_t room)
{
	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->opcode != IBV_WC_RECV)
		breached(c, "the peer used a Receive for what is no message");
	else if (wc->byte_len > room)
		breached(c, "a message larger than its Receive");
	else if (has_invalidated(c, wc) && !expose_may_invalidate(c, wc->invalidated_rkey))
		breached(c, "the peer's message invalidates what it was not given");
}

static void received(struct verbs_conn *c, const struct ibv_wc *wc, struct vop *op)
{
	c->v->counters.receives++;
	op->status = wc->status == IBV_WC_SUCCESS && !c->astray ? 0 : ERR_FLUSHED;
	op->len = op->status ? 0 : wc->byte_len;
	if (op->status == 0 && has_invalidated(c, wc)) {
		op->inv = wc->invalidated_rkey;
		expose_invalidated(c, op->inv);
	}
	/* A message may overtake the end of the handshake. */
	if (op->status == 0 && c->state == VERBS_ACCEPTED)
		conn_opened(c);
}

static void sent(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct vop *op = &c->sends.ops[(uint32_t)wc->wr_id & c->sends.mask];
	const char *why;

	op->status = wc->status == IBV_WC_WR_FLUSH_ERR
			     ? ERR_FLUSHED
			     : strings_completion(wc->status, false, &why);
	took_place(c, op);
}

/* The first failure is the cause of the end. Later work requests fail because they are flushed. */
void complete_failed(struct verbs_conn *c, const struct ibv_wc *wc, bool is_recv)
{
	const char *why = NULL;
	int status;

	if (c->state >= VERBS_LEAVING)
		return;
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		conn_close_failed(c);
		return;
	}
	status = strings_completion(wc->status, is_recv, &why);
	if (err_class(status) == ERR_CLASS_PEER || status == ERR_TOOBIG)
		c->v->counters.breaches++;
	conn_close_begin(c, status, why);
}

static bool mark_complete(struct vring *r, uint32_t index)
{
	struct vop *op = &r->ops[index & r->mask];

	if (index - r->done >= r->posted - r->done || op->complete)
		return false;
	op->complete = true;
	return true;
}

/* Completes the operations before number @index that requested no completion. */
static void imply(struct verbs_conn *c, uint32_t index, enum ibv_wc_status status)
{
	struct vring *r = &c->sends;

	for (uint32_t i = r->done; i != index; i++) {
		struct vop *op = &r->ops[i & r->mask];

		if (op->signalled || op->complete)
			continue;
		op->complete = true;
		op->status = status == IBV_WC_WR_FLUSH_ERR ? ERR_FLUSHED : 0;
		took_place(c, op);
	}
}

/* An operation is done when it and all before it have completed. */
static void advance(struct verbs_conn *c, struct vring *r)
{
	while (r->done != r->posted && r->ops[r->done & r->mask].complete) {
		if (r == &c->sends) {
			c->sq_freed = r->ops[r->done & r->mask].slot;
			c->extras_freed = r->ops[r->done & r->mask].extras;
		}
		r->done++;
	}
}

/* The probe of alive.c completed. Nothing was under way when it was posted, so all slots up to its
 * own are free. */
static void complete_answered(struct verbs_conn *c)
{
	c->asked = false;
	if ((int32_t)(c->ask_slot - c->sq_freed) > 0) {
		c->sq_freed = c->ask_slot;
		c->extras_freed = c->ask_extras;
	}
}

static void complete_one(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct vring *ring = wc->wr_id & ID_RECV ? &c->recvs : &c->sends;

	if (wc->wr_id & ID_ASK) {
		complete_answered(c);
	} else if (!(wc->wr_id & ID_BIND)) {
		if (!mark_complete(ring, (uint32_t)wc->wr_id)) {
			c->broken = true; /* a completion of no operation: a driver bug */
			return;
		}
		if (ring == &c->recvs) {
			struct vop *op = &ring->ops[(uint32_t)wc->wr_id & ring->mask];

			check_message(c, wc, op->len);
			received(c, wc, op);
		} else {
			imply(c, (uint32_t)wc->wr_id, wc->status);
			sent(c, wc);
		}
		advance(c, ring);
	}
	if (wc->status != IBV_WC_SUCCESS)
		complete_failed(c, wc, wc->wr_id & ID_RECV);
}

void complete_own(struct verbs_conn *c, const struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		complete_one(c, &wc[i]);
	wake_conn(c);
	conn_close_if_drained(c);
}

bool complete_shared(struct verbs_conn *c, const struct ibv_wc *wc, uint32_t slot, void *cookie)
{
	struct vop *op;

	check_message(c, wc, c->v->recv_len);
	if (!c->astray && c->recvs.posted - c->recvs.polled >= c->max_recvs)
		breached(c, "the peer sent more than was granted");
	if (c->astray)
		return false;
	op = vring_add(&c->recvs);
	op->type = FABRIC_EV_RECV;
	op->cookie = cookie;
	op->slot = slot;
	op->complete = true;
	c->recvs.done++;
	received(c, wc, op);
	wake_conn(c);
	return true;
}

void complete_flush(struct verbs_conn *c)
{
	while (c->recvs.done != c->recvs.posted) {
		struct vop *op = &c->recvs.ops[c->recvs.done++ & c->recvs.mask];

		if (op->complete)
			continue;
		op->status = ERR_FLUSHED;
		op->len = 0;
	}
	while (c->sends.done != c->sends.posted) {
		struct vop *op = &c->sends.ops[c->sends.done++ & c->sends.mask];

		if (op->complete)
			continue;
		op->status = ERR_FLUSHED;
		took_place(c, op);
	}
}

static struct vop *next_done(struct vring *r)
{
	return r->polled == r->done ? NULL : &r->ops[r->polled++ & r->mask];
}

static bool recv_event(struct verbs_conn *c, struct fabric_event *ev)
{
	const struct vop *op = next_done(&c->recvs);

	if (!op)
		return false;
	*ev = (struct fabric_event){.type = FABRIC_EV_RECV,
				    .cookie = op->cookie,
				    .status = op->status,
				    .len = op->len,
				    .invalidated = op->inv};
	if (c->share)
		srq_release(c->share, op->slot);
	return true;
}

bool complete_event(struct verbs_conn *c, struct fabric_event *ev)
{
	const struct vop *op;

	if (recv_event(c, ev))
		return true;
	op = next_done(&c->sends);
	if (!op)
		return false;
	*ev = (struct fabric_event){.type = op->type, .cookie = op->cookie, .status = op->status};
	if (ev->type != FABRIC_EV_WITHDRAWN) {
		c->ops_out--;
		return true;
	}
	ev->handle = op->inv;
	ev->written = FABRIC_WRITTEN_UNKNOWN; /* no device can tell */
	return true;
}
