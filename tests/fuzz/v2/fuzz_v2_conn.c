/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole connection, either role, against a peer that sends anything.
 *
 * Input: an octet of set-up (bit 0 role, bits 1 and 2 reverse level, bit 3 the literal credit
 * reading, bit 4 a connection that has been used, bit 5 Receives with a second piece), then records
 * with an octet of kind and two of length:
 *   0, 1  a message of that many octets follows; 1, if Receives have a second piece: and as many
 *   zeros as fill both
 *   2     send something of that many octets
 *   3     set_credits(), or an error report
 */
#include <stdlib.h>
#include <string.h>

#include "v2/conn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

enum { RECV_BYTES = 4096, BULK_BYTES = 8192, MAX_OUT = 16384 };

static struct v2_conn c;
static uint8_t body[MAX_OUT];

/* The continued message coming in, as the user of a transport sees it. */
static struct {
	bool on;
	uint32_t xid, remaining;
	enum rpc_dir dir;
} in;

/* A group of the round-trip extension coming in: what of it has come. */
static uint8_t *held[RPC_MAX_TRANSMISSIONS];
static struct rpc_octets octets_of[RPC_MAX_TRANSMISSIONS];
static unsigned nheld;

/* The message going out. */
static struct rpc_msg out;
static struct rpc_tx tx;

static void check_send(int32_t window, bool is_grant)
{
	CHECK(window > 0 || (window == 0 && is_grant));
}

static void drain(void)
{
	uint8_t buf[1024];
	int n;

	do {
		int32_t window = (int32_t)(c.credit.limit - c.credit.sent);

		n = c.t.ops->control(&c.t, buf, sizeof(buf));
		CHECK(n >= 0);
		if (n > 0) {
			CHECK(n >= V2_PREFIX_BYTES);
			check_send(window, xdr_peek_u32(buf + 12) == V2_GRANT);
		}
	} while (n > 0);
}

/* Messages of the round-trip extension: data along with a call or a reply, or written, and
 * directions. Return: whether it can be sent. */
static bool extend(size_t len, unsigned choice)
{
	const struct segment s = {choice, (uint32_t)len, len};
	bool is_call = out.dir == RPC_CALL, sent = choice & 8;
	struct rpc_chunk *chunk = is_call && !(choice & 16) ? &out.reads[0] : &out.writes[0];

	*chunk = (struct rpc_chunk){.position = 64};
	out.reserved = choice / 32;
	out.body[0].len = 64;
	if (chunk == &out.reads[0]) {
		out.nreads = 1;
		return len && !rpc_msg_place(&out, chunk, view_of(body, len)) &&
		       c.t.ops->places(&c.t, &out);
	}
	out.wishes[0] = (struct rpc_wish){.way = is_call ? (enum rpc_way)(1 + choice / 32 % 4)
							 : RPC_NO_ITEM,
					  .end = UINT32_MAX};
	out.nwrites = out.nwishes = 1;
	if (!is_call && sent && len)
		(void)!rpc_msg_place(&out, chunk, view_of(body, len));
	else if (!is_call || out.wishes[0].way != RPC_BY_SEND)
		(void)!rpc_msg_add_segment(&out, chunk, &s);
	return c.t.ops->places(&c.t, &out);
}

static void send_some(size_t len, unsigned choice)
{
	static uint8_t hdr[RECV_BYTES];
	int32_t window = (int32_t)(c.credit.limit - c.credit.sent);
	size_t hdr_len, body_len;
	bool may;
	int rc;

	if (!tx.msg) {
		rpc_msg_reset(&out, choice, choice & 1 ? RPC_REPLY : RPC_CALL);
		out.body[0] = view_of(body, len % MAX_OUT);
		out.nbody = 1;
		if (choice & 4 && !(choice & 2) && !extend(len, choice))
			return;
		tx = (struct rpc_tx){.msg = &out, .reverse = (choice & 2) != 0};
	}
	may = c.t.ops->may_send(&c.t, &tx);
	rc = c.t.ops->encode(&c.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len);
	CHECK(may == (rc != ERR_AGAIN));
	if (rc >= 0) {
		check_send(window, false);
		CHECK(hdr_len + body_len <= c.t.peer.send_bytes);
		CHECK(tx.body_sent <= out.body[0].len);
		CHECK(!out.nplaced || hdr_len + tx.data[0].gap <= sizeof(hdr));
		CHECK(rc == 1 || tx.body_sent == out.body[0].len);
	}
	if (rc == 0 || rc == ERR_TOOBIG) {
		CHECK(rc == 0 || tx.body_sent == 0);
		tx.msg = NULL;
	}
}

/* Whether @len octets at @data lie in @whole. */
static bool is_in(const uint8_t *data, size_t len, struct view whole)
{
	return data >= whole.data && len <= whole.len && data + len <= whole.data + whole.len;
}

/* Data that came along lie where they came. */
static bool is_behind(const struct rpc_msg *m, const struct rpc_chunk *chunk)
{
	const uint8_t *placed = rpc_msg_placed(m, chunk);

	return !placed || is_in(placed, chunk->length, c.t.bulk);
}

static void drop_held(void)
{
	while (nheld)
		free(held[--nheld]);
}

static void check_gathered(struct view gathered)
{
	const struct rpc_msg *m = c.t.own.msg;

	CHECK(m->body[0].len && xdr_peek_u32(m->body[0].data) == m->xid);
	CHECK(is_in(m->body[0].data, m->body[0].len, octets_of[0].here) ||
	      is_in(m->body[0].data, m->body[0].len, gathered));
	for (unsigned i = 0; i < m->nplaced; i++)
		CHECK(is_in(m->placed[i].data, m->placed[i].len, octets_of[0].bulk) ||
		      is_in(m->placed[i].data, m->placed[i].len, gathered));
}

/* The last of a group: with no more memory than was asked for all of it is there. */
static void gather(const struct rpc_rx *rx)
{
	uint8_t *block = rx->remaining ? malloc(rx->remaining) : NULL;
	const struct view gathered = view_of(block, rx->remaining);
	const struct view behind = c.t.bulk;

	CHECK(block || !rx->remaining);
	CHECK(!c.group.is_open && nheld > 1);
	c.t.held = octets_of;
	c.t.nheld = nheld;
	c.t.ops->gather(&c.t, block, 0, rx->remaining / 2);
	c.t.ops->gather(&c.t, block, rx->remaining / 2, rx->remaining);
	CHECK(c.t.own.msg->xid == rx->xid && c.t.own.msg->dir == rx->group_dir);
	check_gathered(gathered);
	if (rx->group_dir == RPC_CALL) {
		c.t.bulk = octets_of[0].bulk;
		c.t.ops->again(&c.t, octets_of[0].here, gathered);
		check_gathered(gathered);
		c.t.bulk = behind;
	}
	free(block);
	drop_held();
}

/* A transmission of a group stays, in memory of its own. */
static void hold(struct view octets)
{
	uint8_t *copy = malloc(octets.len + c.t.bulk.len);

	CHECK(copy && nheld < RPC_MAX_TRANSMISSIONS);
	memcpy(copy, octets.data, octets.len);
	if (c.t.bulk.len)
		memcpy(copy + octets.len, c.t.bulk.data, c.t.bulk.len);
	octets_of[nheld] = (struct rpc_octets){view_of(copy, octets.len),
					       view_of(copy + octets.len, c.t.bulk.len)};
	held[nheld++] = copy;
}

static void check_message(const struct rpc_rx *rx, struct view octets)
{
	const struct rpc_msg *m = rx->msg;
	size_t len = m->nbody ? m->body[0].len : 0;

	CHECK(c.t.ready);
	CHECK(!len || (m->body[0].data >= octets.data &&
		       m->body[0].data + len <= octets.data + octets.len));
	CHECK(!len || c.t.own.bulk_bytes || m->body[0].data + len == octets.data + octets.len);
	for (unsigned i = 0; i < m->nreads; i++) {
		CHECK(is_behind(m, &m->reads[i]));
	}
	for (unsigned i = 0; i < m->nwrites; i++)
		CHECK(m->dir == RPC_CALL || is_behind(m, &m->writes[i]));
	CHECK(!m->nwishes || m->nwishes == m->nwrites);
	if (rx->kind == RPC_RX_PART ? !rx->first : rx->continued) {
		CHECK(in.on && in.xid == m->xid && in.dir == m->dir);
		CHECK(in.remaining == len + rx->remaining);
	} else {
		CHECK(!in.on);
		CHECK(!len || xdr_peek_u32(m->body[0].data) == m->xid);
		CHECK(rx->remaining + len <= V2_MAX_MESSAGE || rx->kind == RPC_RX_MSG);
	}
	in.on = rx->kind == RPC_RX_PART;
	in.xid = m->xid;
	in.dir = m->dir;
	in.remaining = rx->remaining;
}

/* Return: whether the connection lives. */
static bool receive(struct view octets)
{
	struct rpc_rx rx;
	int err;

	c.t.held = octets_of;
	c.t.nheld = nheld;
	err = c.t.ops->recv(&c.t, octets, &rx);
	if (err || rx.kind == RPC_RX_OTHER_VERSION) {
		CHECK(!err || err_class(err) == ERR_CLASS_PEER);
		CHECK(c.t.ops->recv(&c.t, octets, &rx) == ERR_PROTO);
		return false;
	}
	if (rx.abandon) {
		CHECK(in.on || nheld);
		in.on = false;
	}
	if (rx.kind == RPC_RX_HELD || rx.kind == RPC_RX_GROUP)
		hold(octets);
	if (rx.abandon)
		drop_held();
	if (rx.kind == RPC_RX_GROUP)
		gather(&rx);
	CHECK(c.group.is_open == (nheld > 0));
	if (rx.kind == RPC_RX_PART || rx.kind == RPC_RX_MSG)
		check_message(&rx, octets);
	return true;
}

/* A message that fills both pieces of its Receive. */
static bool receive_long(struct view octets)
{
	static uint8_t first[RECV_BYTES], second[BULK_BYTES];
	bool lives;

	memset(first, 0, sizeof(first));
	memcpy(first, octets.data, octets.len);
	c.t.bulk = view_of(second, sizeof(second));
	lives = receive(view_of(first, sizeof(first)));
	c.t.bulk = view_of(NULL, 0);
	return lives;
}

static void start(unsigned setup)
{
	static struct rpc_msg received;
	struct rpc_params own = {
		.role = setup & 1 ? RPC_ACCEPTOR : RPC_INITIATOR,
		.recv_bytes = RECV_BYTES,
		.send_bytes = RECV_BYTES,
		.segment_bytes = 1 << 20,
		.segment_count = 16,
		.credits = 8,
		.reverse = (enum rpc_reverse)(setup >> 1 & 3),
		.literal_credits = (setup & 8) != 0,
		.vers_low = 1,
		.vers_high = 2,
		.first_xid = 0xabc,
		.msg = &received,
	};

	if (setup & 32) {
		own.bulk_bytes = BULK_BYTES;
		own.transmissions = 6;
	}
	drop_held();
	CHECK(v2_conn_init(&c, &own) == 0);
	if (setup & 16)
		v2_credit_set_counters(&c.credit, 0xfffffffe, 0x7fffffff);
	in.on = false;
	tx.msg = NULL;
}

static void local(unsigned kind, size_t len)
{
	struct rpc_error e = {.code = (enum rpc_error_code)(len % (RPC_ERROR_SYSTEM + 1))};

	if (kind == 2)
		send_some(len, (unsigned)len >> 4);
	else if (len & 0x8000)
		(void)c.t.ops->report(&c.t, (uint32_t)len, RPC_CALL, &e);
	else
		c.t.ops->set_credits(&c.t, (uint32_t)len % 9);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;

	if (size < 1)
		return 0;
	start(*data++);
	drain();
	while (end - data >= 3) {
		unsigned kind = data[0] & 3;
		size_t len = (size_t)(data[1] << 8 | data[2]);

		data += 3;
		if (kind >= 2) {
			local(kind, len);
		} else {
			len %= RECV_BYTES + 1;
			if (len > (size_t)(end - data))
				len = (size_t)(end - data);
			if (!(kind && c.t.own.bulk_bytes ? receive_long(view_of(data, len))
							 : receive(view_of(data, len))))
				return 0;
			data += len;
		}
		drain();
	}
	return 0;
}
