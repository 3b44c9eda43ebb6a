/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log_ring.h"

#include <assert.h>
#include <string.h>

size_t log_ring_used(const struct log_ring *ring)
{
	return ring->in - ring->out;
}

bool log_ring_fits(const struct log_ring *ring, size_t len, bool urgent)
{
	size_t cap = urgent ? LOG_RING_BYTES : LOG_RING_BYTES - LOG_RING_SPARE;

	return log_ring_used(ring) + len <= cap;
}

void log_ring_put(struct log_ring *ring, const char *text, size_t len)
{
	size_t at = ring->in % LOG_RING_BYTES, first = LOG_RING_BYTES - at;

	assert(log_ring_fits(ring, len, true));
	if (first > len)
		first = len;
	memcpy(ring->data + at, text, first);
	memcpy(ring->data, text + first, len - first);
	ring->in += len;
}

size_t log_ring_peek(const struct log_ring *ring, const char **text)
{
	size_t at = ring->out % LOG_RING_BYTES, first = LOG_RING_BYTES - at;
	size_t used = log_ring_used(ring);

	*text = ring->data + at;
	return used < first ? used : first;
}

void log_ring_drop(struct log_ring *ring, size_t len)
{
	assert(len <= log_ring_used(ring));
	ring->out += len;
}
