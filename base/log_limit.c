/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log_limit.h"

#include <stdio.h>
#include <string.h>

static uint32_t hash_text(uint32_t hash, const char *text)
{
	/* FNV-1a. A peer that finds addresses of one set of the table gains only a full bucket. */
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash;
}

/* A line moves .full_at by the time it takes to refill one token. */
static bool has_token(const struct log_bucket *b, unsigned burst, unsigned rate, nsec_t now)
{
	return b->full_at <= now || b->full_at - now <= (burst - 1) * (NSEC_PER_SEC / rate);
}

static void take_token(struct log_bucket *b, unsigned rate, nsec_t now)
{
	b->full_at = (b->full_at > now ? b->full_at : now) + NSEC_PER_SEC / rate;
}

static struct log_bucket *bucket_of_event(struct log_limit *limit, const char *event)
{
	struct log_bucket *b = limit->events;

	for (; b < limit->events + LOG_LIMIT_EVENTS - 1 && b->event; b++)
		if (strcmp(b->event, event) == 0)
			return b;
	if (!b->event) {
		b->event = event;
		strcpy(b->peer, "*");
	}
	return b;
}

static bool is_of(const struct log_bucket *b, const char *event, const char *peer)
{
	return b->event && strcmp(b->event, event) == 0 &&
	       strncmp(b->peer, peer, sizeof(b->peer) - 1) == 0;
}

static struct log_bucket *bucket_of_peer(struct log_limit *limit, const char *event,
					 const char *peer)
{
	uint32_t hash = hash_text(hash_text(2166136261u, event), peer);
	struct log_bucket *set = limit->peers[hash % LOG_LIMIT_SETS], *oldest = set;

	for (unsigned i = 0; i < LOG_LIMIT_WAYS; i++) {
		if (is_of(&set[i], event, peer))
			return &set[i];
		if (set[i].full_at < oldest->full_at)
			oldest = &set[i];
	}
	if (oldest->event)
		bucket_of_event(limit, oldest->event)->suppressed += oldest->suppressed;
	*oldest = (struct log_bucket){.event = event};
	snprintf(oldest->peer, sizeof(oldest->peer), "%s", peer);
	return oldest;
}

bool log_limit_take(struct log_limit *limit, const char *event, const char *peer, nsec_t now)
{
	struct log_bucket *b = bucket_of_peer(limit, event, peer);
	struct log_bucket *all = bucket_of_event(limit, event);

	if (has_token(b, LOG_LIMIT_PEER_BURST, LOG_LIMIT_PEER_RATE, now) &&
	    has_token(all, LOG_LIMIT_ALL_BURST, LOG_LIMIT_ALL_RATE, now)) {
		take_token(b, LOG_LIMIT_PEER_RATE, now);
		take_token(all, LOG_LIMIT_ALL_RATE, now);
		return true;
	}
	b->suppressed++;
	limit->not_reported++;
	return false;
}

bool log_limit_take_suppressed(struct log_limit *limit, struct log_bucket *bucket)
{
	struct log_bucket *b = &limit->peers[0][0], *found = NULL;

	for (unsigned i = 0; !found && limit->not_reported && i < LOG_LIMIT_SETS * LOG_LIMIT_WAYS;
	     i++)
		found = b[i].suppressed ? &b[i] : NULL;
	for (unsigned i = 0; !found && limit->not_reported && i < LOG_LIMIT_EVENTS; i++)
		found = limit->events[i].suppressed ? &limit->events[i] : NULL;
	if (!found)
		return false;
	*bucket = *found;
	limit->not_reported -= found->suppressed;
	found->suppressed = 0;
	return true;
}
