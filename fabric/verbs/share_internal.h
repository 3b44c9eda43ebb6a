/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SHARE_INTERNAL_H
#define FABRIC_VERBS_SHARE_INTERNAL_H

#include "fabric/depth.h"
#include "fabric/verbs/internal.h"

/** share_internal - Receives that the connections of a worker and device share: srq.c has the
 * queue, share_conn.c its connections, and share.c, which uses both, all queues of an instance. */

enum vslot_state {
	VSLOT_FREE,
	VSLOT_PENDING, /* posted, waits for the flush */
	VSLOT_POSTED,  /* the device has it */
	VSLOT_HELD,    /* a message is in it, not polled yet */
	VSLOT_BACK,    /* its return is to be reported */
};

#define VSLOT_NONE UINT32_MAX

/** struct vslot - one Receive. */
struct vslot {
	enum vslot_state state;
	uint32_t next; /* next slot in its list */
	void *buf;
	void *cookie;
};

/** struct vshare - a shared receive queue. */
struct vshare {
	struct list link;
	struct verbs *v;
	struct verbs_dev *dev;
	struct ibv_srq *srq; /* NULL: closed; the Receives that are left come back */
	struct vcq cq;	     /* for all its Receives, as deep as the queue */
	struct vslot *slots;
	uint32_t size;
	uint32_t free, pending, back; /* lists of slots */
	uint32_t npending, nposted, nheld;
	struct fabric_depth depth;
	uint32_t armed;		     /* limit that is armed; 0: none */
	atomic_bool low;	     /* the device reported it, to any thread */
	atomic_bool failed;	     /* the queue failed, or its completion queue */
	atomic_bool noted;	     /* an event about one of its queue pairs is noted */
	struct verbs_conn **buckets; /* connections by queue pair number */
	uint32_t mask, npairs;
	uint32_t users; /* connections that may give Receives back */
};

/* srq.c */

/** srq_open - the queue of a device that comes into use. */
int srq_open(struct verbs_dev *dev) WARN_UNUSED;

/** srq_close - close it; its Receives come back. */
void srq_close(struct verbs_dev *dev);

/** srq_log - log whether Receives on the device are shared. */
void srq_log(const struct verbs_dev *dev);

/** srq_free_all - free all queues of @v, without events. */
void srq_free_all(struct verbs *v);

/** srq_missing - how many more Receives it wants and has room for. */
uint32_t srq_missing(const struct vshare *s);

/** srq_post - add a Receive. Return: 0, or ERR_AGAIN: none is missing. */
int srq_post(struct vshare *s, void *buf, void *cookie) WARN_UNUSED;

/** srq_flush - hand what was posted to the device. */
void srq_flush(struct vshare *s);

/** srq_put_back - post the Receive in @slot again; its message is not delivered. */
void srq_put_back(struct vshare *s, uint32_t slot);

/** srq_release - the buffer in @slot is the user's again. */
void srq_release(struct vshare *s, uint32_t slot);

/** srq_next_back - the next Receive that comes back; may free @s. Return: false: there is none. */
bool srq_next_back(struct vshare *s, void **cookie);

/** srq_unuse - a connection no longer uses @s. */
void srq_unuse(struct vshare *s);

/* share.c: operations of the contract */
int share_begin(struct fabric *f, uint32_t len) WARN_UNUSED;
void share_end(struct fabric *f);
uint32_t share_wanted(const struct fabric *f);
int share_post(struct fabric *f, void *buf, void *cookie) WARN_UNUSED;

void share_flush(struct verbs *v);
void share_tick(struct verbs *v, nsec_t now);

/** share_notes - handle flags that other threads set. Return: whether there may be an event. */
bool share_notes(struct verbs *v);

/** share_event - the event of a Receive that comes back. Return: false: there is none. */
bool share_event(struct verbs *v, struct fabric_event *ev);

/* share_conn.c */

/** share_join - @c's queue pair exists now. Return: 0 or ERR_NOMEM. */
int share_join(struct verbs_conn *c) WARN_UNUSED;

/** share_leave - stop @c's queue pair from taking Receives; call it before destroying the queue
 * pair. Return: whether its completions are to be processed first, by drain_shared(). */
bool share_leave(struct verbs_conn *c) WARN_UNUSED;

/** share_find - the connection of the queue pair with that number, or NULL. */
struct verbs_conn *share_find(const struct vshare *s, uint32_t pair);

/** share_set_timer - as soon as it takes it: how long a peer waits that found no Receive. */
void share_set_timer(struct verbs_conn *c);

#endif
