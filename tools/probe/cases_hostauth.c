/* SPDX-License-Identifier: BSD-2-Clause */
/* Host authentication: requirements of docs/hostauth-profile.md for an acceptor. */
#include "hostauth/hostauth.h"
#include "hostauth/value.h"
#include "tools/probe/cases.h"
#include "tools/probe/hello.h"

enum {
	CREDIT_AT = 8,	 /* offset of the last octet of the credit in a message */
	SEQUENCE_AT = 2, /* offset in a value */
	KIND_AT = 1,
	THRESHOLD = 4096,
	EXT_ALPN = 16, /* of a ClientHello: RFC 8446 section 4.2 */
	EXT_VERSIONS = 43,
	GREASE = 0x8a,	     /* RFC 8701: a value of two such octets means nothing */
	LENGTHS = 2 + 1,     /* octets of the length of the protocol list, and of its first entry */
	TLS_1_2_LOW = 0x03,  /* low octet of 0x0303 */
	SUITES_1_2 = 0xc02b, /* ECDHE with AES-128-GCM, for ECDSA and Ed25519, then for RSA */
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

/* After a handshake with a fault the connection ends, and messages sent on it are not answered. */
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

/* Set one credit more than the proof covers, as an attacker on the network path could. */
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

/* The ClientHello in the first message, where it is one record. */
static struct view hello_of(const struct run *r, const struct hostauth_out *out, size_t value_at)
{
	return view_of(r->out + value_at + HOSTAUTH_VALUE_HEAD,
		       out->value.len - HOSTAUTH_VALUE_HEAD);
}

/* Writable address of octets of the message. */
static uint8_t *place(struct run *r, struct view octets)
{
	return r->out + (octets.data - r->out);
}

static void spoil_alpn(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	struct view ext = hello_extension(hello_of(r, out, value_at), EXT_ALPN);

	if (out->first && ext.len > LENGTHS)
		place(r, ext)[LENGTHS] ^= 1;
}

/* An extension is preceded by its number and length: replace the number by one without meaning. */
static void spoil_no_alpn(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	struct view ext = hello_extension(hello_of(r, out, value_at), EXT_ALPN);

	if (out->first && ext.len)
		memset(place(r, ext) - 4, GREASE, 2);
}

/* Only TLS 1.2, with cipher suites of TLS 1.2. */
static void spoil_version(struct run *r, const struct hostauth_out *out, size_t value_at)
{
	struct view hello = hello_of(r, out, value_at);
	struct view ext = hello_extension(hello, EXT_VERSIONS), suites = hello_suites(hello);

	if (!out->first || ext.len < 3)
		return;
	for (size_t i = 1; i + 1 < ext.len; i += 2)
		place(r, ext)[i + 1] = TLS_1_2_LOW;
	for (size_t i = 0; i + 1 < suites.len; i += 2) {
		place(r, suites)[i] = SUITES_1_2 >> 8;
		place(r, suites)[i + 1] = (uint8_t)(SUITES_1_2 + 4 * (i / 2 % 2));
	}
}

/* A ClientHello that the profile forbids: the first answer must be FAIL, or none. */
static enum verdict is_refused(struct run *r, struct prove *p)
{
	enum verdict v;

	/* With a pre-shared key the change would be refused anyway, because the proof of the key
	 * covers it. */
	if (r->o->identity.files.psk.path[0])
		return skipped(r, "only with a certificate");
	v = ends(r, p);
	if (p->goes_on)
		return failed(r, "the handshake goes on");
	if (!v && p->fails != HOSTAUTH_REASON_TLS)
		return failed(r, "closed without FAIL for TLS (reason %u)", p->fails);
	return v;
}

static enum verdict other_alpn(struct run *r)
{
	struct prove p = {.spoil = spoil_alpn};

	return is_refused(r, &p);
}

static enum verdict no_alpn(struct run *r)
{
	struct prove p = {.spoil = spoil_no_alpn};

	return is_refused(r, &p);
}

static enum verdict tls_1_2(struct run *r)
{
	struct prove p = {.spoil = spoil_version};

	return is_refused(r, &p);
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
	{"auth.alpn.other", "profile 4.3, 6", "MUST", "another application protocol is refused",
	 other_alpn, 2, false},
	{"auth.alpn.none", "profile 4.3, 6", "MUST", "so is none", no_alpn, 2, false},
	{"auth.tls-1.2", "profile 4.1, 6", "MUST", "TLS 1.2 is refused", tls_1_2, 2, false},
};

CASE_TABLE(cases_hostauth, cases);
