/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/route_end.h"

#include <assert.h>
#include <string.h>

#include "v1/header.h"
#include "v2/header.h"
#include "v2/message.h"
#include "xdr/cursor.h"

static const uint8_t private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};

static struct fabric_conn_params params(const struct fabric_addr *from)
{
	return (struct fabric_conn_params){.private_data = private_data,
					   .private_data_len = sizeof(private_data),
					   .max_recvs = END_RECVS,
					   .max_sends = 512,
					   .max_exposures = 4096,
					   .from = from};
}

static void post_all(struct route_end *e)
{
	for (unsigned i = 0; i < END_RECVS; i++) {
		uint8_t *at = e->memory + (size_t)i * END_BUFFER;

		(void)!fabric_post_recv(e->conn, at, END_BUFFER, at);
	}
}

void end_connect(struct route_end *e, struct fabric *f, const struct fabric_addr *from,
		 const struct fabric_addr *to, void *owner)
{
	const struct fabric_conn_params p = params(from);

	if (fabric_connect(f, to, &p, owner, &e->conn) == 0)
		post_all(e);
	else
		e->closed = true;
	e->granted = 1;
}

void end_accept(struct route_end *e, struct fabric_conn *conn, void *owner)
{
	const struct fabric_conn_params p = params(NULL);

	e->conn = conn;
	e->version = 1;
	if (fabric_prepare(conn, &p) < 0)
		return;
	post_all(e);
	(void)!fabric_accept(conn, &p, owner);
}

static bool decode(struct route_end *e, struct view in, struct rpc_msg *m)
{
	struct rpc_error fault;
	struct v1_header h1;
	struct v2_hdr h2;
	bool dir_known;

	if (in.len < V2_PREFIX_BYTES)
		return false;
	if (xdr_peek_u32(in.data + 4) == V2_VERSION) {
		if (v2_decode(&h2, m, in, RPC_MAX_SEGMENTS, &fault) < 0)
			return false;
		e->granted = h2.credit;
		return !(v2_type_find(h2.htype)->flags & (V2_IS_CONTROL | V2_IS_MIDDLE));
	}
	if (v1_header_decode(&h1, m, &dir_known, in) < 0)
		return false;
	if (m->dir == RPC_REPLY)
		e->granted = h1.credit;
	return h1.proc == V1_MSG || h1.proc == V1_NOMSG;
}

bool end_receive(struct route_end *e, const struct fabric_event *ev, struct rpc_msg *m)
{
	bool is_rpc;

	if (ev->status < 0)
		return false;
	e->received++;
	is_rpc = decode(e, view_of(ev->cookie, ev->len), m);
	if (e->conn)
		(void)!fabric_post_recv(e->conn, ev->cookie, END_BUFFER, ev->cookie);
	return is_rpc;
}

static uint8_t *send_room(const struct route_end *e)
{
	return e->memory + (size_t)(END_RECVS + e->nsends % END_SENDS) * END_BUFFER;
}

static void send_off(struct route_end *e, size_t len)
{
	const struct fabric_sge sge = {send_room(e), (uint32_t)len};

	assert(end_has_room(e));
	if (fabric_send(e->conn, &sge, 1, 0, NULL) < 0)
		return;
	e->nsends++;
	e->sends_out++;
	e->sent++;
}

static uint32_t credit(const struct route_end *e)
{
	if (e->version == 1)
		return END_WINDOW;
	return e->allows ? e->allows : e->received + END_WINDOW;
}

void end_send(struct route_end *e, const struct rpc_msg *m, struct view body)
{
	struct v2_hdr h = {
		.xid = m->xid, .vers = V2_VERSION, .credit = credit(e), .htype = v2_msg_htype(m)};
	uint8_t *to = send_room(e);
	size_t len = 0;
	int n;

	if (e->version == 2) {
		n = v2_encode(&h, m, to, END_BUFFER);
		len = n > 0 ? (size_t)n : 0;
	} else if (v1_header_encode(m, credit(e), to, END_BUFFER, &len) < 0) {
		len = 0;
	}
	assert(len > 0 && len + body.len <= END_BUFFER);
	if (!m->has_body_chunk)
		memcpy(to + len, body.data, body.len);
	send_off(e, len + (m->has_body_chunk ? 0 : body.len));
}

static void send_words(struct route_end *e, const uint32_t *words, unsigned n, uint32_t zeros)
{
	struct xdr_out x;

	if (!end_has_room(e))
		return;
	memset(send_room(e), 0, n * 4 + zeros);
	xdr_out_init(&x, send_room(e), END_BUFFER);
	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(&x, words[i]);
	send_off(e, n * 4 + zeros);
}

void end_part(struct route_end *e, uint32_t xid, bool first, uint32_t len, uint32_t left)
{
	const uint32_t words[] = {xid, 2, credit(e), left ? V2_CALL_MIDDLE : V2_CALL_INLINE};
	const uint32_t middle[] = {words[0], words[1], words[2], words[3], left, xid,
				   0,	     2,	       100003,	 3,	   0};
	const uint32_t last[] = {words[0], words[1], words[2], words[3], 0, 0, 0, 0};

	if (left)
		send_words(e, middle, first ? 11 : 5, first ? len - 24 : len);
	else
		send_words(e, last, 8, len);
}

void end_props(struct route_end *e)
{
	const uint32_t words[] = {0x99, 2, credit(e), V2_CONNPROP_FINAL, 0};

	send_words(e, words, 5, 0);
}

void end_grant(struct route_end *e)
{
	const uint32_t words[] = {0, 2, credit(e), V2_GRANT};

	send_words(e, words, 4, 0);
}
