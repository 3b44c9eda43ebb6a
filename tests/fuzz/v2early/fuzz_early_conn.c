/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/v1/check.h"
#include "v2early/conn.h"
#include "xdr/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A whole connection, both roles after each other. Input: one octet of parameters, then steps:
 *   00 .. 7f   receive a message; its length is the next two octets (little-endian), then itself
 *   80         call    81 reply    82 drain control()    83 report an error
 *   84 n       set_credits(n)      85 forget
 *   86 n       a call of the round-trip extension, 87 n a reply: data along, written, or wishes for them
 * Each again with the extension: then a message of 4 KiB or more has the rest in the second piece of its Receive.
 * What else it must keep: calls in flight within the grant, one until a reply came; every Send
 * well-formed.
 */
enum { RECV_BYTES = 4096, BULK_BYTES = 8192 };

struct run {
	struct early_conn conn;
	const uint8_t *pos, *end;
};

static uint8_t next(struct run *r)
{
	return r->pos < r->end ? *r->pos++ : 0;
}

static void receive(struct run *r)
{
	size_t len = next(r), left = (size_t)(r->end - r->pos);
	struct rpc_rx rx;
	uint8_t *exact;
	size_t behind;

	len += (size_t)next(r) << 8;
	left = (size_t)(r->end - r->pos);
	if (len > left)
		len = left;
	behind = r->conn.t.own.bulk_bytes && len > RECV_BYTES ? len - RECV_BYTES : 0;
	if (behind > BULK_BYTES)
		behind = BULK_BYTES;
	exact = malloc(len ? len : 1);
	CHECK(exact);
	memcpy(exact, r->pos, len);
	r->pos += len;
	len -= behind;
	r->conn.t.behind = view_of(exact + len, behind);
	if (r->conn.t.ops->recv(&r->conn.t, view_of(exact, len), &rx) == 0) {
		CHECK(rx.kind == RPC_RX_NONE || rx.kind == RPC_RX_MSG || rx.kind == RPC_RX_ERROR);
		if (rx.kind == RPC_RX_MSG && rx.msg->nbody)
			CHECK(rx.msg->body[0].data >= exact &&
			      rx.msg->body[0].data + rx.msg->body[0].len <= exact + len);
		for (unsigned i = 0; rx.kind == RPC_RX_MSG && i < rx.msg->nplaced; i++)
			CHECK(rx.msg->placed[i].data >= exact + len &&
			      rx.msg->placed[i].data + rx.msg->placed[i].len <=
				      exact + len + behind);
	}
	free(exact);
}

static void transmit(struct run *r, enum rpc_dir dir)
{
	static const uint32_t words[] = {7, 0, 2, 100003, 3, 0, 0, 0, 0, 0};
	struct rpc_transport *t = &r->conn.t;
	static struct rpc_msg m, back;
	uint8_t wire[128], body[40];
	struct rpc_tx tx = {.msg = &m};
	struct early_header h;
	struct xdr_out x;
	size_t hl, bl;
	enum rpc_dir seen = RPC_CALL;
	int rc;

	xdr_out_init(&x, body, sizeof(body));
	for (unsigned i = 0; i < 10; i++)
		xdr_put_u32(&x, i == 1 ? (uint32_t)dir : words[i]);
	rpc_msg_reset(&m, 7, dir);
	m.body[0] = view_of(body, sizeof(body));
	m.nbody = 1;
	rc = t->ops->encode(t, &tx, wire, sizeof(wire), &hl, &bl);
	if (rc) {
		CHECK(rc == ERR_AGAIN && dir == RPC_CALL);
		CHECK(r->conn.calls.in_flight >= t->ops->call_credits(t));
		return;
	}
	if (dir == RPC_CALL)
		CHECK(r->conn.calls.in_flight <= t->ops->call_credits(t));
	if (dir == RPC_CALL && !r->conn.is_spoken)
		CHECK(r->conn.calls.in_flight == 1);
	CHECK(bl == sizeof(body) && hl == t->ops->header_len(t, &m));
	memcpy(wire + hl, body, bl);
	CHECK(early_header_decode(&h, &back, &seen, view_of(wire, hl + bl)) == 0);
	CHECK(h.credit > 0 && back.dir == dir && seen == dir);
}

/* What places() lets through is encoded, and is an option that decodes. */
static void extend(struct run *r, enum rpc_dir dir, uint8_t how)
{
	static uint8_t data[2 * BULK_BYTES], wire[RECV_BYTES];
	struct rpc_transport *t = &r->conn.t;
	const struct segment s = {how, 1 + how, how};
	static struct rpc_msg m, back;
	struct rpc_tx tx = {.msg = &m};
	enum rpc_dir seen = RPC_CALL;
	struct early_header h;
	size_t hl, bl;

	rpc_msg_reset(&m, 7, dir);
	data[3] = 7;
	m.body[0] = view_of(data, 4 + 4 * (how & 15u));
	m.nbody = 1;
	m.writes[0] = (struct rpc_chunk){0};
	m.wishes[0] = (struct rpc_wish){.way = (enum rpc_way)(1 + how % 4), .end = UINT32_MAX};
	m.nwrites = m.nwishes = 1;
	if (dir == RPC_CALL ? m.wishes[0].way != RPC_BY_SEND : how & 0x40)
		(void)!rpc_msg_add_segment(&m, &m.writes[0], &s);
	else if (dir == RPC_REPLY)
		(void)!rpc_msg_place(&m, &m.writes[0], view_of(data, 64u * how));
	if (!t->ops->places(t, &m) || !t->ops->may_send(t, &tx))
		return;
	CHECK(t->ops->encode(t, &tx, wire, sizeof(wire), &hl, &bl) == 0);
	CHECK(bl == m.body[0].len);
	CHECK(hl + bl + (tx.ndata ? tx.data[0].gap : 0) <= sizeof(wire));
	memcpy(wire + hl, data, bl);
	CHECK(early_header_decode(&h, &back, &seen, view_of(wire, hl + bl)) == 0);
	CHECK(h.proc == EARLY_OPTIONAL && h.optdir == dir && h.payload.len == bl);
}

static void drain(struct run *r)
{
	struct rpc_transport *t = &r->conn.t;
	struct rpc_msg *m = t->own.msg;
	uint8_t out[128];
	struct early_header h;
	enum rpc_dir dir = RPC_CALL;
	int len;

	while ((len = t->ops->control(t, out, sizeof(out))) > 0) {
		CHECK(early_header_decode(&h, m, &dir, view_of(out, (size_t)len)) == 0);
		CHECK(h.credit > 0);
		CHECK(h.proc == EARLY_ERROR ? dir == RPC_REPLY
					    : t->own.bulk_bytes && h.opttype == RTR_REPORT);
	}
	CHECK(len == 0);
}

static void step(struct run *r)
{
	struct rpc_transport *t = &r->conn.t;
	struct rpc_error e = {.code = RPC_ERROR_CHUNK};
	uint8_t op = next(r);

	if (op < 0x80)
		receive(r);
	else if (op == 0x80)
		transmit(r, RPC_CALL);
	else if (op == 0x81)
		transmit(r, RPC_REPLY);
	else if (op == 0x82)
		drain(r);
	else if (op == 0x83)
		(void)!t->ops->report(t, 1, RPC_CALL, &e);
	else if (op == 0x84)
		t->ops->set_credits(t, next(r));
	else if (op == 0x85)
		t->ops->forget(t, 7); /* the XID of its calls */
	else if (op == 0x86 || op == 0x87)
		extend(r, op == 0x86 ? RPC_CALL : RPC_REPLY, next(r));
}

static void run(const uint8_t *data, size_t size, enum rpc_role role, uint32_t bulk)
{
	static struct run r;
	static struct rpc_msg received;
	uint8_t p = data[0];
	struct rpc_params own = {
		.role = role,
		.recv_bytes = RECV_BYTES,
		.bulk_bytes = bulk,
		.peer_bulk_bytes = bulk,
		.send_bytes = 4096,
		.segment_bytes = 1 << 20,
		.segment_count = 16,
		.credits = 1 + (p & 15),
		.rev_credits = (p >> 4) & 3,
		.reverse = p & 0x40 ? RPC_REV_NONE : RPC_REV_SIMPLE,
		.remote_inv = p & 0x80,
		.vers_low = 1,
		.vers_high = 2,
		.msg = &received,
	};

	CHECK(early_conn_init(&r.conn, &own) == 0);
	r.pos = data + 1;
	r.end = data + size;
	while (r.pos < r.end)
		step(&r);
	drain(&r);
	CHECK(r.conn.calls.in_flight <= RPC_MAX_CREDITS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	for (uint32_t bulk = 0; bulk <= BULK_BYTES; bulk += BULK_BYTES) {
		run(data, size, RPC_INITIATOR, bulk);
		run(data, size, RPC_ACCEPTOR, bulk);
	}
	return 0;
}
