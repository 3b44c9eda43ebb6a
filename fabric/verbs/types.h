/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_TYPES_H
#define FABRIC_VERBS_TYPES_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "fabric/verbs/verbs.h"

/** types - structures of an instance, its devices, connections and operations; for fabric/verbs
 * only. Start at struct verbs. */

enum { PD_MAX = 256, PD_REQUEST_MAX = 56, PD_ACCEPT_MAX = 196, PD_REJECT_MAX = 148 };

/* The functions of these names are used, because the macros do not pass -Wconversion. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/** struct vrange - memory given to fabric_register(). */
struct vrange {
	struct list link;
	uint8_t *base;
	size_t len;
};

/** struct vregion - a range as one device knows it. */
struct vregion {
	struct list link;
	struct vrange *range;
	struct ibv_mr *mr;
};

#define VERBS_NO_DOMAIN UINT32_MAX

/** struct verbs_dev - a device as one worker uses it: for all domains if the device has Memory
 * Windows, otherwise for one domain. */
struct verbs_dev {
	struct list link;
	struct verbs *v;
	uint32_t domain; /* VERBS_NO_DOMAIN: not used yet */
	struct ibv_context *context;
	struct ibv_context **contexts; /* a list of devices from librdmacm, held */
	char name[IBV_SYSFS_NAME_MAX];
	struct shared *shared; /* context.c: state that workers share */
	unsigned failures;     /* failures of the context when this device came into use */
	ino_t entry;	       /* inode of its entry in sysfs; 0: unknown */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct loop_watch watch, async_watch;
	bool watched, async_watched;
	int async_fd;
	struct ibv_device_attr attr;
	bool windows;		      /* memory is exposed by Memory Windows of type 2B */
	bool rxe;		      /* Linux's software RoCE */
	bool siw;		      /* Linux's software iWARP */
	bool qedr;		      /* QLogic's adapters */
	bool send_inv;		      /* the device has Send with Invalidate */
	unsigned max_sge, max_inline; /* pieces, and inline octets, of a Send or Write */
	bool iwarp;
	/* the device has reported the last Receive of a queue pair before (LAST_WQE_REACHED) */
	atomic_bool reports_last;
	struct vshare *share; /* NULL: Receives are the connections' own */
	bool lost_key;	      /* a peer invalidated a key of .regions: register again */
	bool refused;	      /* the device cannot be used; logged once */
	/* not in use yet, or no longer: its objects are freed with its last connection */
	bool closed;
	unsigned conns;
	struct list regions;
	struct ibv_mw **pool; /* free windows: a ring, the one used longest ago first */
	uint32_t pool_size, pool_head, pool_count, windows_total;
	uint32_t last_handle, last_step;
	uint8_t random[64]; /* random octets drawn ahead */
	unsigned random_left;
};

enum verbs_state {
	VERBS_RESOLVING,  /* initiator: address, then route */
	VERBS_CONNECTING, /* initiator: the request was sent */
	VERBS_REQUESTED,  /* acceptor: REQUEST was polled, or is queued */
	VERBS_ACCEPTED,	  /* acceptor: the answer was sent */
	VERBS_OPEN,
	VERBS_DRAINING, /* the user disconnected: Sends and Writes under way complete first */
	VERBS_LEAVING,	/* rdma_disconnect() was called; the peer's answer is awaited */
	VERBS_ENDED,	/* no queue pair any more */
};

/** struct vop - a posted operation, from the post to the poll of its completion. */
struct vop {
	enum fabric_ev_type type;
	void *cookie;
	void *addr; /* RECV */
	uint32_t len;
	uint32_t inv;	   /* RECV: handle invalidated by the message; WITHDRAWN: withdrawn */
	uint32_t slot;	   /* send queue: slots ever used, with its own; shared RECV: its slot */
	uint32_t extras;   /* part of .slot: slots of binds and invalidates */
	uint32_t exposure; /* WITHDRAWN */
	int status;
	bool signalled; /* it has a completion of its own */
	bool complete;
	struct ibv_mr *mr; /* READ: its own registration, or NULL */
};

/** struct vring - the operations of one queue, oldest first. .polled <= .done <= .posted are
 * numbers of operations so far, and wrap. An operation is done when it and all before it have
 * completed. */
struct vring {
	struct vop *ops;
	uint32_t mask;
	uint32_t posted, done, polled;
};

enum vexp_state {
	VEXP_FREE,
	VEXP_LIVE,
	VEXP_INVALIDATED,
	VEXP_FENCING,
	VEXP_HELD, /* the device refused to release it: the queue pair has to go first */
};

/** struct vexp - one exposure. */
struct vexp {
	enum vexp_state state;
	uint32_t handle;
	uint32_t next; /* next in its hash chain, or free list; VEXP_NONE ends it */
	struct ibv_mw *mw;
	struct ibv_mr *mr; /* registration of its own, or NULL */
	uint64_t offset;   /* offset of its first octet in the segment that peers get */
};

enum { VEXP_FENCED = 8 };

#define VEXP_NONE UINT32_MAX

/** struct vcq - a completion queue: a connection's, or that of shared Receives. */
struct vcq {
	struct verbs *v;
	struct verbs_conn *conn; /* NULL: the queue of .share */
	struct vshare *share;
	struct ibv_cq *cq;
	unsigned events;       /* events not acknowledged */
	struct list hot;       /* in .hot or .busy of the instance; in neither: cold */
	uint32_t busy_poll_us; /* us to poll for completions before waiting for them */
	nsec_t busy_until;
};

struct verbs_conn {
	struct fabric_conn base;
	struct verbs *v;
	struct verbs_dev *dev;
	struct rdma_cm_id *id;
	struct vcq cq;
	struct vshare *share;	      /* NULL: Receives are its own */
	struct verbs_conn *next_pair; /* next in its hash chain there */
	uint32_t pair;
	struct list all, active, timed, pending;
	enum verbs_state state;
	bool initiator;
	bool request_due, connected_due, end_reported;
	bool broken; /* a post failed, or the completion queue did */
	bool caused; /* .status is set */
	int status;  /* status of DISCONNECTED: the first cause */
	const char *why;
	nsec_t deadline;
	uint8_t setup_looks; /* looks at the set-up so far: base/pause.h */
	atomic_int async;    /* event of the device about the queue pair; any thread; -1: none */
	atomic_bool last;    /* the queue pair has taken its last shared Receive */
	bool was_open;
	bool astray;	    /* the peer broke the protocol: no message of it is reported */
	uint8_t pd[PD_MAX]; /* private data from the peer */
	size_t pd_len;
	uint8_t own_pd[PD_MAX]; /* private data to send; initiator: until the route is known */
	size_t own_pd_len;
	uint8_t peer_ird; /* acceptor: most Reads that the peer issues at once */
	uint8_t peer_ord; /* most Reads that the peer serves at once, by its request or answer */
	uint16_t ird, ord;
	struct fabric_tuning tuning;
	uint32_t max_recvs, max_sends, max_exposures, domain;
	uint32_t recv_pieces; /* above 1: Receives are its own, even if others share */
	/* pieces of its Receives, .recv_pieces for each entry of .recvs */
	struct fabric_piece *pieces;

	struct vring recvs, sends; /* sends: the send queue, withdraws too */
	uint32_t recvs_given;	   /* Receives given to the device; the rest waits for the flush */
	/* Sends that wait for the flush; .chain_word: the last Send or Write */
	struct ibv_send_wr *chain, *chain_last, *chain_word;
	uint32_t ops_out;     /* Sends, Writes, Reads whose completion was not polled */
	uint32_t strings_out; /* Sends and Writes under way */
	uint32_t sq_size, sq_posted, sq_freed, sq_reserved;
	/* of the send queue's slots, those that the user did not post */
	uint32_t extras_posted, extras_freed;
	uint32_t seen; /* completions at the last check of alive.c */
	bool asked;    /* a probe of the peer is under way */
	uint32_t ask_slot, ask_extras;
	unsigned max_sge;
	uint32_t max_inline;
	struct vexp *exps;
	uint32_t fenced[VEXP_FENCED], nfenced; /* handles withdrawn last (a ring) */
	uint32_t *buckets;
	uint32_t bucket_mask, free_exp;
};

struct verbs {
	struct fabric base;
	struct verbs_config cfg;
	struct loop *loop;
	unsigned number; /* of the instance in the process; selects the completion vector */
	struct verbs_counters counters;
	struct rdma_event_channel *channel;
	struct loop_watch watch;
	bool watched;
	struct list devs, conns, active, hot, busy, timed, pending, ranges, attachments, shares;
	unsigned unpolled; /* connection requests that the user has not polled */
	struct vwr *store; /* free work requests for chains */
	struct ibv_send_wr *free_wrs;
	nsec_t next;   /* no connection has a deadline before this time */
	nsec_t look;   /* when to check whether devices still exist */
	nsec_t ask;    /* when to check silent peers */
	nsec_t period; /* when to check the depths of shared queues */
	bool shares_receives;
	/* domain of devices that no address of .uses leads to: that of the first use */
	uint32_t domain;
	uint32_t nback;	   /* shared Receives whose return is to be reported */
	uint32_t recv_len; /* octets of each shared Receive */
};

static inline struct verbs *verbs_of(struct fabric *f)
{
	return container_of(f, struct verbs, base);
}

static inline struct verbs_conn *vconn_of(struct fabric_conn *c)
{
	return container_of(c, struct verbs_conn, base);
}

/** struct vevent - an event of the connection manager, copied out and acknowledged. */
struct vevent {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id, *listen_id;
	int status;
	uint8_t ird, ord;
	uint8_t pd[PD_MAX];
	size_t pd_len;
};

enum { LOOK_MS = 1000 }; /* interval of the check whether devices still exist */

/* Bits of work request identifiers. */
#define ID_RECV (UINT64_C(1) << 32)
#define ID_BIND (UINT64_C(1) << 33)
#define ID_ASK (UINT64_C(1) << 34)

/** verbs_init - initialize @v, which is all zeros; opens no device. */
void verbs_init(struct verbs *v, const struct verbs_config *cfg, struct loop *loop);

#endif
