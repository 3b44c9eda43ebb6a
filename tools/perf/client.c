/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   CONNECTING -> RUNNING (step after step) -> CLOSING -> DONE
 *
 * - A slot is one call at a time: idle -> called -> answered -> its exposures fenced -> checked ->
 *   called again. The reply's memory is read only when the peer can no longer write to it.
 * - A step ends when its time or count is used up and its last call was checked.
 * - An error on a connection ends the whole run with an error, unless reconnect.c makes the
 *   connection again.
 * - Set-up, every call, and closing have a deadline.
 */
#include "tools/perf/client.h"

#include "tools/perf/client_priv.h"

enum { EVENTS_A_TURN = 512 };

#define CLOSE_TIMEOUT (2 * NSEC_PER_SEC)

static void mark(struct client_conn *conn)
{
	if (list_is_empty(&conn->dirty))
		list_add_tail(&conn->client->dirty, &conn->dirty);
}

static void keep_step(struct perf_client *c)
{
	c->in_step = false;
	client_measure_step(c, &c->steps[c->nsteps++]);
	latency_merge(&c->all_times, &c->times);
	c->times = (struct latency){0};
	c->step++;
}

static void begin_closing(struct perf_client *c)
{
	if (c->state >= CLIENT_CLOSING)
		return;
	/* The results of an interrupted step are kept. */
	if (c->in_step)
		keep_step(c);
	c->state = CLIENT_CLOSING;
	c->close_by = perf_now(&c->env) + CLOSE_TIMEOUT;
	for (unsigned i = 0; i < c->cfg->connections; i++)
		leg_close(&c->conns[i].leg, 0, "the run is over");
}

/* Whether the step has calls left. */
static bool has_calls(const struct perf_client *c, nsec_t now)
{
	return c->state == CLIENT_RUNNING && !c->stopped && c->started < c->cfg->count &&
	       (c->cfg->duration == NSEC_NEVER || now - c->step_began < c->cfg->duration);
}

/* When the step's next call is due: at once without .rate. */
static nsec_t call_due(const struct perf_client *c)
{
	return c->step_began + (c->cfg->rate ? c->started * NSEC_PER_SEC / c->cfg->rate : 0);
}

static bool may_call(const struct perf_client *c, nsec_t now)
{
	return has_calls(c, now) && now >= call_due(c);
}

/* Whether the connection, which has ended, will be made again. */
static bool is_made_good(const struct perf_client *c, int err)
{
	return c->cfg->reconnects && err_class(err) == ERR_CLASS_IO;
}

static void cannot_send(struct perf_client *c, uint32_t size, int err)
{
	perf_error(&c->errors, "cannot send %s of %u octets: %s", perf_op_name(c->cfg->op), size,
		   err == ERR_TOOBIG ? "more segments than the peer takes" : err_name(err));
	begin_closing(c);
}

static void call(struct slot *slot, nsec_t now)
{
	struct client_conn *conn = slot->conn;
	struct perf_client *c = conn->client;
	uint32_t size = c->cfg->sizes[c->step];
	int err;

	list_del(&slot->link);
	list_add_tail(&conn->flying, &slot->link);
	c->nflying++;
	c->started++;
	err = slot_call(slot, size, now);
	if (err < 0 && !is_made_good(c, err))
		cannot_send(c, size, err);
	mark(conn);
}

/* Whether another call may begin on @conn. */
static bool has_room(const struct client_conn *conn)
{
	return client_is_up(conn) && !list_is_empty(&conn->idle);
}

/* Begin all calls that are possible now, on one connection after the other. */
static void call_all(struct perf_client *c, nsec_t now)
{
	for (unsigned full = 0; full < c->cfg->connections && may_call(c, now);) {
		struct client_conn *conn = &c->conns[c->turn++ % c->cfg->connections];

		if (!has_room(conn)) {
			full++;
		} else {
			full = 0;
			call(list_first(&conn->idle, struct slot, link), now);
		}
	}
}

static void begin_step(struct perf_client *c)
{
	c->in_step = true;
	c->started = 0;
	c->now = (struct perf_step){.size = c->cfg->sizes[c->step], .errors = c->errors.count};
	c->times = (struct latency){0};
	c->step_began = c->step_last = perf_now(&c->env);
	call_all(c, c->step_began);
}

static void end_step(struct perf_client *c)
{
	keep_step(c);
	if (c->step < c->cfg->nsizes && !c->stopped)
		begin_step(c);
	else
		begin_closing(c);
}

/* Begin all calls that are due; end the step if it has none left. */
static void keep_pace(struct perf_client *c, nsec_t now)
{
	call_all(c, now);
	if (c->nflying == 0 && !has_calls(c, now))
		end_step(c);
}

/* If the slot's message was sent, answered and fenced: check the reply and continue. */
static void settle(struct slot *slot)
{
	struct perf_client *c = slot->conn->client;
	bool right;

	if (!slot->sent || !slot->answered || slot->fencing > 0)
		return;
	right = !slot->failed && slot_judge(slot);
	leg_put(&slot->conn->leg, &slot->held);
	list_del(&slot->link);
	list_add_head(&slot->conn->idle, &slot->link);
	c->nflying--;
	if (right) {
		c->now.rpcs++;
		c->now.bytes += (c->cfg->op == PERF_ECHO ? 2 : 1) * (uint64_t)slot->rpc.count;
	}
	mark(slot->conn);
	if (c->state != CLIENT_RUNNING)
		return;
	c->step_last = perf_now(&c->env);
	if (may_call(c, c->step_last) && client_is_up(slot->conn))
		call(slot, c->step_last);
	else if (c->nflying == 0 && !has_calls(c, c->step_last))
		end_step(c);
}

/* Withdraw the slot's exposures: after that the peer can write to none of its octets. */
static void fence(struct slot *slot)
{
	for (unsigned i = 0; i < slot->nhandles; i++)
		if (fabric_withdraw(slot->conn->leg.conn, slot->handles[i], slot, NULL) == 0)
			slot->fencing++;
	slot->nhandles = 0;
	slot->answered = true;
	settle(slot);
}

static struct slot *slot_of(struct client_conn *conn, uint32_t xid)
{
	uint32_t i = (xid - conn->xid_base) & (conn->xid_stride - 1);
	struct slot *slot = i < conn->client->cfg->depth ? &conn->slots[i] : NULL;

	/* No slot, or the slot is idle, answered, or has another call: no call waits for this
	 * reply. */
	if (!slot || !slot->tx.owner || slot->answered || slot->rpc.xid != xid) {
		perf_error(&conn->client->errors, "an answer to no call, xid 0x%08x", xid);
		return NULL;
	}
	return slot;
}

static void on_reply(struct client_conn *conn, struct leg_out *out)
{
	struct slot *slot = out->msg->dir == RPC_REPLY ? slot_of(conn, out->msg->xid) : NULL;

	if (!slot) {
		leg_put(&conn->leg, &out->held);
		return;
	}
	latency_add(&conn->client->times, perf_now(&conn->client->env) - slot->began);
	slot->held = out->held;
	slot->failed = slot_take_reply(slot, out) < 0;
	fence(slot);
}

static void on_error(struct client_conn *conn, const struct leg_out *out)
{
	struct slot *slot = slot_of(conn, out->xid);

	if (!slot)
		return;
	if (out->cut)
		leg_cut(&conn->leg, out->xid);
	perf_error(&conn->client->errors,
		   "%s of %u octets, xid 0x%08x: the peer reports %s (%u, %u)",
		   perf_op_name(slot->rpc.op), slot->rpc.count, out->xid,
		   rpc_error_name(out->error.code), out->error.a, out->error.b);
	slot->failed = true;
	fence(slot);
}

static void on_sent(struct leg_tx *tx)
{
	struct slot *slot = tx->owner;
	struct perf_client *c = slot->conn->client;

	slot->sent = true;
	if (tx->status < 0 && tx->status != ERR_FLUSHED && !is_made_good(c, tx->status))
		cannot_send(c, slot->rpc.count, tx->status);
	settle(slot);
}

static void on_ready(struct client_conn *conn)
{
	struct perf_client *c = conn->client;

	int err;

	if (conn->is_ready)
		return;
	conn->is_ready = true;
	conn->took = perf_now(&c->env) - conn->connected;
	c->nready++;
	err = reconnect_done(conn);
	if (err < 0 && !is_made_good(c, err))
		cannot_send(c, c->cfg->sizes[c->step], err);
	if (c->state == CLIENT_RUNNING)
		keep_pace(c, perf_now(&c->env));
	if (c->nready < c->cfg->connections || c->state != CLIENT_CONNECTING)
		return;
	c->state = CLIENT_RUNNING;
	begin_step(c);
}

static void give_up(struct client_conn *conn, int status, const char *why)
{
	struct perf_client *c = conn->client;
	char peer[FABRIC_ADDR_TEXT];

	perf_error(&c->errors, "%s %s: %s%s%s",
		   conn->is_ready ? "lost the connection to" : "cannot connect to",
		   fabric_addr_format(&c->cfg->to, peer),
		   status ? err_name(status) : "the peer closed it", why ? ", " : "",
		   why ? why : "");
	begin_closing(c);
}

static void on_closed(struct client_conn *conn, const struct leg_out *out)
{
	struct perf_client *c = conn->client;

	conn->is_closed = true;
	c->nclosed++;
	if (c->state != CLIENT_CLOSING && !reconnect_begin(conn))
		give_up(conn, out->status, out->why);
}

static void on_out(struct client_conn *conn, struct leg_out *out)
{
	struct slot *slot;

	switch (out->kind) {
	case LEG_OUT_NONE:
	case LEG_OUT_RECV_LIMITED:
		break;
	case LEG_OUT_READY:
		on_ready(conn);
		break;
	case LEG_OUT_MSG:
		on_reply(conn, out);
		break;
	case LEG_OUT_ERROR:
		on_error(conn, out);
		break;
	case LEG_OUT_SENT:
		on_sent(out->tx);
		break;
	case LEG_OUT_OP:
		slot = out->cookie;
		slot->fencing--;
		settle(slot);
		break;
	case LEG_OUT_CLOSED:
		on_closed(conn, out);
		break;
	}
}

static void drain(struct client_conn *conn)
{
	struct leg_out out;

	for (leg_next(&conn->leg, &out); out.kind != LEG_OUT_NONE; leg_next(&conn->leg, &out))
		on_out(conn, &out);
	if (conn->leg.stalled && list_is_empty(&conn->stalled))
		list_add_tail(&conn->client->stalled, &conn->stalled);
}

static void on_event(const struct fabric_event *ev)
{
	struct client_conn *conn =
		container_of((struct leg *)ev->conn->owner, struct client_conn, leg);
	struct leg_out out;

	if (ev->type == FABRIC_EV_CONNECTED)
		conn->connected = perf_now(&conn->client->env);
	leg_input(&conn->leg, ev, &out);
	on_out(conn, &out);
	drain(conn);
	mark(conn);
}

/* Give memory to continued replies that wait for it. Nothing else in the client waits for
 * memory. */
static void serve_waiters(struct perf_client *c)
{
	list_for_each_safe(it, tmp, &c->stalled)
	{
		struct client_conn *conn = container_of(it, struct client_conn, stalled);

		leg_resume(&conn->leg);
		if (conn->leg.stalled)
			continue;
		list_del(it);
		drain(conn);
		mark(conn);
	}
}

static void finish_turn(struct perf_client *c)
{
	for (;;) {
		struct client_conn *conn;

		serve_waiters(c);
		if (list_is_empty(&c->dirty))
			break;
		conn = list_first(&c->dirty, struct client_conn, dirty);
		list_del(&conn->dirty);
		leg_pump(&conn->leg);
		drain(conn);
	}
	fabric_flush(c->env.fabric);
}

/* Deadline of the oldest call of @conn. */
static nsec_t call_deadline(const struct client_conn *conn)
{
	if (list_is_empty(&conn->flying))
		return NSEC_NEVER;
	return list_first(&conn->flying, struct slot, link)->began +
	       conn->client->cfg->call_timeout;
}

static bool any_room(const struct perf_client *c)
{
	for (unsigned i = 0; i < c->cfg->connections; i++)
		if (has_room(&c->conns[i]))
			return true;
	return false;
}

/* With .rate: when the next call may begin, or the step ends. */
static nsec_t pace_deadline(const struct perf_client *c)
{
	nsec_t due = call_due(c), end = NSEC_NEVER;

	if (c->state != CLIENT_RUNNING || c->cfg->rate == 0 || !any_room(c))
		return NSEC_NEVER;
	if (c->cfg->duration != NSEC_NEVER)
		end = c->step_began + c->cfg->duration;
	if (c->nflying > 0 && (c->stopped || c->started == c->cfg->count || due >= end))
		return NSEC_NEVER;
	return nsec_min(due, end);
}

nsec_t perf_client_deadline(const struct perf_client *c)
{
	nsec_t at = nsec_min(fabric_deadline(c->env.fabric), pace_deadline(c));

	if (c->state == CLIENT_CLOSING)
		return nsec_min(at, c->close_by);
	for (unsigned i = 0; i < c->cfg->connections; i++) {
		at = nsec_min(at, c->conns[i].leg.deadline);
		at = nsec_min(at, call_deadline(&c->conns[i]));
		at = nsec_min(at, reconnect_deadline(&c->conns[i]));
	}
	return at;
}

static void time_out(struct client_conn *conn)
{
	const struct slot *slot = list_first(&conn->flying, struct slot, link);

	perf_error(&conn->client->errors, "no reply within %g s to %s of %u octets, xid 0x%08x",
		   (double)conn->client->cfg->call_timeout / (double)NSEC_PER_SEC,
		   perf_op_name(slot->rpc.op), slot->rpc.count, slot->rpc.xid);
	begin_closing(conn->client);
}

static void tick(struct perf_client *c, nsec_t now)
{
	fabric_tick(c->env.fabric, now);
	for (unsigned i = 0; i < c->cfg->connections; i++) {
		struct client_conn *conn = &c->conns[i];

		if (now >= conn->leg.deadline) {
			leg_tick(&conn->leg, now);
			mark(conn); /* it may be open now: leg_next() reports that */
		}
		if (c->state == CLIENT_RUNNING && now >= call_deadline(conn))
			time_out(conn);
		if (c->state < CLIENT_CLOSING) {
			int err = reconnect_tick(conn, now);

			if (err < 0)
				give_up(conn, err, NULL);
		}
	}
	if (c->state == CLIENT_RUNNING && now >= pace_deadline(c))
		keep_pace(c, now);
}

static bool is_over(const struct perf_client *c, nsec_t now)
{
	return c->state == CLIENT_CLOSING &&
	       (c->nclosed == c->cfg->connections || now >= c->close_by);
}

int perf_client_turn(struct perf_client *c)
{
	nsec_t now = perf_now(&c->env);
	struct fabric_event ev;
	int n = 0;

	if (now >= perf_client_deadline(c))
		tick(c, now);
	while (n < EVENTS_A_TURN && fabric_poll(c->env.fabric, &ev)) {
		on_event(&ev);
		n++;
	}
	finish_turn(c);
	if (is_over(c, now))
		c->state = CLIENT_DONE;
	return n == EVENTS_A_TURN;
}

void perf_client_stop(struct perf_client *c)
{
	c->stopped = true;
	if (c->state == CLIENT_CONNECTING)
		begin_closing(c);
}

bool perf_client_is_done(const struct perf_client *c)
{
	return c->state == CLIENT_DONE;
}
