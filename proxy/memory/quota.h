/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_MEMORY_QUOTA_H
#define PROXY_MEMORY_QUOTA_H

#include "base/loop.h"
#include "proxy/memory/buf.h"

/**
 * quota - who gets memory of a gateway's arena, and in which turn
 *
 * For each purpose there is a pool. Its groups are the routes, its members the sessions' queues and
 * legs: whoever takes memory and may have to wait for it. What a member takes counts as its own
 * until it gives it back. quota.c has the rule.
 *
 * Every call costs O(1), but for quota_next() and quota_deadline(), which look at each route with
 * members that wait. Nothing allocates. One thread only.
 */

enum {
	QUOTA_PURPOSES = BUF_FIXED, /* those before it */
	QUOTA_LOOKS = 64,	    /* members that wait for one purpose, looked at in one turn */
	QUOTA_TRY = 8,		    /* ... and for as many of these counts one that is to try */
};

/* How long a large request stands by before it claims what comes free, how long a claim holds, and
 * the longest pause after claims that came to nothing. */
#define QUOTA_PATIENCE (250 * NSEC_PER_MS)
#define QUOTA_CLAIM NSEC_PER_SEC
#define QUOTA_PAUSE (64 * NSEC_PER_SEC)

/* A client may hold again what it gave back within this time, or up to twice as long ago. Longer than a slow server takes for
 * an answer. */
#define QUOTA_TURNOVER (4 * NSEC_PER_SEC)

struct quota;
struct quota_member;

/** struct quota_account - what several members of one pool hold together: those of one client's address, or of one server. Zero
 * at first; outlives its members. */
struct quota_account {
	size_t used;	  /* octets */
	unsigned holders; /* members that hold some */
	/* Octets given back since .since, and in the QUOTA_TURNOVER before. */
	size_t gave, gave_then;
	nsec_t since;
};

/** struct quota_group - the members of one route. */
struct quota_group {
	struct quota_pool *pool;
	struct list link;    /* pool's groups with members that wait, in turn */
	struct list waiting; /* members, in turn */
	unsigned nwaiting;
	unsigned untried;  /* of these, the first: not tried since memory came back */
	uint64_t seen;	   /* blocks that had come back by then, and claims that had ended */
	size_t least;	   /* no member that waits wants less */
	size_t least_seen; /* ... of those looked at since .untried were all */
	unsigned own;	   /* zone, or BUF_NO_ZONE */
	size_t all;	   /* octets, of the own zone and the common ones */
	/* Clients that hold some; each member that counts for no client is one. */
	unsigned holders;
	size_t little; /* octets that a member may hold whatever its client holds: quota.c */
	size_t used;   /* octets, in all and of the common zones */
	size_t common;
	size_t may_common;	      /* octets a member that was let in may still take there */
	struct quota_member *claimer; /* what comes free is kept for it, or NULL */
	nsec_t claim_began, claim_ends, patience;
};

/** struct quota_member - embedded in whoever takes memory. */
struct quota_member {
	struct list link; /* group's waiting; self-linked when not */
	struct quota_group *group;
	struct quota_account *client, *server; /* borrowed; NULL: not counted so */
	size_t used;			       /* octets it holds */
	size_t wants;			       /* octets it waits for */
	nsec_t since; /* when it began to wait, or its last claim came to nothing; NSEC_NEVER: it does not wait */
	nsec_t asked; /* when it began to wait, or NSEC_NEVER */
};

struct quota_pool {
	struct quota *quota;
	enum buf_purpose purpose;
	unsigned zones[2], nzones;   /* common to all groups, in the order they are tried */
	unsigned ngroups;	     /* of the pool */
	struct list groups;	     /* those with members that wait, in turn */
	unsigned looks;		     /* left in this turn */
	struct quota_group *claimer; /* what comes free of the common zones is kept for it */
	nsec_t rests_until;	     /* nobody claims these before */
	uint64_t ended; /* such claims that ended, groups that went, quota_again(), since ever */
};

struct quota {
	struct buf_arena *arena;
	nsec_t now;	 /* the user's clock, of this turn */
	uint64_t looked; /* at members that wait, since ever */
	uint64_t waits;	 /* times somebody had to wait */
	struct quota_pool pools[QUOTA_PURPOSES];
};

/** quota_init - over an arena with parts. There is nothing to give back. */
void quota_init(struct quota *s, struct buf_arena *arena);

/** quota_turn - a turn of the user begins. */
void quota_turn(struct quota *s, nsec_t now);

/** quota_is_behind - this turn has looked at as many as it may: another should follow at once. */
bool quota_is_behind(const struct quota *s);

/** quota_group_init - the @part-th route of the arena, for @purpose. */
void quota_group_init(struct quota_group *g, struct quota *s, enum buf_purpose purpose,
		      unsigned part);

/** quota_group_fini - it has no members, and holds nothing. */
void quota_group_fini(struct quota_group *g);

/** quota_member_init - @m holds nothing and waits for nothing. */
void quota_member_init(struct quota_member *m, struct quota_group *g);

/** quota_count_for - @m, which holds nothing, counts for @client and @server from now on; NULL: for none. */
void quota_count_for(struct quota_member *m, struct quota_account *client,
		     struct quota_account *server);

/** quota_unwait - whatever it still holds stays counted until it is given back; it does not wait. */
void quota_unwait(struct quota_member *m);

/**
 * quota_may_take - whether @m may take @bytes now (the sum of buf_round() of its blocks)
 *
 * That does not mean that blocks of the sizes wanted are free. No when others have waited longer:
 * then it has to get in line.
 */
bool quota_may_take(struct quota_member *m, size_t bytes);

/** quota_take - one block of what quota_may_take() allowed, or NULL. */
void *quota_take(struct quota_member *m, size_t bytes) WARN_UNUSED;

/** quota_give - takes @block, which may be NULL, and which @m took. */
void quota_give(struct quota_member *m, void *block);

/** quota_undo - quota_give() of what was taken in an attempt that failed: all is as before it, so
 * nobody is to be tried again for it. */
void quota_undo(struct quota_member *m, void *block);

/** quota_served - @m has all that it wanted. */
void quota_served(struct quota_member *m);

/** quota_wait - @m stands in line for @bytes, behind the others of its group. */
void quota_wait(struct quota_member *m, size_t bytes);

static inline bool quota_is_waiting(const struct quota_member *m)
{
	return !list_is_empty(&m->link);
}

/** quota_anybody_waits - of any group, for what @m is for. */
static inline bool quota_anybody_waits(const struct quota_member *m)
{
	return !list_is_empty(&m->group->pool->groups);
}

/** quota_has_line - whether anybody waits for memory for @purpose. */
static inline bool quota_has_line(const struct quota *s, enum buf_purpose purpose)
{
	return !list_is_empty(&s->pools[purpose].groups);
}

/** quota_others_wait - whether anybody of the group waits. */
static inline bool quota_others_wait(const struct quota_member *m)
{
	return m->group->nwaiting > 0;
}

/** quota_is_wanted - whether another member waits that could use what @m, which holds some, would give back. */
static inline bool quota_is_wanted(const struct quota_member *m)
{
	const struct list *groups = &m->group->pool->groups, *first = groups->next;
	bool other_groups = first != groups && (first != &m->group->link || first->next != groups);

	return m->group->nwaiting > (unsigned)quota_is_waiting(m) ||
	       (m->group->common > 0 && other_groups);
}

/**
 * quota_next - the member of @purpose that is to try now, taken out of the line; NULL: nobody
 *
 * By octets there is room for it; blocks of the sizes may still be missing. It tries, with
 * quota_may_take(), and gets in line again with quota_wait() when it has to.
 */
struct quota_member *quota_next(struct quota *s, enum buf_purpose purpose);

/** quota_again - what members like @m wait for beside memory may have come to be: each is to be tried. */
void quota_again(struct quota_member *m);

/** quota_deadline - when quota_next() is needed though no memory comes back, or NSEC_NEVER. */
nsec_t quota_deadline(const struct quota *s);

#endif
