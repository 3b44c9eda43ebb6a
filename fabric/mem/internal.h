/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_INTERNAL_H
#define FABRIC_MEM_INTERNAL_H

#include "base/list.h"
#include "fabric/depth.h"
#include "fabric/mem/mem.h"
#include "fabric/runs.h"
#include "fabric/window.h"

/**
 * internal - declarations for the files of fabric/mem only.
 *
 *   net.c      the next thing that is due; faults. Uses all other files.
 *   instance.c polling and flushing, the table of operations. Uses all other files.
 *   listen.c   listeners, connect, accept, reject.
 *   conn.c     queues of a connection and its end.
 *   post.c     posting, and the flush of posts.
 *   deliver.c  arrival of operations at the peer.
 *   expose.c   exposed memory.
 *   shared.c   shared Receives, and messages that wait for one.
 *   op.c       a posted operation, from the post to its event.
 *   range.c    memory ranges.
 *   due.c      time, the list of things that are due, random numbers. Uses no other file.
 */

enum { MEM_PRIVATE_DATA_MAX = 196, MEM_DEFAULT_READ_DEPTH = 4 };

struct mem_conn;
struct mem_op;

/** enum mem_what - things that may happen; net.c executes them. */
enum mem_what {
	MEM_NOTHING,
	MEM_REQUEST_ARRIVES, /* a connection request arrives at a listener */
	MEM_ACCEPTED,	     /* the acceptor's side opens */
	MEM_ANSWER_ARRIVES,  /* the initiator's side opens */
	MEM_BYE_ARRIVES,     /* a disconnect arrives at the peer */
	MEM_END_IS_TOLD,     /* DISCONNECTED is queued */
	MEM_RESUMES,	     /* an operation that waited for a shared Receive takes effect */
	MEM_ARRIVES,	     /* a Send, Write or Read arrives at the peer */
	MEM_COMPLETES,	     /* a Send or Write completes */
	MEM_ANSWERED,	     /* the answer to a Read arrives */
	MEM_FENCED,	     /* the withdrawal of an exposure is complete */
};

/** struct mem_due - something that happens at .at; on the network's list while it is due. */
struct mem_due {
	struct list link;
	nsec_t at;
	bool local; /* not on the wire: a stall does not delay it */
	struct mem_conn *conn;
	enum mem_what what;
};

/** struct mem_event - an event, on its instance's list while it waits for fabric_poll(). */
struct mem_event {
	struct list link;
	struct mem_op *op; /* operation that it completes, or NULL */
	struct fabric_event ev;
};

enum mem_kind { MEM_RECV, MEM_SEND, MEM_READ, MEM_WRITE, MEM_WITHDRAW, MEM_KINDS };

/** struct mem_op - a posted operation, from the call to the poll of its completion. */
struct mem_op {
	struct list link; /* free, posted or waiting list of its connection */
	struct list kin;  /* its connection's operations of one kind, in the order posted */
	struct mem_due due;
	struct mem_event done;
	enum mem_kind kind;
	bool flushed;	/* it took effect */
	bool delivered; /* it was delivered at the peer */
	bool ripe;	/* WITHDRAW: its time has come; it completes after those before it */
	void *cookie;
	struct fabric_piece to[FABRIC_MAX_PIECES]; /* RECV, READ */
	unsigned npieces;
	uint32_t len; /* octets, of all pieces */
	struct fabric_sge sge[FABRIC_MAX_SGE];
	unsigned nsge;
	uint64_t sum; /* checksum of the octets when posted */
	struct segment remote;
	uint32_t inv_handle;
	uint32_t went;		       /* WRITE to a stream: octets delivered so far */
	struct mem_exposure *exposure; /* READ: at the peer; WITHDRAW: to be withdrawn */
};

/** struct mem_exposure - one exposure. */
struct mem_exposure {
	struct list link; /* free list */
	bool live;	  /* the peer can reach it */
	bool owned;	  /* its owner has not withdrawn it yet */
	unsigned readers; /* Reads of the peer that are being served */
	unsigned access;
	uint32_t handle, len;
	uint64_t offset;
	uint8_t *addr;
	struct fabric_runs written;  /* octets written by the peer */
	struct fabric_window window; /* of a stream: .addr is not used */
	struct mem_event placed;     /* PLACED, of a stream */
	struct mem_op fence;	     /* in use from withdraw to the poll of WITHDRAWN */
};

enum mem_state {
	MEM_REQUESTED,	/* incoming, not accepted yet */
	MEM_CONNECTING, /* outgoing, or accepted */
	MEM_OPEN,
	MEM_ENDED, /* nothing is delivered; DISCONNECTED is due, queued or was polled */
};

struct mem_conn {
	struct fabric_conn base;
	struct list link;  /* of its instance */
	struct list dirty; /* in a list while it has posts that no flush has seen */
	struct mem_conn
		*peer; /* other end; NULL before the request arrives and after its end is gone */
	enum mem_state state;
	bool polled;   /* REQUEST (incoming) or CONNECTED was polled */
	bool closing;  /* fabric_disconnect() was called */
	bool vanished; /* nothing is delivered any more */
	bool hold;     /* acceptor: the initiator's first operation has not arrived */
	bool orderly;  /* ended by this end's disconnect, after everything was sent */
	struct fabric_listener *listener; /* incoming: the listener of its request */

	uint16_t ird, ord; /* of the user's parameters */
	unsigned read_depth, reads_active;
	uint8_t pd[MEM_PRIVATE_DATA_MAX]; /* from the peer */
	size_t pd_len;

	nsec_t delay; /* in each direction, in addition to the latency */
	struct memnet_pace pace;
	nsec_t stall_until;
	nsec_t linger_until; /* for a disconnect to arrive */
	bool bye_waits; /* the disconnect waits behind messages that wait for a shared Receive */
	nsec_t last_sent, last_response, last_done[MEM_KINDS];
	struct mem_due setup, bye, end;
	struct mem_event set_up, ended,
		recv_limited; /* REQUEST, then CONNECTED; DISCONNECTED; RECV_LIMITED */

	struct list posted;	       /* not flushed */
	struct list held;	       /* flushed, but see .hold */
	struct list reads;	       /* flushed, beyond the read depth */
	struct list flight[MEM_KINDS]; /* posted, completion not queued */
	struct list free_ops, free_recvs, free_exposures;
	struct mem_op *ops, *recvs;
	struct mem_exposure *exposures;
	struct list
		backlog; /* operations of the peer's that wait for a shared Receive, or for room in a stream */
	bool has_room;	     /* .sink_blocked is set, but there may be room now */
	struct list waiting; /* in its instance's .waiting while there is a backlog */
	struct mem_due resume;
	uint32_t unpolled; /* messages in shared Receives */
	/* memnet_limit_messages(): messages that still find a Receive; value that
	 * .base.read_turn_unused has while a message waits */
	uint32_t may_receive;
	bool turn_unused;
	uint32_t max_recvs, max_ops, max_exposures;
	uint32_t recv_pieces; /* above 1: its Receives are its own */
	uint32_t nposted;     /* completions not polled */
	uint32_t handle_mask, handle_secret;
};

struct mem_range {
	struct list link;
	uint8_t *base;
	size_t len;
};

struct mem_attached {
	struct list link;
	struct mem_fabric *f;
	void *owner;
};

struct fabric_listener {
	struct list link;
	struct memnet *net;
	struct fabric_addr addr;
	struct list attached;
};

/** struct mem_share - the shared Receives of an instance; .ops is NULL if Receives are not
 * shared. */
struct mem_share {
	struct mem_op *ops; /* as many as the queue can ever hold */
	uint32_t len;	    /* octets of each */
	uint32_t held;	    /* posted, not polled */
	uint32_t queued;
	bool dry;			 /* a message found no Receive, and none was posted since */
	struct list free, posted, queue; /* posted: not flushed; queue: for the next messages */
	struct list waiting;		 /* connections that have a backlog */
	struct fabric_depth depth;
	nsec_t period_end;
};

struct mem_fabric {
	struct fabric base;
	struct memnet *net;
	struct list link;
	struct list conns, ready, dirty, ranges;
	uint8_t pd[MEM_PRIVATE_DATA_MAX]; /* of the event polled last */
	struct mem_share share;
	nsec_t short_from, short_until; /* memnet_short() */
	uint32_t most_exposed;		/* memnet_limit_exposures(); 0: no limit */
};

struct memnet {
	struct memnet_config cfg;
	const struct memnet_watcher *watcher; /* or NULL */
	struct fabric_addr far;		      /* .len 0: no address is far */
	nsec_t far_delay;
	nsec_t now;
	uint64_t rng;
	uint64_t ops, connects, exposes, posts;
	bool fault_done;
	struct list due; /* by time, first come first served among equals */
	struct list fabrics, listeners;
	uint16_t ports;
};

static inline struct mem_fabric *mem_fabric_of(struct fabric *f)
{
	return container_of(f, struct mem_fabric, base);
}

static inline bool mem_is_short(const struct mem_fabric *f)
{
	return f->net->now >= f->short_from && f->net->now < f->short_until;
}

static inline struct mem_conn *mem_conn_of(struct fabric_conn *c)
{
	return container_of(c, struct mem_conn, base);
}

static inline struct mem_fabric *mem_conn_fabric(const struct mem_conn *c)
{
	return mem_fabric_of(c->base.fabric);
}

static inline struct memnet *mem_conn_net(const struct mem_conn *c)
{
	return mem_conn_fabric(c)->net;
}

#endif
