/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/perf/program.h"

#include <string.h>

#include "xdr/cursor.h"

enum {
	CALL = 0,
	REPLY = 1,
	RPC_VERSION = 2,
	MSG_ACCEPTED = 0,
	MSG_DENIED = 1,
	AUTH_NONE = 0,
	AUTH_MAX = 400, /* RFC 5531 section 8.2 */
};

static const char *const op_names[] = {"null", "echo", "read", "write"};

const char *perf_op_name(enum perf_op op)
{
	return op_names[op];
}

int perf_op_parse(const char *name, enum perf_op *op)
{
	for (unsigned i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++) {
		if (strcmp(name, op_names[i]))
			continue;
		*op = (enum perf_op)i;
		return 0;
	}
	return ERR_CONFIG;
}

const char *perf_stat_name(uint32_t stat)
{
	static const char *const names[] = {
		"success",
		"program unavailable",
		"program version mismatch",
		"procedure unavailable",
		"garbage arguments",
		"system error",
	};

	return stat < sizeof(names) / sizeof(names[0]) ? names[stat] : "unknown accept_stat";
}

static void put_auth_none(struct xdr_out *x)
{
	xdr_put_u32(x, AUTH_NONE);
	xdr_put_u32(x, 0);
}

size_t perf_call_encode(const struct perf_call *c, uint8_t *buf)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, PERF_HEAD_MAX);
	xdr_put_u32(&x, c->xid);
	xdr_put_u32(&x, CALL);
	xdr_put_u32(&x, RPC_VERSION);
	xdr_put_u32(&x, PERF_PROGRAM);
	xdr_put_u32(&x, PERF_VERSION);
	xdr_put_u32(&x, c->op);
	put_auth_none(&x);
	put_auth_none(&x);
	if (c->op == PERF_READ || c->op == PERF_WRITE)
		xdr_put_u64(&x, c->offset);
	if (c->op != PERF_NULL)
		xdr_put_u32(&x, c->count);
	return xdr_out_len(&x);
}

/* Read @count octets of data from the stream, with their pad, unless they were reduced. */
static struct view get_data(struct xdr_in *x, uint32_t count, bool reduced)
{
	struct view data = view_of(x->pos, count);

	if (reduced)
		return view_of(NULL, 0);
	xdr_skip(x, (size_t)count + xdr_pad(count));
	return data;
}

static void get_args(struct perf_call *c, struct xdr_in *x, const uint8_t *start, bool reduced)
{
	if (c->op == PERF_READ || c->op == PERF_WRITE)
		c->offset = xdr_get_u64(x);
	if (c->op != PERF_NULL)
		c->count = xdr_get_u32(x);
	if (c->count > PERF_MAX_DATA)
		x->failed = true;
	c->position = (size_t)(x->pos - start);
	if (!x->failed && (c->op == PERF_ECHO || c->op == PERF_WRITE))
		c->data = get_data(x, c->count, reduced);
	if (x->failed || xdr_in_left(x) != 0 || (reduced && c->op != PERF_WRITE))
		c->stat = PERF_GARBAGE_ARGS;
}

int perf_call_decode(struct perf_call *c, struct view body, bool reduced)
{
	uint32_t mtype, rpcvers, prog, vers, proc;
	struct xdr_in x;

	*c = (struct perf_call){.stat = PERF_SUCCESS};
	xdr_in_init(&x, body);
	c->xid = xdr_get_u32(&x);
	mtype = xdr_get_u32(&x);
	rpcvers = xdr_get_u32(&x);
	prog = xdr_get_u32(&x);
	vers = xdr_get_u32(&x);
	proc = xdr_get_u32(&x);
	for (int i = 0; i < 2; i++) { /* credential and verifier are accepted unchecked */
		xdr_get_u32(&x);
		(void)xdr_get_opaque(&x, AUTH_MAX);
	}
	if (x.failed || mtype != CALL)
		return x.failed ? ERR_SHORT : ERR_XDR;
	c->is_rpc_mismatch = rpcvers != RPC_VERSION;
	if (prog != PERF_PROGRAM)
		c->stat = PERF_PROG_UNAVAIL;
	else if (vers != PERF_VERSION)
		c->stat = PERF_PROG_MISMATCH;
	else if (proc > PERF_WRITE)
		c->stat = PERF_PROC_UNAVAIL;
	if (c->stat != PERF_SUCCESS || c->is_rpc_mismatch)
		return 0;
	c->op = (enum perf_op)proc;
	get_args(c, &x, body.data, reduced);
	return 0;
}

static void put_result(struct xdr_out *x, const struct perf_call *c, bool intact)
{
	if (c->op != PERF_NULL)
		xdr_put_u32(x, c->count);
	if (c->op == PERF_WRITE)
		xdr_put_u32(x, intact);
}

size_t perf_reply_encode(const struct perf_call *c, bool intact, uint8_t *buf)
{
	struct xdr_out x;

	xdr_out_init(&x, buf, PERF_HEAD_MAX);
	xdr_put_u32(&x, c->xid);
	xdr_put_u32(&x, REPLY);
	if (c->is_rpc_mismatch) {
		xdr_put_u32(&x, MSG_DENIED);
		xdr_put_u32(&x, 0); /* RPC_MISMATCH */
		xdr_put_u32(&x, RPC_VERSION);
		xdr_put_u32(&x, RPC_VERSION);
		return xdr_out_len(&x);
	}
	xdr_put_u32(&x, MSG_ACCEPTED);
	put_auth_none(&x);
	xdr_put_u32(&x, c->stat);
	if (c->stat == PERF_PROG_MISMATCH) {
		xdr_put_u32(&x, PERF_VERSION);
		xdr_put_u32(&x, PERF_VERSION);
	}
	if (c->stat == PERF_SUCCESS)
		put_result(&x, c, intact);
	return xdr_out_len(&x);
}

static void get_result(struct perf_result *r, enum perf_op op, struct xdr_in *x, bool reduced)
{
	if (op != PERF_NULL)
		r->count = xdr_get_u32(x);
	if (op == PERF_WRITE)
		r->intact = xdr_get_bool(x);
	else if (op != PERF_NULL)
		r->data = get_data(x, r->count, reduced);
}

int perf_reply_decode(struct perf_result *r, enum perf_op op, struct view body, bool reduced)
{
	struct xdr_in x;
	uint32_t mtype;

	*r = (struct perf_result){0};
	xdr_in_init(&x, body);
	r->xid = xdr_get_u32(&x);
	mtype = xdr_get_u32(&x);
	r->is_denied = xdr_get_u32(&x) != MSG_ACCEPTED;
	if (r->is_denied)
		return x.failed ? ERR_SHORT : 0;
	xdr_get_u32(&x);
	(void)xdr_get_opaque(&x, AUTH_MAX);
	r->stat = xdr_get_u32(&x);
	if (x.failed)
		return ERR_SHORT;
	if (mtype != REPLY)
		return ERR_XDR;
	if (r->stat != PERF_SUCCESS)
		return 0;
	get_result(r, op, &x, reduced);
	if (x.failed)
		return ERR_SHORT;
	return xdr_in_left(&x) == 0 ? 0 : ERR_XDR;
}
