/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/route_server.h"

#include <assert.h>
#include <string.h>

#include "xdr/cursor.h"

enum { PLAIN = 8 << 20, REPLY_NULL = 24, REPLY_READ = 44, REPLY_WRITE = 52 };

void route_server_init(struct route_server *s, struct fabric *fabric, uint8_t *memory)
{
	s->fabric = fabric;
	s->memory = memory;
	memory += PLAIN;
	for (unsigned i = 0; i < SERVER_CONNS; i++, memory += END_BYTES + SERVER_SINK) {
		s->conns[i].server = s;
		s->conns[i].end.memory = memory;
		s->conns[i].sink = memory + END_BYTES;
		s->conns[i].due = NSEC_NEVER;
	}
}

static void send_reply(struct server_conn *c, uint32_t xid, const struct server_call *call)
{
	static struct rpc_msg m;
	uint8_t body[REPLY_WRITE] = {0};
	size_t len = !call ? REPLY_NULL : call->is_read ? REPLY_READ : REPLY_WRITE;
	uint32_t all = 0;
	struct xdr_out x;

	if (!end_has_room(&c->end))
		return;
	rpc_msg_reset(&m, xid, RPC_REPLY);
	if (call && call->is_read) {
		m.nwrites = 1;
		m.writes[0] = (struct rpc_chunk){0};
		for (unsigned i = 0; i < call->nsegs; i++) {
			(void)!rpc_msg_add_segment(&m, &m.writes[0], &call->segs[i]);
			all += call->segs[i].length;
		}
	}
	xdr_out_init(&x, body, sizeof(body));
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, 1);
	if (call && call->is_read) { /* count, eof, length of the data */
		xdr_out_init(&x, body + REPLY_READ - 12, 12);
		xdr_put_u32(&x, all);
		xdr_put_u32(&x, 0);
		xdr_put_u32(&x, all);
	}
	end_send(&c->end, &m, view_of(body, len));
}

static struct server_call *first_call(struct server_conn *c)
{
	return &c->calls[c->first % SERVER_CALLS];
}

/* RDMA of the call that is first. */
static void begin(struct server_conn *c)
{
	const struct server_call *call = first_call(c);
	uint32_t at = 0;
	int err = 0;

	c->begun = true;
	for (unsigned i = 0; i < call->nsegs && !err; i++) {
		const struct segment *s = &call->segs[i];
		const struct fabric_sge sge = {c->server->memory, s->length};

		assert(s->length <= (call->is_read ? PLAIN : SERVER_SINK - at));
		err = call->is_read ? fabric_write(c->end.conn, &sge, 1, s, c)
				    : fabric_read(c->end.conn, c->sink + at, s, c);
		at += s->length;
		c->ops += !err;
	}
	assert(!err && c->ops > 0);
}

static void on_call(struct server_conn *c, const struct rpc_msg *m)
{
	const struct rpc_chunk *chunk = m->nwrites	    ? &m->writes[0]
					: m->nreads	    ? &m->reads[0]
					: m->has_body_chunk ? &m->body_chunk
							    : NULL;
	struct server_call *call;

	if (c->server->hangs || (c->server->hangs_at_chunks && chunk))
		return;
	if (!chunk) {
		send_reply(c, m->xid, NULL);
		return;
	}
	assert(c->n < SERVER_CALLS && chunk->count <= SERVER_SEGS);
	call = &c->calls[(c->first + c->n++) % SERVER_CALLS];
	call->xid = m->xid;
	call->is_read = m->nwrites > 0;
	call->nsegs = chunk->count;
	memcpy(call->segs, &m->segs[chunk->first], chunk->count * sizeof(m->segs[0]));
}

static void leave(struct server_conn *c)
{
	if (c->end.conn)
		fabric_destroy(c->end.conn);
	c->end.conn = NULL;
	c->end.closed = true;
	c->n = 0;
	c->due = NSEC_NEVER;
}

static void on_request(struct route_server *s, struct fabric_conn *conn)
{
	struct server_conn *c = s->conns;

	while (c < s->conns + s->nconns && c->end.conn)
		c++;
	if (c == s->conns + SERVER_CONNS) {
		fabric_reject(conn, view_of(NULL, 0));
		return;
	}
	if (c == s->conns + s->nconns)
		s->nconns++;
	c->end = (struct route_end){.memory = c->end.memory};
	c->first = c->n = c->ops = 0;
	c->begun = false;
	c->due = NSEC_NEVER;
	s->accepted++;
	end_accept(&c->end, conn, c);
}

static void on_event(struct server_conn *c, const struct fabric_event *ev, nsec_t now)
{
	static struct rpc_msg m;

	switch (ev->type) {
	case FABRIC_EV_CONNECTED:
		c->end.connected = true;
		break;
	case FABRIC_EV_RECV:
		if (end_receive(&c->end, ev, &m) && m.dir == RPC_CALL)
			on_call(c, &m);
		break;
	case FABRIC_EV_SEND:
		c->end.sends_out--;
		break;
	case FABRIC_EV_READ:
	case FABRIC_EV_WRITE:
		if (--c->ops == 0)
			c->due = now + (is_of_rogue(first_call(c)->xid) ? c->server->thinks : 0);
		break;
	case FABRIC_EV_DISCONNECTED:
		leave(c);
		break;
	default:
		break;
	}
}

static void conn_turn(struct server_conn *c, nsec_t now)
{
	if (!c->end.connected || c->n == 0)
		return;
	if (!c->begun)
		begin(c);
	if (c->due > now)
		return;
	c->due = NSEC_NEVER;
	send_reply(c, first_call(c)->xid, first_call(c));
	c->first++;
	c->n--;
	c->begun = false;
	if (c->n)
		begin(c);
}

nsec_t route_server_turn(struct route_server *s, nsec_t now)
{
	nsec_t next = NSEC_NEVER;
	struct fabric_event ev;

	while (fabric_poll(s->fabric, &ev)) {
		if (ev.type == FABRIC_EV_REQUEST)
			on_request(s, ev.conn);
		else
			on_event(ev.conn->owner, &ev, now);
	}
	for (unsigned i = 0; i < s->nconns; i++) {
		conn_turn(&s->conns[i], now);
		next = nsec_min(next, s->conns[i].due);
	}
	fabric_flush(s->fabric);
	return next;
}

void route_server_leave(struct route_server *s)
{
	for (unsigned i = 0; i < s->nconns; i++)
		leave(&s->conns[i]);
}
