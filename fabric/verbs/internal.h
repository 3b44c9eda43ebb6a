/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_INTERNAL_H
#define FABRIC_VERBS_INTERNAL_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "fabric/verbs/verbs.h"
#include "fabric/verbs/words.h"

/**
 * internal - what the files of fabric/verbs share; nobody else includes it.
 *
 *   verbs.c  the instance: its lists, time, the table of operations
 *   device.c a device as one worker uses it: notifications
 *   memory.c registered memory
 *   window.c a device's free Memory Windows
 *   gone.c   devices that are removed
 *   cm.c     how connections begin: resolving, connect, accept, reject
 *   end.c    how they end
 *   listen.c listeners
 *   queue.c  queue pairs and their rings
 *   post.c   posting
 *   complete.c  what completes
 *   cq.c     completion queues
 *   srq.c, share.c, share_conn.c  Receives that connections share (share_internal.h)
 *   expose.c exposed memory
 *   alive.c  whether silent peers are still there
 *   words.c  statuses and reasons in words
 */

enum { PD_MAX = 256, PD_REQUEST_MAX = 56, PD_ACCEPT_MAX = 196, PD_REJECT_MAX = 148 };

/* The function; the macro of that name does not pass -Wconversion. */
#undef ibv_reg_mr

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

/** struct verbs_dev - a device as one worker uses it. */
struct verbs_dev {
	struct list link;
	struct verbs *v;
	struct ibv_context *context;
	struct ibv_context **contexts; /* a list of librdmacm's, held */
	char name[IBV_SYSFS_NAME_MAX];
	struct shared *shared; /* gone.c: what workers know of the context */
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
	bool send_inv; /* has Send with Invalidate */
	bool iwarp;
	atomic_bool tells_last; /* that a queue pair took its last Receive: seen to */
	struct vshare *share;	/* NULL: Receives are the connections' own */
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
	uint32_t inv;	   /* RECV: handle invalidated by the message */
	uint32_t slot;	   /* send queue: slots used up to and with it; shared RECV: its slot */
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

enum vexp_state { VEXP_FREE, VEXP_LIVE, VEXP_FENCING };

/** struct vexp - one region the peer may access. */
struct vexp {
	enum vexp_state state;
	uint32_t handle;
	uint32_t next; /* in its hash chain, or free list; VEXP_NONE ends it */
	struct ibv_mw *mw;
	struct ibv_mr *mr; /* of its own, or NULL */
};

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
	bool overran;	    /* had more messages unpolled than it may */
	uint8_t pd[PD_MAX]; /* from the peer */
	size_t pd_len;
	uint8_t own_pd[PD_MAX]; /* initiator: until the route is known */
	size_t own_pd_len;
	uint8_t peer_ird, peer_ord; /* acceptor: as asked for */
	uint16_t ird, ord;
	struct fabric_tuning tuning;
	uint32_t max_recvs, max_sends, max_exposures;

	struct vring recvs, sends; /* sends: the send queue, withdraws too */
	uint32_t recvs_given;	   /* the device has them; the rest waits for the flush */
	struct ibv_send_wr *chain, *chain_last, *chain_word; /* these, too; last Send or Write */
	uint32_t ops_out;   /* Sends, Writes, Reads whose completion was not polled */
	uint32_t words_out; /* Sends and Writes under way */
	uint32_t sq_size, sq_posted, sq_freed, sq_reserved;
	uint32_t seen; /* completions when alive.c looked last */
	bool asked;    /* whether the peer is there: that much is under way */
	uint32_t ask_slot;
	unsigned max_sge;
	uint32_t max_inline;
	struct vexp *exps;
	uint32_t *buckets;
	uint32_t bucket_mask, free_exp;
};

struct verbs {
	struct fabric base;
	struct verbs_config cfg;
	struct loop *loop;
	struct verbs_counters counters;
	struct rdma_event_channel *channel;
	struct loop_watch watch;
	bool watched;
	struct list devs, conns, active, hot, busy, timed, pending, ranges, attachments, shares;
	struct vwr *store; /* work requests of chains */
	struct ibv_send_wr *free_wrs;
	nsec_t next;   /* no deadline is before it */
	nsec_t look;   /* whether devices are still there */
	nsec_t ask;    /* whether peers are */
	nsec_t period; /* of shared queues' depths */
	bool shares_receives;
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

/* verbs.c */
nsec_t verbs_now(void);
void verbs_activate(struct verbs_conn *c);

/** verbs_deadline_in - wake @c @ms from now; 0: not at all. */
void verbs_deadline_in(struct verbs_conn *c, uint32_t ms);

/* memory.c */
int memory_register(struct fabric *f, void *base, size_t len) WARN_UNUSED;
void memory_unregister(struct fabric *f, void *base);

/** verbs_register - tell @dev of all ranges it does not know. Return: 0 or ERR_NOMEM (logged). */
int verbs_register(struct verbs_dev *dev) WARN_UNUSED;

/* device.c */

/** device_get - @context as this instance uses it, opened if it is not. NULL: failed (logged). */
struct verbs_dev *device_get(struct verbs *v, struct ibv_context *context);

/** device_know - it is open in this process, so its removal must be watched for. */
void device_know(struct verbs *v, struct ibv_context *context);

/** device_adopt - the device that @id led to is open now, and so must be looked after. Return:
 * false when it cannot be used, yet. */
bool device_adopt(struct verbs *v, const struct rdma_cm_id *id) WARN_UNUSED;
void device_free(struct verbs_dev *dev);

/** device_async - take the asynchronous events there are. */
void device_async(struct verbs_dev *dev);

/** device_put - a connection gives it up; the last on a removed device takes along what the
 * worker has of it. */
void device_put(struct verbs_dev *dev);

/** device_lost - it failed or was removed: its connections end, its objects go with the last. */
void device_lost(struct verbs_dev *dev);

/** device_region - registration that holds @len octets at @p, or NULL. */
struct ibv_mr *device_region(const struct verbs_dev *dev, const void *p, size_t len);

/* window.c */

/** device_window_get - a free window and, in *@key, the next key to bind it with; NULL: none. */
struct ibv_mw *device_window_get(struct verbs_dev *dev, uint32_t *key);
void device_window_put(struct verbs_dev *dev, struct ibv_mw *mw);

/** device_window_drop - takes @mw, whatever it is bound to: it is bound no more on return. */
void device_window_drop(struct verbs_dev *dev, struct ibv_mw *mw);

/** device_windows_free - all the free ones. */
void device_windows_free(struct verbs_dev *dev);

/* gone.c */

/** gone_hold - @dev joins those that use its context. */
int gone_hold(struct verbs_dev *dev) WARN_UNUSED;

/** gone_release - and leaves them; the last one lets a removed device go. */
void gone_release(struct verbs_dev *dev);

/** gone_failures - how often its context was said to have failed. */
unsigned gone_failures(const struct verbs_dev *dev);

/** gone_failed - an event says so: for every worker to see. */
void gone_failed(struct verbs_dev *dev);
void gone_tick(struct verbs *v, nsec_t now);

/* cm.c */
struct verbs_conn *cm_conn_new(struct verbs *v, struct rdma_cm_id *id, enum verbs_state state,
			       void *owner);
void cm_ready(struct loop_watch *w, unsigned events);

/** cm_next - the next event of @channel. Return: false when there is none. */
bool cm_next(struct rdma_event_channel *channel, struct vevent *e);
void cm_handle(struct verbs_conn *c, const struct vevent *e);
void cm_established(struct verbs_conn *c);
void cm_expired(struct verbs_conn *c);
int cm_connect(struct fabric *f, const struct fabric_addr *to,
	       const struct fabric_conn_params *params, void *owner,
	       struct fabric_conn **conn) WARN_UNUSED;
int cm_prepare(struct fabric_conn *fc, const struct fabric_conn_params *params) WARN_UNUSED;
int cm_accept(struct fabric_conn *fc, const struct fabric_conn_params *params,
	      void *owner) WARN_UNUSED;
void cm_reject(struct fabric_conn *fc, struct view pd);

/* listen.c */
int verbs_listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void verbs_listen_detach(struct fabric *f, struct fabric_listener *l);
void verbs_listen_tick(struct verbs *v, nsec_t now);
nsec_t verbs_listen_deadline(const struct verbs *v);

/* end.c */

/** end_leave - tell the peer, then end: the cause is noted if it is the first. */
void end_leave(struct verbs_conn *c, int status, const char *why);

/** end_finish - end now: no queue pair any more, all that was posted comes back. */
void end_finish(struct verbs_conn *c, int status, const char *why);

/** end_by_peer - DISCONNECTED arrived. */
void end_by_peer(struct verbs_conn *c, int status);
/** end_by_itself - the queue pair failed and no completion tells why. */
void end_by_itself(struct verbs_conn *c);

/** end_check_drained - the last word of a connection that is to end may be out. */
void end_check_drained(struct verbs_conn *c);
void end_disconnect(struct fabric_conn *fc);
void end_destroy(struct fabric_conn *fc);

/** end_free - takes @c. */
void end_free(struct verbs_conn *c);

/* queue.c */
int queue_depths(struct verbs_conn *c, const struct fabric_conn_params *p) WARN_UNUSED;

/** queue_make - the queue pair, once the device is known; posts the Receives that waited. */
int queue_make(struct verbs_conn *c) WARN_UNUSED;
void queue_destroy(struct verbs_conn *c);

/** queue_put_back - shared Receives with messages that were not polled. */
void queue_put_back(struct verbs_conn *c);
void queue_free(struct verbs_conn *c);

struct vop *queue_op(struct vring *r);

/* cq.c */

void cq_init(struct vcq *q, struct verbs *v, struct verbs_conn *conn, struct vshare *share);
int cq_make(struct vcq *q, struct verbs_dev *dev, uint32_t depth) WARN_UNUSED;
void cq_destroy(struct vcq *q);

/** cq_look - take a batch of completions of a queue that is on no list. */
void cq_look(struct vcq *q);

/** cq_drain - take all completions there are. */
void cq_drain(struct vcq *q);

/** cq_failed - it cannot be relied on any more. */
void cq_failed(struct vcq *q);

/* complete.c */

/** complete_own - a batch of @c's own queue. */
void complete_own(struct verbs_conn *c, const struct ibv_wc *wc, int n);

/** complete_shared - a message for @c in the Receive in @slot. Return: false: it has too many. */
bool complete_shared(struct verbs_conn *c, const struct ibv_wc *wc, uint32_t slot, void *cookie);

/** complete_failed - what @wc says is the end of @c. */
void complete_failed(struct verbs_conn *c, const struct ibv_wc *wc, bool is_recv);

/** queue_drain - take all completions there are for @c. */
void queue_drain(struct verbs_conn *c);

/** queue_flush - everything posted comes back. */
void queue_flush(struct verbs_conn *c);
bool queue_event(struct verbs_conn *c, struct fabric_event *ev);

/* post.c */
int post_init(struct verbs *v) WARN_UNUSED;
void post_fini(struct verbs *v);

/** post_flush - hand everything posted to the devices. */
void post_flush(struct verbs *v);

/** post_submit - the same for one connection. */
void post_submit(struct verbs_conn *c);

/** post_drop - what the device was not given yet, it will not be. */
void post_drop(struct verbs_conn *c);

/** post_bind - Return: 0 or ERR_CLOSED. */
int post_bind(struct verbs_conn *c, struct ibv_mw *mw, uint32_t key,
	      const struct ibv_mw_bind_info *info) WARN_UNUSED;

/** post_invalidate - Return: its record, or NULL: nothing can be posted any more. */
struct vop *post_invalidate(struct verbs_conn *c, uint32_t key, void *cookie);

/** post_ask - an RDMA Write of no octets, on a connection with nothing under way. */
void post_ask(struct verbs_conn *c);
int post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie) WARN_UNUSED;
int post_send(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	      uint32_t inv_handle, void *cookie) WARN_UNUSED;
int post_write(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
	       const struct segment *remote, void *cookie) WARN_UNUSED;
int post_read(struct fabric_conn *fc, void *to, const struct segment *remote,
	      void *cookie) WARN_UNUSED;

/* Work request identifiers. */
#define ID_RECV (UINT64_C(1) << 32)
#define ID_BIND (UINT64_C(1) << 33)
#define ID_ASK (UINT64_C(1) << 34)

static inline bool queue_has_room(const struct verbs_conn *c, uint32_t n)
{
	return c->sq_posted - c->sq_freed + c->sq_reserved + n <= c->sq_size;
}

/* alive.c */

/** alive_begin - a connection is open. */
void alive_begin(struct verbs *v);
void alive_tick(struct verbs *v, nsec_t now);

/* expose.c */
int expose_init(struct verbs_conn *c) WARN_UNUSED;
int expose_add(struct fabric_conn *fc, void *addr, uint32_t len, unsigned access,
	       struct segment *seg) WARN_UNUSED;
int expose_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie) WARN_UNUSED;
uint32_t expose_written(const struct fabric_conn *fc, uint32_t handle);

/** expose_invalidated - by a message of the peer. */
void expose_invalidated(struct verbs_conn *c, uint32_t handle);

/** expose_fenced - its local invalidate completed with @status. */
void expose_fenced(struct verbs_conn *c, uint32_t index, int status);

/** expose_end - everything is fenced before the queue pair goes. */
void expose_end(struct verbs_conn *c);

#endif
