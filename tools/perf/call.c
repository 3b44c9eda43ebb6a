/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a call travels. READ offers a Write chunk, and WRITE a Read chunk for its data. ECHO's opaque
 * is not DDP-eligible, so call and reply go inline, continued (version 2), or as a body chunk.
 */
#include <string.h>

#include "proxy/plan/segments.h"
#include "tools/perf/client_priv.h"
#include "tools/perf/pattern.h"
#include "xdr/cursor.h"

enum {
	PAD = 4,
	ALIGN = 64,
};

static uint32_t largest(const struct perf_client_config *cfg)
{
	uint32_t max = 0;

	for (unsigned i = 0; i < cfg->nsizes; i++)
		if (cfg->sizes[i] > max)
			max = cfg->sizes[i];
	return max;
}

size_t slot_data_room(const struct perf_client_config *cfg)
{
	size_t len = (size_t)largest(cfg) + (cfg->op == PERF_READ ? cfg->slack : 0) + PAD;

	return (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

size_t slot_reply_room(const struct perf_client_config *cfg)
{
	return cfg->op == PERF_ECHO ? (size_t)largest(cfg) + PERF_HEAD_MAX + PAD : 0;
}

size_t slot_bytes(const struct perf_client_config *cfg)
{
	return HEAD_AT + slot_data_room(cfg) + slot_reply_room(cfg);
}

static uint32_t segment_limit(const struct client_conn *conn)
{
	uint32_t own = conn->client->cfg->leg.segment_bytes, peer = conn->leg.t->peer.segment_bytes;

	return own < peer ? own : peer;
}

/* Expose @len octets at @addr as chunk @c of the message, in segments of a size that the peer
 * accepts. */
static int expose(struct slot *slot, void *addr, size_t len, unsigned access, struct rpc_chunk *c)
{
	struct leg *leg = &slot->conn->leg;
	struct segment region, segs[RPC_MAX_SEGMENTS];
	int n = fabric_expose(leg->conn, addr, (uint32_t)len, access, &region);

	if (n < 0)
		return n;
	slot->handles[slot->nhandles++] = region.handle;
	n = plan_split(&region, segment_limit(slot->conn), segs, RPC_MAX_SEGMENTS);
	if (n < 0)
		return n;
	if (slot->msg.nsegs + (unsigned)n > leg->t->peer.segment_count)
		return ERR_TOOBIG;
	*c = (struct rpc_chunk){.first = (uint16_t)slot->msg.nsegs};
	for (int i = 0; i < n; i++) {
		int err = rpc_msg_add_segment(&slot->msg, c, &segs[i]);

		if (err < 0)
			return err;
	}
	return 0;
}

static bool fits_inline(const struct slot *slot, size_t body_len)
{
	const struct leg *leg = &slot->conn->leg;

	return leg->t->ops->header_len(leg->t, &slot->msg) + body_len <= perf_send_limit(leg);
}

/* Most octets of an inline reply in one Send. */
static uint32_t reply_limit(const struct leg *leg)
{
	uint32_t own = leg->t->own.recv_bytes, peer = leg->t->peer.recv_bytes;

	return own < peer ? own : peer;
}

static bool reply_fits_inline(const struct slot *slot, size_t data_len)
{
	const struct leg *leg = &slot->conn->leg;

	return leg->t->ops->traits->reply_header + PERF_REPLY_HEAD + 4 + data_len +
		       xdr_pad(data_len) <=
	       reply_limit(leg);
}

static int offer_write_chunk(struct slot *slot)
{
	const struct perf_client_config *cfg = slot->conn->client->cfg;
	size_t room = (size_t)slot->rpc.count + cfg->slack;
	int err;

	if (room == 0 || (cfg->inline_data && reply_fits_inline(slot, slot->rpc.count)))
		return 0;
	err = expose(slot, slot->data, room, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH,
		     &slot->msg.writes[0]);
	if (err == 0)
		slot->msg.nwrites = 1;
	return err;
}

static int offer_reply_chunk(struct slot *slot)
{
	const struct perf_client_config *cfg = slot->conn->client->cfg;
	size_t room = PERF_REPLY_HEAD + 4 + (size_t)slot->rpc.count + xdr_pad(slot->rpc.count);
	int err;

	if (!cfg->reply_chunk || reply_fits_inline(slot, slot->rpc.count))
		return 0;
	err = expose(slot, slot->reply, room, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH,
		     &slot->msg.reply);
	if (err == 0)
		slot->msg.has_reply = true;
	return err;
}

/* The argument's data with its pad, in the body. */
static void put_inline(struct slot *slot, const uint8_t *head, size_t head_len)
{
	size_t len = slot->rpc.count + xdr_pad(slot->rpc.count);

	for (size_t i = slot->rpc.count; i < len; i++)
		slot->data[i] = 0;
	slot->msg.body[0] = view_of(head, head_len + len);
}

static int place_write_data(struct slot *slot, const uint8_t *head, size_t head_len)
{
	const struct perf_client_config *cfg = slot->conn->client->cfg;
	size_t padded = slot->rpc.count + xdr_pad(slot->rpc.count);
	struct rpc_chunk *c = &slot->msg.reads[0];
	int err;

	if (slot->rpc.count == 0)
		return 0;
	if (cfg->inline_data && fits_inline(slot, head_len + padded)) {
		put_inline(slot, head, head_len);
		return 0;
	}
	err = expose(slot, slot->data, slot->rpc.count, FABRIC_REMOTE_READ, c);
	c->position = (uint32_t)head_len;
	if (err == 0)
		slot->msg.nreads = 1;
	return err;
}

static int place_echo_data(struct slot *slot, uint8_t *head, size_t head_len)
{
	const struct leg *leg = &slot->conn->leg;
	struct rpc_msg *m = &slot->msg;
	int err;

	put_inline(slot, head, head_len);
	if (fits_inline(slot, m->body[0].len) ||
	    (leg->t->peer.continuation && !slot->conn->client->cfg->call_chunk))
		return 0;
	err = expose(slot, head, m->body[0].len, FABRIC_REMOTE_READ, &m->body_chunk);
	m->has_body_chunk = err == 0;
	m->nbody = m->has_body_chunk ? 0 : m->nbody;
	return err;
}

/* Write head and chunks of slot->rpc into slot->msg. */
static int form(struct slot *slot)
{
	uint8_t buf[PERF_HEAD_MAX];
	size_t head_len = perf_call_encode(&slot->rpc, buf);
	uint8_t *head = slot->data - head_len;
	int err = 0;

	memcpy(head, buf, head_len);
	rpc_msg_reset(&slot->msg, slot->rpc.xid, RPC_CALL);
	slot->msg.body[slot->msg.nbody++] = view_of(head, head_len);
	switch (slot->rpc.op) {
	case PERF_NULL:
		break;
	case PERF_READ:
		err = offer_write_chunk(slot);
		break;
	case PERF_WRITE:
		err = place_write_data(slot, head, head_len);
		break;
	case PERF_ECHO:
		err = offer_reply_chunk(slot);
		if (err == 0)
			err = place_echo_data(slot, head, head_len);
		break;
	}
	return err;
}

static int slot_send(struct slot *slot)
{
	struct client_conn *conn = slot->conn;
	int err;

	slot->sent = slot->answered = slot->failed = false;
	slot->nhandles = slot->fencing = 0;
	slot->tx.owner = slot;
	err = form(slot);
	if (err < 0) {
		slot->sent = true; /* the leg has no message to send */
		return err;
	}
	/* 6.5: the reply may invalidate one handle of the header. */
	if (conn->leg.t->ops->traits->names_inv && conn->leg.conn->remote_inv && slot->nhandles > 0)
		slot->msg.inv_handle = slot->handles[0];
	slot->tx = (struct leg_tx){.tx = {.msg = &slot->msg}, .owner = slot};
	leg_send(&conn->leg, &slot->tx);
	return 0;
}

int slot_resend(struct slot *slot)
{
	const struct perf_client_config *cfg = slot->conn->client->cfg;

	if (slot->rpc.op == PERF_READ)
		memset(slot->data, 0, slot_data_room(cfg));
	else
		memset(slot->reply, 0, slot_reply_room(cfg));
	return slot_send(slot);
}

int slot_call(struct slot *slot, uint32_t size, nsec_t now)
{
	struct client_conn *conn = slot->conn;
	const struct perf_client_config *cfg = conn->client->cfg;

	slot->rpc = (struct perf_call){
		.xid = conn->xid_base + slot->seq * conn->xid_stride +
		       (uint32_t)(slot - conn->slots),
		.op = cfg->op,
		/* Any offset will do; a changing offset makes items differ. */
		.offset = cfg->op == PERF_ECHO ? 0 : (uint64_t)slot->seq * size,
		.count = cfg->op == PERF_NULL ? 0 : size,
	};
	slot->seq++;
	slot->began = now;
	if (cfg->verify && (cfg->op == PERF_ECHO || cfg->op == PERF_WRITE))
		pattern_fill(slot->data, slot->rpc.count, slot->rpc.xid, slot->rpc.offset);
	return slot_send(slot);
}
