/* SPDX-License-Identifier: BSD-2-Clause */
/* The two connections of a bout: Sends, credits, and received messages. */
#include "tests/session/bout.h"

#include <stdlib.h>
#include <string.h>

enum {
	SENDS_AT = PARTY_RECVS * PARTY_BUFFER,
	SLOTS_AT = SENDS_AT + PARTY_SENDS * PARTY_BUFFER,
	DUTIES_AT = SLOTS_AT + ASK_ALL * ASK_SLOT,
	MEMORY = DUTIES_AT + DUTIES * DUTY_BYTES,
};

struct bout_place bout_place;
const char *stranger_story = "";

/* --- octets --- */

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void ask_octets(const struct ask *a, unsigned chunk, uint32_t at, uint32_t len, unsigned gen,
		uint8_t *out)
{
	uint64_t word = 0;

	for (uint32_t i = 0; i < len; i++, at++) {
		if (chunk != ASK_ROOM && (i == 0 || at % 8 == 0))
			word = mix(((uint64_t)a->xid << 32 | chunk << 24) ^
				   (at / 8 + 1) * 0x9e3779b97f4a7c15u);
		out[i] = (uint8_t)((chunk == ASK_ROOM ? a->reply[at] : word >> at % 8 * 8) ^
				   gen * 0x55u);
	}
}

uint8_t ask_octet(const struct ask *a, unsigned chunk, uint32_t at, unsigned gen)
{
	uint8_t octet;

	ask_octets(a, chunk, at, 1, gen, &octet);
	return octet;
}

bool ask_is_allowed(const struct ask *a, unsigned chunk, uint32_t at, uint8_t octet)
{
	uint8_t seen = a->writes[chunk].seen[at];

	/* A reply that its responder sent inline may come in the Reply chunk. */
	if (chunk == ASK_ROOM && a->stage == ASK_ANSWERED && at < a->reply_len &&
	    octet == a->reply[at])
		return true;
	for (unsigned gen = 0; gen < GENS; gen++)
		if (seen & 1u << gen && ask_octet(a, chunk, at, gen) == octet)
			return true;
	return false;
}

/* Where @octets are in the memory of a requester. */
static bool find_octets(struct party *p, const uint8_t *octets, struct ask **ask, unsigned *chunk,
			uint32_t *at)
{
	unsigned n;
	struct ask *of = ask_range(p, &n);

	for (struct ask *a = of; a < of + n; a++) {
		const uint8_t *slot = ask_memory(p, a);

		if (octets < slot || octets >= slot + ASK_SLOT)
			continue;
		for (unsigned i = 0; i <= ASK_ROOM; i++) {
			const struct part *c = &a->writes[i];

			*at = 0;
			for (unsigned k = 0; k < c->n; k++) {
				if (c->segs[k].length && octets >= c->at[k] &&
				    octets < c->at[k] + c->segs[k].length) {
					*at += (uint32_t)(octets - c->at[k]);
					*ask = a;
					*chunk = i;
					return true;
				}
				*at += c->segs[k].length;
			}
		}
	}
	return false;
}

void bout_moved(struct bout *b, struct party *p, const uint8_t *octets, uint32_t len)
{
	struct ask *a;
	unsigned chunk;
	uint32_t at;

	if (!len)
		return;
	b->writes++;
	must(find_octets(p, octets, &a, &chunk, &at));
	must(at + len <= a->writes[chunk].cap);
	must(chunk != ASK_ROOM || at + len <= ROOM_MOST);
	must(a->stage == ASK_HEARD || a->stage == ASK_ANSWERED);
	for (uint32_t i = 0; i < len; i++) {
		uint8_t usual[256];

		/* Most octets are those that were written last, and first. */
		if (i % sizeof(usual) == 0)
			ask_octets(a, chunk, at + i,
				   len - i < sizeof(usual) ? len - i : sizeof(usual), 0, usual);
		if (octets[i] == usual[i % sizeof(usual)] && a->writes[chunk].seen[at + i] & 1)
			continue;
		if (ask_is_allowed(a, chunk, at + i, octets[i]))
			continue;
		/* Gaps of Writes are filled with zeros. */
		if (!(a->writes[chunk].seen[at + i] & 15) &&
		    (!octets[i] || (b->no_written && a->is_foul)))
			continue;
		printf("xid %x chunk %u octet %u of %u+%u is %02x, seen %02x\n", a->xid, chunk,
		       at + i, at, len, octets[i], a->writes[chunk].seen[at + i]);
		must(false); /* an octet that was never written for this call */
	}
}

/* --- rules --- */

bool bout_may_foul(struct bout *b, enum foul foul, unsigned of)
{
	if (b->plan != foul || !b->is_foul || !b->budget || b->warm ||
	    !chance(b->client.rng, 1 + of / 20))
		return false;
	b->budget--;
	b->last = foul;
	b->fouls[foul]++;
	return true;
}

/* --- Sends --- */

bool party_has_room(const struct party *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PARTY_SENDS; i++)
		n += p->busy_sends[i];
	return n < PARTY_SENDS / 2;
}

static uint8_t *send_buffer(struct party *p)
{
	unsigned n = 0;

	while (p->busy_sends[p->next_send % PARTY_SENDS]) {
		p->next_send++;
		must(++n < PARTY_SENDS);
	}
	n = p->next_send++ % PARTY_SENDS;
	p->busy_sends[n] = true;
	return p->memory + SENDS_AT + (size_t)n * PARTY_BUFFER;
}

static void free_buffer(struct party *p, const uint8_t *at)
{
	p->busy_sends[(size_t)(at - p->memory - SENDS_AT) / PARTY_BUFFER] = false;
}

static void post(struct party *p, uint8_t *at, uint32_t len, uint32_t inv_handle)
{
	const struct fabric_sge sge = {at, len};
	uint32_t credit = p->credits;
	int err;

	if (p->version == 2) {
		credit += p->received;
		p->told = p->received;
		p->sent++;
	}
	xdr_poke_u32(at + 8, credit);
	err = p->conn && !p->closed ? fabric_send(p->conn, &sge, 1, inv_handle, at) : ERR_CLOSED;
	if (err < 0)
		free_buffer(p, at);
}

static void flush(struct party *p)
{
	unsigned n = 0;

	while (n < p->nqueue && p->connected &&
	       (p->version != 2 || (int32_t)(p->limit - p->sent) > 0)) {
		post(p, p->queue[n].at, p->queue[n].len, p->queue[n].inv_handle);
		n++;
	}
	p->nqueue -= n;
	memmove(p->queue, p->queue + n, p->nqueue * sizeof(p->queue[0]));
	if (p->version == 2 && p->ready && p->received - p->told >= (p->credits + 1) / 2 &&
	    (int32_t)(p->limit - p->sent) >= 0) {
		uint8_t *at = send_buffer(p);

		xdr_poke_u32(at, 0);
		xdr_poke_u32(at + 4, 2);
		xdr_poke_u32(at + 12, 5);
		post(p, at, 16, 0);
	}
}

struct xdr_out party_begin(struct party *p, uint32_t xid, uint32_t type)
{
	struct xdr_out x;

	xdr_out_init(&x, send_buffer(p), PARTY_BUFFER);
	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, p->version);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, type);
	return x;
}

void party_send(struct party *p, const struct xdr_out *x, uint32_t inv_handle)
{
	must(!x->failed && p->nqueue < PARTY_SENDS);
	p->queue[p->nqueue].at = x->start;
	p->queue[p->nqueue].len = (uint32_t)xdr_out_len(x);
	p->queue[p->nqueue++].inv_handle = inv_handle;
}

void party_drop(struct party *p, const struct xdr_out *x)
{
	free_buffer(p, x->start);
}

static void put_octets(struct xdr_out *x, const uint8_t *from, size_t len)
{
	must(xdr_has_room(x, len));
	memcpy(x->pos, from, len);
	x->pos += len;
}

void party_say(struct party *p, struct xdr_out *x, uint32_t xid, bool is_call,
	       const uint8_t *stream, uint32_t len, uint32_t inv_handle)
{
	size_t header = xdr_out_len(x);
	uint32_t at = 0;

	while (header + len - at > p->peer_takes) {
		struct xdr_out part = party_begin(p, xid, is_call ? 9 : 12);
		uint32_t most = p->peer_takes - 20, n;

		must(p->version == 2);
		if (most > len - at - 4)
			most = len - at - 4;
		n = chance(p->rng, 3) ? most - rng_below(p->rng, most > 500 ? 500 : most - 3)
				      : most;
		xdr_put_u32(&part, len - at - n);
		put_octets(&part, stream + at, n);
		party_send(p, &part, 0);
		at += n;
	}
	put_octets(x, stream + at, len - at);
	party_send(p, x, inv_handle);
}

/* --- messages --- */

static void send_properties(struct party *p)
{
	const uint32_t props[][2] = {{1, p->inline_bytes}, {2, p->inline_bytes}, {5, 3}};
	struct xdr_out x = party_begin(p, 0x1234, 7);

	xdr_put_u32(&x, 3);
	for (unsigned i = 0; i < 3; i++) {
		xdr_put_u32(&x, props[i][0]);
		xdr_put_u32(&x, 4);
		xdr_put_u32(&x, props[i][1]);
	}
	party_send(p, &x, 0);
}

static void other_version(struct party *p, const struct wire *w)
{
	struct xdr_out x = party_begin(p, w->xid, 4);

	xdr_poke_u32(x.start + 4, w->vers);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 1);
	party_send(p, &x, 0);
}

static bool gather(struct party *p, const struct wire *w, struct view *stream)
{
	if (!w->is_middle && !p->parts_len)
		return true;
	if (p->parts_len && p->parts_head.xid != w->xid) { /* the first form was given up */
		must(p->bout->is_foul || p->bout->has_timeout);
		p->parts_len = 0;
		if (!w->is_middle)
			return true;
	}
	must(p->parts_len + w->body.len <= 2 * ASK_STREAM);
	memcpy(p->parts + p->parts_len, w->body.data, w->body.len);
	p->parts_len += (uint32_t)w->body.len;
	p->parts_head = *w;
	if (w->is_middle)
		return false;
	*stream = view_of(p->parts, p->parts_len);
	p->parts_len = 0;
	return true;
}

static void take_answer(struct party *p, const struct wire *w, struct view stream,
			uint32_t invalidated)
{
	if (p->in_flight)
		p->in_flight--;
	if (p->version == 1 && w->credit)
		p->granted = w->credit;
	if (w->kind == WIRE_REPLY)
		party_take_reply(p, w, stream, invalidated);
	else
		party_take_error(p, w);
}

static void on_message(struct party *p, const struct fabric_event *ev)
{
	static struct wire w;
	struct view in = view_of(ev->cookie, ev->len), stream;

	must(in.len <= p->inline_bytes || !p->ready);
	must(wire_read(&w, in));
	p->received++;
	if (w.vers != p->version && p->is_server) {
		other_version(p, &w);
		return;
	}
	if (p->version == 2)
		p->limit = w.credit;
	stream = w.body;
	switch (w.kind) {
	case WIRE_PROPS:
		p->ready = true;
		p->peer_takes = w.takes < p->inline_bytes ? w.takes : p->inline_bytes;
		if (p->is_server)
			send_properties(p);
		break;
	case WIRE_CALL:
		p->ready = true;
		if (gather(p, &w, &stream))
			party_serve(p, &w, stream);
		break;
	case WIRE_REPLY:
	case WIRE_ERROR:
		if (w.kind == WIRE_ERROR || gather(p, &w, &stream))
			take_answer(p, &w, stream, ev->invalidated);
		break;
	case WIRE_GRANT:
	case WIRE_NONE:
		break;
	}
}

/* --- a connection --- */

static void private_data(const struct party *p, uint8_t out[8])
{
	const uint8_t size = (uint8_t)(p->inline_bytes / 1024 - 1);
	const uint8_t all[] = {0xf6, 0xab, 0x0e, 0x18, 1, p->sets_r, size, size};

	memcpy(out, all, 8);
}

static void hear_private_data(struct party *p, struct view in)
{
	uint32_t takes = 1024;

	if (in.len >= 8 && xdr_peek_u32(in.data) == 0xf6ab0e18) {
		takes = (in.data[7] + 1u) * 1024;
		p->peer_r = in.data[5] & 1;
	}
	p->peer_takes = takes < p->inline_bytes ? takes : p->inline_bytes;
	p->ready |= p->version == 1 && !p->is_server;
}

static struct fabric_conn_params params(const struct party *p, uint8_t pdata[8])
{
	private_data(p, pdata);
	return (struct fabric_conn_params){.private_data = pdata,
					   .private_data_len = 8,
					   .max_recvs = PARTY_RECVS,
					   .max_sends = 4096,
					   .max_exposures = 1024};
}

static void post_recv(struct party *p, uint8_t *at)
{
	if (p->conn && !p->closed)
		(void)!fabric_post_recv(p->conn, at, PARTY_BUFFER, at);
}

static void post_all(struct party *p)
{
	for (unsigned i = 0; i < PARTY_RECVS; i++)
		post_recv(p, p->memory + (size_t)i * PARTY_BUFFER);
}

void bout_connect(struct bout *b, const struct fabric_addr *to)
{
	struct party *p = &b->client;
	uint8_t pdata[8];
	const struct fabric_conn_params pa = params(p, pdata);

	must(fabric_connect(p->fabric, to, &pa, p, &p->conn) == 0);
	post_all(p);
}

static void on_request(struct party *p, struct fabric_event *ev)
{
	uint8_t pdata[8];
	const struct fabric_conn_params pa = params(p, pdata);

	if (p->conn || p->closed) {
		fabric_reject(ev->conn, view_of(NULL, 0));
		return;
	}
	p->conn = ev->conn;
	hear_private_data(p, ev->private_data);
	must(fabric_prepare(p->conn, &pa) == 0);
	post_all(p);
	must(fabric_accept(p->conn, &pa, p) == 0);
}

static void on_connected(struct party *p, const struct fabric_event *ev)
{
	p->connected = true;
	if (p->is_server)
		return;
	hear_private_data(p, ev->private_data);
	if (p->version == 2) {
		p->peer_takes = 4096;
		send_properties(p);
	}
}

static void on_op(const struct fabric_event *ev)
{
	struct duty *d = ev->cookie;

	if (!d)
		return;
	d->ops--;
	d->reads -= ev->type == FABRIC_EV_READ;
	d->failed |= ev->status != 0;
}

void party_turn(struct party *p)
{
	struct fabric_event ev;

	while (fabric_poll(p->fabric, &ev)) {
		switch (ev.type) {
		case FABRIC_EV_REQUEST:
			on_request(p, &ev);
			break;
		case FABRIC_EV_CONNECTED:
			on_connected(p, &ev);
			break;
		case FABRIC_EV_RECV:
			if (ev.status == 0) {
				on_message(p, &ev);
				post_recv(p, ev.cookie);
			}
			break;
		case FABRIC_EV_SEND:
			free_buffer(p, ev.cookie);
			break;
		case FABRIC_EV_WITHDRAWN:
			ask_fenced(ev.cookie);
			break;
		case FABRIC_EV_DISCONNECTED:
			p->closed = true;
			p->status = ev.status;
			p->why = ev.why ? ev.why : "-";
			break;
		case FABRIC_EV_WRITE:
		case FABRIC_EV_READ:
			on_op(&ev);
			break;
		case FABRIC_EV_PLACED:
		case FABRIC_EV_RECV_LIMITED:
			break;
		}
	}
	party_duties(p);
	if (p->conn && !p->closed)
		flush(p);
	fabric_flush(p->fabric);
}

nsec_t party_due(const struct party *p)
{
	nsec_t due = NSEC_NEVER;

	for (const struct duty *d = p->duties; d < p->duties + DUTIES; d++)
		if (d->busy && !p->closed && d->due < due)
			due = d->due;
	return due;
}

void party_hang_up(struct party *p)
{
	if (p->conn)
		fabric_destroy(p->conn);
	p->conn = NULL;
	p->closed = true;
}

/* --- a bout --- */

/* Memory is kept for the next bouts: it is large. */
static uint8_t *kept(unsigned index, unsigned side)
{
	static uint8_t *all[3][2];

	if (!all[index][side])
		all[index][side] = malloc(MEMORY);
	must(all[index][side]);
	return all[index][side];
}

static uint8_t *kept_octets(unsigned index, unsigned ask, unsigned what, size_t len)
{
	static uint8_t *all[3][ASK_ALL][4];

	if (!all[index][ask][what])
		all[index][ask][what] = malloc(len);
	must(all[index][ask][what]);
	return all[index][ask][what];
}

static void party_init(struct party *p, struct bout *b, bool is_server, unsigned version,
		       struct rng *r)
{
	static const uint32_t sizes[] = {4096, 4096, 8192, 16384};
	static uint8_t *parts[3][2];

	memset(p, 0, sizeof(*p));
	p->rng = r;
	p->bout = b;
	p->is_server = is_server;
	p->version = version;
	p->inline_bytes = sizes[rng_below(r, 4)];
	p->credits = 6 + rng_below(r, 30);
	p->sets_r = !chance(r, 3);
	p->pads_reads = version == 1 && chance(r, 2);
	p->granted = 1;
	p->limit = 1;
	p->fabric = bout_place.fabric();
	p->memory = kept(b->index, is_server);
	if (!parts[b->index][is_server])
		parts[b->index][is_server] = malloc(2 * ASK_STREAM);
	p->parts = parts[b->index][is_server];
	must(p->fabric && p->parts);
	for (unsigned i = 0; i < DUTIES; i++)
		p->duties[i].memory = p->memory + DUTIES_AT + (size_t)i * DUTY_BYTES;
	must(fabric_register(p->fabric, p->memory, MEMORY) == 0);
}

void bout_begin(struct bout *b, unsigned index, unsigned cv, unsigned sv, struct rng *r)
{
	memset(b, 0, sizeof(*b));
	b->index = index;
	b->next_xid = (index + 1) << 28 | (uint32_t)rng_next(r) >> 8;
	party_init(&b->client, b, false, cv, r);
	party_init(&b->server, b, true, sv, r);
	for (unsigned i = 0; i < ASK_ALL; i++) {
		b->asks[i].bout = b;
		b->asks[i].reverse = i >= ASKS;
		b->asks[i].call = kept_octets(index, i, 0, ASK_STREAM);
		b->asks[i].reply = kept_octets(index, i, 1, ASK_STREAM);
		b->asks[i].marks = kept_octets(index, i, 2, ASK_SLOT);
		b->asks[i].room_marks = kept_octets(index, i, 3, ROOM_MOST);
	}
}

static void party_fini(struct party *p)
{
	party_hang_up(p);
	fabric_unregister(p->fabric, p->memory);
	fabric_free(p->fabric);
}

void bout_end(struct bout *b)
{
	party_fini(&b->client);
	party_fini(&b->server);
}

uint8_t *ask_memory(const struct party *p, const struct ask *a)
{
	return p->memory + SLOTS_AT + (size_t)(a - p->bout->asks) * ASK_SLOT;
}

struct ask *ask_range(struct party *p, unsigned *n)
{
	*n = p->is_server ? ASKS_BACK : ASKS;
	return p->bout->asks + (p->is_server ? ASKS : 0);
}
