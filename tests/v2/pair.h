/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_V2_PAIR_H
#define TESTS_V2_PAIR_H

#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/v2/random_msg.h"
#include "v2/conn.h"

/**
 * Two connections joined to each other. Each message arrives once and in order, when the test
 * delivers it. Both ends may call and answer. All contents of a message follow from its XID and
 * direction, so both ends can check it.
 */
enum { PAIR_BODY = 32768, PAIR_WIRE = 256, PAIR_JOBS = 512, PAIR_SEND = 65536 };

struct pair_job {
	uint32_t xid;
	enum rpc_dir dir;
};

struct pair_end {
	struct v2_conn c;
	struct rpc_msg received;
	struct pair_end *peer;

	/* Messages in flight toward this end, in order. */
	struct {
		uint8_t *octets;
		size_t len;
	} wire[PAIR_WIRE];
	unsigned wire_head, nwire;
	unsigned posted; /* Receives of this end that are posted */

	/* To be sent. If tx.msg is set, the first one is being sent. */
	struct pair_job jobs[PAIR_JOBS];
	unsigned job_head, njobs;
	struct rpc_tx tx;
	struct rpc_msg msg;
	uint8_t body[PAIR_BODY];

	uint8_t parts[PAIR_BODY]; /* of the continued message that is arriving */
	size_t nparts;
	unsigned calls_done; /* replies to calls of this end that have arrived */
	bool readied;

	unsigned window_breaches; /* Sends for which the peer had no Receive */
	bool in_message;	  /* the last message was a part, and not the last part */
	unsigned intrusions;	  /* Sends of another message in between */
};

struct pair {
	struct pair_end end[2]; /* initiator, acceptor */
	size_t max_body;	/* octets of the longest body of a Call */
	size_t max_reply;
	unsigned max_segments;
};

/* The message of an XID: its chunks, and @body's length in octets. */
static inline size_t pair_make(const struct pair *p, const struct pair_job *job, struct rpc_msg *m,
			       uint8_t *body)
{
	struct rng r = {(uint64_t)job->xid << 8 | (job->dir == RPC_REPLY)};
	size_t max = job->dir == RPC_CALL ? p->max_body : p->max_reply;
	size_t len = 8 + 4 * (rng_next(&r) % (max / 4 - 1));
	struct xdr_out x;

	xdr_out_init(&x, body, PAIR_BODY);
	xdr_put_u32(&x, job->xid);
	while (xdr_out_len(&x) < len)
		xdr_put_u32(&x, (uint32_t)rng_next(&r));
	if (p->max_segments) {
		random_msg(&r, m, job->xid, job->dir, view_of(body, len), p->max_segments);
	} else {
		rpc_msg_reset(m, job->xid, job->dir);
		m->body[0] = view_of(body, len);
		m->nbody = 1;
	}
	return m->has_body_chunk ? 0 : len;
}

static inline void pair_queue(struct pair_end *e, uint32_t xid, enum rpc_dir dir)
{
	assert_true(e->njobs < PAIR_JOBS);
	e->jobs[(e->job_head + e->njobs++) % PAIR_JOBS] = (struct pair_job){xid, dir};
}

static inline void pair_init(struct pair *p, const struct rpc_params *a, const struct rpc_params *b)
{
	memset(p, 0, sizeof(*p));
	p->max_body = p->max_reply = 64;
	for (int i = 0; i < 2; i++) {
		struct rpc_params own = i ? *b : *a;

		own.msg = &p->end[i].received;
		p->end[i].peer = &p->end[1 - i];
		assert_int_equal(v2_conn_init(&p->end[i].c, &own), 0);
		/* Section 4.2.1.1: one more than advertised. */
		p->end[i].posted = (i ? b : a)->credits + 1;
	}
}

/* Put a message on the wire toward @e's peer, as a Send would. */
static inline void pair_post(struct pair_end *e, const uint8_t *head, size_t head_len,
			     const uint8_t *body, size_t body_len)
{
	struct pair_end *to = e->peer;
	unsigned slot = (to->wire_head + to->nwire) % PAIR_WIRE;
	uint8_t *octets = malloc(head_len + body_len);

	assert_non_null(octets);
	assert_true(to->nwire < PAIR_WIRE);
	assert_true(head_len + body_len <= to->c.t.own.recv_bytes);
	/* 6.3.6, 6.3.9: a part must be followed by a part, whether the window is open or not. */
	if (e->in_message && body_len == 0)
		e->intrusions++;
	e->in_message = xdr_peek_u32(head + 12) == V2_CALL_MIDDLE ||
			xdr_peek_u32(head + 12) == V2_REPLY_MIDDLE;
	memcpy(octets, head, head_len);
	if (body_len)
		memcpy(octets + head_len, body, body_len);
	to->wire[slot].octets = octets;
	to->wire[slot].len = head_len + body_len;
	to->nwire++;
	if (to->nwire > to->posted)
		e->window_breaches++;
	/* The last Receive is for a GRANT. */
	if (to->nwire == to->posted && xdr_peek_u32(octets + 12) != V2_GRANT)
		e->window_breaches++;
}

/* Return: whether control() had something. */
static inline bool pair_control(struct pair_end *e)
{
	uint8_t buf[1024];
	int n = e->c.t.ops->control(&e->c.t, buf, sizeof(buf));

	assert_true(n >= 0);
	if (n > 0)
		pair_post(e, buf, (size_t)n, NULL, 0);
	return n > 0;
}

/* Return: whether a Send of a message was made. */
static inline bool pair_send(struct pair *p, struct pair_end *e)
{
	const struct rpc_transport_ops *ops = e->c.t.ops;
	static uint8_t hdr[PAIR_SEND];
	size_t hdr_len, body_len, from = e->tx.body_sent;
	int rc;

	if (!e->tx.msg) {
		struct pair_job *job = &e->jobs[e->job_head];

		if (!e->njobs)
			return false;
		pair_make(p, job, &e->msg, e->body);
		e->tx = (struct rpc_tx){.msg = &e->msg};
		from = 0;
		e->tx.reverse = (job->dir == RPC_CALL) == (e == &p->end[1]);
		e->tx.cover = RPC_COVER_WAIT;
	}
	if (!ops->may_send(&e->c.t, &e->tx)) {
		assert_int_equal(
			ops->encode(&e->c.t, &e->tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			ERR_AGAIN);
		return false;
	}
	rc = ops->encode(&e->c.t, &e->tx, hdr, sizeof(hdr), &hdr_len, &body_len);
	if (from == 0 && (rc == ERR_AGAIN || rc == ERR_TOOBIG)) /* not covered yet */
		return pair_control(e);
	assert_true(rc >= 0);
	assert_true(hdr_len + body_len <= e->c.t.peer.send_bytes);
	if (rc == 0)
		assert_int_equal(hdr_len, ops->header_len(&e->c.t, &e->msg));
	pair_post(e, hdr, hdr_len, e->body + from, body_len);
	if (rc == 0) {
		e->tx.msg = NULL;
		e->tx.body_sent = 0;
		e->job_head = (e->job_head + 1) % PAIR_JOBS;
		e->njobs--;
	}
	return true;
}

static inline void pair_part(struct pair_end *e, const struct rpc_rx *rx)
{
	const struct view *v = &rx->msg->body[0];

	if (rx->kind == RPC_RX_PART && rx->first)
		e->nparts = 0;
	assert_true(e->nparts + v->len <= PAIR_BODY);
	memcpy(e->parts + e->nparts, v->data, v->len);
	e->nparts += v->len;
}

/* A whole message arrived: check it against its XID. */
static inline void pair_check(const struct pair *p, struct pair_end *e, const struct rpc_rx *rx)
{
	static uint8_t want_body[PAIR_BODY];
	static struct rpc_msg want;
	struct pair_job job = {rx->msg->xid, rx->msg->dir};
	size_t len = pair_make(p, &job, &want, want_body);

	if (!rx->continued)
		e->nparts = 0;
	if (rx->msg->nbody)
		pair_part(e, rx);
	assert_true(same_chunks(&want, rx->msg));
	assert_int_equal(e->nparts, len);
	assert_memory_equal(e->parts, want_body, len);
	if (job.dir == RPC_REPLY)
		e->calls_done++;
	else
		pair_queue(e, job.xid, RPC_REPLY);
}

/* Deliver the oldest message. Return: whether there was one. */
static inline bool pair_deliver(const struct pair *p, struct pair_end *e)
{
	struct rpc_rx rx;
	uint8_t *octets = e->wire[e->wire_head].octets;
	size_t len = e->wire[e->wire_head].len;

	if (!e->nwire)
		return false;
	e->wire_head = (e->wire_head + 1) % PAIR_WIRE;
	e->nwire--;
	assert_int_equal(e->c.t.ops->recv(&e->c.t, view_of(octets, len), &rx), 0);
	assert_false(rx.abandon);
	switch (rx.kind) {
	case RPC_RX_NONE:
		break;
	case RPC_RX_READY:
		e->readied = true;
		break;
	case RPC_RX_PART:
		pair_part(e, &rx);
		assert_true(rx.remaining >= 4);
		break;
	case RPC_RX_MSG:
		pair_check(p, e, &rx);
		break;
	case RPC_RX_HELD:
	case RPC_RX_GROUP:
	case RPC_RX_ERROR:
	case RPC_RX_OTHER_VERSION:
		fail_msg("an error between two of our own");
	}
	free(octets);
	return true;
}

/* As the user of a transport does: control messages first. */
static inline bool pair_pump(struct pair *p, struct pair_end *e)
{
	bool any = false;

	while (pair_control(e) || pair_send(p, e))
		any = true;
	return any;
}

/* Deliver and send until nothing is left. Return: number of rounds; fails the test beyond @max. */
static inline unsigned pair_settle(struct pair *p, unsigned max)
{
	unsigned rounds = 0;
	bool any = true;

	while (any) {
		any = false;
		for (int i = 0; i < 2; i++) {
			any |= pair_pump(p, &p->end[i]);
			any |= pair_deliver(p, &p->end[i]);
		}
		if (++rounds > max)
			fail_msg("not quiet after %u rounds", max);
	}
	return rounds;
}

static inline void pair_fini(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		struct pair_end *e = &p->end[i];

		for (; e->nwire; e->nwire--) {
			free(e->wire[e->wire_head].octets);
			e->wire_head = (e->wire_head + 1) % PAIR_WIRE;
		}
	}
}

#endif
