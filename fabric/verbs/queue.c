/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/verbs/internal.h"

/*
 * Operation
 *
 * A post writes its record into a ring and hands the work request to the device;
 * the record's number is the request's identifier. Queues should complete in order,
 * but siw completes a Send before the Read it was posted behind: a completion waits
 * in its record for those before it. Records stay until their completion is polled:
 * that bounds what the user has out.
 *
 * The send queue holds more than the user's operations: binds, which make no
 * completion, and local invalidates. Its slots are counted as they are posted; a
 * completion frees all up to its own. For each window a slot is kept back, for a
 * withdraw must not fail.
 */

enum { BATCH = 16 };

static int ring_init(struct vring *r, uint32_t depth)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	r->ops = mem_zalloc(size * sizeof(*r->ops));
	r->mask = size - 1;
	return r->ops ? 0 : ERR_NOMEM;
}

struct vop *queue_op(struct vring *r)
{
	struct vop *op = &r->ops[r->posted++ & r->mask];

	*op = (struct vop){0};
	return op;
}

/* The second call, with accept after prepare, finds all done. */
int queue_depths(struct verbs_conn *c, const struct fabric_conn_params *p)
{
	const struct verbs_config *cfg = &c->v->cfg;

	c->ird = p->ird ? p->ird : cfg->ird;
	c->ord = p->ord ? p->ord : cfg->ord;
	if (c->exps)
		return 0;
	c->max_recvs = p->max_recvs;
	c->max_sends = p->max_sends;
	c->max_exposures = p->max_exposures;
	if (ring_init(&c->recvs, c->max_recvs) ||
	    ring_init(&c->sends, c->max_sends + c->max_exposures))
		return ERR_NOMEM;
	return expose_init(c);
}

static int post_recv(struct verbs_conn *c, uint32_t index)
{
	const struct vop *op = &c->recvs.ops[index & c->recvs.mask];
	const struct ibv_mr *mr = device_region(c->dev, op->addr, op->len);
	struct ibv_sge sge = {.addr = (uintptr_t)op->addr, .length = op->len};
	struct ibv_recv_wr wr = {.wr_id = ID_RECV | index, .sg_list = &sge}, *bad;

	assert(mr || !op->len);
	wr.num_sge = op->len ? 1 : 0;
	sge.lkey = mr ? mr->lkey : 0;
	return ibv_post_recv(c->id->qp, &wr, &bad) ? ERR_IO : 0;
}

/* Depths within what the device has; a bind and an invalidate for each exposure, and some more
 * binds that no completion has freed yet. */
static void cut_depths(struct verbs_conn *c, struct ibv_qp_init_attr *attr)
{
	uint32_t most = (uint32_t)c->dev->attr.max_qp_wr;

	c->sq_size = c->max_sends + (c->dev->windows ? 3 * c->max_exposures : 0);
	if (c->sq_size > most)
		c->sq_size = most;
	c->max_sge = FABRIC_MAX_SGE;
	if (c->max_sge > (unsigned)c->dev->attr.max_sge)
		c->max_sge = (unsigned)c->dev->attr.max_sge;
	*attr = (struct ibv_qp_init_attr){
		.qp_context = c,
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = c->sq_size,
			.max_recv_wr = c->max_recvs ? c->max_recvs : 1,
			.max_send_sge = c->max_sge,
			.max_recv_sge = 1},
	};
}

int queue_make(struct verbs_conn *c)
{
	struct ibv_qp_init_attr attr;
	struct verbs_dev *dev = c->dev;

	if (c->id->qp)
		return 0;
	if (!dev) {
		dev = device_get(c->v, c->id->verbs);
		if (!dev)
			return ERR_NOMEM;
		c->dev = dev;
		dev->conns++;
	}
	cut_depths(c, &attr);
	c->base.remote_inv = c->v->base.remote_inv && dev->windows;
	c->cq = ibv_create_cq(dev->context, (int)(c->max_recvs + c->sq_size + 1), c, dev->channel,
			      0);
	if (!c->cq)
		return ERR_NOMEM;
	attr.send_cq = attr.recv_cq = c->cq;
	if (rdma_create_qp(c->id, dev->pd, &attr) || ibv_req_notify_cq(c->cq, 0))
		return ERR_NOMEM;
	for (uint32_t i = c->recvs.done; i != c->recvs.posted; i++)
		if (post_recv(c, i))
			return ERR_IO;
	return 0;
}

void queue_destroy(struct verbs_conn *c)
{
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	list_del(&c->hot);
	if (!c->cq)
		return;
	if (c->cq_events)
		ibv_ack_cq_events(c->cq, c->cq_events);
	c->cq_events = 0;
	(void)ibv_destroy_cq(c->cq);
	c->cq = NULL;
}

void queue_free(struct verbs_conn *c)
{
	mem_free(c->recvs.ops);
	mem_free(c->sends.ops);
	mem_free(c->exps);
	mem_free(c->buckets);
}

/* Completions */

static void took_place(struct verbs_conn *c, struct vop *op)
{
	if (op->mr)
		(void)ibv_dereg_mr(op->mr);
	op->mr = NULL;
	if (op->type == FABRIC_EV_SEND || op->type == FABRIC_EV_WRITE)
		c->words_out--;
	else if (op->type == FABRIC_EV_WITHDRAWN)
		expose_fenced(c, op->exposure, op->status);
}

/* Linux's rxe hands the kernel's flags to the user as they are (do_complete() in rxe_resp.c), and
 * this bit of them means a checksum there, which reliable connections do not report. */
static bool has_invalidated(const struct verbs_conn *c, const struct ibv_wc *wc)
{
	return wc->wc_flags & (IBV_WC_WITH_INV | (c->dev->rxe ? IBV_WC_IP_CSUM_OK : 0));
}

static void received(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct vop *op = &c->recvs.ops[(uint32_t)wc->wr_id & c->recvs.mask];

	c->v->counters.receives++;
	op->status = wc->status == IBV_WC_SUCCESS ? 0 : ERR_FLUSHED;
	op->len = op->status ? 0 : wc->byte_len;
	if (op->status == 0 && has_invalidated(c, wc)) {
		op->inv = wc->invalidated_rkey;
		expose_invalidated(c, op->inv);
	}
	/* A message may overtake the end of the handshake. */
	if (op->status == 0 && c->state == VERBS_ACCEPTED)
		cm_established(c);
}

static void sent(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct vop *op = &c->sends.ops[(uint32_t)wc->wr_id & c->sends.mask];
	const char *why;

	op->status = wc->status == IBV_WC_WR_FLUSH_ERR ? ERR_FLUSHED
						       : words_completion(wc->status, false, &why);
	took_place(c, op);
}

/* The first failure is the cause; what follows was flushed for it. */
static void failed(struct verbs_conn *c, const struct ibv_wc *wc)
{
	const char *why = NULL;
	int status;

	if (c->state >= VERBS_LEAVING)
		return;
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		end_by_itself(c);
		return;
	}
	status = words_completion(wc->status, wc->wr_id & ID_RECV, &why);
	if (err_class(status) == ERR_CLASS_PEER || status == ERR_TOOBIG)
		c->v->counters.breaches++;
	end_leave(c, status, why);
}

static bool mark_complete(struct vring *r, uint32_t index)
{
	struct vop *op = &r->ops[index & r->mask];

	if (index - r->done >= r->posted - r->done || op->complete)
		return false;
	op->complete = true;
	return true;
}

/* What completed is done when all before it did. */
static void advance(struct verbs_conn *c, struct vring *r)
{
	while (r->done != r->posted && r->ops[r->done & r->mask].complete) {
		if (r == &c->sends)
			c->sq_freed = r->ops[r->done & r->mask].slot;
		r->done++;
	}
}

static void completed(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct vring *ring = wc->wr_id & ID_RECV ? &c->recvs : &c->sends;

	if (!(wc->wr_id & ID_BIND)) {
		if (!mark_complete(ring, (uint32_t)wc->wr_id)) {
			c->broken = true; /* a completion of nothing: a driver gone astray */
			return;
		}
		if (ring == &c->recvs)
			received(c, wc);
		else
			sent(c, wc);
		advance(c, ring);
	}
	if (wc->status != IBV_WC_SUCCESS)
		failed(c, wc);
}

static int take_batch(struct verbs_conn *c)
{
	struct ibv_wc wc[BATCH];
	int n = c->cq ? ibv_poll_cq(c->cq, BATCH, wc) : 0;

	c->v->counters.polls++;
	for (int i = 0; i < n; i++)
		completed(c, &wc[i]);
	if (n > 0) {
		c->v->counters.completions += (uint64_t)n;
		verbs_activate(c);
		end_check_drained(c);
	}
	return n > 0 ? n : 0;
}

bool queue_poll(struct verbs_conn *c)
{
	if (take_batch(c))
		return true;
	if (!c->cq)
		return false;
	if (c->cq_events) {
		ibv_ack_cq_events(c->cq, c->cq_events);
		c->cq_events = 0;
	}
	/* What came between the look and the arming would never be told. */
	if (ibv_req_notify_cq(c->cq, 0))
		c->broken = true;
	return take_batch(c);
}

void queue_drain(struct verbs_conn *c)
{
	while (take_batch(c))
		;
}

void queue_flush(struct verbs_conn *c)
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

static bool ring_event(struct vring *r, struct fabric_event *ev)
{
	const struct vop *op;

	if (r->polled == r->done)
		return false;
	op = &r->ops[r->polled++ & r->mask];
	*ev = (struct fabric_event){.type = op->type, .cookie = op->cookie, .status = op->status};
	if (op->type != FABRIC_EV_RECV)
		return true;
	ev->len = op->len;
	ev->invalidated = op->inv;
	ev->invalidated_written = FABRIC_WRITTEN_UNKNOWN;
	return true;
}

bool queue_event(struct verbs_conn *c, struct fabric_event *ev)
{
	if (ring_event(&c->recvs, ev))
		return true;
	if (!ring_event(&c->sends, ev))
		return false;
	if (ev->type != FABRIC_EV_WITHDRAWN)
		c->ops_out--;
	return true;
}

/* Posts */

int queue_post(struct verbs_conn *c, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (c->broken || ibv_post_send(c->id->qp, wr, &bad)) {
		c->broken = true;
		verbs_activate(c);
		return ERR_CLOSED;
	}
	c->sq_posted++;
	return 0;
}

int queue_post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct vop *op;

	if (c->state >= VERBS_DRAINING || c->broken || !c->exps)
		return ERR_CLOSED;
	if (c->recvs.posted - c->recvs.polled >= c->max_recvs)
		return ERR_AGAIN;
	op = queue_op(&c->recvs);
	op->type = FABRIC_EV_RECV;
	op->cookie = cookie;
	op->addr = buf;
	op->len = len;
	if (c->id->qp && post_recv(c, c->recvs.posted - 1)) {
		c->recvs.posted--;
		c->broken = true;
		verbs_activate(c);
		return ERR_CLOSED;
	}
	return 0;
}

/* May one more of the user's operations be posted? */
static int may_post(const struct verbs_conn *c)
{
	if (c->state != VERBS_OPEN || c->broken)
		return ERR_CLOSED;
	if (c->ops_out >= c->max_sends || !queue_has_room(c, 1))
		return ERR_AGAIN;
	return 0;
}

/* Pieces with nothing in them are left out: to some devices 0 means 2 GiB. */
static int gather(const struct verbs_conn *c, const struct fabric_sge *sge, unsigned nsge,
		  struct ibv_sge *to)
{
	unsigned n = 0;

	if (nsge > FABRIC_MAX_SGE)
		return ERR_TOOBIG;
	for (unsigned i = 0; i < nsge; i++) {
		const struct ibv_mr *mr;

		if (!sge[i].len)
			continue;
		if (n == c->max_sge)
			return ERR_TOOBIG;
		mr = device_region(c->dev, sge[i].addr, sge[i].len);
		assert(mr);
		to[n++] = (struct ibv_sge){
			.addr = (uintptr_t)sge[i].addr, .length = sge[i].len, .lkey = mr->lkey};
	}
	return (int)n;
}

static int post_op(struct verbs_conn *c, struct ibv_send_wr *wr, struct vop like)
{
	struct vop *op;
	int err;

	wr->wr_id = c->sends.posted;
	wr->send_flags |= IBV_SEND_SIGNALED;
	err = queue_post(c, wr);
	if (err)
		return err;
	op = queue_op(&c->sends);
	*op = like;
	op->slot = c->sq_posted;
	c->ops_out++;
	if (op->type != FABRIC_EV_READ)
		c->words_out++;
	return 0;
}

int queue_send(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	       uint32_t inv_handle, unsigned flags, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct ibv_sge to[FABRIC_MAX_SGE];
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = to};
	int err = may_post(c), n = err ? err : gather(c, sge, nsge, to);

	if (n < 0)
		return n;
	wr.num_sge = n;
	if (flags & FABRIC_SOLICITED)
		wr.send_flags = IBV_SEND_SOLICITED;
	if (inv_handle && c->dev->send_inv) {
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = inv_handle;
		wr.wr.rdma.rkey = inv_handle; /* where libsiw (rdma-core 44) looks for it */
	}
	c->v->counters.sends++;
	return post_op(c, &wr, (struct vop){.type = FABRIC_EV_SEND, .cookie = cookie});
}

int queue_write(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
		const struct segment *remote, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct ibv_sge to[FABRIC_MAX_SGE];
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .sg_list = to};
	int err = may_post(c), n = err ? err : gather(c, sge, nsge, to);

	if (n < 0)
		return n;
	wr.num_sge = n;
	wr.wr.rdma.remote_addr = remote->offset;
	wr.wr.rdma.rkey = remote->handle;
	c->v->counters.writes++;
	return post_op(c, &wr, (struct vop){.type = FABRIC_EV_WRITE, .cookie = cookie});
}

/* On iWARP the sink of a Read is written by the peer's tagged messages: it must be open to
 * that, and nothing else of ours (RFC 5040 section 5.5). */
static int read_sink(struct verbs_conn *c, void *to, uint32_t len, struct ibv_mr **mr)
{
	*mr = NULL;
	if (!c->dev->iwarp || !len)
		return 0;
	*mr = ibv_reg_mr(c->dev->pd, to, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	c->v->counters.registrations++;
	return *mr ? 0 : ERR_AGAIN;
}

int queue_read(struct fabric_conn *fc, void *to, const struct segment *remote, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct ibv_sge sge = {.addr = (uintptr_t)to, .length = remote->length};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ, .sg_list = &sge};
	const struct ibv_mr *region;
	struct ibv_mr *own;
	int err = may_post(c);

	if (!err)
		err = read_sink(c, to, remote->length, &own);
	if (err)
		return err;
	region = own ? own : device_region(c->dev, to, remote->length);
	assert(region || !remote->length);
	wr.num_sge = remote->length ? 1 : 0;
	sge.lkey = region ? region->lkey : 0;
	wr.wr.rdma.remote_addr = remote->offset;
	wr.wr.rdma.rkey = remote->handle;
	c->v->counters.reads++;
	err = post_op(c, &wr, (struct vop){.type = FABRIC_EV_READ, .cookie = cookie, .mr = own});
	if (err && own)
		(void)ibv_dereg_mr(own);
	return err;
}
