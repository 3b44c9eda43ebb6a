/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/conform.h"

#include <stdio.h>
#include <string.h>

static const struct case_table *const tables[] = {
	&cases_pdata,	 &cases_version,      &cases_v1,   &cases_v1_chunks, &cases_props,
	&cases_hostauth, &cases_v2,	      &cases_cont, &cases_credit,    &cases_v2_chunks,
	&cases_early,	 &cases_early_chunks, &cases_rtr,  &cases_data,	     &cases_always,
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {"PASS", "FAIL", "SKIP"};

	return names[v];
}

static bool begins_with(const struct probe_case *c, const char *prefix)
{
	return strncmp(c->id, prefix, strlen(prefix)) == 0;
}

bool conform_has(const char *prefix)
{
	for (unsigned t = 0; t < TABLES; t++)
		for (unsigned i = 0; i < tables[t]->n; i++)
			if (begins_with(&tables[t]->cases[i], prefix))
				return true;
	return false;
}

static bool is_wanted(const struct run *r, const struct probe_case *c)
{
	return !r->o->only || begins_with(c, r->o->only);
}

static enum verdict run_case(struct run *r, const struct probe_case *c, nsec_t end)
{
	enum verdict v;

	r->detail[0] = r->reading[0] = '\0';
	r->reading_of = NULL;
	if (c->version && r->facts->v[c->version].welcome != WELCOME_SPOKEN)
		return skipped(r, "version %s is not spoken", run_version_name(c->version));
	if (case_proves(c) && !r->o->identity.is_given)
		return skipped(r, "only with --hostauth-...");
	if (c->is_hostile && !r->o->hostile)
		return skipped(r, "only with --hostile");
	if (probe_now(r->env) >= end || probe_stopped(r->env))
		return skipped(r, "no time is left");
	r->wanted = c->version;
	v = c->run(r);
	wire_close(&r->w);
	return v;
}

void conform(struct run *r, struct conform_totals *totals,
	     void (*told)(void *arg, const struct probe_case *c, const struct case_result *res),
	     void *arg)
{
	nsec_t end = probe_now(r->env) + r->o->total;
	struct case_result res;

	*totals = (struct conform_totals){0};
	for (unsigned t = 0; t < TABLES; t++) {
		for (unsigned i = 0; i < tables[t]->n; i++) {
			const struct probe_case *c = &tables[t]->cases[i];

			if (!is_wanted(r, c))
				continue;
			res.verdict = run_case(r, c, end);
			snprintf(res.detail, sizeof(res.detail), "%s", r->detail);
			res.reading_of = r->reading_of;
			snprintf(res.reading, sizeof(res.reading), "%s",
				 res.verdict == PASS ? r->reading : "");
			totals->passed += res.verdict == PASS;
			totals->failed += res.verdict == FAIL;
			totals->skipped += res.verdict == SKIP;
			told(arg, c, &res);
		}
	}
}

void conform_each(void (*told)(void *arg, const struct probe_case *c), void *arg)
{
	for (unsigned t = 0; t < TABLES; t++) {
		for (unsigned i = 0; i < tables[t]->n; i++)
			told(arg, &tables[t]->cases[i]);
	}
}
