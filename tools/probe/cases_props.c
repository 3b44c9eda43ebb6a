/* SPDX-License-Identifier: BSD-2-Clause */
/* Version 2: transport properties. */
#include "tools/probe/cases.h"
#include "v2/error.h"

enum { UNKNOWN_PROPERTY = 0x7fff0001 };

static enum verdict sent(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	return r->has_final ? passed(r, "in %u message%s", r->prop_messages,
				     r->prop_messages == 1 ? "" : "s")
			    : failed(r, "no RDMA2_CONNPROP_FINAL came");
}

/* The values must be consistent. */
static enum verdict values(struct run *r)
{
	enum verdict v = v2_up(r);
	uint32_t brs = v2_props_get(&r->props, V2_PROP_BRS);

	if (v)
		return v;
	if (!r->has_final)
		return skipped(r, "no properties");
	if (v2_props_get(&r->props, V2_PROP_RBSIZ) < V2_FIRST_MESSAGE_BYTES)
		return failed(r, "Receives of %u octets", v2_props_get(&r->props, V2_PROP_RBSIZ));
	if (brs > RPC_REV_GENL)
		return failed(r, "Reverse-Direction Support %u", brs);
	return PASS;
}

/* Open a connection and begin a first message, CONNPROP of @type with @count properties. */
static enum verdict begin(struct run *r, uint32_t type, uint32_t count)
{
	enum verdict v = raw_up(r);

	msg_begin(r, 2, type);
	put(r, count);
	return v;
}

static enum verdict empty(struct run *r)
{
	return begin(r, V2_CONNPROP_FINAL, 0) ?: v2_open(r) ?: fence(r);
}

static enum verdict unknown(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 3);

	put_prop(r, V2_PROP_RBSIZ, RUN_INLINE);
	put(r, UNKNOWN_PROPERTY, 5, 0x61626364, 0x65000000);
	put_prop(r, V2_PROP_SBSIZ, RUN_INLINE);
	return v ?: v2_open(r) ?: fence(r);
}

static enum verdict zero_length(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 5);

	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++)
		put(r, id, 0);
	return v ?: v2_open(r) ?: fence(r);
}

static enum verdict any_order(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 3);

	put_prop(r, V2_PROP_BRS, RPC_REV_NONE);
	put_prop(r, V2_PROP_RBSIZ, RUN_INLINE);
	put_prop(r, V2_PROP_SBSIZ, RUN_INLINE);
	return v ?: v2_open(r) ?: fence(r);
}

static enum verdict middle(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_MIDDLE, 1);

	put_prop(r, V2_PROP_RBSIZ, RUN_INLINE);
	r->version = 2;
	v = v ?: msg_send(r);
	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put(r, 1);
	put_prop(r, V2_PROP_SBSIZ, RUN_INLINE);
	return msg_send(r) ?: v2_negotiated(r) ?: fence(r);
}

static enum verdict interrupted(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_MIDDLE, 1);
	uint32_t xid;

	put_prop(r, V2_PROP_RBSIZ, RUN_INLINE);
	r->version = 2;
	v = v ?: msg_send(r);
	if (v)
		return v;
	null_begin(r);
	xid = r->xid;
	return msg_send(r) ?: expect_v2_error(r, xid, 2, V2_ERR_INVAL_CONT);
}

/* The first message has a bad property. */
static enum verdict bad_value(struct run *r)
{
	r->version = 2;
	return msg_send(r) ?: expect_v2_error(r, r->xid, 2, V2_ERR_BAD_PROPVAL);
}

static enum verdict too_long(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 1);

	put(r, V2_PROP_RBSIZ, 8, RUN_INLINE, 0);
	return v ?: bad_value(r);
}

static enum verdict too_short(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 1);

	put(r, V2_PROP_SBSIZ, 2, 0x10000000);
	return v ?: bad_value(r);
}

static enum verdict overrun(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 1);

	put(r, V2_PROP_RBSIZ, 400, RUN_INLINE);
	return v ?: bad_value(r);
}

/* The bad message has no effect, and the connection continues. */
static enum verdict discarded(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_MIDDLE, 1);

	put(r, V2_PROP_SBSIZ, 2, 0x10000000);
	v = v ?: bad_value(r);
	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	return msg_send(r) ?: v2_negotiated(r) ?: fence(r);
}

static enum verdict second_final(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	return v2_peer_rejections(r, V2_ERR_INVAL_CONT);
}

static enum verdict late_middle(struct run *r)
{
	enum verdict v = v2_up(r);

	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_MIDDLE);
	put(r, 0);
	return v2_peer_rejections(r, V2_ERR_INVAL_CONT);
}

static enum verdict announced(struct run *r)
{
	return v2_up(r) ?: fence(r)
		       ?: reads(r, "properties", r->has_final ? "sent" : "absent", "in %u message%s",
				r->prop_messages, r->prop_messages == 1 ? "" : "s");
}

static bool is_final(const struct wire_msg *m)
{
	return m->octets.len >= V2_PREFIX_BYTES &&
	       xdr_peek_u32(m->octets.data + 12) == V2_CONNPROP_FINAL;
}

/* Which XID the server's CONNPROP has: the document does not say. */
static enum verdict xid_of_connprop_final(struct run *r)
{
	enum verdict v = raw_up(r);
	uint32_t ours, theirs;
	struct wire_msg m;
	int err;

	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	ours = r->xid;
	r->version = 2;
	v = msg_send(r);
	do {
		err = v ? ERR_CLOSED : wire_await(&r->w, run_deadline(r), &m);
	} while (err == 0 && !is_final(&m));
	if (err < 0)
		return v ?: failed(r, "no RDMA2_CONNPROP_FINAL came");
	theirs = xdr_peek_u32(m.octets.data);
	r->has_final = true;
	return fence(r)
		       ?: reads(r, "properties_xid",
				theirs == 0	 ? "zero"
				: theirs == ours ? "the client's"
						 : "its own",
				"0x%08x", theirs);
}

/* Whether a FINAL with a bad value ends the exchange. */
static enum verdict after_bad_final(struct run *r)
{
	enum verdict v = begin(r, V2_CONNPROP_FINAL, 1);
	struct wire_msg m;
	uint32_t final;

	put(r, V2_PROP_SBSIZ, 2, 0x10000000);
	v = v ?: bad_value(r);
	if (v)
		return v;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	final = r->xid;
	v = msg_send(r);
	null_begin(r);
	/* about the FINAL, or the reply to the call behind it */
	v = v ?: msg_send(r) ?: msg_next(r, &m);
	if (v)
		return v;
	wire_unget(&r->w);
	if (xdr_peek_u32(m.octets.data) != final)
		return expect_reply(r, r->xid)
			       ?: reads(r, "bad_final", "not ended", "another FINAL is taken");
	return expect_v2_error(r, final, 2, V2_ERR_INVAL_CONT) ?: expect_reply(r, r->xid)
		       ?: reads(r, "bad_final", "ended", "another FINAL draws INVAL_CONT");
}

static const struct probe_case cases[] = {
	{"v2.prop.sent", "v2 6.3.4", "MUST",
	 "the server sends properties, RDMA2_CONNPROP_FINAL last", sent, 2, false},
	{"v2.prop.values", "v2 5.2", "MUST", "their values are possible ones", values, 2, false},
	{"v2.prop.none", "v2 5.1", "MUST", "an empty set of properties is taken", empty, 2, false},
	{"v2.prop.unknown", "v2 5.1, 6.3.4", "MUST",
	 "an unknown property is passed over in silence", unknown, 2, false},
	{"v2.prop.zero-length", "v2 5.1", "MUST", "no data stands for the default value",
	 zero_length, 2, false},
	{"v2.prop.order", "v2 5.1", "MUST", "properties come in any order", any_order, 2, false},
	{"v2.prop.middle", "v2 6.3.3", "MUST", "properties in MIDDLE and FINAL are taken", middle,
	 2, false},
	{"v2.prop.interrupted", "v2 6.3.3", "MUST",
	 "a Call between MIDDLE and FINAL draws INVAL_CONT", interrupted, 2, false},
	{"v2.prop.second-final", "v2 6.3.4", "MUST", "a second FINAL draws INVAL_CONT",
	 second_final, 2, false},
	{"v2.prop.late-middle", "v2 6.3.4", "MUST", "a MIDDLE after FINAL draws INVAL_CONT",
	 late_middle, 2, false},
	{"v2.prop.too-long", "v2 5.1, 7.2.2", "MUST", "eight octets for a uint32 draw BAD_PROPVAL",
	 too_long, 2, false},
	{"v2.prop.too-short", "v2 5.1, 7.2.2", "MUST", "two octets for a uint32 draw BAD_PROPVAL",
	 too_short, 2, false},
	{"v2.prop.overrun", "v2 5.1", "MUST", "data longer than the message draw BAD_PROPVAL",
	 overrun, 2, false},
	{"v2.prop.announced", "v2 6.3.4, 4.2.2", "open", "properties of its own may be absent",
	 announced, 2, false},
	{"v2.prop.xid", "v2 6.3.4", "open", "the XID of its RDMA2_CONNPROP_FINAL",
	 xid_of_connprop_final, 2, false},
	{"v2.prop.bad-final", "v2 6.3.4, 7.2.2", "open",
	 "another FINAL after one that drew BAD_PROPVAL", after_bad_final, 2, false},
	{"v2.prop.discarded", "v2 7.2.2", "MUST",
	 "after BAD_PROPVAL in a MIDDLE the properties can go on", discarded, 2, false},
};

CASE_TABLE(cases_props, cases);
