/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_MEMORY_QUOTA_H
#define PROXY_MEMORY_QUOTA_H

#include "base/loop.h"
#include "proxy/memory/buf.h"

/**
 * quota - which session gets memory of a gateway's arena, and in which order
 *
 * There is one pool for each purpose. The groups of a pool are the routes. The members of a group
 * are the sessions' queues and legs: the objects that take memory and may have to wait for it.
 * Memory is charged to a member from quota_take() to quota_give(). quota.c has the rules.
 *
 * Every call costs O(1), except quota_next() and quota_deadline(), which look at each route with
 * members that wait. Nothing allocates. One thread only.
 */

enum {
	QUOTA_PURPOSES = BUF_CONN, /* the purposes before BUF_CONN */
	/* Waiting members of one purpose that are looked at in one turn. */
	QUOTA_LOOKS = 64,
	QUOTA_TRY = 8, /* looks that one member counts for if it is chosen to try */
};

/* Reservations (claims) of memory for a large request: how long the request waits before one
 * begins, how long one lasts at most, and the longest wait after reservations that failed. */
#define QUOTA_CLAIM_WAIT (250 * NSEC_PER_MS)
#define QUOTA_CLAIM NSEC_PER_SEC
#define QUOTA_PAUSE (64 * NSEC_PER_SEC)

/* Turnover: a client may hold as much as it gave back within this time, or up to twice as long ago.
 * The time is longer than a slow server takes for an answer. */
#define QUOTA_TURNOVER (4 * NSEC_PER_SEC)

struct quota;
struct quota_member;

/** struct quota_account - memory of one pool that several members hold together: those of one
 * client's address, or of one server. Zero at first; it outlives its members. */
struct quota_account {
	size_t used;	  /* octets */
	unsigned holders; /* number of members that hold memory */
	/* Octets given back since .since, and in the QUOTA_TURNOVER before. */
	size_t gave, gave_then;
	nsec_t since; /* less than QUOTA_TURNOVER before the last look */
};

/** struct quota_group - the members of one route. */
struct quota_group {
	struct quota_pool *pool;
	struct list link;    /* in pool.groups, if members wait */
	struct list waiting; /* members that wait, in the order in which they are tried */
	unsigned nwaiting;
	/* Members at the front of .waiting that were not tried since memory came back. */
	unsigned untried;
	/* Blocks that had come back, and reservations that had ended, at the last look. */
	uint64_t seen;
	size_t least; /* the smallest request of all waiting members, octets */
	/* The smallest request of the members looked at since all were untried, octets. */
	size_t least_scanned;
	unsigned own; /* the route's own zone, or BUF_NO_ZONE */
	size_t all;   /* octets of its own zone and of the common zones */
	/* Clients that hold memory; a member that is charged to no client counts as one. */
	unsigned holders;
	size_t little; /* octets that a member may hold whatever its client holds: quota.c */
	size_t used;   /* octets that its members hold: in all, and in common zones */
	size_t common;
	/* Octets that the member which passed quota_may_take() may still take in common zones. */
	size_t may_common;
	/* The member with a reservation: memory that comes free is kept for it; or NULL. */
	struct quota_member *claimer;
	/* When the reservation of .claimer began, and when it ends; how long a member has to have
	 * waited before the next reservation begins. */
	nsec_t claim_began, claim_ends, claim_wait;
};

/** struct quota_member - embedded in each object that takes memory. */
struct quota_member {
	struct list link; /* in group.waiting; self-linked when not */
	struct quota_group *group;
	struct quota_account *client, *server; /* borrowed; NULL: not charged to any */
	size_t used;			       /* octets it holds */
	size_t wanted_bytes;		       /* octets that it waits for */
	/* When it began to wait, or its last reservation failed; NSEC_NEVER: it does not wait. */
	nsec_t since;
	nsec_t waiting_since; /* when it began to wait; NSEC_NEVER: it does not wait */
};

struct quota_pool {
	struct quota *quota;
	enum buf_purpose purpose;
	unsigned zones[2], nzones; /* the common zones, in the order in which they are tried */
	unsigned ngroups;	   /* groups of the pool */
	/* Groups with waiting members, in the order in which they are tried. */
	struct list groups;
	unsigned looks;		     /* looks left in this turn */
	struct quota_group *claimer; /* the group with a reservation of the common zones; or NULL */
	nsec_t rests_until;	     /* no group reserves the common zones before */
	/* How often more room came without a block: reservations of the common zones that ended,
	 * groups that were removed. */
	uint64_t ended;
};

struct quota {
	struct buf_arena *arena;
	nsec_t now;	 /* the user's clock, of this turn */
	uint64_t looked; /* looks at waiting members, in all */
	uint64_t waits;	 /* waits, in all */
	struct quota_pool pools[QUOTA_PURPOSES];
};

/** quota_init - set up all pools over @arena, which has parts and is borrowed. There is no
 * quota_fini(). */
void quota_init(struct quota *s, struct buf_arena *arena);

/** quota_turn - a turn of the relay begins at @now. */
void quota_turn(struct quota *s, nsec_t now);

/** quota_is_over_budget - this turn has used up its looks: another turn should follow at once. */
bool quota_is_over_budget(const struct quota *s);

/** quota_group_init - set up @g for the @part-th route of the arena, for @purpose. */
void quota_group_init(struct quota_group *g, struct quota *s, enum buf_purpose purpose,
		      unsigned part);

/** quota_group_fini - remove @g, which has no members and holds nothing. */
void quota_group_fini(struct quota_group *g);

/** quota_member_init - set up @m in group @g; it holds nothing and waits for nothing. */
void quota_member_init(struct quota_member *m, struct quota_group *g);

/** quota_count_for - charge @m, which holds nothing, to @client and @server from now on; NULL: to
 * none. */
void quota_count_for(struct quota_member *m, struct quota_account *client,
		     struct quota_account *server);

/** quota_unwait - @m no longer waits. Memory that it holds stays charged to it until it is given
 * back. */
void quota_unwait(struct quota_member *m);

/**
 * quota_may_take - whether @m may take @bytes now (the sum of buf_round() of its blocks)
 *
 * True does not mean that free blocks of these sizes exist. False also if other members have waited
 * longer: then @m has to wait behind them.
 */
bool quota_may_take(struct quota_member *m, size_t bytes);

/** quota_take - one block of what quota_may_take() allowed, or NULL. */
void *quota_take(struct quota_member *m, size_t bytes) WARN_UNUSED;

/** quota_give - takes @block, which @m took; @block may be NULL. */
void quota_give(struct quota_member *m, void *block);

/** quota_undo - give back a block of an attempt that failed. As everything is as before the
 * attempt, no member is tried again. */
void quota_undo(struct quota_member *m, void *block);

/** quota_served - @m has everything it wanted: its wait is over, and its reservation, if it has
 * one, ends. */
void quota_served(struct quota_member *m);

/** quota_wait - @m waits for @bytes, behind the others of its group. */
void quota_wait(struct quota_member *m, size_t bytes);

static inline bool quota_is_waiting(const struct quota_member *m)
{
	return !list_is_empty(&m->link);
}

/** quota_anybody_waits - whether any member of any group waits for the purpose of @m. */
static inline bool quota_anybody_waits(const struct quota_member *m)
{
	return !list_is_empty(&m->group->pool->groups);
}

/** quota_has_line - whether any member waits for memory for @purpose. */
static inline bool quota_has_line(const struct quota *s, enum buf_purpose purpose)
{
	return !list_is_empty(&s->pools[purpose].groups);
}

/** quota_is_wanted - whether another member waits that could use the memory which @m holds. */
static inline bool quota_is_wanted(const struct quota_member *m)
{
	const struct list *groups = &m->group->pool->groups, *first = groups->next;
	bool other_groups = first != groups && (first != &m->group->link || first->next != groups);

	return m->group->nwaiting > (unsigned)quota_is_waiting(m) ||
	       (m->group->common > 0 && other_groups);
}

/* Private: for quota_next(). */
struct quota_member *quota_look(struct quota_pool *pool);

/**
 * quota_next - take the next member that is to try now out of the queue for @purpose; NULL: none
 *
 * There is room for it by octets; blocks of the right sizes may still be missing. The member tries
 * with quota_may_take(), and calls quota_wait() again if it has to.
 */
static inline struct quota_member *quota_next(struct quota *s, enum buf_purpose purpose)
{
	struct quota_pool *pool = &s->pools[purpose];

	/* No member waits, and none has a reservation: true in most turns. */
	if (list_is_empty(&pool->groups) && !pool->claimer)
		return NULL;
	return quota_look(pool);
}

/** quota_deadline - when quota_next() is due even if no memory comes back, or NSEC_NEVER. */
nsec_t quota_deadline(const struct quota *s);

#endif
