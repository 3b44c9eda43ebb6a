/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_SHARE_TYPES_H
#define FABRIC_VERBS_SHARE_TYPES_H

#include "fabric/depth.h"
#include "fabric/verbs/types.h"

/** share_types - structures of the Receives that the connections of a worker and device share:
 * srq.c has the queue, share_conn.c its connections, and share.c, which uses both, all queues of an
 * instance. */

enum vslot_state {
	VSLOT_FREE,
	VSLOT_PENDING, /* posted, waits for the flush */
	VSLOT_POSTED,  /* the device has it */
	VSLOT_HELD,    /* a message is in it, not polled yet */
	VSLOT_BACK,    /* to be reported as returned without a message */
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
	struct ibv_srq *srq; /* NULL: closed; its Receives are returned by events */
	struct vcq cq;	     /* completion queue of all its Receives, as deep as .srq */
	struct vslot *slots;
	uint32_t size;
	uint32_t free, pending, back; /* lists of slots */
	uint32_t npending, nposted, nheld;
	struct fabric_depth depth;
	uint32_t armed; /* number of Receives below which the device reports; 0: no report */
	atomic_bool
		low; /* the device reported that fewer Receives than .armed are left; any thread */
	atomic_bool failed;	     /* the queue failed, or its completion queue */
	atomic_bool noted;	     /* an event about one of its queue pairs is noted */
	struct verbs_conn **buckets; /* connections by queue pair number */
	uint32_t mask, npairs;
	uint32_t users; /* connections that may give Receives back */
};

#endif
