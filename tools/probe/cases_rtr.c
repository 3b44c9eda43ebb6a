/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The round-trip extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-02, "rtr", as docs/rtrext-profile.md
 * reads it), over draft -07 and over the early draft. Requests have a NULL in their payload stream.
 * No case asks for a Transmit Response or announces that it accepts one, so over draft -07 none may
 * arrive.
 */
#include "rtrext/message.h"
#include "rtrext/structure.h"
#include "tools/probe/cases.h"
#include "v2/error.h"
#include "v2early/conn.h"

enum {
	CALL = 0,
	REPLY = 1,
	FIRST = 20,  /* octets of the NULL in a first transmission */
	LIMIT = 16,  /* limit of transmissions over the early draft: profile 2 */
	INFO_AT = 6, /* the word in an option's header that has the length of its information */
};

static bool is_early(const struct run *r)
{
	return r->version == RUN_EARLY;
}

/* --- messages out --- */

/* Number of @op: of an option, or of a header type. */
static uint32_t type_of(const struct run *r, uint32_t op)
{
	return is_early(r) ? op : RTR_HEADER_TYPES + op;
}

static void set_word(struct run *r, unsigned at, uint32_t value)
{
	struct xdr_out x;

	xdr_out_init(&x, r->out + (size_t)at * 4, 4);
	xdr_put_u32(&x, value);
}

static void begin(struct run *r, uint32_t op, uint32_t direction)
{
	msg_begin(r, 0, is_early(r) ? EARLY_OPTIONAL : type_of(r, op));
	if (is_early(r))
		put(r, direction, op, 0);
}

/* The words so far are the body; the payload stream follows. */
static void body_done(struct run *r)
{
	if (is_early(r))
		set_word(r, INFO_AT, (uint32_t)xdr_out_len(&r->x) - EARLY_OPTIONAL_BYTES);
}

/* Append @octets of the NULL, from @from on. */
static void put_part(struct run *r, size_t from, size_t octets)
{
	uint8_t *at = r->x.pos;

	put_null(r);
	if (r->x.failed)
		return;
	memmove(at, at + from, octets);
	r->x.pos = at + octets;
}

/* Append the end of a request: number of transmissions, and @octets of the NULL in this one. */
static void put_end(struct run *r, uint32_t count, uint32_t octets)
{
	put(r, count, 1, octets);
	body_done(r);
	put_part(r, 0, octets);
}

/* A request without items and directions. */
static void request(struct run *r, uint32_t count, uint32_t octets)
{
	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 0);
	put_end(r, count, octets);
}

/* @n items by Send, each of four octets in segment @segment. */
static void request_sent(struct run *r, uint32_t n, uint32_t offset, uint32_t segment)
{
	begin(r, RTR_REQUEST, CALL);
	put(r, n);
	for (uint32_t i = 0; i < n; i++)
		put(r, RPC_NULL_BYTES + 4 * i, 4, RTR_TBSN, offset, 1, segment);
	put(r, 0);
	put_end(r, 1, RPC_NULL_BYTES);
}

/* Send transmission @number of the group with @xid, of direction @direction, which began with
 * @first. */
static enum verdict go_on(struct run *r, uint32_t xid, uint32_t number, uint32_t first,
			  uint32_t direction, size_t octets)
{
	begin(r, RTR_CONTINUE, direction);
	r->next_xid--;
	r->xid = xid;
	set_word(r, 0, xid);
	put(r, number, first, (uint32_t)octets);
	body_done(r);
	put_part(r, RPC_NULL_BYTES - octets, octets);
	return msg_send(r);
}

static enum verdict go_on_right(struct run *r, uint32_t xid)
{
	return go_on(r, xid, 1, type_of(r, RTR_REQUEST), CALL, RPC_NULL_BYTES - FIRST);
}

/* --- messages in --- */

/* Parse the body of a message of the extension. Return: whether @m is one, of kind @op. */
static bool take(const struct run *r, const struct wire_msg *m, enum rtr_op op, struct rtr_msg *out,
		 uint32_t *direction, struct view *payload)
{
	size_t skip = is_early(r) ? EARLY_OPTIONAL_BYTES : V2_PREFIX_BYTES;
	const uint8_t *d = m->octets.data;
	uint32_t type = is_early(r) ? EARLY_OPTIONAL : type_of(r, op);
	struct xdr_in x;

	if (m->octets.len < skip || xdr_peek_u32(d + 4) != 2 || xdr_peek_u32(d + 12) != type ||
	    (is_early(r) && xdr_peek_u32(d + 20) != op))
		return false;
	*direction = is_early(r) ? xdr_peek_u32(d + 16) : REPLY;
	xdr_in_init(&x, view_of(d + skip, m->octets.len - skip));
	if (rtr_decode(out, op, &x))
		return false;
	if (is_early(r) &&
	    xdr_peek_u32(d + 4 * (size_t)INFO_AT) != m->octets.len - skip - xdr_in_left(&x))
		return false;
	*payload = xdr_in_rest(&x);
	return true;
}

/* Check a Transmit Response to a request with @directions: no direction has an item in the
 * reply. */
static enum verdict check_response(struct run *r, const struct rtr_msg *m, uint32_t directions)
{
	if (!is_early(r))
		return failed(r,
			      "a Transmit Response to an end that did not say that it takes one");
	if (m->count != 1)
		return failed(r, "a response of %u transmissions, 1 Receive was kept", m->count);
	if (m->nitems != directions)
		return failed(r, "%u items for %u directions", m->nitems, directions);
	for (unsigned i = 0; i < m->nitems; i++) {
		const struct rtr_item *item = &m->items[i];

		if (item->place.type != RTR_NOITEM || item->position || item->length)
			return failed(
				r, "item %u is of type %u, Position %u, %u octets; NULL has none",
				i, item->place.type, item->position, item->length);
	}
	return m->payload == r->reply.stream.len ? PASS
						 : failed(r, "a payload stream of %u octets in %zu",
							  m->payload, r->reply.stream.len);
}

/* Wait for the reply to @xid, in any form. */
static enum verdict expect_answer(struct run *r, uint32_t xid, uint32_t directions)
{
	struct rtr_msg response;
	struct wire_msg m;
	uint32_t direction;
	enum verdict v = msg_next(r, &m);

	if (v)
		return v;
	if (!take(r, &m, RTR_RESPONSE, &response, &direction, &r->reply.stream)) {
		wire_unget(&r->w);
		v = expect_reply(r, xid) ?: writes_returned(r, directions);
		if (!v && directions && r->reply.msg.writes[0].length)
			return failed(r, "octets for a direction of a NULL");
		return v;
	}
	v = check_response(r, &response, directions);
	if (v)
		return v;
	if (xdr_peek_u32(m.octets.data) != xid || direction != REPLY ||
	    rpc_verdict_read(&r->reply.rpc, r->reply.stream) < 0 || r->reply.rpc.xid != xid)
		return failed(r, "a Transmit Response of another XID or direction");
	return PASS;
}

/* struct told - expected contents of a Report Error. */
struct told {
	uint32_t xid, number; /* of the transmission that the report is about */
	uint32_t lead;	      /* XID of the group that led to that transmission, or 0 */
	bool of_reply;	      /* the transmission says that it belongs to a response */
	enum rtr_code code;
	/* .value: the value as sent; .least: the expected value, or the least that is allowed */
	uint32_t value, least;
};

static enum verdict check_report(struct run *r, const struct rtr_msg *m, const struct told *t)
{
	bool has_values = t->code != RTR_BAD_CONT;

	if (m->fault.code != t->code)
		return failed(r, "code %u instead of %u", m->fault.code, t->code);
	if (m->bad.xid != t->xid || m->bad.number != t->number || m->bad.is_reply != t->of_reply)
		return failed(r, "about transmission %u of 0x%08x instead of %u of 0x%08x",
			      m->bad.number, m->bad.xid, t->number, t->xid);
	if (has_values && (m->fault.value != t->value || m->fault.min != t->least))
		return failed(r, "%u, and %u would have been right, instead of %u, and %u",
			      m->fault.value, m->fault.min, t->value, t->least);
	if (m->has_lead != (t->lead != 0) || (m->has_lead && m->lead.xid != t->lead))
		return failed(r, "%s the group that led to it",
			      t->lead ? "without" : "with what is not");
	return PASS;
}

static enum verdict expect_report(struct run *r, const struct told *t)
{
	struct wire_msg m;
	struct view none;
	struct rtr_msg report;
	uint32_t direction;
	enum verdict v = msg_next(r, &m);

	if (v)
		return v;
	if (!take(r, &m, RTR_REPORT, &report, &direction, &none))
		return failed(r, "a Report Error with code %u is due; instead %s", t->code,
			      msg_words(r, m.octets));
	if (xdr_peek_u32(m.octets.data) != t->xid)
		return failed(r, "a Report Error with the XID 0x%08x", xdr_peek_u32(m.octets.data));
	if (is_early(r) && direction != (t->of_reply ? CALL : REPLY))
		return failed(r, "a report of direction %u", direction);
	return check_report(r, &report, t);
}

/* --- whether the extension is spoken --- */

/* Over the early draft this is found out by trying (profile 1). */
static enum verdict early_tried(struct run *r)
{
	struct wire_msg m;
	enum verdict v;

	request(r, 1, RPC_NULL_BYTES);
	v = msg_send(r) ?: msg_next(r, &m);
	if (v)
		return v;
	if (m.octets.len == 20 && xdr_peek_u32(m.octets.data + 12) == EARLY_ERROR &&
	    xdr_peek_u32(m.octets.data + 16) == EARLY_ERR_INVAL_OPTION)
		return skipped(r, "the extension is not spoken");
	wire_unget(&r->w);
	return expect_answer(r, r->xid, 0);
}

static enum verdict rtr_up(struct run *r)
{
	enum verdict v = case_up(r);

	if (v || is_early(r))
		return v ?: early_tried(r);
	if (!(r->props.present & V2_HAS_RTR_SUPPORT) || !(r->props.rtr_support & RTR_TAKES_REQUEST))
		return skipped(r, "no support for the extension is announced");
	return PASS;
}

/* Limit of transmissions for a request. Over the early draft the server reports it when a request
 * has more. */
static uint32_t limit_of(const struct run *r)
{
	if (!(r->props.rtr_support & RTR_TAKES_CONTINUE) ||
	    !(r->props.present & V2_HAS_RTR_REQUESTS) || r->props.rtr_requests == 0)
		return 1;
	return r->props.rtr_requests;
}

/* Send the first of two transmissions; no error must follow. */
static enum verdict group_begin(struct run *r, uint32_t octets)
{
	if (!is_early(r) && limit_of(r) < 2)
		return skipped(r, "requests have one transmission");
	request(r, 2, octets);
	return msg_send(r);
}

static enum verdict group_up(struct run *r, uint32_t *xid)
{
	enum verdict v = rtr_up(r) ?: group_begin(r, FIRST);

	*xid = r->xid;
	if (v || !is_early(r) || msg_peek(r, QUIET_MS) == ERR_TIMEOUT)
		return v;
	v = expect_report(
		r, &(struct told){.xid = *xid, .code = RTR_BAD_NUMBER, .value = 2, .least = 1});
	return v ?: skipped(r, "requests have one transmission");
}

/* --- requests that must be served --- */

static enum verdict served(struct run *r)
{
	return msg_send(r) ?: expect_answer(r, r->xid, 0) ?: fence(r);
}

static enum verdict call(struct run *r)
{
	enum verdict v = rtr_up(r);

	request(r, 1, RPC_NULL_BYTES);
	return v ?: served(r);
}

static enum verdict no_receives(struct run *r)
{
	enum verdict v = rtr_up(r);

	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 0, 1, 0, RPC_NULL_BYTES);
	body_done(r);
	put_null(r);
	return v ?: served(r);
}

/* A direction of type CHOICE, for all of the data. */
static enum verdict direction(struct run *r)
{
	struct segment seg;
	uint8_t *at;
	struct wire_msg m;
	enum verdict v = rtr_up(r) ?: chunk(r, 64, FABRIC_REMOTE_WRITE, &seg, &at);

	if (v)
		return v;
	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 1, 0, UINT32_MAX, 1, 0, RTR_CHOICE, 1);
	put_segment(r, &seg);
	put_end(r, 1, RPC_NULL_BYTES);
	v = msg_send(r) ?: msg_next(r, &m);
	if (v)
		return v;
	wire_unget(&r->w);
	if (m.octets.len < 20 || xdr_peek_u32(m.octets.data + 12) != V2_ERROR)
		return expect_answer(r, r->xid, 1) ?: fence(r);
	/* Profile 2: the report of an end that sends no responses. */
	v = expect_v2_error(r, r->xid, 2,
			    is_early(r) ? (uint32_t)EARLY_ERR_BAD_HEADER
					: (uint32_t)V2_ERR_WRITE_CHUNKS);
	return v ?: fence(r) ?: skipped(r, "no responses are sent");
}

static enum verdict group(struct run *r)
{
	uint32_t xid;

	return group_up(r, &xid) ?: go_on_right(r, xid) ?: expect_answer(r, xid, 0) ?: fence(r);
}

/* The whole call is in the first transmission, and nothing in the second. */
static enum verdict group_empty(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid) ?: go_on_right(r, xid) ?: expect_answer(r, xid, 0);

	v = v ?: group_begin(r, RPC_NULL_BYTES);
	xid = r->xid;
	return v ?: go_on(r, xid, 1, type_of(r, RTR_REQUEST), CALL, 0)
	       ?: expect_answer(r, xid, 0) ?: fence(r);
}

/* --- groups with errors --- */

/* Expect the report; nothing else arrives, and the connection continues. */
static enum verdict broken(struct run *r, const struct told *t)
{
	return expect_report(r, t) ?: expect_quiet(r) ?: fence(r);
}

static enum verdict too_many(struct run *r)
{
	enum verdict v = rtr_up(r);
	uint32_t limit = is_early(r) ? LIMIT : limit_of(r);
	struct told t = {.code = RTR_BAD_NUMBER, .value = limit + 1, .least = limit};
	struct wire_msg m;
	struct rtr_msg report;
	struct view none;

	if (!v && limit == UINT32_MAX)
		return skipped(r, "there is no limit");
	request(r, limit + 1, FIRST);
	t.xid = r->xid;
	v = v ?: msg_send(r) ?: msg_next(r, &m);
	if (v)
		return v;
	/* Over the early draft the limit may be lower. */
	if (is_early(r) && take(r, &m, RTR_REPORT, &report, &limit, &none) &&
	    report.fault.min >= 1 && report.fault.min <= LIMIT)
		t.least = report.fault.min;
	wire_unget(&r->w);
	return broken(r, &t);
}

static enum verdict alone(struct run *r)
{
	enum verdict v = rtr_up(r);
	uint32_t xid = r->next_xid++;

	return v ?: go_on(r, xid, 3, type_of(r, RTR_REQUEST), CALL, 0)
	       ?: broken(r, &(struct told){.xid = xid, .number = 3, .code = RTR_BAD_CONT});
}

/* The transmission that would have been right is dropped, too. */
static enum verdict other_number(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid) ?: go_on(r, xid, 2, type_of(r, RTR_REQUEST), CALL, 0);

	return v ?: expect_report(r, &(struct told){.xid = xid, .number = 2, .lead = xid, .code = RTR_BAD_NUMBER, .value = 2, .least = 1})
	       ?: go_on_right(r, xid) ?: expect_quiet(r) ?: fence(r);
}

static enum verdict other_xid(struct run *r)
{
	uint32_t xid, other = r->next_xid + 100;
	enum verdict v = group_up(r, &xid) ?: go_on_right(r, other);

	return v
		       ?: broken(r, &(struct told){.xid = other,
						   .number = 1,
						   .lead = xid,
						   .code = RTR_BAD_XID,
						   .value = other,
						   .least = xid});
}

static enum verdict other_first(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid) ?: go_on(r, xid, 1, 99, CALL, 0);

	return v
		       ?: broken(r, &(struct told){.xid = xid,
						   .number = 1,
						   .lead = xid,
						   .code = RTR_BAD_OPTION,
						   .value = 99,
						   .least = type_of(r, RTR_REQUEST)});
}

/* Only over the early draft: in draft -07 the prefix of a continue has no direction (profile 4). */
static enum verdict other_direction(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid) ?: go_on(r, xid, 1, type_of(r, RTR_RESPONSE), REPLY, 0);

	return v
		       ?: broken(r, &(struct told){.xid = xid,
						   .number = 1,
						   .lead = xid,
						   .of_reply = true,
						   .code = RTR_BAD_XID,
						   .value = xid,
						   .least = xid});
}

static enum verdict by_call(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid);
	struct told t = {.lead = xid, .code = RTR_BAD_TYPE};

	if (v)
		return v;
	null_begin(r);
	t.xid = r->xid;
	t.value = is_early(r) ? (uint32_t)EARLY_MSG : (uint32_t)V2_CALL_INLINE;
	t.least = is_early(r) ? EARLY_OPTIONAL : type_of(r, RTR_CONTINUE);
	return msg_send(r) ?: broken(r, &t);
}

static enum verdict by_request(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid);
	struct told t = {.lead = xid, .code = RTR_BAD_TYPE};

	if (v)
		return v;
	request(r, 1, RPC_NULL_BYTES);
	t.xid = r->xid;
	if (is_early(r))
		t.code = RTR_BAD_OPTION;
	t.value = type_of(r, RTR_REQUEST);
	t.least = type_of(r, RTR_CONTINUE);
	return msg_send(r) ?: broken(r, &t);
}

/* --- payload stream and items that are impossible --- */

static enum verdict beyond(struct run *r)
{
	enum verdict v = rtr_up(r);
	struct told t = {.code = RTR_BAD_PAYLOAD, .value = RPC_NULL_BYTES + 4};

	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 0, 1, 1, RPC_NULL_BYTES + 4);
	body_done(r);
	put_null(r);
	t.xid = r->xid;
	return v ?: msg_send(r) ?: broken(r, &t);
}

static enum verdict within_word(struct run *r)
{
	uint32_t xid;
	enum verdict v = group_up(r, &xid) ?: go_on_right(r, xid) ?: expect_answer(r, xid, 0);
	struct told t = {.code = RTR_BAD_PAYLOAD, .value = FIRST + 1};

	v = v ?: group_begin(r, FIRST + 1);
	t.xid = r->xid;
	return v ?: broken(r, &t);
}

/* Over the early draft only operators know the structure: the segment does not exist, or is not
 * filled. */
static enum verdict target_up(struct run *r)
{
	enum verdict v = rtr_up(r);

	if (!v && !is_early(r) && !r->rtr_targets)
		return skipped(r, "no placement-targetable segments are announced");
	return v;
}

static enum verdict placed(struct run *r, uint32_t n, uint32_t offset, uint32_t segment,
			   enum rtr_code code)
{
	struct told t = {.code = code, .value = code == RTR_BAD_OFFSET ? offset : segment};
	enum verdict v = target_up(r);

	request_sent(r, n, offset, segment);
	t.xid = r->xid;
	return v ?: msg_send(r) ?: broken(r, &t);
}

static enum verdict no_segment(struct run *r)
{
	return placed(r, 1, 0, 0x7fffffff, RTR_BAD_TARGET);
}

static enum verdict unfilled(struct run *r)
{
	return placed(r, 1, 0, 0, RTR_BAD_TARGET);
}

static enum verdict offset_in_word(struct run *r)
{
	return placed(r, 1, 2, 0, RTR_BAD_OFFSET);
}

static enum verdict offset_beyond(struct run *r)
{
	return placed(r, 1, 0xfffffffc, 0, RTR_BAD_OFFSET);
}

/* --- malformed messages: profile 3 --- */

static enum verdict malformed(struct run *r)
{
	uint32_t xid = r->xid;

	return msg_send(r)
	       ?: expect_v2_error(r, xid, 2,
				  is_early(r) ? (uint32_t)EARLY_ERR_BAD_HEADER : (uint32_t)V2_ERR_BAD_XDR)
	       ?: fence(r);
}

/* Send a message with these words for items and directions. */
#define MALFORMED(r, ...)                                                                          \
	malformed_words(r, (const uint32_t[]){__VA_ARGS__},                                        \
			sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
static enum verdict malformed_words(struct run *r, const uint32_t *words, size_t n)
{
	enum verdict v = rtr_up(r);

	begin(r, RTR_REQUEST, CALL);
	put_words(r, words, n);
	put_end(r, 1, RPC_NULL_BYTES);
	return v ?: malformed(r);
}

enum { AT = RPC_NULL_BYTES, HANDLE = 0xaa01 };

static enum verdict count_zero(struct run *r)
{
	enum verdict v = rtr_up(r);

	request(r, 0, RPC_NULL_BYTES);
	return v ?: malformed(r);
}

static enum verdict item_choice(struct run *r)
{
	return MALFORMED(r, 1, AT, 4, RTR_CHOICE, 1, HANDLE, 4, 0, 0, 0);
}

static enum verdict item_short(struct run *r)
{
	return MALFORMED(r, 1, AT, 4, RTR_TOOSHORT, 0);
}

static enum verdict item_type(struct run *r)
{
	return MALFORMED(r, 1, AT, 4, 7, 0);
}

static enum verdict direction_type(struct run *r)
{
	return MALFORMED(r, 0, 1, 0, UINT32_MAX, 1, 0, RTR_NOITEM);
}

static enum verdict direction_empty(struct run *r)
{
	return MALFORMED(r, 0, 1, 0, UINT32_MAX, 1, 0, RTR_EXRW, 0);
}

static enum verdict falling(struct run *r)
{
	return MALFORMED(r, 2, AT + 40, 4, RTR_EXRW, 1, HANDLE, 4, 0, 0, AT, 4, RTR_EXRW, 1, HANDLE,
			 4, 0, 4, 0);
}

static enum verdict overlapping(struct run *r)
{
	return MALFORMED(r, 2, AT, 8, RTR_EXRW, 1, HANDLE, 8, 0, 0, AT + 4, 4, RTR_EXRW, 1, HANDLE,
			 4, 0, 8, 0);
}

static enum verdict unaligned(struct run *r)
{
	return MALFORMED(r, 1, AT + 2, 4, RTR_EXRW, 1, HANDLE, 4, 0, 0, 0);
}

static enum verdict no_room(struct run *r)
{
	return MALFORMED(r, 1, AT, 8, RTR_EXRW, 1, HANDLE, 4, 0, 0, 0);
}

static enum verdict range_reversed(struct run *r)
{
	return MALFORMED(r, 0, 1, 80, 40, 1, 0, RTR_TBSN);
}

static enum verdict ranges_overlap(struct run *r)
{
	return MALFORMED(r, 0, 2, 0, 80, 1, 0, RTR_TBSN, 40, 100, 1, 0, RTR_TBSN);
}

static enum verdict cut(struct run *r)
{
	enum verdict v = rtr_up(r);

	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 0);
	body_done(r);
	while (is_early(r) && xdr_out_len(&r->x) < EARLY_OPTIONAL_BYTES + 24)
		put(r, 0); /* the shortest message of this carrier */
	return v ?: malformed(r);
}

/* The information has more octets than the body. */
static enum verdict more_information(struct run *r)
{
	enum verdict v = rtr_up(r);

	begin(r, RTR_REQUEST, CALL);
	put(r, 0, 0, 1, 1, RPC_NULL_BYTES, 0);
	body_done(r);
	put_null(r);
	return v ?: malformed(r);
}

/* Draft -07 4.3.1: a type that was not announced does not exist. */
static enum verdict unannounced(struct run *r)
{
	enum verdict v = case_up(r);

	if (!v && r->props.present & V2_HAS_RTR_SUPPORT && r->props.rtr_support & RTR_TAKES_REQUEST)
		return skipped(r, "the extension is announced");
	request(r, 1, RPC_NULL_BYTES);
	return v ?: v2_peer_rejections(r, V2_ERR_INVAL_HTYPE);
}

/* Cases for both drafts. */
#define BOTH(id, section, what, run, is_hostile)                                                   \
	{"rtr." id, section, "MUST", what, run, 2, is_hostile},                                    \
	{                                                                                          \
		"early.rtr." id, section, "MUST", what, run, RUN_EARLY, is_hostile                 \
	}

static const struct probe_case cases[] = {
	{"rtr.unannounced", "v2 7.2", "MUST",
	 "a Transmit Request draws INVAL_HTYPE from an end that did not announce it", unannounced,
	 2, false},
	BOTH("call", "rtr 9.2, profile 6", "a Transmit Request without items is answered", call,
	     false),
	BOTH("receives.0", "profile 3", "... also one that keeps 0 Receives, which count as 1",
	     no_receives, false),
	BOTH("direction", "rtr 7.4, profile 6",
	     "of a direction that nothing comes for that is said, or its chunk returned", direction,
	     false),
	BOTH("group", "rtr 4.2, 9.4", "a request of two transmissions is answered", group, false),
	BOTH("group.empty", "rtr 9.4", "... also if the second has no payload stream", group_empty,
	     false),
	BOTH("group.limit", "rtr 8.4, 9.5, profile 4",
	     "a request of more transmissions than are taken draws BADSEQ with the limit", too_many,
	     false),
	BOTH("cont.alone", "rtr 9.5, profile 4", "a continue without a group draws BADCONT", alone,
	     false),
	BOTH("cont.number", "rtr 9.5, profile 4",
	     "a continue out of order draws BADSEQ; what comes yet of the group is dropped",
	     other_number, false),
	BOTH("cont.xid", "rtr 9.4, 9.5, profile 4", "a continue with another XID draws BADXID",
	     other_xid, false),
	{"early.rtr.cont.direction", "profile 4", "MUST", "... and one of the other direction",
	 other_direction, RUN_EARLY, false},
	BOTH("cont.first", "rtr 9.5, profile 4",
	     "a continue that names another type of the first transmission draws BADOMT",
	     other_first, false),
	BOTH("group.call", "rtr 4.2, 9.5, profile 4",
	     "a call within a group draws BADHMT, and neither is executed", by_call, false),
	BOTH("group.request", "rtr 4.2, 9.5, profile 4",
	     "a Transmit Request within a group draws BADHMT, over the early draft BADOMT",
	     by_request, false),
	BOTH("payload.beyond", "rtr 9.5, profile 4",
	     "a payload stream beyond the end of the message draws BADPL", beyond, false),
	BOTH("payload.word", "profile 4",
	     "one that ends within a word although more is to come draws BADPL", within_word,
	     false),
	BOTH("segment.none", "rtr 9.5, profile 5", "an item in no segment there is draws BADTBSN",
	     no_segment, false),
	BOTH("segment.unfilled", "rtr 9.5, profile 5",
	     "an item in a segment that the message does not reach draws BADTBSN", unfilled, false),
	{"rtr.offset.word", "rtr 9.5, profile 5", "MUST",
	 "an offset that is no multiple of four draws BADOFF", offset_in_word, 2, false},
	{"rtr.offset.beyond", "rtr 9.5, profile 5", "MUST",
	 "an offset beyond the segment draws BADOFF", offset_beyond, 2, false},
	BOTH("bad.count", "profile 3", "a group of 0 transmissions is malformed", count_zero, true),
	BOTH("bad.item.choice", "rtr 6.2 (Table 1), profile 3",
	     "an item of type CHOICE is malformed", item_choice, true),
	BOTH("bad.item.short", "rtr 6.2 (Table 1), profile 3",
	     "an item of type TOOSHORT in a request is malformed", item_short, true),
	BOTH("bad.item.type", "rtr 6.2, profile 3", "an item of type 7 is malformed", item_type,
	     true),
	BOTH("bad.direction.type", "rtr 6.2 (Table 1), profile 3",
	     "a direction of type NOITEM is malformed", direction_type, true),
	BOTH("bad.direction.empty", "profile 3",
	     "a direction of type EXRW without segments is malformed", direction_empty, true),
	BOTH("bad.position.falling", "profile 5", "Positions that fall are malformed", falling,
	     true),
	BOTH("bad.position.overlap", "profile 5", "items that overlap are malformed", overlapping,
	     true),
	BOTH("bad.position.word", "profile 5",
	     "a Position that is no multiple of four is malformed", unaligned, true),
	BOTH("bad.room", "profile 5", "an item longer than its segments is malformed", no_room,
	     true),
	BOTH("bad.range.reversed", "profile 3", "a range that ends before it begins is malformed",
	     range_reversed, true),
	BOTH("bad.range.overlap", "profile 3",
	     "a range that begins before the end of the one before it is malformed", ranges_overlap,
	     true),
	BOTH("bad.cut", "profile 3", "a request that ends within its body is malformed", cut, true),
	{"early.rtr.bad.more", "profile 1", "MUST", "information behind the body is malformed",
	 more_information, RUN_EARLY, true},
};

CASE_TABLE(cases_rtr, cases);
