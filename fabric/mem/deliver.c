/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "fabric/mem/deliver.h"
#include "fabric/mem/conn.h"
#include "fabric/mem/due.h"
#include "fabric/mem/expose.h"
#include "fabric/mem/internal.h"
#include "fabric/mem/op.h"
#include "fabric/mem/post.h"
#include "fabric/mem/shared.h"

/*
 * Operation. Sends, Writes and Read requests arrive in the order sent. All fields are checked
 * before octets are moved. The completion comes back after a random time, but not before earlier
 * ones of its kind. So a Send may complete after its answer was received, and a Write after a later
 * Send.
 *
 * If Receives are shared, a Send that finds none waits, with everything that arrives behind it
 * (shared.c). A Write to a stream without room waits in the same way, or the part for which there
 * is no room.
 *
 * A Read is answered some time after its arrival. Until then its source counts the Read (.readers),
 * and a withdraw of the source waits.
 *
 *   mem_deliver() -> at the peer -> complete_later() -> mem_op_finish()
 *                 -> read: pinned -> mem_deliver_answer()
 */

static void complete_later(struct mem_op *op)
{
	struct mem_conn *c = op->due.conn;

	assert(op->sum == mem_op_sum(op));
	op->delivered = true;
	op->due.what = MEM_COMPLETES;
	memnet_schedule(mem_conn_net(c), &op->due, memnet_wire(c, &c->last_done[op->kind]));
}

static uint8_t *mem_deliver_gather(uint8_t *to, const struct mem_op *op)
{
	for (unsigned i = 0; i < op->nsge; i++) {
		if (op->sge[i].len)
			memcpy(to, op->sge[i].addr, op->sge[i].len);
		to += op->sge[i].len;
	}
	return to;
}

/* Copies @len octets of @op, from octet @skip on, to @to. */
static void deliver_part(uint8_t *to, const struct mem_op *op, uint32_t skip, uint32_t len)
{
	for (unsigned i = 0; i < op->nsge && len; i++) {
		uint32_t have = op->sge[i].len, n;

		if (skip >= have) {
			skip -= have;
			continue;
		}
		n = have - skip < len ? have - skip : len;
		memcpy(to, (const uint8_t *)op->sge[i].addr + skip, n);
		to += n;
		len -= n;
		skip = 0;
	}
}

/* Calls the watcher of the test, if there is one. */
static void report_to_watcher(struct mem_conn *to, enum fabric_ev_type kind, const uint8_t *octets,
			      uint32_t len)
{
	const struct memnet_watcher *w = mem_conn_net(to)->watcher;

	if (w)
		w->moved(w->arg, &to->base, kind, octets, len);
}

/* Copies a message of many pieces into a Receive of other pieces. */
static void deliver_pieces(struct mem_conn *target, const struct mem_op *recv,
			   const struct mem_op *op)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < recv->npieces; i++) {
		const struct fabric_piece *to = &recv->to[i];
		uint32_t len = op->len - at < to->len ? op->len - at : to->len;

		deliver_part(to->addr, op, at, len);
		if (i == 0 || len)
			report_to_watcher(target, FABRIC_EV_RECV, to->addr, len);
		at += len;
	}
}

/* The oldest Receive of @c that a flush has seen. */
static struct mem_op *next_recv(struct mem_conn *c)
{
	struct mem_op *op;

	if (list_is_empty(&c->flight[MEM_RECV]))
		return NULL;
	op = list_first(&c->flight[MEM_RECV], struct mem_op, kin);
	return op->flushed ? op : NULL;
}

static void deliver_send(struct mem_conn *target, struct mem_op *op)
{
	struct mem_fabric *f = mem_conn_fabric(target);
	bool shares = mem_shared_serves(target);
	struct mem_op *recv = shares ? mem_shared_pick(f) : next_recv(target);
	struct mem_exposure *e = NULL;

	if (target->may_receive != UINT32_MAX)
		target->may_receive--;
	if (!recv) {
		mem_conn_breach(target, ERR_PROTO, "Send without a posted Receive");
		return;
	}
	if (shares && target->unpolled == target->max_recvs) {
		mem_conn_breach(target, ERR_PROTO, "more messages than there may be");
		return;
	}
	if (op->len > recv->len) {
		mem_conn_breach(target, ERR_PROTO, "Send larger than the Receive");
		return;
	}
	if (op->inv_handle) {
		e = mem_exposure_find(target, op->inv_handle);
		if (!e || e->readers) {
			mem_conn_breach(target, ERR_ACCESS, "Send invalidates what it may not");
			return;
		}
		mem_exposure_invalidate(target, e);
	}
	if (shares)
		mem_shared_take(target, recv);
	mem_op_guard(recv, false);
	deliver_pieces(target, recv, op);
	mem_op_guard(recv, true);
	recv->done.ev.len = op->len;
	recv->done.ev.invalidated = op->inv_handle;
	mem_op_finish(recv, 0);
	complete_later(op);
}

/* Delivers a Write to a stream in segments of any length that fits. Return: whether all of it was
 * delivered; if not, the rest waits for room. */
static bool deliver_streamed(struct mem_conn *target, struct mem_exposure *e, struct mem_op *op)
{
	uint32_t from = (uint32_t)(op->remote.offset - e->offset), most = (e->window.bytes + 1) / 2;

	while (op->went < op->len) {
		uint32_t left = op->len - op->went,
			 any = 1 + (uint32_t)(memnet_random(mem_conn_net(target)) % most);
		uint32_t len = left < any ? left : any;
		uint8_t *to = fabric_window_place(&e->window, from + op->went, len);

		if (!to) {
			mem_shared_back(target, op);
			return false;
		}
		deliver_part(to, op, op->went, len);
		report_to_watcher(target, FABRIC_EV_WRITE, to, len);
		mem_exposure_streamed(target, e, from + op->went, len);
		op->went += len;
	}
	return true;
}

static void deliver_write(struct mem_conn *target, struct mem_op *op)
{
	struct mem_exposure *e;
	uint32_t skip;

	/* RFC 5040 section 5.1: a Write of no octets is not checked. */
	if (op->len) {
		e = mem_exposure_check(target, &op->remote, FABRIC_REMOTE_WRITE);
		if (!e) {
			mem_conn_breach(target, ERR_ACCESS, "Write outside what was exposed");
			return;
		}
		if (e->window.bytes) {
			if (deliver_streamed(target, e, op))
				complete_later(op);
			return;
		}
		skip = (uint32_t)(op->remote.offset - e->offset);
		mem_deliver_gather(e->addr + skip, op);
		report_to_watcher(target, FABRIC_EV_WRITE, e->addr + skip, op->len);
		mem_exposure_written(e, skip, op->len);
	}
	complete_later(op);
}

void mem_deliver_answer(struct mem_op *op)
{
	struct mem_conn *c = op->due.conn, *target = c->peer;
	struct mem_exposure *e = op->exposure;

	if (!target || target->state != MEM_OPEN || (e && !e->live))
		return;
	c->reads_active--;
	if (e) {
		uint8_t *from = e->addr + (op->remote.offset - e->offset);

		mem_op_guard(op, false);
		memcpy(op->to[0].addr, from, op->len);
		report_to_watcher(c, FABRIC_EV_READ, op->to[0].addr, op->len);
		mem_op_guard(op, true);
		mem_exposure_unread(target, e);
	}
	op->delivered = true;
	mem_op_finish(op, 0);
	mem_post_reads(c);
}

static void deliver_read(struct mem_conn *target, struct mem_op *op)
{
	const struct memnet_pace *pace = &target->pace;
	struct mem_conn *c = op->due.conn;

	op->exposure = NULL;
	if (op->len) {
		op->exposure = mem_exposure_check(target, &op->remote, FABRIC_REMOTE_READ);
		if (!op->exposure) {
			mem_conn_breach(target, ERR_ACCESS, "Read outside what was exposed");
			return;
		}
		op->exposure->readers++;
	}
	op->due.what = MEM_ANSWERED;
	memnet_schedule(mem_conn_net(c), &op->due,
			memnet_wire_slow(c, &c->last_response,
					 pace->answer + op->len * pace->answer_octet));
}

static void deliver_now(struct mem_conn *target, struct mem_op *op)
{
	mem_post_release(target);
	switch (op->kind) {
	case MEM_SEND:
		deliver_send(target, op);
		break;
	case MEM_WRITE:
		deliver_write(target, op);
		break;
	case MEM_READ:
		deliver_read(target, op);
		break;
	default:
		assert(0);
	}
}

void mem_deliver(struct mem_op *op)
{
	struct mem_conn *target = op->due.conn->peer;

	/* A connection whose user has disconnected takes no further operations. */
	if (!target || target->state != MEM_OPEN || target->closing)
		return;
	if (!mem_shared_wait(target, op))
		deliver_now(target, op);
}

void mem_deliver_resumed(struct mem_fabric *f)
{
	struct mem_conn *target;
	struct mem_op *op = mem_shared_next(f, &target);

	if (op) {
		deliver_now(target, op);
		if (list_is_empty(&target->backlog) && target->peer)
			mem_conn_bye_goes_on(target->peer);
	}
	mem_shared_wake(f);
}
