/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rogue clients: calls of any shape, whose chunks may contradict their contents, and all else that
 * a client may send. Results go to memory that is not checked: the taint oracle has seen them
 * arrive.
 */
#include <string.h>

#include "tests/isolation/rogue.h"
#include "v2/header.h"

static struct rogue_call *free_call(struct rogue *r, unsigned *at)
{
	for (unsigned i = 0; i < ROGUE_CALLS; i++)
		if (!r->calls[i].used) {
			*at = i;
			return &r->calls[i];
		}
	return NULL;
}

/* Names @len octets, exposed or, as a misdeed, only so many that they are not all there. */
static bool add(struct rogue *r, struct rpc_msg *m, struct rpc_chunk *c, const uint8_t *at,
		uint32_t len, unsigned access)
{
	struct segment s;
	bool lie = rogue_will(r, MISDEED_FALSE_LENGTH) && rogue_draw(r, 10);

	if (fabric_expose(r->conn, (uint8_t *)(uintptr_t)at, lie ? (len + 1) / 2 : len, access,
			  &s) < 0)
		return false;
	s.length = len;
	return rpc_msg_add_segment(m, c, &s) == 0;
}

static bool add_read(struct rogue *r, struct rpc_msg *m, uint32_t position)
{
	struct rpc_chunk *c = &m->reads[m->nreads++];
	unsigned n = 1 + rng_below(r->rng, rogue_will(r, MISDEED_GREED) ? 6 : 2);

	*c = (struct rpc_chunk){.position = position, .first = (uint16_t)m->nsegs};
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = rogue_size(r, n > 2);

		if (!add(r, m, c, rogue_plain(r), len < ROGUE_PLAIN ? len : ROGUE_PLAIN,
			 FABRIC_REMOTE_READ))
			return false;
	}
	return true;
}

static bool add_results(struct rogue *r, struct rpc_msg *m, struct rpc_chunk *c)
{
	unsigned n = 1 + rng_below(r->rng, 3);
	bool large = (r->knows & MISDEED_GREED) && rogue_draw(r, 2);

	*c = (struct rpc_chunk){.first = (uint16_t)m->nsegs};
	for (unsigned i = 0; i < n; i++)
		if (!add(r, m, c, r->dump, rogue_size(r, large), FABRIC_REMOTE_WRITE))
			return false;
	return true;
}

/* The chunks of a call, in the order their segments have to be in. */
static bool add_chunks(struct rogue *r, struct rpc_msg *m)
{
	unsigned nreads = rng_below(r->rng, 3), nwrites = rng_below(r->rng, 3);

	for (unsigned i = 0; i < nreads; i++) {
		uint32_t at = 64;

		if (i)
			at = m->reads[0].position + 8 +
			     (((uint32_t)m->reads[0].length + 3) & ~UINT32_C(3));
		if (!add_read(r, m, at))
			return false;
	}
	for (unsigned i = 0; i < nwrites; i++)
		if (!add_results(r, m, &m->writes[m->nwrites++]))
			return false;
	if (rogue_draw(r, 3)) {
		m->has_reply = true;
		if (!add_results(r, m, &m->reply))
			return false;
	}
	if (m->nsegs && rogue_draw(r, 2))
		m->inv_handle = m->segs[rng_below(r->rng, m->nsegs)].handle;
	return true;
}

static void withdraw_all(struct rogue *r, const struct rpc_msg *m)
{
	for (unsigned i = 0; i < m->nsegs && r->connected; i++)
		(void)!fabric_withdraw(r->conn, m->segs[i].handle, NULL, NULL);
}

static uint32_t new_xid(struct rogue *r)
{
	if (!(rogue_will(r, MISDEED_WRONG_XID) && rogue_draw(r, 10)))
		r->next_xid = mark_next_xid(r->next_xid);
	return r->next_xid;
}

static void begin_call(struct rogue *r)
{
	unsigned at;
	struct rogue_call *c = free_call(r, &at);
	uint8_t *body = c ? rogue_body_room(r, at) : NULL;
	uint32_t len = 64 + 4 * rng_below(r->rng, rogue_draw(r, 3) ? 600 : 50);
	struct rpc_msg *m;

	if (!c || !rogue_may_send(r))
		return;
	m = &c->m;
	rpc_msg_reset(m, new_xid(r), RPC_CALL);
	if (rogue_draw(r, 5)) {
		len = 64 + 4 * rng_below(r->rng, (ROGUE_BODY - 64) / 4);
		m->has_body_chunk = true;
		m->body_chunk = (struct rpc_chunk){0};
		if (!add(r, m, &m->body_chunk, body, len, FABRIC_REMOTE_READ)) {
			withdraw_all(r, m);
			return;
		}
	}
	rogue_body(r, body, len, m->xid, true);
	if (!add_chunks(r, m)) {
		withdraw_all(r, m);
		return;
	}
	c->used = true;
	r->in_flight++;
	rogue_send_msg(r, m, view_of(body, m->has_body_chunk ? 0 : len), 0);
	if (rogue_will(r, MISDEED_AFTERWARDS) && rogue_draw(r, 10))
		withdraw_all(r, m);
}

/* A continued call: as it should be, or one that claims much and then is slow. */
static void begin_continued(struct rogue *r)
{
	unsigned at;
	struct rogue_call *c = free_call(r, &at);
	uint32_t total = 4000 + rng_below(r->rng, 40000);

	if (!c || !rogue_may_send(r))
		return;
	if (rogue_will(r, MISDEED_PARTS) && rogue_draw(r, 2))
		total = 1 + rng_below(r->rng, 8 << 20);
	rpc_msg_reset(&c->m, new_xid(r), RPC_CALL);
	c->used = true;
	r->in_flight++;
	rogue_begin_parts(r, c->m.xid, total & ~UINT32_C(3));
	rogue_send_part(r, 1000 + rng_below(r->rng, 3000));
	if (total > 100000)
		r->drip_at = r->now(r->clock);
}

static void go_on(struct rogue *r)
{
	struct rpc_msg m;

	if (r->drip_at != NSEC_NEVER && !rogue_draw(r, 1000))
		return;
	if (r->part_left > 2000) {
		rogue_send_part(r, 1 + rng_below(r->rng, 4000));
		return;
	}
	if (!rogue_may_send(r))
		return;
	rpc_msg_reset(&m, r->part_xid, RPC_CALL);
	rogue_send_msg(r, &m, view_of(rogue_plain(r), r->part_left), 0);
	r->part_left = 0;
}

static void answer_server(struct rogue *r, unsigned i)
{
	uint8_t body[256];
	struct rpc_msg m;

	if (r->version == 2 && !rogue_may_send(r))
		return;
	r->rcalls[i] = false;
	rpc_msg_reset(&m, r->rcall_xid[i], RPC_REPLY);
	if (rogue_will(r, MISDEED_WRONG_XID))
		m.xid = new_xid(r);
	rogue_body(r, body, sizeof(body), m.xid, false);
	rogue_send_msg(r, &m, view_of(body, sizeof(body)), 0);
}

static void control(struct rogue *r)
{
	const uint32_t grant[] = {0, 2, rogue_credit(r), V2_GRANT};
	const uint32_t error[] = {r->next_xid, r->version, rogue_credit(r), 4,
				  r->version == 1 ? 2 : 100};

	if (r->version == 2 && rogue_draw(r, 2))
		rogue_send_words(r, grant, 4, 0);
	else
		rogue_send_words(r, error, 5, 0);
}

void rogue_client_act(struct rogue *r)
{
	unsigned i = rng_below(r->rng, 2);

	if (r->part_left && (r->patient || !rogue_will(r, MISDEED_PARTS) || !rogue_draw(r, 5)))
		go_on(r);
	else if (rogue_will(r, MISDEED_CONTROL) && rogue_draw(r, 5))
		control(r);
	else if (r->rcalls[i] && !(r->knows & MISDEED_HANG))
		answer_server(r, i);
	else if (r->version == 2 && !r->part_left && rogue_draw(r, 8))
		begin_continued(r);
	else
		begin_call(r);
	/* Nothing comes of what it waits for. */
	if (r->calls[0].used && !(r->knows & MISDEED_HANG) && rogue_draw(r, 20000))
		rogue_leave(r);
}

static void end_call(struct rogue *r, uint32_t xid)
{
	for (unsigned i = 0; i < ROGUE_CALLS; i++) {
		struct rogue_call *c = &r->calls[i];

		if (!c->used || c->m.xid != xid)
			continue;
		withdraw_all(r, &c->m);
		c->used = false;
		r->in_flight -= r->in_flight > 0;
	}
}

void rogue_client_error(struct rogue *r, uint32_t xid)
{
	if (r->part_left && r->part_xid == xid)
		r->part_left = 0;
	end_call(r, xid);
}

void rogue_client_message(struct rogue *r, const struct rpc_msg *m)
{
	unsigned i = rng_below(r->rng, 2);

	if (m->dir == RPC_REPLY) {
		end_call(r, m->xid);
		return;
	}
	r->rcalls[i] = true;
	r->rcall_xid[i] = m->xid;
}
