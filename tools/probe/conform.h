/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_CONFORM_H
#define TOOLS_PROBE_CONFORM_H

#include "tools/probe/cases.h"

/** struct case_result - a verdict with its words. */
struct case_result {
	enum verdict verdict;
	char detail[RUN_DETAIL];
	const char *reading_of;	   /* what the document leaves open, and ... */
	char reading[RUN_READING]; /* ... how the peer reads it, or empty */
};

struct conform_totals {
	unsigned passed, failed, skipped;
};

/**
 * conform - run all cases against the surveyed server
 * @told: called with each result as it comes
 *
 * Cases whose version the server does not speak, hostile ones without --hostile, and
 * those for which no time is left are skipped with the cause.
 */
void conform(struct run *r, struct conform_totals *totals,
	     void (*told)(void *arg, const struct probe_case *c, const struct case_result *res),
	     void *arg);

/** conform_has - whether the name of a case begins with @prefix. */
bool conform_has(const char *prefix);

/** conform_each - every case, in the order they are run. */
void conform_each(void (*told)(void *arg, const struct probe_case *c), void *arg);

const char *verdict_name(enum verdict v);

#endif
