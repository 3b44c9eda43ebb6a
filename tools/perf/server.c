/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation. A turn takes all events from the fabric and gives each to the leg of its connection.
 * Calls go to tasks (task.c: one call). At the end of the turn the connections that had events are
 * pumped once, and then the fabric is flushed once, so that many small replies leave in one system
 * call.
 */
#include "tools/perf/server.h"

#include <stdio.h>

#include "base/mem.h"
#include "tools/perf/server_priv.h"

enum {
	EVENTS_A_TURN = 512,
	MAX_TASKS = 1 << 20,
	OPS_PER_CREDIT = 4, /* Reads and Writes in flight for each credit; further ones wait */
};

static struct server_conn *conn_new(struct perf_server *s)
{
	struct server_conn *conn = mem_zalloc(sizeof(*conn));

	if (!conn)
		return NULL;
	conn->server = s;
	list_init(&conn->dirty);
	list_init(&conn->setup);
	list_init(&conn->stalled);
	list_init(&conn->tasks);
	list_init(&conn->queued);
	list_init(&conn->op_waiters);
	conn->task_limit = s->cfg->leg.credits;
	conn->op_limit = s->cfg->leg.credits * OPS_PER_CREDIT;
	leg_init(&conn->leg, RPC_ACCEPTOR);
	list_add_tail(&s->conns, &conn->link);
	s->nconns++;
	return conn;
}

static void conn_free(struct server_conn *conn)
{
	while (!list_is_empty(&conn->tasks)) {
		struct task *t = list_first(&conn->tasks, struct task, link);

		leg_put(&conn->leg, &t->held);
		task_free(t);
	}
	leg_fini(&conn->leg);
	list_del(&conn->dirty);
	list_del(&conn->setup);
	list_del(&conn->stalled);
	list_del(&conn->link);
	conn->server->nconns--;
	mem_free(conn);
}

static void accept_conn(struct perf_server *s, const struct fabric_event *ev)
{
	struct server_conn *conn = conn_new(s);
	int err;

	if (!conn) {
		fabric_reject(ev->conn, view_of(NULL, 0));
		return;
	}
	err = leg_accept(&conn->leg, &s->cfg->leg, s->env.arena, ev->conn, ev->private_data,
			 conn->op_limit, perf_now(&s->env));
	if (err < 0) {
		perf_error(&s->errors, "cannot accept a connection: %s", err_name(err));
		conn_free(conn);
		return;
	}
	list_add_tail(&s->setups, &conn->setup);
	s->totals.connections++;
}

static void on_closed(struct server_conn *conn, const struct leg_out *out)
{
	char peer[FABRIC_ADDR_TEXT];

	/* ERR_VERS is no error here: a client of another version was refused. */
	if (out->status != 0 && out->status != ERR_VERS && err_class(out->status) == ERR_CLASS_PEER)
		perf_error(&conn->server->errors, "connection from %s ended: %s (%s)",
			   fabric_addr_format(&conn->leg.conn->peer, peer),
			   out->why ? out->why : "no reason given", err_name(out->status));
	list_del(&conn->link);
	list_add_tail(&conn->server->dead, &conn->link);
}

static void on_out(struct server_conn *conn, struct leg_out *out)
{
	switch (out->kind) {
	case LEG_OUT_NONE:
	case LEG_OUT_RECV_LIMITED:
	case LEG_OUT_READY:
		break;
	case LEG_OUT_MSG:
		if (out->msg->dir == RPC_CALL)
			task_begin(conn, out);
		else /* a reply: this end makes no calls */
			leg_put(&conn->leg, &out->held);
		break;
	case LEG_OUT_ERROR:
		perf_error(&conn->server->errors, "the peer reports an error about xid 0x%08x: %s",
			   out->xid, rpc_error_name(out->error.code));
		break;
	case LEG_OUT_SENT:
		task_sent(out->tx->owner);
		break;
	case LEG_OUT_OP:
		task_op_done(out->cookie, out->status);
		break;
	case LEG_OUT_CLOSED:
		on_closed(conn, out);
		break;
	}
}

static void drain(struct server_conn *conn)
{
	struct leg_out out;

	for (leg_next(&conn->leg, &out); out.kind != LEG_OUT_NONE; leg_next(&conn->leg, &out))
		on_out(conn, &out);
	if (conn->leg.stalled && list_is_empty(&conn->stalled)) {
		conn->server->totals.waits++;
		list_add_tail(&conn->server->stalled, &conn->stalled);
	}
	if (leg_auth_take_result(&conn->leg) && *leg_peer_name(&conn->leg)) {
		struct perf_server_totals *t = &conn->server->totals;

		t->proved++;
		snprintf(t->last_peer, sizeof(t->last_peer), "%s", leg_peer_name(&conn->leg));
	}
}

static void on_event(struct perf_server *s, const struct fabric_event *ev)
{
	struct server_conn *conn;
	struct leg_out out;

	if (ev->type == FABRIC_EV_REQUEST) {
		accept_conn(s, ev);
		return;
	}
	conn = container_of((struct leg *)ev->conn->owner, struct server_conn, leg);
	leg_input(&conn->leg, ev, &out);
	on_out(conn, &out);
	drain(conn);
	server_mark(conn);
}

/* Give returned memory to continued messages and calls that wait for it, in order. */
static void serve_waiters(struct perf_server *s)
{
	list_for_each_safe(it, tmp, &s->stalled)
	{
		struct server_conn *conn = container_of(it, struct server_conn, stalled);

		leg_resume(&conn->leg);
		if (conn->leg.stalled)
			continue;
		list_del(it);
		drain(conn);
		server_mark(conn);
	}
	while (task_resume(s))
		;
}

/* Each step may free memory for another one, so repeat until nothing is left to do. */
static void finish_turn(struct perf_server *s)
{
	struct server_conn *conn;

	for (;;) {
		serve_waiters(s);
		if (!list_is_empty(&s->dirty)) {
			conn = list_first(&s->dirty, struct server_conn, dirty);
			list_del(&conn->dirty);
			if (conn->leg.deadline == NSEC_NEVER)
				list_del(&conn->setup);
			leg_pump(&conn->leg);
			drain(conn);
		} else if (!list_is_empty(&s->dead)) {
			conn_free(list_first(&s->dead, struct server_conn, link));
		} else {
			break;
		}
	}
	fabric_flush(s->env.fabric);
}

int perf_server_turn(struct perf_server *s)
{
	nsec_t now = perf_now(&s->env);
	struct fabric_event ev;
	int n = 0;

	if (now >= perf_server_deadline(s)) {
		fabric_tick(s->env.fabric, now);
		list_for_each_safe(it, tmp, &s->setups)
			leg_tick(&container_of(it, struct server_conn, setup)->leg, now);
	}
	while (n < EVENTS_A_TURN && fabric_poll(s->env.fabric, &ev)) {
		on_event(s, &ev);
		n++;
	}
	finish_turn(s);
	return n == EVENTS_A_TURN;
}

/* The cost of a turn does not depend on the number of idle connections. */
nsec_t perf_server_deadline(const struct perf_server *s)
{
	nsec_t at = fabric_deadline(s->env.fabric);

	for (const struct list *it = s->setups.next; it != &s->setups; it = it->next)
		at = nsec_min(at, container_of(it, struct server_conn, setup)->leg.deadline);
	return at;
}

struct perf_server *perf_server_new(const struct perf_server_config *cfg,
				    const struct perf_env *env)
{
	struct perf_server *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = cfg;
	s->env = *env;
	s->errors.is_silent = cfg->is_silent;
	pool_init(&s->tasks, sizeof(struct task), MAX_TASKS);
	list_init(&s->conns);
	list_init(&s->dirty);
	list_init(&s->dead);
	list_init(&s->setups);
	list_init(&s->stalled);
	list_init(&s->waiting);
	return s;
}

void *perf_server_owner(struct perf_server *s)
{
	return s;
}

const struct perf_server_totals *perf_server_totals(const struct perf_server *s)
{
	return &s->totals;
}

const struct perf_errors *perf_server_errors(const struct perf_server *s)
{
	return &s->errors;
}

void perf_server_free(struct perf_server *s)
{
	if (!s)
		return;
	while (!list_is_empty(&s->conns))
		conn_free(list_first(&s->conns, struct server_conn, link));
	pool_fini(&s->tasks);
	mem_free(s);
}
