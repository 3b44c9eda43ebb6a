/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

/**
 * log_limit - how many lines of an event one peer, and all peers together, may cause
 *
 * State:  peers cause log lines: set-up failures, protocol errors.
 * Danger: one peer, or many addresses, fill the log and hide all other lines.
 * Rule:   token buckets, one for each peer and event, and one for each event of all peers. A line
 *         without a token is counted instead. The table has a fixed size: beyond it the peer that
 *         was quiet longest is replaced, and its count is reported for "*", all peers. A replaced
 *         peer starts with a full bucket, so many addresses are limited by the event's own bucket.
 *
 * No lock of its own, no clock.
 */
enum {
	LOG_LIMIT_PEER_BURST = 256, /* lines of one event and peer at once */
	LOG_LIMIT_PEER_RATE = 8,    /* lines of one event and peer a second */
	LOG_LIMIT_ALL_BURST = 4096,
	LOG_LIMIT_ALL_RATE = 64,
	LOG_LIMIT_SETS = 64,
	LOG_LIMIT_WAYS = 4,
	LOG_LIMIT_EVENTS = 32, /* kinds of events; further ones share the last bucket */
	LOG_LIMIT_PEER_TEXT = 64,
};

struct log_bucket {
	const char *event;		/* NULL: unused */
	char peer[LOG_LIMIT_PEER_TEXT]; /* address or route; "*": all peers */
	nsec_t full_at;			/* when it is full again; in the past: it is full */
	uint64_t suppressed;		/* lines not written and not reported yet */
};

struct log_limit {
	struct log_bucket peers[LOG_LIMIT_SETS][LOG_LIMIT_WAYS];
	struct log_bucket events[LOG_LIMIT_EVENTS];
	uint64_t not_reported; /* sum of .suppressed of all buckets */
};

/**
 * log_limit_take - whether @peer may cause one more line of @event at @now
 * @event: a string that lives for ever
 *
 * If not, the line is counted.
 */
bool log_limit_take(struct log_limit *limit, const char *event, const char *peer, nsec_t now);

/**
 * log_limit_take_suppressed - take the count of suppressed lines of a bucket
 * @bucket: set to a copy of the bucket as it was before the call
 *
 * Return: false: nothing was suppressed since the last call.
 */
bool log_limit_take_suppressed(struct log_limit *limit, struct log_bucket *bucket);

#endif
