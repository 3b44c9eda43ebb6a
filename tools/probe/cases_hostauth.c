/* SPDX-License-Identifier: BSD-2-Clause */
/* Host authentication: what docs/hostauth-profile.md demands of an acceptor. */
#include "hostauth/hostauth.h"
#include "hostauth/value.h"
#include "tools/probe/cases.h"

enum {
	CREDIT_AT = 8,	 /* of a message; its last octet */
	SEQUENCE_AT = 2, /* of a value */
	KIND_AT = 1,
	THRESHOLD = 4096,
};

static enum verdict proved(struct run *r)
{
	struct prove p = {.most = 0};

	return prove_with(r, &p) ?: fence(r) ?: passed(r, "in %u messages of the server", p.messages);
}

static enum verdict properties(struct run *r)
{
	struct prove p = {.most = 0};
	enum verdict v = prove_with(r, &p);

	for (uint32_t id = V2_PROP_SBSIZ; !v && id <= V2_PROP_BRS; id++)
		if (!(p.first.present & 1u << id))
			v = failed(r, "property %u is not in its first message", id);
	return v;
}

static enum verdict same(struct run *r)
{
	struct prove p = {.most = 0};
	enum verdict v = prove_with(r, &p);

	return v ?: p.differs ? failed(r, "a property has another value later") : PASS;
}

static enum verdict size(struct run *r)
{
	struct prove p = {.most = 0};
	enum verdict v = prove_with(r, &p);

	if (p.longest > THRESHOLD)
		return failed(r, "%zu octets in one message", p.longest);
	return v ?: passed(r, "%zu octets at most", p.longest);
}

static enum verdict credit(struct run *r)
{
	struct prove p = {.most = 0};
	enum verdict v = prove_with(r, &p);

	if (p.messages && p.least_credit < 1)
		return failed(r, "a message leaves a credit of %d", (int)p.least_credit);
	return v;
}

static enum verdict pieces(struct run *r)
{
	struct prove p = {.most = HOSTAUTH_MIN_ROOM};

	return prove_with(r, &p) ?: fence(r) ?: passed(r, "in %u messages of the server", p.messages);
}

/* The handshake was spoilt: the connection ends, and whatever was sent on it draws nothing. */
static enum verdict ends(struct run *r, struct prove *p)
{
	enum verdict v = prove_with(r, p);
	struct wire_msg m;
	int err;

	if (!v || p->is_done)
		return failed(r, "it is taken");
	do {
		err = wire_await(&r->w, run_deadline(r), &m);
		if (err == 0 && m.octets.len >= V2_PREFIX_BYTES &&
		    xdr_peek_u32(m.octets.data + 12) >= V2_CALL_EXTERNAL)
			return failed(r, "it was processed");
	} while (err == 0);
	return err == ERR_TIMEOUT ? failed(r, "the connection goes on") : PASS;
}

static void spoil_sequence(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	if (!out->first && !out->final)
		r->out[value_at + SEQUENCE_AT + 1] ^= 4;
}

/* In pieces, so that there is a value in the middle. */
static enum verdict sequence(struct run *r)
{
	struct prove p = {.most = HOSTAUTH_MIN_ROOM, .spoil = spoil_sequence};

	return ends(r, &p);
}

static void spoil_kind(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	if (!out->first)
		r->out[value_at + KIND_AT] = 9;
}

static enum verdict kind(struct run *r)
{
	struct prove p = {.spoil = spoil_kind};

	return ends(r, &p);
}

static void spoil_binding(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	if (out->final)
		r->out[value_at + HOSTAUTH_VALUE_HEAD] ^= 1;
}

static enum verdict binding(struct run *r)
{
	struct prove p = {.spoil = spoil_binding};

	return ends(r, &p);
}

/* A credit more than what was bound: as somebody on the way could. */
static void spoil_credit(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	(void)value_at;
	if (out->final)
		r->out[CREDIT_AT + 3]++;
}

static enum verdict altered(struct run *r)
{
	struct prove p = {.spoil = spoil_credit};

	return ends(r, &p);
}

static void call_instead(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	(void)value_at;
	if (!out->first)
		null_begin(r);
}

static enum verdict early_call(struct run *r)
{
	struct prove p = {.spoil = call_instead};

	return ends(r, &p);
}

static const struct probe_case cases[] = {
	{"auth.proved", "profile 3.6", "MUST", "the server proves who it is, then serves", proved,
	 2, false},
	{"auth.properties", "profile 3.3", "MUST", "properties 1 to 5 are in its first message",
	 properties, 2, false},
	{"auth.same", "profile 3.3", "MUST NOT", "they change until the end", same, 2, false},
	{"auth.size", "profile 3.4", "MUST NOT", "a message is longer than 4096 octets", size, 2,
	 false},
	{"auth.credit", "profile 3.2", "MUST", "each message grants one more", credit, 2, false},
	{"auth.pieces", "profile 3.2", "MUST", "a stretch in pieces is taken, each acknowledged",
	 pieces, 2, false},
	{"auth.sequence", "profile 2, 6", "MUST", "a value out of sequence ends the connection",
	 sequence, 2, false},
	{"auth.kind", "profile 2, 6", "MUST", "an unknown kind ends the connection", kind, 2,
	 false},
	{"auth.binding", "profile 5", "MUST", "a wrong binding value ends the connection", binding,
	 2, false},
	{"auth.altered", "profile 5", "MUST", "so does a message that was altered", altered, 2,
	 false},
	{"auth.early-call", "profile 3.5", "MUST NOT", "a Call before the end is processed",
	 early_call, 2, false},
};

CASE_TABLE(cases_hostauth, cases);
