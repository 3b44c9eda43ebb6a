/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_RUNS_H
#define FABRIC_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/**
 * runs - which octets of an exposure the peer has written, in whatever order its Writes came
 *
 * Pure counting, for every provider that sees each Write. Writes of one chunk need not come in the
 * order of their addresses (rfc5666bis-01 section 3.2.2). So octets written are recorded as runs,
 * FABRIC_RUNS at most. When another run would be needed, two runs are merged: the caller fills the
 * gap between them with zeros, which then count as written. So an octet counts only if it was
 * written or filled, and no octet is filled twice.
 */

enum { FABRIC_RUNS = 4 };

/** struct fabric_run - octets from .from up to, without, .end. */
struct fabric_run {
	uint32_t from, end;
};

/** struct fabric_runs - sorted by address; no run is empty or touches the next. All zero:
 * nothing was written. */
struct fabric_runs {
	struct fabric_run run[FABRIC_RUNS];
	uint32_t n;
};

/**
 * fabric_runs_add - the peer wrote @len octets at @from; @len is not 0, @from + @len does not
 * overflow
 * @gap: filled on true
 *
 * Return: whether the caller has to fill @gap with zeros at once. @gap then counts as written. It
 *         lies between octets written by now, never behind the last of them.
 */
bool fabric_runs_add(struct fabric_runs *w, uint32_t from, uint32_t len,
		     struct fabric_run *gap) WARN_UNUSED;

/** fabric_runs_start - octets written from the start, without a gap. */
static inline uint32_t fabric_runs_start(const struct fabric_runs *w)
{
	return w->n && !w->run[0].from ? w->run[0].end : 0;
}

/** fabric_runs_reach - where the last octet written ends. */
static inline uint32_t fabric_runs_reach(const struct fabric_runs *w)
{
	return w->n ? w->run[w->n - 1].end : 0;
}

#endif
