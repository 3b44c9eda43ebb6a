/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_INTERNAL_H
#define FABRIC_VERBS_INTERNAL_H

#include "fabric/verbs/types.h"
#include "fabric/verbs/strings.h"

/**
 * internal - declarations shared by the files of fabric/verbs, beside types.h; no other file includes it.
 *
 *   verbs.c  the instance: its lists, time, the table of operations
 *   device.c a device as one worker uses it: notifications
 *   device_caps.c  facts of a device, for tools
 *   device_select.c   which devices addresses lead to
 *   limits.c abilities of a device
 *   memory.c registered memory
 *   window.c a device's free Memory Windows
 *   context.c  a device as the process has it
 *   device_removal.c   devices that are removed
 *   cm.c     how connections begin: resolving, connect, accept, reject
 *   conn.c   a new connection, and an open one
 *   conn_close.c  how the end of a connection begins
 *   end.c    how connections end
 *   listen.c listeners
 *   queue.c  queue pairs
 *   vring.c  operations of a queue, until they were polled
 *   post.c   posting
 *   submit.c handing posts to the device
 *   complete.c  completing operations
 *   cq.c     completion queues
 *   drain.c  when completion queues are polled, and the connection of each completion
 *   srq.c, share.c, share_conn.c  Receives that connections share (share_internal.h)
 *   expose.c exposed memory
 *   alive.c  whether silent peers are still there
 *   wakeup.c   clock, wake-ups
 *   strings.c  statuses and reasons in words
 */

/* verbs.c */

/** verbs_init - @v, all zeros, with nothing opened yet. */
void verbs_init(struct verbs *v, const struct verbs_config *cfg, struct loop *loop);

/* wakeup.c: uses none of the others */

/** wake_now - CLOCK_MONOTONIC. */
nsec_t wake_now(void);

/** wake_conn - @c may have an event: its instance checks it in this turn. */
void wake_conn(struct verbs_conn *c);

/** wake_conn_in - check @c @ms from now; 0: not at all. */
void wake_conn_in(struct verbs_conn *c, uint32_t ms);

/** wake_shares - @v has shared Receives: check their depth at regular times. */
void wake_shares(struct verbs *v, nsec_t now);

/* memory.c */
int memory_register(struct fabric *f, void *base, size_t len) WARN_UNUSED;
void memory_unregister(struct fabric *f, void *base);

/** memory_pinned - octets of @v's registered memory that count against the locked-memory limit:
 * each protection domain of each device in use pins it anew. */
size_t memory_pinned(const struct verbs *v);

/** verbs_register - register all ranges on @dev that it does not have. Return: 0 or ERR_NOMEM
 * (logged). */
int verbs_register(struct verbs_dev *dev) WARN_UNUSED;

/** memory_region - registration that holds @len octets at @p, or NULL. */
struct ibv_mr *memory_region(const struct verbs_dev *dev, const void *p, size_t len);

/** memory_own_region - a registration for @c alone at @offset; NULL: the device has none left. */
struct ibv_mr *memory_own_region(struct verbs_conn *c, void *addr, uint32_t len, unsigned access,
				 uint64_t offset);

/* device.c */

/** device_get - @context as this instance uses it for connections of @domain, opened if needed.
 * NULL: failed (logged). */
struct verbs_dev *device_get(struct verbs *v, struct ibv_context *context, uint32_t domain);

/** device_adopt - the device that @id leads to is open now, so its removal must be noticed.
 * Return: false: it cannot be used, at least not yet. */
bool device_adopt(struct verbs *v, const struct rdma_cm_id *id) WARN_UNUSED;
void device_free(struct verbs_dev *dev);

/** device_async - read the asynchronous events that are there. */
void device_async(struct verbs_dev *dev);

/** device_put - a connection no longer uses it. On a removed device the last one also frees what
 * the worker has of the device. */
void device_put(struct verbs_dev *dev);

/** device_refuses - the device did not release memory that peers could reach, even without the
 * queue pair: it has failed. */
void device_refuses(struct verbs_dev *dev);

/** device_lost_key - a peer invalidated the registration that all connections send from: the
 * device is closed, and the next connection opens it again. */
void device_lost_key(struct verbs_dev *dev);

/* device_select.c */

/** device_select_open - open the devices that @cfg->uses lead to, or all. Return: 0, or ERR_IO: none can
 * be used, or one of the requested devices was rejected. */
int device_select_open(struct verbs *v, const struct verbs_config *cfg) WARN_UNUSED;

/* limits.c */

/** limits_ask - read the kernel's limits of @dev. Return: 0 or ERR_IO. */
int limits_ask(struct verbs_dev *dev) WARN_UNUSED;

/** limits_try - try what its user library supports, after its protection domain exists. Return:
 * 0, or ERR_IO: it cannot be used. */
int limits_try(struct verbs_dev *dev) WARN_UNUSED;

/** limits_inline - octets that a queue pair with @cap can send inline. */
unsigned limits_inline(const struct ibv_qp_cap *cap);

/** limits_exposures - how it exposes memory, in a word. */
const char *limits_exposures(const struct verbs_dev *dev);

/** limits_handles - the scope of its handles, in a word. */
const char *limits_handles(const struct verbs_dev *dev);
void limits_log(const struct verbs_dev *dev);

/* window.c */

/** device_offset - a random offset for the first octet of a registration at @addr, if the device
 * supports another offset than the address. */
uint64_t device_offset(struct verbs_dev *dev, const void *addr);

/** device_window_get - a free window and, in *@key, the next key to bind it with; NULL: none. */
struct ibv_mw *device_window_get(struct verbs_dev *dev, uint32_t *key);
void device_window_put(struct verbs_dev *dev, struct ibv_mw *mw);

/** device_window_drop - free @mw, even if it is bound. Return: 0: it is freed; ERR_IO: the
 * device refused, and @mw is still the caller's. */
int device_window_drop(struct verbs_dev *dev, struct ibv_mw *mw) WARN_UNUSED;

/** device_windows_free - free all unused windows. */
void device_windows_free(struct verbs_dev *dev);

/* context.c */

enum { LOOK_MS = 1000 }; /* interval of the check whether devices still exist */

/** context_hold - @dev joins those that use its context; its .contexts are all that are open now. */
int context_hold(struct verbs_dev *dev) WARN_UNUSED;

/** context_release - @dev leaves them; the last one releases a removed device. */
void context_release(struct verbs_dev *dev);

/** context_failures - number of failure events of its context. */
unsigned context_failures(const struct verbs_dev *dev);

/** context_failed - an event reported a failure: count it for all workers. */
void context_failed(struct verbs_dev *dev);

/** context_is_gone - whether its entry in sysfs is gone. */
bool context_is_gone(const struct verbs_dev *dev);

/* device_removal.c */

/** device_removal_lost - @dev failed or was removed: its connections end, its objects are freed with the
 * last. */
void device_removal_lost(struct verbs_dev *dev);
void device_removal_tick(struct verbs *v, nsec_t now);

/* conn.c */
struct verbs_conn *conn_new(struct verbs *v, struct rdma_cm_id *id, enum verbs_state state,
			    void *owner);

/** conn_opened - the connection is open; does nothing if that was known. */
void conn_opened(struct verbs_conn *c);

/* cm.c */
void cm_ready(struct loop_watch *w, unsigned events);

/** cm_next - the next event of @channel. Return: false when there is none. */
bool cm_next(struct rdma_event_channel *channel, struct vevent *e);
void cm_handle(struct verbs_conn *c, const struct vevent *e);
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

/* conn_close.c */

/** conn_close_begin - disconnect, then end; the cause is kept if it is the first. */
void conn_close_begin(struct verbs_conn *c, int status, const char *why);

/** leave_failed - the queue pair failed and no completion has the reason. */
void leave_failed(struct verbs_conn *c);

/** leave_if_drained - ends a connection that is to end, if its last Send and Write are out. */
void leave_if_drained(struct verbs_conn *c);

/** leave_note_cause - keep the cause of @c's end, if it is the first. */
void leave_note_cause(struct verbs_conn *c, int status, const char *why);

/** leave_note_fault - keep the device's fault of the queue pair as the cause, if it has one. */
void leave_note_fault(struct verbs_conn *c);

/* end.c */

/** end_finish - end now: destroy the queue pair, and return everything posted. */
void end_finish(struct verbs_conn *c, int status, const char *why);

/** end_by_peer - DISCONNECTED arrived. */
void end_by_peer(struct verbs_conn *c, int status);
void end_disconnect(struct fabric_conn *fc);
void end_destroy(struct fabric_conn *fc);

/** end_free - takes @c. */
void end_free(struct verbs_conn *c);

/* queue.c */
int queue_depths(struct verbs_conn *c, const struct fabric_conn_params *p) WARN_UNUSED;

/** queue_cost - fabric_conn_bytes(). */
size_t queue_cost(const struct fabric *f, const struct fabric_conn_params *p);

/** queue_make - make the queue pair, when the device is known; posts the Receives that waited. */
int queue_make(struct verbs_conn *c) WARN_UNUSED;

/** queue_put_back - give back shared Receives with messages that were not polled. */
void queue_put_back(struct verbs_conn *c);
void queue_free(struct verbs_conn *c);

/* cq.c */

void cq_init(struct vcq *q, struct verbs *v, struct verbs_conn *conn, struct vshare *share);

/** cq_make - make the queue. Workers use the device's completion vectors in turn, because with
 * one vector one CPU would take all interrupts. */
int cq_make(struct vcq *q, struct verbs_dev *dev, uint32_t depth) WARN_UNUSED;
void cq_destroy(struct vcq *q);

/** cq_poll - up to @most completions. Return: how many. */
int cq_poll(struct vcq *q, struct ibv_wc *wc, int most) WARN_UNUSED;

/** cq_arm - have the channel report the next completion. */
void cq_arm(struct vcq *q);

/** cq_failed - the queue cannot be relied on any more. */
void cq_failed(struct vcq *q);

/* complete.c */

/** complete_own - process a batch of @c's own queue. */
void complete_own(struct verbs_conn *c, const struct ibv_wc *wc, int n);

/** complete_shared - a Receive in @slot completed for @c. Return: whether it is a message to
 * deliver; if not, @c ends, because it is no message, or one too many. */
bool complete_shared(struct verbs_conn *c, const struct ibv_wc *wc, uint32_t slot, void *cookie);

/** complete_failed - @wc failed: ends @c with that cause. */
void complete_failed(struct verbs_conn *c, const struct ibv_wc *wc, bool is_recv);

/** complete_flush - return everything posted. */
void complete_flush(struct verbs_conn *c);
bool complete_event(struct verbs_conn *c, struct fabric_event *ev);

/* drain.c */

/** drain_look - process a batch of completions of a queue that is in no list. */
void drain_look(struct vcq *q);

/** drain_conn - process all completions for @c that are there. */
void drain_conn(struct verbs_conn *c);

/** drain_shared - process all completions in a shared queue. */
void drain_shared(struct vshare *s);

/* vring.c */

/** vring_init - with room for @depth records. Return: 0 or ERR_NOMEM. */
int vring_init(struct vring *r, uint32_t depth) WARN_UNUSED;

/** vring_add - the record of one more operation, all zeros. */
struct vop *vring_add(struct vring *r);

/* submit.c */

/** submit_all - hand everything posted to the devices. */
void submit_all(struct verbs *v);

/** submit_conn - hand everything posted on one connection to its device. */
void submit_conn(struct verbs_conn *c);

/** submit_drop - drop posts that the device did not get. */
void submit_drop(struct verbs_conn *c);

/* post.c */
int post_init(struct verbs *v) WARN_UNUSED;
void post_fini(struct verbs *v);

/** post_bind - post a bind. Return: 0 or ERR_CLOSED. */
int post_bind(struct verbs_conn *c, struct ibv_mw *mw, uint32_t key,
	      const struct ibv_mw_bind_info *info) WARN_UNUSED;

/** post_invalidate - post a local invalidate. Return: its record, or NULL: nothing can be posted
 * any more. */
struct vop *post_invalidate(struct verbs_conn *c, uint32_t key, void *cookie);

/** post_held - the withdrawal of the exposure at @index completes when the queue pair is gone. */
void post_held(struct verbs_conn *c, uint32_t index, uint32_t handle, void *cookie);

/** post_ask - probe the peer by an RDMA Write of no octets, on a connection with nothing under
 * way. */
void post_ask(struct verbs_conn *c);
int post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie) WARN_UNUSED;
int post_pieces(struct fabric_conn *fc, const struct fabric_piece *pieces, unsigned n,
		void *cookie) WARN_UNUSED;
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

/** queue_has_room_for_window - whether there is room for a bind and its invalidate, beside the
 * user's operations. */
static inline bool queue_has_room_for_window(const struct verbs_conn *c)
{
	return c->extras_posted - c->extras_freed + c->sq_reserved + 2 + c->max_sends < c->sq_size;
}

/* alive.c */

/** alive_begin - a connection is open: start the checks. */
void alive_begin(struct verbs *v);
void alive_tick(struct verbs *v, nsec_t now);

/* expose.c */
int expose_init(struct verbs_conn *c) WARN_UNUSED;
int expose_add(struct fabric_conn *fc, void *addr, uint32_t len, unsigned access,
	       struct segment *seg) WARN_UNUSED;
int expose_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie,
		    uint32_t *written) WARN_UNUSED;

/** expose_may_invalidate - whether a message of the peer may have invalidated @handle: it is
 * @c's, or was until lately. */
bool expose_may_invalidate(struct verbs_conn *c, uint32_t handle);

/** expose_invalidated - a message of the peer invalidated @handle. */
void expose_invalidated(struct verbs_conn *c, uint32_t handle);

/** expose_fenced - its local invalidate completed with @status. */
void expose_fenced(struct verbs_conn *c, uint32_t index, int status);

/** expose_end - fence everything; call it before the queue pair is destroyed, and again after it
 * for exposures that the device did not release. */
void expose_end(struct verbs_conn *c);

#endif
