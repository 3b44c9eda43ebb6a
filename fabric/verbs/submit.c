/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * This file hands the rings and chains of post.c to the device, with one call for each queue,
 * Receives before Sends. In a chain the last Send or Write requests a completion, which stands for
 * those before it. So every operation completes without a later post.
 */

enum { RECV_BATCH = 32 };

static void broke(struct verbs_conn *c)
{
	c->broken = true;
	wake_conn(c);
}

/* The memory of @op in the device's form. Empty pieces are left out: to some devices length 0 means
 * 2 GiB. Return: pieces in @sge. */
static int scatter(const struct verbs_conn *c, const struct vop *op, struct ibv_sge *sge)
{
	const struct fabric_piece whole = {op->addr, op->len}, *pieces = &whole;
	uint32_t n = 1;
	int used = 0;

	if (c->pieces) {
		pieces = &c->pieces[(size_t)(op - c->recvs.ops) * c->recv_pieces];
		n = c->recv_pieces;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ibv_mr *mr;

		if (!pieces[i].len)
			continue;
		mr = memory_region(c->dev, pieces[i].addr, pieces[i].len);
		assert(mr);
		sge[used++] = (struct ibv_sge){.addr = (uintptr_t)pieces[i].addr,
					       .length = pieces[i].len,
					       .lkey = mr->lkey};
	}
	return used;
}

static void submit_recvs(struct verbs_conn *c)
{
	struct ibv_recv_wr wr[RECV_BATCH], *bad;
	struct ibv_sge sge[RECV_BATCH][FABRIC_MAX_PIECES];

	while (c->recvs_given != c->recvs.posted && !c->broken) {
		unsigned n = 0;

		for (; n < RECV_BATCH && c->recvs_given != c->recvs.posted; n++) {
			const struct vop *op = &c->recvs.ops[c->recvs_given & c->recvs.mask];
			int used = scatter(c, op, sge[n]);

			wr[n] = (struct ibv_recv_wr){.wr_id = ID_RECV | c->recvs_given++,
						     .sg_list = used ? sge[n] : NULL,
						     .num_sge = used};
			if (n)
				wr[n - 1].next = &wr[n];
		}
		c->v->counters.posts++;
		if (ibv_post_recv(c->id->qp, wr, &bad))
			broke(c);
	}
}

/* Empties the chain: its work requests were given to the device, or dropped. */
static void give_back(struct verbs_conn *c)
{
	if (c->chain_last) {
		c->chain_last->next = c->v->free_wrs;
		c->v->free_wrs = c->chain;
	}
	c->chain = c->chain_last = c->chain_word = NULL;
}

/* Posts the Sends from @from on again, without Invalidate: some user libraries (bnxt_re, ocrdma)
 * reject Send with Invalidate although the kernel's flags have it. If they are refused again,
 * Invalidate was not the reason: libcxgb4 refuses every work request after the end of the
 * stream. */
static int send_without_invalidate(struct verbs_conn *c, struct ibv_send_wr *from)
{
	struct ibv_send_wr *bad;

	for (struct ibv_send_wr *wr = from; wr; wr = wr->next)
		if (wr->opcode == IBV_WR_SEND_WITH_INV)
			wr->opcode = IBV_WR_SEND;
	if (ibv_post_send(c->id->qp, from, &bad))
		return ERR_IO;
	if (c->dev->send_inv)
		log_warn("verbs.device", "device=%s send_with_invalidate=no why=\"refused\"",
			 c->dev->name);
	c->dev->send_inv = false;
	return 0;
}

static int send_chain(struct verbs_conn *c, struct ibv_send_wr *chain)
{
	struct ibv_send_wr *bad = NULL;
	int err = abs(ibv_post_send(c->id->qp, chain, &bad));

	if ((err == EINVAL || err == EOPNOTSUPP) && bad && bad->opcode == IBV_WR_SEND_WITH_INV)
		err = send_without_invalidate(c, bad);
	return err ? ERR_IO : 0;
}

static void submit_sends(struct verbs_conn *c)
{
	if (c->chain_word) {
		c->chain_word->send_flags |= IBV_SEND_SIGNALED;
		c->sends.ops[(uint32_t)c->chain_word->wr_id & c->sends.mask].signalled = true;
		c->v->counters.signals++;
	}
	c->v->counters.posts++;
	if (send_chain(c, c->chain))
		broke(c);
	/* The key of a window of type 2 changes with each bind: the post needs the old key, and
	 * .rkey gets the new one afterwards. */
	for (struct ibv_send_wr *wr = c->chain; wr; wr = wr->next)
		if (wr->opcode == IBV_WR_BIND_MW)
			wr->bind_mw.mw->rkey = wr->bind_mw.rkey;
	give_back(c);
}

void submit_conn(struct verbs_conn *c)
{
	list_del(&c->pending);
	if (!c->id || !c->id->qp)
		return; /* queue_make() posts them */
	if (!c->share)
		submit_recvs(c);
	if (c->chain && !c->broken)
		submit_sends(c);
	give_back(c);
}

void submit_drop(struct verbs_conn *c)
{
	list_del(&c->pending);
	give_back(c);
}

void submit_all(struct verbs *v)
{
	while (!list_is_empty(&v->pending))
		submit_conn(list_first(&v->pending, struct verbs_conn, pending));
}
