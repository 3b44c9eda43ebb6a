/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *     initiator                            acceptor
 *     work: ClientHello                    waits for a value that looks like one
 *     (MORE .. ACK)* TURN  ------------->  work: ServerHello to Finished
 *     work: verifies    <-------------  (MORE .. ACK)* TURN
 *     (MORE .. ACK)* BIND  ------------->  work: verifies, then the binding
 *     verifies the binding  <-----------  BIND
 *     DONE                                 DONE
 *
 * The two ends take turns. The value that was received decides which value is to be sent (.say),
 * and the value that was sent decides which values may come (.expect). Any other value is a
 * failure. A step of TLS takes long, so hostauth_recv() never takes one: hostauth_work() does.
 */
#include "hostauth/hostauth.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hostauth/bind.h"
#include "hostauth/tls.h"
#include "hostauth/value.h"

enum {
	VALUE_MAX = 4096, /* no message is longer: section 3.4 */
	/* most octets of a record with an alert; a record with a message that needs work is
	 * longer */
	ALERT_MAX = 32,
};

enum say { SAY_NOTHING, SAY_STREAM, SAY_ACK, SAY_BIND, SAY_FAIL };
enum expect { EXPECT_NOTHING, EXPECT_STREAM, EXPECT_ACK, EXPECT_BIND };

struct hostauth {
	enum hostauth_role role;
	enum hostauth_status status;
	enum hostauth_cause cause;
	struct hostauth_creds *creds;
	int64_t now;
	struct tls tls;
	struct hostauth_bind bind;

	enum say say;
	enum expect expect;
	bool work_due;
	bool bound;	 /* our BIND was sent; no CONNPROP may follow it */
	bool peer_bound; /* the acceptor has the initiator's BIND */
	uint8_t digest[HOSTAUTH_BINDING_BYTES], binding[HOSTAUTH_BINDING_BYTES];

	unsigned values_in, values_out;
	size_t octets_in, octets_out, tls_in;
	struct hostauth_value out; /* the value being sent */
	char why[HOSTAUTH_TEXT_BYTES];
	struct tls_name peer;
	bool has_hello; /* acceptor: the initiator's first turn is over */
	uint8_t value[VALUE_MAX];
};

static enum hostauth_role other(const struct hostauth *h)
{
	return h->role == HOSTAUTH_INITIATOR ? HOSTAUTH_ACCEPTOR : HOSTAUTH_INITIATOR;
}

/* Section 6: the answer is FAIL, if one may still be sent. */
static enum hostauth_status fail(struct hostauth *h, enum hostauth_cause cause, const char *why)
{
	h->status = HOSTAUTH_FAILED;
	h->cause = cause;
	h->work_due = false;
	h->expect = EXPECT_NOTHING;
	h->say = h->bound || cause == HOSTAUTH_CAUSE_PEER ? SAY_NOTHING : SAY_FAIL;
	if (why)
		snprintf(h->why, sizeof(h->why), "%s", why);
	return h->status;
}

/* The handshake is done. Its keys protect nothing afterwards, so they are wiped. */
static void done(struct hostauth *h)
{
	h->status = HOSTAUTH_DONE;
	h->say = SAY_NOTHING;
	h->expect = EXPECT_NOTHING;
	tls_end(&h->tls);
	hostauth_bind_fini(&h->bind);
}

struct hostauth *hostauth_new(const struct hostauth_params *params)
{
	struct hostauth *h = mem_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->role = params->role;
	h->now = params->now;
	h->creds = hostauth_creds_get(params->creds);
	if (hostauth_bind_init(&h->bind, params->request_data, params->accept_data)) {
		hostauth_free(h);
		return NULL;
	}
	if (h->role == HOSTAUTH_INITIATOR) {
		h->say = SAY_STREAM;
		h->work_due = true;
	} else {
		h->expect = EXPECT_STREAM;
	}
	return h;
}

void hostauth_free(struct hostauth *h)
{
	if (!h)
		return;
	tls_end(&h->tls);
	hostauth_bind_fini(&h->bind);
	hostauth_creds_put(h->creds);
	OPENSSL_cleanse(h, sizeof(*h));
	mem_free(h);
}

static enum hostauth_status out_of_turn(struct hostauth *h)
{
	return fail(h, HOSTAUTH_CAUSE_VALUE, "a value that is not the answer due");
}

/* Limit of TLS octets from the peer, so far: section 8. */
static size_t most_of(const struct hostauth *h)
{
	return h->role == HOSTAUTH_ACCEPTOR && !h->has_hello ? HOSTAUTH_MAX_HELLO
							     : HOSTAUTH_MAX_TLS;
}

/* Adds octets of the peer's TLS stream. */
static bool feed(struct hostauth *h, const struct hostauth_value *v)
{
	if (!h->tls.ssl && !hostauth_is_plausible(v)) {
		fail(h, HOSTAUTH_CAUSE_VALUE, "the first value holds no ClientHello");
		return false;
	}
	h->tls_in += v->tls.len;
	if (h->tls_in > most_of(h)) {
		fail(h, HOSTAUTH_CAUSE_LIMIT, "more TLS octets than are accepted");
		return false;
	}
	h->has_hello |= v->kind == HOSTAUTH_TURN;
	if ((!h->tls.ssl && tls_begin(&h->tls, h->creds, h->now)) || tls_feed(&h->tls, v->tls)) {
		fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
		return false;
	}
	return true;
}

static enum hostauth_status on_stream(struct hostauth *h, const struct hostauth_value *v)
{
	if (h->expect != EXPECT_STREAM)
		return out_of_turn(h);
	if (!feed(h, v))
		return h->status;
	h->expect = EXPECT_NOTHING;
	h->say = v->kind == HOSTAUTH_MORE ? SAY_ACK : SAY_STREAM;
	h->work_due = v->kind == HOSTAUTH_TURN;
	return h->status;
}

static enum hostauth_status on_ack(struct hostauth *h)
{
	if (h->expect != EXPECT_ACK)
		return out_of_turn(h);
	h->expect = EXPECT_NOTHING;
	h->say = SAY_STREAM;
	return h->status;
}

static enum hostauth_status check_binding(struct hostauth *h)
{
	uint8_t want[HOSTAUTH_BINDING_BYTES];
	bool same;

	if (hostauth_bind_value(&h->bind, other(h), h->digest, want))
		return fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
	same = CRYPTO_memcmp(want, h->binding, sizeof(want)) == 0;
	OPENSSL_cleanse(want, sizeof(want));
	if (!same)
		return fail(h, HOSTAUTH_CAUSE_BINDING,
			    "what was negotiated was altered on the way");
	return h->status;
}

/* From the initiator: the rest of its stream, then its binding. From the acceptor: the end. */
static enum hostauth_status on_bind(struct hostauth *h, const struct hostauth_value *v)
{
	memcpy(h->binding, v->binding.data, sizeof(h->binding));
	if (h->role == HOSTAUTH_INITIATOR) {
		if (h->expect != EXPECT_BIND || v->tls.len)
			return out_of_turn(h);
		if (check_binding(h) == HOSTAUTH_GOING)
			done(h);
		return h->status;
	}
	if (h->expect != EXPECT_STREAM || !h->tls.ssl)
		return out_of_turn(h);
	if (!feed(h, v))
		return h->status;
	h->expect = EXPECT_NOTHING;
	h->say = SAY_BIND;
	h->peer_bound = true;
	h->work_due = true;
	return h->status;
}

static enum hostauth_status on_fail(struct hostauth *h, const struct hostauth_value *v)
{
	static const char *const words[] = {
		[HOSTAUTH_REASON_VALUE] = "the peer refused: a value of ours",
		[HOSTAUTH_REASON_TLS] = "the peer refused: TLS",
		[HOSTAUTH_REASON_BINDING] = "the peer refused: what was negotiated was altered",
		[HOSTAUTH_REASON_NAME] = "the peer refused: our name is not allowed there",
		[HOSTAUTH_REASON_LIMIT] = "the peer refused: a limit of its own",
		[HOSTAUTH_REASON_OWN] = "the peer refused: a failure of its own",
	};

	/* The engine processes all input that it has. So here it gets only an alert, and no record
	 * that needs hostauth_work(). */
	if (v->reason == HOSTAUTH_REASON_TLS && v->tls.len && v->tls.len <= ALERT_MAX &&
	    h->tls.ssl && !tls_is_rest(&h->tls) && tls_feed(&h->tls, v->tls) == 0) {
		tls_alert(&h->tls, h->why);
		return fail(h, HOSTAUTH_CAUSE_PEER, NULL);
	}
	return fail(h, HOSTAUTH_CAUSE_PEER, words[v->reason]);
}

static enum hostauth_status on_value(struct hostauth *h, const struct hostauth_value *v)
{
	switch (v->kind) {
	case HOSTAUTH_MORE:
	case HOSTAUTH_TURN:
		return on_stream(h, v);
	case HOSTAUTH_ACK:
		return on_ack(h);
	case HOSTAUTH_BIND:
		return on_bind(h, v);
	case HOSTAUTH_FAIL:
		return on_fail(h, v);
	}
	return h->status;
}

/* Adds the message to T. For a message with a BIND, the digest is computed as well; the binding
 * value does not cover itself. */
static bool note_message(struct hostauth *h, const struct hostauth_in *in,
			 const struct hostauth_value *v)
{
	int err = 0;

	if (v->kind == HOSTAUTH_BIND)
		err = hostauth_bind_digest(&h->bind, other(h), in->message,
					   (size_t)(v->binding.data - in->message.data), h->digest);
	hostauth_bind_message(&h->bind, other(h), in->message);
	if (err)
		fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
	return !err;
}

/* Section 7: only the first message shows that a peer does not have the profile. */
static enum hostauth_status absent(struct hostauth *h)
{
	h->status = HOSTAUTH_ABSENT;
	h->say = SAY_NOTHING;
	h->work_due = false;
	tls_end(&h->tls);
	hostauth_bind_fini(&h->bind);
	return h->status;
}

bool hostauth_absent(struct hostauth *h)
{
	if (h->status != HOSTAUTH_GOING || h->values_in || h->work_due)
		return false;
	absent(h);
	return true;
}

/* Section 7.3: an initiator whose first message is not CONNPROP_MIDDLE does not have the profile,
 * whatever is in it. */
static bool is_first_final(const struct hostauth *h, const struct hostauth_in *in)
{
	return h->role == HOSTAUTH_ACCEPTOR && h->values_in == 0 && in->final;
}

enum hostauth_status hostauth_recv(struct hostauth *h, const struct hostauth_in *in)
{
	struct hostauth_value v;
	int err;

	if (h->status != HOSTAUTH_GOING)
		return h->status;
	err = in->has_value && !is_first_final(h, in) ? hostauth_value_decode(&v, in->value)
						      : ERR_VERS;
	if (err == ERR_VERS && h->values_in == 0 && h->expect != EXPECT_NOTHING && !in->again)
		return absent(h);
	if (h->say != SAY_NOTHING || h->work_due)
		return out_of_turn(h);
	if (in->again)
		return fail(h, HOSTAUTH_CAUSE_VALUE, "two values in one message");
	if (err)
		return fail(h, HOSTAUTH_CAUSE_VALUE,
			    in->has_value ? "a value that cannot be read" : "the value is missing");
	if (v.sequence != h->values_in || (v.kind == HOSTAUTH_BIND) != in->final)
		return out_of_turn(h);
	if (++h->values_in > HOSTAUTH_MAX_VALUES)
		return fail(h, HOSTAUTH_CAUSE_LIMIT, "more values than are accepted");
	h->octets_in += in->value.len;
	return note_message(h, in, &v) ? on_value(h, &v) : h->status;
}

bool hostauth_is_work_due(const struct hostauth *h)
{
	return h->work_due;
}

/* TLS is complete: checks the peer's name, and that nothing was altered so far. */
static void on_complete(struct hostauth *h)
{
	if (hostauth_bind_keys(&h->bind, h->tls.ssl)) {
		fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
		return;
	}
	if (tls_peer(&h->tls, h->creds, &h->peer, h->why)) {
		fail(h, HOSTAUTH_CAUSE_NAME, NULL);
		return;
	}
	if (h->role == HOSTAUTH_INITIATOR)
		return;
	if (!h->peer_bound || tls_pending(&h->tls).len)
		out_of_turn(h);
	else
		check_binding(h);
}

void hostauth_work(struct hostauth *h)
{
	int err;

	if (!h->work_due)
		return;
	h->work_due = false;
	if (!h->tls.ssl && tls_begin(&h->tls, h->creds, h->now)) {
		fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
		return;
	}
	err = tls_step(&h->tls, h->why);
	if (err == ERR_PROTO && h->tls.shows_key)
		tls_shown(&h->tls, &h->peer);
	if (err == ERR_PROTO)
		fail(h, h->tls.is_too_much ? HOSTAUTH_CAUSE_LIMIT : HOSTAUTH_CAUSE_TLS, NULL);
	else if (err == 0 && tls_is_rest(&h->tls))
		fail(h, HOSTAUTH_CAUSE_VALUE, "octets follow the TLS handshake");
	else if (err == 0)
		on_complete(h);
	/* the peer's turn gave TLS nothing: TLS still waits for the peer */
	else if (h->peer_bound || !tls_pending(&h->tls).len)
		out_of_turn(h);
}

static enum hostauth_reason reason_of(const struct hostauth *h)
{
	switch (h->cause) {
	case HOSTAUTH_CAUSE_VALUE:
		return HOSTAUTH_REASON_VALUE;
	case HOSTAUTH_CAUSE_TLS:
		return HOSTAUTH_REASON_TLS;
	case HOSTAUTH_CAUSE_BINDING:
		return HOSTAUTH_REASON_BINDING;
	case HOSTAUTH_CAUSE_NAME:
		return HOSTAUTH_REASON_NAME;
	case HOSTAUTH_CAUSE_LIMIT:
		return HOSTAUTH_REASON_LIMIT;
	default:
		return HOSTAUTH_REASON_OWN;
	}
}

/* The next part of the TLS stream in @room octets of value. */
static void next_of_stream(struct hostauth *h, size_t room, size_t properties)
{
	struct view left = tls_pending(&h->tls);
	size_t most;
	bool last = h->tls.complete;

	room -= last || h->values_out == 0 ? properties : 0;
	most = room - HOSTAUTH_VALUE_HEAD - (last ? HOSTAUTH_BINDING_BYTES : 0);
	h->out.kind = left.len > most ? HOSTAUTH_MORE : last ? HOSTAUTH_BIND : HOSTAUTH_TURN;
	h->out.tls = view_of(left.data, left.len < most ? left.len : most);
}

bool hostauth_next(struct hostauth *h, size_t room, size_t properties, struct hostauth_out *out)
{
	size_t head;

	if (h->work_due || h->say == SAY_NOTHING)
		return false;
	if (room > VALUE_MAX)
		room = VALUE_MAX;
	h->out = (struct hostauth_value){.sequence = (uint16_t)h->values_out};
	switch (h->say) {
	case SAY_NOTHING:
		return false;
	case SAY_STREAM:
		next_of_stream(h, room, properties);
		break;
	case SAY_ACK:
		h->out.kind = HOSTAUTH_ACK;
		break;
	case SAY_BIND:
		h->out.kind = HOSTAUTH_BIND;
		break;
	case SAY_FAIL:
		h->out.kind = HOSTAUTH_FAIL;
		h->out.reason = reason_of(h);
		if (h->cause == HOSTAUTH_CAUSE_TLS && !h->tls.complete)
			h->out.tls = tls_pending(&h->tls);
		/* no alert exceeds this */
		if (h->out.tls.len >
		    HOSTAUTH_MIN_ROOM - HOSTAUTH_VALUE_HEAD - HOSTAUTH_REASON_BYTES)
			h->out.tls.len = 0;
		break;
	}
	head = hostauth_value_head(h->value, &h->out);
	if (h->out.tls.len)
		memcpy(h->value + head, h->out.tls.data, h->out.tls.len);
	*out = (struct hostauth_out){
		.value = view_of(h->value, head + h->out.tls.len),
		.first = h->values_out == 0,
		.final = h->out.kind == HOSTAUTH_BIND,
	};
	return true;
}

static bool write_binding(struct hostauth *h, struct view message, size_t at, uint8_t *binding)
{
	uint8_t digest[HOSTAUTH_BINDING_BYTES];

	if (hostauth_bind_digest(&h->bind, h->role, message, at, digest) == 0 &&
	    hostauth_bind_value(&h->bind, h->role, digest, binding) == 0)
		return true;
	memset(binding, 0, HOSTAUTH_BINDING_BYTES); /* the peer will reject it */
	return false;
}

enum hostauth_status hostauth_sent(struct hostauth *h, uint8_t *message, size_t len,
				   size_t value_at)
{
	struct view whole = view_of(message, len);
	size_t at = value_at + HOSTAUTH_VALUE_HEAD;

	h->say = SAY_NOTHING;
	h->values_out++;
	h->octets_out += len - value_at;
	if (h->status != HOSTAUTH_GOING)
		return h->status;
	if (h->out.kind == HOSTAUTH_BIND) {
		h->bound = true;
		if (!write_binding(h, whole, at, message + at))
			return fail(h, HOSTAUTH_CAUSE_OWN, "no memory");
	}
	hostauth_bind_message(&h->bind, h->role, whole);
	tls_consume(&h->tls, h->out.tls.len);
	h->expect = h->out.kind == HOSTAUTH_MORE   ? EXPECT_ACK
		    : h->out.kind == HOSTAUTH_BIND ? EXPECT_BIND
						   : EXPECT_STREAM;
	if (h->out.kind == HOSTAUTH_BIND && h->role == HOSTAUTH_ACCEPTOR)
		done(h);
	return h->status;
}

enum hostauth_status hostauth_status(const struct hostauth *h)
{
	return h->status;
}

void hostauth_facts(const struct hostauth *h, struct hostauth_facts *facts)
{
	*facts = (struct hostauth_facts){
		.cause = h->cause,
		.why = h->why,
		.peer = h->peer.text,
		.peer_kind = h->peer.kind,
		.suite = h->tls.suite,
		.values_in = h->values_in,
		.values_out = h->values_out,
		.octets_in = h->octets_in,
		.octets_out = h->octets_out,
	};
}

const char *hostauth_cause_name(enum hostauth_cause cause)
{
	static const char *const names[] = {
		[HOSTAUTH_CAUSE_NONE] = "none", [HOSTAUTH_CAUSE_VALUE] = "value",
		[HOSTAUTH_CAUSE_TLS] = "tls",	[HOSTAUTH_CAUSE_BINDING] = "binding",
		[HOSTAUTH_CAUSE_NAME] = "name", [HOSTAUTH_CAUSE_LIMIT] = "limit",
		[HOSTAUTH_CAUSE_OWN] = "own",	[HOSTAUTH_CAUSE_PEER] = "peer",
	};

	return names[cause];
}
