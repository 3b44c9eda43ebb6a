/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_REPORT_H
#define TOOLS_PROBE_REPORT_H

#include <stdio.h>

#include "tools/probe/json.h"
#include "tools/probe/listen.h"

enum { REPORT_READINGS = 24 };

/** struct report - what is told of a peer, as text while it is found, or as JSON. */
struct report {
	const struct probe_options *o;
	struct json json;
	unsigned nreadings; /* of the peer, as the cases found them */
	struct reading {
		const char *of;
		char is[RUN_READING];
	} readings[REPORT_READINGS];
};

/** report_begin, report_end - around everything. */
void report_begin(struct report *rep, const struct probe_options *o, FILE *to);
void report_end(struct report *rep);

/** report_facts - what the survey found. */
void report_facts(struct report *rep, const struct facts *f);

/** report_client - what a client is like, and its grades; nothing when none came. */
void report_client(const struct listener *l, FILE *to);

/** report_pdata - the peer's private data, and what they were understood to say. */
void report_pdata(struct report *rep, struct view octets, const struct v1_pdata *said);

/** report_proof - who the peer is, @label in text. */
void report_proof(struct report *rep, const char *label, const struct proof_facts *p);

/** report_props - the properties, to the end of a line. */
void report_props(struct report *rep, const struct v2_props *props);

/** report_cases_begin, report_case, report_cases_end - the conformance part; @arg: the report. */
void report_cases_begin(struct report *rep);
void report_case(void *arg, const struct probe_case *c, const struct case_result *res);
void report_cases_end(struct report *rep, const struct conform_totals *totals);

/** report_list - one line of --list; @arg: the report. */
void report_list(void *arg, const struct probe_case *c);

#endif
