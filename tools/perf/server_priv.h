/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_SERVER_PRIV_H
#define TOOLS_PERF_SERVER_PRIV_H

#include "base/list.h"
#include "base/pool.h"
#include "tools/perf/program.h"
#include "tools/perf/server.h"

/* Shared by server.c (connections, events), task.c (one call), answer.c (its reply) and job.c (its
 * chunks); private to these files. */

struct perf_server {
	const struct perf_server_config *cfg;
	struct perf_env env;
	struct pool tasks;
	struct list conns;  /* every server_conn */
	struct list dirty;  /* connections to pump at the end of the turn */
	struct list dead;   /* connections to free at the end of the turn */
	struct list setups; /* connections whose first message has not arrived */
	/* connections whose message waits for memory, and tasks that do; in order */
	struct list stalled, waiting;
	unsigned nconns;
	struct perf_server_totals totals;
	struct perf_errors errors;
};

struct server_conn {
	struct perf_server *server;
	struct list link, dirty, setup, stalled;
	struct leg leg;
	struct list tasks;	/* all tasks of this connection */
	struct list queued;	/* tasks that have not begun, because .task_limit are running */
	struct list op_waiters; /* tasks with operations to post, while .op_limit are posted */
	uint32_t running, task_limit;
	uint32_t ops, op_limit; /* fabric operations that are posted, and their limit */
};

/* A run of octets to pull from, or to push to, the segments of one chunk. */
struct task_job {
	bool is_push;
	const struct segment *segs;
	unsigned nsegs, next;
	struct view parts[RPC_MAX_VIEWS]; /* local memory, in order; a pull has one */
	unsigned nparts;
	uint64_t done;
};

enum { TASK_JOBS = 2, TASK_PAD_AT = PERF_HEAD_MAX /* offset in a block: four zero octets */ };

enum task_state {
	/* the message is held; the task has neither memory nor a place among .running */
	TASK_QUEUED,
	TASK_WAITING,  /* waits for memory of the arena */
	TASK_PULLING,  /* Reads are under way */
	TASK_PUSHING,  /* Writes are being posted */
	TASK_REPLYING, /* the leg has the reply */
	TASK_ENDING,   /* no reply: the task waits only for its operations and its error report */
};

struct task {
	struct list link;  /* in conn->tasks */
	struct list queue; /* in conn->queued, conn->op_waiters or .waiting of the server */
	struct server_conn *conn;
	enum task_state state;
	struct leg_held held;
	struct rpc_msg call, reply;
	struct perf_call rpc;
	struct leg_tx tx;
	uint8_t *block, *args, *data; /* one block: head of the reply, payload stream, data item */
	size_t args_len, data_cap;
	struct task_job jobs[TASK_JOBS];
	unsigned njobs, job;
	unsigned ops; /* number of operations that are posted and not completed */
	struct rpc_error error;
	bool sending; /* the leg is sending the reply, or the report of .error */
};

/** task_begin - a call arrived; takes the held message of @out. May close the connection. */
void task_begin(struct server_conn *conn, const struct leg_out *out);

/** task_resume - give memory to the first task that waits for it. Return: false: none waits, or there
 * is no memory. */
bool task_resume(struct perf_server *s);

/** task_op_done - a Read or Write of @t completed. */
void task_op_done(struct task *t, int status);

/** task_sent - the reply of @t was sent or flushed. */
void task_sent(struct task *t);

/** task_free - takes @t, which has no operation posted. */
void task_free(struct task *t);

/** task_add_job - add a job that moves octets between @parts and the segments of chunk @c of
 * @msg. */
void task_add_job(struct task *t, bool is_push, const struct rpc_msg *msg,
		  const struct rpc_chunk *c, const struct view *parts, unsigned nparts);

/** task_post_jobs - post what is left of the jobs. Return: true if all is posted. */
bool task_post_jobs(struct task *t) WARN_UNUSED;

/**
 * task_answer - run the procedure and form the reply, with the jobs that push its data
 * @e: on error: what to report to the requester
 *
 * Return: 0, ERR_XDR or ERR_TOOBIG.
 */
int task_answer(struct task *t, struct rpc_error *e) WARN_UNUSED;

/** server_mark - pump @conn at the end of this turn. */
static inline void server_mark(struct server_conn *conn)
{
	if (list_is_empty(&conn->dirty))
		list_add_tail(&conn->server->dirty, &conn->dirty);
}

#endif
