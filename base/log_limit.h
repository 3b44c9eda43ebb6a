/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

/**
 * log_limit - how many lines of an event a peer, and all peers together, may cause
 *
 * Token buckets in a table of fixed size: of peers beyond it the one that was quiet longest is
 * forgotten, and what was suppressed of it is told as of all others ("*"). Forgetting gives a peer
 * a full bucket again; what bounds a crowd of addresses is the bucket of the event itself.
 *
 * No lock of its own, no clock.
 */
enum {
	LOG_LIMIT_PEER_BURST = 256, /* lines of an event at once ... */
	LOG_LIMIT_PEER_RATE = 8,    /* ... and a second, of one peer */
	LOG_LIMIT_ALL_BURST = 4096,
	LOG_LIMIT_ALL_RATE = 64,
	LOG_LIMIT_SETS = 64,
	LOG_LIMIT_WAYS = 4,
	LOG_LIMIT_EVENTS = 32, /* more kinds share the last bucket */
	LOG_LIMIT_PEER_TEXT = 64,
};

struct log_bucket {
	const char *event;		/* NULL: unused */
	char peer[LOG_LIMIT_PEER_TEXT]; /* "*": all of them */
	nsec_t full_at;			/* when it is full again; in the past: it is */
	uint64_t suppressed;		/* and not told yet */
};

struct log_limit {
	struct log_bucket peers[LOG_LIMIT_SETS][LOG_LIMIT_WAYS];
	struct log_bucket events[LOG_LIMIT_EVENTS];
	uint64_t untold; /* all buckets' suppressed */
};

/**
 * log_limit_take - whether @peer may cause one more line of @event at @now
 * @event: a string that lives for ever
 *
 * When not, it is counted.
 */
bool log_limit_take(struct log_limit *limit, const char *event, const char *peer, nsec_t now);

/**
 * log_limit_tell - take the count of suppressed lines of some bucket
 * @told: a copy of the bucket, as it was before
 *
 * Return: false: nothing was suppressed since it was last told.
 */
bool log_limit_tell(struct log_limit *limit, struct log_bucket *told);

#endif
