/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection of a stranger: Sends, credits, and received messages. */
#include "tests/session/stranger_internal.h"

#include <stdlib.h>
#include <string.h>

const char *stranger_story = "";

/* --- Sends --- */

static uint8_t *send_buffer(struct stranger *s, unsigned *n)
{
	while (s->busy_sends[s->next_send % SENDS])
		s->next_send++;
	*n = s->next_send++ % SENDS;
	s->busy_sends[*n] = true;
	return s->memory + SENDS_AT + (size_t)*n * BUFFER;
}

static void enqueue(struct stranger *s, uint8_t *at, size_t len, uint32_t inv_handle)
{
	must(s->nqueue < 512 && len <= BUFFER);
	s->queue[s->nqueue].at = at;
	s->queue[s->nqueue].len = (uint32_t)len;
	s->queue[s->nqueue++].inv_handle = inv_handle;
}

static void post(struct stranger *s, uint8_t *at, uint32_t len, uint32_t inv_handle)
{
	const struct fabric_sge sge = {at, len};
	uint32_t credit = s->h.credits;

	if (s->version == 2) {
		credit += s->received;
		s->told = s->received;
		s->sent++;
	} else if (s->is_server) { /* another one with each message */
		credit = 1 + rng_below(s->rng, s->h.credits);
		if (credit > s->most_granted)
			s->most_granted = credit;
	}
	xdr_poke_u32(at + 8, credit);
	if (s->conn && !s->closed)
		(void)!fabric_send(s->conn, &sge, 1, inv_handle, at);
}

static void flush(struct stranger *s)
{
	unsigned n = 0;

	while (n < s->nqueue && s->connected &&
	       (s->version != 2 || (int32_t)(s->limit - s->sent) > 0)) {
		post(s, s->queue[n].at, s->queue[n].len, s->queue[n].inv_handle);
		n++;
	}
	s->nqueue -= n;
	memmove(s->queue, s->queue + n, s->nqueue * sizeof(s->queue[0]));
	/* draft-07 4.2.1.1: before half is used up. */
	if (s->version == 2 && s->ready && s->received - s->told >= (s->h.credits + 1) / 2 &&
	    (int32_t)(s->limit - s->sent) >= 0) {
		unsigned i;
		uint8_t *at = send_buffer(s, &i);

		xdr_poke_u32(at, 0);
		xdr_poke_u32(at + 4, 2);
		xdr_poke_u32(at + 12, 5);
		post(s, at, 16, 0);
	}
}

struct xdr_out stranger_begin(struct stranger *s, uint32_t xid, uint32_t type)
{
	struct xdr_out x;
	unsigned n;

	xdr_out_init(&x, send_buffer(s, &n), BUFFER);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, s->is_early ? 2 : s->version);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, type);
	return x;
}

struct xdr_out stranger_begin_rpc(struct stranger *s, uint32_t xid, uint32_t type, bool is_reply)
{
	struct xdr_out x = stranger_begin(s, xid, type);

	if (s->is_early)
		xdr_put_u32(&x, is_reply);
	return x;
}

void stranger_end(struct stranger *s, const struct xdr_out *x, uint32_t inv_handle)
{
	must(!x->failed);
	enqueue(s, x->start, xdr_out_len(x), inv_handle);
}

void stranger_drop(struct stranger *s, const struct xdr_out *x)
{
	s->busy_sends[(size_t)(x->start - s->memory - SENDS_AT) / BUFFER] = false;
}

static void put_octets(struct xdr_out *x, const uint8_t *from, size_t len)
{
	must(xdr_has_room(x, len));
	memcpy(x->pos, from, len);
	x->pos += len;
}

void stranger_say(struct stranger *s, struct xdr_out *x, uint32_t xid, bool is_call,
		  const uint8_t *stream, uint32_t len, uint32_t inv_handle)
{
	size_t header = xdr_out_len(x);
	uint32_t at = 0;

	while (header + len - at > s->peer_takes) {
		struct xdr_out part = stranger_begin(s, xid, is_call ? 9 : 12);
		uint32_t most = s->peer_takes - 20, n;

		must(s->version == 2);
		if (most > len - at - 4)
			most = len - at - 4;
		n = chance(s->rng, 3) ? most - rng_below(s->rng, most > 500 ? 500 : most - 3)
				      : most;
		xdr_put_u32(&part, len - at - n);
		put_octets(&part, stream + at, n);
		stranger_end(s, &part, 0);
		at += n;
	}
	put_octets(x, stream + at, len - at);
	stranger_end(s, x, inv_handle);
}

struct talk *stranger_talk(struct stranger *s, uint32_t xid, bool reverse, enum talk_stage stage)
{
	struct talk *of = reverse ? s->rtalks : s->talks;

	for (unsigned i = 0; i < (reverse ? TALKS_BACK : TALKS); i++)
		if (of[i].stage == stage && of[i].xid == xid)
			return &of[i];
	return NULL;
}

/* --- messages --- */

static void send_properties(struct stranger *s)
{
	struct xdr_out x = stranger_begin(s, 0x1234, 7);
	uint32_t props[][2] = {{1, s->h.inline_bytes},
			       {2, s->h.inline_bytes},
			       {5, 3},
			       {3, s->h.segment_bytes},
			       {4, 64}};
	unsigned n = s->h.segment_bytes ? 5 : 3;

	xdr_put_u32(&x, n);
	for (unsigned i = 0; i < n; i++) {
		xdr_put_u32(&x, props[i][0]);
		xdr_put_u32(&x, 4);
		xdr_put_u32(&x, props[i][1]);
	}
	stranger_end(s, &x, 0);
}

static void other_version(struct stranger *s, const struct wire *w)
{
	struct xdr_out x = stranger_begin(s, w->xid, 4);

	xdr_poke_u32(x.start + 4, w->vers);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	stranger_end(s, &x, 0);
}

/* A part of a continued message. Return: whether it was the last; its octets are s->parts then. */
static bool gather(struct stranger *s, const struct wire *w, struct view *stream)
{
	if (!w->is_middle && !s->parts_len)
		return true;
	must(!s->parts_len || (s->parts_head.xid == w->xid && s->parts_head.kind == w->kind));
	must(s->parts_len + w->body.len <= 2 * TALK_BYTES);
	if (s->parts_len)
		must(s->parts_head.remaining == w->body.len + (w->is_middle ? w->remaining : 0));
	memcpy(s->parts + s->parts_len, w->body.data, w->body.len);
	s->parts_len += (uint32_t)w->body.len;
	s->parts_head = *w;
	if (w->is_middle)
		return false;
	*stream = view_of(s->parts, s->parts_len);
	s->parts_len = 0;
	return true;
}

static void take_call(struct stranger *s, const struct wire *w, struct view stream)
{
	unsigned n = 1;

	for (unsigned i = 0; i < TALKS && s->is_server && s->version == 1; i++)
		n += s->talks[i].stage == TALK_HEARD;
	/* RFC 8166 3.3.1: what was granted last may not have come yet. */
	must(s->version == 2 || !s->is_server || n <= (s->most_granted ? s->most_granted : 1));
	must(w->is_external || w->xid == xdr_peek_u32(stream.data));
	stranger_serve(s, w, stream.data, w->is_external ? 0 : (uint32_t)stream.len);
}

static void on_message(struct stranger *s, const struct fabric_event *ev)
{
	static struct wire w;
	struct view in = view_of(ev->cookie, ev->len), stream;

	must(in.len <= s->h.inline_bytes || !s->ready);
	must(wire_read(&w, in));
	s->received++;
	if (w.vers != (s->is_early ? 2 : s->version) && s->is_server) {
		other_version(s, &w);
		return;
	}
	if (s->version == 2)
		s->limit = w.credit;
	stream = w.body;
	switch (w.kind) {
	case WIRE_PROPS:
		must(s->version == 2 && !s->ready);
		s->ready = true;
		s->peer_takes = w.takes < s->h.inline_bytes ? w.takes : s->h.inline_bytes;
		if (s->is_server)
			send_properties(s);
		break;
	case WIRE_CALL:
		s->ready = true;
		if (gather(s, &w, &stream))
			take_call(s, &w, stream);
		break;
	case WIRE_REPLY:
	case WIRE_ERROR:
		if (w.kind == WIRE_REPLY && !gather(s, &w, &stream))
			break;
		must(s->in_flight);
		s->in_flight--;
		s->is_spoken |= w.kind == WIRE_REPLY;
		if (s->version == 1 && (!s->is_early || s->is_spoken)) {
			must(w.credit);
			s->granted = w.credit;
		}
		if (s->is_early && s->is_spoken)
			s->peer_takes = 4096;
		if (w.kind == WIRE_REPLY)
			stranger_take_reply(s, &w, stream, ev->invalidated);
		else
			stranger_take_error(s, &w);
		break;
	case WIRE_GRANT:
	case WIRE_NONE:
		break;
	}
}

/* --- a connection --- */

static void private_data(const struct stranger *s, uint8_t out[8])
{
	const uint8_t size = (uint8_t)(s->h.inline_bytes / 1024 - 1);
	const uint8_t all[] = {0xf6, 0xab, 0x0e, 0x18, 1, s->h.sets_r, size, size};

	memcpy(out, all, 8);
}

static void hear_private_data(struct stranger *s, struct view in)
{
	uint32_t takes = 1024;

	if (in.len >= 8 && xdr_peek_u32(in.data) == 0xf6ab0e18) {
		takes = (in.data[7] + 1u) * 1024;
		s->peer_r = in.data[5] & 1;
	}
	s->peer_takes = takes < s->h.inline_bytes ? takes : s->h.inline_bytes;
	if (s->is_early) /* the first message of an initiator is short */
		s->peer_takes = s->is_server ? 4096 : 1024;
	s->ready |= s->version == 1 && !s->is_server;
}

static struct fabric_conn_params params(const struct stranger *s, uint8_t pdata[8])
{
	private_data(s, pdata);
	return (struct fabric_conn_params){.private_data = pdata,
					   .private_data_len = s->h.no_private_data ? 0 : 8,
					   .max_recvs = RECVS,
					   .max_sends = 4096,
					   .max_exposures = 1024};
}

static void post_recv(struct stranger *s, uint8_t *at)
{
	if (s->conn && !s->closed)
		(void)!fabric_post_recv(s->conn, at, BUFFER, at);
}

static void post_all(struct stranger *s)
{
	for (unsigned i = 0; i < RECVS; i++)
		post_recv(s, s->memory + (size_t)i * BUFFER);
}

void stranger_connect(struct stranger *s, const struct fabric_addr *to)
{
	uint8_t pdata[8];
	const struct fabric_conn_params p = params(s, pdata);

	must(fabric_connect(s->fabric, to, &p, s, &s->conn) == 0);
	post_all(s);
}

static void on_request(struct stranger *s, struct fabric_event *ev)
{
	uint8_t pdata[8];
	const struct fabric_conn_params p = params(s, pdata);

	must(!s->conn);
	s->conn = ev->conn;
	hear_private_data(s, ev->private_data);
	must(fabric_prepare(s->conn, &p) == 0);
	post_all(s);
	must(fabric_accept(s->conn, &p, s) == 0);
}

static void on_op(const struct fabric_event *ev)
{
	struct talk *t = ev->cookie;

	if (ev->type == FABRIC_EV_WITHDRAWN) {
		if (--t->fences == 0 && t->stage == TALK_ANSWERED && t->xid == 0)
			t->stage = TALK_IDLE;
		return;
	}
	((struct service *)ev->cookie)->ops--;
}

static void on_connected(struct stranger *s, const struct fabric_event *ev)
{
	s->connected = true;
	if (s->is_server)
		return;
	hear_private_data(s, ev->private_data);
	if (s->version == 2) {
		s->peer_takes = 4096;
		send_properties(s);
	}
}

void stranger_turn(struct stranger *s)
{
	struct fabric_event ev;

	while (fabric_poll(s->fabric, &ev)) {
		switch (ev.type) {
		case FABRIC_EV_REQUEST:
			on_request(s, &ev);
			break;
		case FABRIC_EV_CONNECTED:
			on_connected(s, &ev);
			break;
		case FABRIC_EV_RECV:
			if (ev.status == 0) {
				on_message(s, &ev);
				post_recv(s, ev.cookie);
			}
			break;
		case FABRIC_EV_SEND:
			s->busy_sends[(size_t)((uint8_t *)ev.cookie - s->memory - SENDS_AT) /
				      BUFFER] = false;
			break;
		case FABRIC_EV_DISCONNECTED:
			s->closed = true;
			s->status = ev.status;
			s->why = ev.why ? ev.why : "-";
			break;
		case FABRIC_EV_PLACED:
		case FABRIC_EV_RECV_LIMITED:
			break;
		default:
			on_op(&ev);
		}
	}
	stranger_services(s);
	if (s->conn && !s->closed)
		flush(s);
	fabric_flush(s->fabric);
}

void stranger_init(struct stranger *s, struct memnet *net, unsigned version, bool is_server,
		   const struct habits *h, struct rng *rng)
{
	memset(s, 0, sizeof(*s));
	s->net = net;
	s->rng = rng;
	s->version = version;
	s->is_server = is_server;
	s->h = *h;
	s->granted = 1;
	s->limit = 1;
	s->fabric = memnet_fabric(net);
	s->memory = malloc(ALL);
	s->parts = malloc(2 * TALK_BYTES);
	must(s->fabric && s->memory && s->parts);
	must(fabric_register(s->fabric, s->memory, ALL) == 0);
}

void stranger_fini(struct stranger *s)
{
	if (s->conn)
		fabric_destroy(s->conn);
	for (struct service *v = s->services; v < s->services + 2 * TALKS; v++)
		if (v->busy)
			free(v->body);
	fabric_unregister(s->fabric, s->memory);
	fabric_free(s->fabric);
	free(s->memory);
	free(s->parts);
}
