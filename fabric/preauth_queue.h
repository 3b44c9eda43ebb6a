/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PREAUTH_QUEUE_H
#define FABRIC_PREAUTH_QUEUE_H

#include "fabric/host_table.h"

/**
 * preauth_queue - a bounded set of connections that have not sent their first message
 *
 * State:  connections that have not sent a whole message hold memory and descriptors.
 * Danger: one client address fills the set, and no other client can connect.
 * Rule:   when the set is full, the oldest member of the client address with the most members has
 *         to leave. So a client address that fills the set displaces its own connections, and one
 *         with few keeps them. Among client addresses with equal counts, the one that reached that
 *         count first loses its oldest.
 * Pinned: tests/fabric/test_preauth_queue.c:a_host_with_many_displaces_its_own,
 *         :among_equals_the_oldest_goes, decision 66.
 *
 * In the names of this file a client address is a "host". Every call is O(1).
 */
struct preauth_queue_host;

struct preauth_queue_member {
	struct list link;
	struct preauth_queue_host *host; /* NULL: the member is in no queue */
};

struct preauth_queue {
	struct host_table hosts;
	unsigned most, count; /* members */
	unsigned highest;     /* members of the client address with the most */
	/* client addresses by their number of members; the one that reached a number first is first
	 * in its list */
	struct list *by_count;
};

/** preauth_queue_init - for @most members, at least 1; @seed as of host_table_init(). Return: 0 or
 * ERR_NOMEM. No later call allocates. */
int preauth_queue_init(struct preauth_queue *queue, unsigned most, uint64_t seed) WARN_UNUSED;

/** preauth_queue_fini - free @queue, also after preauth_queue_init() failed. Members stay as they
 * are. */
void preauth_queue_fini(struct preauth_queue *queue);

static inline bool preauth_queue_is_full(const struct preauth_queue *queue)
{
	return queue->count >= queue->most;
}

/** preauth_queue_enter - adds @m (borrowed until it leaves), a connection of the peer at @addr. @m
 * is zero or has left. The queue is not full (asserted). */
void preauth_queue_enter(struct preauth_queue *queue, struct preauth_queue_member *m,
			 const struct fabric_addr *addr);

/** preauth_queue_leave - removes @m, if it is in a queue. */
void preauth_queue_leave(struct preauth_queue *queue, struct preauth_queue_member *m);

/** preauth_queue_first - the member that has to leave first; NULL: the queue is empty. */
struct preauth_queue_member *preauth_queue_first(struct preauth_queue *queue);

/** preauth_queue_count_of - how many members have the client address of @addr. */
unsigned preauth_queue_count_of(const struct preauth_queue *queue, const struct fabric_addr *addr);

/** preauth_queue_first_of - the oldest member that has the client address of @addr; NULL: none. */
struct preauth_queue_member *preauth_queue_first_of(const struct preauth_queue *queue,
						    const struct fabric_addr *addr);

#endif
