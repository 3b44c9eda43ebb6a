/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host authentication with a client: docs/hostauth-profile.md, as the acceptor.
 *
 * grade_auth.c judges each message of the client on arrival; this file answers it. A fault that
 * hostauth/ finds is a breach of the grade it belongs to, and ends the connection as a server
 * would. With --conformance some connections get a last message with a fault: a client that
 * continues then would accept any server.
 */
#include <stdio.h>

#include "tools/probe/listen.h"
#include "v2/error.h"

enum {
	CREDIT_AT = 8,
	KIND_AT = 1, /* offset in a value */
	SEQUENCE_AT = 3,
	BINDING_AT = 4,
	/* count, number of the property, and two lengths */
	BESIDE_VALUE = V2_PREFIX_BYTES + 4 + 12,
	PROPERTY = 12,
	OTHERS = 6 * PROPERTY, /* properties 1 to 5, and the unknown one */
};

const char *misdeed_name(enum misdeed m)
{
	static const char *const names[] = {
		[MISDEED_NONE] = "",
		[MISDEED_BINDING] = "a wrong binding value",
		[MISDEED_ALTERED] = "a message altered after it was bound",
		[MISDEED_SEQUENCE] = "a value out of sequence",
		[MISDEED_KIND] = "a value of an unknown kind",
	};

	return names[m];
}

void listen_auth_reset(struct listener *l)
{
	struct listen_auth *a = &l->auth;

	hostauth_free(a->h);
	*a = (struct listen_auth){.is_due = true};
	if (l->o->provoke)
		a->misdeed = (enum misdeed)(l->connections % MISDEEDS);
}

bool listen_auth_is_going(const struct listener *l)
{
	return l->auth.is_on && !l->auth.is_over;
}

bool listen_auth_waits(const struct listener *l)
{
	return listen_auth_is_going(l) || l->auth.is_spoilt || l->auth.is_refused;
}

/* --- messages to the client --- */

/* Section 3.4 of the profile; the client announced its size in its first message. */
static size_t room_of(const struct listener *l)
{
	uint32_t peer = v2_props_get(&l->auth.first, V2_PROP_RBSIZ);
	size_t most = peer >= V2_FIRST_MESSAGE_BYTES && peer < RUN_INLINE ? peer : RUN_INLINE;

	return (most - BESIDE_VALUE) & ~(size_t)3;
}

static void put_list(struct xdr_out *x, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		xdr_put_u32(x, words[i]);
}

static void put_properties(struct xdr_out *x, bool first)
{
	static const uint32_t own[] = {
		V2_PROP_SBSIZ, 4, RUN_INLINE,	     V2_PROP_RBSIZ, 4, RUN_INLINE,
		V2_PROP_RSSIZ, 4, RUN_SEGMENT_BYTES, V2_PROP_RCSIZ, 4, RUN_SEGMENTS,
		V2_PROP_BRS,   4, RPC_REV_NONE};
	static const uint32_t unknown[] = {LISTEN_UNKNOWN_PROPERTY, 4, 0x3f3f3f3f};

	put_list(x, own, sizeof(own) / sizeof(own[0]));
	if (first)
		put_list(x, unknown, sizeof(unknown) / sizeof(unknown[0]));
}

/* Put the fault into the last message, after the proof was computed. */
static void spoil(struct listener *l, uint8_t *message, uint8_t *value)
{
	struct xdr_out credit;

	switch (l->auth.misdeed) {
	case MISDEED_NONE:
	case MISDEEDS:
		return;
	case MISDEED_BINDING:
		value[BINDING_AT] ^= 1;
		break;
	case MISDEED_ALTERED:
		xdr_out_init(&credit, message + CREDIT_AT, 4);
		xdr_put_u32(&credit, l->granted + 1);
		break;
	case MISDEED_SEQUENCE:
		value[SEQUENCE_AT] ^= 4;
		break;
	case MISDEED_KIND:
		value[KIND_AT] = 9;
		break;
	}
	l->auth.is_spoilt = true;
}

static void say(struct listener *l, const struct hostauth_out *out)
{
	uint32_t len = (uint32_t)out->value.len, pad = xdr_pad(len);
	bool others = out->first || out->final;
	uint8_t buf[RUN_INLINE];
	struct xdr_out x;
	size_t value_at;

	xdr_out_init(&x, buf, sizeof(buf));
	xdr_put_u32(&x, LISTEN_PROPS_XID);
	xdr_put_u32(&x, V2_VERSION);
	xdr_put_u32(&x, listener_credit(l));
	xdr_put_u32(&x, out->final ? V2_CONNPROP_FINAL : V2_CONNPROP_MIDDLE);
	xdr_put_u32(&x, 1u + (others ? 5u : 0u) + (out->first ? 1u : 0u));
	if (others)
		put_properties(&x, out->first);
	xdr_put_u32(&x, V2_PROP_HOSTAUTH);
	xdr_put_u32(&x, 4 + len + pad);
	xdr_put_opaque(&x, out->value);
	if (x.failed)
		return;
	value_at = xdr_out_len(&x) - pad - len;
	hostauth_sent(l->auth.h, buf, xdr_out_len(&x), value_at);
	if (out->final)
		spoil(l, buf, buf + value_at);
	l->auth.is_due = true;
	listener_send(l, &x);
}

/* --- results --- */

static void note(struct listener *l)
{
	struct listen_auth *a = &l->auth;
	struct proof_facts *p = &l->facts.proof;
	struct hostauth_facts facts;

	hostauth_facts(a->h, &facts);
	*p = (struct proof_facts){
		.is_known = true,
		.messages = facts.values_in + facts.values_out,
		.octets = facts.octets_in + facts.octets_out,
		.took = probe_now(l->env) - a->began - a->paused,
	};
	snprintf(p->name, sizeof(p->name), "%s", facts.peer);
	snprintf(p->suite, sizeof(p->suite), "%s", facts.suite);
	snprintf(p->why, sizeof(p->why), "%s", facts.why);
}

static void blame(struct listener *l)
{
	struct hostauth_facts facts;

	hostauth_facts(l->auth.h, &facts);
	switch (facts.cause) {
	case HOSTAUTH_CAUSE_VALUE:
	case HOSTAUTH_CAUSE_LIMIT:
		grade_breach(l, GRADE_AUTH_VALUE, "%s", facts.why);
		break;
	case HOSTAUTH_CAUSE_BINDING:
		grade_breach(l, GRADE_AUTH_BINDING, "%s", facts.why);
		break;
	case HOSTAUTH_CAUSE_PEER:
		l->auth.is_refused = true;
		grade_breach(l, GRADE_AUTH_PROVED, "%s", facts.why);
		break;
	case HOSTAUTH_CAUSE_NONE:
	case HOSTAUTH_CAUSE_OWN:
		break;
	case HOSTAUTH_CAUSE_TLS:
	case HOSTAUTH_CAUSE_NAME:
		grade_breach(l, GRADE_AUTH_PROVED, "%s%s%s", facts.peer, *facts.peer ? ": " : "",
			     facts.why);
		break;
	}
}

/* Return: whether the connection continues. */
static bool conclude(struct listener *l)
{
	struct listen_auth *a = &l->auth;
	enum hostauth_status status = hostauth_status(a->h);
	bool refused;

	if (status == HOSTAUTH_GOING)
		return true;
	a->is_over = true;
	if (status == HOSTAUTH_DONE) {
		grade_ok(l, GRADE_AUTH_PROVED);
		grade_ok(l, GRADE_AUTH_BINDING);
	} else {
		blame(l);
	}
	if (!a->is_spoilt)
		note(l);
	refused = a->is_refused;
	hostauth_free(a->h);
	a->h = NULL;
	/* The end that sent FAIL closes the connection. */
	return status == HOSTAUTH_DONE || refused;
}

static bool begin(struct listener *l)
{
	const struct leg_auth *auth = &l->o->identity.auth;
	struct hostauth_params p = {.role = HOSTAUTH_ACCEPTOR,
				    .creds = l->o->identity.creds,
				    .request_data = view_of(l->w.pdata, l->w.pdata_len),
				    .now = auth->now(auth)};
	uint8_t pdata[V1_PDATA_BYTES];

	run_pdata(pdata, true); /* the private data with which the connection was accepted */
	p.accept_data = view_of(pdata, sizeof(pdata));
	l->auth.h = hostauth_new(&p);
	return l->auth.h != NULL;
}

bool listen_auth_serve(struct listener *l, struct view in)
{
	struct listen_auth *a = &l->auth;
	struct hostauth_out out;
	struct hostauth_in hin;
	struct rpc_error fault;
	struct v2_hdr h;

	if (v2_decode(&h, &l->msg, in, RPC_MAX_SEGMENTS, &fault) < 0)
		return false;
	if (h.htype == V2_GRANT || h.htype == V2_ERROR)
		return true;
	if (h.htype != V2_CONNPROP_MIDDLE && h.htype != V2_CONNPROP_FINAL)
		return false; /* already judged: section 3.5 */
	if (!a->h && !begin(l))
		return false;
	hin = (struct hostauth_in){.message = in,
				   .has_value = h.props.present & 1u << V2_PROP_HOSTAUTH,
				   .value = h.props.hostauth,
				   .final = h.htype == V2_CONNPROP_FINAL,
				   .again = h.props.hostauth_again};
	if (hostauth_recv(a->h, &hin) == HOSTAUTH_GOING)
		grade_ok(l, GRADE_AUTH_VALUE);
	hostauth_work(a->h);
	if (hostauth_next(a->h, room_of(l), OTHERS, &out))
		say(l, &out);
	return conclude(l);
}

void listen_auth_end(struct listener *l, bool is_late)
{
	struct listen_auth *a = &l->auth;

	if (a->is_spoilt && is_late)
		grade_breach(l, GRADE_AUTH_BELIEF, "%s: the connection goes on",
			     misdeed_name(a->misdeed));
	else if (a->is_spoilt)
		grade_ok(l, GRADE_AUTH_BELIEF);
	if (a->is_refused && is_late)
		grade_breach(l, GRADE_AUTH_FAIL, "the connection goes on after FAIL");
	else if (a->is_refused)
		grade_ok(l, GRADE_AUTH_FAIL);
	if (!listen_auth_is_going(l) || !a->is_due || l->arrived == 0)
		return;
	if (is_late)
		grade_breach(l, GRADE_AUTH_TURN, "no answer in time");
	else
		grade_breach(l, GRADE_AUTH_FAIL, "the connection ends in its turn, without FAIL");
}
