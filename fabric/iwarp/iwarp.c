/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/iwarp.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"
#include "fabric/iwarp/recv_sched.h"
#include "fabric/iwarp/listen.h"
#include "fabric/iwarp/receives.h"
#include "fabric/iwarp/setup.h"
#include "fabric/iwarp/sock.h"
#include "fabric/iwarp/stream.h"

/*
 * Operation
 *
 * An instance is a set of connections and lists through them: connections that have events, posts,
 * unserved input, no Receive, an unfinished set-up. Every entry point works on one connection and
 * at most puts it in a list. Each connection has a timer of its own. So no cost here grows with the
 * number of connections that are idle or in set-up.
 *
 * 	initiator: CONNECTING -> REQUESTING ----------.
 * 	acceptor:  AWAITING -> OFFERED -> REPLYING ---+-> OPEN -> CLOSING -> LINGER -> CLOSED
 *
 * setup.c has all states before OPEN, stream.c has OPEN and later, conn.c has the code common to
 * both. Any state goes to CLOSED when the socket fails. A connection's memory lives until
 * fabric_destroy(); the socket is closed in CLOSED.
 */

enum {
	SPARE_POINTS = 16,  /* points of sums for segments that end within a slice */
	TURN_TIMERS = 256,  /* most timers that run in one tick */
	EVENTS_AT_ONCE = 8, /* events of one connection in a row, if others have events, too */
	/* octets moved between two calls of fabric_shed(), below which a connection hardly moves:
	 * the size of the read-ahead */
	SHED_LEAST = 16384,
};
#define TRIM_PAUSE (5 * NSEC_PER_MS) /* interval while there is more to give back */

void iwarp_config_default(struct iwarp_config *cfg)
{
	*cfg = (struct iwarp_config){
		.crc = true,
		.setup_timeout_ms = 10000,
		.stall_timeout_ms = 30000,
		.ird = 32,
		.ord = 32,
		.max_setups = 256,
		.turn_octets = 512 * 1024,
	};
}

static void conn_ready(struct loop_watch *watch, unsigned events)
{
	struct iwarp_conn *c = container_of(watch, struct iwarp_conn, watch);

	if (c->state < IWARP_OPEN)
		setup_ready(c, events);
	else
		stream_ready(c, events);
}

static void expire(struct timer *timer, nsec_t now)
{
	struct iwarp_conn *c = container_of(timer, struct iwarp_conn, deadline);

	if (c->state < IWARP_OPEN)
		setup_expired(c, now);
	else
		stream_expired(c);
}

static void stalled(struct timer *timer, nsec_t now)
{
	stream_stalled(container_of(timer, struct iwarp_conn, stall), now);
}

/* Idle trim timer: returns pooled memory to the system. It runs while there are connections, or
 * pooled memory. */
static void trim(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, trim);

	if (qp_store_trim(&iw->store))
		timer_arm(&iw->timers, timer, now + TRIM_PAUSE);
	else if (!list_is_empty(&iw->conns) || qp_store_bytes(&iw->store) > 0)
		timer_arm(&iw->timers, timer, now + IWARP_TRIM_INTERVAL);
}

/* The ops table */

static int op_register(struct fabric *f, void *base, size_t len)
{
	(void)f, (void)base, (void)len; /* sockets need no registration */
	return 0;
}

static void op_unregister(struct fabric *f, void *base)
{
	(void)f, (void)base;
}

static void op_disconnect(struct fabric_conn *fc)
{
	struct iwarp_conn *c = conn_of(fc);

	if (c->state == IWARP_OPEN)
		stream_disconnect(c);
	else if (c->state < IWARP_OPEN)
		iwarp_conn_end(c, 0, "disconnected during set-up");
}

static void op_destroy(struct fabric_conn *fc)
{
	iwarp_conn_free(conn_of(fc));
}

static int op_prepare(struct fabric_conn *fc, const struct fabric_conn_params *params)
{
	return iwarp_conn_queues(conn_of(fc), params);
}

static int op_post_recv(struct fabric_conn *fc, void *buf, uint32_t len, void *cookie)
{
	struct iwarp_conn *c = conn_of(fc);

	return c->has_qp ? qp_post_recv(&c->qp, buf, len, cookie) : ERR_CLOSED;
}

static int op_post_pieces(struct fabric_conn *fc, const struct fabric_piece *pieces, unsigned n,
			  void *cookie)
{
	struct iwarp_conn *c = conn_of(fc);

	return c->has_qp ? qp_post_pieces(&c->qp, pieces, n, cookie) : ERR_CLOSED;
}

/* Marks @c for the next flush if the post succeeded. */
static int posted(struct iwarp_conn *c, int rc)
{
	if (!rc && list_is_empty(&c->dirty))
		list_add_tail(&c->iw->dirty, &c->dirty);
	return rc;
}

static int op_send(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
		   uint32_t inv_handle, void *cookie)
{
	struct iwarp_conn *c = conn_of(fc);

	if (!c->has_qp)
		return ERR_CLOSED;
	return posted(c, qp_send(&c->qp, sge, nsge, inv_handle, cookie));
}

static bool op_send_short(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
			  uint32_t inv_handle)
{
	struct iwarp_conn *c = conn_of(fc);

	return c->has_qp && qp_send_short(&c->qp, sge, nsge, inv_handle) && !posted(c, 0);
}

static int op_write(struct fabric_conn *fc, const struct fabric_sge *sge, unsigned nsge,
		    const struct segment *remote, void *cookie)
{
	struct iwarp_conn *c = conn_of(fc);

	return c->has_qp ? posted(c, qp_write(&c->qp, sge, nsge, remote, cookie)) : ERR_CLOSED;
}

static int op_read(struct fabric_conn *fc, void *to, const struct segment *remote, void *cookie)
{
	struct iwarp_conn *c = conn_of(fc);
	int rc = c->has_qp ? posted(c, qp_read(&c->qp, to, remote, cookie)) : ERR_CLOSED;

	if (!rc && c->base.recv_limited) /* the response may be behind the message that waits */
		recv_sched_try(c);
	return rc;
}

static int op_expose(struct fabric_conn *fc, void *addr, uint32_t len, unsigned access,
		     struct segment *seg)
{
	struct iwarp_conn *c = conn_of(fc);
	int rc = c->has_qp ? qp_expose(&c->qp, addr, len, access, seg) : ERR_CLOSED;

	c->base.handles_live = c->has_qp ? c->qp.stags.live : 0;
	return rc;
}

static int op_stream(struct fabric_conn *fc, const struct fabric_piece *window, uint32_t len,
		     void *cookie, struct segment *seg)
{
	struct iwarp_conn *c = conn_of(fc);
	int rc = c->has_qp ? qp_stream(&c->qp, window, len, cookie, seg) : ERR_CLOSED;

	assert(window->len >= FABRIC_STREAM_WINDOW);
	c->base.handles_live = c->has_qp ? c->qp.stags.live : 0;
	return rc;
}

/* Resumes a connection with a Write that waited for room in a stream's window, if it can continue:
 * there is room, or the stream was withdrawn. */
static void try_blocked_sinks(struct iwarp_conn *c)
{
	if (c->base.sink_blocked && c->state == IWARP_OPEN)
		stream_yield(c);
}

static void op_went_on(struct fabric_conn *fc, uint32_t handle, uint32_t len)
{
	struct iwarp_conn *c = conn_of(fc);

	if (!c->has_qp)
		return;
	qp_went_on(&c->qp, handle, len);
	try_blocked_sinks(c);
}

static int op_withdraw(struct fabric_conn *fc, uint32_t handle, void *cookie, uint32_t *written)
{
	struct iwarp_conn *c = conn_of(fc);
	int rc;

	*written = 0;
	if (!c->has_qp)
		return ERR_CLOSED;
	rc = qp_withdraw(&c->qp, handle, cookie, written);
	c->base.handles_live = c->qp.stags.live;
	try_blocked_sinks(c);
	/* If the withdrawal has ended the stream, the next flush ends the connection. */
	if (c->qp.state > QP_DRAINING && c->state >= IWARP_OPEN && c->state < IWARP_CLOSED)
		return posted(c, 0), rc;
	return rc;
}

static struct sums *sums_of(struct fabric_sums *s)
{
	return container_of(s, struct sums, base);
}

static struct fabric_sums *op_sums_take(struct fabric_conn *from, struct fabric_conn *to,
					uint32_t len, uint32_t period)
{
	struct iwarp_conn *in = conn_of(from), *out = conn_of(to);
	/* The sums count for the client address of the session, which is the peer of the acceptor:
	 * a client that takes no results must not use up the sums of the server's other clients. */
	uint8_t host = in->initiator ? out->qp.host : in->qp.host;
	struct sums *s = NULL;

	if (in->state == IWARP_OPEN && out->state == IWARP_OPEN && in->qp.crc && out->qp.crc)
		s = sums_take(&in->iw->store.sums, host, out->qp.tx.max_tagged, period,
			      len / out->qp.tx.max_tagged + SPARE_POINTS);
	if (!s)
		return NULL;
	s->base.fabric = &in->iw->base;
	return &s->base;
}

static void op_sums_give(struct fabric_sums *s)
{
	sums_give(sums_of(s));
}

static void op_sums_end(struct fabric_sums *s)
{
	sums_end(sums_of(s));
}

static void op_sum_exposure(struct fabric_conn *fc, uint32_t handle, struct fabric_sums *s,
			    uint32_t at)
{
	if (conn_of(fc)->has_qp)
		qp_sum_exposure(&conn_of(fc)->qp, handle, sums_of(s), at);
}

static void op_sum_posted(struct fabric_conn *fc, unsigned piece, struct fabric_sums *s,
			  uint32_t at)
{
	qp_sum_posted(&conn_of(fc)->qp, piece, sums_of(s), at);
}

static void iwarp_op_flush(struct fabric *f)
{
	struct list *item;

	receives_feed(iwarp_of(f));
	while ((item = list_pop(&iwarp_of(f)->dirty))) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, dirty);

		if (c->state >= IWARP_OPEN && c->state < IWARP_CLOSED)
			stream_write(c);
	}
}

static bool op_go_on(struct fabric *f)
{
	return stream_go_on(iwarp_of(f));
}

static void end_event(struct iwarp_conn *c, struct fabric_event *ev)
{
	*ev = (struct fabric_event){.type = FABRIC_EV_DISCONNECTED,
				    .conn = &c->base,
				    .status = c->status,
				    .private_data = c->private_data,
				    .why = c->why};
}

static bool iwarp_conn_event(struct iwarp_conn *c, struct fabric_event *ev)
{
	if (c->request_due || c->connected_due) {
		*ev = (struct fabric_event){.type = c->request_due ? FABRIC_EV_REQUEST
								   : FABRIC_EV_CONNECTED,
					    .conn = &c->base,
					    .private_data = c->private_data};
		if (c->connected_due)
			c->iw->greeted = c;
		c->request_due = c->connected_due = false;
		c->private_data = view_of(NULL, 0);
		return true;
	}
	if (c->has_qp && qp_next_event(&c->qp, ev)) {
		ev->conn = &c->base;
		if (ev->type == FABRIC_EV_PLACED)
			try_blocked_sinks(c);
		if (ev->sums)
			ev->sums->fabric = &c->iw->base;
		c->base.handles_live = c->qp.stags.live;
		return true;
	}
	if (c->recv_limited_due) {
		c->recv_limited_due = false;
		*ev = (struct fabric_event){.type = FABRIC_EV_RECV_LIMITED, .conn = &c->base};
		return true;
	}
	if (c->state != IWARP_CLOSED || c->end_reported)
		return false;
	c->end_reported = true;
	end_event(c, ev);
	return true;
}

/* Frees the MPA frames of the connection whose CONNECTED was polled last: its private data were
 * valid until now. */
static void drop_frames(struct iwarp *iw)
{
	struct iwarp_conn *c = iw->greeted;

	if (!c)
		return;
	iw->greeted = NULL;
	mem_free(c->frames);
	c->frames = NULL;
}

/* After EVENTS_AT_ONCE events of @c in a row, other connections with events come first. The order
 * of one connection's events does not change. */
static void let_others(struct iwarp *iw, struct iwarp_conn *c)
{
	if (++c->events_in_row < EVENTS_AT_ONCE)
		return;
	c->events_in_row = 0;
	list_del(&c->active);
	list_add_tail(&iw->active, &c->active);
}

static int iwarp_op_poll(struct fabric *f, struct fabric_event *ev)
{
	struct iwarp *iw = iwarp_of(f);

	drop_frames(iw);
	while (!list_is_empty(&iw->active)) {
		struct iwarp_conn *c = list_first(&iw->active, struct iwarp_conn, active);

		if (iwarp_conn_event(c, ev)) {
			let_others(iw, c);
			return 1;
		}
		c->events_in_row = 0;
		list_del(&c->active);
	}
	return receives_back(iw, ev);
}

static nsec_t iwarp_op_deadline(const struct fabric *f)
{
	const struct iwarp *iw = container_of(f, const struct iwarp, base);

	if (!list_is_empty(&iw->active) || !list_is_empty(&iw->yielded) || iw->recvq.back ||
	    iw->heard_us)
		return 0;
	/* A deadline that has passed already when the loop checks it, so the loop does not
	 * block. */
	if (iw->busy_until > iw->ticked)
		return iw->ticked + 1;
	return nsec_min(timer_next(&iw->timers), listen_deadline(iw));
}

/* Polls for more input as long as the connection's owner set (.busy_poll_us), because a connection
 * that sent something probably continues. */
static void look_or_wait(struct iwarp *iw, nsec_t now)
{
	nsec_t until = now + iw->heard_us * (nsec_t)1000;

	if (until > iw->busy_until)
		iw->busy_until = until;
	iw->heard_us = 0;
	iw->ticked = now;
}

static void iwarp_op_tick(struct fabric *f, nsec_t now)
{
	struct iwarp *iw = iwarp_of(f);

	look_or_wait(iw, now);
	/* Timers that are left are due in the next turn. */
	(void)timer_run(&iw->timers, now, TURN_TIMERS);
	listen_tick(iw, now);
}

static struct fabric_moved op_moved(const struct fabric_conn *fc)
{
	const struct iwarp_conn *c = container_of(fc, const struct iwarp_conn, base);

	if (!c->has_qp)
		return (struct fabric_moved){0};
	return (struct fabric_moved){.taken = c->qp.tx.taken - sock_backlog(c->fd),
				     .read = c->qp.rx.response_octets};
}

/* Adds the heap of connections that no REQUEST has reported yet, because the user does not count
 * them. */
static size_t op_pooled(const struct fabric *f)
{
	const struct iwarp *iw = container_of(f, const struct iwarp, base);

	return qp_store_bytes(&iw->store) +
	       iw->preauth_queue.count * (sizeof(struct iwarp_conn) + sizeof(struct iwarp_frames));
}

/*
 * Return: whether @c held memory at the last call of fabric_shed(), too, and has moved less than
 *         SHED_LEAST octets since: payload that was received, and all octets that the peer has
 *         acknowledged.
 */
static bool is_idle_with_memory(struct iwarp_conn *c)
{
	uint64_t moved = qp_rx_payload(&c->qp) + c->qp.tx.taken - sock_backlog(c->fd);
	bool is_idle = c->shed_look == c->iw->sheds - 1 && moved - c->shed_moved < SHED_LEAST;

	c->shed_look = c->iw->sheds;
	c->shed_moved = moved;
	return is_idle;
}

/*
 * State:  memory is short, and some connections hold memory for octets under way.
 * Danger: peers that begin messages, or take no octets, hold that memory; new sessions are refused.
 * Rule:   a connection that held memory at the call before, too, and moved less than SHED_LEAST
 *         octets since, ends with ERR_NOMEM, until @octets are freed. A connection that waits for a
 *         shared Receive stays, unless its user holds many.
 * Pinned: tests/iwarp/test_iwarp_begun.c:test_memory_is_short, :test_a_connection_that_moves_stays.
 */
static void op_shed(struct fabric *f, size_t octets)
{
	struct iwarp *iw = iwarp_of(f);

	iw->sheds++;
	list_for_each_safe(item, tmp, &iw->conns)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, all);
		size_t holds = c->state == IWARP_OPEN ? qp_holds(&c->qp) : 0;

		if (!holds || !is_idle_with_memory(c) ||
		    (qp_is_starved(&c->qp) && c->base.recvs_held <= FABRIC_RECV_PER_CONN_DIV) ||
		    !octets)
			continue;
		iwarp_conn_end(c, ERR_NOMEM, "memory is short, and it holds some and hardly moves");
		octets -= holds < octets ? holds : octets;
	}
}

static void iwarp_op_free(struct fabric *f)
{
	struct iwarp *iw = iwarp_of(f);

	list_for_each_safe(item, tmp, &iw->conns)
		iwarp_conn_free(container_of(item, struct iwarp_conn, all));
	qp_store_fini(&iw->store);
	preauth_queue_fini(&iw->preauth_queue);
	mem_free(iw);
}

static const struct fabric_ops iwarp_ops = {
	.name = "iwarp",
	.register_memory = op_register,
	.unregister_memory = op_unregister,
	.attach = listen_attach,
	.detach = listen_detach,
	.arriving = listen_arriving,
	.connect = setup_connect,
	.accept = setup_accept,
	.reject = setup_reject,
	.disconnect = op_disconnect,
	.destroy = op_destroy,
	.prepare = op_prepare,
	.post_recv = op_post_recv,
	.post_pieces = op_post_pieces,
	.share_receives = receives_share,
	.unshare_receives = receives_unshare,
	.receives_wanted = receives_wanted,
	.post_shared = receives_post,
	.gave_back = recv_sched_gave_back,
	.send = op_send,
	.send_short = op_send_short,
	.write = op_write,
	.read = op_read,
	.expose = op_expose,
	.stream = op_stream,
	.went_on = op_went_on,
	.withdraw = op_withdraw,
	.sums_take = op_sums_take,
	.sums_give = op_sums_give,
	.sums_end = op_sums_end,
	.sum_exposure = op_sum_exposure,
	.sum_posted = op_sum_posted,
	.flush = iwarp_op_flush,
	.go_on = op_go_on,
	.poll = iwarp_op_poll,
	.deadline = iwarp_op_deadline,
	.tick = iwarp_op_tick,
	.moved = op_moved,
	.pooled = op_pooled,
	.shed = op_shed,
	.free = iwarp_op_free,
};

/* Octets of heap of an idle connection with shared Receives, if its depths are greater than any
 * user asks for. */
static size_t idle_bytes(const struct iwarp_config *cfg)
{
	const struct qp_depths depths = {
		.max_sends = 128, .max_exposures = 512, .ird = cfg->ird, .ord = cfg->ord};

	return sizeof(struct iwarp_conn) + qp_idle_bytes(&depths);
}

struct fabric *iwarp_new(const struct iwarp_config *cfg, struct loop *loop)
{
	struct iwarp *iw = mem_zalloc(sizeof(*iw));

	if (!iw)
		return NULL;
	iw->base.ops = &iwarp_ops;
	iw->base.remote_inv = iw->base.reports_written = iw->base.shares_out = true;
	iw->base.streams = true;
	iw->base.conn_bytes = idle_bytes(cfg);
	iw->cfg = *cfg;
	iw->loop = loop;
	iw->wake = (struct iwarp_wake){conn_ready, expire, stalled};
	timer_queue_init(&iw->timers);
	timer_init(&iw->probe, stream_probe);
	timer_init(&iw->period, receives_period);
	timer_init(&iw->reclaim, receives_reclaim);
	timer_init(&iw->trim, trim);
	iw->rng = cfg->seed;
	iw->hosts_seed = iwarp_draw(iw);
	iw->sheds = 1; /* no connection was checked yet: their .shed_look is 0 */
	qp_store_init(&iw->store, &iw->counters);
	list_init(&iw->conns);
	list_init(&iw->active);
	list_init(&iw->dirty);
	list_init(&iw->yielded);
	list_init(&iw->recv_waiters);
	list_init(&iw->recv_limited);
	list_init(&iw->read_turns);
	list_init(&iw->inside);
	list_init(&iw->probes);
	list_init(&iw->setups);
	list_init(&iw->rejected);
	list_init(&iw->attachments);
	if (preauth_queue_init(&iw->preauth_queue, cfg->max_setups, iwarp_draw(iw))) {
		preauth_queue_fini(&iw->preauth_queue);
		mem_free(iw);
		return NULL;
	}
	return &iw->base;
}

const struct iwarp_counters *iwarp_counters(const struct fabric *f)
{
	return &container_of(f, const struct iwarp, base)->counters;
}
