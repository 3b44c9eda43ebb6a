/* SPDX-License-Identifier: BSD-2-Clause */
/* Host authentication with a server: docs/hostauth-profile.md, as the initiator. */
#include <stdio.h>
#include <string.h>

#include "hostauth/value.h"
#include "tools/probe/facts.h"

enum {
	CREDIT_AT = 8,
	FIRST_MOST = 1024, /* section 4.3 of the draft */
	/* count, number of the property, and two lengths */
	BESIDE_VALUE = V2_PREFIX_BYTES + 4 + 12,
	FIVE_PROPERTIES = 5 * 12,
};

/* Section 3.4 of the profile. */
static size_t threshold(const struct run *r, bool first)
{
	uint32_t peer = v2_props_get(&r->props, V2_PROP_RBSIZ);

	if (first)
		return FIRST_MOST;
	return peer >= FIRST_MOST && peer < RUN_INLINE ? peer : RUN_INLINE;
}

/* The proof covers the credit, so the credit is set before the proof is computed. */
static void fix_credit(struct run *r)
{
	struct flow *f = &r->flow;
	uint32_t value = f->received + f->advertise;
	struct xdr_out credit;

	xdr_out_init(&credit, r->out + CREDIT_AT, 4);
	xdr_put_u32(&credit, value);
	if ((int32_t)(value - f->granted) > 0)
		f->granted = value;
	r->keep_credit = true;
}

static enum verdict say(struct run *r, struct hostauth *h, const struct hostauth_out *out,
			const struct prove *p)
{
	uint32_t len = (uint32_t)out->value.len;
	size_t value_at;

	msg_begin(r, 2, out->final ? V2_CONNPROP_FINAL : V2_CONNPROP_MIDDLE);
	put(r, out->first || out->final ? 6 : 1);
	if (out->first || out->final)
		put_five_props(r);
	put(r, V2_PROP_HOSTAUTH, 4 + len + xdr_pad(len));
	xdr_put_opaque(&r->x, out->value);
	fix_credit(r);
	value_at = xdr_out_len(&r->x) - xdr_pad(len) - len;
	hostauth_sent(h, r->out, xdr_out_len(&r->x), value_at);
	if (p->spoil)
		p->spoil(r, out, value_at);
	return msg_send(r);
}

/* Check sections 3.2 to 3.4 of the profile on each message of the server. */
static void look_at(const struct run *r, struct prove *p, const struct v2_hdr *h, size_t len)
{
	int32_t left = (int32_t)(h->credit - r->flow.sent);

	if (p->messages++ == 0)
		p->first = h->props;
	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++)
		if (h->props.present & 1u << id &&
		    v2_props_get(&h->props, id) != v2_props_get(&p->first, id))
			p->differs = true;
	if (len > p->longest)
		p->longest = len;
	if (p->messages == 1 || left < p->least_credit)
		p->least_credit = left;
}

static void look_at_value(struct prove *p, const struct v2_hdr *h)
{
	struct hostauth_value v;

	if (!(h->props.present & 1u << V2_PROP_HOSTAUTH) ||
	    hostauth_value_decode(&v, h->props.hostauth) < 0)
		return;
	if (v.kind == HOSTAUTH_FAIL)
		p->fails = (uint16_t)v.reason;
	else
		p->goes_on |= v.kind == HOSTAUTH_MORE || v.kind == HOSTAUTH_TURN;
}

static enum verdict hear(struct run *r, struct hostauth *h, struct prove *p)
{
	struct hostauth_in in;
	struct rpc_error fault;
	struct wire_msg m;
	struct v2_hdr hdr = {0};
	int err;

	do {
		err = wire_await(&r->w, run_deadline(r), &m);
		if (err < 0)
			return failed(r, "host authentication: %s",
				      err == ERR_TIMEOUT ? "no answer in time" : r->w.why);
	} while (is_grant(r, &m));
	if (v2_decode(&hdr, &r->scratch, m.octets, RPC_MAX_SEGMENTS, &fault) < 0 ||
	    (hdr.htype != V2_CONNPROP_MIDDLE && hdr.htype != V2_CONNPROP_FINAL))
		return failed(r, "host authentication: instead of properties: %s",
			      msg_words(r, m.octets));
	in = (struct hostauth_in){.message = m.octets,
				  .has_value = hdr.props.present & 1u << V2_PROP_HOSTAUTH,
				  .value = hdr.props.hostauth,
				  .final = hdr.htype == V2_CONNPROP_FINAL,
				  .again = hdr.props.hostauth_again};
	look_at(r, p, &hdr, m.octets.len);
	look_at_value(p, &hdr);
	hostauth_recv(h, &in);
	return take_properties(r, &m) ? PASS : failed(r, "host authentication: no properties");
}

static size_t room_of(const struct run *r, const struct prove *p, bool first)
{
	size_t room = (threshold(r, first) - BESIDE_VALUE) & ~(size_t)3;
	size_t least = p->most + FIVE_PROPERTIES; /* room for the properties beside the value */

	return p->most && least < room ? least : room;
}

static enum verdict converse(struct run *r, struct hostauth *h, struct prove *p)
{
	enum verdict v = PASS;

	for (bool first = true; !v; first = false) {
		struct hostauth_out out;

		hostauth_work(h);
		if (!hostauth_next(h, room_of(r, p, first), FIVE_PROPERTIES, &out))
			return v;
		v = say(r, h, &out, p);
		if (!v && hostauth_status(h) == HOSTAUTH_GOING)
			v = hear(r, h, p);
	}
	return v;
}

static void note(struct run *r, struct hostauth *h, nsec_t began)
{
	struct proof_facts *p = &r->facts->proof;
	struct hostauth_facts facts;

	hostauth_facts(h, &facts);
	p->is_known = true;
	p->took = probe_now(r->env) - began;
	p->messages = facts.values_in + facts.values_out;
	p->octets = facts.octets_in + facts.octets_out;
	snprintf(p->name, sizeof(p->name), "%s", facts.peer);
	snprintf(p->suite, sizeof(p->suite), "%s", facts.suite);
}

static enum verdict judge(struct run *r, struct hostauth *h, enum verdict v)
{
	struct hostauth_facts facts;

	hostauth_facts(h, &facts);
	if (hostauth_status(h) == HOSTAUTH_ABSENT)
		return failed(r, "host authentication: the server has none");
	if (hostauth_status(h) == HOSTAUTH_FAILED)
		return failed(r, "host authentication: %s", facts.why);
	if (v || hostauth_status(h) == HOSTAUTH_DONE)
		return v;
	return failed(r, "host authentication: it is not over");
}

enum verdict prove_up(struct run *r)
{
	struct prove p = {.most = 0};

	return prove_with(r, &p);
}

enum verdict prove_with(struct run *r, struct prove *how)
{
	const struct leg_auth *auth = &r->o->identity.auth;
	struct hostauth_params p = {.role = HOSTAUTH_INITIATOR, .now = auth->now(auth)};
	enum verdict v = raw_up(r);
	uint8_t pdata[V1_PDATA_BYTES];
	nsec_t began = probe_now(r->env);
	struct hostauth *h;

	if (v)
		return v;
	run_pdata(pdata, true); /* as in raw_up() */
	p.request_data = view_of(pdata, sizeof(pdata));
	p.accept_data = view_of(r->w.pdata, r->w.pdata_len);
	p.creds = r->o->identity.creds;
	h = hostauth_new(&p);
	if (!h)
		return failed(r, "out of memory");
	r->version = 2;
	v = judge(r, h, converse(r, h, how));
	how->is_done = hostauth_status(h) == HOSTAUTH_DONE;
	if (!v && r->facts)
		note(r, h, began);
	hostauth_free(h);
	return v;
}
