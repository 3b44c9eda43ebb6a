/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TAPPING_H
#define DAEMON_CONTROL_TAPPING_H

#include "daemon/inquiry.h"
#include "proxy/tap.h"

/**
 * tapping - taps in all workers, for one who asked for that
 *
 * Of the main thread. Few at once, each with a ring of fixed size in each worker: whoever does not take what is
 * there loses it, and costs no more.
 */
enum { TAPPINGS = 2 /* at once */ };

struct tapping;

/** struct tappings - all of a process. */
struct tappings {
	struct list all;
	unsigned n;
	struct inquiries *inquiries;
	unsigned nworkers;
};

/** tappings_init - @inquiries, borrowed, reach @nworkers. */
void tappings_init(struct tappings *all, struct inquiries *inquiries, unsigned nworkers);

/** tappings_fini - once no thread works on any inquiry. */
void tappings_fini(struct tappings *all);

/** tapping_begin - @ready is called with @arg when all workers have theirs. Return: owned,
 * tapping_end() is due; or NULL: there are too many, or no memory. */
struct tapping *tapping_begin(struct tappings *all, enum tap_kind kind, const struct tap_want *want,
			      void (*ready)(void *arg), void *arg);

/** tapping_take - the next record, as far as @size goes, into @to. Return: its length; 0: there is none
 * now. */
size_t tapping_take(struct tapping *t, void *to, size_t size);

/** tapping_lost - records that found no room, so far. */
uint64_t tapping_lost(struct tapping *t);

/** tapping_end - takes @t, which may be NULL; @ready is not called any more. */
void tapping_end(struct tapping *t);

#endif
