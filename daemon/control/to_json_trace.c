/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/control/to_json_trace.h"

#include <stdio.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "daemon/control/put.h"

/* Steps of an RPC. The step indexed by a mark ends at that mark. */
static const char *const steps[TRACE_MARKS] = {
	[TRACE_ADMITTED] = "waiting_ns", [TRACE_CALLED] = "pull_ns",  [TRACE_SENT] = "call_ns",
	[TRACE_ANSWERED] = "wait_ns",	 [TRACE_FENCED] = "fence_ns", [TRACE_RETURNED] = "push_ns",
	[TRACE_ENDED] = "reply_ns",
};

static const char *const outcomes[] = {[TRACE_CUT] = "cut",
				       [TRACE_REPLIED] = "replied",
				       [TRACE_FAILED] = "failed",
				       [TRACE_LET_GO] = "let go"};

static void put_time(struct json_object *o, const struct to_json_clock *c, nsec_t at)
{
	put_number(o, "time_ns", c->day - c->relay + at);
}

/* If a mark is missing, the RPC ended in the step before it. A reply may arrive before its call has
 * completed. */
static void put_steps(struct json_object *o, const struct trace_rpc *r)
{
	nsec_t from = r->at[TRACE_ARRIVED];

	for (unsigned i = TRACE_ADMITTED; i < TRACE_MARKS; i++) {
		bool is_last = i == TRACE_ENDED || !r->at[i];
		nsec_t to = is_last ? r->at[TRACE_ENDED] : r->at[i];

		if (i == TRACE_SENT && r->at[TRACE_ANSWERED] && r->at[TRACE_ANSWERED] < to)
			to = r->at[TRACE_ANSWERED];
		if (to < from)
			to = from;
		put_number(o, steps[i], to - from);
		from = to;
		if (is_last)
			return;
	}
}

static void put_header(struct json_object *o, const struct trace_rpc *r)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %s", latency_program(r->kind), latency_procedure(r->kind));
	put_text(o, "kind", text);
	if (!r->has_header)
		return;
	put_number(o, "program", r->program);
	put_number(o, "version", r->version);
	put_number(o, "procedure", r->procedure);
}

struct json_object *to_json_rpc(const struct to_json_clock *c, const struct trace_rpc *r)
{
	struct json_object *o = json_object_new_object();
	char xid[16];

	put_time(o, c, r->at[TRACE_ARRIVED]);
	put_number(o, "session", r->session);
	put_text(o, "route", r->route);
	put_text(o, "client_host", r->client);
	put_text(o, "from", r->is_reverse ? "server" : "client");
	snprintf(xid, sizeof(xid), "%08x", r->xid);
	put_text(o, "xid", xid);
	put_header(o, r);
	put_number(o, "call_bytes", r->call_bytes);
	put_number(o, "reply_bytes", r->reply_bytes);
	put_number(o, "read_chunks", r->reads);
	put_number(o, "write_chunks", r->writes);
	put_text(o, "outcome", outcomes[r->outcome]);
	if (r->outcome == TRACE_FAILED)
		put_text(o, "error", rpc_error_name(r->error));
	put_number(o, "total_ns", r->at[TRACE_ENDED] - r->at[TRACE_ARRIVED]);
	put_steps(o, r);
	return o;
}

static struct json_object *hex_of(const uint8_t *octets, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *text = mem_zalloc(2 * len + 1);
	struct json_object *o = NULL;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		text[2 * i] = digits[octets[i] >> 4];
		text[2 * i + 1] = digits[octets[i] & 15];
	}
	o = json_object_new_string_len(text, (int)(2 * len));
	mem_free(text);
	return o;
}

struct json_object *to_json_message(const struct to_json_clock *c, const struct trace_message *m,
				    const uint8_t *octets, size_t len)
{
	struct json_object *o = json_object_new_object();
	char peer[FABRIC_ADDR_TEXT], local[FABRIC_ADDR_TEXT];

	put_time(o, c, m->at);
	put_number(o, "session", m->session);
	put_text(o, "route", m->route);
	put_text(o, "leg", m->side == PROXY_CLIENT ? "client" : "server");
	put_text(o, "from", m->is_sent ? "gateway" : "peer");
	put_text(o, "peer", fabric_addr_format(&m->peer, peer));
	put_text(o, "local", fabric_addr_format(&m->local, local));
	put_number(o, "length", m->len);
	put(o, "octets", hex_of(octets, len));
	return o;
}
