/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "base/budget_queues.h"
#include "base/mem.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/device.h"
#include "fabric/verbs/expose.h"
#include "fabric/verbs/limits.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/srq.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/vring.h"

/*
 * Operation
 *
 * A connection has a queue pair and a completion queue of its own, made when its device is known.
 * Posts are recorded in two rings, one for each queue (vring.c): post.c adds records, complete.c
 * removes them. If Receives are shared, the connection's completion queue has only completions of
 * what it sends, and each message adds a record to the ring of Receives.
 */

enum { RNR_FOR_EVER = 7 };

/* fabric_accept() calls this after fabric_prepare() did: the second call does nothing. */
int queue_depths(struct verbs_conn *c, const struct fabric_conn_params *p)
{
	const struct verbs_config *cfg = &c->v->cfg;

	c->ird = p->ird ? p->ird : cfg->ird;
	c->ord = p->ord ? p->ord : cfg->ord;
	if (c->exps)
		return 0;
	c->tuning = p->tuning;
	if (!c->tuning.retry_count)
		c->tuning.retry_count = cfg->retry_count;
	if (!c->tuning.rnr_retry_count)
		c->tuning.rnr_retry_count = cfg->rnr_retry_count;
	/* A shared queue may be empty because other connections use it, so peers have to retry
	 * without limit. */
	if (!c->tuning.rnr_retry_count && c->v->shares_receives && p->recv_pieces < 2)
		c->tuning.rnr_retry_count = RNR_FOR_EVER;
	if (!c->tuning.resolve_ms)
		c->tuning.resolve_ms = cfg->resolve_timeout_ms;
	c->max_recvs = p->max_recvs;
	c->max_sends = p->max_sends;
	c->max_exposures = p->max_exposures;
	c->domain = p->domain;
	c->recv_pieces = p->recv_pieces;
	if (c->recv_pieces > FABRIC_MAX_PIECES)
		return ERR_TOOBIG;
	/* The user may expose and withdraw again in a slot before the completion of its last
	 * withdrawal is polled. */
	if (vring_init(&c->recvs, c->max_recvs) ||
	    vring_init(&c->sends, c->max_sends + 2 * c->max_exposures))
		return ERR_NOMEM;
	if (c->recv_pieces > 1) {
		c->pieces = mem_zalloc((c->recvs.mask + 1) * (size_t)c->recv_pieces *
				       sizeof(*c->pieces));
		if (!c->pieces)
			return ERR_NOMEM;
	}
	return expose_init(c);
}

/* Limits the depths to those of the device. */
static void cut_depths(struct verbs_conn *c)
{
	uint32_t most = (uint32_t)c->dev->attr.max_qp_wr;

	/* Binds take entries as well, and alive.c takes one. */
	c->sq_size = budget_requests(c->max_sends, c->dev->windows ? c->max_exposures : 0);
	if (c->sq_size > most)
		c->sq_size = most;
}

/* Octets for the pieces: here, and in the device's work requests. */
static size_t pieces_cost(const struct fabric_conn_params *p)
{
	return (size_t)budget_power_of_two(p->max_recvs) * p->recv_pieces *
	       (sizeof(struct fabric_piece) + sizeof(struct ibv_sge));
}

size_t queue_cost(const struct fabric *f, const struct fabric_conn_params *p)
{
	const struct verbs *v = container_of(f, const struct verbs, base);
	const struct budget_depths d = {p->max_recvs, p->max_sends, p->max_exposures};

	_Static_assert(BUDGET_REQUEST == 192 + FABRIC_MAX_SGE * sizeof(struct ibv_sge), "pieces");
	_Static_assert(sizeof(struct vop) <= BUDGET_OP, "an operation");
	/* The hash table has a power of two entries. */
	_Static_assert(sizeof(struct vexp) + 2 * sizeof(uint32_t) <= BUDGET_EXPOSURE,
		       "an exposure");
	return sizeof(struct verbs_conn) +
	       budget_queues(&d, v->shares_receives && p->recv_pieces < 2) +
	       (p->recv_pieces > 1 ? pieces_cost(p) : 0);
}

/* The shared queue whose Receives it uses; NULL: its own. */
static struct vshare *share_of(const struct verbs_conn *c)
{
	return c->recv_pieces > 1 ? NULL : c->dev->share;
}

/* The error of a call to the device that failed. The peer is not the reason in any case. */
static int device_error(void)
{
	return errno == ENOMEM ? ERR_NOMEM : ERR_LOCAL;
}

static int make_pair(struct verbs_conn *c)
{
	const struct vshare *share = share_of(c);
	struct ibv_qp_init_attr attr = {
		.qp_context = c,
		.send_cq = c->cq.cq,
		.recv_cq = share ? share->cq.cq : c->cq.cq,
		.srq = share ? share->srq : NULL,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = c->sq_size,
			.max_recv_wr = share	      ? 0
				       : c->max_recvs ? c->max_recvs
						      : 1,
			.max_send_sge = c->dev->max_sge,
			.max_recv_sge = c->recv_pieces > 1 ? c->recv_pieces : 1,
			.max_inline_data = c->dev->max_inline},
	};

	if (rdma_create_qp(c->id, c->dev->pd, &attr))
		return device_error();
	/* The granted value counts, not the requested one. */
	c->max_inline = limits_inline(&attr.cap);
	c->max_sge = c->dev->max_sge;
	if (c->max_sge > attr.cap.max_send_sge)
		c->max_sge = attr.cap.max_send_sge;
	return 0;
}

static int take_device(struct verbs_conn *c)
{
	if (c->dev)
		return 0;
	c->dev = device_get(c->v, c->id->verbs, c->domain);
	if (!c->dev) { /* the reason was logged */
		errno = ENODEV;
		return ERR_LOCAL;
	}
	c->dev->conns++;
	return 0;
}

/* Make the queue pair and its completion queue. */
static int make_queues(struct verbs_conn *c)
{
	uint32_t depth = (share_of(c) ? 0 : c->max_recvs) + c->sq_size + 1;
	int err = cq_make(&c->cq, c->dev, depth) ? device_error() : make_pair(c);

	if (err)
		return err;
	errno = ibv_req_notify_cq(c->cq.cq, 0); /* returns what others put into errno */
	return errno ? device_error() : 0;
}

int queue_make(struct verbs_conn *c)
{
	int err;

	if (c->id->qp)
		return 0;
	err = take_device(c);
	if (err)
		return err;
	c->base.remote_inv = c->v->base.remote_inv && c->dev->windows;
	cut_depths(c);
	c->cq.busy_poll_us = c->tuning.busy_poll_us;
	err = make_queues(c);
	if (!err && share_of(c))
		err = share_join(c);
	if (err)
		return err;
	submit_conn(c);
	return c->broken ? ERR_LOCAL : 0;
}

int verbs_agreed(const struct fabric_conn *fc, struct verbs_agreed *agreed)
{
	const struct verbs_conn *c = container_of(fc, const struct verbs_conn, base);
	const int mask = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_RETRY_CNT |
			 IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (c->state != VERBS_OPEN || ibv_query_qp(c->id->qp, &attr, mask, &init))
		return ERR_CLOSED;
	*agreed = (struct verbs_agreed){.reads_issued = attr.max_rd_atomic,
					.reads_served = attr.max_dest_rd_atomic,
					.retry_count = attr.retry_cnt,
					.rnr_retry_count = attr.rnr_retry,
					.rnr_timer = attr.min_rnr_timer,
					.max_inline = c->max_inline};
	return 0;
}

void queue_put_back(struct verbs_conn *c)
{
	if (!c->share)
		return;
	while (c->recvs.polled != c->recvs.done)
		srq_put_back(c->share, c->recvs.ops[c->recvs.polled++ & c->recvs.mask].slot);
	srq_unuse(c->share);
	c->share = NULL;
}

void queue_free(struct verbs_conn *c)
{
	mem_free(c->recvs.ops);
	mem_free(c->pieces);
	mem_free(c->sends.ops);
	mem_free(c->exps);
	mem_free(c->buckets);
}
