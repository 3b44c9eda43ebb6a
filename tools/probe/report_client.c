/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/report.h"

static const char *first_version(const struct client_facts *f, char text[16])
{
	if (f->is_early)
		return run_version_name(RUN_EARLY);
	snprintf(text, 16, "%u", f->first_version);
	return text;
}

static void text_client(const struct listener *l, struct report *rep)
{
	const struct client_facts *f = &l->facts;
	FILE *to = rep->json.to;
	char text[16];

	report_proof(rep, "client is", &f->proof);
	report_pdata(rep, view_of(f->pdata, f->pdata_len), &f->said);
	fprintf(to, "first message   version %s, type %u, %u octets\n", first_version(f, text),
		f->first_type, f->first_bytes);
	fprintf(to, "credits         %u %s\n", f->credits,
		f->first_version == 1 || f->is_early ? "asked for" : "in the first message");
	if (f->has_props) {
		fprintf(to, "properties     ");
		report_props(rep, &f->props);
	}
	fprintf(to,
		"seen            %u connection%s, %llu messages, %llu calls, largest %u octets\n",
		l->connections, l->connections == 1 ? "" : "s", (unsigned long long)l->messages,
		(unsigned long long)l->calls, f->largest);
}

static void json_client(const struct listener *l, struct report *rep)
{
	const struct client_facts *f = &l->facts;
	struct json *j = &rep->json;

	report_proof(rep, "client is", &f->proof);
	report_pdata(rep, view_of(f->pdata, f->pdata_len), &f->said);
	json_open(j, "first_message", '{');
	if (f->is_early)
		json_string(j, "version", run_version_name(RUN_EARLY));
	else
		json_number(j, "version", f->first_version);
	json_number(j, "type", f->first_type);
	json_number(j, "octets", f->first_bytes);
	json_close(j, '}');
	json_number(j, "credits", f->credits);
	if (f->has_props)
		report_props(rep, &f->props);
	json_number(j, "connections", l->connections);
	json_number(j, "messages", (double)l->messages);
	json_number(j, "calls", (double)l->calls);
	json_number(j, "largest_message", f->largest);
}

static void count(void *arg, const struct probe_case *c, const struct case_result *res)
{
	struct conform_totals *t = arg;

	(void)c;
	t->passed += res->verdict == PASS;
	t->failed += res->verdict == FAIL;
	t->skipped += res->verdict == SKIP;
}

void report_client(const struct listener *l, FILE *to)
{
	struct report rep = {.o = l->o, .json = {.to = to}};
	struct conform_totals totals = {0};

	if (l->connections == 0)
		return;
	if (l->o->json)
		json_open(&rep.json, NULL, '{');
	(l->o->json ? json_client : text_client)(l, &rep);
	report_cases_begin(&rep);
	listener_grades(l, report_case, &rep);
	listener_grades(l, count, &totals);
	report_cases_end(&rep, &totals);
	report_end(&rep);
}
