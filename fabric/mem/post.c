/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "fabric/mem/post.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"
#include "fabric/mem/range.h"
#include "fabric/mem/shared.h"

/*
 * Operation. A post takes a free slot, records its parameters there and puts the slot into the
 * lists of its connection (op.c). The flush gives Sends, Writes and Reads a time of arrival; a
 * Receive can be used from the flush on. The slot is free again when the completion was polled, so
 * a user that never polls gets ERR_AGAIN.
 */

static int post_recv(struct mem_conn *c, const struct fabric_piece *pieces, unsigned n,
		     void *cookie)
{
	struct list *slot;
	struct mem_op *op;

	if (c->state == MEM_ENDED || c->closing)
		return ERR_CLOSED;
	assert(!mem_shared_serves(c));
	assert(c->recvs); /* fabric_prepare() comes first */
	for (unsigned i = 0; i < n; i++)
		assert(mem_range_owns(mem_conn_fabric(c), pieces[i].addr, pieces[i].len));
	slot = list_pop(&c->free_recvs);
	if (!slot)
		return ERR_AGAIN;
	op = container_of(slot, struct mem_op, link);
	memcpy(op->to, pieces, n * sizeof(pieces[0]));
	op->npieces = n;
	op->len = (uint32_t)fabric_pieces_bytes(pieces, n);
	mem_op_arm(op);
	mem_op_post(c, op, MEM_RECV, cookie);
	return 0;
}

int mem_post_recv(struct fabric_conn *base, void *buf, uint32_t len, void *cookie)
{
	const struct fabric_piece piece = {buf, len};

	return post_recv(mem_conn_of(base), &piece, 1, cookie);
}

int mem_post_pieces(struct fabric_conn *base, const struct fabric_piece *pieces, unsigned n,
		    void *cookie)
{
	struct mem_conn *c = mem_conn_of(base);

	if (n > c->recv_pieces || fabric_pieces_bytes(pieces, n) > UINT32_MAX)
		return ERR_TOOBIG;
	return post_recv(c, pieces, n, cookie);
}

/* A slot for a Send, Write or Read. */
static int take_slot(struct mem_conn *c, struct mem_op **op)
{
	struct memnet *net = mem_conn_net(c);
	struct list *slot;

	if (c->state == MEM_ENDED || c->closing)
		return ERR_CLOSED;
	assert(c->state == MEM_OPEN && c->polled); /* not before CONNECTED was polled */
	if (memnet_fault_hits(net, MEMNET_POST_FAIL, &net->posts))
		return ERR_AGAIN;
	slot = list_pop(&c->free_ops);
	if (!slot)
		return ERR_AGAIN;
	*op = container_of(slot, struct mem_op, link);
	(*op)->npieces = 0;
	(*op)->exposure = NULL;
	return 0;
}

static int take_gather(struct mem_conn *c, const struct fabric_sge *sge, unsigned nsge,
		       struct mem_op **taken)
{
	struct mem_op *op;
	uint64_t len = 0;
	int err;

	for (unsigned i = 0; i < nsge; i++) {
		assert(mem_range_owns(mem_conn_fabric(c), sge[i].addr, sge[i].len));
		len += sge[i].len;
	}
	if (nsge > FABRIC_MAX_SGE || len > UINT32_MAX)
		return ERR_TOOBIG;
	err = take_slot(c, taken);
	if (err)
		return err;
	op = *taken;
	if (nsge)
		memcpy(op->sge, sge, nsge * sizeof(*sge));
	op->nsge = nsge;
	op->len = (uint32_t)len;
	op->sum = mem_op_sum(op);
	return 0;
}

int mem_send(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	     uint32_t inv_handle, void *cookie)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_op *op;
	int err = take_gather(c, sge, nsge, &op);

	if (err)
		return err;
	op->inv_handle = inv_handle;
	mem_op_post(c, op, MEM_SEND, cookie);
	return 0;
}

int mem_write(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	      const struct segment *remote, void *cookie)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_op *op;
	int err = take_gather(c, sge, nsge, &op);

	if (err)
		return err;
	op->remote = *remote;
	op->remote.length = op->len;
	op->went = 0;
	mem_op_post(c, op, MEM_WRITE, cookie);
	return 0;
}

int mem_read(struct fabric_conn *base, void *to, const struct segment *remote, void *cookie)
{
	struct mem_conn *c = mem_conn_of(base);
	struct mem_op *op;
	int err;

	assert(mem_range_owns(mem_conn_fabric(c), to, remote->length));
	if (c->state != MEM_ENDED && !c->closing && mem_is_short(mem_conn_fabric(c)))
		return ERR_AGAIN;
	err = take_slot(c, &op);
	if (err)
		return err;
	op->nsge = 0;
	op->to[0] = (struct fabric_piece){to, remote->length};
	op->npieces = 1;
	op->len = remote->length;
	op->remote = *remote;
	mem_op_arm(op);
	mem_op_post(c, op, MEM_READ, cookie);
	return 0;
}

/* How long the peer, if it is slow, takes to process @op. */
static nsec_t takes_at_peer(const struct mem_conn *c, const struct mem_op *op)
{
	const struct memnet_pace *pace = c->peer ? &c->peer->pace : NULL;

	return pace && op->kind != MEM_READ ? pace->take + op->len * pace->take_octet : 0;
}

static void send_off(struct mem_conn *c, struct mem_op *op)
{
	op->due.what = MEM_ARRIVES;
	op->due.local = false;
	memnet_schedule(mem_conn_net(c), &op->due,
			memnet_wire_slow(c, &c->last_sent, takes_at_peer(c, op)));
}

void mem_post_reads(struct mem_conn *c)
{
	struct list *item;

	while (!c->closing && c->reads_active < c->read_depth && (item = list_pop(&c->reads))) {
		c->reads_active++;
		send_off(c, container_of(item, struct mem_op, link));
	}
}

void memnet_deny_reads(struct fabric_conn *base)
{
	struct mem_conn *reader = mem_conn_of(base)->peer;

	assert(reader && !reader->reads_active);
	reader->read_depth = 0;
	reader->base.no_reads = true;
}

void memnet_issue_no_reads(struct fabric_conn *base)
{
	mem_conn_of(base)->peer->base.issues_no_reads = true;
}

static void flush_op(struct mem_conn *c, struct mem_op *op)
{
	if (c->hold && op->kind != MEM_RECV && op->kind != MEM_WITHDRAW) {
		list_add_tail(&c->held, &op->link);
		return;
	}
	op->flushed = true;
	switch (op->kind) {
	case MEM_SEND:
	case MEM_WRITE:
		send_off(c, op);
		break;
	case MEM_READ:
		list_add_tail(&c->reads, &op->link);
		mem_post_reads(c);
		break;
	case MEM_WITHDRAW:
		op->due.what = MEM_FENCED;
		op->due.local = true;
		memnet_schedule(mem_conn_net(c), &op->due, memnet_soon(mem_conn_net(c)));
		break;
	case MEM_RECV:
	case MEM_KINDS:
		break;
	}
}

void mem_post_release(struct mem_conn *c)
{
	struct list *item;

	if (!c->hold)
		return;
	c->hold = false;
	while ((item = list_pop(&c->held)))
		flush_op(c, container_of(item, struct mem_op, link));
}

void mem_post_flush(struct mem_conn *c)
{
	struct list *item;

	while ((item = list_pop(&c->posted)))
		flush_op(c, container_of(item, struct mem_op, link));
}
