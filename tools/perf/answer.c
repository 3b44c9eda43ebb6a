/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answering a call whose octets have all arrived: the procedure, the reply's chunks, and the form
 * of the reply.
 */
#include "tools/perf/pattern.h"
#include "tools/perf/server_priv.h"
#include "xdr/cursor.h"

/* Find the call's data item, in the stream or in a Read chunk. Return: false if it is in
 * neither. */
static bool find_data(struct task *t, struct view *data)
{
	const struct rpc_chunk *c = &t->call.reads[0];
	uint64_t padded = (uint64_t)t->rpc.count + xdr_pad(t->rpc.count);

	*data = t->rpc.data;
	if (t->call.nreads == 0 || t->rpc.stat != PERF_SUCCESS)
		return true;
	*data = view_of(t->data, t->rpc.count);
	/* Old requesters send the pad, too (rfc5666bis-01 4.4.4.1). */
	return c->position == t->rpc.position && (c->length == t->rpc.count || c->length == padded);
}

static bool is_intact(struct task *t, struct view data)
{
	struct perf_server *s = t->conn->server;
	size_t right;

	if (!s->cfg->verify || data.len == 0)
		return true;
	right = pattern_check(data.data, data.len, t->rpc.xid, t->rpc.offset);
	if (right == data.len)
		return true;
	perf_error(&s->errors, "%s of %zu octets, xid 0x%08x: octet %zu is wrong",
		   perf_op_name(t->rpc.op), data.len, t->rpc.xid, right);
	return false;
}

/* Lay out the reply's chunks and body. Return: octets of its payload stream, or an error. */
static int form_reply(struct task *t, bool intact, struct view data)
{
	struct rpc_msg *m = &t->reply;
	bool reduce = t->rpc.op == PERF_READ && data.len > 0 && t->call.nwrites > 0 &&
		      t->call.writes[0].length >= data.len;

	rpc_msg_reset(m, t->call.xid, RPC_REPLY);
	for (unsigned i = 0; i < t->call.nwrites; i++) {
		int err = perf_spread_chunk(&t->call, &t->call.writes[i],
					    reduce && i == 0 ? data.len : 0, m, &m->writes[i]);
		if (err < 0)
			return err;
		m->nwrites++;
	}
	m->body[m->nbody++] = view_of(t->block, perf_reply_encode(&t->rpc, intact, t->block));
	if (reduce) {
		task_add_job(t, true, m, &m->writes[0], &data, 1);
	} else if (data.len > 0) {
		m->body[m->nbody++] = data;
		if (xdr_pad(data.len))
			m->body[m->nbody++] = view_of(t->block + TASK_PAD_AT, xdr_pad(data.len));
	}
	return (int)rpc_msg_body_len(m);
}

/* draft-07 6.6.3, 6.6.4: inline if it fits, else in the Reply chunk, else continued. */
static bool choose_format(struct task *t, size_t len)
{
	struct rpc_transport *transport = t->conn->leg.t;
	struct rpc_msg *m = &t->reply;

	if (transport->ops->header_len(transport, m) + len <= perf_send_limit(&t->conn->leg))
		return true;
	if (t->call.has_reply && t->call.reply.length >= len &&
	    perf_spread_chunk(&t->call, &t->call.reply, len, m, &m->body_chunk) == 0) {
		m->has_body_chunk = true;
		task_add_job(t, true, m, &m->body_chunk, m->body, m->nbody);
		m->nbody = 0;
		return true;
	}
	return transport->peer.continuation;
}

/* The handle that the reply may invalidate. A version 2 call names this handle (6.5); a call of the
 * early draft cannot. In version 1 the responder chooses one of the call's handles if both ends
 * have set R (RFC 8797). */
static uint32_t handle_to_invalidate(const struct task *t)
{
	const struct rpc_transport *transport = t->conn->leg.t;

	if (transport->version == 2)
		return t->call.inv_handle;
	return transport->peer.remote_inv && t->call.nsegs > 0 ? t->call.segs[0].handle : 0;
}

static void count_rpc(struct task *t, size_t out_bytes)
{
	struct perf_server_totals *totals = &t->conn->server->totals;

	totals->rpcs++;
	if (t->rpc.stat != PERF_SUCCESS || t->rpc.is_rpc_mismatch)
		totals->refused++;
	else if (t->rpc.op == PERF_ECHO || t->rpc.op == PERF_WRITE)
		totals->bytes_in += t->rpc.count;
	totals->bytes_out += out_bytes;
}

/* Data of the result: the argument of ECHO, or the pattern at READ's offset. */
static struct view result_data(struct task *t, struct view arg)
{
	if (t->rpc.op == PERF_WRITE || t->rpc.op == PERF_NULL || t->rpc.stat != PERF_SUCCESS)
		return view_of(NULL, 0);
	if (t->rpc.op == PERF_ECHO)
		return arg;
	if (t->rpc.count > t->data_cap) {
		t->rpc.stat = PERF_SYSTEM_ERR;
		return view_of(NULL, 0);
	}
	if (t->conn->server->cfg->verify)
		pattern_fill(t->data, t->rpc.count, t->rpc.xid, t->rpc.offset);
	return view_of(t->data, t->rpc.count);
}

int task_answer(struct task *t, struct rpc_error *e)
{
	struct view arg, result;
	bool intact;
	int len;

	*e = (struct rpc_error){.code = RPC_ERROR_BAD_XDR};
	if (perf_call_decode(&t->rpc, view_of(t->args, t->args_len), t->call.nreads > 0) < 0 ||
	    t->rpc.xid != t->call.xid || !find_data(t, &arg))
		return ERR_XDR;
	intact = is_intact(t, arg);
	result = result_data(t, arg);
	len = form_reply(t, intact, result);
	if (len < 0 || !choose_format(t, (size_t)len)) {
		*e = (struct rpc_error){RPC_ERROR_REPLY_RESOURCE, (uint32_t)len, 0};
		if (t->call.nwrites > 0 && t->call.writes[0].length < result.len)
			*e = (struct rpc_error){RPC_ERROR_WRITE_RESOURCE, 1, (uint32_t)result.len};
		return ERR_TOOBIG;
	}
	t->tx.inv_handle = handle_to_invalidate(t);
	count_rpc(t, result.len);
	return 0;
}
