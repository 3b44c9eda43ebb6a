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
 *   86 n       a call of the round-trip extension with wishes, 87 n m a reply with 64 m octets along
 *   88 n m     such a call with 256 m octets along, 89 n m a reply; 8a the next of its transmissions
 *   8b n       n Receives can be spared
 *   8c         as 00, and zeros, until both pieces of its Receive are full
 * Each again with the extension: then a message of 4 KiB or more has the rest in the second piece of its Receive.
 * What else it must keep: calls in flight within the grant, one until a reply came; every Send
 * well-formed; nothing comes between the
 * transmissions of a group; one that comes is put together out of no more memory than it asks for.
 */
enum { RECV_BYTES = 4096, BULK_BYTES = 8192 };

struct run {
	struct early_conn conn;
	const uint8_t *pos, *end;
	/* A group coming in: what of it has come. */
	uint8_t *held[RPC_MAX_TRANSMISSIONS];
	struct rpc_octets octets[RPC_MAX_TRANSMISSIONS];
	unsigned nheld;
	/* The message of the extension that is being sent. */
	struct rpc_msg out;
	struct rpc_tx tx;
};

static uint8_t next(struct run *r)
{
	return r->pos < r->end ? *r->pos++ : 0;
}

/* --- receiving --- */

static void drop_held(struct run *r)
{
	while (r->nheld)
		free(r->held[--r->nheld]);
}

/* Whether @len octets at @data lie in @whole. */
static bool is_in(const uint8_t *data, size_t len, struct view whole)
{
	return data >= whole.data && len <= whole.len && data + len <= whole.data + whole.len;
}

/* Payload stream and data lie where they came, or in what was gathered. */
static void check_message(const struct rpc_msg *m, const struct rpc_octets *o, struct view gathered)
{
	if (m->nbody && m->body[0].len)
		CHECK(is_in(m->body[0].data, m->body[0].len, o->here) ||
		      is_in(m->body[0].data, m->body[0].len, gathered));
	for (unsigned i = 0; i < m->nplaced; i++)
		CHECK(is_in(m->placed[i].data, m->placed[i].len, o->bulk) ||
		      is_in(m->placed[i].data, m->placed[i].len, gathered));
}

/* The last of a group: with no more memory than was asked for all of it is there. */
static void gather(struct run *r, const struct rpc_rx *rx)
{
	struct rpc_transport *t = &r->conn.t;
	uint8_t *block = rx->remaining ? malloc(rx->remaining) : NULL;
	const struct view gathered = view_of(block, rx->remaining);

	CHECK(block || !rx->remaining);
	CHECK(!r->conn.group.is_open && r->nheld > 1);
	CHECK(rx->group_dir == (t->own.role == RPC_ACCEPTOR ? RPC_CALL : RPC_REPLY));
	t->held = r->octets;
	t->nheld = r->nheld;
	t->ops->gather(t, block, 0, rx->remaining / 2);
	t->ops->gather(t, block, rx->remaining / 2, rx->remaining);
	CHECK(t->own.msg->xid == rx->xid && t->own.msg->dir == rx->group_dir);
	check_message(t->own.msg, &r->octets[0], gathered);
	if (rx->group_dir == RPC_CALL) {
		t->bulk = r->octets[0].bulk;
		t->ops->again(t, r->octets[0].here, gathered);
		check_message(t->own.msg, &r->octets[0], gathered);
	}
	free(block);
	drop_held(r);
}

/* @fill: zeros follow until both pieces of its Receive are full. */
static void receive(struct run *r, bool fill)
{
	struct rpc_transport *t = &r->conn.t;
	size_t len = next(r), left, whole, behind;
	struct rpc_rx rx;
	uint8_t *exact;

	len += (size_t)next(r) << 8;
	left = (size_t)(r->end - r->pos);
	if (len > left)
		len = left;
	whole = fill && len <= RECV_BYTES ? RECV_BYTES + t->own.bulk_bytes : len;
	behind = t->own.bulk_bytes && whole > RECV_BYTES ? whole - RECV_BYTES : 0;
	if (behind > BULK_BYTES)
		behind = BULK_BYTES;
	exact = calloc(1, whole ? whole : 1);
	CHECK(exact);
	memcpy(exact, r->pos, len);
	r->pos += len;
	len = whole - behind;
	t->bulk = view_of(exact + len, behind);
	t->held = r->octets;
	t->nheld = r->nheld;
	CHECK(r->nheld < RPC_MAX_TRANSMISSIONS);
	r->held[r->nheld] = exact;
	r->octets[r->nheld] = (struct rpc_octets){view_of(exact, len), t->bulk};
	if (t->ops->recv(t, view_of(exact, len), &rx)) {
		free(exact);
		r->pos = r->end; /* the connection is closed */
		return;
	}
	CHECK(!rx.also || (rx.kind == RPC_RX_ERROR && rx.also_xid != rx.xid));
	if (rx.kind == RPC_RX_MSG)
		check_message(rx.msg, &r->octets[r->nheld], view_of(NULL, 0));
	if (rx.kind == RPC_RX_HELD || rx.kind == RPC_RX_GROUP)
		r->nheld++;
	else
		free(exact);
	if (rx.abandon)
		drop_held(r);
	if (rx.kind == RPC_RX_GROUP)
		gather(r, &rx);
	CHECK(r->conn.group.is_open == (r->nheld > 0));
}

/* --- sending --- */

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
	if (r->conn.tx_open) { /* nothing comes between */
		CHECK(rc == ERR_AGAIN);
		return;
	}
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

/* The next transmission of what places() let through: it is encoded, and is an option that decodes. */
static void send_next(struct run *r)
{
	struct rpc_transport *t = &r->conn.t;
	uint32_t number = r->tx.transmission;
	const struct rpc_msg *m = &r->out;
	static uint8_t wire[RECV_BYTES];
	static struct rpc_msg back;
	enum rpc_dir seen = RPC_CALL;
	struct early_header h;
	size_t hl, bl, end;
	int rc;

	if (!r->tx.msg || !t->ops->may_send(t, &r->tx))
		return;
	end = r->tx.body_sent;
	rc = t->ops->encode(t, &r->tx, wire, sizeof(wire), &hl, &bl);
	CHECK(rc == 0 || rc == 1);
	CHECK(r->conn.tx_open == rc && r->tx.body_sent == end + bl);
	CHECK(rc || r->tx.body_sent == m->body[0].len);
	end = hl + bl;
	for (unsigned i = 0; i < r->tx.ndata; i++)
		end += r->tx.data[i].gap + r->tx.data[i].length;
	CHECK(hl + bl <= sizeof(wire) && end <= RECV_BYTES + BULK_BYTES);
	memset(wire + hl, 0, sizeof(wire) - hl);
	CHECK(early_header_decode(&h, &back, &seen, view_of(wire, bl < 24 ? hl + 24 : hl + bl)) ==
	      0);
	CHECK(h.proc == EARLY_OPTIONAL && h.optdir == m->dir && h.payload.len >= bl);
	CHECK((h.opttype == RTR_CONTINUE) == (number > 0) && number < RPC_MAX_TRANSMISSIONS);
	if (!rc)
		r->tx.msg = NULL;
}

/* @bytes go along, or @how a chunk is offered or was written. */
static void extend(struct run *r, enum rpc_dir dir, uint8_t how, size_t bytes)
{
	static uint8_t data[256 * UINT8_MAX + 1];
	struct rpc_transport *t = &r->conn.t;
	const struct segment s = {how, 1u + (uint32_t)how * how, how};
	struct rpc_msg *m = &r->out;

	if (r->tx.msg) {
		send_next(r);
		return;
	}
	rpc_msg_reset(m, 7 + (how & 1u), dir);
	m->reserved = how;
	m->body[0] = view_of(data, 4 + 4 * (how & 15u) + (how & 0x20 ? 4096u : 0u));
	m->nbody = 1;
	m->writes[0] = (struct rpc_chunk){0};
	m->wishes[0] = (struct rpc_wish){
		.way = (enum rpc_way)(1 + how % 4), .most = 9000, .end = UINT32_MAX};
	m->nwrites = m->nwishes = 1;
	if (dir == RPC_CALL && bytes) {
		m->nwrites = m->nwishes = how >> 7;
		m->reads[0] = (struct rpc_chunk){.position = 64};
		m->nreads = 1;
		(void)!rpc_msg_place(m, &m->reads[0], view_of(data, bytes));
	} else if (dir == RPC_REPLY && bytes) {
		(void)!rpc_msg_place(m, &m->writes[0], view_of(data, bytes));
	}
	if (m->nwishes && (dir == RPC_CALL ? m->wishes[0].way != RPC_BY_SEND : !bytes))
		(void)!rpc_msg_add_segment(m, &m->writes[0], &s);
	if (!t->ops->places(t, m))
		return;
	r->tx = (struct rpc_tx){.msg = m, .cover = RPC_COVER_NOW};
	send_next(r);
}

static void drain(struct run *r)
{
	struct rpc_transport *t = &r->conn.t;
	struct rpc_msg *m = t->own.msg;
	uint8_t out[128];
	struct early_header h;
	enum rpc_dir dir = RPC_CALL;
	int len;

	if (r->conn.tx_open) {
		CHECK(t->ops->control(t, out, sizeof(out)) == 0);
		return;
	}
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

	if (op < 0x80 || op == 0x8c)
		receive(r, op == 0x8c);
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
		extend(r, op == 0x86 ? RPC_CALL : RPC_REPLY, next(r),
		       op == 0x86 ? 0 : 64u * next(r));
	else if (op == 0x88 || op == 0x89)
		extend(r, op == 0x88 ? RPC_CALL : RPC_REPLY, (uint8_t)~next(r), 256u * next(r));
	else if (op == 0x8a)
		send_next(r);
	else if (op == 0x8b)
		t->spare = next(r);
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
		.transmissions = 6,
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

	r.tx.msg = NULL;
	CHECK(early_conn_init(&r.conn, &own) == 0);
	r.conn.t.spare = 4;
	r.pos = data + 1;
	r.end = data + size;
	while (r.pos < r.end)
		step(&r);
	drain(&r);
	drop_held(&r);
	CHECK(r.conn.calls.in_flight <= RPC_MAX_CREDITS);
	CHECK(r.conn.t.kept < EARLY_OPTIONS * RPC_MAX_TRANSMISSIONS);
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
