/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * The receiving half of conn.c. A message passes these checks in order:
 *
 *     long enough for a prefix?   else dropped in silence (section 7)
 *     granted?                    else the connection is closed
 *     version 2?                  else ERR_VERS or ERR_VERS_MISMATCH, or, to an
 *                                 initiator's first message, the other version
 *     part of an abandoned one?   then dropped in silence (section 7.1.4)
 *     in its place?               else ERR_INVAL_CONT (sections 6.3.3 to 6.3.9)
 *     known and well-formed?      else ERR_INVAL_HTYPE, ERR_BAD_XDR, ...
 *
 * Then the function of its type handles it. Its credit value counts as soon as the version is
 * known, even if a later check fails.
 *
 * Reports answer requests. A bad Reply is not a request: the XID in a report about it would name a
 * call of the other end. So this end fails the call that the bad Reply belongs to, and reports a
 * bad Reply only where section 6.3.9 demands it. An ERROR is never answered by an ERROR.
 *
 * Round-trip extension (rtr.h): a Transmit Request is a Call. A fault that version 2 has no code
 * for is reported by a Report Error. A received Report Error counts as RPC_ERROR_INVAL_HTYPE.
 */
#include "v2/conn_rx.h"

#include <assert.h>
#include <string.h>

#include "v2/error_queue.h"
#include "v2/error.h"
#include "v2/peer_rejections.h"
#include "v2/rtr.h"
#include "v2/versions.h"

/* Ends the call @xid of this end, because its Reply is lost. @rx may already end another call. */
static void fail_call(struct rpc_rx *rx, uint32_t xid)
{
	if (rx->kind == RPC_RX_ERROR && rx->xid != xid) {
		rx->also = true;
		rx->also_xid = xid;
		return;
	}
	rx->kind = RPC_RX_ERROR;
	rx->xid = xid;
	rx->error_dir = RPC_REPLY;
	rx->error = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
}

static void open_up(struct v2_conn *c)
{
	c->state = V2_OPEN;
	c->t.ready = true;
}

/* Section 4.2.2: properties may be absent. A peer that spoke version 2 and began no CONNPROP sends
 * none. */
bool v2_conn_settle(struct rpc_transport *t)
{
	struct v2_conn *c = v2_conn_of(t);

	/* A peer that sends no properties has no host authentication either. */
	if (c->state == V2_NEGOTIATING && !c->props_begun && v2_auth_is_going(c) &&
	    v2_auth_absent(c))
		return false;
	if (c->state == V2_NEGOTIATING && !c->props_begun)
		open_up(c);
	return c->state == V2_OPEN;
}

/* The peer's properties are complete: they take effect together. */
static void end_negotiation(struct v2_conn *c, struct rpc_rx *rx)
{
	c->final_received = true;
	c->props_begun = false;
	v2_props_limits(&c->t.peer, &c->props, &c->t.own);
	v2_peer_rejections_limits(c);
	open_up(c);
	rx->kind = RPC_RX_READY;
}

void v2_conn_authenticated(struct v2_conn *c)
{
	struct rpc_rx nobodys;

	end_negotiation(c, &nobodys);
}

static int recv_error(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
		      struct view in, struct rpc_rx *rx)
{
	int err;

	(void)type;
	(void)in;
	/* Section 7: a code that is not recognized is discarded in silence. */
	if (!h->error_known) {
		c->t.count.dropped++;
		return 0;
	}
	c->t.count.errors_received++;
	if (!c->t.ready && h->xid == c->t.own.first_xid) {
		if (v2_auth_is_going(c)) {
			err = v2_auth_absent(c);
			if (err)
				return err;
		}
		/* The report is about the properties of this end. A peer that does not know the
		 * type sends no properties. */
		if (h->error.code == RPC_ERROR_INVAL_HTYPE)
			end_negotiation(c, rx);
		return 0;
	}
	rx->doubtful = v2_peer_rejections_is_stale(c, h);
	err = rx->doubtful ? 0 : v2_peer_rejections_apply(c, h);
	if (err) {
		c->state = V2_CLOSED;
		return err;
	}
	rx->error_dir = v2_peer_rejections_is_reply(c, h) ? RPC_CALL : RPC_REPLY;
	if (!rx->doubtful && rx->error_dir == RPC_REPLY && rpc_late_take(&c->t.late, h->xid)) {
		c->t.count.late++;
		return 0;
	}
	rx->kind = RPC_RX_ERROR;
	rx->xid = h->xid;
	rx->error = h->error;
	return 0;
}

static int recv_grant(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
		      struct view in, struct rpc_rx *rx)
{
	(void)type;
	(void)in;
	(void)h;
	(void)rx;
	c->t.count.grants_received++; /* its credit was taken from the prefix */
	return 0;
}

/* Section 5.2.6: "local security policy ... determines". A peer without the profile gets a report;
 * a peer with the profile got a FAIL. Return: ERR_AUTH. */
static int end_unauthenticated(struct v2_conn *c, const struct v2_hdr *h)
{
	if (c->auth->is_absent && c->t.own.role == RPC_ACCEPTOR)
		(void)v2_queue_error_code(c, h, RPC_ERROR_SYSTEM);
	return ERR_AUTH;
}

/* Return: whether a reverse-direction Call has something that the level this end announced does not
 *         cover (sections 4.6.3, 4.6.4 and 5.2.5). */
static bool is_beyond_reverse(const struct v2_conn *c, const struct v2_type *type,
			      const struct rpc_msg *m, struct rpc_error *e)
{
	enum rpc_reverse level = c->t.own.reverse;

	*e = (struct rpc_error){0};
	if (c->t.own.role != RPC_INITIATOR || m->dir != RPC_CALL || level == RPC_REV_GENL)
		return false;
	/* 4.6.4: chunks MUST draw one of the errors of section 7.3. */
	if (m->has_body_chunk || m->nreads)
		e->code = RPC_ERROR_READ_CHUNKS; /* most of them: none */
	else if (m->nwrites || m->has_reply)
		e->code = level < RPC_REV_CONT ? RPC_ERROR_REPLY_RESOURCE : RPC_ERROR_WRITE_CHUNKS;
	else if (level == RPC_REV_NONE)
		e->code = RPC_ERROR_SYSTEM;
	else if (type->flags & V2_IS_MIDDLE && level < RPC_REV_CONT)
		e->code = RPC_ERROR_INVAL_CONT;
	else
		return false;
	return true;
}

/* Rejects a Call or Reply, or a part of one, and the rest of it. */
static int refuse(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
		  const struct rpc_error *e, struct rpc_rx *rx)
{
	enum rpc_dir dir = type->flags & V2_IS_REPLY ? RPC_REPLY : RPC_CALL;

	rx->abandon = c->cont.active;
	c->cont.active = false;
	if (type->flags & V2_IS_MIDDLE)
		v2_cont_give_up(&c->cont, h->xid, dir);
	if (dir == RPC_REPLY)
		fail_call(rx, h->xid);
	if (dir == RPC_REPLY && e->code != RPC_ERROR_INVAL_CONT) {
		c->t.count.dropped++;
		return 0;
	}
	return v2_queue_error(c, h, h->xid, e);
}

/*
 * An answer to @xid has come. @begun: its call was abandoned while the answer was coming, or
 * before, so the answer does not belong to a later call with that XID. Return: whether the answer
 * is late: no call waits for it.
 */
static bool take_late(struct v2_conn *c, uint32_t xid, bool begun)
{
	if (!(begun ? rpc_late_take_first(&c->t.late, xid) : rpc_late_take(&c->t.late, xid)))
		return false;
	c->t.count.late++;
	return true;
}

/* Return: whether a Reply, or a part of one, is late: its call was abandoned. @begun: as for
 * take_late(). */
static bool is_late(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
		    bool begun)
{
	if (!(type->flags & V2_IS_REPLY) || !take_late(c, h->xid, begun))
		return false;
	if (type->flags & V2_IS_MIDDLE)
		v2_cont_give_up(&c->cont, h->xid, RPC_REPLY);
	return true;
}

static int recv_message(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
			struct view in, struct rpc_rx *rx)
{
	bool continued = c->cont.active;
	struct rpc_error e;
	int err;

	(void)in;
	/* Decision 39: a Reply that has the type of a Call is rejected below. No other Reply to the
	 * call with that XID will come. */
	if (v2_cont_is_misnamed(&c->cont, type, c->t.own.msg))
		fail_call(rx, h->xid);
	if (is_beyond_reverse(c, type, c->t.own.msg, &e))
		return refuse(c, type, h, &e, rx);
	err = v2_cont_take(&c->cont, type, h, c->t.own.msg);
	if (err) {
		e = (struct rpc_error){.code = err == ERR_CONT ? RPC_ERROR_INVAL_CONT
							       : RPC_ERROR_BAD_XDR};
		return refuse(c, type, h, &e, rx);
	}
	open_up(c); /* even without properties: the defaults hold */
	/* No part of an answer that a call waits for is late, even if another answer to that XID
	 * is. */
	if (!(continued && c->is_awaited) && is_late(c, type, h, continued)) {
		rx->abandon = continued;
		return 0;
	}
	c->is_awaited = true;
	if (type->flags & V2_IS_REPLY)
		v2_peer_rejections_answered(c, h->xid);
	rx->msg = c->t.own.msg;
	rx->kind = RPC_RX_MSG;
	rx->continued = continued;
	if (type->flags & V2_IS_MIDDLE) {
		rx->kind = RPC_RX_PART;
		rx->continued = false;
		rx->first = !continued;
		rx->remaining = h->remaining;
	} else if (!(type->flags & V2_IS_REPLY)) {
		c->owed++;
	}
	return 0;
}

/* Drops a message that came where only a further part may come. @type: NULL for an unknown type.
 * The peer does not send a dropped Reply again, so the call of the Reply fails. */
static void drop_intruder(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
			  struct rpc_rx *rx)
{
	if (!type || type->flags & V2_IS_CONTROL)
		return;
	if (type->flags & V2_IS_MIDDLE)
		v2_cont_give_up(&c->cont, h->xid, type->flags & V2_IS_REPLY ? RPC_REPLY : RPC_CALL);
	if (type->flags & V2_IS_REPLY)
		fail_call(rx, h->xid);
}

/* A message came where only a further part may come (sections 6.3.6 and 6.3.9). It is dropped, and
 * so is the message in progress. If the latter is a Reply, its call fails. */
static int break_message(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
			 struct rpc_rx *rx)
{
	const struct rpc_error cont = {.code = RPC_ERROR_INVAL_CONT};
	uint32_t xid = c->cont.xid;
	int err;

	rx->abandon = true;
	if (c->cont.dir == RPC_REPLY)
		fail_call(rx, xid);
	v2_cont_give_up(&c->cont, xid, c->cont.dir);
	drop_intruder(c, type, h, rx);
	err = v2_queue_error_code(c, h, type ? RPC_ERROR_INVAL_CONT : RPC_ERROR_INVAL_HTYPE);
	return err || xid == h->xid ? err : v2_queue_error(c, h, xid, &cont);
}

static bool is_connprop(const struct v2_type *type)
{
	return type && type->flags & V2_IS_CONNPROP;
}

/* Sections 6.3.3 and 6.3.4: between the first and the last CONNPROP no message with a payload may
 * come, and no further CONNPROP after the last. */
static bool is_connprop_order(const struct v2_conn *c, const struct v2_type *type)
{
	return is_connprop(type) ? !c->final_received : !c->props_begun;
}

static int break_properties(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
			    struct rpc_rx *rx)
{
	/* The exchange of properties goes on; further parts of a message begun here are dropped. */
	drop_intruder(c, type, h, rx);
	return v2_queue_error_code(c, h, RPC_ERROR_INVAL_CONT);
}

/* A truncated ERROR: whatever its missing fields are, no Reply follows. */
static int recv_cut_error(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
			  struct rpc_rx *rx)
{
	struct v2_hdr whole = *h;

	whole.error_known = true;
	whole.error = (struct rpc_error){.code = RPC_ERROR_SYSTEM};
	return recv_error(c, type, &whole, view_of(NULL, 0), rx);
}

/* A message that does not parse. */
static int recv_bad(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
		    const struct rpc_error *fault, struct rpc_rx *rx)
{
	if (!(type->flags & V2_IS_CONTROL))
		return refuse(c, type, h, fault, rx);
	if (type->htype == V2_ERROR)
		return recv_cut_error(c, type, h, rx);
	if (v2_auth_is_going(c)) { /* lost properties cannot be replaced */
		c->auth->verdict = V2_AUTH_FAILED;
		(void)v2_queue_error(c, h, h->xid, fault);
		return ERR_PROP;
	}
	if (type->htype == V2_CONNPROP_MIDDLE)
		c->props_begun = true;
	/* Only this message's properties are lost: its sender may not send another CONNPROP. */
	if (type->htype == V2_CONNPROP_FINAL)
		end_negotiation(c, rx);
	return v2_queue_error(c, h, h->xid, fault);
}

static int recv_properties(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
			   struct view in, struct rpc_rx *rx)
{
	int err;

	if (h->props.is_rtr_bad && v2_rtr_is_used(c))
		return recv_bad(c, type, h, &v2_bad_propval, rx);
	err = v2_auth_is_going(c) ? v2_auth_recv(c, in, h) : 0;
	if (err)
		return end_unauthenticated(c, h);
	v2_props_merge(&c->props, &h->props);
	v2_rtr_apply(c, &h->props);
	c->hostauth = h->props.hostauth;
	c->props.hostauth = view_of(NULL, 0); /* the view is valid only as long as the message */
	c->props_begun = true;
	if (h->htype == V2_CONNPROP_FINAL && !v2_auth_is_going(c))
		end_negotiation(c, rx);
	return 0;
}

/* A Report Error. If it is about a Transmit Request of this end, the form of the request is
 * rejected. If it is about a Response, no call of this end waits. All other Report Errors are
 * ignored (decision 143). */
static int recv_rtr_report(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
			   struct view in, struct rpc_rx *rx)
{
	struct v2_hdr as_error = *h;

	if (h->rtr->bad.is_reply) {
		c->lacks_rtr_data = true;
		c->t.count.errors_received++;
		return 0;
	}
	if (!v2_peer_rejections_may_report(c, h->xid)) {
		c->t.count.dropped++;
		return 0;
	}
	as_error.error_known = true;
	as_error.error = (struct rpc_error){.code = RPC_ERROR_INVAL_HTYPE};
	return recv_error(c, type, &as_error, in, rx);
}

/* Profile section 6: the call of a bad response fails, and a later answer to the call counts as
 * late. @begun: the call was abandoned while the response was coming, or before. Return: whether a
 * report is due. */
static bool fail_response(struct v2_conn *c, uint32_t xid, bool begun, struct rpc_rx *rx)
{
	if (take_late(c, xid, begun))
		return false;
	fail_call(rx, xid);
	rpc_late_add(&c->t.late, xid);
	return true;
}

/* Ends an open group; further transmissions of it are dropped. */
static void end_group(struct v2_conn *c, struct rpc_rx *rx)
{
	c->group.is_open = false;
	c->group_dropped = true;
	rx->abandon = true;
}

/* Ends an open group because of a malformed part. Return: whether a report is due: none is due for
 * a Reply. */
static bool end_bad_group(struct v2_conn *c, struct rpc_rx *rx)
{
	end_group(c, rx);
	if (!c->group.lead.is_reply)
		return true;
	(void)fail_response(c, c->group.lead.xid, !c->is_awaited, rx);
	c->t.count.dropped++;
	return false;
}

/* Processes the first transmission of a group, or the only one. */
static int recv_rtr_transmit(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
			     struct view in, struct rpc_rx *rx)
{
	const struct rtr_id id = {h->xid, type->flags & V2_IS_REPLY, 0};
	const struct rpc_octets octets = v2_rtr_octets(c, in);
	struct rtr_group group;
	struct rtr_fault fault;
	struct rpc_error e;
	int err = v2_rtr_take(c, h->rtr, &octets, 1, NULL, c->t.own.msg, &group, &fault, &e);

	if (!err && group.is_open && is_beyond_reverse(c, type, c->t.own.msg, &e))
		err = ERR_XDR;
	/* Continuations of a rejected group are dropped as well. */
	if (h->rtr->count > 1) {
		c->group = (struct rtr_group){.lead = id};
		c->group_dropped = err;
	}
	if (err == ERR_CONT)
		return id.is_reply && !fail_response(c, h->xid, false, rx)
			       ? 0
			       : v2_queue_fault(c, h, &fault, &id, NULL);
	if (err)
		return refuse(c, type, h, &e, rx);
	if (!group.is_open)
		return recv_message(c, type, h, in, rx);
	open_up(c);
	c->group = group;
	c->is_awaited = !(id.is_reply && rpc_late_has(&c->t.late, h->xid));
	rx->kind = RPC_RX_HELD;
	rx->xid = id.xid;
	rx->group_dir = id.is_reply ? RPC_REPLY : RPC_CALL;
	return 0;
}

/* Decodes the first transmission, @in, of a group again, into @h, @m and h->rtr. */
static void decode_lead(const struct v2_conn *c, struct view in, struct v2_hdr *h,
			struct rpc_msg *m)
{
	struct rtr_msg *r = h->rtr;
	struct rpc_error e;
	int err = v2_prefix_decode(h, in);

	h->rtr = r;
	if (!err)
		err = v2_decode_rest(v2_type_find(h->htype), h, m, in, c->t.own.segment_count, &e);
	assert(err == 0);
	(void)err;
}

/* A group is complete: finds out how much of it has to be gathered. */
static int complete_group(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *lead,
			  const struct rpc_octets *sends, unsigned nsends, struct rpc_rx *rx)
{
	struct rtr_group group;
	struct rtr_fault fault;
	struct rpc_error e;
	int err = v2_rtr_take(c, lead->rtr, sends, nsends, NULL, c->t.own.msg, &group, &fault, &e);

	assert(err == 0); /* this was decoded and checked before */
	(void)err;
	if (is_late(c, type, lead, !c->is_awaited)) {
		rx->kind = RPC_RX_NONE;
		rx->abandon = true;
		return 0;
	}
	if (type->flags & V2_IS_REPLY)
		v2_peer_rejections_answered(c, lead->xid);
	else
		c->owed++;
	rx->kind = RPC_RX_GROUP;
	rx->remaining = c->t.own.msg->gathered;
	return 0;
}

static int recv_rtr_continue(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h,
			     struct view in, struct rpc_rx *rx)
{
	bool was_open = c->group.is_open;
	const struct rtr_id group_lead = c->group.lead;
	/* Profile section 4: the prefix has no direction. */
	bool is_reply = was_open ? group_lead.is_reply : h->rtr->began == V2_RTR_RESPONSE;
	struct rtr_id id = {h->xid, is_reply, h->rtr->number};
	struct rpc_octets sends[RPC_MAX_TRANSMISSIONS];
	struct rtr_fault fault;
	struct rtr_msg first;
	struct v2_hdr lead = {.rtr = &first};
	int err;

	(void)type;
	if (was_open) {
		assert(c->t.nheld > 0 && c->t.nheld < RPC_MAX_TRANSMISSIONS);
		memcpy(sends, c->t.held, c->t.nheld * sizeof(sends[0]));
		decode_lead(c, sends[0].here, &lead, c->t.own.msg);
	}
	sends[c->t.nheld] = v2_rtr_octets(c, in);
	err = rtr_take_more(&c->t.own, &c->group, was_open ? &first : NULL, h->rtr, &id,
			    &sends[c->t.nheld], V2_PREFIX_BYTES, &fault);
	if (err && !was_open)
		return v2_queue_fault(c, h, &fault, &id, NULL);
	if (err) {
		end_group(c, rx);
		if (group_lead.is_reply && !fail_response(c, group_lead.xid, !c->is_awaited, rx))
			return 0;
		return v2_queue_fault(c, h, &fault, &id, &group_lead);
	}
	rx->kind = RPC_RX_HELD;
	rx->xid = id.xid;
	rx->group_dir = id.is_reply ? RPC_REPLY : RPC_CALL;
	return c->group.is_open ? 0
				: complete_group(c, v2_type_find(lead.htype), &lead, sends,
						 c->t.nheld + 1, rx);
}

/* A message came where only a continuation of the group may come: both the message and the group
 * are lost. @type: NULL for an unknown type. */
static int break_group(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
		       struct rpc_rx *rx)
{
	const struct rtr_id lead = c->group.lead;
	const struct rtr_id bad = {h->xid, type && type->flags & V2_IS_REPLY, 0};
	struct rtr_fault fault;
	int err = rtr_group_interrupt(&c->group, h->htype, false, V2_RTR_CONTINUE, &fault);

	assert(err == ERR_CONT);
	(void)err;
	end_group(c, rx);
	if (lead.is_reply)
		(void)fail_response(c, lead.xid, !c->is_awaited, rx);
	drop_intruder(c, type, h, rx);
	return v2_queue_fault(c, h, &fault, &bad, &lead);
}

/* Whether the message is a continuation of a group that was abandoned. Continuations of that group
 * are dropped until another message comes. */
static bool is_dropped_continue(struct v2_conn *c, const struct v2_type *type,
				const struct v2_hdr *h)
{
	bool is_late_part = type && type->htype == V2_RTR_CONTINUE && h->xid == c->group.lead.xid;

	c->group_dropped &= is_late_part;
	return c->group_dropped;
}

/* Process a decoded message, which is allowed at this point. @in: the whole message. Return: 0, or
 * an error that ends the connection. */
typedef int recv_fn(struct v2_conn *c, const struct v2_type *type, struct v2_hdr *h, struct view in,
		    struct rpc_rx *rx);

/* @htype: one that v2_type_find() knows. Without a row: a Call, a Reply, or a part of one. */
static recv_fn *recv_of(uint32_t htype)
{
	static recv_fn *const types[] = {
		[V2_ERROR] = recv_error,
		[V2_GRANT] = recv_grant,
		[V2_CONNPROP_MIDDLE] = recv_properties,
		[V2_CONNPROP_FINAL] = recv_properties,
	};
	static recv_fn *const rtr_types[] = {
		[V2_RTR_REQUEST - RTR_HEADER_TYPES] = recv_rtr_transmit,
		[V2_RTR_RESPONSE - RTR_HEADER_TYPES] = recv_rtr_transmit,
		[V2_RTR_CONTINUE - RTR_HEADER_TYPES] = recv_rtr_continue,
		[V2_RTR_REPORT - RTR_HEADER_TYPES] = recv_rtr_report,
	};

	if (htype >= RTR_HEADER_TYPES)
		return rtr_types[htype - RTR_HEADER_TYPES];
	return htype < sizeof(types) / sizeof(types[0]) ? types[htype] : recv_message;
}

static __attribute__((noinline)) int recv_rtr(struct v2_conn *c, const struct v2_type *type,
					      struct v2_hdr *h, struct view in, struct rpc_rx *rx)
{
	struct rpc_error fault;
	struct rtr_msg r;

	h->rtr = &r;
	if (v2_decode_rest(type, h, c->t.own.msg, in, c->t.own.segment_count, &fault)) {
		if (type->htype == V2_RTR_CONTINUE && c->group.is_open && !end_bad_group(c, rx))
			return 0;
		if (type->htype != V2_RTR_REPORT) /* a Report Error is not answered by an ERROR */
			return recv_bad(c, type, h, &fault, rx);
		c->t.count.dropped++;
		return 0;
	}
	return recv_of(type->htype)(c, type, h, in, rx);
}

/* Whether the message of @type is a part of a message that was abandoned. If its header parses, its
 * payload begins where the header ends. If not, no field of the message is believed. */
static bool is_dropped(struct v2_conn *c, const struct v2_type *type, const struct v2_hdr *h,
		       struct view in)
{
	struct view payload = view_of(NULL, 0);
	struct v2_hdr part;
	struct rpc_error fault;

	if (!type || !v2_cont_is_dropping(&c->cont, h->xid))
		return false;
	if (!v2_decode(&part, c->t.own.msg, in, c->t.own.segment_count, &fault) &&
	    c->t.own.msg->nbody)
		payload = c->t.own.msg->body[0];
	return v2_cont_is_dropped(&c->cont, type, h->xid, payload);
}

/* Types of the extension are known only on a connection that speaks it. */
static const struct v2_type *find_type(const struct v2_conn *c, uint32_t htype)
{
	const struct v2_type *type = v2_type_find(htype);

	return type && type->flags & V2_IS_RTR && !v2_rtr_is_known(c, htype) ? NULL : type;
}

/* Processes a message of version 2 whose prefix was decoded. */
static int recv_v2(struct v2_conn *c, struct v2_hdr *h, struct view in, struct rpc_rx *rx)
{
	const struct v2_type *type = find_type(c, h->htype);
	bool anywhere = type && type->flags & V2_IS_ANYWHERE;
	struct rpc_error fault;

	if (type && type->htype == V2_RTR_REPORT && v2_auth_is_going(c))
		return v2_auth_broken(c, "a Report Error");
	/* Only a message of the extension may reach the second piece of a Receive (profile, section
	 * 2). */
	if (c->t.bulk.len && !(type && type->flags & V2_IS_TRANSMIT)) {
		c->state = V2_CLOSED;
		return ERR_PROTO;
	}
	if (is_dropped(c, type, h, in)) {
		c->t.count.dropped++;
		return 0;
	}
	if (!anywhere && c->group_dropped && is_dropped_continue(c, type, h)) {
		c->t.count.dropped++;
		return 0;
	}
	if (!anywhere && c->group.is_open && (!type || type->htype != V2_RTR_CONTINUE))
		return break_group(c, type, h, rx);
	if (!anywhere && v2_auth_is_going(c) && !is_connprop(type) && v2_auth_absent(c))
		return end_unauthenticated(c, h);
	if (!anywhere && c->cont.active && (!type || !v2_cont_is_next(&c->cont, type, h->xid)))
		return break_message(c, type, h, rx);
	if (!type)
		return v2_queue_error_code(c, h, RPC_ERROR_INVAL_HTYPE);
	if (!anywhere && !is_connprop_order(c, type))
		return break_properties(c, type, h, rx);
	if (type->flags & V2_IS_RTR)
		return recv_rtr(c, type, h, in, rx);
	if (v2_decode_rest(type, h, c->t.own.msg, in, c->t.own.segment_count, &fault))
		return recv_bad(c, type, h, &fault, rx);
	if (!(type->flags & V2_IS_CONTROL)) /* most messages */
		return recv_message(c, type, h, in, rx);
	return recv_of(type->htype)(c, type, h, in, rx);
}

static bool is_grant(const struct v2_hdr *h)
{
	return h->vers == V2_VERSION && h->htype == V2_GRANT;
}

static int account(struct v2_conn *c, const struct v2_hdr *h)
{
	if (!v2_credit_received(&c->credit, is_grant(h)))
		return 0;
	c->state = V2_CLOSED;
	return ERR_CREDIT;
}

int v2_conn_arrive(struct rpc_transport *t, struct view in)
{
	struct v2_conn *c = v2_conn_of(t);
	struct v2_hdr h = {0};
	bool has_prefix = v2_prefix_decode(&h, in) == 0;

	if (c->state == V2_CLOSED)
		return ERR_PROTO;
	if (account(c, &h))
		return ERR_CREDIT;
	c->arrived++;
	if (has_prefix && h.vers == V2_VERSION)
		v2_credit_limit(&c->credit, h.credit);
	/* A malformed GRANT draws a report, so it waits. */
	return has_prefix && is_grant(&h) && in.len == V2_PREFIX_BYTES ? 1 : 0;
}

int v2_conn_recv(struct rpc_transport *t, struct view in, struct rpc_rx *rx)
{
	struct v2_conn *c = v2_conn_of(t);
	struct v2_hdr h; /* the prefix, and the fields of its type */
	bool has_prefix = v2_prefix_decode(&h, in) == 0, arrived = c->arrived > 0;

	*rx = (struct rpc_rx){.kind = RPC_RX_NONE};
	if (c->state == V2_CLOSED)
		return ERR_PROTO;
	t->count.recvs++;
	c->hostauth = view_of(NULL, 0);
	if (arrived)
		c->arrived--;
	else if (account(c, &h))
		return ERR_CREDIT;
	if (!has_prefix) {
		t->count.dropped++;
		return 0;
	}
	if (v2_versions_is_verdict(c, &h, in))
		return v2_versions_verdict(c, &h, rx);
	if (h.vers != V2_VERSION)
		return v2_versions_other(c, &h);
	if (!arrived)
		v2_credit_limit(&c->credit, h.credit);
	if (c->state == V2_OPENING)
		c->state = V2_NEGOTIATING;
	return recv_v2(c, &h, in, rx);
}

/* Decodes a Transmit Request again. */
static __attribute__((noinline)) int rtr_again(const struct rpc_transport *t, struct v2_hdr *h,
					       struct view in, struct view gathered)
{
	struct rtr_fault fault;
	struct rpc_error e;
	struct rtr_msg r;
	const struct v2_conn *c = v2_conn_of_const(t);
	const struct rpc_octets octets = v2_rtr_octets(c, in);
	const struct v2_rtr_room room = {.gathered = gathered};
	struct rtr_group group;
	int err;

	h->rtr = &r;
	err = v2_decode_rest(v2_type_find(h->htype), h, t->own.msg, in, t->own.segment_count, &e);
	return err ? err : v2_rtr_take(c, &r, &octets, 1, &room, t->own.msg, &group, &fault, &e);
}

void v2_conn_gather(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to)
{
	struct v2_conn *c = v2_conn_of(t);
	const struct v2_rtr_room room = {.block = block, .from = from, .to = to};
	struct rtr_group group;
	struct rtr_fault fault;
	struct rpc_error e;
	struct rtr_msg r;
	struct v2_hdr h = {.rtr = &r};
	int err;

	decode_lead(c, t->held[0].here, &h, t->own.msg);
	err = v2_rtr_take(c, &r, t->held, t->nheld, &room, t->own.msg, &group, &fault, &e);
	assert(err == 0);
	(void)err;
}

void v2_conn_again(const struct rpc_transport *t, struct view in, struct view gathered)
{
	struct v2_hdr h;
	struct rpc_error fault;
	int err = v2_prefix_decode(&h, in);

	if (!err && h.htype == V2_RTR_REQUEST)
		err = rtr_again(t, &h, in, gathered);
	else
		err = v2_decode(&h, t->own.msg, in, t->own.segment_count, &fault);
	assert(err == 0);
	(void)err;
}
