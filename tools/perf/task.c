/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: the life of one call at the server
 *
 *   QUEUED -> WAITING -> PULLING -> PUSHING -> REPLYING -> freed
 *                                \-> ENDING (answered with an error report) -> freed
 *
 * - A call first holds its Receive. When it may run and has memory, its inline octets are copied
 *   and the Receive is returned. This is before the reply leaves, because then the requester may
 *   use the credit again.
 * - The memory that the call exposes is pulled, the procedure runs, and the result is pushed.
 * - The reply follows the Writes without waiting for them, because Writes and Sends take effect in
 *   the order posted.
 */
#include <string.h>

#include "tools/perf/server_priv.h"

enum { ALIGN = 64, ARGS_AT = 2 * ALIGN };

static size_t round_up(size_t len)
{
	return (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void try_begin(struct task *t);

/* Begin the next queued call. */
static void begin_queued(struct server_conn *conn)
{
	struct list *item;

	while (conn->running < conn->task_limit && (item = list_pop(&conn->queued)))
		try_begin(container_of(item, struct task, queue));
}

void task_free(struct task *t)
{
	struct server_conn *conn = t->conn;

	buf_free(conn->server->env.arena, t->block);
	list_del(&t->queue);
	list_del(&t->link);
	if (t->state != TASK_QUEUED)
		conn->running--;
	pool_put(&conn->server->tasks, t);
}

static void task_end(struct task *t)
{
	struct server_conn *conn = t->conn;

	if (t->ops > 0 || t->sending) {
		t->state = TASK_ENDING;
		return;
	}
	task_free(t);
	begin_queued(conn);
}

/* Answer with an error report of the transport, and without a reply. */
static void refuse(struct task *t, enum rpc_error_code code, uint32_t a, uint32_t b)
{
	t->error = (struct rpc_error){code, a, b};
	t->conn->server->totals.refused++;
	t->sending = true;
	leg_report(&t->conn->leg, &t->tx, &t->call, &t->error);
	leg_put(&t->conn->leg, &t->held);
	server_mark(t->conn);
	task_end(t);
}

void task_begin(struct server_conn *conn, const struct leg_out *out)
{
	struct task *t = pool_get(&conn->server->tasks);

	if (!t) {
		struct leg_held held = out->held;

		leg_put(&conn->leg, &held);
		leg_close(&conn->leg, ERR_NOMEM, "no memory for another call");
		return;
	}
	t->conn = conn;
	t->state = TASK_QUEUED;
	t->held = out->held;
	rpc_msg_copy(&t->call, out->msg);
	t->tx = (struct leg_tx){.owner = t};
	list_init(&t->queue);
	t->block = NULL;
	t->sending = false;
	t->njobs = t->job = t->ops = 0;
	list_add_tail(&conn->tasks, &t->link);
	list_add_tail(&conn->queued, &t->queue);
	begin_queued(conn);
}

static uint64_t chunks_length(const struct rpc_chunk *chunks, unsigned n)
{
	uint64_t length = 0;

	for (unsigned i = 0; i < n; i++)
		length += chunks[i].length;
	return length;
}

/* Room for the data item: pulled by WRITE or pushed by READ. The length of a READ is known unless
 * the call itself must be pulled; then it is at most the room that the requester offers. */
static uint64_t data_room(const struct rpc_msg *call)
{
	struct perf_call rpc;

	if (call->nreads > 0)
		return chunks_length(call->reads, call->nreads);
	if (call->has_body_chunk)
		return chunks_length(call->writes, call->nwrites) +
		       (call->has_reply ? call->reply.length : 0);
	if (call->nbody == 0 || perf_call_decode(&rpc, call->body[0], false) < 0 ||
	    rpc.stat != PERF_SUCCESS || rpc.op != PERF_READ)
		return 0;
	return rpc.count;
}

/* Return: size of the task's block, or 0 if no call of this program can be so large. */
static size_t block_size(struct task *t)
{
	uint64_t args =
		t->call.has_body_chunk ? t->call.body_chunk.length : rpc_msg_body_len(&t->call);
	uint64_t data = data_room(&t->call);

	if (args > PERF_MAX_DATA + PERF_HEAD_MAX)
		return 0;
	if (data > PERF_MAX_DATA + 4) /* more room is never used */
		data = PERF_MAX_DATA + 4;
	t->args_len = (size_t)args;
	t->data_cap = (size_t)data;
	return ARGS_AT + round_up(t->args_len) + t->data_cap;
}

static void advance(struct task *t);

/* The memory is there: copy the inline octets, return the Receive, and pull the rest. */
static void begin_pull(struct task *t)
{
	struct view args = view_of(t->args, t->args_len), data = view_of(t->data, t->data_cap);
	uint8_t *to = t->args;

	memset(t->block + TASK_PAD_AT, 0, 4);
	for (unsigned i = 0; !t->call.has_body_chunk && i < t->call.nbody; i++) {
		memcpy(to, t->call.body[i].data, t->call.body[i].len);
		to += t->call.body[i].len;
	}
	t->call.nbody = 0;
	leg_put(&t->conn->leg, &t->held);
	t->state = TASK_PULLING;
	if (t->call.has_body_chunk)
		task_add_job(t, false, &t->call, &t->call.body_chunk, &args, 1);
	if (t->call.nreads == 1)
		task_add_job(t, false, &t->call, &t->call.reads[0], &data, 1);
	advance(t);
}

static void place(struct task *t, uint8_t *block)
{
	t->block = block;
	t->args = block + ARGS_AT;
	t->data = t->args + round_up(t->args_len);
	begin_pull(t);
}

static void try_begin(struct task *t)
{
	struct perf_server *s = t->conn->server;
	size_t bytes = block_size(t);
	uint8_t *block = NULL;

	t->state = TASK_WAITING;
	t->conn->running++;
	/* No procedure has more than one reduced argument. */
	if (bytes == 0 || t->call.nreads > 1 ||
	    (t->call.nreads == 1 && t->call.reads[0].length > t->data_cap)) {
		refuse(t, t->call.nreads > 1 ? RPC_ERROR_READ_CHUNKS : RPC_ERROR_SYSTEM, 1, 0);
		return;
	}
	if (list_is_empty(&s->waiting))
		block = buf_alloc(s->env.arena, bytes, BUF_TRANSACTION);
	if (block) {
		place(t, block);
		return;
	}
	s->totals.waits++;
	list_add_tail(&s->waiting, &t->queue);
}

bool task_resume(struct perf_server *s)
{
	struct task *t = list_first(&s->waiting, struct task, queue);
	uint8_t *block = NULL;

	if (!list_is_empty(&s->waiting))
		block = buf_alloc(s->env.arena, block_size(t), BUF_TRANSACTION);
	if (!block)
		return false;
	list_del(&t->queue);
	place(t, block);
	server_mark(t->conn);
	return true;
}

static void execute(struct task *t)
{
	struct rpc_error e;

	t->njobs = t->job = 0;
	if (task_answer(t, &e) < 0) {
		refuse(t, e.code, e.a, e.b);
		return;
	}
	t->state = TASK_PUSHING;
	advance(t);
}

/* Continue as far as possible without a completion. @t may be freed on return. */
static void advance(struct task *t)
{
	if (t->state == TASK_PULLING) {
		if (!task_post_jobs(t) || t->ops > 0)
			return;
		execute(t);
		return;
	}
	if (t->state == TASK_PUSHING && task_post_jobs(t)) {
		t->state = TASK_REPLYING;
		t->tx.tx.msg = &t->reply;
		t->sending = true;
		leg_send(&t->conn->leg, &t->tx);
		server_mark(t->conn);
	}
}

static void feed_starved(struct server_conn *conn)
{
	struct list *item;

	while (conn->ops < conn->op_limit && (item = list_pop(&conn->op_waiters))) {
		struct task *t = container_of(item, struct task, queue);

		advance(t);
		/* The task still has operations to post, and is at the tail again. So no other task
		 * can post now. */
		if (!list_is_empty(&conn->op_waiters) && conn->op_waiters.prev == item)
			return;
	}
}

void task_op_done(struct task *t, int status)
{
	struct server_conn *conn = t->conn;

	conn->ops--;
	t->ops--;
	if (status < 0) {
		if (status != ERR_FLUSHED)
			leg_close(&conn->leg, status, "a Read or Write failed");
		task_end(t);
	} else if (t->state == TASK_ENDING || (t->state == TASK_REPLYING && !t->sending)) {
		task_end(t);
	} else if (t->state == TASK_PULLING && t->job == t->njobs) {
		advance(t);
	}
	feed_starved(conn);
}

void task_sent(struct task *t)
{
	t->sending = false;
	if (t->ops == 0)
		task_end(t);
}
