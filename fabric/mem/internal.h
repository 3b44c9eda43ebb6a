/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_INTERNAL_H
#define FABRIC_MEM_INTERNAL_H

#include "base/list.h"
#include "fabric/depth.h"
#include "fabric/mem/mem.h"
#include "fabric/runs.h"
#include "fabric/window.h"

/**
 * internal - declarations shared by the files of fabric/mem; no other file includes it.
 *
 *   net.c      what happens next, faults (with instance.c it uses all others)
 *   instance.c polling and flushing, the table of operations
 *   listen.c   listeners, connect, accept, reject
 *   conn.c     queues of a connection and its end
 *   post.c     posting, and the flush of posts
 *   deliver.c  what happens at the peer
 *   expose.c   exposed memory
 *   shared.c   Receives of all connections, and messages that wait for one
 *   op.c       a posted operation, from the post to its event
 *   range.c    memory ranges
 *   due.c      time, what is due, randomness (it uses none of the others)
 */

enum { MEM_PRIVATE_DATA_MAX = 196, MEM_DEFAULT_READ_DEPTH = 4 };

struct mem_conn;
struct mem_op;

/** enum mem_what - things that may happen; net.c executes them. */
enum mem_what {
	MEM_NOTHING,
	MEM_REQUEST_ARRIVES, /* at a listener */
	MEM_ACCEPTED,	     /* the acceptor's side is open */
	MEM_ANSWER_ARRIVES,  /* so is the initiator's */
	MEM_BYE_ARRIVES,
	MEM_END_IS_TOLD,
	MEM_RESUMES, /* one that waited for a shared Receive */
	MEM_ARRIVES, /* a Send, Write or Read, at the peer */
	MEM_COMPLETES,
	MEM_ANSWERED, /* a Read */
	MEM_FENCED,   /* an exposure that is withdrawn */
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
	bool ripe;	/* WITHDRAW: its time has come, but not yet its turn */
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
	struct mem_exposure *exposure; /* READ: being read at the peer; WITHDRAW: its own */
};

/** struct mem_exposure - one region the peer may access. */
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
	MEM_ENDED, /* nothing moves; DISCONNECTED is due, queued or was polled */
};

struct mem_conn {
	struct fabric_conn base;
	struct list link;  /* of its instance */
	struct list dirty; /* in a list while it has posts that no flush has seen */
	struct mem_conn
		*peer; /* other end; NULL before the request arrives and after its end is gone */
	enum mem_state state;
	bool told;     /* REQUEST (incoming) or CONNECTED was polled */
	bool closing;  /* fabric_disconnect() was called */
	bool vanished; /* nothing is delivered any more */
	bool hold;     /* acceptor: the initiator's first operation has not arrived */
	bool orderly;  /* ended by our own disconnect, after everything sent */
	struct fabric_listener *listener; /* incoming: where it came from */

	uint16_t ird, ord; /* as given */
	unsigned read_depth, reads_active;
	uint8_t pd[MEM_PRIVATE_DATA_MAX]; /* from the peer */
	size_t pd_len;

	nsec_t delay; /* each way, beside the latency */
	struct memnet_pace pace;
	nsec_t stall_until;
	nsec_t linger_until; /* for a disconnect to arrive */
	bool bye_waits; /* the disconnect waits behind messages that wait for a shared Receive */
	nsec_t last_sent, last_response, last_done[MEM_KINDS];
	struct mem_due setup, bye, end;
	struct mem_event set_up, ended, sated; /* REQUEST, then CONNECTED; DISCONNECTED; SATED */

	struct list posted;	       /* not flushed */
	struct list held;	       /* flushed, but see .hold */
	struct list reads;	       /* flushed, beyond the read depth */
	struct list flight[MEM_KINDS]; /* posted, completion not queued */
	struct list free_ops, free_recvs, free_exposures;
	struct mem_op *ops, *recvs;
	struct mem_exposure *exposures;
	struct list
		backlog; /* operations of the peer's that wait for a shared Receive, or for room in a stream */
	bool has_room;	     /* .is_full is set, but there may be room since */
	struct list waiting; /* in its instance's .waiting while there is a backlog */
	struct mem_due resume;
	uint32_t unpolled; /* messages in shared Receives */
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

/** struct mem_share - Receives of all connections of an instance; .ops is NULL where each has its own. */
struct mem_share {
	struct mem_op *ops; /* as many as the queue can ever hold */
	uint32_t len;	    /* octets of each */
	uint32_t held;	    /* posted, not polled */
	uint32_t queued;
	bool dry;			 /* a message found no Receive, and none came since */
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

/* due.c */

uint64_t memnet_random(struct memnet *net);

/** memnet_fault_hits - count one more in @counter: is it the configured victim of @fault? */
bool memnet_fault_hits(struct memnet *net, enum memnet_fault fault, uint64_t *counter);

void memnet_due_init(struct mem_due *due, struct mem_conn *conn, enum mem_what what);

/** memnet_schedule - make @due happen at @at. */
void memnet_schedule(struct memnet *net, struct mem_due *due, nsec_t at);

/** memnet_after - @delay after @at, at most never. */
nsec_t memnet_after(nsec_t at, nsec_t delay);

/** memnet_soon - a random time from now, for something that does not use the wire. */
nsec_t memnet_soon(struct memnet *net);

/** memnet_wire - a random time when the wire of @c delivers, not before *@last, which it becomes. */
nsec_t memnet_wire(struct mem_conn *c, nsec_t *last);

/** memnet_wire_slow - likewise, and not before the other end has had @takes for it, from *@last on. */
nsec_t memnet_wire_slow(struct mem_conn *c, nsec_t *last, nsec_t takes);

/** memnet_here - likewise, before anything has gone over the wire. */
nsec_t memnet_here(struct mem_conn *c, nsec_t *last);

/* range.c */

int mem_range_register(struct fabric *base, void *p, size_t len);
void mem_range_unregister(struct fabric *base, void *p);

/** mem_range_owns - whether @len octets at @p lie in one registered range. */
bool mem_range_owns(const struct mem_fabric *f, const void *p, size_t len);

/* op.c */

void mem_op_init(struct mem_conn *c, struct mem_op *op);

/** mem_op_post - @op is the newest of its kind. */
void mem_op_post(struct mem_conn *c, struct mem_op *op, enum mem_kind kind, void *cookie);

/** mem_op_sum - over the octets of a Send or Write. */
uint64_t mem_op_sum(const struct mem_op *op);

/** mem_op_guard - the memory that @op fills must not be touched, or (@on false) is the user's
 * again. */
void mem_op_guard(const struct mem_op *op, bool on);

/** mem_op_arm - poison the memory that @op fills, and guard it. */
void mem_op_arm(const struct mem_op *op);

/** mem_event_push - queue @e for fabric_poll(). */
void mem_event_push(struct mem_conn *c, struct mem_event *e);

/** mem_op_finish - queue the completion of @op. */
void mem_op_finish(struct mem_op *op, int status);

/* listen.c */

int mem_attach(struct fabric *base, struct fabric_listener *l, void *owner);
void mem_detach(struct fabric *base, struct fabric_listener *l);
int mem_connect(struct fabric *base, const struct fabric_addr *to,
		const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn);
int mem_prepare(struct fabric_conn *base, const struct fabric_conn_params *params);
int mem_accept(struct fabric_conn *base, const struct fabric_conn_params *params, void *owner);
void mem_reject(struct fabric_conn *base, struct view private_data);

/** mem_request_arrives, mem_accepted, mem_answer_arrives - the steps of set-up: of the initiator's, of
 * the acceptor's, of the initiator's connection. */
void mem_request_arrives(struct mem_conn *from);
void mem_accepted(struct mem_conn *c);
void mem_answer_arrives(struct mem_conn *c);

/* conn.c */

struct mem_conn *mem_conn_new(struct mem_fabric *f, void *owner);
int mem_conn_queues(struct mem_conn *c, const struct fabric_conn_params *params);

/** mem_conn_end - the end of one side; may free @c, when its user never heard of it. */
void mem_conn_end(struct mem_conn *c, int status, const char *why);

/** mem_conn_breach - @c's peer broke the protocol: both ends end. */
void mem_conn_breach(struct mem_conn *c, int status, const char *why);

/** mem_conn_send_bye - after a flush: the disconnect is sent, behind everything posted before. */
void mem_conn_send_bye(struct mem_conn *c);

/** mem_conn_bye_goes_on - what @c sent before its disconnect has been taken. */
void mem_conn_bye_goes_on(struct mem_conn *c);

/** mem_conn_bye_arrives - the disconnect arrives at the peer, where messages sent before may
 * still wait for Receives. */
void mem_conn_bye_arrives(struct mem_conn *c);

/** mem_conn_tell_end - queue all completions that are left, and DISCONNECTED behind them. */
void mem_conn_tell_end(struct mem_conn *c);

void mem_disconnect(struct fabric_conn *base);
void mem_destroy(struct fabric_conn *base);

/* post.c */

int mem_post_recv(struct fabric_conn *base, void *buf, uint32_t len, void *cookie);
int mem_post_pieces(struct fabric_conn *base, const struct fabric_piece *pieces, unsigned n,
		    void *cookie);
int mem_send(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	     uint32_t inv_handle, void *cookie);
int mem_write(struct fabric_conn *base, const struct fabric_sge *sge, unsigned nsge,
	      const struct segment *remote, void *cookie);
int mem_read(struct fabric_conn *base, void *to, const struct segment *remote, void *cookie);

/** mem_post_flush - what was posted takes effect. */
void mem_post_flush(struct mem_conn *c);

/** mem_post_reads - issue waiting Reads up to the read depth. */
void mem_post_reads(struct mem_conn *c);

/** mem_post_release - the initiator's first operation has arrived: the acceptor's posts may go. */
void mem_post_release(struct mem_conn *c);

/* deliver.c */

/** mem_deliver - a flushed Send, Write or Read arrives at the peer. */
void mem_deliver(struct mem_op *op);

/** mem_deliver_resumed - one that waited for a shared Receive of @f takes effect, if it can. */
void mem_deliver_resumed(struct mem_fabric *f);

/** mem_deliver_answer - what a Read asked for is there. */
void mem_deliver_answer(struct mem_op *op);

/* shared.c */

int mem_share_receives(struct fabric *base, uint32_t len);
void mem_unshare_receives(struct fabric *base);
uint32_t mem_receives_wanted(const struct fabric *base);
int mem_post_shared(struct fabric *base, void *buf, void *cookie);
void mem_gave_back(struct fabric_conn *conn);

/** mem_shared_flush - Receives posted before can be used, and connections that waited for one
 * continue. */
void mem_shared_flush(struct mem_fabric *f);

/** mem_shared_back - @op finds no room in a stream: it is the first that waits. */
void mem_shared_back(struct mem_conn *target, struct mem_op *op);

/** mem_shared_room - there may be room in a stream of @c, or the stream was withdrawn. */
void mem_shared_room(struct mem_conn *c);

/** mem_shared_wait - whether @op, arrived at @target, has to wait for a Receive, or behind what waits. */
bool mem_shared_wait(struct mem_conn *target, struct mem_op *op);

/** mem_shared_next - takes the operation out that waited longest of those that can go on, and is for @target.
 * Return: NULL: there is none. */
struct mem_op *mem_shared_next(struct mem_fabric *f, struct mem_conn **target);

/** mem_shared_wake - connections that can continue try again, each over its own wire. */
void mem_shared_wake(struct mem_fabric *f);

/** mem_shared_forget - operations that wait at @c will not be delivered. */
void mem_shared_forget(struct mem_conn *c);

/** mem_shared_pick - any Receive of a queue that is not empty; it stays there. */
struct mem_op *mem_shared_pick(struct mem_fabric *f);

/** mem_shared_take - @op leaves the queue with a message for @c. */
void mem_shared_take(struct mem_conn *c, struct mem_op *op);

/** mem_shared_repost - the message in @op will not be polled: the Receive is for the next
 * message, or from the next flush on for one that waits. */
void mem_shared_repost(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_polled - @op is the user's again. */
void mem_shared_polled(struct mem_fabric *f, struct mem_op *op);

/** mem_shared_has - whether @op is one of the instance's, not of a connection. */
static inline bool mem_shared_has(const struct mem_fabric *f, const struct mem_op *op)
{
	return f->share.ops && op >= f->share.ops && op < f->share.ops + f->share.depth.most;
}

/** mem_shared_serves - whether messages for @c use shared Receives. */
static inline bool mem_shared_serves(const struct mem_conn *c)
{
	return mem_conn_fabric(c)->share.ops && c->recv_pieces < 2;
}

/* expose.c */

int mem_expose(struct fabric_conn *base, void *addr, uint32_t len, unsigned access,
	       struct segment *seg);
int mem_stream(struct fabric_conn *base, const struct fabric_piece *window, uint32_t len,
	       void *cookie, struct segment *seg);
void mem_went_on(struct fabric_conn *base, uint32_t handle, uint32_t len);
int mem_withdraw(struct fabric_conn *base, uint32_t handle, void *cookie, uint32_t *written);

/** mem_exposure_find - exposure of @handle on @c that the peer can reach, or NULL. */
struct mem_exposure *mem_exposure_find(struct mem_conn *c, uint32_t handle);

/** mem_exposure_check - in which @remote lies if @access to all of it is granted, else NULL. */
struct mem_exposure *mem_exposure_check(struct mem_conn *c, const struct segment *remote,
					unsigned access);

/** mem_exposure_invalidate - by the peer, or with the connection: its owner still has it. */
void mem_exposure_invalidate(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_release - the slot of @e is free again. */
void mem_exposure_release(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_written - the peer placed @len octets at @from. */
void mem_exposure_written(struct mem_exposure *e, uint32_t from, uint32_t len);

/** mem_exposure_tell - @placed, a PLACED event, is polled as @ev. */
void mem_exposure_tell(struct mem_event *placed, struct fabric_event *ev);

/** mem_exposure_streamed - the peer placed a segment of @len octets at @from of a stream. */
void mem_exposure_streamed(struct mem_conn *c, struct mem_exposure *e, uint32_t from, uint32_t len);

/** mem_exposure_unread - a Read of @e was served. */
void mem_exposure_unread(struct mem_conn *c, struct mem_exposure *e);

/** mem_exposure_fenced - a withdraw's time has come. */
void mem_exposure_fenced(struct mem_op *op);

#endif
