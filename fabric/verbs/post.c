/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>

#include "base/mem.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/queue.h"
#include "fabric/verbs/submit.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/vring.h"
#include "fabric/verbs/window.h"

/*
 * Operation
 *
 * A post adds a record to a ring, and a work request to the connection's chain. The number of the
 * record is the identifier of the request. fabric_flush() hands the requests to the device
 * (submit.c). Work requests come from a store of the worker. When the store is empty, the requests
 * in chains are handed to the device before the flush.
 *
 * Each Read and each local invalidate requests a completion of its own, because an event depends on
 * it, and siw may complete a Send before a Read that was posted before the Send.
 *
 * The send queue has slots for the user's operations, for binds, which request no completion, and
 * for local invalidates. A completion frees all slots up to its own. A withdraw must not fail, so
 * each bound window has a slot reserved. A Send must not fail for lack of slots either, so binds
 * use only slots beyond .max_sends.
 */

enum { STORE = 128 }; /* work requests of a worker's chains */

struct vwr {
	struct ibv_send_wr wr;
	struct ibv_sge sge[FABRIC_MAX_SGE];
};

int post_init(struct verbs *v)
{
	list_init(&v->pending);
	v->store = mem_zalloc(STORE * sizeof(*v->store));
	if (!v->store)
		return ERR_NOMEM;
	for (unsigned i = 0; i < STORE; i++) {
		v->store[i].wr.next = v->free_wrs;
		v->free_wrs = &v->store[i].wr;
	}
	return 0;
}

void post_fini(struct verbs *v)
{
	mem_free(v->store);
}

static void mark_pending(struct verbs_conn *c)
{
	if (list_is_empty(&c->pending))
		list_add_tail(&c->v->pending, &c->pending);
}

static struct vwr *post_begin(struct verbs_conn *c)
{
	struct vwr *w;

	if (!c->v->free_wrs)
		submit_all(c->v);
	if (c->broken)
		return NULL;
	w = container_of(c->v->free_wrs, struct vwr, wr);
	c->v->free_wrs = w->wr.next;
	w->wr = (struct ibv_send_wr){0};
	return w;
}

/* Sets the list of @n pieces. A list of 0 pieces has an empty one, because libraries read the first
 * piece before the number of pieces: libirdma in a Write, liberdma in a Read, libcxgb4 in a Write
 * and in the Send behind it. */
static void set_pieces(struct vwr *w, unsigned n)
{
	if (!n)
		w->sge[0] = (struct ibv_sge){0};
	w->wr.num_sge = (int)n;
	w->wr.sg_list = w->sge;
}

static void abandon(struct verbs_conn *c, struct vwr *w)
{
	w->wr.next = c->v->free_wrs;
	c->v->free_wrs = &w->wr;
}

static void append(struct verbs_conn *c, struct vwr *w)
{
	if (c->chain_last)
		c->chain_last->next = &w->wr;
	else
		c->chain = &w->wr;
	c->chain_last = &w->wr;
	c->sq_posted++;
	mark_pending(c);
}

/* Adds @w to the chain. Return: its record. */
static struct vop *append_op(struct verbs_conn *c, struct vwr *w, enum fabric_ev_type type,
			     void *cookie)
{
	struct vop *op;

	w->wr.wr_id = c->sends.posted;
	append(c, w);
	op = vring_add(&c->sends);
	op->type = type;
	op->cookie = cookie;
	op->slot = c->sq_posted;
	op->extras = c->extras_posted;
	if (type == FABRIC_EV_SEND || type == FABRIC_EV_WRITE) {
		c->chain_word = &w->wr;
		c->strings_out++;
		return op;
	}
	w->wr.send_flags |= IBV_SEND_SIGNALED;
	op->signalled = true;
	c->v->counters.signals++;
	return op;
}

int post_bind(struct verbs_conn *c, struct ibv_mw *mw, uint32_t key,
	      const struct ibv_mw_bind_info *info)
{
	struct vwr *w = post_begin(c);

	if (!w)
		return ERR_CLOSED;
	w->wr.wr_id = ID_BIND;
	w->wr.opcode = IBV_WR_BIND_MW;
	w->wr.bind_mw.mw = mw;
	w->wr.bind_mw.rkey = key;
	w->wr.bind_mw.bind_info = *info;
	c->extras_posted++;
	append(c, w);
	return 0;
}

/* The key of a Write of no octets is not checked, but iWARP adapters are reported to refuse 0. */
enum { KEY_OF_NOTHING = 1 };

void post_ask(struct verbs_conn *c)
{
	struct vwr *w = queue_has_room(c, 1) ? post_begin(c) : NULL;

	if (!w)
		return;
	w->wr.wr_id = ID_ASK;
	w->wr.opcode = IBV_WR_RDMA_WRITE;
	w->wr.send_flags = IBV_SEND_SIGNALED;
	w->wr.wr.rdma.rkey = KEY_OF_NOTHING;
	set_pieces(w, 0);
	append(c, w);
	c->asked = true;
	c->ask_slot = c->sq_posted;
	c->ask_extras = c->extras_posted;
	c->v->counters.asked++;
	submit_conn(c);
}

struct vop *post_invalidate(struct verbs_conn *c, uint32_t key, void *cookie)
{
	struct vwr *w = post_begin(c);

	if (!w)
		return NULL;
	w->wr.opcode = IBV_WR_LOCAL_INV;
	w->wr.invalidate_rkey = key;
	c->extras_posted++;
	return append_op(c, w, FABRIC_EV_WITHDRAWN, cookie);
}

void post_held(struct verbs_conn *c, uint32_t index, uint32_t handle, void *cookie)
{
	struct vop *op = vring_add(&c->sends);

	op->type = FABRIC_EV_WITHDRAWN;
	op->cookie = cookie;
	op->slot = c->sq_posted;
	op->extras = c->extras_posted;
	op->exposure = index;
	op->inv = handle;
	op->signalled = true; /* it needs a completion of its own */
}

/* Adds a Receive of @n pieces. Return: as fabric_post_pieces(). */
static int add_recv(struct verbs_conn *c, const struct fabric_piece *pieces, unsigned n,
		    void *cookie)
{
	struct vop *op;

	if (c->state >= VERBS_DRAINING || c->broken || !c->exps)
		return ERR_CLOSED;
	assert(!c->v->shares_receives || c->pieces);
	if (c->recvs.posted - c->recvs.polled >= c->max_recvs)
		return ERR_AGAIN;
	op = vring_add(&c->recvs);
	op->type = FABRIC_EV_RECV;
	op->cookie = cookie;
	op->addr = n ? pieces[0].addr : NULL;
	op->len = (uint32_t)fabric_pieces_bytes(pieces, n);
	op->signalled = true;
	for (unsigned i = 0; c->pieces && i < c->recv_pieces; i++)
		c->pieces[(size_t)(op - c->recvs.ops) * c->recv_pieces + i] =
			i < n ? pieces[i] : (struct fabric_piece){0};
	mark_pending(c);
	return 0;
}

int post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie)
{
	const struct fabric_piece whole = {buf, len};

	return add_recv(vconn_of(fc), &whole, 1, cookie);
}

int post_pieces(struct fabric_conn *fc, const struct fabric_piece *pieces, unsigned n, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);

	if (n > c->recv_pieces || fabric_pieces_bytes(pieces, n) > UINT32_MAX)
		return ERR_TOOBIG;
	return add_recv(c, pieces, n, cookie);
}

/* Takes a work request for an operation of the user. */
static int begin_op(struct verbs_conn *c, struct vwr **w)
{
	if (c->state != VERBS_OPEN || c->broken)
		return ERR_CLOSED;
	if (c->ops_out >= c->max_sends || !queue_has_room(c, 1))
		return ERR_AGAIN;
	*w = post_begin(c);
	return *w ? 0 : ERR_CLOSED;
}

/* Empty pieces are left out: to some devices length 0 means 2 GiB. */
static int gather(struct verbs_conn *c, const struct fabric_sge *sge, unsigned nsge, struct vwr *w)
{
	unsigned n = 0;
	uint64_t total = 0;

	if (nsge > FABRIC_MAX_SGE)
		return ERR_TOOBIG;
	for (unsigned i = 0; i < nsge; i++) {
		const struct ibv_mr *mr;

		if (!sge[i].len)
			continue;
		if (n == c->max_sge)
			return ERR_TOOBIG;
		mr = memory_region(c->dev, sge[i].addr, sge[i].len);
		assert(mr);
		w->sge[n++] = (struct ibv_sge){
			.addr = (uintptr_t)sge[i].addr, .length = sge[i].len, .lkey = mr->lkey};
		total += sge[i].len;
	}
	set_pieces(w, n);
	if (total && total <= c->max_inline) {
		w->wr.send_flags |= IBV_SEND_INLINE;
		c->v->counters.inlines++;
	}
	return 0;
}

/* Takes a work request for the octets of @sge. */
static int begin_gathered(struct verbs_conn *c, const struct fabric_sge *sge, unsigned nsge,
			  struct vwr **w)
{
	int err = begin_op(c, w);

	if (err)
		return err;
	err = gather(c, sge, nsge, *w);
	if (err)
		abandon(c, *w);
	return err;
}

int post_send(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	      uint32_t inv_handle, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct vwr *w = NULL;
	int err = begin_gathered(c, sge, nsge, &w);

	if (err)
		return err;
	w->wr.opcode = IBV_WR_SEND;
	if (inv_handle && c->dev->send_inv) {
		w->wr.opcode = IBV_WR_SEND_WITH_INV;
		w->wr.invalidate_rkey = inv_handle;
		w->wr.wr.rdma.rkey = inv_handle; /* libsiw (rdma-core 44) reads it here */
	}
	c->v->counters.sends++;
	c->ops_out++;
	append_op(c, w, FABRIC_EV_SEND, cookie);
	return 0;
}

int post_write(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	       const struct segment *remote, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct vwr *w = NULL;
	int err = begin_gathered(c, sge, nsge, &w);

	if (err)
		return err;
	w->wr.opcode = IBV_WR_RDMA_WRITE;
	w->wr.wr.rdma.remote_addr = remote->offset;
	w->wr.wr.rdma.rkey = remote->handle;
	c->v->counters.writes++;
	c->ops_out++;
	append_op(c, w, FABRIC_EV_WRITE, cookie);
	return 0;
}

/* The registration of a Read's sink. On iWARP the response to a Read is a tagged message, so the
 * sink must be writable for the peer. It gets a registration of its own, so that no other memory is
 * (RFC 5040 section 5.5). */
static int read_sink(struct verbs_conn *c, void *to, uint32_t len, struct ibv_mr **mr, uint64_t *at)
{
	*mr = NULL;
	*at = (uintptr_t)to;
	if (!c->dev->iwarp || !len)
		return 0;
	*at = device_offset(c->dev, to);
	*mr = memory_own_region(c, to, len, IBV_ACCESS_REMOTE_WRITE, *at);
	return *mr ? 0 : ERR_AGAIN;
}

int post_read(struct fabric_conn *fc, void *to, const struct segment *remote, void *cookie)
{
	struct verbs_conn *c = vconn_of(fc);
	struct vwr *w = NULL;
	const struct ibv_mr *region;
	struct ibv_mr *own;
	uint64_t at;
	int err = fc->no_reads ? ERR_PROTO : begin_op(c, &w);

	if (err)
		return err;
	err = read_sink(c, to, remote->length, &own, &at);
	if (err) {
		abandon(c, w);
		return err;
	}
	region = own ? own : memory_region(c->dev, to, remote->length);
	assert(region || !remote->length);
	w->sge[0] = (struct ibv_sge){
		.addr = at, .length = remote->length, .lkey = region ? region->lkey : 0};
	set_pieces(w, remote->length ? 1 : 0);
	w->wr.opcode = IBV_WR_RDMA_READ;
	w->wr.wr.rdma.remote_addr = remote->offset;
	w->wr.wr.rdma.rkey = remote->handle;
	c->v->counters.reads++;
	c->ops_out++;
	append_op(c, w, FABRIC_EV_READ, cookie)->mr = own;
	return 0;
}
