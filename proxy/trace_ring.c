/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/trace_ring.h"

#include <stdio.h>
#include <string.h>

#include "proxy/internal.h"
#include "proxy/txn_form.h"
#include "proxy/snapshot_want.h"

void trace_attach(struct proxy *p, struct trace_ring *t)
{
	if (!list_is_empty(&t->link))
		return;
	list_add_tail(&p->traces[t->kind], &t->link);
	if (t->kind == TRACE_MESSAGES)
		p->leg_trace.see = trace_message;
}

void trace_detach(struct proxy *p, struct trace_ring *t)
{
	list_del(&t->link);
	if (list_is_empty(&p->traces[TRACE_MESSAGES]))
		p->leg_trace.see = NULL;
}

static void describe(const struct txn *t, struct trace_rpc *r)
{
	const struct session *s = t->s;

	memset(r, 0, sizeof(*r));
	r->session = s->id;
	memcpy(r->at, t->at, sizeof(r->at));
	r->at[TRACE_ENDED] = s->proxy->now;
	r->outcome = t->outcome;
	r->error = t->error.code;
	r->kind = t->kind;
	r->xid = t->in.xid;
	r->is_reverse = t->reverse;
	r->has_header = t->hdr_err == 0;
	if (r->has_header) {
		r->program = t->hdr.prog;
		r->version = t->hdr.vers;
		r->procedure = t->hdr.proc;
	}
	r->reads = t->in.nreads;
	r->writes = t->in.nwrites;
	r->call_bytes = txn_call_body_len(t);
	for (unsigned i = 0; i < t->in.nreads; i++)
		r->call_bytes += t->in.reads[i].length;
	if (t->at[TRACE_FENCED]) {
		r->reply_bytes = t->reply_body.len;
		for (unsigned i = 0; i < t->in.nwrites; i++)
			r->reply_bytes += t->writes[i].len;
	}
	snprintf(r->route, sizeof(r->route), "%s", s->route->route->name);
	snprintf(r->client, sizeof(r->client), "%s", s->host);
}

static bool is_wanted(const struct session *s, const struct trace_rpc *r,
		      const struct trace_want *want)
{
	if (r->at[TRACE_ENDED] - r->at[TRACE_ARRIVED] < want->slow)
		return false;
	if (want->has_program && (!r->has_header || r->program != want->program))
		return false;
	if (want->has_version && (!r->has_header || r->version != want->version))
		return false;
	if (want->has_procedure && (!r->has_header || r->procedure != want->procedure))
		return false;
	if (want->has_kind && r->kind != want->kind)
		return false;
	return session_fits(s, &want->sessions);
}

void trace_rpc(const struct txn *t)
{
	const struct proxy *p = t->s->proxy;
	struct view piece;
	struct trace_rpc r;

	describe(t, &r);
	piece = view_of(&r, sizeof(r));
	list_for_each_safe(it, tmp, &p->traces[TRACE_RPCS])
	{
		struct trace_ring *trace = container_of(it, struct trace_ring, link);

		if (is_wanted(t->s, &r, &trace->want))
			(void)ring_put(&trace->ring, &piece, 1);
	}
}

void trace_message(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n)
{
	const struct session *s = session_of(leg);
	struct view pieces[1 + FABRIC_MAX_SGE];
	struct trace_message m;

	memset(&m, 0, sizeof(m));
	m.session = s->id;
	m.at = s->proxy->now;
	m.peer = leg->conn->peer;
	m.local = leg->conn->local;
	m.side = session_side(leg);
	m.is_sent = is_sent;
	snprintf(m.route, sizeof(m.route), "%s", s->route->route->name);
	pieces[0] = view_of(&m, sizeof(m));
	for (unsigned i = 0; i < n; i++) {
		size_t left = m.len < TRACE_OCTETS ? TRACE_OCTETS - m.len : 0;

		pieces[1 + i] = view_of(sge[i].addr, sge[i].len < left ? sge[i].len : left);
		m.len += sge[i].len;
	}
	list_for_each_safe(it, tmp, &s->proxy->traces[TRACE_MESSAGES])
	{
		struct trace_ring *trace = container_of(it, struct trace_ring, link);

		if (session_fits(s, &trace->want.sessions))
			(void)ring_put(&trace->ring, pieces, 1 + n);
	}
}
