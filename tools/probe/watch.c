/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every version 2 message is checked on arrival, in all cases: it changes the credits, and it may
 * break rules that hold at all times. The cases v2.always.* judge the breaches at the end.
 */
#include <stdio.h>

#include "tools/probe/run.h"
#include "v2/error.h"

void watch_begin(struct run *r)
{
	r->flow = (struct flow){.limit = 1, .granted = 1, .advertise = RUN_CREDITS};
}

static void breach(struct run *r, enum breach which, const char *words)
{
	if (r->watch.count[which]++ == 0)
		snprintf(r->watch.first[which], sizeof(r->watch.first[which]), "%s", words);
}

/*
 * "MUST NOT post this message if [sent] is greater than Received credits": read literally, this
 * lets a peer post one more than the value (4.2.1). A GRANT may also use the one Receive kept for
 * it (4.2.1.1).
 */
static void watch_credits(struct run *r, bool is_grant)
{
	int32_t over = (int32_t)(r->flow.received - r->flow.granted);
	char words[96];

	if (over <= (is_grant ? 2 : 1))
		return;
	snprintf(words, sizeof(words), "%u messages received, %u were granted", r->flow.received,
		 r->flow.granted);
	breach(r, BREACH_CREDITS, words);
}

static void watch_type(struct run *r, const struct wire_msg *m, uint32_t htype)
{
	const struct v2_type *type = v2_type_find(htype);
	const uint8_t *d = m->octets.data;
	char words[96];

	if (htype == V2_GRANT && xdr_peek_u32(d) != 0)
		breach(r, BREACH_GRANT_XID, "the XID of a GRANT is not zero");
	if (htype == V2_GRANT && m->octets.len != V2_PREFIX_BYTES) {
		snprintf(words, sizeof(words), "a GRANT of %zu octets", m->octets.len);
		breach(r, BREACH_GRANT_SIZE, words);
	}
	if (type && type->flags & V2_IS_CONTROL && m->invalidated)
		breach(r, BREACH_INVALIDATE, type->name);
}

static void watch_v2(struct run *r, const struct wire_msg *m)
{
	const uint8_t *d = m->octets.data;
	uint32_t version = xdr_peek_u32(d + 4), htype = xdr_peek_u32(d + 12);
	struct rpc_error fault;
	struct v2_hdr h;
	char words[96];

	r->watch.messages++;
	if (m->octets.len > RUN_INLINE) {
		snprintf(words, sizeof(words), "%zu octets in one message", m->octets.len);
		breach(r, BREACH_SIZE, words);
	}
	/* A report has the version of the message that it answers (section 7). */
	if (version != 2 && htype != V2_ERROR) {
		snprintf(words, sizeof(words), "a message of version %u", version);
		breach(r, BREACH_VERSION, words);
	}
	watch_credits(r, version == 2 && htype == V2_GRANT);
	if (version != 2)
		return;
	watch_type(r, m, htype);
	if (v2_decode(&h, &r->scratch, m->octets, RPC_MAX_SEGMENTS, &fault) < 0)
		breach(r, BREACH_XDR, msg_words(r, m->octets));
}

void watch_observe(void *arg, const struct wire_msg *m)
{
	struct run *r = arg;
	const uint8_t *d = m->octets.data;
	uint32_t version, htype;
	bool is_refusal;

	r->flow.received++;
	if (m->octets.len > r->largest)
		r->largest = (uint32_t)m->octets.len;
	if (m->octets.len < V2_PREFIX_BYTES)
		return;
	version = xdr_peek_u32(d + 4);
	htype = xdr_peek_u32(d + 12);
	if (r->version != 2)
		return;
	/* A report that refuses version 2 may echo its number: it has no credit. */
	is_refusal =
		htype == V2_ERROR && m->octets.len >= 20 && xdr_peek_u32(d + 16) == V2_ERR_VERS;
	if (version == 2 && (r->flow.is_on || !is_refusal)) {
		if (!r->flow.is_on)
			r->flow.first_value = xdr_peek_u32(d + 8);
		r->flow.is_on = true;
		r->flow.limit = xdr_peek_u32(d + 8);
		r->flow.grants_received += htype == V2_GRANT;
	}
	/* A report has the version of the message that it answers, and this connection's credit
	 * (section 7). */
	if (r->flow.is_on && version != 2 && htype == V2_ERROR)
		r->flow.limit = xdr_peek_u32(d + 8);
	if (r->flow.is_on)
		watch_v2(r, m);
}
