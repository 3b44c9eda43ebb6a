/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/iwarp_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/pause.h"
#include "fabric/host_table.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/fpdu.h"
#include "fabric/iwarp/qp_complete.h"
#include "fabric/iwarp/recv_sched.h"
#include "fabric/iwarp/sock.h"
#include "fabric/iwarp/stream.h"

/*
 * Operation
 *
 * This file moves octets between the kernel and the queue pair, both ways until EAGAIN, as
 * edge-triggered watches demand. Either direction also stops after a fair share, because a peer
 * that is as fast as this end never causes EAGAIN. The connection is then in the list `yielded`. It
 * is served again at the end of a flush (stream_go_on()), after all others.
 *
 * State:  connections that move much share a worker with connections that make small calls.
 * Danger: a small call waits until each of the others has moved all that it can.
 * Rule:   - A connection that moved much when it was last served goes to `yielded` at once.
 *         - A turn has a budget of octets (fair_share()). When it is used up, at least one
 *           connection in `yielded` continues, and each connection outside `yielded` has only
 *           SMALL_SHARE.
 *         - So a connection with small calls waits for the octets of one turn at most, however many
 *           connections move much, and its replies do not wait for another turn.
 *         - While connections make small calls, the budget is 1/LATENCY_BOUND_DIV of .turn_octets.
 *           That costs the other connections some throughput.
 *         - If all connections move much, the budget is .turn_octets, because each turn may wake up
 *           a peer that sleeps.
 *         - A system call counts as CALL_OCTETS at least, because a peer can cause a call for each
 *           20 octets (empty Writes where payload is expected).
 * Pinned: tests/iwarp/test_iwarp_latency.c, tests/iwarp/test_iwarp_fair.c.
 *
 * A message that the peer has begun has time-outs of its own (has_moved()). What it means that
 * .deadline of a connection expires depends on the state:
 * - OPEN, and no octet sent: the initiator may send its first FPDU.
 * - OPEN, and octets sent: the peer's first FPDU is late.
 * - OPEN, and .orphan: the peer has ended, and a message before its end found no Receive in time.
 * - CLOSING: the last octets were not sent in time.
 * - LINGER: the peer's FIN did not come in time. If this end has sent no FIN, it is time to check
 *   whether a reset can be sent (reset_when_acknowledged()).
 *
 * The kernel ends a connection whose peer acknowledges no octet for .stall_timeout_ms
 * (TCP_USER_TIMEOUT, sock.c).
 * Pinned: tests/iwarp/test_iwarp_faults.c:test_stops_reading, :test_reads_slowly.
 */

enum {
	/* while connections make small calls, a turn's budget is 1/LATENCY_BOUND_DIV of
	 * .turn_octets */
	LATENCY_BOUND_DIV = 8,
	/* octets of one connection, each way, once the turn's budget is used up */
	SMALL_SHARE = 16 << 10,
	/* most connections in `yielded` served in one turn, if each has little to do */
	TURN_YIELDED = 64,
	CALL_OCTETS = 1024, /* octets that cost about as much as a system call */
	SMALL_PIECE = 64,   /* a piece of read-ahead between two payloads is less */
	DISCARDS = 4,	    /* pieces of 16 KiB discarded in a row */
	/*
	 * Linux siw as acceptor overlooks the first FPDU when it arrives between siw's MPA reply
	 * and its being ready for octets, until more octets come. So an initiator waits a little
	 * before its first FPDU. If the answer is late (on a busy machine that gap is longer), it
	 * sends empty Writes: after 20 ms, 40, 80 ... 2560.
	 */
	HOLD_MS = 2,
	NUDGE_MS = 20,
	NUDGES = 8,
	LEAST_OCTETS = 1024, /* has_moved(): least octets in STALL_LOOKS looks */
	PRESSED_PARTS = 8,   /* ... between looks of stream_press(): this part of a Receive */
	PRESSED_LOOKS = 4,   /* looks at a message for whose Receive others wait */
	DRAIN_MS = 5000,     /* orderly end: time for what was posted before */
	PROBE_MS = 50,
	TURN_PROBES = 64, /* connections of `probes` looked at in one tick */
	ACK_MS = 1, /* first wait for the peer's acknowledgement; each next one is twice as long */
	ACK_LOOKS = 10, /* number of these waits: one second in all */
};

/* How long a turn's budget stays small after a small call, and how long a connection counts as one
 * that moved much. */
#define LATENCY_BOUND_TIME (20 * NSEC_PER_MS)

static void probe_later(struct iwarp_conn *c);

static bool has_yielded(const struct iwarp_conn *c)
{
	return !list_is_empty(&c->yielded);
}

void stream_yield(struct iwarp_conn *c)
{
	if (!has_yielded(c))
		list_add_tail(&c->iw->yielded, &c->yielded);
}

/* Whether a connection that does not move much sent something in the last LATENCY_BOUND_TIME. */
static bool is_latency_bound(const struct iwarp *iw)
{
	return iw->ticked < iw->latency_bound_until;
}

static bool moved_lately(const struct iwarp_conn *c)
{
	return c->bulk_at && c->iw->ticked <= c->bulk_at + LATENCY_BOUND_TIME;
}

/* Most octets that one connection moves each way before other connections are served; also the
 * budget of one turn. */
static size_t fair_share(const struct iwarp *iw)
{
	return is_latency_bound(iw) ? iw->cfg.turn_octets / LATENCY_BOUND_DIV : iw->cfg.turn_octets;
}

/* Whether the turn's budget is used up, or the rest is not worth a system call. */
static bool is_spent(const struct iwarp *iw)
{
	return iw->turn_cost + CALL_OCTETS > fair_share(iw);
}

/* Return: whether @c is in `yielded` and will be served at the end of a flush. */
static bool has_to_yield(struct iwarp_conn *c)
{
	if (c->is_bulk || (is_latency_bound(c->iw) && moved_lately(c)))
		stream_yield(c);
	return has_yielded(c);
}

static size_t share_now(const struct iwarp *iw)
{
	return is_spent(iw) ? SMALL_SHARE : fair_share(iw);
}

void stream_open(struct iwarp_conn *c)
{
	struct qp_stream s = {.initiator = c->initiator,
			      .crc = c->agreed.crc,
			      .hold = c->initiator,
			      .ord = c->agreed.ord,
			      .rtr = c->agreed.rtr,
			      .fpdu_max = fpdu_max(sock_emss(c->fd))};

	uint8_t key[FABRIC_ADDR_KEY];

	fabric_addr_key(&c->base.peer, key);
	c->qp.host = (uint8_t)host_hash(c->iw->hosts_seed, key);
	sock_pace(c->fd, c->iw->congestion);
	c->state = IWARP_OPEN;
	qp_start(&c->qp, &s);
	c->base.no_reads = c->qp.ord == 0;
	c->base.issues_no_reads = !c->agreed.peer_reads;
	iwarp_conn_deadline(c, c->initiator ? HOLD_MS : 0);
	c->connected_due = true;
	iwarp_conn_activate(c);
	/* Octets behind the MPA frame may be in the socket already, and cause no further edge
	 * event: they are read at the end of a flush. */
	stream_yield(c);
}

void stream_refuse(struct iwarp_conn *c, int err, struct ddp_term term)
{
	stream_open(c);
	c->connected_due = false;
	qp_fail(&c->qp, err, term);
}

static void socket_failed(struct iwarp_conn *c, int err)
{
	iwarp_conn_end(c, sock_error(err), strerrordesc_np(err));
}

/* Discards input, so that closing sends a FIN and no reset. */
static void discard(struct iwarp_conn *c)
{
	uint8_t scratch[16384];

	for (int i = 0; i < DISCARDS && !c->eof; i++) {
		ssize_t n = recv(c->fd, scratch, sizeof(scratch), 0);

		c->iw->turn_cost += n > CALL_OCTETS ? (size_t)n : CALL_OCTETS;
		if (n == 0)
			c->eof = true;
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n < 0 && errno != EINTR) {
			socket_failed(c, errno);
			return;
		}
	}
	if (!c->eof)
		stream_yield(c);
}

/*
 * State:  this end sends no more octets, and the connection is to end with a reset, which frees its
 *         local port.
 * Danger: a reset that overtakes octets of this end destroys these octets.
 * Rule:   the reset waits until the peer has acknowledged all octets. If that takes longer than a
 *         second, the connection ends with a FIN.
 * Pinned: tests/iwarp/test_iwarp_reset.c.
 * Return: false: the caller has to send the FIN.
 */
static bool reset_when_acknowledged(struct iwarp_conn *c)
{
	if (sock_backlog(c->fd) == 0) {
		iwarp_conn_end(c, 0, NULL);
		return true;
	}
	if (c->ack_looks == ACK_LOOKS)
		return false;
	c->state = IWARP_LINGER;
	iwarp_conn_deadline(c, (uint32_t)ACK_MS << c->ack_looks++);
	return true;
}

/* Ends CLOSING, after the last octets were sent or their time is over. */
static void half_close(struct iwarp_conn *c)
{
	if (!c->eof && c->resets && reset_when_acknowledged(c))
		return;
	if (c->eof || shutdown(c->fd, SHUT_WR)) {
		iwarp_conn_end(c, 0, NULL);
		return;
	}
	c->fin_sent = true;
	c->state = IWARP_LINGER;
	iwarp_conn_deadline(c, IWARP_LINGER_MS);
}

/* Adapts the state of @c to that of its queue pair. */
static void follow(struct iwarp_conn *c)
{
	if (c->has_qp && qp_has_events(&c->qp))
		iwarp_conn_activate(c);
	if (c->state == IWARP_OPEN && c->qp.state == QP_TERMINATING) {
		c->state = IWARP_CLOSING;
		iwarp_conn_deadline(c, IWARP_LINGER_MS);
	}
	if (c->state < IWARP_CLOSED && c->qp.state == QP_DEAD)
		iwarp_conn_end(c, 0, NULL);
	else if (c->state == IWARP_CLOSING && qp_is_drained(&c->qp))
		half_close(c);
}

/* Starts the wait for the peer's first FPDU (HOLD_MS has the reason), once the initiator has
 * sent. */
static void await_first(struct iwarp_conn *c)
{
	if (c->state != IWARP_OPEN || !c->initiator || c->qp.first_done || c->blocked ||
	    c->nudges || !c->qp.tx.taken)
		return;
	c->nudges = 1;
	iwarp_conn_deadline(c, NUDGE_MS);
}

static void nudge(struct iwarp_conn *c)
{
	if (c->qp.first_done || c->nudges > NUDGES)
		return;
	qp_nudge(&c->qp);
	iwarp_conn_deadline(c, (uint32_t)NUDGE_MS << c->nudges++);
}

static void take_share(struct iwarp_conn *c, size_t *share, size_t octets)
{
	size_t cost = octets < CALL_OCTETS ? CALL_OCTETS : octets;

	*share -= cost < *share ? cost : *share;
	c->iw->turn_cost += cost;
	if (octets < SMALL_SHARE)
		return;
	c->is_bulk = true;
	c->bulk_at = c->iw->ticked;
}

/*
 * How many of the gathered octets are sent now; 0: they wait for another turn. If the share is less
 * than a batch may have, only whole FPDUs are sent. TCP segments then end with FPDUs, and so do the
 * peer's reads.
 */
static size_t may_write(const struct iwarp_conn *c, size_t share, size_t each_way)
{
	size_t octets;

	if (share >= QP_TX_BATCH)
		return SIZE_MAX;
	octets = qp_tx_whole(&c->qp, share);
	return octets <= share || share == each_way ? octets : 0;
}

/* Sends at most @octets; the last piece may go in part. */
static ssize_t send_octets(int fd, struct iovec *iov, unsigned pieces, size_t octets)
{
	struct msghdr m = {.msg_iov = iov};
	struct iovec *last = iov;
	size_t kept;
	ssize_t n;

	for (; last < iov + pieces - 1 && octets > last->iov_len; last++)
		octets -= last->iov_len;
	kept = last->iov_len;
	if (octets < kept)
		last->iov_len = octets;
	m.msg_iovlen = (size_t)(last - iov) + 1;
	n = sendmsg(fd, &m, MSG_NOSIGNAL);
	last->iov_len = kept;
	return n;
}

static void write_share(struct iwarp_conn *c, const size_t each_way)
{
	size_t share = each_way, octets;
	struct iovec *iov;
	unsigned pieces;
	ssize_t n;

	while (c->state < IWARP_LINGER && !c->blocked && (pieces = qp_tx_want(&c->qp, &iov)) > 0) {
		octets = may_write(c, share, each_way);
		if (!octets) {
			stream_yield(c);
			break;
		}
		n = send_octets(c->fd, iov, pieces, octets);
		c->iw->counters.syscalls_write++;
		if (n >= 0) {
			qp_tx_took(&c->qp, (size_t)n);
			take_share(c, &share, (size_t)n);
		} else if (errno == EAGAIN) {
			c->blocked = true; /* until the peer has acknowledged some */
		} else if (errno != EINTR) {
			socket_failed(c, errno);
			return;
		}
	}
	if (c->qp.lacks_memory)
		probe_later(c);
	c->qp.lacks_memory = false;
	await_first(c);
	follow(c);
}

void stream_write(struct iwarp_conn *c)
{
	if (c->state != IWARP_OPEN || !has_to_yield(c))
		write_share(c, share_now(c->iw));
}

enum outcome { GOT_ALL, GOT_SOME, GOT_NOTHING };

/* How many of the @n pieces to read, and in *@octets their octets: as many as make up @share. The
 * last payload may exceed @share, and is read with its trailer. */
static unsigned within(const struct iovec *iov, unsigned n, size_t share, size_t *octets)
{
	unsigned i = 0;

	for (*octets = 0; i < n && (*octets < share || iov[i].iov_len <= SMALL_PIECE); i++)
		*octets += iov[i].iov_len;
	return i;
}

/* Reads once; *@share is how many octets may still be read. */
static enum outcome read_once(struct iwarp_conn *c, size_t *share)
{
	struct iovec iov[QP_RX_IOV];
	unsigned pieces = qp_rx_want(&c->qp, iov);
	size_t asked;
	ssize_t n;

	if (!pieces)
		return GOT_NOTHING;
	if (iov[0].iov_len > *share) {
		/* the rest of the first piece, and the other pieces, are for another turn */
		iov[0].iov_len = *share;
		pieces = 1;
	}
	pieces = within(iov, pieces, *share, &asked);
	n = pieces == 1 ? recv(c->fd, iov[0].iov_base, iov[0].iov_len, 0)
			: readv(c->fd, iov, (int)pieces);
	c->iw->counters.syscalls_read++;
	if (n > 0) {
		qp_rx_got(&c->qp, (size_t)n);
		take_share(c, share, (size_t)n);
		c->drained = (size_t)n < asked;
		return c->drained ? GOT_SOME : GOT_ALL;
	}
	if (n == 0)
		qp_rx_end(&c->qp);
	else if (errno == EINTR)
		return GOT_ALL;
	else if (errno == EAGAIN)
		c->drained = true;
	else
		socket_failed(c, errno);
	return GOT_NOTHING;
}

/*
 * Reads from @c again after PROBE_MS. A read that returned less than asked for has emptied the
 * socket, and the next octet causes a new edge event (epoll(7), question 9). But if the end of the
 * stream was there already, it causes no further event.
 */
static void probe_later(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (!timer_is_armed(&iw->probe))
		timer_arm(&iw->timers, &iw->probe, iwarp_now() + PROBE_MS * NSEC_PER_MS);
	if (list_is_empty(&c->probe))
		list_add_tail(&iw->probes, &c->probe);
}

/* Time between two of the STALL_LOOKS looks at a message, if nobody waits for its Receive. */
static nsec_t stall_look(const struct iwarp *iw)
{
	return (nsec_t)iw->cfg.stall_timeout_ms * NSEC_PER_MS / 2 / STALL_LOOKS;
}

static struct iwarp_look look_at_message(const struct iwarp_conn *c)
{
	return (struct iwarp_look){qp_rx_mark(&c->qp), c->qp.rx.octets};
}

/* Starts the time-outs of a message that the peer has begun. They are not restarted with each
 * message: has_moved() checks whether the message is still the same. */
static void watch_message(struct iwarp_conn *c)
{
	if (!c->qp.shared) {
		list_del(&c->inside);
	} else if (list_is_empty(&c->inside)) {
		list_add_tail(&c->iw->inside, &c->inside);
		c->pressed = look_at_message(c);
		c->pressed_looks = 0;
	}
	if (timer_is_armed(&c->stall) || !qp_rx_is_inside(&c->qp))
		return;
	c->message = look_at_message(c);
	c->stall_looks = 0;
	timer_arm(&c->iw->timers, &c->stall, iwarp_now() + stall_look(c->iw));
}

/*
 * State:  the peer has begun a message, and this end holds a Receive or read-ahead for it.
 * Danger: peers that begin messages and never end them hold that memory for ever. A thousand peers
 *         hold all shared Receives (RFC 5042 section 6.4.3.1).
 * Rule:   the connection ends if its message got too few octets since a look:
 * - LEAST_OCTETS in STALL_LOOKS looks, which take half of .stall_timeout_ms, because even a slow line
 *   carries more. Time in which the message waits for a Receive or for room in a stream does not
 *   count. A pause of the process counts as one look (base/pause.h).
 * - 1/PRESSED_PARTS of a Receive before more than PRESSED_LOOKS looks found connections waiting and
 *   no Receive left, in a row or not.
 * Within a Send only its own payload counts. Otherwise all payload counts, and the end of a message
 * that had some. A look before which the connection had no turn to read does not count.
 * Pinned: tests/iwarp/test_iwarp_faults.c:test_half_a_message;
 *         tests/iwarp/test_iwarp_begun.c:test_begun_without_octets, :test_messages_of_nothing,
 *         :test_slow_ones, :test_slow_alone, :test_others_wait_at_times,
 *         :test_begun_and_looked_at_often, :test_slow_ones_and_both_looks_at_once.
 */
static bool has_moved(const struct iwarp_look *before, const struct iwarp_look *now, uint64_t least)
{
	return now->mark.message != before->mark.message ||
	       now->mark.octets >= before->mark.octets + least;
}

static bool had_no_turn(const struct iwarp_conn *c, const struct iwarp_look *before)
{
	return has_yielded(c) && c->qp.rx.octets == before->received;
}

void stream_stalled(struct iwarp_conn *c, nsec_t at)
{
	struct iwarp_look now = look_at_message(c);

	if (c->state != IWARP_OPEN)
		return;
	if (!qp_rx_is_inside(&c->qp) || has_moved(&c->message, &now, LEAST_OCTETS)) {
		watch_message(c);
		return;
	}
	if (!had_no_turn(c, &c->message))
		c->stall_looks++;
	c->message.received = now.received;
	if (c->stall_looks < STALL_LOOKS)
		timer_arm(&c->iw->timers, &c->stall, at + stall_look(c->iw));
	else
		iwarp_conn_end(c, ERR_TIMEOUT, "the rest of a message does not come");
}

static void press(struct iwarp_conn *c)
{
	struct iwarp_look now = look_at_message(c);
	bool counts = !had_no_turn(c, &c->pressed);

	c->pressed.received = now.received;
	if (has_moved(&c->pressed, &now, c->qp.shared->len / PRESSED_PARTS)) {
		c->pressed = now;
		c->pressed_looks = 0;
	} else if (counts && ++c->pressed_looks > PRESSED_LOOKS) {
		iwarp_conn_end(c, ERR_TIMEOUT,
			       "others wait for the Receive of a message that does not end");
	}
}

void stream_press(struct iwarp *iw)
{
	list_for_each_safe(item, tmp, &iw->inside)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, inside);

		if (c->qp.shared)
			press(c);
	}
}

/* Makes @c wait for a Receive, until a flush that has one. If the peer has ended the stream, no
 * further event reports that, so the wait is limited (DRAIN_MS). */
static void starve(struct iwarp_conn *c)
{
	recv_sched_await(c);
	if (!timer_is_armed(&c->iw->reclaim))
		timer_arm(&c->iw->timers, &c->iw->reclaim, iwarp_now() + IWARP_RECLAIM_INTERVAL);
	if (c->orphan || !sock_peer_ended(c->fd))
		return;
	c->orphan = true;
	iwarp_conn_deadline(c, DRAIN_MS);
}

/*
 * State:  the window of a stream is full, so the connection's input is not read. An error of the
 *         socket, such as a reset, would be reported only after all octets that arrived before.
 * Danger: the peer has reset the connection, or its machine is gone, and the user waits for it
 *         until the user has given back the octets of the window.
 * Rule:   the connection ends at once. The probe looks once after the window became full, because
 *         the reset may have come before that. An error after which TCP goes on, such as a router's
 *         message that it has no route, does not end the connection.
 * Pinned: tests/iwarp/test_iwarp_reset.c:a_reset_behind_a_full_window_is_noticed,
 *         :an_unreachable_peer_is_no_reset
 */
static bool failed_while_full(struct iwarp_conn *c)
{
	int err;

	if (c->state != IWARP_OPEN || !qp_sink_is_blocked(&c->qp) || !sock_has_failed(c->fd))
		return false;
	err = sock_take_error(c->fd);
	socket_failed(c, err ? err : ECONNRESET);
	return true;
}

/* Callback of iwarp.probe: reads from the connections in `probes`, which then leave that list. */
void stream_probe(struct timer *timer, nsec_t now)
{
	struct iwarp *iw = container_of(timer, struct iwarp, probe);
	struct list *item;

	for (unsigned i = 0; i < TURN_PROBES && (item = list_pop(&iw->probes)); i++) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, probe);

		c->drained = false;
		if (!failed_while_full(c))
			stream_read(c);
	}
	/* in the next tick */
	if (!list_is_empty(&iw->probes))
		timer_arm(&iw->timers, &iw->probe, now + 1);
}

static void read_share(struct iwarp_conn *c, const size_t each_way)
{
	size_t share = each_way;
	enum outcome outcome = c->drained ? GOT_NOTHING : GOT_ALL;

	if (c->state == IWARP_CLOSING || c->state == IWARP_LINGER) {
		discard(c);
		if (c->state == IWARP_LINGER && c->eof)
			iwarp_conn_end(c, 0, NULL);
		return;
	}
	c->is_bulk = false;
	while (c->state == IWARP_OPEN && share && outcome == GOT_ALL)
		outcome = read_once(c, &share);
	if (c->state != IWARP_OPEN)
		return;
	if (share < each_way && !moved_lately(c))
		c->iw->latency_bound_until = c->iw->ticked + LATENCY_BOUND_TIME;
	if (!c->base.sink_blocked && qp_sink_is_blocked(&c->qp))
		probe_later(c);
	c->base.sink_blocked = qp_sink_is_blocked(&c->qp);
	qp_rx_pause(&c->qp);
	watch_message(c);
	if (qp_is_starved(&c->qp))
		starve(c);
	else if (outcome == GOT_ALL)
		stream_yield(c);
	else if (outcome == GOT_SOME)
		probe_later(c);
	/* Input may require output at once: Read responses, Reads that waited for depth, the
	 * acceptor's first FPDU, a Terminate. */
	write_share(c, each_way);
}

void stream_read(struct iwarp_conn *c)
{
	if (!has_to_yield(c))
		read_share(c, share_now(c->iw));
}

static void go_on(struct iwarp_conn *c)
{
	size_t share = fair_share(c->iw);

	if (qp_sink_is_blocked(&c->qp) && c->state == IWARP_OPEN)
		qp_rx_resume(&c->qp);
	read_share(c, share);
	if (c->state == IWARP_CLOSING)
		write_share(c, share);
}

/*
 * Serves the connections in `yielded` that are in front of the mark. Those behind it came to the
 * list during the call. At least one is served, even if connections outside the list have used up
 * the budget, because these may use it up in every turn.
 */
static void go_on_with_some(struct iwarp *iw)
{
	struct list *item;

	if (list_is_empty(&iw->yielded))
		return;
	list_add_tail(&iw->yielded, &iw->mark);
	for (unsigned i = 0; i == 0 || (i < TURN_YIELDED && !is_spent(iw)); i++) {
		item = list_pop(&iw->yielded);
		if (item == &iw->mark)
			return;
		go_on(container_of(item, struct iwarp_conn, yielded));
	}
	list_del(&iw->mark);
}

bool stream_go_on(struct iwarp *iw)
{
	bool spent;

	go_on_with_some(iw);
	spent = is_spent(iw);
	iw->turn_cost = 0;
	return spent;
}

void stream_resume(struct iwarp_conn *c)
{
	if (c->state == IWARP_OPEN)
		qp_rx_resume(&c->qp);
	if (!qp_is_starved(&c->qp))
		c->orphan = false;
	stream_read(c);
}

void stream_ready(struct iwarp_conn *c, unsigned events)
{
	if ((events & LOOP_READ) && c->busy_poll_us > c->iw->heard_us)
		c->iw->heard_us = c->busy_poll_us;
	if (events & LOOP_WRITE)
		c->blocked = false;
	if (events & LOOP_READ)
		c->drained = false;
	if ((events & LOOP_READ) && failed_while_full(c))
		return;
	if ((events & LOOP_READ) && c->state < IWARP_CLOSED)
		stream_read(c);
	if ((events & LOOP_WRITE) && c->state < IWARP_LINGER)
		stream_write(c);
}

void stream_expired(struct iwarp_conn *c)
{
	switch (c->state) {
	case IWARP_OPEN:
		if (c->orphan && qp_is_starved(&c->qp)) {
			iwarp_conn_end(c, ERR_CLOSED,
				       "peer ended while a message waited for a Receive");
			break;
		}
		if (c->nudges)
			nudge(c);
		qp_release(&c->qp);
		stream_write(c);
		break;
	case IWARP_CLOSING:
		iwarp_conn_end(c, ERR_TIMEOUT, "the last octets did not get out in time");
		break;
	case IWARP_LINGER:
		if (!c->fin_sent)
			half_close(c);
		else
			iwarp_conn_end(c, 0, NULL);
		break;
	default:
		break;
	}
}

void stream_disconnect(struct iwarp_conn *c)
{
	qp_disconnect(&c->qp);
	if (c->initiator) /* no answer of the peer is awaited any more, so .hold has no use */
		qp_release(&c->qp);
	c->state = IWARP_CLOSING;
	iwarp_conn_deadline(c, DRAIN_MS);
	/* input that waits is discarded, because the peer's FIN is behind it */
	if (!list_is_empty(&c->recv_wait)) {
		list_del(&c->recv_wait);
		c->base.recv_limited = false;
		stream_yield(c);
	}
	if (c->base.sink_blocked)
		stream_yield(c);
	stream_write(c);
}
