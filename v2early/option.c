/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages sent as options: Transmit Requests and Responses, and their continuations. */
#include "v2early/option.h"

#include <string.h>

#include "base/list.h"
#include "base/min.h"

void early_peer_structure(const struct rpc_transport *t, struct rtr_structure *s)
{
	const struct rpc_params peer = {.recv_bytes = EARLY_INLINE_BYTES,
					.bulk_bytes = t->own.peer_bulk_bytes};

	if (peer.bulk_bytes)
		rtr_call_own(&peer, s);
	else
		rtr_structure_plain(s, peer.recv_bytes);
}

/* Calls that may be sent now. */
static uint32_t open_credits(const struct early_conn *c)
{
	uint32_t limit = rpc_account_limit(&c->calls, &c->t.own);

	return limit > c->calls.in_flight ? limit - c->calls.in_flight : 0;
}

/* Profile section 4: a request has at most as many transmissions as there are credits, a response
 * at most as many as Receives are reserved for it. */
static uint32_t most_of(const struct early_conn *c, const struct rpc_msg *m, uint32_t credits)
{
	if (m->dir == RPC_REPLY)
		return min_u32(rtr_limit(m->reserved), rtr_limit(c->t.own.transmissions));
	return credits ? min_u32(c->most, credits) : 1;
}

/* Receives that the response to @m could fill beside the first, with all data that may come by
 * Send: each item begins in a Receive of its own. */
static uint64_t could_fill(const struct rpc_params *own, const struct rpc_msg *m)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < m->nwishes; i++) {
		const struct rpc_wish *wish = &m->wishes[i];
		uint64_t bytes = m->writes[i].length;

		if (wish->way == RPC_BY_WRITE)
			continue;
		if (wish->way == RPC_BY_SIZE && bytes > wish->most)
			bytes = wish->most;
		n += bytes > own->bulk_bytes ? (bytes + own->bulk_bytes - 1) / own->bulk_bytes : 1;
	}
	return n ? n - 1 : 0;
}

/* rtr 4.3: Receives reserved for the response. No credit covers them, so the user tells how many it
 * can spare; half of that stays for later calls. */
static uint32_t kept_for(const struct early_conn *c, const struct rpc_msg *m)
{
	uint32_t spare = min_u32(c->t.spare / 2, rtr_limit(c->t.own.transmissions) - 1);
	uint64_t most = could_fill(&c->t.own, m);

	return most < spare ? (uint32_t)most : spare;
}

/* Transmission @number of a group of @most. */
static int form_placed(const struct rpc_transport *t, const struct rpc_msg *m, uint32_t most,
		       uint32_t number, struct rtr_msg *r, struct rtr_send *send)
{
	const struct early_conn *c = container_of(t, const struct early_conn, t);
	struct rtr_structure s;
	const struct rtr_path path = {.to = &s,
				      .most = most,
				      .type = m->dir == RPC_CALL ? RTR_REQUEST : RTR_RESPONSE,
				      .fixed = EARLY_OPTIONAL_BYTES,
				      .reserved = 1 + (m->dir == RPC_CALL ? kept_for(c, m) : 0),
				      .room = t->own.send_bytes};
	int rc;

	early_peer_structure(t, &s);
	rc = rtr_form(&path, m, number, r, send);
	return rc || rtr_len(r) > EARLY_FIRST_BYTES ? ERR_TOOBIG : 0;
}

static bool may_be_option(const struct early_conn *c, const struct rpc_msg *m)
{
	/* The peer assumes that our Receives are those of the profile (section 2). */
	bool may_ask = c->t.own.bulk_bytes && c->t.own.recv_bytes == EARLY_INLINE_BYTES;

	if (m->dir == RPC_REPLY)
		return c->t.own.role == RPC_ACCEPTOR && !(c->lacks_data && m->nplaced);
	/* Only one of the calls with the same index may be an option, because a refusal must be
	 * matched to its call. */
	return c->t.own.peer_bulk_bytes && c->t.own.role == RPC_INITIATOR && c->is_spoken &&
	       !c->lacks_rtr && !c->options[m->xid % EARLY_OPTIONS].is_open &&
	       (may_ask || !m->nwishes);
}

bool early_option_places(const struct rpc_transport *t, const struct rpc_msg *m)
{
	const struct early_conn *c = container_of(t, const struct early_conn, t);
	struct rtr_send first;
	struct rtr_msg r;

	return may_be_option(c, m) &&
	       form_placed(t, m, most_of(c, m, open_credits(c)), 0, &r, &first) == 0;
}

static void remember_option(struct early_conn *c, const struct rpc_msg *m, uint32_t count,
			    uint32_t reserved)
{
	struct early_option *o = &c->options[m->xid % EARLY_OPTIONS];

	*o = (struct early_option){.xid = m->xid,
				   .is_open = true,
				   .more = (uint8_t)(count - 1),
				   .kept = (uint8_t)(reserved - 1)};
	rpc_account_call(&c->calls, &c->t, m->xid);
	c->calls.in_flight += o->more;
	c->t.kept += o->kept;
}

/* A group that was begun goes on with its first layout, even if credits have changed. */
static int form_next(const struct early_conn *c, const struct rpc_tx *tx, struct rtr_msg *r,
		     struct rtr_send *send)
{
	const struct rpc_msg *m = tx->msg;
	uint32_t credits = open_credits(c);
	int err;

	if (tx->transmission)
		return form_placed(&c->t, m, c->tx_count, tx->transmission, r, send);
	if (!may_be_option(c, m))
		return ERR_TOOBIG;
	if (m->dir == RPC_REPLY || tx->cover == RPC_COVER_NOW) /* the message has another form */
		return form_placed(&c->t, m, most_of(c, m, credits), 0, r, send);
	err = form_placed(&c->t, m, most_of(c, m, rpc_account_limit(&c->calls, &c->t.own)), 0, r,
			  send);
	return err || send->count == 1 || send->count <= credits ? err : ERR_AGAIN;
}

/* Writes the header of @r. Return: its length, or an error. */
static int put_option(const struct early_conn *c, const struct rpc_msg *m, const struct rtr_msg *r,
		      uint8_t *hdr, size_t cap)
{
	struct early_header h = {.xid = m->xid,
				 .credit = m->dir == RPC_CALL ? rpc_account_requests(&c->t.own)
							      : rpc_account_grants(&c->t.own),
				 .opttype = r->op,
				 .optdir = m->dir};
	uint8_t info[EARLY_FIRST_BYTES];
	struct xdr_out x;

	xdr_out_init(&x, info, sizeof(info));
	rtr_encode(r, &x);
	if (x.failed)
		return ERR_TOOBIG;
	h.optinfo = view_of(info, xdr_out_len(&x));
	return early_optional_encode(&h, hdr, cap);
}

int early_option_encode(struct early_conn *c, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
			size_t *hdr_len, size_t *body_len)
{
	const struct rpc_msg *m = tx->msg;
	struct rtr_send send;
	struct rtr_msg r;
	int len = form_next(c, tx, &r, &send);

	if (!len)
		len = put_option(c, m, &r, hdr, cap);
	if (len < 0)
		return len;
	*hdr_len = (size_t)len;
	*body_len = send.length;
	tx->body_sent += send.length;
	memcpy(tx->data, send.data, sizeof(tx->data));
	tx->ndata = send.ndata;
	if (tx->transmission == 0 && m->dir == RPC_CALL)
		remember_option(c, m, send.count, r.reserved);
	c->tx_open = ++tx->transmission < send.count;
	c->tx_dir = m->dir;
	c->tx_xid = m->xid;
	c->tx_count = send.count;
	c->t.count.sends++;
	return c->tx_open;
}
