/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_REPORT_H
#define TOOLS_PROBE_REPORT_H

#include <stdio.h>

#include "tools/probe/json.h"
#include "tools/probe/listen.h"

enum { REPORT_READINGS = 24 };

/** struct report - report about a peer: as text while facts are found, or as JSON. */
struct report {
	const struct probe_options *o;
	struct json json;
	unsigned nreadings; /* the peer's readings of open points */
	struct reading {
		const char *of;
		char is[RUN_READING];
	} readings[REPORT_READINGS];
};

/** report_begin, report_end - call before and after everything else. */
void report_begin(struct report *rep, const struct probe_options *o, FILE *to);
void report_end(struct report *rep);

/** report_facts - results of the survey. */
void report_facts(struct report *rep, const struct facts *f);

/** report_client - facts about a client, and its grades; nothing if no client connected. */
void report_client(const struct listener *l, FILE *to);

/** report_pdata - the peer's private data, and their meaning. */
void report_pdata(struct report *rep, struct view octets, const struct v1_pdata *said);

/** report_proof - the peer's identity; @label is for text. */
void report_proof(struct report *rep, const char *label, const struct proof_facts *p);

/** report_props - the properties, to the end of a line. */
void report_props(struct report *rep, const struct v2_props *props);

/** report_cases_begin, report_case, report_cases_end - results of conformance cases; @arg: the
 * report. */
void report_cases_begin(struct report *rep);
void report_case(void *arg, const struct probe_case *c, const struct case_result *res);
void report_cases_end(struct report *rep, const struct conform_totals *totals);

/** report_list - one line of --list; @arg: the report. */
void report_list(void *arg, const struct probe_case *c);

#endif
