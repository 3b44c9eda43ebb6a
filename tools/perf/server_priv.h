/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERF_SERVER_PRIV_H
#define TOOLS_PERF_SERVER_PRIV_H

#include "base/list.h"
#include "base/pool.h"
#include "tools/perf/program.h"
#include "tools/perf/server.h"

/* Shared by server.c (connections, events), task.c (one call), answer.c (its reply) and job.c (its chunks); private to
 * them. */

struct perf_server {
	const struct perf_server_config *cfg;
	struct perf_env env;
	struct pool tasks;
	struct list conns;  /* every server_conn */
	struct list dirty;  /* those to be pumped at the end of the turn */
	struct list dead;   /* those to be freed then */
	struct list setups; /* those whose first message is awaited */
	unsigned nconns;
	struct perf_server_totals totals;
	struct perf_errors errors;
};

struct server_conn {
	struct perf_server *server;
	struct list link, dirty, setup;
	struct leg leg;
	struct list tasks;   /* all of this connection */
	struct list queued;  /* of those: not begun, because task_limit are */
	struct list starved; /* of those: operations to post, and the queue is full */
	uint32_t running, task_limit;
	uint32_t ops, op_limit; /* fabric operations posted */
};

/* A run of octets to pull from, or push to, the segments of one chunk. */
struct task_job {
	bool is_push;
	const struct segment *segs;
	unsigned nsegs, next;
	struct view parts[RPC_MAX_VIEWS]; /* local memory, in order; a pull has one */
	unsigned nparts;
	uint64_t done;
};

enum { TASK_JOBS = 2, TASK_PAD_AT = PERF_HEAD_MAX /* in a block: four zero octets */ };

enum task_state {
	TASK_QUEUED,   /* the message is held; neither memory nor a turn */
	TASK_WAITING,  /* on the arena, for memory */
	TASK_PULLING,  /* Reads under way */
	TASK_PUSHING,  /* Writes being posted */
	TASK_REPLYING, /* reply handed to the leg */
	TASK_ENDING,   /* no reply: waits for its operations only */
};

struct task {
	struct list link, queue; /* conn->tasks; conn->queued or starved */
	struct server_conn *conn;
	enum task_state state;
	struct leg_held held;
	struct buf_waiter waiter;
	struct rpc_msg call, reply;
	struct perf_call rpc;
	struct leg_tx tx;
	uint8_t *block, *args, *data; /* one block: head of the reply, payload stream, data item */
	size_t args_len, data_cap;
	struct task_job jobs[TASK_JOBS];
	unsigned njobs, job;
	unsigned ops; /* posted, not completed */
	bool sending; /* the leg has the reply */
};

/** task_begin - a call arrived; takes @out's held message. The connection may be closed by it. */
void task_begin(struct server_conn *conn, const struct leg_out *out);

/** task_memory - its waiter came off the arena's queue. */
void task_memory(struct task *t);

/** task_op_done - a Read or Write of @t completed. */
void task_op_done(struct task *t, int status);

/** task_sent - its reply went out, or was flushed. */
void task_sent(struct task *t);

/** task_free - takes @t, which has nothing posted (the connection ended, or the task did). */
void task_free(struct task *t);

/** task_add_job - octets @parts and the segments of @msg's chunk @c, either way. */
void task_add_job(struct task *t, bool is_push, const struct rpc_msg *msg,
		  const struct rpc_chunk *c, const struct view *parts, unsigned nparts);

/** task_post_jobs - what is left of the jobs. Return: true when all is posted. */
bool task_post_jobs(struct task *t) WARN_UNUSED;

/**
 * task_answer - do the procedure and form the reply, with the jobs that push it
 * @e: on error: what the requester is told instead
 *
 * Return: 0, ERR_XDR or ERR_TOOBIG.
 */
int task_answer(struct task *t, struct rpc_error *e) WARN_UNUSED;

/** server_mark - @conn is to be pumped at the end of this turn. */
static inline void server_mark(struct server_conn *conn)
{
	if (list_is_empty(&conn->dirty))
		list_add_tail(&conn->server->dirty, &conn->dirty);
}

#endif
