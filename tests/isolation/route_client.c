/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/route_client.h"

#include <assert.h>
#include <string.h>

#include "xdr/cursor.h"

enum { NFS = 100003, READ_AT = 88, WRITE_AT = 96, PART = 3900 };

void route_client_connect(struct route_client *c, unsigned version, const struct fabric_addr *from,
			  const struct fabric_addr *to)
{
	uint8_t *memory = c->end.memory;

	c->end = (struct route_end){.version = version, .memory = memory};
	c->next_xid = 0x1000;
	c->busy = 0;
	c->ended = NSEC_NEVER;
	c->part_left = 0;
	memset(c->calls, 0, sizeof(c->calls));
	end_connect(&c->end, c->fabric, from, to, c);
}

/* Sends that one call takes. */
static unsigned parts_of(const struct call_shape *shape)
{
	return shape->kind == CALL_LONG ? (shape->bytes + PART - 1) / PART : 1;
}

static bool may_send(const struct route_client *c, unsigned parts)
{
	const struct route_end *e = &c->end;

	if (!end_has_room(e) || e->sends_out + parts > END_SENDS)
		return false;
	if (e->version == 2)
		return (int32_t)(e->granted - e->sent) >= (int32_t)parts;
	return c->busy < e->granted;
}

static bool expose(struct route_client *c, struct route_call *call, const struct call_shape *shape,
		   unsigned access, struct rpc_msg *m, struct rpc_chunk *chunk)
{
	chunk->first = (uint16_t)m->nsegs;
	chunk->count = 0;
	chunk->length = 0;
	for (unsigned i = 0; i <= shape->small; i++) {
		uint32_t len = i < shape->small ? 4 : shape->bytes - 4 * shape->small;
		struct segment s;

		if (fabric_expose(c->end.conn, c->memory, len, access, &s) < 0)
			return false;
		call->handles[call->nhandles++] = s.handle;
		(void)!rpc_msg_add_segment(m, chunk, &s);
	}
	return true;
}

/* RPC header with AUTH_NONE, a file handle, an offset, a count; for WRITE how stable, and the count again. */
static size_t body_of(const struct call_shape *shape, uint32_t xid, uint8_t *body)
{
	const uint32_t proc = shape->kind == CALL_READ ? 6 : shape->kind == CALL_WRITE ? 7 : 0;
	const uint32_t head[] = {xid, 0, 2, NFS, 3, proc, 0, 0, 0, 0};
	struct xdr_out x;

	memset(body, 0, WRITE_AT);
	xdr_out_init(&x, body, WRITE_AT);
	for (unsigned i = 0; i < 10; i++)
		xdr_put_u32(&x, head[i]);
	if (shape->kind == CALL_NULL)
		return 40;
	xdr_put_u32(&x, 32);
	xdr_out_init(&x, body + READ_AT - 4, 12);
	xdr_put_u32(&x, shape->bytes);
	if (shape->kind == CALL_READ)
		return READ_AT;
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, shape->bytes);
	return WRITE_AT;
}

static void send_call(struct route_client *c, struct route_call *call,
		      const struct call_shape *shape)
{
	static struct rpc_msg m;
	uint8_t body[WRITE_AT];
	size_t len = body_of(shape, call->xid, body);

	rpc_msg_reset(&m, call->xid, RPC_CALL);
	if (shape->kind == CALL_WRITE) {
		m.reads[0].position = WRITE_AT;
		m.nreads = expose(c, call, shape, FABRIC_REMOTE_READ, &m, &m.reads[0]);
	} else if (shape->kind == CALL_READ) {
		m.writes[0].position = 0;
		m.nwrites = expose(c, call, shape, FABRIC_REMOTE_WRITE, &m, &m.writes[0]);
	}
	end_send(&c->end, &m, view_of(body, len));
}

static void send_long(struct route_client *c, const struct route_call *call, uint32_t bytes)
{
	uint32_t left = bytes & ~UINT32_C(3);

	for (bool first = true; left; first = false) {
		uint32_t len = left < PART ? left : PART;

		left -= len;
		end_part(&c->end, call->xid, first, len, left);
	}
}

static struct route_call *free_call(struct route_client *c)
{
	for (unsigned i = 0; i < CLIENT_CALLS; i++)
		if (!c->calls[i].used)
			return &c->calls[i];
	return NULL;
}

bool route_client_call(struct route_client *c, const struct call_shape *shape, unsigned tag,
		       nsec_t now)
{
	struct route_call *call = free_call(c);

	assert(shape->small < CLIENT_SEGS && shape->bytes <= CLIENT_MEMORY);
	if (!call || !may_send(c, parts_of(shape)))
		return false;
	call->used = true;
	call->xid = c->next_xid++;
	call->tag = tag;
	call->began = now;
	call->nhandles = 0;
	c->busy++;
	if (shape->kind == CALL_LONG)
		send_long(c, call, shape->bytes);
	else
		send_call(c, call, shape);
	return true;
}

void route_client_drip(struct route_client *c, uint32_t total, uint32_t len)
{
	bool first = c->part_left == 0;

	if (!may_send(c, 1))
		return;
	if (first) {
		c->part_xid = c->next_xid++;
		c->part_left = total;
		len = len < 64 ? 64 : len;
	}
	c->part_left -= len;
	end_part(&c->end, c->part_xid, first, len, c->part_left);
}

static void on_answer(struct route_client *c, uint32_t xid, nsec_t now)
{
	for (unsigned i = 0; i < CLIENT_CALLS; i++) {
		struct route_call *call = &c->calls[i];

		if (!call->used || call->xid != xid)
			continue;
		for (unsigned k = 0; k < call->nhandles && c->end.conn; k++)
			(void)!fabric_withdraw(c->end.conn, call->handles[k], NULL, NULL);
		call->used = false;
		c->busy--;
		if (c->answered)
			c->answered(c->arg, call, now);
		return;
	}
}

void route_client_leave(struct route_client *c)
{
	if (c->end.conn)
		fabric_destroy(c->end.conn);
	c->end.conn = NULL;
	c->end.connected = false;
	c->end.closed = true;
}

void route_client_event(struct route_client *c, const struct fabric_event *ev, nsec_t now)
{
	static struct rpc_msg m;

	switch (ev->type) {
	case FABRIC_EV_CONNECTED:
		c->end.connected = true;
		if (c->end.version == 2)
			end_props(&c->end);
		break;
	case FABRIC_EV_RECV:
		if (end_receive(&c->end, ev, &m))
			on_answer(c, m.xid, now);
		break;
	case FABRIC_EV_SEND:
		c->end.sends_out--;
		break;
	case FABRIC_EV_DISCONNECTED:
		c->ended = now;
		route_client_leave(c);
		break;
	default:
		break;
	}
}
