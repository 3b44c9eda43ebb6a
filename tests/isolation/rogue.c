/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/rogue.h"

#include <assert.h>
#include <string.h>

#include "base/loop.h"
#include "v1/header.h"
#include "v2/header.h"
#include "xdr/cursor.h"

/*
 * Operation. A rogue is a connection, or the wish for one:
 *
 *   wait --> connect or accept --> its first words --> act, act, act ... --> gone --> wait
 *
 * With each connection it draws what it knows and how often it does it. rogue_act() does one
 * thing; several before one flush arrive together. What it does against the clock (a drip of a
 * continued message, its first words after a silence) rogue_wait() does.
 */

void rogue_init(struct rogue *r, struct fabric *fabric, const struct fabric_addr *to,
		struct rng *rng, uint8_t *memory, uint8_t *dump)
{
	*r = (struct rogue){.fabric = fabric,
			    .to = to,
			    .server = !to,
			    .rng = rng,
			    .memory = memory,
			    .dump = dump,
			    .connect_at = to ? 0 : NSEC_NEVER,
			    .allowed = MISDEEDS};
}

static void draw_character(struct rogue *r)
{
	static const unsigned often[] = {1, 2, 3, 6, 20, 100};

	r->knows = (unsigned)(rng_next(r->rng) & rng_next(r->rng)) & r->allowed;
	if (rogue_draw(r, 2)) /* this misdeed has an effect only if several rogues do it */
		r->knows |= MISDEED_LATE & r->allowed;
	if (!rogue_draw(r, 3))
		r->knows &= ~(unsigned)(MISDEED_HANG | MISDEED_SLOW);
	r->often = often[rng_below(r->rng, 6)];
	r->patient = rogue_draw(r, 2);
	r->wants = 1 + rng_below(r->rng, 2);
}

static void begin(struct rogue *r)
{
	r->connected = false;
	r->version = r->server ? 0 : 1 + rng_below(r->rng, 2);
	r->received = r->sent = r->in_flight = r->granted_received = 0;
	r->granted = 1;
	r->sends_out = r->reads_out = r->nstale = 0;
	r->part_left = 0;
	r->rcalls[0] = r->rcalls[1] = false;
	r->drip_at = r->speak_at = NSEC_NEVER;
	memset(r->calls, 0, sizeof(r->calls));
	draw_character(r);
	rogue_take_mark(r, r->server ? MARK_NONE : r->fresh_mark);
	r->connects++;
}

static const uint8_t said[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};

static struct fabric_conn_params params(void)
{
	return (struct fabric_conn_params){.private_data = said,
					   .private_data_len = sizeof(said),
					   .max_recvs = ROGUE_RECVS,
					   .max_sends = 128,
					   .max_exposures = 64};
}

static void post_all(struct rogue *r)
{
	for (unsigned i = 0; i < ROGUE_RECVS; i++) {
		uint8_t *at = r->memory + (size_t)i * ROGUE_BUFFER;

		(void)!fabric_post_recv(r->conn, at, ROGUE_BUFFER, at);
	}
}

static void connect_now(struct rogue *r)
{
	const struct fabric_conn_params p = params();

	begin(r);
	r->connect_at = NSEC_NEVER;
	if (fabric_connect(r->fabric, r->to, &p, r, &r->conn) < 0)
		r->conn = NULL;
	else
		post_all(r);
}

static void accept_now(struct rogue *r, struct fabric_conn *conn)
{
	const struct fabric_conn_params p = params();

	begin(r);
	r->conn = conn;
	if (rogue_will(r, MISDEED_SLOW)) /* never answers */
		return;
	if (fabric_prepare(conn, &p) == 0) {
		post_all(r);
		(void)!fabric_accept(conn, &p, r);
	}
}

void rogue_leave(struct rogue *r)
{
	if (r->conn)
		fabric_destroy(r->conn);
	r->conn = NULL;
	r->connected = false;
	r->connect_at =
		r->server ? NSEC_NEVER : r->now(r->clock) + rng_below(r->rng, 50) * NSEC_PER_MS;
}

/* Answer the first message: it may be the version of a server whose properties are asked for. */
static void answer_first(struct rogue *r)
{
	const uint32_t error[] = {0x55, 2, ROGUE_GRANT_V1, V2_ERROR, 1, 1, 1};

	r->speak_at = NSEC_NEVER;
	if (r->wants == 2) {
		r->version = 2;
		rogue_properties(r, 0x55);
	} else {
		rogue_send_words(r, error, 7, 0);
	}
}

static void first_words(struct rogue *r)
{
	r->speak_at = NSEC_NEVER;
	if (r->server)
		answer_first(r);
	else if (r->version == 2)
		rogue_properties(r, 0x99);
}

static void speak_soon(struct rogue *r)
{
	r->speak_at = r->now(r->clock);
	if (rogue_will(r, MISDEED_SLOW))
		r->speak_at += rng_below(r->rng, 12000) * NSEC_PER_MS;
	else
		first_words(r);
}

static void on_v2(struct rogue *r, struct view in)
{
	static struct rpc_msg m;
	struct rpc_error fault;
	struct v2_hdr h;
	int err = v2_decode(&h, &m, in, RPC_MAX_SEGMENTS, &fault);

	if (err < 0)
		return;
	r->granted = h.credit;
	if (h.htype == V2_CONNPROP_FINAL && r->server)
		speak_soon(r);
	else if (h.htype == V2_ERROR && !r->server)
		rogue_client_error(r, h.xid);
	if (v2_type_find(h.htype)->flags & (V2_IS_CONTROL | V2_IS_MIDDLE))
		return;
	(void)rogue_asked(in, &m);
	if (r->server)
		rogue_server_message(r, &m);
	else
		rogue_client_message(r, &m);
}

static void on_v1(struct rogue *r, struct view in)
{
	static struct rpc_msg m;
	struct v1_header h;
	bool dir_known;

	if (v1_header_decode(&h, &m, &dir_known, in) < 0)
		return;
	r->version = 1;
	if (h.proc == V1_ERROR && !r->server)
		rogue_client_error(r, h.xid);
	if (h.proc != V1_MSG && h.proc != V1_NOMSG)
		return;
	if (r->server) {
		rogue_server_message(r, &m);
		return;
	}
	if (m.dir == RPC_REPLY)
		r->granted = h.credit;
	rogue_client_message(r, &m);
}

static void on_recv(struct rogue *r, const struct fabric_event *ev)
{
	struct view in = view_of(ev->cookie, ev->len);

	if (ev->status < 0)
		return;
	r->received++;
	if (in.len >= V2_PREFIX_BYTES) {
		if (xdr_peek_u32(in.data + 4) == V2_VERSION)
			on_v2(r, in);
		else
			on_v1(r, in);
	}
	if (r->conn)
		(void)!fabric_post_recv(r->conn, ev->cookie, ROGUE_BUFFER, ev->cookie);
}

void rogue_event(struct rogue *r, const struct fabric_event *ev)
{
	switch (ev->type) {
	case FABRIC_EV_REQUEST:
		accept_now(r, ev->conn);
		break;
	case FABRIC_EV_CONNECTED:
		r->connected = true;
		if (!r->server)
			speak_soon(r);
		break;
	case FABRIC_EV_DISCONNECTED:
		rogue_leave(r);
		break;
	case FABRIC_EV_RECV:
		on_recv(r, ev);
		break;
	case FABRIC_EV_SEND:
		r->sends_out--;
		break;
	case FABRIC_EV_READ:
		r->reads_out--;
		break;
	case FABRIC_EV_WRITE:
		if (ev->cookie)
			((struct rogue_call *)ev->cookie)->writing--;
		break;
	case FABRIC_EV_WITHDRAWN:
	case FABRIC_EV_PLACED:
	case FABRIC_EV_RECV_LIMITED:
		break;
	}
}

static void drip(struct rogue *r)
{
	r->drip_at = r->now(r->clock) + (10 + rng_below(r->rng, 49)) * NSEC_PER_SEC;
	rogue_send_part(r, 1 + rng_below(r->rng, 4));
}

nsec_t rogue_wait(struct rogue *r)
{
	nsec_t now = r->now(r->clock);

	if (!r->conn) {
		if (!r->server && r->connect_at <= now && r->fresh_mark)
			connect_now(r);
		return r->connect_at;
	}
	if (!r->connected)
		return NSEC_NEVER;
	if (r->speak_at <= now)
		first_words(r);
	if (r->drip_at <= now && r->part_left > 8)
		drip(r);
	else if (r->drip_at <= now)
		r->drip_at = NSEC_NEVER;
	return nsec_min(r->speak_at, r->drip_at);
}

static void garbage(struct rogue *r)
{
	uint32_t words[64], n = 1 + rng_below(r->rng, 64);

	for (unsigned i = 0; i < n; i++)
		words[i] = mark_word32(rogue_draw(r, 2) ? r->mark : MARK_NONE,
				       (uint32_t)rng_next(r->rng));
	if (!rogue_draw(r, 3)) /* past the check of the version */
		words[1 % n] = r->version;
	if (rogue_draw(r, 2))
		words[3 % n] = rng_below(r->rng, 16);
	rogue_send_words(r, words, n, 0);
}

/* Grant credits; after a long silence the gateway would have none left. */
static void grant(struct rogue *r)
{
	const uint32_t words[] = {0, 2, rogue_credit(r), V2_GRANT};

	if (r->version == 2 && r->received - r->granted_received > ROGUE_WINDOW / 2)
		rogue_send_words(r, words, 4, 0);
}

void rogue_act(struct rogue *r)
{
	if (!r->connected || r->speak_at != NSEC_NEVER || (r->server && !r->mark))
		return;
	r->acts++;
	grant(r);
	if (rogue_will(r, MISDEED_LEAVE) && rogue_draw(r, 20)) {
		rogue_leave(r);
		return;
	}
	if (rogue_will(r, MISDEED_GARBAGE) && rogue_draw(r, 10))
		garbage(r);
	else if (r->server)
		rogue_server_act(r);
	else
		rogue_client_act(r);
}
