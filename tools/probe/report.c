/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/report.h"

#include <string.h>

#include "tools/target.h"
#include "v2early/conn.h"

static const char *const prop_names[] = {
	[V2_PROP_SBSIZ] = "max_send_size",	     [V2_PROP_RBSIZ] = "receive_buffer_size",
	[V2_PROP_RSSIZ] = "max_segment_size",	     [V2_PROP_RCSIZ] = "max_segment_count",
	[V2_PROP_BRS] = "reverse_direction_support",
};

static double micros(nsec_t t)
{
	return (double)t / 1000;
}

void report_begin(struct report *rep, const struct probe_options *o, FILE *to)
{
	char addr[FABRIC_ADDR_TEXT];

	*rep = (struct report){.o = o, .json = {.to = to}};
	fabric_addr_format(&o->addr, addr);
	if (o->json) {
		json_open(&rep->json, NULL, '{');
		json_string(&rep->json, "fabric", target_fabric(o->fabric));
		json_string(&rep->json, "target", addr);
	} else if (o->mode != PROBE_LIST) {
		fprintf(to, "rpcrdma-probe %s: %s:%s\n", GW_VERSION, target_fabric(o->fabric),
			addr);
	}
}

void report_end(struct report *rep)
{
	if (!rep->o->json)
		return;
	json_close(&rep->json, '}');
	fputc('\n', rep->json.to);
}

/* --- common to servers and clients --- */

static void text_pdata(FILE *to, struct view octets, const struct v1_pdata *said)
{
	size_t len = octets.len;

	/* InfiniBand's connection manager pads its field. */
	while (len > V1_PDATA_BYTES && octets.data[len - 1] == 0)
		len--;
	fprintf(to, "private data    ");
	for (size_t i = 0; i < len; i++)
		fprintf(to, "%02x%s", octets.data[i], i % 4 == 3 ? " " : "");
	if (said->present)
		fprintf(to, "= send %u, receive %u, R %s\n", said->send_bytes, said->recv_bytes,
			said->remote_inv ? "set" : "clear");
	else
		fprintf(to, "%s: the defaults hold, 1024 octets both ways, R clear\n",
			len ? "is of another format" : "none");
}

void report_pdata(struct report *rep, struct view octets, const struct v1_pdata *said)
{
	struct json *j = &rep->json;

	if (!rep->o->json) {
		text_pdata(j->to, octets, said);
		return;
	}
	json_open(j, "private_data", '{');
	json_hex(j, "octets", octets.data, octets.len);
	json_bool(j, "present", said->present);
	json_number(j, "send_size", said->send_bytes);
	json_number(j, "receive_size", said->recv_bytes);
	json_bool(j, "remote_invalidation", said->remote_inv);
	json_close(j, '}');
}

static void text_props(FILE *to, const struct v2_props *props)
{
	static const char *const levels[] = {"none", "simple", "continued", "general"};

	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++) {
		uint32_t value = v2_props_get(props, (enum v2_propid)id);

		fprintf(to, " %s %u", prop_names[id], value);
		if (id == V2_PROP_BRS && value < sizeof(levels) / sizeof(levels[0]))
			fprintf(to, " (%s)", levels[value]);
		if (!(props->present >> id & 1))
			fprintf(to, " (default)");
	}
	fputc('\n', to);
}

void report_props(struct report *rep, const struct v2_props *props)
{
	struct json *j = &rep->json;

	if (!rep->o->json) {
		text_props(j->to, props);
		return;
	}
	json_open(j, "properties", '{');
	for (uint32_t id = V2_PROP_SBSIZ; id <= V2_PROP_BRS; id++) {
		if (props->present >> id & 1)
			json_number(j, prop_names[id], v2_props_get(props, (enum v2_propid)id));
	}
	json_close(j, '}');
}

/* --- a server as text --- */

static void text_welcome(FILE *to, const char *label, uint32_t version,
			 const struct version_facts *v)
{
	fprintf(to, "%-15s %s", label, welcome_name(v->welcome));
	if (v->welcome == WELCOME_REFUSED)
		fprintf(to, ": ERR_VERS, range %u to %u, version field %u (%s); the connection %s",
			v->low, v->high, v->err_vers, v->err_vers == version ? "echoed" : "its own",
			v->goes_on    ? "goes on in version 1"
			: v->low <= 1 ? "does not go on"
				      : "was left there");
	else if (v->why[0])
		fprintf(to, ": %s", v->why);
	fputc('\n', to);
}

/* Inline thresholds of a version: the largest message that the server accepts, and the largest that
 * it sends. */
static uint32_t inline_to(const struct facts *f, unsigned version)
{
	if (version == RUN_EARLY)
		return EARLY_INLINE_BYTES;
	return version == 1 ? f->said.recv_bytes : v2_props_get(&f->props, V2_PROP_RBSIZ);
}

static uint32_t inline_from(const struct facts *f, unsigned version)
{
	if (version == RUN_EARLY)
		return EARLY_INLINE_BYTES;
	return version == 1 ? f->said.send_bytes : v2_props_get(&f->props, V2_PROP_SBSIZ);
}

static void text_nulls(FILE *to, const struct probe_options *o, const struct version_facts *v)
{
	for (unsigned i = 0; i < o->nprograms; i++) {
		const struct program *p = &o->programs[i];
		const struct null_result *n = &v->nulls[i];
		const char *name = program_name(p->number);

		fprintf(to, "  NULL          %s%s%u,%u: %s\n", name ? name : "", name ? " = " : "",
			p->number, p->version, n->answered ? rpc_verdict_name(&n->rpc) : n->why);
	}
}

static void text_version(struct report *rep, const struct facts *f, unsigned version)
{
	const struct version_facts *v = &f->v[version];
	FILE *to = rep->json.to;

	fprintf(to, "version %s:\n", run_version_name(version));
	if (version == 2 && f->has_props) {
		fprintf(to, "  properties    in %u message%s:", f->prop_messages,
			f->prop_messages == 1 ? "" : "s");
		report_props(rep, &f->props);
	} else if (version == 2) {
		fprintf(to, "  properties    none: the defaults hold\n");
	}
	fprintf(to, "  credits       first %u, steady %u%s\n", v->first_credit, v->steady_credit,
		version == 2 ? " messages of window" : "");
	fprintf(to,
		"  inline        to the server %u, from it %u octets; largest message seen %u\n",
		inline_to(f, version), inline_from(f, version), v->largest);
	fprintf(to, "  invalidation  %s\n",
		!v->invalidate_known ? "not known"
		: v->invalidates     ? "used"
				     : "not used");
	fprintf(to, "  latency       min %.1f, median %.1f, max %.1f us (%d NULLs)\n",
		micros(v->latency_min), micros(v->latency_median), micros(v->latency_max),
		LATENCY_CALLS);
	text_nulls(to, rep->o, v);
}

static void text_facts(struct report *rep, const struct facts *f)
{
	FILE *to = rep->json.to;

	text_welcome(to, "version 2", 2, &f->v[2]);
	text_welcome(to, "version 1", 1, &f->v[1]);
	text_welcome(to, "version 2-early", 2, &f->v[RUN_EARLY]);
	text_welcome(to, "absurd version", ABSURD_VERSION, &f->v[0]);
	for (unsigned version = 1; version < VERSIONS; version++) {
		if (f->v[version].welcome == WELCOME_SPOKEN)
			text_version(rep, f, version);
	}
}

/* --- a server as JSON --- */

static void json_nulls(struct json *j, const struct probe_options *o, const struct version_facts *v)
{
	json_open(j, "programs", '[');
	for (unsigned i = 0; i < o->nprograms; i++) {
		const struct null_result *n = &v->nulls[i];

		json_open(j, NULL, '{');
		json_number(j, "program", o->programs[i].number);
		json_number(j, "version", o->programs[i].version);
		json_bool(j, "available", n->answered && n->rpc.accepted && n->rpc.stat == 0);
		json_string(j, "result", n->answered ? rpc_verdict_name(&n->rpc) : n->why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_spoken(struct json *j, const struct probe_options *o, const struct facts *f,
			unsigned version)
{
	const struct version_facts *v = &f->v[version];

	json_number(j, "first_credit", v->first_credit);
	json_number(j, "steady_credit", v->steady_credit);
	json_number(j, "inline_to_server", inline_to(f, version));
	json_number(j, "inline_from_server", inline_from(f, version));
	json_number(j, "largest_message", v->largest);
	if (v->invalidate_known)
		json_bool(j, "invalidates", v->invalidates);
	json_open(j, "latency_us", '{');
	json_number(j, "min", micros(v->latency_min));
	json_number(j, "median", micros(v->latency_median));
	json_number(j, "max", micros(v->latency_max));
	json_close(j, '}');
	json_nulls(j, o, v);
}

static void json_version(struct json *j, const char *key, const struct probe_options *o,
			 const struct facts *f, unsigned version)
{
	const struct version_facts *v = &f->v[version];

	json_open(j, key, '{');
	if (version == RUN_EARLY)
		json_string(j, "version", run_version_name(version));
	else
		json_number(j, "version", version == 0 ? ABSURD_VERSION : version);
	json_string(j, "answer", welcome_name(v->welcome));
	if (v->why[0])
		json_string(j, "why", v->why);
	if (v->welcome == WELCOME_REFUSED) {
		json_number(j, "low", v->low);
		json_number(j, "high", v->high);
		json_number(j, "version_field", v->err_vers);
		json_bool(j, "goes_on", v->goes_on);
	}
	if (v->welcome == WELCOME_SPOKEN)
		json_spoken(j, o, f, version);
	json_close(j, '}');
}

static void json_facts(struct report *rep, const struct facts *f)
{
	json_version(&rep->json, "version_1", rep->o, f, 1);
	json_version(&rep->json, "version_2", rep->o, f, 2);
	json_version(&rep->json, "version_2_early", rep->o, f, RUN_EARLY);
	json_version(&rep->json, "version_unknown", rep->o, f, 0);
	if (f->has_props)
		report_props(rep, &f->props);
}

/* --- text and JSON --- */

void report_proof(struct report *rep, const char *label, const struct proof_facts *p)
{
	struct json *j = &rep->json;

	if (!p->is_known)
		return;
	if (!rep->o->json && *p->why) {
		fprintf(j->to, "%-15s not proved%s%s: %s, after %.1f ms, %u messages, %zu octets\n",
			label, *p->name ? ", says " : "", p->name, p->why, micros(p->took) / 1000,
			p->messages, p->octets);
		return;
	}
	if (!rep->o->json) {
		fprintf(j->to, "%-15s %s: %s, proved in %.1f ms, %u messages, %zu octets\n", label,
			p->name, p->suite, micros(p->took) / 1000, p->messages, p->octets);
		return;
	}
	json_open(j, "hostauth", '{');
	json_bool(j, "proved", !*p->why);
	json_string(j, "name", p->name);
	json_string(j, "suite", p->suite);
	if (*p->why)
		json_string(j, "why", p->why);
	json_number(j, "microseconds", (uint32_t)micros(p->took));
	json_number(j, "messages", p->messages);
	json_number(j, "octets", (uint32_t)p->octets);
	json_close(j, '}');
}

void report_facts(struct report *rep, const struct facts *f)
{
	report_proof(rep, "server is", &f->proof);
	report_pdata(rep, view_of(f->pdata, f->pdata_len), &f->said);
	(rep->o->json ? json_facts : text_facts)(rep, f);
}

void report_cases_begin(struct report *rep)
{
	if (rep->o->json)
		json_open(&rep->json, "cases", '[');
	else
		fputc('\n', rep->json.to);
}

static void note_reading(struct report *rep, const struct case_result *res)
{
	struct reading *r = &rep->readings[rep->nreadings];

	if (!res->reading[0] || rep->nreadings == REPORT_READINGS)
		return;
	r->of = res->reading_of;
	memcpy(r->is, res->reading, sizeof(r->is));
	rep->nreadings++;
}

static void text_case(FILE *to, const struct probe_case *c, const struct case_result *res)
{
	fprintf(to, "%s %-22s %s [%s, %s]", verdict_name(res->verdict), c->id, c->what, c->section,
		c->level);
	if (res->reading[0])
		fprintf(to, ": %s: %s", res->reading_of, res->reading);
	fprintf(to, "%s%s\n", res->detail[0] ? ": " : "", res->detail);
	fflush(to);
}

void report_case(void *arg, const struct probe_case *c, const struct case_result *res)
{
	struct report *rep = arg;
	struct json *j = &rep->json;

	note_reading(rep, res);
	if (!rep->o->json) {
		text_case(j->to, c, res);
		return;
	}
	json_open(j, NULL, '{');
	json_string(j, "id", c->id);
	json_string(j, "section", c->section);
	json_string(j, "level", c->level);
	json_string(j, "what", c->what);
	json_string(j, "result", verdict_name(res->verdict));
	json_string(j, "detail", res->detail);
	if (res->reading[0])
		json_string(j, "reading", res->reading);
	json_close(j, '}');
}

/* How the peer reads points that the document leaves open. */
static void report_readings(struct report *rep)
{
	struct json *j = &rep->json;

	if (!rep->o->json) {
		for (unsigned i = 0; i < rep->nreadings; i++)
			fprintf(j->to, "%s%s: %s", i ? ", " : "readings        ",
				rep->readings[i].of, rep->readings[i].is);
		fputs(rep->nreadings ? "\n" : "", j->to);
		return;
	}
	json_open(j, "readings", '{');
	for (unsigned i = 0; i < rep->nreadings; i++)
		json_string(j, rep->readings[i].of, rep->readings[i].is);
	json_close(j, '}');
}

void report_cases_end(struct report *rep, const struct conform_totals *t)
{
	struct json *j = &rep->json;

	if (!rep->o->json) {
		report_readings(rep);
		fprintf(j->to, "%u passed, %u failed, %u skipped\n", t->passed, t->failed,
			t->skipped);
		return;
	}
	json_close(j, ']');
	report_readings(rep);
	json_number(j, "passed", t->passed);
	json_number(j, "failed", t->failed);
	json_number(j, "skipped", t->skipped);
}

void report_list(void *arg, const struct probe_case *c)
{
	struct report *rep = arg;

	fprintf(rep->json.to, "%-22s %s [%s, %s]%s\n", c->id, c->what, c->section, c->level,
		c->is_hostile ? " (--hostile)" : "");
}
