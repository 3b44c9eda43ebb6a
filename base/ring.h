/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/**
 * ring - records of one thread for another one: whole ones, in order, in one piece of memory
 *
 * No lock, and no call of the system: neither side ever waits for the other. What finds no room is lost,
 * and counted.
 */
struct ring {
	uint8_t *at;
	size_t bytes;	    /* a power of two */
	atomic_size_t in;   /* octets ever put, by the writer alone */
	atomic_size_t out;  /* ... and taken, by the reader alone */
	atomic_size_t lost; /* records */
};

/** ring_init - of @bytes, a power of two. Return: 0, then ring_fini() is due; or ERR_NOMEM. */
int ring_init(struct ring *r, size_t bytes) WARN_UNUSED;

/** ring_fini - once neither side uses it; also of one that is all zero. */
void ring_fini(struct ring *r);

/** ring_put - the writer: one record, made of @n @pieces. Return: whether there was room. */
bool ring_put(struct ring *r, const struct view *pieces, unsigned n);

/** ring_next - the reader: octets of the first record; 0: there is none. */
size_t ring_next(struct ring *r);

/** ring_take - the reader: the first record, which there is, into @to, as far as @size octets go. Return: how
 * many. */
size_t ring_take(struct ring *r, void *to, size_t size);

/** ring_lost - how many records found no room so far; by either thread. */
size_t ring_lost(struct ring *r);

#endif
