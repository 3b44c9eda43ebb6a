/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of a reply: chunks as they were offered, lengths that add up, and every octet of the data.
 */
#include "tools/perf/client_priv.h"
#include "tools/perf/pattern.h"

static int broken(struct slot *slot, const char *what)
{
	perf_error(&slot->conn->client->errors, "%s of %u octets, xid 0x%08x: %s",
		   perf_op_name(slot->rpc.op), slot->rpc.count, slot->rpc.xid, what);
	return ERR_PROTO;
}

/* 4.5.2.1: the responder returns the segments of the chunk, each with the length it used, filled
 * contiguously and in order. */
static bool is_returned(const struct rpc_msg *call, const struct rpc_chunk *offered,
			const struct rpc_msg *reply, const struct rpc_chunk *back)
{
	bool was_full = true;

	if (offered->count != back->count)
		return false;
	for (unsigned i = 0; i < back->count; i++) {
		const struct segment *a = &call->segs[offered->first + i];
		const struct segment *b = &reply->segs[back->first + i];

		if (a->handle != b->handle || a->offset != b->offset || b->length > a->length)
			return false;
		if (b->length > 0 && !was_full)
			return false;
		was_full = b->length == a->length;
	}
	return true;
}

static int take_body(struct slot *slot, const struct rpc_msg *m)
{
	if (m->has_body_chunk) {
		if (!slot->msg.has_reply ||
		    !is_returned(&slot->msg, &slot->msg.reply, m, &m->body_chunk))
			return broken(slot, "the Reply chunk is not the one that was offered");
		slot->body = view_of(slot->reply, (size_t)m->body_chunk.length);
		return 0;
	}
	if (m->nbody != 1)
		return broken(slot, "the reply has no payload");
	slot->body = m->body[0];
	return 0;
}

int slot_take_reply(struct slot *slot, const struct leg_out *out)
{
	const struct rpc_msg *m = out->msg;
	bool is_ours = out->invalidated == 0;

	slot->is_reduced = false;
	slot->reduced = 0;
	for (unsigned i = 0; i < slot->nhandles; i++)
		is_ours |= slot->handles[i] == out->invalidated;
	if (!is_ours)
		return broken(slot, "the reply invalidated a handle of another call");
	if (m->nwrites != slot->msg.nwrites)
		return broken(slot, "the reply's Write list is not as long as the call's");
	if (m->nwrites == 1) {
		if (!is_returned(&slot->msg, &slot->msg.writes[0], m, &m->writes[0]))
			return broken(slot, "the Write chunk is not the one that was offered");
		slot->reduced = m->writes[0].length;
		slot->is_reduced = slot->reduced > 0;
	}
	return take_body(slot, m);
}

static bool judge_data(struct slot *slot, const struct perf_result *r)
{
	const uint8_t *data = slot->is_reduced ? slot->data : r->data.data;
	struct perf_client *c = slot->conn->client;
	size_t right;

	if (r->count != slot->rpc.count)
		return broken(slot, "the result has another length") == 0;
	if (slot->is_reduced && slot->reduced != r->count)
		return broken(slot, "count and Write chunk disagree") == 0;
	if (!c->cfg->verify || r->count == 0)
		return true;
	right = pattern_check(data, r->count, slot->rpc.xid, slot->rpc.offset);
	if (right == r->count)
		return true;
	perf_error(&c->errors, "%s of %u octets, xid 0x%08x: octet %zu of the result is wrong",
		   perf_op_name(slot->rpc.op), slot->rpc.count, slot->rpc.xid, right);
	return false;
}

bool slot_judge(struct slot *slot)
{
	struct perf_result r;

	if (perf_reply_decode(&r, slot->rpc.op, slot->body, slot->is_reduced) < 0)
		return broken(slot, "the reply is malformed") == 0;
	if (r.xid != slot->rpc.xid)
		return broken(slot, "the payload has another XID") == 0;
	if (r.is_denied)
		return broken(slot, "the call was denied") == 0;
	if (r.stat != PERF_SUCCESS)
		return broken(slot, perf_stat_name(r.stat)) == 0;
	if (slot->rpc.op == PERF_NULL)
		return true;
	if (slot->rpc.op != PERF_WRITE)
		return judge_data(slot, &r);
	if (r.count != slot->rpc.count)
		return broken(slot, "the server took another number of octets") == 0;
	if (!r.intact)
		return broken(slot, "the server found wrong octets") == 0;
	return true;
}
