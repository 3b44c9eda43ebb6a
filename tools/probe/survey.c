/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The survey opens one connection after the other, with few messages on each. First it tries the
 * versions (2, 1, one that does not exist, and the early draft of 2). Then, in each version that is
 * spoken, it calls the NULL of every wanted program, makes one call with a Reply chunk, and
 * measures latency.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/facts.h"
#include "v1/header.h"
#include "v2/error.h"
#include "v2early/header.h"

const char *welcome_name(enum welcome w)
{
	static const char *const names[] = {"not tried", "spoken", "refused",
					    "closed",	 "silent", "other"};

	return names[w];
}

static void take_refusal(struct run *r, struct version_facts *v, const struct wire_msg *m)
{
	struct xdr_in x;

	xdr_in_init(&x, m->octets);
	v->err_xid = xdr_get_u32(&x);
	v->err_vers = xdr_get_u32(&x);
	xdr_skip(&x, 12);
	v->low = xdr_get_u32(&x);
	v->high = xdr_get_u32(&x);
	v->welcome = x.failed ? WELCOME_OTHER : WELCOME_REFUSED;
	snprintf(v->why, sizeof(v->why), "%s", msg_words(r, m->octets));
	/* The connection may be used further, in a version of the range (4.3.2). */
	r->version = 1;
	if (v->low <= 1)
		v->goes_on = null_call(r) == PASS;
}

static bool is_refusal(struct view in)
{
	return in.len >= 20 && xdr_peek_u32(in.data + 12) == V2_ERROR &&
	       xdr_peek_u32(in.data + 16) == V2_ERR_VERS;
}

/* Wait for the first answer to the message that was sent. Return: whether it may be an answer of
 * @version; 0: of the early draft. */
static bool first_answer(struct run *r, struct version_facts *v, uint32_t version,
			 struct wire_msg *m)
{
	int err;

	r->version = version == 2 ? 2 : 0;
	if (msg_send(r)) {
		v->welcome = WELCOME_CLOSED;
		snprintf(v->why, sizeof(v->why), "%s", r->detail);
		return false;
	}
	err = wire_await(&r->w, run_deadline(r), m);
	if (err < 0) {
		v->welcome = err == ERR_TIMEOUT ? WELCOME_SILENT : WELCOME_CLOSED;
		snprintf(v->why, sizeof(v->why), "%s",
			 err == ERR_TIMEOUT ? "no answer in time" : r->w.why);
		return false;
	}
	if (is_refusal(m->octets)) {
		take_refusal(r, v, m);
		return false;
	}
	v->welcome = WELCOME_OTHER;
	snprintf(v->why, sizeof(v->why), "%s", msg_words(r, m->octets));
	if (version == 0)
		return early_is_first(m->octets);
	return m->octets.len >= V2_PREFIX_BYTES && xdr_peek_u32(m->octets.data + 4) == version &&
	       xdr_peek_u32(m->octets.data + 12) != V2_ERROR;
}

static void try_v2(struct run *r, struct facts *f)
{
	struct version_facts *v = &f->v[2];
	struct wire_msg m;

	v->welcome = WELCOME_OTHER;
	msg_begin(r, 2, V2_CONNPROP_FINAL);
	put_props(r);
	if (!r->o->identity.is_given && !first_answer(r, v, 2, &m))
		return;
	/* Connect again, now with all properties. */
	if (v2_up(r)) {
		snprintf(v->why, sizeof(v->why), "%s", r->detail);
		return;
	}
	v->welcome = WELCOME_SPOKEN;
	v->why[0] = '\0';
	v->first_credit = r->flow.first_value;
	f->has_props = r->has_final;
	f->prop_messages = r->prop_messages;
	f->props = r->props;
}

static void try_v1(struct run *r, struct facts *f)
{
	struct version_facts *v = &f->v[1];
	struct wire_msg m;

	r->version = 1;
	null_begin(r);
	if (!first_answer(r, v, 1, &m))
		return;
	v->welcome = WELCOME_SPOKEN;
	v->why[0] = '\0';
	v->first_credit = xdr_peek_u32(m.octets.data + 8);
}

static void try_absurd(struct run *r, struct facts *f)
{
	struct wire_msg m;

	msg_begin(r, ABSURD_VERSION, V1_MSG);
	put(r, 0, 0, 0);
	put_null(r);
	(void)first_answer(r, &f->v[0], ABSURD_VERSION, &m);
}

/* The early draft's version number is 2, too. A server of draft -07 only answers that there is no
 * such type. */
static void try_early(struct run *r, struct facts *f)
{
	struct version_facts *v = &f->v[RUN_EARLY];
	struct wire_msg m;

	r->version = RUN_EARLY;
	null_begin(r);
	if (!first_answer(r, v, 0, &m))
		return;
	v->welcome = WELCOME_SPOKEN;
	v->why[0] = '\0';
	v->first_credit = xdr_peek_u32(m.octets.data + 8);
}

static void ask_programs(struct run *r, struct facts *f, struct version_facts *v)
{
	struct program usual = r->program;

	for (unsigned i = 0; i < r->o->nprograms; i++) {
		struct null_result *n = &v->nulls[i];

		r->program = r->o->programs[i];
		n->answered = null_call(r) == PASS;
		n->rpc = r->reply.rpc;
		if (!n->answered)
			snprintf(n->why, sizeof(n->why), "%s", r->detail);
		if (!n->answered || !n->rpc.accepted || n->rpc.stat != 0)
			f->failed++;
	}
	r->program = usual;
}

static int by_size(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(struct run *r, struct version_facts *v)
{
	nsec_t took[LATENCY_CALLS];
	unsigned n = 0;

	while (n < LATENCY_CALLS) {
		nsec_t begin = probe_now(r->env);

		if (null_call(r))
			return;
		took[n++] = probe_now(r->env) - begin;
		v->steady_credit = r->version == 2 ? r->flow.limit - r->flow.sent : r->reply.credit;
	}
	qsort(took, n, sizeof(took[0]), by_size);
	v->latency_min = took[0];
	v->latency_median = took[n / 2];
	v->latency_max = took[n - 1];
}

/* A call with a Reply chunk whose handle the reply may invalidate. */
static void try_invalidation(struct run *r, struct version_facts *v)
{
	struct segment seg;

	call_begin(r);
	if (call_reply_chunk(r, 1024, &seg))
		return;
	r->call.inv_handle = r->version == 2 ? seg.handle : 0;
	if (call_send(r, NULL) || expect_reply(r, r->xid))
		return;
	v->invalidate_known = true;
	v->invalidates = r->reply.invalidated != 0;
}

static void look_closer(struct run *r, struct facts *f, unsigned version)
{
	struct version_facts *v = &f->v[version];

	r->largest = 0;
	if (version_up(r, version)) {
		f->failed++;
		snprintf(v->why, sizeof(v->why), "%s", r->detail);
		return;
	}
	measure(r, v);
	if (version != RUN_EARLY)
		try_invalidation(r, v);
	v->largest = r->largest;
	ask_programs(r, f, v);
}

int survey(struct run *r, struct facts *f)
{
	bool is_any = false;

	*f = (struct facts){0};
	r->facts = f;
	if (raw_up(r))
		return r->w.status < 0 ? r->w.status : ERR_CLOSED;
	f->pdata_len = r->w.pdata_len;
	memcpy(f->pdata, r->w.pdata, f->pdata_len);
	v1_pdata_parse(&f->said, view_of(f->pdata, f->pdata_len));
	try_v2(r, f);
	if (!raw_up(r))
		try_v1(r, f);
	if (!raw_up(r))
		try_absurd(r, f);
	if (!raw_up(r))
		try_early(r, f);
	for (unsigned version = 1; version < VERSIONS; version++) {
		is_any |= f->v[version].welcome == WELCOME_SPOKEN;
		if (f->v[version].welcome == WELCOME_SPOKEN)
			look_closer(r, f, version);
	}
	if (!is_any)
		f->failed++;
	wire_close(&r->w);
	return 0;
}
