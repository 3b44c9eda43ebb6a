/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session/raw.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SENDS_AT = RAW_RECVS * RAW_BUFFER, EXPOSED_AT = SENDS_AT + RAW_SENDS * RAW_BUFFER };

static const uint8_t private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};

static struct fabric_conn_params params(const struct raw *r)
{
	struct view said = r->pdata.len ? r->pdata : view_of(private_data, sizeof(private_data));

	return (struct fabric_conn_params){.private_data = said.data,
					   .private_data_len = said.len,
					   .max_recvs = RAW_RECVS,
					   .max_sends = RAW_SENDS,
					   .max_exposures = 64};
}

void raw_init(struct raw *r, struct memnet *net)
{
	memset(r, 0, sizeof(*r));
	r->net = net;
	r->fabric = memnet_fabric(net);
	r->memory = calloc(1, EXPOSED_AT + RAW_EXPOSED);
	assert(r->memory);
	assert(fabric_register(r->fabric, r->memory, EXPOSED_AT + RAW_EXPOSED) == 0);
}

static void post_recv(struct raw *r, uint8_t *at)
{
	(void)!fabric_post_recv(r->conn, at, RAW_BUFFER, at);
}

static void post_all(struct raw *r)
{
	for (unsigned i = 0; i < RAW_RECVS; i++)
		post_recv(r, r->memory + (size_t)i * RAW_BUFFER);
}

void raw_connect(struct raw *r, const struct fabric_addr *to)
{
	const struct fabric_conn_params p = params(r);

	r->connected = r->closed = false;
	r->exposed = 0;
	assert(fabric_connect(r->fabric, to, &p, r, &r->conn) == 0);
	post_all(r);
}

void raw_accept(struct raw *r)
{
	const struct fabric_conn_params p = params(r);

	r->accepted++;
	r->connected = r->closed = false;
	r->exposed = 0;
	assert(fabric_prepare(r->conn, &p) == 0);
	post_all(r);
	assert(fabric_accept(r->conn, &p, r) == 0);
}

static void on_request(struct raw *r, struct fabric_conn *conn)
{
	if (r->mute) {
		r->conn = conn;
		conn->owner = r;
		return;
	}
	if (r->reject || r->conn) {
		fabric_reject(conn, view_of(NULL, 0));
		return;
	}
	r->conn = conn;
	raw_accept(r);
}

static void on_recv(struct raw *r, const struct fabric_event *ev)
{
	struct view in = view_of(ev->cookie, ev->len);
	size_t keep = in.len < sizeof(r->octets[0]) ? in.len : sizeof(r->octets[0]);

	if (ev->status < 0)
		return;
	if (ev->invalidated)
		r->invalidated = ev->invalidated;
	if (r->nkept < RAW_KEPT) {
		memcpy(r->octets[r->nkept], in.data, keep);
		r->kept[r->nkept] = view_of(r->octets[r->nkept], in.len);
		r->nkept++;
	}
	if (r->on_message)
		r->on_message(r, in, r->arg);
	if (!r->deaf && r->conn && !r->closed)
		post_recv(r, ev->cookie);
}

void raw_turn(struct raw *r)
{
	struct fabric_event ev;

	while (fabric_poll(r->fabric, &ev)) {
		switch (ev.type) {
		case FABRIC_EV_REQUEST:
			on_request(r, ev.conn);
			break;
		case FABRIC_EV_CONNECTED:
			r->connected = true;
			break;
		case FABRIC_EV_DISCONNECTED:
			r->closed = true;
			r->status = ev.status;
			fabric_destroy(r->conn);
			r->conn = NULL;
			break;
		case FABRIC_EV_RECV:
			on_recv(r, &ev);
			break;
		default:
			break;
		}
	}
	fabric_flush(r->fabric);
}

struct xdr_out raw_begin(struct raw *r)
{
	struct xdr_out x;
	uint8_t *at = r->memory + SENDS_AT + (size_t)(r->sent++ % RAW_SENDS) * RAW_BUFFER;

	xdr_out_init(&x, at, RAW_BUFFER);
	return x;
}

void raw_end(struct raw *r, const struct xdr_out *x)
{
	const struct fabric_sge sge = {x->start, (uint32_t)xdr_out_len(x)};

	assert(!x->failed);
	if (r->conn && r->connected)
		(void)!fabric_send(r->conn, &sge, 1, r->invalidate, NULL);
	r->invalidate = 0;
}

void raw_send_words(struct raw *r, const uint32_t *words, size_t n)
{
	struct xdr_out x = raw_begin(r);

	for (size_t i = 0; i < n; i++)
		xdr_put_u32(&x, words[i]);
	raw_end(r, &x);
}

struct segment raw_expose(struct raw *r, uint32_t len, unsigned access)
{
	struct segment s = {0};

	assert(r->exposed + len <= RAW_EXPOSED);
	if (r->conn)
		(void)!fabric_expose(r->conn, r->memory + EXPOSED_AT + r->exposed, len, access, &s);
	r->exposed += len;
	return s;
}

void raw_write(struct raw *r, const struct segment *to, uint32_t len)
{
	const struct fabric_sge sge = {r->memory + EXPOSED_AT, len};

	if (r->conn)
		(void)!fabric_write(r->conn, &sge, 1, to, NULL);
}

uint32_t raw_word(const struct raw *r, unsigned n, unsigned i)
{
	size_t at = (size_t)i * 4;

	if (n >= r->nkept || at + 4 > r->kept[n].len || at + 4 > sizeof(r->octets[0]))
		return 0;
	return xdr_peek_u32(r->octets[n] + at);
}

uint32_t raw_last(const struct raw *r, unsigned i)
{
	return r->nkept ? raw_word(r, r->nkept - 1, i) : 0;
}

void raw_hang_up(struct raw *r)
{
	if (r->conn)
		fabric_destroy(r->conn);
	r->conn = NULL;
	r->connected = false;
}

void raw_fini(struct raw *r)
{
	raw_hang_up(r);
	fabric_unregister(r->fabric, r->memory);
	fabric_free(r->fabric);
	free(r->memory);
}
