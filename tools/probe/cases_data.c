/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data by RDMA Read and Write, verified octet by octet. These cases need a program with
 * DDP-eligible items of known contents: rpcrdma-perf's (--program perf).
 */
#include <string.h>

#include "tools/probe/cases.h"
#include "tools/perf/pattern.h"
#include "tools/perf/program.h"
#include "v1/header.h"
#include "v2/error.h"
#include "v2early/header.h"

enum { ODD = 5001, LONG = 9000, FIRST_PIECE = 1234, SLACK = 7, UNTOUCHED = 0xee };

/* Skip unless the server has the program. */
static enum verdict has_perf(struct run *r)
{
	return r->program.number == PERF_PROGRAM ? PASS : skipped(r, "needs --program perf");
}

static enum verdict up(struct run *r)
{
	return has_perf(r) ?: case_up(r);
}

static size_t perf_begin(struct run *r, enum perf_op op, uint32_t count,
			 uint8_t head[PERF_HEAD_MAX])
{
	struct perf_call c = {.op = op, .count = count};

	call_begin(r);
	c.xid = r->xid;
	return perf_call_encode(&c, head);
}

/* Open a connection, and write the head of a call into @body. */
static enum verdict perf_up(struct run *r, enum perf_op op, uint32_t count,
			    uint8_t head[PERF_HEAD_MAX], struct view *body)
{
	enum verdict v = up(r);

	if (!v)
		*body = view_of(head, perf_begin(r, op, count, head));
	return v;
}

/* Parse the reply's RPC header and result. */
static enum verdict result(struct run *r, enum perf_op op, bool reduced, struct perf_result *res)
{
	if (perf_reply_decode(res, op, r->reply.stream, reduced) < 0)
		return failed(r, "the result cannot be parsed");
	if (res->is_denied || res->stat != PERF_SUCCESS)
		return failed(r, "%s", rpc_verdict_name(&r->reply.rpc));
	return PASS;
}

static enum verdict intact(struct run *r, const uint8_t *data, uint32_t len)
{
	size_t good = pattern_check(data, len, r->reply.rpc.xid, 0);

	return good == len ? PASS : failed(r, "octet %zu of %u is wrong", good, len);
}

/* READ into a Write chunk of two segments. Room beyond the data must not be written. */
static enum verdict pushed(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX], *at;
	struct perf_result res;
	struct segment seg;
	struct view body;
	enum verdict v = perf_up(r, PERF_READ, ODD, head, &body)
				 ?: call_write_chunk(r, ODD + SLACK, &seg, &at);

	if (v)
		return v;
	memset(at, UNTOUCHED, ODD + SLACK);
	call_split(r, &r->call.writes[0], FIRST_PIECE);
	v = call_send(r, &body) ?: expect_reply(r, r->xid) ?: result(r, PERF_READ, true, &res)
	    ?: writes_returned(r, 1);
	if (v)
		return v;
	v = returned_as_offered(r, &r->reply.msg.writes[0], &r->call.writes[0], ODD)
		    ?: intact(r, at, ODD);
	for (unsigned i = 0; !v && r->wanted == 2 && i < SLACK; i++) {
		if (at[ODD + i] != UNTOUCHED)
			return failed(r, "octet %u behind the data was written", i + 1);
	}
	return v ?: passed(r, "%u octets", ODD);
}

/* WRITE from a Read chunk of two segments. */
static enum verdict pulled(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX], *at;
	struct perf_result res;
	struct segment seg;
	struct view body;
	enum verdict v = perf_up(r, PERF_WRITE, ODD, head, &body)
				 ?: chunk(r, ODD, FABRIC_REMOTE_READ, &seg, &at);

	if (v)
		return v;
	pattern_fill(at, ODD, r->xid, 0);
	r->call.nreads = 1;
	r->call.reads[0] = (struct rpc_chunk){.position = (uint32_t)body.len};
	call_segment(r, &r->call.reads[0], &seg);
	call_split(r, &r->call.reads[0], FIRST_PIECE);
	v = call_send(r, &body) ?: expect_reply(r, r->xid) ?: result(r, PERF_WRITE, false, &res);
	if (v)
		return v;
	if (res.count != ODD || !res.intact)
		return failed(r, "the server had %u octets, %s", res.count,
			      res.intact ? "intact" : "not what was sent");
	return passed(r, "%u octets", ODD);
}

/* READ with only a Reply chunk, which the reply then needs. */
static enum verdict read_back(struct run *r, bool has_chunk)
{
	uint8_t head[PERF_HEAD_MAX];
	struct perf_result res;
	struct segment seg;
	struct view body;
	enum verdict v = perf_up(r, PERF_READ, LONG, head, &body);

	if (!v && has_chunk)
		v = call_reply_chunk(r, LONG + 64, &seg);
	v = v ?: call_send(r, &body) ?: expect_reply(r, r->xid)
	    ?: result(r, PERF_READ, false, &res);
	if (v)
		return v;
	if (res.data.len != LONG)
		return failed(r, "%zu octets of data instead of %u", res.data.len, LONG);
	if (has_chunk && !r->reply.msg.has_body_chunk)
		return failed(r, "the Reply chunk was not used");
	v = intact(r, res.data.data, LONG);
	if (!v && has_chunk)
		return reply_chunk_fair(r);
	return v ?: passed(r, "%u messages", r->reply.parts);
}

static enum verdict long_reply(struct run *r)
{
	return read_back(r, true);
}

static enum verdict continued_reply(struct run *r)
{
	return read_back(r, false);
}

enum { SMALL_INLINE = 1024, BETWEEN = 2000 };

/* Private data announce Receives of 1024 octets; the reply would fit into 4096. */
static enum verdict v1_threshold(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX], pdata[V1_PDATA_BYTES];
	struct perf_result res;
	struct segment seg;
	enum verdict v;
	struct view body;

	run_pdata(pdata, true);
	pdata[7] = SMALL_INLINE / 1024 - 1;
	v = has_perf(r) ?: run_connect(r, view_of(pdata, sizeof(pdata)));
	if (v)
		return v;
	r->version = 1;
	body = view_of(head, perf_begin(r, PERF_READ, BETWEEN, head));
	v = call_reply_chunk(r, BETWEEN + 64, &seg) ?: call_send(r, &body)
	    ?: expect_reply(r, r->xid) ?: result(r, PERF_READ, false, &res);
	if (!v && r->largest > SMALL_INLINE)
		return failed(r, "a message of %u octets", r->largest);
	if (!v && res.data.len != BETWEEN)
		return failed(r, "%zu octets of data instead of %u", res.data.len, BETWEEN);
	return v ?: intact(r, res.data.data, BETWEEN);
}

/* A property announces small Receives; the reply would fit into larger ones, and must be
 * continued. */
static enum verdict v2_receive_size(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX];
	struct perf_result res;
	enum verdict v;
	struct view body;

	v = has_perf(r) ?: raw_up(r);
	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put(r, 1);
	put_prop(r, V2_PROP_RBSIZ, SMALL_INLINE);
	v = v2_open(r);
	if (v)
		return v;
	body = view_of(head, perf_begin(r, PERF_READ, BETWEEN, head));
	v = call_send(r, &body) ?: expect_reply(r, r->xid) ?: result(r, PERF_READ, false, &res);
	if (!v && r->largest > SMALL_INLINE)
		return failed(r, "a message of %u octets", r->largest);
	if (!v && res.data.len != BETWEEN)
		return failed(r, "%zu octets of data instead of %u", res.data.len, BETWEEN);
	return v ?: intact(r, res.data.data, BETWEEN) ?: passed(r, "%u messages", r->reply.parts);
}

/* Version 1 cannot reply. It must send RDMA_ERROR, so that the call is not sent again. */
static enum verdict v1_no_room(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX];
	struct view body;

	return perf_up(r, PERF_READ, LONG, head, &body) ?: call_send(r, &body) ?: expect_v1_error(r, r->xid, V1_ERR_CHUNK) ?: fence(r);
}

static enum verdict early_no_room(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX];
	struct view body;

	return perf_up(r, PERF_READ, LONG, head, &body)
		       ?: call_send(r, &body)
		       ?: expect_v2_error(r, r->xid, EARLY_VERSION, EARLY_ERR_BAD_HEADER)
		       ?: fence(r);
}

/* The reply is continued and the Write chunk unused: 6.6.4. */
static enum verdict not_reduced(struct run *r)
{
	struct perf_result res;
	enum verdict v = expect_reply(r, r->xid) ?: result(r, PERF_READ, false, &res);

	if (v)
		return v;
	if (res.data.len != LONG || r->reply.msg.nwrites != 1)
		return failed(r, "%zu octets of data, %u Write chunks", res.data.len,
			      r->reply.msg.nwrites);
	return returned_as_offered(r, &r->reply.msg.writes[0], &r->call.writes[0], 0)
	       ?: intact(r, res.data.data, LONG) ?: passed(r, "continued in its stead");
}

/* A Write chunk that is too small: the precise report, or a reply that does not use the chunk. */
static enum verdict v2_small_write(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX], *at;
	struct segment seg;
	struct wire_msg m;
	struct view body;
	enum verdict v = perf_up(r, PERF_READ, LONG, head, &body)
			 ?: call_write_chunk(r, 100, &seg, &at) ?: call_send(r, &body) ?: msg_next(r, &m);
	if (v)
		return v;
	wire_unget(&r->w);
	if (m.octets.len < 20 || xdr_peek_u32(m.octets.data + 12) != V2_ERROR)
		return not_reduced(r)
			       ?: reads(r, "short_write", "not reduced",
					"the Reply has it inline, or continued");
	v = expect_v2_error(r, r->xid, 2, 0);
	if (v)
		return v;
	if (r->error[0] == V2_ERR_SYSTEM)
		return fence(r) ?: skipped(r, "ERR_SYSTEM: the cause was not known to this server");
	if (r->error[0] != V2_ERR_WRITE_RESOURCE)
		return failed(r, "error %u instead of WRITE_RESOURCE", r->error[0]);
	if (r->error[1] > 1 || (r->error[1] == 1 && r->error[2] != LONG))
		return failed(r, "chunk %u needs %u octets, says the report; chunk 1 needs %u",
			      r->error[1], r->error[2], LONG);
	return fence(r)
		       ?: reads(r, "short_write", "WRITE_RESOURCE", "chunk %u, %u octets needed",
				r->error[1], r->error[2]);
}

/* ECHO: call and reply are each in a body chunk, or in parts. */
static enum verdict echoed(struct run *r, const struct perf_result *res)
{
	if (res->data.len != LONG)
		return failed(r, "%zu octets came back of %u", res->data.len, LONG);
	return intact(r, res->data.data, LONG);
}

static enum verdict long_call(struct run *r)
{
	uint8_t head[PERF_HEAD_MAX], *at;
	struct perf_result res;
	struct segment seg, reply;
	enum verdict v = up(r);
	uint32_t len;

	if (v)
		return v;
	len = (uint32_t)perf_begin(r, PERF_ECHO, LONG, head);
	v = chunk(r, len + LONG, FABRIC_REMOTE_READ, &seg, &at);
	if (v)
		return v;
	memcpy(at, head, len);
	pattern_fill(at + len, LONG, r->xid, 0);
	call_body_chunk(r, &seg);
	v = call_reply_chunk(r, LONG + 64, &reply) ?: call_send(r, NULL)
	    ?: expect_reply(r, r->xid) ?: result(r, PERF_ECHO, false, &res);
	return v ?: echoed(r, &res) ?: reply_chunk_fair(r);
}

static enum verdict v2_continued_call(struct run *r)
{
	uint8_t stream[PERF_HEAD_MAX + LONG];
	struct perf_result res;
	enum verdict v = up(r);
	size_t len, at = 0, n = 3000;
	uint32_t xid;

	if (v)
		return v;
	len = perf_begin(r, PERF_ECHO, LONG, stream);
	xid = r->xid;
	pattern_fill(stream + len, LONG, xid, 0);
	len += LONG;
	for (; !v && at + n < len; at += n) {
		xdr_out_init(&r->x, r->out, sizeof(r->out));
		put(r, xid, 2, 0, V2_CALL_MIDDLE, (uint32_t)(len - at - n));
		put_octets(r, view_of(stream + at, n));
		v = msg_send(r);
	}
	if (v)
		return v;
	xdr_out_init(&r->x, r->out, sizeof(r->out));
	put(r, xid, 2, 0, V2_CALL_INLINE, 0, 0, 0, 0);
	put_octets(r, view_of(stream + at, len - at));
	v = msg_send(r) ?: expect_reply(r, xid) ?: result(r, PERF_ECHO, false, &res);
	return v ?: echoed(r, &res) ?: passed(r, "the reply in %u messages", r->reply.parts);
}

static const struct probe_case cases[] = {
	{"v1.data.read", "v1 5.2.2, 4.4.5", "MUST", "a result is written into the Write chunk",
	 pushed, 1, false},
	{"v1.data.write", "v1 4.4.4", "MUST", "an argument is read from the Read chunk", pulled, 1,
	 false},
	{"v1.data.long-reply", "v1 5.3.4", "MUST", "a long reply comes as RDMA_NOMSG", long_reply,
	 1, false},
	{"v1.data.long-call", "v1 5.3.3", "MUST", "a long call is pulled", long_call, 1, false},
	{"v1.data.threshold", "RFC 8797 4.2", "MUST",
	 "no reply is larger than the Receive Size announced", v1_threshold, 1, false},
	{"v1.data.no-room", "v1 5.5", "SHOULD", "a reply that has no room draws RDMA_ERROR",
	 v1_no_room, 1, false},
	{"early.data.read", "v1 5.2.2, 4.4.5", "MUST", "a result is written into the Write chunk",
	 pushed, RUN_EARLY, false},
	{"early.data.write", "v1 4.4.4", "MUST", "an argument is read from the Read chunk", pulled,
	 RUN_EARLY, false},
	{"early.data.long-reply", "v1 5.3.4, early 4.2.2", "MUST",
	 "a long reply comes as RDMA2_NOMSG of direction REPLY", long_reply, RUN_EARLY, false},
	{"early.data.long-call", "v1 5.3.3", "MUST", "a long call is pulled", long_call, RUN_EARLY,
	 false},
	{"early.data.no-room", "early 4.2.3, v1 5.5", "SHOULD",
	 "a reply that has no room draws RDMA2_ERROR", early_no_room, RUN_EARLY, false},
	{"v2.data.read", "v2 4.5.2.1, 4.5.2.4", "MUST",
	 "a result is written into the Write chunk, and nothing behind it", pushed, 2, false},
	{"v2.data.write", "v2 4.5.1", "MUST", "an argument is read from the Read chunk", pulled, 2,
	 false},
	{"v2.data.long-reply", "v2 6.6.3", "MUST",
	 "a Reply larger than the threshold uses the Reply chunk offered", long_reply, 2, false},
	{"v2.data.continued-reply", "v2 6.6.4", "SHOULD",
	 "a long Reply is continued where no chunk is offered", continued_reply, 2, false},
	{"v2.data.long-call", "v2 6.3.5", "MUST", "a long Call is pulled", long_call, 2, false},
	{"v2.data.continued-call", "v2 6.3.6", "MUST", "a long Call in three messages",
	 v2_continued_call, 2, false},
	{"v2.data.receive-size", "v2 5.2.2", "MUST",
	 "property 2 at 1024: a Reply comes in messages of that size", v2_receive_size, 2, false},
	{"v2.data.small-write", "v2 7.3.4, 6.6.4", "MUST",
	 "a Write chunk that is too small: WRITE_RESOURCE with index and length, or continued",
	 v2_small_write, 2, false},
};

CASE_TABLE(cases_data, cases);
