/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for a client that authenticates (docs/hostauth-profile.md), checked on each message. */
#include <string.h>

#include "hostauth/value.h"
#include "tools/probe/hello.h"
#include "tools/probe/listen.h"
#include "v2/error.h"

static bool is_properties(const struct v2_hdr *h)
{
	return h->htype == V2_CONNPROP_MIDDLE || h->htype == V2_CONNPROP_FINAL;
}

static bool has_value(const struct v2_hdr *h)
{
	return h->props.present & 1u << V2_PROP_HOSTAUTH;
}

/* Sections 3.1, 3.3. Section 7.4: a later profile is not checked here. */
static void look_at_first(struct listener *l, const struct v2_hdr *h)
{
	struct hostauth_value v;
	int err;

	if (!is_properties(h) || !has_value(h))
		return;
	err = hostauth_value_decode(&v, h->props.hostauth);
	if (err == ERR_VERS && h->props.hostauth.len)
		return;
	judge(l, GRADE_AUTH_FIRST,
	      h->htype == V2_CONNPROP_MIDDLE && err == 0 && hostauth_is_plausible(&v) &&
		      !h->props.hostauth_again,
	      "no ClientHello in a first value of an RDMA2_CONNPROP_MIDDLE");
	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++)
		judge(l, GRADE_AUTH_FIRST, h->props.present & 1u << id,
		      "property %u is not in the first message", id);
	l->auth.is_on = l->o->identity.is_given && err != ERR_VERS;
	l->auth.first = h->props;
	l->auth.first.hostauth = view_of(NULL, 0);
}

/* Section 3.3. */
static void look_at_properties(struct listener *l, const struct v2_hdr *h)
{
	bool final = h->htype == V2_CONNPROP_FINAL;

	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++) {
		bool is_there = h->props.present & 1u << id;
		uint32_t first = v2_props_get(&l->auth.first, id);
		uint32_t now = v2_props_get(&h->props, id);

		if (is_there)
			judge(l, GRADE_AUTH_SAME, now == first, "property %u: %u after %u", id, now,
			      first);
		if (final)
			judge(l, GRADE_AUTH_FINAL, is_there, "property %u is not in it", id);
	}
}

/* Sections 4.1 to 4.3; the ClientHello may arrive in pieces. */
static void look_at_hello(struct listener *l, const struct v2_hdr *h)
{
	struct listen_auth *a = &l->auth;
	struct hostauth_value v;
	const char *fault;

	if (a->has_hello || !has_value(h) || hostauth_value_decode(&v, h->props.hostauth) < 0 ||
	    (v.kind != HOSTAUTH_MORE && v.kind != HOSTAUTH_TURN))
		return;
	a->has_hello = v.kind == HOSTAUTH_TURN;
	if (v.tls.len > sizeof(a->hello) - a->hello_len) {
		a->has_hello = true;
		grade_breach(l, GRADE_AUTH_HELLO, "more than %d octets", HELLO_MOST);
		return;
	}
	memcpy(a->hello + a->hello_len, v.tls.data, v.tls.len);
	a->hello_len += v.tls.len;
	if (!a->has_hello)
		return;
	fault = hello_fault(view_of(a->hello, a->hello_len));
	judge(l, GRADE_AUTH_HELLO, !fault, "%s", fault);
}

static void look_at_turn(struct listener *l, const struct v2_hdr *h)
{
	int32_t left = (int32_t)(h->credit - l->sent);

	/* The client answers a value that was not sent yet. */
	judge(l, GRADE_AUTH_TURN, l->auth.is_due, "message %u, unasked", l->arrived);
	l->auth.is_due = false;
	judge(l, GRADE_AUTH_CREDIT, left >= 1, "message %u leaves %d", l->arrived, (int)left);
}

void grade_auth(struct listener *l, const struct v2_hdr *h)
{
	struct listen_auth *a = &l->auth;
	const struct v2_type *type = v2_type_find(h->htype);

	if (l->arrived == 1)
		look_at_first(l, h);
	if (l->arrived == 1 && a->is_on)
		a->began = probe_now(l->env);
	if (a->is_spoilt && type->flags & V2_IS_CALL)
		grade_breach(l, GRADE_AUTH_BELIEF, "%s: it is called all the same",
			     misdeed_name(a->misdeed));
	if (!listen_auth_is_going(l) || h->htype == V2_GRANT || h->htype == V2_ERROR)
		return;
	judge(l, GRADE_AUTH_EARLY, is_properties(h), "%s before it was over", type->name);
	if (!is_properties(h))
		return;
	look_at_turn(l, h);
	look_at_properties(l, h);
	look_at_hello(l, h);
}
