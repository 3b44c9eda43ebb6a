/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/**
 * ring - whole records from one thread to another, in order, in one piece of memory
 *
 * No lock, and no system call: neither side ever waits for the other. A record that finds no room
 * is dropped and counted.
 */
struct ring {
	uint8_t *at;
	size_t bytes;	    /* a power of two */
	atomic_size_t in;   /* octets ever put; only the writer changes it */
	atomic_size_t out;  /* octets ever taken; only the reader changes it */
	atomic_size_t lost; /* number of records dropped */
};

/** ring_init - with @bytes, a power of two. Return: 0: call ring_fini() later; or ERR_NOMEM. */
int ring_init(struct ring *r, size_t bytes) WARN_UNUSED;

/** ring_fini - call when neither side uses it any more; also if it is all zero. */
void ring_fini(struct ring *r);

/** ring_put - writer: add one record, made of @n @pieces. Return: whether there was room. */
bool ring_put(struct ring *r, const struct view *pieces, unsigned n);

/** ring_next - reader: octets of the first record; 0: there is none. */
size_t ring_next(struct ring *r);

/** ring_take - reader: copy the first record, which must exist, to @to, at most @size octets of
 * it. Return: how many. */
size_t ring_take(struct ring *r, void *to, size_t size);

/** ring_lost - how many records found no room so far; by either thread. */
size_t ring_lost(struct ring *r);

#endif
