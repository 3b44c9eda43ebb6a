/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   call arrives          Reads done           call sent           reply arrives
 *   WAITING --> PULL ------------> CALL ------------> WAIT ------------> FENCE
 *   (memory)                                                               |
 *                  done <-- REPLY <-- PUSH (Writes, then the reply) <------+
 *
 *   large result:  CALL, WAIT: cut through, by a window of memory: txn_cut_through.c
 *   form refused:  CALL, WAIT --> AGAIN (exposures withdrawn) --> CALL: txn_retry_form.c
 *   memory large:  PULL --> BLANK (some in each turn) --> CALL: txn_zero_sink.c
 *   device short:  CALL --> SHORT (exposures withdrawn, and a pause) --> CALL: txn_device_busy.c
 *
 * Any step can end in FAILED: the requester gets an error report of its own version, every exposure
 * is fenced, and operations still posted are awaited. While the report waits for credits, the
 * transaction keeps the Receive of its call: so a requester that takes no reports has no credits
 * for further calls.
 *
 * All memory is taken before anything is posted (WAITING holds none), so transactions never wait
 * for each other while they hold memory.
 *
 * This file begins and ends a transaction. Its steps are those of its call (txn_call.c) and of its
 * answer (txn_reply.c); txn_step.c goes from one step to the next. Each file uses only those before
 * it: txn_server_quirks.c, txn_form.c, txn_cut_through.c, txn_device_busy.c and other helpers,
 * txn.c, txn_reply_timeout.c, txn_ops.c, txn_call.c, txn_reply.c, txn_step.c.
 */
#include "proxy/internal.h"
#include "proxy/txn_admit.h"
#include "proxy/txn_alloc.h"
#include "proxy/txn_cut_through.h"
#include "proxy/txn_memory.h"
#include "proxy/txn_remote_inval.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"

static struct txn **txn_bucket(struct session *s, uint32_t xid)
{
	return &s->buckets[(xid ^ xid >> 16) % SESSION_BUCKETS];
}

static bool has_xid(const struct txn *t, uint32_t xid, bool reverse)
{
	return t->in.xid == xid && t->reverse == reverse;
}

struct txn *txn_find(struct session *s, uint32_t xid, bool reverse)
{
	struct txn *t = *txn_bucket(s, xid);

	while (t && (!has_xid(t, xid, reverse) || t->state >= TXN_REPLY))
		t = t->hash_next;
	return t;
}

/* Whether the requester may have the first part of the reply, or was sent an error report. */
static bool may_be_answered(const struct txn *t)
{
	const struct leg_tx *tx = &t->reply_tx;

	return t->state >= TXN_REPLY &&
	       (!t->reply_pending || tx->posted || tx->encoded || tx->tx.body_sent);
}

bool txn_xid_is_free(struct session *s, uint32_t xid, bool reverse)
{
	struct txn *t = *txn_bucket(s, xid);

	while (t && (!has_xid(t, xid, reverse) || may_be_answered(t)))
		t = t->hash_next;
	return !t;
}

static void txn_unhash(struct txn *t)
{
	struct txn **p = txn_bucket(t->s, t->in.xid);

	while (*p != t)
		p = &(*p)->hash_next;
	*p = t->hash_next;
}

static void give_payload(struct txn *t)
{
	leg_put(t->rsp, &t->reply_held);
	txn_give(t);
}

void txn_release(struct txn *t)
{
	struct session *s = t->s;
	struct session_queue *q = session_queue(s, t->reverse);

	if (!list_is_empty(&s->proxy->traces[TRACE_RPCS]))
		trace_rpc(t);
	txn_unhash(t);
	txn_uncount_handles(t);
	list_del(&t->link);
	list_del(&t->op_link);
	list_del(&t->cut_through_link);
	timer_disarm(&s->proxy->timers, &t->late);
	leg_put(t->req, &t->call_held);
	give_payload(t);
	txn_unqueue(t);
	s->ntxns--;
	txn_free_block(q, t);
}

void txn_finish_if_idle(struct txn *t)
{
	struct session *s = t->s;

	if (t->ops || t->cut_through_writes || t->call_pending)
		return;
	if (t->reply_pending) {
		if (t->state == TXN_FAILED)
			give_payload(t);
		return;
	}
	txn_release(t);
	session_touch(s);
}

/* End @t without a reply. Its memory is given back when neither peer can reach it any more. */
static void give_up(struct txn *t)
{
	t->state = TXN_FAILED;
	list_del(&t->op_link);
	list_del(&t->wait_link);
	timer_disarm(&t->s->proxy->timers, &t->late);
	if (t->exposed)
		txn_fence(t);
	txn_cut_through_stop(t);
	session_touch(t->s);
	txn_finish_if_idle(t);
}

/* Report @e to the requester in its own version, and fence the exposures. */
void txn_fail_with(struct txn *t, const struct rpc_error *e)
{
	if (t->state == TXN_FAILED)
		return;
	log_debug("txn.error", "session=%llu xid=%08x reverse=%d cause=%s a=%u b=%u",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, rpc_error_name(e->code),
		  e->a, e->b);
	t->s->route->count.errors_to_requester++;
	t->s->route->count.errors_to[session_side(t->req)][e->code]++;
	t->outcome = TRACE_FAILED;
	assert(!t->reply_pending);
	t->error = *e;
	t->reply_pending = true;
	leg_report(t->req, &t->reply_tx, &t->in, &t->error);
	give_up(t);
}

bool txn_let_go(struct txn *t)
{
	bool sent = t->state == TXN_WAIT || (t->call_pending && t->call_tx.encoded);

	if (t->call_pending && !sent) {
		if (!leg_unsend(t->rsp, &t->call_tx))
			return false;
		t->call_pending = false;
	}
	log_debug("txn.let_go", "session=%llu xid=%08x reverse=%d sent=%d",
		  (unsigned long long)t->s->id, t->in.xid, t->reverse, sent);
	t->s->route->count.let_go++;
	if (sent && t->rsp->cfg->reply_timeout)
		leg_forget(t->rsp, t->in.xid);
	else if (sent)
		leg_give_up(t->rsp);
	leg_unanswered(t->req);
	t->outcome = TRACE_LET_GO;
	give_up(t);
	return true;
}

void txn_fail(struct txn *t, enum rpc_error_code code, uint32_t a, uint32_t b)
{
	const struct rpc_error e = {code, a, b};

	txn_fail_with(t, &e);
}

void txn_init(struct txn *t, struct session *s, struct leg *req, struct leg_out *out)
{
	struct txn **b;

	memset(t, 0, offsetof(struct txn, late));
	t->s = s;
	t->reverse = out->reverse;
	t->at[TRACE_ARRIVED] = s->proxy->now;
	t->req = req;
	t->rsp = req == &s->client ? &s->server : &s->client;
	t->call_held = out->held;
	t->call_tx.owner = t->reply_tx.owner = t;
	t->call_tx.posted = 0;
	t->call_tx.encoded = false;
	t->call_tx.tx.body_sent = 0;
	rpc_msg_copy(&t->in, out->msg);
	txn_init_block(t);
	list_init(&t->op_link);
	list_init(&t->wait_link);
	list_init(&t->cut_through_link);
	list_add_tail(&s->txns, &t->link);
	b = txn_bucket(s, t->in.xid);
	t->hash_next = *b;
	*b = t;
	s->ntxns++;
	txn_count_handles(t);
}
