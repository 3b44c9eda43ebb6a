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

/** types - what an instance, its devices, connections and operations are; inside of fabric/verbs
 * only. Start at struct verbs. */

enum { PD_MAX = 256, PD_REQUEST_MAX = 56, PD_ACCEPT_MAX = 196, PD_REJECT_MAX = 148 };

/* The function; the macro of that name does not pass -Wconversion. */
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

/** struct verbs_dev - a device as one worker uses it: for all domains where it has windows, else for
 * one. */
struct verbs_dev {
	struct list link;
	struct verbs *v;
	uint32_t domain; /* VERBS_NO_DOMAIN: not used for any yet */
	struct ibv_context *context;
	struct ibv_context **contexts; /* a list of librdmacm's, held */
	char name[IBV_SYSFS_NAME_MAX];
	struct shared *shared; /* context.c: what workers know of the context */
	unsigned failures;     /* ... when it was taken into use */
	ino_t entry;	       /* in sysfs; 0: unknown */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct loop_watch watch, async_watch;
	bool watched, async_watched;
	int async_fd;
	struct ibv_device_attr attr;
	bool windows;  /* exposes by Memory Window type 2B */
	bool rxe;      /* Linux's software RoCE, whose oddities are named where met */
	bool siw;      /* Linux's software iWARP, likewise */
	bool send_inv; /* has Send with Invalidate */
	unsigned max_sge, max_inline; /* of a Send or Write */
	bool iwarp;
	atomic_bool tells_last; /* that a queue pair took its last Receive: seen to */
	struct vshare *share;	/* NULL: Receives are the connections' own */
	bool lost_key;		/* of its regions: to be taken into use anew */
	bool refused;		/* for what it cannot do: told once */
	bool closed; /* not in use yet, or no more: its objects go with its last connection */
	unsigned conns;
	struct list regions;
	struct ibv_mw **pool; /* free windows: a ring, used longest ago first */
	uint32_t pool_size, pool_head, pool_count, windows_total;
	uint32_t last_handle, last_step;
	uint8_t random[64]; /* drawn ahead */
	unsigned random_left;
};

enum verbs_state {
	VERBS_RESOLVING,  /* initiator: address, then route */
	VERBS_CONNECTING, /* initiator: request is out */
	VERBS_REQUESTED,  /* acceptor: the user was, or will be, asked */
	VERBS_ACCEPTED,	  /* acceptor: answer is out */
	VERBS_OPEN,
	VERBS_DRAINING, /* disconnect wanted: Sends and Writes under way go first */
	VERBS_LEAVING,	/* the peer was told, its answer is awaited */
	VERBS_ENDED,	/* no queue pair any more */
};

/** struct vop - a posted operation, from the post to the poll of its completion. */
struct vop {
	enum fabric_ev_type type;
	void *cookie;
	void *addr; /* RECV */
	uint32_t len;
	uint32_t inv;	   /* RECV: handle invalidated by the message; WITHDRAWN: withdrawn */
	uint32_t slot;	   /* send queue: slots used up to and with it; shared RECV: its slot */
	uint32_t extras;   /* ... of these, by binds and invalidates */
	uint32_t exposure; /* WITHDRAWN */
	int status;
	bool signalled; /* its completion is its own */
	bool complete;
	struct ibv_mr *mr; /* READ: its own registration, or NULL */
};

/** struct vring - operations of one queue, oldest first: polled <= done <= posted, all counting
 * for ever. Done is what completed together with all before it. */
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
	VEXP_HELD, /* the device would not give it up: the queue pair has to go first */
};

/** struct vexp - one region the peer may access. */
struct vexp {
	enum vexp_state state;
	uint32_t handle;
	uint32_t next; /* in its hash chain, or free list; VEXP_NONE ends it */
	struct ibv_mw *mw;
	struct ibv_mr *mr; /* of its own, or NULL */
	uint64_t offset;   /* of its first octet, as peers are told */
};

enum { VEXP_FENCED = 8 };

#define VEXP_NONE UINT32_MAX

/** struct vcq - a completion queue: a connection's, or that of shared Receives. */
struct vcq {
	struct verbs *v;
	struct verbs_conn *conn; /* NULL: .share */
	struct vshare *share;
	struct ibv_cq *cq;
	unsigned events;       /* not acknowledged */
	struct list hot;       /* on .hot or .busy, or on none: cold */
	uint32_t busy_poll_us; /* look for completions, do not wait for them */
	nsec_t busy_until;
};

struct verbs_conn {
	struct fabric_conn base;
	struct verbs *v;
	struct verbs_dev *dev;
	struct rdma_cm_id *id;
	struct vcq cq;
	struct vshare *share;	      /* NULL: Receives are its own */
	struct verbs_conn *next_pair; /* in its hash chain there */
	uint32_t pair;
	struct list all, active, timed, pending;
	enum verbs_state state;
	bool initiator;
	bool tell_request, tell_connected, told_end;
	bool broken; /* a post failed, or the CQ did */
	bool caused; /* .status is known */
	int status;  /* of DISCONNECTED: the first cause */
	const char *why;
	nsec_t deadline;
	atomic_int async; /* event about the queue pair, from any thread; -1: none */
	atomic_bool last; /* it took its last shared Receive */
	bool was_open;
	bool astray;	    /* sent what it may not: nothing more of it is a message */
	uint8_t pd[PD_MAX]; /* from the peer */
	size_t pd_len;
	uint8_t own_pd[PD_MAX]; /* initiator: until the route is known */
	size_t own_pd_len;
	uint8_t peer_ird, peer_ord; /* acceptor: as asked for */
	uint16_t ird, ord;
	struct fabric_tuning tuning;
	uint32_t max_recvs, max_sends, max_exposures, domain;
	uint32_t recv_pieces;	     /* above 1: Receives are its own, whatever others share */
	struct fabric_piece *pieces; /* ... and lie here, so many for each place of .recvs */

	struct vring recvs, sends; /* sends: the send queue, withdraws too */
	uint32_t recvs_given;	   /* the device has them; the rest waits for the flush */
	struct ibv_send_wr *chain, *chain_last, *chain_word; /* these, too; last Send or Write */
	uint32_t ops_out;   /* Sends, Writes, Reads whose completion was not polled */
	uint32_t words_out; /* Sends and Writes under way */
	uint32_t sq_size, sq_posted, sq_freed, sq_reserved;
	uint32_t extras_posted, extras_freed; /* of these, what the user did not post */
	uint32_t seen;			      /* completions when alive.c looked last */
	uint32_t taken;			      /* ... those of the send queue */
	nsec_t stuck_since; /* none of them since then, and Sends or Writes wait; else NSEC_NEVER */
	bool asked;	    /* whether the peer is there: that much is under way */
	uint32_t ask_slot, ask_extras;
	unsigned max_sge;
	uint32_t max_inline;
	struct vexp *exps;
	uint32_t fenced[VEXP_FENCED], nfenced; /* handles that were its own until lately */
	uint32_t *buckets;
	uint32_t bucket_mask, free_exp;
};

struct verbs {
	struct fabric base;
	struct verbs_config cfg;
	struct loop *loop;
	unsigned number; /* counts the instances of the process; decides the completion vector */
	struct verbs_counters counters;
	struct rdma_event_channel *channel;
	struct loop_watch watch;
	bool watched;
	struct list devs, conns, active, hot, busy, timed, pending, ranges, attachments, shares;
	unsigned untold;   /* requests for connections that the user has not heard of */
	struct vwr *store; /* work requests of chains */
	struct ibv_send_wr *free_wrs;
	nsec_t next;   /* no deadline is before it */
	nsec_t look;   /* whether devices are still there */
	nsec_t ask;    /* whether peers are */
	nsec_t period; /* of shared queues' depths */
	bool shares_receives;
	uint32_t domain;   /* of what nobody has told a domain of yet */
	uint32_t nback;	   /* shared Receives to be told that they come back */
	uint32_t recv_len; /* of each of them */
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

#endif
