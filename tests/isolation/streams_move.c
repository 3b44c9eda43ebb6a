/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/isolation/streams.h"
#include "tests/iwarp/qp_tools.h"

/*
 * Operation. Octets go from a queue pair into the peer's pipe as soon as there is room
 * (streams_pump()). They go from the pipe into the peer's queue pair when the pipe's .deliver is
 * due. A message that finds no shared Receive leaves the rest in the pipe, until streams_resume().
 */

enum { LEAST_OCTETS = 1024 };
#define LOOK (15 * NSEC_PER_SEC)
#define DRAIN (5 * NSEC_PER_SEC)
#define LINGER NSEC_PER_SEC

void streams_activate(struct stream_conn *c)
{
	if (list_is_empty(&c->active))
		list_add_tail(&fabric_of_stream(c)->active, &c->active);
}

/* Deliver the contents of the pipe to @c at @at, or earlier. */
static void deliver_at(struct stream_conn *c, nsec_t at)
{
	if (!timer_is_armed(&c->deliver) || c->deliver.at > at)
		timer_arm(&net_of_stream(c)->timers, &c->deliver, at);
}

/* Nothing more comes from here. */
static void say_end(struct stream_conn *c, bool reset)
{
	if (!c->peer || c->peer->in.fin)
		return;
	pipe_end(&c->peer->in, reset);
	deliver_at(c->peer, streams_soon(net_of_stream(c)));
}

void streams_stop(struct stream_conn *c, int status, const char *why)
{
	struct timer_queue *q = &net_of_stream(c)->timers;

	if (c->state == STREAM_ENDED)
		return;
	say_end(c, c->state < STREAM_LINGER && rng_below(&net_of_stream(c)->rng, 2));
	c->state = STREAM_ENDED;
	timer_disarm(q, &c->deliver);
	timer_disarm(q, &c->setup);
	timer_disarm(q, &c->look);
	list_del(&c->dirty);
	list_del(&c->recv_wait);
	if (c->has_qp) {
		qp_stop(&c->qp, status, why);
		status = c->qp.status;
		why = c->qp.why;
		c->base.handles_live = 0;
	}
	c->status = status;
	c->why = why;
	streams_activate(c);
}

/* The queue pair may have left QP_OPEN: follow it. */
static void follow(struct stream_conn *c)
{
	struct streams *net = net_of_stream(c);

	if (qp_has_events(&c->qp))
		streams_activate(c);
	if (c->state == STREAM_OPEN && c->qp.state == QP_TERMINATING) {
		c->state = STREAM_CLOSING;
		timer_arm(&net->timers, &c->look, net->now + LINGER);
	}
	if (c->state < STREAM_ENDED && c->qp.state == QP_DEAD) {
		streams_stop(c, 0, NULL);
	} else if (c->state == STREAM_CLOSING && qp_is_drained(&c->qp)) {
		say_end(c, false);
		c->state = STREAM_LINGER;
		timer_arm(&net->timers, &c->look, net->now + LINGER);
		if (c->in.fin && pipe_is_empty(&c->in))
			streams_stop(c, 0, NULL);
	}
}

void streams_pump(struct stream_conn *c)
{
	struct streams *net = net_of_stream(c);
	struct iovec *iov;
	unsigned n;

	if (c->state != STREAM_OPEN && c->state != STREAM_CLOSING)
		return;
	c->blocked = false;
	while (c->peer && !c->peer->in.fin && (n = qp_tx_want(&c->qp, &iov)) > 0) {
		size_t took = pipe_put(&c->peer->in, iov, n, &c->peer->base, net->watcher);

		if (took == 0) {
			c->blocked = true;
			break;
		}
		qp_tx_took(&c->qp, took);
	}
	c->qp.lacks_memory = false;
	if (c->peer && !pipe_is_empty(&c->peer->in) && !timer_is_armed(&c->peer->deliver))
		deliver_at(c->peer, streams_soon(net));
	follow(c);
}

/* A queue pair takes all it is given, unless it waits for a Receive, or is at its end. */
static void feed_some(struct stream_conn *c, size_t n)
{
	struct stream_fabric *f = fabric_of_stream(c);
	size_t took = feed(&c->qp, c->in.octets + c->in.from, n, 0);

	pipe_took(&c->in, took);
	c->base.sink_blocked = qp_sink_is_blocked(&c->qp);
	if (qp_is_starved(&c->qp) && list_is_empty(&c->recv_wait))
		list_add_tail(&f->recv_waiters, &c->recv_wait);
}

static bool is_waiting(const struct stream_conn *c)
{
	return qp_is_starved(&c->qp) || qp_sink_is_blocked(&c->qp);
}

/* All has come that ever comes. */
static void on_end(struct stream_conn *c)
{
	if (c->in.reset && c->state != STREAM_LINGER) {
		streams_stop(c, ERR_CLOSED, "reset by the peer");
	} else if (c->state == STREAM_OPEN) {
		qp_rx_end(&c->qp);
		follow(c);
	} else {
		streams_stop(c, c->state == STREAM_LINGER ? 0 : ERR_CLOSED, "the peer ended");
	}
}

void streams_deliver(struct timer *t, nsec_t now)
{
	struct stream_conn *c = container_of(t, struct stream_conn, deliver);
	size_t n = pipe_piece(&c->in, now);
	struct streams *net = net_of_stream(c);

	if (c->state != STREAM_OPEN && c->state < STREAM_CLOSING) {
		if (c->in.fin) /* gone before it was accepted, or heard of it */
			streams_stop(c, ERR_CLOSED, "the peer is gone");
		else
			deliver_at(c, streams_soon(net));
		return;
	}
	if (c->state == STREAM_OPEN && qp_sink_is_blocked(&c->qp)) {
		qp_rx_resume(&c->qp);
		c->base.sink_blocked = qp_sink_is_blocked(&c->qp);
		streams_pump(c);
	}
	if (c->state == STREAM_OPEN && is_waiting(c) && !c->in.reset)
		return;
	if (n > 0 && c->state == STREAM_OPEN)
		feed_some(c, n);
	else if (n > 0)
		pipe_took(&c->in, n);
	if (c->state == STREAM_OPEN)
		streams_pump(c);
	if (c->peer && n > 0 && c->peer->blocked)
		streams_pump(c->peer);
	if (c->state == STREAM_ENDED)
		return;
	if (c->in.fin && (c->in.reset || pipe_is_empty(&c->in)))
		on_end(c);
	else if (!pipe_is_empty(&c->in) && !(c->has_qp && is_waiting(c)))
		deliver_at(c, c->in.hold_until > now	? c->in.hold_until
			      : rng_below(&net->rng, 2) ? now
							: streams_soon(net));
}

void streams_resume(struct stream_conn *c)
{
	if (c->state != STREAM_OPEN)
		return;
	qp_rx_resume(&c->qp);
	if (qp_is_starved(&c->qp) && list_is_empty(&c->recv_wait))
		list_add_tail(&fabric_of_stream(c)->recv_waiters, &c->recv_wait);
	deliver_at(c, net_of_stream(c)->now);
	streams_pump(c);
}

void streams_try_full(struct stream_conn *c)
{
	if (c->base.sink_blocked && c->state == STREAM_OPEN)
		deliver_at(c, net_of_stream(c)->now);
}

void streams_disconnect(struct stream_conn *c)
{
	struct streams *net = net_of_stream(c);

	qp_disconnect(&c->qp);
	c->state = STREAM_CLOSING;
	timer_arm(&net->timers, &c->look, net->now + DRAIN);
	streams_pump(c);
}

static bool takes_nothing(const struct stream_conn *c)
{
	return c->blocked && c->looked_blocked && c->qp.tx.taken == c->looked_taken;
}

static bool stands_still(const struct stream_conn *c)
{
	struct qp_rx_mark now = qp_rx_mark(&c->qp);

	return qp_rx_is_inside(&c->qp) && c->looked_inside &&
	       now.message == c->looked_mark.message &&
	       now.octets < c->looked_mark.octets + LEAST_OCTETS;
}

/* As fabric/iwarp/stream.c bounds them. */
void streams_look(struct timer *t, nsec_t now)
{
	struct stream_conn *c = container_of(t, struct stream_conn, look);

	if (c->state == STREAM_CLOSING || c->state == STREAM_LINGER) {
		streams_stop(c, c->state == STREAM_LINGER ? 0 : ERR_TIMEOUT,
			     "the last octets did not get out in time");
		return;
	}
	if (takes_nothing(c) || stands_still(c)) {
		streams_stop(c, ERR_TIMEOUT, "the peer takes or sends no octets");
		return;
	}
	c->looked_blocked = c->blocked;
	c->looked_inside = qp_rx_is_inside(&c->qp);
	c->looked_taken = c->qp.tx.taken;
	c->looked_mark = qp_rx_mark(&c->qp);
	timer_arm(&net_of_stream(c)->timers, t, now + LOOK);
}
