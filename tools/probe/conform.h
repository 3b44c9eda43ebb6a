/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_CONFORM_H
#define TOOLS_PROBE_CONFORM_H

#include "tools/probe/cases.h"

/** struct case_result - a verdict with its text. */
struct case_result {
	enum verdict verdict;
	char detail[RUN_DETAIL];
	const char *reading_of;	   /* a point that the document leaves open; NULL: none */
	char reading[RUN_READING]; /* how the peer reads that point; empty: none */
};

struct conform_totals {
	unsigned passed, failed, skipped;
};

/**
 * conform - run all cases against the surveyed server
 * @told: called with each result
 *
 * Skipped, with the reason, are: cases of a version that the server does not speak, hostile cases
 * without --hostile, and cases for which no time is left.
 */
void conform(struct run *r, struct conform_totals *totals,
	     void (*told)(void *arg, const struct probe_case *c, const struct case_result *res),
	     void *arg);

/** conform_has - whether any case's name begins with @prefix. */
bool conform_has(const char *prefix);

/** conform_each - call @told for every case, in the order in which they run. */
void conform_each(void (*told)(void *arg, const struct probe_case *c), void *arg);

const char *verdict_name(enum verdict v);

#endif
