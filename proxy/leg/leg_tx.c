/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending half of a leg: queues, credits and slots, and its orderly end: messages that
 * explain the end are sent before it. */
#include <assert.h>
#include <string.h>

#include "proxy/leg/leg_tx.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_conn.h"
#include "proxy/leg/leg_defer.h"
#include "proxy/leg/leg_memory.h"

static __attribute__((noinline)) int post_to_fabric(struct leg *leg, struct leg_slot *slot,
						    struct fabric_sge *sge, unsigned nsge,
						    uint32_t inv_handle)
{
	int err = fabric_send(leg->conn, sge, nsge, inv_handle, slot);
	if (err == 0)
		leg->sending++;
	else
		leg_free_slot(leg, slot);
	/* The transport has counted this Send and cannot take it back. */
	if (err < 0 && err != ERR_CLOSED) /* on ERR_CLOSED, DISCONNECTED follows */
		leg_stop(leg, err, "a Send could not be posted");
	return err;
}

/* Kept out of line, so that Sends cost nothing extra while nothing is traced. */
static __attribute__((noinline, cold)) void see(struct leg *leg, struct fabric_sge *sge,
						unsigned nsge)
{
	leg->trace->see(leg, true, sge, nsge);
}

static inline int post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge,
			    unsigned nsge, uint32_t inv_handle)
{
	if (leg->trace->see)
		see(leg, sge, nsge);
	if (!leg->copies || !fabric_send_short(leg->conn, sge, nsge, inv_handle))
		return post_to_fabric(leg, slot, sge, nsge, inv_handle);
	leg->sent += slot->counts;
	leg_free_slot(leg, slot);
	return 1;
}

int leg_post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge, unsigned nsge,
		  uint32_t inv_handle)
{
	return post_send(leg, slot, sge, nsge, inv_handle);
}

void leg_tx_done(struct leg_tx *tx, struct leg_out *out)
{
	out->kind = LEG_OUT_SENT;
	out->tx = tx;
	out->status = tx->status;
}

void leg_on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out)
{
	struct leg_slot *slot = ev->cookie;
	struct leg_tx *tx = slot->tx;

	leg->sending--;
	leg->sent += slot->counts;
	leg_free_slot(leg, slot);
	if (!tx)
		return;
	tx->posted--;
	/* A Send fails because its connection ended, so the message is not at fault: its status is
	 * ERR_FLUSHED. The cause is in the status of the connection's end. InfiniBand also reports
	 * the cause as the status of the Send that found the peer dead. */
	if (ev->status < 0 && tx->status == 0)
		tx->status = ERR_FLUSHED;
	/* A message that is not over is leg->active, which is given back when the connection
	 * ends. */
	if (tx->over && tx->posted == 0)
		leg_tx_done(tx, out);
}

static void flush_queue(struct leg *leg, struct list *queue)
{
	list_for_each_safe(it, tmp, queue)
	{
		container_of(it, struct leg_tx, link)->status = ERR_FLUSHED;
		list_del(it);
		list_add_tail(&leg->dead, it);
	}
}

void leg_tx_flush(struct leg *leg)
{
	if (leg->active) {
		leg->active->status = ERR_FLUSHED;
		list_add_tail(&leg->dead, &leg->active->link);
		leg->active = NULL;
	}
	flush_queue(leg, &leg->replies);
	flush_queue(leg, &leg->calls);
}

/* Queue @tx, with the report @e or a message. */
static void tx_queue(struct leg *leg, struct leg_tx *tx, const struct rpc_error *e)
{
	tx->report = e;
	tx->posted = 0;
	tx->encoded = tx->over = false;
	tx->status = 0;
	tx->tx.body_sent = 0;
	tx->tx.transmission = tx->tx.ndata = 0;
	if (leg->state != LEG_OPEN || leg->closing) {
		tx->status = ERR_FLUSHED;
		list_add_tail(&leg->dead, &tx->link);
		return;
	}
	list_add_tail(e || tx->tx.msg->dir == RPC_REPLY ? &leg->replies : &leg->calls, &tx->link);
}

void leg_send(struct leg *leg, struct leg_tx *tx)
{
	tx_queue(leg, tx, NULL);
}

bool leg_unsend(struct leg *leg, struct leg_tx *tx)
{
	if (tx->posted || tx->over || leg->active == tx)
		return false;
	list_del(&tx->link);
	if (leg->t && leg->t->ops->unsent)
		leg->t->ops->unsent(leg->t);
	return true;
}

/* How credits stand; all zero if credits count calls, or the version is not known yet. */
static struct rpc_window window_of(const struct leg *leg)
{
	struct rpc_window w = {0};

	if (leg->t && leg->t->ops->window)
		leg->t->ops->window(leg->t, &w);
	return w;
}

bool leg_peer_has_no_credit(const struct leg *leg)
{
	return window_of(leg).is_peer_closed;
}

bool leg_withholds_credit(const struct leg *leg)
{
	return window_of(leg).is_peer_kept;
}

bool leg_waits(const struct leg *leg)
{
	struct rpc_window w = window_of(leg);

	return w.waits && w.is_open && !leg->sending &&
	       !(list_is_empty(&leg->replies) && list_is_empty(&leg->calls));
}

uint32_t leg_limit(const struct leg *leg)
{
	return window_of(leg).limit;
}

void leg_credits_final(struct leg *leg)
{
	leg->t->ops->no_more(leg->t);
}

void leg_report(struct leg *leg, struct leg_tx *tx, const struct rpc_msg *call,
		const struct rpc_error *e)
{
	tx->tx.msg = call;
	tx_queue(leg, tx, e);
}

void leg_reject(struct leg *leg, uint32_t xid, const struct rpc_error *e)
{
	int err = 0;

	if (leg->state == LEG_OPEN && !leg->closing)
		err = leg->t->ops->report(leg->t, xid, RPC_CALL, e);
	/* The transport was given the message with room for reports, and queued none about it. */
	assert(err == 0);
	(void)err;
}

/* Give the report of @tx, the first of the replies, to the transport. Reports wait here as long as
 * the transport has one, so that its room is left to messages that arrive. */
static void hand_over(struct leg *leg, struct leg_tx *tx)
{
	int err = leg->t->ops->report(leg->t, tx->tx.msg->xid, RPC_CALL, tx->report);

	assert(err == 0);
	(void)err;
	leg->replied++;
	tx->encoded = tx->over = true;
	list_del(&tx->link);
	list_add_tail(&leg->dead, &tx->link);
}

/* The part [from, from+len) of the body as gather pieces after the header's. */
static unsigned leg_gather(const struct rpc_msg *msg, size_t from, size_t len,
			   struct fabric_sge *sge)
{
	unsigned n = 0;

	for (unsigned i = 0; i < msg->nbody && len > 0; i++) {
		struct view v = msg->body[i];
		size_t take;

		if (from >= v.len) {
			from -= v.len;
			continue;
		}
		take = v.len - from < len ? v.len - from : len;
		sge[n++] = (struct fabric_sge){v.data + from, (uint32_t)take};
		len -= take;
		from = 0;
	}
	return n;
}

/* Add the data that are sent behind the body, with zeros before each item
 * (docs/rtrext-profile.md, section 5). The zeros lie behind the header. Return: how many elements
 * of @sge are filled, @n of them before; 0: @sge is too short. */
static unsigned add_placed(const struct leg *leg, const struct leg_slot *slot, size_t hdr_len,
			   const struct rpc_tx *tx, struct fabric_sge *sge, unsigned n)
{
	uint32_t room = leg->cfg->inline_bytes - (uint32_t)hdr_len;
	uint8_t *zeros = slot->data + hdr_len;

	_Static_assert((int)RPC_MAX_PIECES <= (int)FABRIC_MAX_SGE, "a Send has room for them");
	for (unsigned i = 0; i < tx->ndata; i++) {
		const struct rpc_run *run = &tx->data[i];

		for (uint32_t left = run->gap, here; left && n < FABRIC_MAX_SGE; left -= here) {
			here = left < room ? left : room;
			memset(zeros, 0, here);
			sge[n++] = (struct fabric_sge){zeros, here};
		}
		if (n == FABRIC_MAX_SGE)
			return 0;
		sge[n++] = (struct fabric_sge){tx->msg->placed[run->item].data + run->from,
					       run->length};
	}
	return n;
}

/* Receives that are reserved if credits count calls, as in version 1: for each reply still to
 * come as many as its call announced, abandoned calls included, and one for each reverse call
 * that the peer may make. */
static uint32_t promised_receives(const struct leg *leg)
{
	return leg->awaiting + leg->t->late.n + leg->t->kept + leg->cfg->rev_credits;
}

/*
 * Whether one more Receive is free for the reply to a call.
 *
 * State:  if credits count calls, each call reserves a Receive for its reply, and a request of the
 *         round-trip extension several.
 * Danger: a few calls with long replies reserve all Receives, and other calls that have credits
 *         cannot be sent.
 * Rule:   a call is sent only if a Receive is left for its reply. At most half of all Receives are
 *         reserved beyond one for each reply.
 * Pinned: tests/session/test_groups.c:groups_leave_receives_to_others
 */
static bool has_receive_for_reply(struct leg *leg)
{
	uint32_t promised, spare;

	if (!leg->t->ops->traits->counts_calls)
		return true;
	promised = promised_receives(leg);
	if (leg->posted <= promised)
		return false;
	/* One call reserves at most half of .spare, so no more than half of all is reserved. */
	spare = leg->nrbufs - 2 * leg->t->kept;
	leg->t->spare = leg->posted - promised - 1;
	if (leg->t->spare > spare)
		leg->t->spare = spare;
	return true;
}

bool leg_would_wait(struct leg *leg, const struct rpc_msg *call)
{
	const struct rpc_tx tx = {.msg = call};

	if (!list_is_empty(&leg->calls))
		return true;
	return leg->state == LEG_OPEN &&
	       !(leg->t->ops->may_send(leg->t, &tx) && has_receive_for_reply(leg));
}

bool leg_has_no_credit_ever(const struct leg *leg, const struct leg_tx *call)
{
	return leg->t->ops->traits->counts_calls && leg->awaiting == 0 &&
	       (!leg->t->ops->may_send(leg->t, &call->tx) || promised_receives(leg) >= leg->nrbufs);
}

static struct leg_tx *next_tx(struct leg *leg)
{
	struct leg_tx *tx;

	if (leg->active)
		return leg->t->ops->may_send(leg->t, &leg->active->tx) ? leg->active : NULL;
	if (!list_is_empty(&leg->replies)) {
		tx = list_first(&leg->replies, struct leg_tx, link);
		if (tx->report ? leg->t->nreports == 0 : leg->t->ops->may_send(leg->t, &tx->tx))
			return tx;
	}
	if (!list_is_empty(&leg->calls) && has_receive_for_reply(leg)) {
		tx = list_first(&leg->calls, struct leg_tx, link);
		if (leg->t->ops->may_send(leg->t, &tx->tx))
			return tx;
	}
	return NULL;
}

static void fail_tx(struct leg *leg, struct leg_tx *tx, int status)
{
	tx->status = status;
	tx->over = true;
	leg->active = NULL;
	list_del(&tx->link);
	if (tx->posted == 0)
		list_add_tail(&leg->dead, &tx->link);
}

/* The message needs more pieces than a Send has, which rtrext/call.c should have seen. The
 * transport has counted it, so the leg ends. */
static int refuse_send(struct leg *leg, struct leg_slot *slot)
{
	leg_free_slot(leg, slot);
	leg_stop(leg, ERR_TOOBIG, "a Send takes more pieces than there are");
	return ERR_TOOBIG;
}

/* The largest piece of the Send just posted goes out with its sums. */
static void name_sums(struct leg *leg, const struct leg_tx *tx, const struct fabric_sge *sge,
		      unsigned n)
{
	uint32_t most = 0, at = 0;
	struct fabric_sums *sums = NULL;
	unsigned piece = 0, filled = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *octets = sge[i].addr;

		for (unsigned k = 0; k < 2 && sge[i].len > most; k++) {
			const struct leg_summed *s = &tx->summed[k];

			if (!s->sums || octets < s->octets || octets >= s->octets + s->len)
				continue;
			most = sge[i].len;
			piece = filled;
			sums = s->sums;
			at = s->at + (uint32_t)(octets - s->octets);
		}
		filled += sge[i].len > 0;
	}
	fabric_sum_posted(leg->conn, piece, sums, at);
}

enum send_result { SEND_DONE, SEND_WAITS, SEND_STOPS };

/* Post one Send of @tx, or end it with an error. */
static enum send_result send_one(struct leg *leg, struct leg_tx *tx, struct leg_slot *slot)
{
	struct fabric_sge sge[FABRIC_MAX_SGE];
	size_t hdr_len = 0, body_len = 0, from = tx->tx.body_sent;
	int more = leg->t->ops->encode(leg->t, &tx->tx, slot->data, leg->cfg->inline_bytes,
				       &hdr_len, &body_len);
	unsigned n;
	int posted;

	if (more < 0) {
		leg_free_slot(leg, slot);
		if (more == ERR_AGAIN)
			return SEND_WAITS;
		if (leg->active == tx) { /* the peer waits for the rest of it */
			leg_stop(leg, more, "a message that was begun cannot go on");
			more = ERR_CLOSED;
		}
		fail_tx(leg, tx, more);
		return more == ERR_CLOSED ? SEND_STOPS : SEND_DONE;
	}
	sge[0] = (struct fabric_sge){slot->data, (uint32_t)hdr_len};
	n = 1 + leg_gather(tx->tx.msg, from, body_len, sge + 1);
	if (tx->tx.msg->nplaced)
		n = add_placed(leg, slot, hdr_len, &tx->tx, sge, n);
	slot->tx = tx;
	slot->counts = (uint32_t)(hdr_len + body_len);
	posted = n ? post_send(leg, slot, sge, n, more ? 0 : tx->inv_handle)
		   : refuse_send(leg, slot);
	if (posted < 0) {
		fail_tx(leg, tx, ERR_CLOSED);
		return SEND_STOPS;
	}
	if (posted == 0 && (tx->summed[0].sums || tx->summed[1].sums))
		name_sums(leg, tx, sge, n);
	tx->posted += posted == 0;
	list_del(&tx->link);
	leg->active = more ? tx : NULL;
	tx->encoded = tx->over = !more;
	if (tx->over && tx->posted == 0)
		list_add_tail(&leg->dead, &tx->link);
	if (!more) {
		leg->awaiting += tx->tx.msg->dir == RPC_CALL;
		leg->replied += tx->tx.msg->dir == RPC_REPLY;
	}
	return SEND_DONE;
}

/* Post a message of the transport's own. Return: 1: posted; 0: there is none, and the slot stays
 * the caller's; or an error. */
static int send_control(struct leg *leg, struct leg_slot *slot)
{
	struct fabric_sge sge;
	int len;

	leg->t->needs_replies = leg->awaiting > 0 && list_is_empty(&leg->replies);
	len = leg->t->ops->control(leg->t, slot->data, leg->cfg->inline_bytes);
	if (len <= 0)
		return 0;
	sge = (struct fabric_sge){slot->data, (uint32_t)len};
	return leg_post_send(leg, slot, &sge, 1, 0) < 0 ? ERR_CLOSED : 1;
}

/* Whether each message that the peer may still send has a Receive, and so has the GRANT that may
 * pass the limit (draft-07 4.2.1.1). Messages in .rxq have theirs; the transport has not counted
 * all of them. */
static bool is_backed(const struct leg *leg)
{
	uint32_t promised = window_of(leg).promised;

	return promised == 0 || promised < leg->posted || leg->closing || !list_is_empty(&leg->rxq);
}

/* Messages are counted against Receives really posted, one kept for a GRANT (draft-07 4.2.1.1). */
static void leg_advertise(struct leg *leg)
{
	uint32_t free_recvs = leg->posted > 0 ? leg->posted - 1 : 0;

	assert(is_backed(leg));
	if (!leg->t->ops->traits->counts_calls)
		leg->t->ops->set_credits(leg->t, free_recvs < leg->grant ? free_recvs : leg->grant);
}

static void send_what_may(struct leg *leg)
{
	enum send_result last = SEND_DONE, before;
	struct leg_slot *slot;
	struct leg_tx *tx;
	bool ask = true, whole;

	leg_advertise(leg);
	while ((slot = leg_take_slot(leg))) {
		int posted = ask ? send_control(leg, slot) : 0;

		if (posted > 0)
			continue;
		if (posted < 0)
			return;
		tx = leg->t->ready ? next_tx(leg) : NULL;
		if (!tx) {
			leg_free_slot(leg, slot);
			return;
		}
		if (tx->report) {
			leg_free_slot(leg, slot);
			hand_over(leg, tx);
			ask = true;
			continue;
		}
		before = last;
		whole = !leg->active;
		last = send_one(leg, tx, slot);
		/* A message of one Send makes no message of the transport's own due. Parts of a
		 * longer one hold these back. */
		ask = last != SEND_DONE || !whole || leg->active;
		/* The transport may have a GRANT for a peer that waits as well: try once more. */
		if (last == SEND_STOPS || (last == SEND_WAITS && before == SEND_WAITS))
			return;
	}
}

void leg_pump(struct leg *leg)
{
	const char *refused;

	if (!leg->t || leg->closing || (leg->state != LEG_OPEN && leg->state != LEG_NEGOTIATING))
		return;
	refused = leg_auth_go(leg);
	send_what_may(leg);
	if (refused)
		leg_stop(leg, ERR_AUTH, refused);
}

void leg_close(struct leg *leg, int status, const char *why)
{
	if (leg->closing || leg->state == LEG_CLOSED || !leg->conn)
		return;
	leg_pump(leg); /* an error report that explains the end is sent before it */
	leg_stop(leg, status, why);
}

void leg_prove(struct leg *leg)
{
	const char *refused = leg_auth_go(leg);

	if (refused)
		leg_close(leg, ERR_AUTH, refused);
}
