/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The round-trip extension as a server (draft-dnoveck-nfsv4-rpcrdma-rtrext-02, as
 * docs/rtrext-profile.md reads it). Each transmission of a client's Transmit Request is judged on
 * arrival. Requests are answered in the forms of the base protocol. The listener never sends a
 * Transmit Response, and announces that.
 */
#include <string.h>

#include "tools/probe/listen.h"
#include "v2early/header.h"

enum { TYPE_AT = 12, OPTION_AT = 20 };

static struct rtr_structure structure(void)
{
	return (struct rtr_structure){
		.bytes = RUN_INLINE + LISTEN_RTR_BULK,
		.targets = 1,
		.groups = {{.count = 1, .length = RUN_INLINE, .align = 1},
			   {.count = 1,
			    .length = LISTEN_RTR_BULK,
			    .align = 1,
			    .flags = RTR_TARGETABLE}},
		.ngroups = 2,
	};
}

static uint32_t header_of(unsigned version)
{
	return version == RUN_EARLY ? (uint32_t)EARLY_OPTIONAL_BYTES : (uint32_t)V2_PREFIX_BYTES;
}

/* Number of the first transmission's type, as continues name it. */
static uint32_t type_of(unsigned version, uint32_t op)
{
	return version == RUN_EARLY ? op : RTR_HEADER_TYPES + op;
}

enum rtr_op listen_rtr_op(unsigned version, struct view in)
{
	uint32_t type, op;

	if (in.len < header_of(version))
		return (enum rtr_op)0;
	type = xdr_peek_u32(in.data + TYPE_AT);
	if (version == RUN_EARLY)
		op = type == EARLY_OPTIONAL ? xdr_peek_u32(in.data + OPTION_AT) : 0;
	else
		op = type - RTR_HEADER_TYPES;
	return op >= RTR_REQUEST && op <= RTR_REPORT ? (enum rtr_op)op : (enum rtr_op)0;
}

/* Return: octets of header and body; 0: malformed. */
static uint32_t decode(unsigned version, enum rtr_op op, struct view in, struct rtr_msg *out)
{
	uint32_t skip = header_of(version);
	struct xdr_in x;

	xdr_in_init(&x, view_of(in.data + skip, in.len - skip));
	if (rtr_decode(out, op, &x))
		return 0;
	return (uint32_t)(in.len - xdr_in_left(&x));
}

/* The part of an item in one transmission: @len octets from @at on. */
struct piece {
	uint32_t at, len;
};

/* Return: number of pieces. */
static unsigned pieces_in(const struct rtr_msg *first, uint32_t number, struct piece *out)
{
	const struct rtr_structure s = structure();
	unsigned n = 0;

	for (unsigned i = 0; i < first->nitems; i++) {
		const struct rtr_place *p = &first->items[i].place;
		uint32_t left = first->items[i].length, offset = p->bytes;

		for (unsigned k = 0; p->type == RTR_TBSN && k < p->count; k++) {
			uint32_t segment = first->numbers[p->first + k];
			struct rtr_target t = {0};
			uint32_t here;

			(void)rtr_structure_target(&s, segment % s.targets, &t);
			here = t.length - offset < left ? t.length - offset : left;
			if (segment / s.targets == number)
				out[n++] = (struct piece){t.offset + offset, here};
			left -= here;
			offset = 0;
		}
	}
	return n;
}

/* Profile section 5: "What lies between is padding, and is zero". */
static bool is_padding_zero(const struct rtr_msg *first, uint32_t number, uint32_t taken,
			    struct view in)
{
	struct piece pieces[RTR_MAX_NUMBERS];
	unsigned n = pieces_in(first, number, pieces);

	for (uint32_t at = taken; at < in.len; at++) {
		bool is_item = false;

		for (unsigned i = 0; i < n && !is_item; i++)
			is_item = at >= pieces[i].at && at - pieces[i].at < pieces[i].len;
		if (!is_item && in.data[at])
			return false;
	}
	return true;
}

/* Check the places in a transmission with header, body and payload stream up to @taken. */
static void judge_place(struct listener *l, uint32_t number, uint32_t taken, struct view in,
			int err, struct rtr_fault *fault)
{
	const struct rtr_structure s = structure();
	const struct rtr_msg *first = &l->rtr.first;

	if (!err)
		err = rtr_check_taken(first, &s, number, taken, (uint32_t)in.len, fault);
	judge(l, GRADE_RTR_ITEMS, !err, "transmission %u of 0x%08x: %s, code %u, value %u", number,
	      l->rtr.group.lead.xid, err == ERR_CONT ? "Report Error" : "malformed", fault->code,
	      fault->value);
	if (!err)
		judge(l, GRADE_RTR_PADDING, is_padding_zero(first, number, taken, in),
		      "transmission %u of 0x%08x", number, l->rtr.group.lead.xid);
}

static void judge_first(struct listener *l, uint32_t xid, uint32_t body, struct view in)
{
	const struct rtr_structure s = structure();
	const struct rtr_msg *m = &l->rtr.first;
	const struct rtr_id id = {.xid = xid};
	struct rtr_fault fault = {0};
	int err = rtr_group_begin(&l->rtr.group, m, &id, type_of(l->rtr.version, RTR_REQUEST),
				  LISTEN_RTR_MOST, &fault);

	judge(l, GRADE_RTR_GROUP, !err, "%u transmissions, %d are taken", m->count,
	      LISTEN_RTR_MOST);
	memset(&fault, 0, sizeof(fault));
	err = rtr_check_payload(m, m->count > 1, (uint32_t)in.len - body, &fault);
	if (!err)
		err = rtr_check_items(m, &s, &fault);
	judge_place(l, 0, body + m->payload, in, err, &fault);
}

static void judge_more(struct listener *l, uint32_t xid, const struct rtr_msg *more, uint32_t body,
		       struct view in)
{
	bool is_early = l->rtr.version == RUN_EARLY;
	const struct rtr_id id = {
		.xid = xid,
		.is_reply = is_early ? xdr_peek_u32(in.data + V2_PREFIX_BYTES) != 0
				     : more->began == type_of(l->rtr.version, RTR_RESPONSE),
		.number = more->number};
	struct rtr_fault fault = {0};
	int err = rtr_group_continue(&l->rtr.group, more, &id, &fault);

	judge(l, GRADE_RTR_GROUP, !err, "transmission %u of 0x%08x: code %u, %u instead of %u",
	      more->number, xid, fault.code, fault.value, fault.min);
	if (err)
		return;
	err = rtr_check_payload(more, l->rtr.group.is_open, (uint32_t)in.len - body, &fault);
	judge_place(l, more->number, body + more->payload, in, err, &fault);
}

void grade_rtr_between(struct listener *l, const char *what)
{
	if (!l->rtr.group.is_open)
		return;
	l->rtr.group.is_open = false;
	grade_breach(l, GRADE_RTR_GROUP, "%s between transmissions", what);
}

void grade_rtr(struct listener *l, unsigned version, struct view in)
{
	enum rtr_op op = listen_rtr_op(version, in);
	struct rtr_msg more, *m = op == RTR_REQUEST ? &l->rtr.first : &more;
	uint32_t xid = xdr_peek_u32(in.data), body;

	l->rtr.version = version;
	if (op == RTR_REQUEST)
		grade_rtr_between(l, "a Transmit Request");
	body = decode(version, op, in, m);
	judge(l, GRADE_PARSE, body, "message %u, of the round-trip extension", l->arrived);
	if (!body || (op != RTR_REQUEST && op != RTR_CONTINUE))
		return;
	if (op == RTR_REQUEST)
		judge_first(l, xid, body, in);
	else
		judge_more(l, xid, m, body, in);
}

/* --- answers --- */

/* Profile section 6: in the forms of the base protocol directions take the place of Write
 * chunks. */
static void take_wishes(struct rpc_msg *call, const struct rtr_msg *m)
{
	for (unsigned i = 0; i < m->nwishes && i < RPC_MAX_WISHES; i++) {
		const struct rtr_place *p = &m->wishes[i].place;
		struct rpc_chunk *c = &call->writes[call->nwrites++];

		*c = (struct rpc_chunk){.first = (uint16_t)call->nsegs};
		for (unsigned k = 0; p->type != RTR_TBSN && k < p->count; k++)
			(void)!rpc_msg_add_segment(call, c, &m->segs[p->first + k]);
	}
}

uint32_t listen_rtr_take(struct listener *l, struct view in, struct view *part)
{
	struct rtr_msg m;
	enum rtr_op op = listen_rtr_op(l->version, in);
	uint32_t body =
		op == RTR_REQUEST || op == RTR_CONTINUE ? decode(l->version, op, in, &m) : 0;

	if (!body || m.payload > in.len - body)
		return 0;
	*part = view_of(in.data + body, m.payload);
	if (op == RTR_REQUEST) {
		rpc_msg_reset(&l->msg, xdr_peek_u32(in.data), RPC_CALL);
		take_wishes(&l->msg, &m);
		l->rtr.due = l->rtr.count = m.count;
		l->head_len = 0;
	}
	if (l->rtr.due == 0)
		return 0;
	return --l->rtr.due ? 0 : l->rtr.count;
}
