/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   initiator: IDLE -> CONNECTING -> NEGOTIATING (v2 tried) -> OPEN -> CLOSED
 *                                \-----> OPEN (v1 only) --/
 *   acceptor:  IDLE -> CONNECTING -> NEGOTIATING (first message awaited) -> OPEN -> CLOSED
 *
 * Receives are posted before the connection is made. The transport is chosen
 * when the version is: at CONNECTED for an initiator (and once more when the
 * peer answers version 2 with ERR_VERS), at the first message for an acceptor.
 *
 * Sends: every message passes leg_pump(), which drains the transport's own
 * messages first, then a continued message under way, then replies, then calls.
 * Each Send takes a slot, which owns its header octets until completion.
 *
 * Receives are never overrun: version 2 advertises what is really posted;
 * version 1 cannot, so no call leaves unless a Receive is left for its reply.
 */
#include "proxy/leg.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "xdr/cursor.h"

enum {
	SEND_SLOTS = 32,
	BLOCK_BYTES = 64 * 1024, /* Receive buffers and headers are cut from blocks of this size */
	FIRST_MESSAGE_MIN = 16,	 /* the four words both versions share */
	ERR_VERS_BYTES = 28,
};

struct leg_rbuf {
	struct list link;
	uint8_t *data;
	uint8_t *block; /* owned by the buffer that lies first in it, else NULL */
	uint32_t len;
	uint32_t invalidated;
};

struct leg_slot {
	struct leg_slot *next;
	uint8_t *data;
	uint8_t *block;	   /* as above */
	struct leg_tx *tx; /* NULL for a message of the transport's own */
};

void leg_init(struct leg *leg, enum rpc_role role)
{
	memset(leg, 0, sizeof(*leg));
	leg->role = role;
	leg->deadline = NSEC_NEVER;
	list_init(&leg->rxq);
	list_init(&leg->replies);
	list_init(&leg->calls);
	list_init(&leg->dead);
	list_init(&leg->waiter.link);
}

/* Cut @n buffers of @size octets from blocks; set(i) is told each buffer and its block if first. */
static int cut_blocks(struct leg *leg, uint32_t n, uint32_t size,
		      void (*set)(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block))
{
	uint32_t per_block = BLOCK_BYTES / size;
	uint8_t *block = NULL;

	for (uint32_t i = 0; i < n; i++) {
		bool is_first = i % per_block == 0;

		if (is_first) {
			block = buf_alloc(leg->arena, BLOCK_BYTES, BUF_TRANSACTION);
			if (!block)
				return ERR_AGAIN;
		}
		set(leg, i, block + (size_t)(i % per_block) * size, is_first ? block : NULL);
	}
	return 0;
}

static void set_rbuf(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block)
{
	leg->rbufs[i].data = data;
	leg->rbufs[i].block = block;
	list_init(&leg->rbufs[i].link);
}

static void set_slot(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block)
{
	leg->slots[i].data = data;
	leg->slots[i].block = block;
	leg->slots[i].next = leg->free_slots;
	leg->free_slots = &leg->slots[i];
}

/* One Receive more than advertised (4.2.1.1), and one for an answer to a first message. */
static uint32_t receives(const struct leg_config *cfg)
{
	return cfg->credits + cfg->rev_credits + 2;
}

static size_t blocks_bytes(uint32_t n, uint32_t size)
{
	uint32_t per_block = BLOCK_BYTES / size;

	return (size_t)((n + per_block - 1) / per_block) * BLOCK_BYTES;
}

size_t leg_fixed_bytes(const struct leg_config *cfg)
{
	return blocks_bytes(receives(cfg), cfg->inline_bytes) +
	       blocks_bytes(SEND_SLOTS, cfg->inline_bytes);
}

static int take_memory(struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	leg->nrbufs = receives(cfg);
	leg->nslots = SEND_SLOTS;
	leg->rbufs = mem_zalloc(leg->nrbufs * sizeof(*leg->rbufs));
	leg->slots = mem_zalloc(leg->nslots * sizeof(*leg->slots));
	if (!leg->rbufs || !leg->slots)
		return ERR_NOMEM;
	if (cut_blocks(leg, leg->nrbufs, cfg->inline_bytes, set_rbuf) < 0)
		return ERR_AGAIN;
	return cut_blocks(leg, leg->nslots, cfg->inline_bytes, set_slot);
}

static void give_memory(struct leg *leg)
{
	for (uint32_t i = 0; leg->rbufs && i < leg->nrbufs; i++)
		buf_free(leg->arena, leg->rbufs[i].block);
	for (uint32_t i = 0; leg->slots && i < leg->nslots; i++)
		buf_free(leg->arena, leg->slots[i].block);
	mem_free(leg->rbufs);
	mem_free(leg->slots);
	leg->rbufs = NULL;
	leg->slots = NULL;
}

static void post_recv(struct leg *leg, struct leg_rbuf *rb)
{
	if (leg->state == LEG_CLOSED || leg->closing)
		return;
	if (fabric_post_recv(leg->conn, rb->data, leg->cfg->inline_bytes, rb) == 0)
		leg->posted++;
}

static bool speaks(const struct leg *leg, unsigned version)
{
	return version >= 1 && version <= 2 && (leg->cfg->versions & (1u << (version - 1)));
}

static struct rpc_params own_params(const struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	return (struct rpc_params){
		.role = leg->role,
		.recv_bytes = cfg->inline_bytes,
		.send_bytes = cfg->inline_bytes,
		.segment_bytes = cfg->segment_bytes,
		.segment_count = cfg->segment_count,
		.credits = leg->grant,
		.rev_credits = cfg->rev_credits,
		.reverse = cfg->reverse,
		.remote_inv = true, /* every fabric here invalidates per exposure */
		.vers_low = speaks(leg, 1) ? 1 : 2,
		.vers_high = speaks(leg, 2) ? 2 : 1,
		.first_xid = leg->first_xid,
	};
}

/* RFC 8797: what this end says of itself before any message. */
static struct fabric_conn_params conn_params(const struct leg *leg, uint32_t op_depth,
					     uint8_t pdata[V1_PDATA_BYTES])
{
	const struct rpc_params own = own_params(leg);

	v1_pdata_encode(pdata, &own);
	return (struct fabric_conn_params){
		.private_data = pdata,
		.private_data_len = V1_PDATA_BYTES,
		.max_recvs = leg->nrbufs,
		.max_sends = leg->nslots + op_depth,
		.max_exposures = LEG_EXPOSURES_PER_OP * op_depth,
	};
}

static void begin(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		  nsec_t now)
{
	leg->cfg = cfg;
	leg->arena = arena;
	leg->grant = cfg->credits;
	leg->state = LEG_CONNECTING;
	leg->deadline = now + cfg->setup_timeout;
}

int leg_connect(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		struct fabric *fabric, const struct fabric_addr *to, uint32_t op_depth, nsec_t now)
{
	uint8_t pdata[V1_PDATA_BYTES];
	struct fabric_conn_params params;
	int err;

	begin(leg, cfg, arena, now);
	err = take_memory(leg);
	if (err < 0)
		return err;
	params = conn_params(leg, op_depth, pdata);
	err = fabric_connect(fabric, to, &params, leg, &leg->conn);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < leg->nrbufs; i++)
		post_recv(leg, &leg->rbufs[i]);
	return 0;
}

int leg_accept(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
	       struct fabric_conn *conn, struct view request, uint32_t op_depth, nsec_t now)
{
	uint8_t pdata[V1_PDATA_BYTES];
	struct fabric_conn_params params;
	int err;

	begin(leg, cfg, arena, now);
	leg->conn = conn;
	v1_pdata_parse(&leg->peer_pdata, request);
	err = take_memory(leg);
	if (err < 0)
		return err;
	params = conn_params(leg, op_depth, pdata);
	err = fabric_prepare(conn, &params);
	if (err < 0)
		return err;
	/* Older clients send all their calls before any grant: Receives come first. */
	for (uint32_t i = 0; i < leg->nrbufs; i++)
		post_recv(leg, &leg->rbufs[i]);
	return fabric_accept(conn, &params, leg);
}

void leg_fini(struct leg *leg)
{
	if (leg->conn)
		fabric_destroy(leg->conn);
	leg->conn = NULL;
	leg->state = LEG_CLOSED;
	buf_unwait(&leg->waiter);
	if (!leg->arena)
		return;
	buf_free(leg->arena, leg->assembly);
	leg->assembly = NULL;
	give_memory(leg);
}

void leg_close(struct leg *leg, int status, const char *why)
{
	if (leg->closing || leg->state == LEG_CLOSED || !leg->conn)
		return;
	leg->close_status = status;
	leg->close_why = why;
	leg_pump(leg); /* an error report that explains the end goes out before it */
	leg->closing = true;
	leg->deadline = NSEC_NEVER;
	fabric_disconnect(leg->conn);
}

void leg_tick(struct leg *leg, nsec_t now)
{
	if (now < leg->deadline)
		return;
	leg->deadline = NSEC_NEVER;
	leg_close(leg, ERR_TIMEOUT,
		  leg->state == LEG_CONNECTING ? "connection set-up took too long"
		  : leg->role == RPC_ACCEPTOR  ? "no first message in time"
					       : "no answer to version negotiation");
}

void leg_set_grant(struct leg *leg, uint32_t credits)
{
	leg->grant = credits < leg->cfg->credits ? credits : leg->cfg->credits;
	if (leg->t && leg->t->version == 1)
		leg->t->ops->set_credits(leg->t, leg->grant);
}

/* Version 2 counts messages against Receives really posted, one kept for a GRANT (4.2.1.1). */
static void advertise(struct leg *leg)
{
	uint32_t free_recvs = leg->posted > 0 ? leg->posted - 1 : 0;

	if (leg->t->version == 2)
		leg->t->ops->set_credits(leg->t, free_recvs < leg->grant ? free_recvs : leg->grant);
}

static int set_version(struct leg *leg, unsigned version)
{
	const struct rpc_params p = own_params(leg);
	int err;

	if (version == 1) {
		err = v1_conn_init(&leg->u.v1, &p, &leg->peer_pdata);
		leg->t = &leg->u.v1.t;
	} else {
		err = v2_conn_init(&leg->u.v2, &p);
		leg->u.v2.cont.max_bytes = leg->cfg->max_message;
		leg->t = &leg->u.v2.t;
	}
	if (err < 0)
		leg->t = NULL;
	return err;
}

static void on_connected(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	leg->state = LEG_NEGOTIATING;
	if (leg->role == RPC_ACCEPTOR) {
		out->kind = LEG_OUT_READY;
		return;
	}
	v1_pdata_parse(&leg->peer_pdata, ev->private_data);
	if (set_version(leg, speaks(leg, 2) ? 2 : 1) < 0) {
		leg_close(leg, ERR_PROTO, "the peer's private data is unusable");
		return;
	}
	if (leg->t->ready) {
		leg->state = LEG_OPEN;
		leg->deadline = NSEC_NEVER;
		out->kind = LEG_OUT_READY;
	}
	leg_pump(leg);
}

static struct leg_slot *take_slot(struct leg *leg)
{
	struct leg_slot *slot = leg->free_slots;

	if (slot) {
		leg->free_slots = slot->next;
		slot->tx = NULL;
	}
	return slot;
}

static void free_slot(struct leg *leg, struct leg_slot *slot)
{
	slot->next = leg->free_slots;
	leg->free_slots = slot;
}

static int post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge, unsigned nsge,
		     uint32_t inv_handle)
{
	int err = fabric_send(leg->conn, sge, nsge, inv_handle, 0, slot);

	if (err < 0)
		free_slot(leg, slot);
	return err;
}

/*
 * A first message in a version not spoken here: ERR_VERS with the range, the
 * version echoed (7, 7.1.1; RFC 8166 section 4.5 has the same layout). The
 * version stays open: the next message may fit.
 */
static void refuse_version(struct leg *leg, uint32_t xid, uint32_t version)
{
	struct leg_slot *slot = take_slot(leg);
	struct fabric_sge sge;
	struct xdr_out x;

	if (!slot)
		return;
	xdr_out_init(&x, slot->data, ERR_VERS_BYTES);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, version);
	xdr_put_u32(&x, leg->grant);
	xdr_put_u32(&x, 4); /* RDMA_ERROR */
	xdr_put_u32(&x, 1); /* ERR_VERS */
	xdr_put_u32(&x, speaks(leg, 1) ? 1 : 2);
	xdr_put_u32(&x, speaks(leg, 2) ? 2 : 1);
	sge = (struct fabric_sge){slot->data, (uint32_t)xdr_out_len(&x)};
	(void)!post_send(leg, slot, &sge, 1, 0);
}

/* An acceptor learns the version from the first message (4.3.3). True when known now. */
static bool detect_version(struct leg *leg, struct view in)
{
	uint32_t version;

	if (in.len < FIRST_MESSAGE_MIN)
		return false; /* too short to trust its XID: silence (section 7) */
	version = xdr_peek_u32(in.data + 4);
	if (speaks(leg, version))
		return set_version(leg, version) == 0;
	refuse_version(leg, xdr_peek_u32(in.data), version);
	return false;
}

static void drop_assembly(struct leg *leg)
{
	buf_free(leg->arena, leg->assembly);
	leg->assembly = NULL;
	leg->assembly_len = leg->assembly_cap = 0;
}

static void append_part(struct leg *leg, struct view part)
{
	assert(part.len <= leg->assembly_cap - leg->assembly_len);
	memcpy(leg->assembly + leg->assembly_len, part.data, part.len);
	leg->assembly_len += (uint32_t)part.len;
}

/* Memory for a continued message, or a stall until there is. */
static bool begin_assembly(struct leg *leg, struct leg_rbuf *rb, struct view part, uint32_t total)
{
	drop_assembly(leg);
	leg->assembly = buf_alloc(leg->arena, total, BUF_ASSEMBLY);
	leg->assembly_cap = total;
	if (leg->assembly)
		return true;
	leg->stalled = rb;
	leg->stalled_part = part;
	leg->waiter.bytes = total;
	leg->waiter.purpose = BUF_ASSEMBLY;
	buf_wait(leg->arena, &leg->waiter);
	return false;
}

/* Return: whether @rb may be given back at once. */
static bool on_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	struct view part = rx->msg->body[0];

	if (rx->first && !begin_assembly(leg, rb, part, (uint32_t)part.len + rx->remaining))
		return false;
	append_part(leg, part);
	return true;
}

static bool is_reverse(const struct leg *leg, enum rpc_dir dir)
{
	return (leg->role == RPC_INITIATOR) == (dir == RPC_CALL);
}

static void got_answer(struct leg *leg)
{
	if (leg->awaiting > 0)
		leg->awaiting--;
}

static void on_msg(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx,
		   struct leg_out *out)
{
	out->kind = LEG_OUT_MSG;
	out->msg = rx->msg;
	out->reverse = is_reverse(leg, rx->msg->dir);
	out->invalidated = rb->invalidated;
	out->held.rbuf = rb;
	if (rx->continued) {
		append_part(leg, rx->msg->body[0]);
		rx->msg->body[0] = view_of(leg->assembly, leg->assembly_len);
		rx->msg->nbody = 1;
		out->held.assembly = leg->assembly;
		leg->assembly = NULL;
	}
	if (rx->msg->dir == RPC_REPLY)
		got_answer(leg);
}

static void on_error(struct leg *leg, const struct rpc_rx *rx, struct leg_out *out)
{
	out->kind = LEG_OUT_ERROR;
	out->xid = rx->xid;
	out->reverse = is_reverse(leg, rx->error_dir);
	out->error = rx->error;
	if (rx->error_dir == RPC_REPLY)
		got_answer(leg);
}

static void on_ready(struct leg *leg, struct leg_out *out)
{
	leg->state = LEG_OPEN;
	leg->deadline = NSEC_NEVER;
	if (leg->role == RPC_INITIATOR)
		out->kind = LEG_OUT_READY;
}

/* The peer does not speak version 2: on the same connection go on with 1 (4.3.2, decision 9). */
static void fall_back(struct leg *leg, const struct rpc_error *range, struct leg_out *out)
{
	if (!speaks(leg, 1) || range->a > 1 || range->b < 1 || set_version(leg, 1) < 0) {
		leg_close(leg, ERR_VERS, "no protocol version in common");
		return;
	}
	on_ready(leg, out);
}

static void process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out)
{
	struct view in = view_of(rb->data, rb->len);
	struct rpc_rx rx = {0};
	bool give_back = true;
	int err;

	if (!leg->t && !detect_version(leg, in)) {
		post_recv(leg, rb);
		return;
	}
	err = leg->t->ops->recv(leg->t, in, &rx);
	if (err < 0) {
		leg_close(leg, err, "the peer broke the protocol");
		return;
	}
	if (rx.abandon)
		drop_assembly(leg);
	if (leg->role == RPC_ACCEPTOR && leg->state == LEG_NEGOTIATING &&
	    (leg->t->version == 1 || rx.kind == RPC_RX_MSG || rx.kind == RPC_RX_PART))
		on_ready(leg, out);
	switch (rx.kind) {
	case RPC_RX_NONE:
		break;
	case RPC_RX_READY:
		on_ready(leg, out);
		break;
	case RPC_RX_PART:
		give_back = on_part(leg, rb, &rx);
		break;
	case RPC_RX_MSG:
		on_msg(leg, rb, &rx, out);
		give_back = false;
		break;
	case RPC_RX_ERROR:
		on_error(leg, &rx, out);
		break;
	case RPC_RX_OTHER_VERSION:
		fall_back(leg, &rx.error, out);
		break;
	}
	if (give_back)
		post_recv(leg, rb);
}

static void on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	struct leg_rbuf *rb = ev->cookie;

	assert(leg->posted > 0);
	leg->posted--;
	if (ev->status < 0 || leg->closing)
		return;
	rb->len = ev->len;
	rb->invalidated = ev->invalidated;
	if (leg->stalled || !list_is_empty(&leg->rxq))
		list_add_tail(&leg->rxq, &rb->link);
	else
		process(leg, rb, out);
}

static void tx_done(struct leg_tx *tx, struct leg_out *out)
{
	out->kind = LEG_OUT_SENT;
	out->tx = tx;
	out->status = tx->status;
}

static void on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	struct leg_slot *slot = ev->cookie;
	struct leg_tx *tx = slot->tx;

	free_slot(leg, slot);
	if (!tx)
		return;
	tx->posted--;
	if (ev->status < 0 && tx->status == 0)
		tx->status = ev->status;
	/* Not yet encoded whole: it is the active one, and its end comes with the connection's. */
	if (tx->encoded && tx->posted == 0)
		tx_done(tx, out);
}

static void flush_queue(struct leg *leg, struct list *queue)
{
	list_for_each_safe(it, tmp, queue)
	{
		container_of(it, struct leg_tx, link)->status = ERR_FLUSHED;
		list_del(it);
		list_add_tail(&leg->dead, it);
	}
}

static void on_disconnected(struct leg *leg, const struct fabric_event *ev)
{
	leg->state = LEG_CLOSED;
	leg->deadline = NSEC_NEVER;
	if (leg->close_status == 0)
		leg->close_status = ev->status;
	if (!leg->close_why)
		leg->close_why = ev->why;
	if (leg->active) {
		leg->active->status = ERR_FLUSHED;
		list_add_tail(&leg->dead, &leg->active->link);
		leg->active = NULL;
	}
	flush_queue(leg, &leg->replies);
	flush_queue(leg, &leg->calls);
	buf_unwait(&leg->waiter);
	leg->stalled = NULL;
	while (list_pop(&leg->rxq))
		;
}

void leg_input(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	*out = (struct leg_out){.kind = LEG_OUT_NONE};
	switch (ev->type) {
	case FABRIC_EV_REQUEST: /* belongs to listeners, never to a leg */
		break;
	case FABRIC_EV_CONNECTED:
		on_connected(leg, ev, out);
		break;
	case FABRIC_EV_RECV:
		on_recv(leg, ev, out);
		break;
	case FABRIC_EV_SEND:
		on_send(leg, ev, out);
		break;
	case FABRIC_EV_READ:
	case FABRIC_EV_WRITE:
	case FABRIC_EV_WITHDRAWN:
		out->kind = LEG_OUT_OP;
		out->op = ev->type;
		out->cookie = ev->cookie;
		out->status = ev->status;
		break;
	case FABRIC_EV_DISCONNECTED:
		on_disconnected(leg, ev);
		break;
	}
}

void leg_next(struct leg *leg, struct leg_out *out)
{
	struct list *item = list_pop(&leg->dead);

	*out = (struct leg_out){.kind = LEG_OUT_NONE};
	if (item) {
		tx_done(container_of(item, struct leg_tx, link), out);
		return;
	}
	if (leg->state == LEG_CLOSED) {
		if (!leg->closed_told && leg->conn) {
			leg->closed_told = true;
			out->kind = LEG_OUT_CLOSED;
			out->status = leg->close_status;
			out->why = leg->close_why;
		}
		return;
	}
	while (out->kind == LEG_OUT_NONE && !leg->stalled && !leg->closing &&
	       (item = list_pop(&leg->rxq)))
		process(leg, container_of(item, struct leg_rbuf, link), out);
}

void leg_resume(struct leg *leg)
{
	struct leg_rbuf *rb = leg->stalled;

	if (!rb)
		return;
	leg->stalled = NULL;
	if (!begin_assembly(leg, rb, leg->stalled_part, (uint32_t)leg->waiter.bytes))
		return;
	append_part(leg, leg->stalled_part);
	post_recv(leg, rb);
}

void leg_put(struct leg *leg, struct leg_held *held)
{
	buf_free(leg->arena, held->assembly);
	held->assembly = NULL;
	if (held->rbuf)
		post_recv(leg, held->rbuf);
	held->rbuf = NULL;
}

void leg_send(struct leg *leg, struct leg_tx *tx)
{
	tx->posted = 0;
	tx->encoded = false;
	tx->status = 0;
	tx->tx.body_sent = 0;
	if (leg->state != LEG_OPEN || leg->closing) {
		tx->status = ERR_FLUSHED;
		list_add_tail(&leg->dead, &tx->link);
		return;
	}
	list_add_tail(tx->tx.msg->dir == RPC_REPLY ? &leg->replies : &leg->calls, &tx->link);
}

void leg_report(struct leg *leg, uint32_t xid, enum rpc_dir dir, const struct rpc_error *e)
{
	if (leg->state != LEG_OPEN || leg->closing)
		return;
	/* 7.4: a Responder that cannot send its error MUST close the connection. */
	if (leg->t->ops->report(leg->t, xid, dir, e) < 0)
		leg_close(leg, ERR_NOSPACE, "more errors to report than the peer takes");
}

/* The part [from, from+len) of the body as gather pieces after the header's. */
static unsigned gather(const struct rpc_msg *msg, size_t from, size_t len, struct fabric_sge *sge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < msg->nbody && len > 0; i++) {
		struct view v = msg->body[i];
		size_t take;

		if (from >= v.len) {
			from -= v.len;
			continue;
		}
		take = v.len - from < len ? v.len - from : len;
		sge[n++] = (struct fabric_sge){v.data + from, (uint32_t)take};
		len -= take;
		from = 0;
	}
	return n;
}

/* Version 1 has no count of messages: keep a Receive for each reply still to come, and for
 * each reverse call the peer may make. */
static bool has_receive_for_reply(const struct leg *leg)
{
	return leg->t->version != 1 || leg->posted > leg->awaiting + leg->cfg->rev_credits;
}

static struct leg_tx *next_tx(struct leg *leg)
{
	struct leg_tx *tx;

	if (leg->active)
		return leg->t->ops->may_send(leg->t, &leg->active->tx) ? leg->active : NULL;
	if (!list_is_empty(&leg->replies)) {
		tx = list_first(&leg->replies, struct leg_tx, link);
		if (leg->t->ops->may_send(leg->t, &tx->tx))
			return tx;
	}
	if (!list_is_empty(&leg->calls) && has_receive_for_reply(leg)) {
		tx = list_first(&leg->calls, struct leg_tx, link);
		if (leg->t->ops->may_send(leg->t, &tx->tx))
			return tx;
	}
	return NULL;
}

static void fail_tx(struct leg *leg, struct leg_tx *tx, int status)
{
	tx->status = status;
	tx->encoded = true;
	leg->active = NULL;
	list_del(&tx->link);
	if (tx->posted == 0)
		list_add_tail(&leg->dead, &tx->link);
}

/* One Send of @tx. Return: false when nothing more can be sent now. */
static bool send_one(struct leg *leg, struct leg_tx *tx, struct leg_slot *slot)
{
	struct fabric_sge sge[FABRIC_MAX_SGE];
	size_t hdr_len = 0, body_len = 0, from = tx->tx.body_sent;
	int more = leg->t->ops->encode(leg->t, &tx->tx, slot->data, leg->cfg->inline_bytes,
				       &hdr_len, &body_len);
	unsigned n;

	if (more < 0) {
		free_slot(leg, slot);
		if (more != ERR_AGAIN)
			fail_tx(leg, tx, more);
		return more != ERR_AGAIN;
	}
	sge[0] = (struct fabric_sge){slot->data, (uint32_t)hdr_len};
	n = 1 + gather(tx->tx.msg, from, body_len, sge + 1);
	slot->tx = tx;
	if (post_send(leg, slot, sge, n, more ? 0 : tx->inv_handle) < 0) {
		fail_tx(leg, tx, ERR_CLOSED);
		return false;
	}
	tx->posted++;
	list_del(&tx->link);
	leg->active = more ? tx : NULL;
	tx->encoded = !more;
	if (!more && tx->tx.msg->dir == RPC_CALL)
		leg->awaiting++;
	return true;
}

/* A message of the transport's own. Return: 1 posted, 0 there is none, or an error;
 * unless posted the slot stays the caller's. */
static int send_control(struct leg *leg, struct leg_slot *slot)
{
	int len = leg->t->ops->control(leg->t, slot->data, leg->cfg->inline_bytes);
	struct fabric_sge sge;
	int err;

	if (len <= 0)
		return len;
	sge = (struct fabric_sge){slot->data, (uint32_t)len};
	err = fabric_send(leg->conn, &sge, 1, 0, 0, slot);
	return err < 0 ? err : 1;
}

void leg_pump(struct leg *leg)
{
	struct leg_slot *slot;
	struct leg_tx *tx;

	if (!leg->t || leg->closing || (leg->state != LEG_OPEN && leg->state != LEG_NEGOTIATING))
		return;
	advertise(leg);
	while ((slot = take_slot(leg))) {
		int posted = send_control(leg, slot);

		if (posted > 0)
			continue;
		tx = posted == 0 && leg->t->ready ? next_tx(leg) : NULL;
		if (!tx) {
			free_slot(leg, slot);
			return;
		}
		if (!send_one(leg, tx, slot))
			return;
	}
}
