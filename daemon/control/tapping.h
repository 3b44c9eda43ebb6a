/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_TAPPING_H
#define DAEMON_CONTROL_TAPPING_H

#include "daemon/inquiry.h"
#include "proxy/tap.h"

/**
 * tapping - traces (struct tap) in all workers, for one client of the control socket
 *
 * Only the main thread calls these functions. Few traces may run at a time. Each has a ring of
 * fixed size in each worker. If the client does not read fast enough, records are lost; a full ring
 * costs nothing more.
 */
enum { TAPPINGS = 2 /* limit of traces at a time */ };

struct tapping;

/** struct tappings - all traces of a process. */
struct tappings {
	struct list all;
	unsigned n;
	struct inquiries *inquiries;
	unsigned nworkers;
};

/** tappings_init - @inquiries, borrowed, has @nworkers workers. */
void tappings_init(struct tappings *all, struct inquiries *inquiries, unsigned nworkers);

/** tappings_fini - no worker may be answering an inquiry. */
void tappings_fini(struct tappings *all);

/** tapping_begin - start a trace; @ready is called with @arg when all workers have it. Return:
 * owned, for tapping_end(); or NULL: too many traces, or no memory. */
struct tapping *tapping_begin(struct tappings *all, enum tap_kind kind, const struct tap_want *want,
			      void (*ready)(void *arg), void *arg);

/** tapping_take - copy the next record, cut to @size, into @to. Return: its length; 0: no record
 * now. */
size_t tapping_take(struct tapping *t, void *to, size_t size);

/** tapping_lost - number of records lost so far because a ring was full. */
uint64_t tapping_lost(struct tapping *t);

/** tapping_end - takes @t, which may be NULL; @ready is not called any more. */
void tapping_end(struct tapping *t);

#endif
