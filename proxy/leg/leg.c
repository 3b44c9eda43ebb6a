/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   initiator: IDLE -> CONNECTING -> NEGOTIATING (v2 tried) -> OPEN -> CLOSED
 *                                \-----> OPEN (v1 only) --/
 *   acceptor:  IDLE -> CONNECTING -> NEGOTIATING (first message awaited) -> OPEN -> CLOSED
 *
 * Receives are posted before the connection is made. The transport is chosen when the version is:
 * at CONNECTED for an initiator (and once more when the peer answers version 2 with ERR_VERS), at
 * the first message for an acceptor.
 *
 * Sends: leg_pump() sends the transport's own messages first, then the rest of a continued message,
 * then replies, then calls. Each Send takes a slot, which owns the header octets of the Send until
 * it completes.
 *
 * No message arrives without a Receive. In version 2 this end advertises the Receives that are
 * posted. In version 1 it cannot, so it sends a call only if a Receive is left for the reply.
 */
#include <string.h>

#include "proxy/leg/internal.h"
#include "proxy/leg/leg_reasm.h"
#include "proxy/leg/leg_conn.h"
#include "proxy/leg/leg_group.h"
#include "proxy/leg/leg_defer.h"
#include "proxy/leg/leg_memory.h"
#include "proxy/leg/leg_rx.h"
#include "proxy/leg/leg_tx.h"
#include "proxy/leg/leg_version.h"

#include "base/pause.h"

/* A server may take SETUP_PROPS_LOOKS of the SETUP_LOOKS for set-up to send its properties. */
enum { SETUP_PROPS_LOOKS = 2 };

void leg_init(struct leg *leg, enum rpc_role role)
{
	static const struct leg_trace nobody;

	memset(leg, 0, sizeof(*leg));
	leg->role = role;
	leg->trace = &nobody;
	leg->deadline = NSEC_NEVER;
	list_init(&leg->rxq);
	list_init(&leg->group);
	list_init(&leg->copier_link);
	list_init(&leg->replies);
	list_init(&leg->calls);
	list_init(&leg->dead);
}

/* InfiniBand and RoCE have 56 octets: fabric/fabric.h. */
enum { PRIVATE_BYTES = V1_PDATA_BYTES + VIA_BYTES };

/* The private data of this end: RFC 8797's octets, and the gateways that the connection came
 * through. */
static struct view private_data(const struct leg *leg, uint8_t out[PRIVATE_BYTES])
{
	const struct rpc_params own = leg_own_params(leg);

	v1_pdata_encode(out, &own);
	return view_of(out, V1_PDATA_BYTES + via_encode(out + V1_PDATA_BYTES, &leg->via));
}

static struct fabric_conn_params conn_params(const struct leg *leg, uint32_t op_depth,
					     uint8_t out[PRIVATE_BYTES])
{
	const struct view said = private_data(leg, out);

	return (struct fabric_conn_params){
		.private_data = said.data,
		.private_data_len = said.len,
		.max_recvs = leg->nrbufs,
		.recv_pieces = leg->bulks ? 2 : 1,
		.max_sends = BUDGET_SENDS + op_depth,
		.max_exposures = leg_exposures(leg->cfg, op_depth),
		.domain = leg->cfg->domain,
		.tuning = leg->cfg->tuning,
	};
}

/* Receives are posted before the connection is made, because older clients send all their calls
 * before any grant. */
static void post_receives(struct leg *leg)
{
	if (leg->recvs) {
		leg->posted = leg->nrbufs;
		recv_pool_fill(leg->recvs);
		return;
	}
	for (uint32_t i = 0; i < leg->nrbufs; i++)
		leg_post_recv(leg, &leg->rbufs[i]);
}

static nsec_t leg_setup_time(const struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	if (!cfg->auth)
		return cfg->setup_timeout;
	/* The other half was used by the connection before, on which the server was silent. */
	return nsec_min(cfg->auth->timeout, cfg->setup_timeout) / (leg->after_silence ? 2 : 1);
}

/* Time between two looks at the set-up. */
static nsec_t leg_setup_look(const struct leg *leg)
{
	return leg_setup_time(leg) / SETUP_LOOKS;
}

static void leg_begin(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		      const struct fabric *fabric, nsec_t now)
{
	leg->recvs = cfg->bulk_bytes ? NULL : recv_pool_of(fabric);
	leg->remote_inv = fabric->remote_inv;
	leg->cfg = cfg;
	leg->arena = arena;
	leg->grant = cfg->credits;
	leg->state = LEG_CONNECTING;
	leg->setup_end = now + leg_setup_time(leg);
	leg->deadline = now + leg_setup_look(leg);
}

int leg_connect(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
		const struct leg_target *target, uint32_t op_depth, nsec_t now)
{
	uint8_t pdata[PRIVATE_BYTES];
	struct fabric_conn_params params;
	int err;

	leg_begin(leg, cfg, arena, target->fabric, now);
	if (target->via)
		leg->via = *target->via;
	err = leg_take_memory(leg);
	if (err < 0)
		return err;
	params = conn_params(leg, op_depth, pdata);
	params.from = target->from;
	params.resets = target->resets;
	err = fabric_connect(target->fabric, target->to, &params, leg, &leg->conn);
	if (err < 0)
		return err;
	post_receives(leg);
	return 0;
}

int leg_accept(struct leg *leg, const struct leg_config *cfg, struct buf_arena *arena,
	       struct fabric_conn *conn, struct view request, uint32_t op_depth, nsec_t now)
{
	uint8_t pdata[PRIVATE_BYTES];
	struct fabric_conn_params params;
	int err;

	leg_begin(leg, cfg, arena, conn->fabric, now);
	leg->conn = conn;
	v1_pdata_parse(&leg->peer_pdata, request);
	err = leg_take_memory(leg);
	if (err < 0)
		return err;
	params = conn_params(leg, op_depth, pdata);
	err = fabric_prepare(conn, &params);
	if (err < 0)
		return err;
	err = leg_auth_begin(leg, request, view_of(params.private_data, params.private_data_len));
	if (err < 0)
		return err;
	post_receives(leg);
	return fabric_accept(conn, &params, leg);
}

/* Drop messages that were received and not processed. */
static void drop_received(struct leg *leg)
{
	struct list *item;

	if (leg->stalled && leg->recvs)
		leg_post_recv(leg, leg->stalled);
	leg->stalled = NULL;
	while ((item = list_pop(&leg->rxq)))
		if (leg->recvs)
			leg_post_recv(leg, container_of(item, struct leg_rbuf, link));
	list_init(&leg->group);
	leg->ngroup = 0;
	leg_end_group_copy(leg);
}

void leg_fini(struct leg *leg)
{
	if (leg->conn)
		fabric_destroy(leg->conn);
	leg->conn = NULL;
	drop_received(leg);
	leg->state = LEG_CLOSED;
	leg_stop_waiting(leg);
	leg_auth_end(leg);
	if (!leg->arena)
		return;
	leg_reasm_drop(leg);
	leg_give_memory(leg);
}

/* A server that answers in version 2 and sends no properties has none (draft-07 4.2.2). */
static bool leg_assume_defaults(struct leg *leg)
{
	if (leg->role != RPC_INITIATOR || leg->state != LEG_NEGOTIATING || !leg->t->ops->settle ||
	    !leg->t->ops->settle(leg->t))
		return false;
	leg->state = LEG_OPEN;
	leg->ready_due = true;
	return true;
}

static bool leg_props_are_due(const struct leg *leg, nsec_t now)
{
	return leg->setup_end <=
	       now + leg_setup_time(leg) - SETUP_PROPS_LOOKS * leg_setup_look(leg);
}

/*
 * State:  a server has sent nothing since host authentication was begun, and may not have it.
 * Danger: a client's own time for set-up is often as long as the gateway's time for the server (10
 *         s). The client would give up before the server is tried without host authentication, and
 *         so would each later client.
 * Rule:   this first connection has half of the time for set-up. The other half is for a connection
 *         without host authentication.
 * Pinned: tests/session/test_hostauth_silent.c:a_silent_server_is_asked_without
 */
static nsec_t leg_setup_deadline(const struct leg *leg)
{
	bool is_silent = leg_is_silent(leg) && !leg_input_is_blocked(leg);

	return is_silent ? leg->setup_end - leg_setup_time(leg) / 2 : leg->setup_end;
}

/*
 * State:  a leg in set-up holds memory and a place, and its peer is slow or silent.
 * Danger: a peer that never completes its set-up holds them for ever, and the peer of the session's
 *         other leg waits as long.
 * Rule:   a leg that is not open at its deadline is closed. If the wait was for this end (a place
 *         for host authentication, a computation, a Receive), the status is ERR_AGAIN, so that the
 *         server is not taken for down.
 *         The time has SETUP_LOOKS looks. By so much as a look comes late, the end is put off: the
 *         process stood still (base/pause.h).
 * Pinned: tests/session/test_versions.c:a_client_that_says_nothing_is_closed,
 *         tests/session/test_pauses.c:a_pause_is_not_the_servers,
 *         :pauses_that_recur_do_not_keep_a_dead_server, :a_short_time_survives_a_short_pause
 */
bool leg_tick(struct leg *leg, nsec_t now)
{
	if (now < leg->deadline)
		return false;
	leg->setup_end += now - leg->deadline;
	leg->deadline = NSEC_NEVER;
	if (leg_props_are_due(leg, now) && leg_assume_defaults(leg))
		return true;
	leg->deadline = now + leg_setup_look(leg);
	leg_prove(leg);
	if (leg->deadline == NSEC_NEVER) /* the peer has proved its name, or cannot */
		return true;
	leg->deadline = nsec_min(leg->deadline, leg_setup_deadline(leg));
	if (now < leg->deadline)
		return leg->proof;
	leg->deadline = NSEC_NEVER;
	/* In the next three cases the peer is not at fault, so the status is ERR_AGAIN. */
	if (leg_awaits_handshake_slot(leg)) {
		leg_close(leg, ERR_AGAIN, "no place for host authentication came free in time");
		return true;
	}
	if (leg_is_worked_on(leg)) {
		leg_close(leg, ERR_AGAIN, "host authentication took too long here");
		return true;
	}
	if (leg_input_is_blocked(leg)) {
		leg_close(leg, ERR_AGAIN, "no Receive for its first message came free in time");
		return true;
	}
	leg_close(leg, ERR_TIMEOUT,
		  leg->state == LEG_CONNECTING	   ? "connection set-up took too long"
		  : leg->t && leg_is_unproved(leg) ? "host authentication took too long"
		  : leg->role == RPC_ACCEPTOR	   ? "no first message in time"
						   : "no answer to version negotiation");
	return true;
}

/* Begin host authentication of an initiator. Its own private data are not kept but can be encoded
 * again, with the same octets. */
static int leg_authenticate(struct leg *leg, struct view accept_data)
{
	uint8_t pdata[PRIVATE_BYTES];

	if (!leg->cfg->auth)
		return 0;
	return leg_auth_begin(leg, private_data(leg, pdata), accept_data);
}

/* The version with which an initiator begins. */
static enum leg_version leg_first_version(const struct leg *leg)
{
	if (leg_speaks(leg, LEG_V2))
		return LEG_V2;
	return leg_speaks(leg, LEG_V2_EARLY) ? LEG_V2_EARLY : LEG_V1;
}

static void leg_on_connected(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	if (leg->closing)
		return;
	leg->state = LEG_NEGOTIATING;
	if (leg->role == RPC_ACCEPTOR) {
		out->kind = LEG_OUT_READY;
		return;
	}
	v1_pdata_parse(&leg->peer_pdata, ev->private_data);
	if (leg_authenticate(leg, ev->private_data) < 0) {
		leg_close(leg, ERR_NOMEM, "no memory, or no key, for host authentication");
		return;
	}
	if (leg->bare)
		leg_auth_lacks(leg);
	if (leg_set_version(leg, leg_first_version(leg)) < 0) {
		leg_close(leg, ERR_PROTO, "the peer's private data is unusable");
		return;
	}
	if (leg->t->ready) {
		leg->state = LEG_OPEN;
		leg->deadline = NSEC_NEVER;
		out->kind = LEG_OUT_READY;
	}
	leg_pump(leg);
}

/* Whether the client spoke the other draft of version 2 (decision 12) and nothing else. */
static bool spoke_other_draft(const struct leg *leg)
{
	return leg->t && leg->is_other_draft && leg->t->count.invalid == leg->t->count.recvs;
}

/* Decide whether the leg ended because its client speaks no version in common with this end: the
 * client got an ERR_VERS (draft-07 4.3.3), or error reports because it speaks the other draft of
 * version 2, and left. */
static void judge_version(struct leg *leg)
{
	bool refused = leg->t ? spoke_other_draft(leg) : leg->refused > 0;
	bool left = leg->close_status == 0 || leg->close_status == ERR_CLOSED ||
		    leg->close_status == ERR_TIMEOUT;

	if (leg->role != RPC_ACCEPTOR || !refused || !left)
		return;
	leg->close_status = ERR_VERS;
	leg->close_why = "no protocol version in common";
}

static void leg_on_disconnected(struct leg *leg, const struct fabric_event *ev)
{
	leg->state = LEG_CLOSED;
	leg->deadline = NSEC_NEVER;
	if (leg->close_status == 0)
		leg->close_status = ev->status;
	if (!leg->close_why)
		leg->close_why = ev->why;
	judge_version(leg);
	leg_tx_flush(leg);
	leg_stop_waiting(leg);
	drop_received(leg);
}

void leg_input(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	out->kind = LEG_OUT_NONE;
	if (ev->type == FABRIC_EV_RECV) { /* most events */
		leg_on_recv(leg, ev, out);
		return;
	}
	switch (ev->type) {
	case FABRIC_EV_REQUEST: /* goes to listeners, never to a leg */
	case FABRIC_EV_RECV:
		break;
	case FABRIC_EV_CONNECTED:
		leg_on_connected(leg, ev, out);
		break;
	case FABRIC_EV_SEND:
		leg_on_send(leg, ev, out);
		break;
	case FABRIC_EV_READ:
	case FABRIC_EV_WRITE:
	case FABRIC_EV_WITHDRAWN:
	case FABRIC_EV_PLACED:
		out->kind = LEG_OUT_OP;
		out->op = ev->type;
		out->handle = ev->handle;
		out->written = ev->written;
		out->at = ev->at;
		out->offset = ev->offset;
		out->len = ev->len;
		out->cookie = ev->cookie;
		out->status = ev->status;
		break;
	case FABRIC_EV_RECV_LIMITED:
		out->kind = LEG_OUT_RECV_LIMITED;
		break;
	case FABRIC_EV_DISCONNECTED:
		leg_on_disconnected(leg, ev);
		break;
	}
}

unsigned leg_blocked_by(const struct leg *leg)
{
	unsigned by = 0;

	/* The peer cannot have sent anything before the connection is made. */
	if (leg->state == LEG_CONNECTING)
		return 0;
	if (leg->stalled)
		by |= LEG_BLOCK_MEMORY;
	if (leg_has_group(leg))
		by |= LEG_BLOCK_COPY;
	if (leg_is_recv_limited(leg))
		by |= leg->conn->read_turn_unused ? LEG_BLOCK_SHARE
						  : LEG_BLOCK_SHARE | LEG_BLOCK_TURN;
	if (leg_sink_is_blocked(leg))
		by |= LEG_BLOCK_SINK;
	if (recv_pool_is_exhausted(leg->recvs))
		by |= LEG_BLOCK_RECEIVE;
	if (leg_withholds_credit(leg))
		by |= LEG_BLOCK_CREDIT;
	return by;
}

bool leg_should_copy_out(const struct leg *leg)
{
	const struct recv_pool *r = leg->recvs;

	return r && (recv_pool_is_low(r) ||
		     (leg->conn && r->fabric->shares_out &&
		      !fabric_may_hold(2 * leg->conn->recvs_held, recv_pool_left(r), r->most)));
}

bool leg_reads_are_blocked(struct leg *leg, const struct rpc_msg *call)
{
	if (!leg_is_recv_limited(leg) || (call->nreads == 0 && !call->has_body_chunk))
		return false;
	leg->conn->reads_blocked = true;
	return true;
}

/* Return: whether the first message in .rxq may be processed; if reports are in its way, send
 * them. */
static bool leg_takes_input(struct leg *leg)
{
	if (leg->stalled || leg_has_group(leg) || leg_awaits_handshake_slot(leg) ||
	    leg_holds_back(leg) || leg->closing)
		return false;
	if (!leg_reports_wait(leg))
		return true;
	leg_pump(leg);
	return !leg_reports_wait(leg) && !leg->closing;
}

void leg_next(struct leg *leg, struct leg_out *out)
{
	struct leg_tx *tx = leg_next_sent(leg);
	struct list *item;

	out->kind = LEG_OUT_NONE;
	if (tx) {
		leg_tx_done(tx, out);
		return;
	}
	if (leg->state == LEG_CLOSED) {
		if (!leg->closed_reported && leg->conn) {
			leg->closed_reported = true;
			out->kind = LEG_OUT_CLOSED;
			out->status = leg->close_status;
			out->why = leg->close_why;
		}
		return;
	}
	if (leg->ready_due) {
		leg->ready_due = false;
		out->kind = LEG_OUT_READY;
	}
	if (leg->also_failed)
		leg_also_failed(leg, out);
	while (out->kind == LEG_OUT_NONE && !list_is_empty(&leg->rxq) && leg_takes_input(leg) &&
	       (item = list_pop(&leg->rxq)))
		leg_process(leg, container_of(item, struct leg_rbuf, link), out);
	if (leg->group_state == LEG_GROUP_READY && out->kind == LEG_OUT_NONE && !leg->closing)
		leg_next_group(leg, out);
	if (out->kind == LEG_OUT_NONE && (tx = leg_next_sent(leg)))
		leg_tx_done(tx, out);
}

void leg_put_held(struct leg *leg, struct leg_held *held)
{
	if (held->reasm)
		leg_give_block(leg, held->reasm);
	held->reasm = NULL;
	leg_move(leg, held, NULL);
}

struct leg_summed leg_summed(const struct leg_held *held, const uint8_t *octets)
{
	const struct leg_rbuf *rb = held->rbuf;

	if (!rb || !rb->sums || octets < rb->data || octets >= rb->data + rb->len)
		return (struct leg_summed){0};
	return (struct leg_summed){.sums = rb->sums,
				   .octets = octets,
				   .len = rb->len - (uint32_t)(octets - rb->data),
				   .at = (uint32_t)(octets - rb->data)};
}

void leg_move(struct leg *leg, struct leg_held *held, void *block)
{
	if (block)
		held->reasm = block;
	if (held->rbuf)
		leg_post_recv(leg, held->rbuf);
	held->rbuf = NULL;
}
