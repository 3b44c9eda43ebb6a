/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_RING_H
#define BASE_LOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * log_ring - whole lines that wait to be written, oldest first, in one piece of memory
 *
 * No lock of its own. Lines are added under the owner's lock. Octets that log_ring_peek() returned
 * stay in place until log_ring_drop(), so that they can be written without the lock.
 */
enum {
	LOG_RING_BYTES = 1 << 20, /* some 5,000 lines */
	/* part that only warnings, errors and counts of lost lines may use */
	LOG_RING_SPARE = LOG_RING_BYTES / 8,
};

struct log_ring {
	size_t in, out; /* octets ever put in and taken out */
	char data[LOG_RING_BYTES];
};

/** log_ring_fits - whether @len octets fit; only an @urgent line may use the spare part. */
bool log_ring_fits(const struct log_ring *ring, size_t len, bool urgent);

/** log_ring_put - add @len octets, which fit (asserted). */
void log_ring_put(struct log_ring *ring, const char *text, size_t len);

/** log_ring_peek - the oldest octets, as many as are contiguous. Return: how many; 0: empty. */
size_t log_ring_peek(const struct log_ring *ring, const char **text);

/** log_ring_drop - remove the oldest @len octets, which log_ring_peek() returned. */
void log_ring_drop(struct log_ring *ring, size_t len);

/** log_ring_used - octets in the ring. */
size_t log_ring_used(const struct log_ring *ring);

#endif
