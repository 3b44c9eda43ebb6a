/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SHARE_INTERNAL_H
#define FABRIC_VERBS_SHARE_INTERNAL_H

#include "fabric/depth.h"
#include "fabric/verbs/internal.h"

/**
 * share_internal - Receives that the connections of a worker and device share; srq.c has
 * the queue, share_conn.c the connections' part, share.c, above both, what all queues of an
 * instance have in common.
 */

enum vslot_state {
	VSLOT_FREE,
	VSLOT_PENDING, /* posted, waits for the flush */
	VSLOT_POSTED,  /* the device has it */
	VSLOT_HELD,    /* a message is in it, not polled yet */
	VSLOT_BACK,    /* to be told that it comes back */
};

#define VSLOT_NONE UINT32_MAX

/** struct vslot - one Receive. */
struct vslot {
	enum vslot_state state;
	uint32_t next; /* on its list */
	void *buf;
	void *cookie;
};

/** struct vshare - a shared receive queue. */
struct vshare {
	struct list link;
	struct verbs *v;
	struct verbs_dev *dev;
	struct ibv_srq *srq; /* NULL: closed, what is left comes back */
	struct vcq cq;	     /* of the Receives of all, as deep as the queue */
	struct vslot *slots;
	uint32_t size;
	uint32_t free, pending, back; /* lists of slots */
	uint32_t npending, nposted, nheld;
	struct fabric_depth depth;
	uint32_t armed;		     /* with this limit; 0: not */
	atomic_bool low;	     /* the device said so, to any thread */
	atomic_bool failed;	     /* the queue, or its completions' */
	atomic_bool noted;	     /* something was said of a queue pair */
	struct verbs_conn **buckets; /* by queue pair number */
	uint32_t mask, npairs;
	uint32_t users; /* connections that may give Receives back */
};

/* srq.c */

/** srq_open - the queue of a device that comes into use. */
int srq_open(struct verbs_dev *dev) WARN_UNUSED;

/** srq_close - it is given up; what it has comes back. */
void srq_close(struct verbs_dev *dev);

/** srq_log - whose a device's Receives are. */
void srq_log(const struct verbs_dev *dev);

/** srq_free_all - all that is left of @v's, silently. */
void srq_free_all(struct verbs *v);

/** srq_missing - how many more it wants, and has room for. */
uint32_t srq_missing(const struct vshare *s);

/** srq_post - Return: 0, or ERR_AGAIN: it misses none. */
int srq_post(struct vshare *s, void *buf, void *cookie) WARN_UNUSED;

/** srq_flush - hand what was posted to the device. */
void srq_flush(struct vshare *s);

/** srq_put_back - what is in @slot is of no interest. */
void srq_put_back(struct vshare *s, uint32_t slot);

/** srq_release - the buffer in @slot is the user's again. */
void srq_release(struct vshare *s, uint32_t slot);

/** srq_next_back - one that comes back; may free @s. Return: false when there is none. */
bool srq_next_back(struct vshare *s, void **cookie);

/** srq_unuse - a connection gives @s up. */
void srq_unuse(struct vshare *s);

/* share.c: verbs of the contract */
int share_begin(struct fabric *f, uint32_t len) WARN_UNUSED;
void share_end(struct fabric *f);
uint32_t share_wanted(const struct fabric *f);
int share_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

void share_flush(struct verbs *v);
void share_tick(struct verbs *v, nsec_t now);

/** share_notes - act on what other threads left. Return: whether there may be something to tell. */
bool share_notes(struct verbs *v);

/** share_event - tells of a Receive that comes back. Return: false when there is none. */
bool share_event(struct verbs *v, struct fabric_event *ev);

/* share_conn.c */

/** share_join - @c's queue pair is there. Return: 0 or ERR_NOMEM. */
int share_join(struct verbs_conn *c) WARN_UNUSED;

/** share_leave - before it goes: it takes no further Receive. Return: whether what completed for it is to be
 * taken out first, by drain_shared(). */
bool share_leave(struct verbs_conn *c) WARN_UNUSED;

/** share_find - whose the queue pair of that number is, or NULL. */
struct verbs_conn *share_find(const struct vshare *s, uint32_t pair);

/** share_set_timer - as soon as it takes it: how long a peer waits that found no Receive. */
void share_set_timer(struct verbs_conn *c);

#endif
