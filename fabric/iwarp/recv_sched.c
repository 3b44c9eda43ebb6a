/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A connection whose next message finds no shared Receive waits in one of two lists:
 * - `recv_waiters`: the connection may take a Receive. It gets the next one that is posted.
 * - `recv_limited`: the connection's user holds more Receives than fabric_may_hold() allows. The
 *   connection moves to `recv_waiters` when the user gave some back, or when enough are left.
 *
 * A connection in `recv_limited` may get a read turn. With a read turn it may use Receives down to
 * the last 1/FABRIC_RECV_RESERVE_DIV, until its RDMA Reads are answered.
 *
 * The scheduler examines a few connections of `recv_limited` at a time, round-robin, however many
 * there are. A round is over when each was examined once. Only then are the priorities of all
 * waiting connections known.
 *
 * Read turns:
 * State:  a connection holds Receives and is in `recv_limited`. It has RDMA Reads outstanding, or
 *         its user holds Reads back (.reads_blocked). The Read responses are, or would be, behind
 *         the message that waits. The user may need them before it can give Receives back.
 * Danger: deadlock. When many connections are in that state, none can continue, and no Receive
 *         comes back.
 * Rule:   - While connections wait for a read turn, at least one has a read turn. Further ones get
 *           one, up to READ_TURNS_MAX in all, if what is left covers all messages that each of them
 *           may send.
 *         - A read turn ends when the connection's Reads are answered, no message of it waits and
 *           it holds no more than 1/FABRIC_RECV_PER_CONN_DIV of those left.
 *         - A read turn also ends after READ_TURN_IDLE looks in a row without progress (one look,
 *           if no Read is outstanding), and after READ_TURN_LOOKS looks.
 *         - Connections with Reads outstanding come first. Connections whose user holds back Reads
 *           (.reads_blocked) come after them.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:reads_are_answered_one_after_the_other,
 *         :several_connections_have_a_turn_at_once, :as_many_are_left_as_one_may_send, decision 81.
 *
 * Unused read turns:
 * State:  during its read turn a connection's peer answered no Read and sent little payload,
 *         although all input was processed (.read_turn_unused). So Receives are not what the
 *         connection lacks.
 * Danger: connections that never answer Reads delay all other connections, by one full read turn
 *         for each of them, again and again.
 * Rule:   the next read turn of such a connection comes after those of all other connections. While
 *         it waits, the time limit for its peer's Reads (D2) goes on. So each such connection
 *         delays the others by one read turn in all.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:a_connection_that_did_not_use_its_turn_comes_last,
 *         :payload_received_in_a_turn_counts_as_use.
 *
 * Lower priorities:
 * State:  connections of the first priority answer Reads slowly, and their users post more Reads.
 * Danger: starvation of connections of a lower priority: they never get a read turn.
 * Rule:   after OTHERS_LOOKS looks in which no lower priority got a read turn, a lower priority
 *         gets the next one.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:a_connection_that_answers_rarely_is_not_first_for_ever,
 *         :outstanding_reads_wait_for_no_crowd.
 */
#include "fabric/iwarp/recv_sched.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"

enum {
	FLUSH_LOOKS = 8,   /* connections in `recv_limited` examined in each flush */
	TIMED_LOOKS = 256, /* connections in `recv_limited` examined every IWARP_RECLAIM_INTERVAL */
	READ_TURNS_MAX = 16, /* most connections that have a read turn at once */
	/* Looks (one every IWARP_RECLAIM_INTERVAL) in a row without progress, after which a read
	 * turn ends. */
	READ_TURN_IDLE = 4,
	READ_TURN_LOOKS = 40, /* looks after which a read turn ends in any case */
	/* Octets that the slowest supported line (proxy/session.h) carries during a read turn. If
	 * the peer sent less payload and answered no Read, the connection did not use its read
	 * turn. */
	READ_TURN_LEAST = 16384,
	OTHERS_LOOKS = 40, /* looks after which a priority other than the first gets a read turn */
	/* One in OTHERS_PART of these read turns skips the second priority, too; of these, one in
	 * OTHERS_PART skips the third; and so on. */
	OTHERS_PART = 4,
};

/*
 * Priority for a read turn, the best first:
 * - PRIO_READS: Reads are outstanding.
 * - PRIO_READS_BLOCKED: the user holds back Reads.
 * - PRIO_IDLE is added to the priority of a connection that did not use its last read turn.
 * - PRIO_NONE: the connection gets no read turn.
 */
enum { PRIO_READS, PRIO_READS_BLOCKED, PRIO_IDLE, PRIO_NONE = PRIO_IDLE + PRIO_IDLE };

static uint8_t priority(const struct iwarp_conn *c)
{
	uint8_t prio = c->qp.reads ? PRIO_READS : PRIO_READS_BLOCKED;

	if (!c->qp.reads && !c->base.reads_blocked)
		return PRIO_NONE;
	return c->base.read_turn_unused ? prio + PRIO_IDLE : prio;
}

static uint8_t first_of(unsigned prios)
{
	return prios ? (uint8_t)__builtin_ctz(prios) : PRIO_NONE;
}

static unsigned but_first(unsigned prios)
{
	return prios & (prios - 1);
}

/* Whether priority @at may get a read turn now. The priorities compared are those of the round
 * before: a connection of a better priority may have come since. */
static bool may_have_read_turn(const struct iwarp *iw, uint8_t at)
{
	unsigned prios = iw->round.before, n = iw->round.others;

	if (iw->round.looks < OTHERS_LOOKS || !but_first(prios))
		return at <= first_of(prios);
	prios = but_first(prios);
	for (; but_first(prios) && n % OTHERS_PART == OTHERS_PART - 1; n /= OTHERS_PART)
		prios = but_first(prios);
	return at == first_of(prios);
}

/* Counts a read turn given to priority @at. */
static void count_read_turn(struct iwarp *iw, uint8_t at)
{
	if (at <= first_of(iw->round.before))
		return;
	iw->round.looks = 0;
	iw->round.others++;
}

void recv_sched_await(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (!list_is_empty(&c->recv_wait))
		return;
	iw->counters.receive_waits++;
	c->base.recv_limited = !qp_may_hold(&c->qp);
	if (!c->base.recv_limited) {
		list_add_tail(&iw->recv_waiters, &c->recv_wait);
		return;
	}
	list_add_tail(&iw->recv_limited, &c->recv_wait);
	c->recv_limited_due = true;
	iwarp_conn_activate(c);
}

/* Moves @c to `recv_waiters`. A Receive may still be missing for some time. So a user that held
 * back Reads gets its event now, not with the Receive, and posts the Reads. */
void recv_sched_try(struct iwarp_conn *c)
{
	if (c->base.reads_blocked) {
		c->recv_limited_due = true;
		iwarp_conn_activate(c);
	}
	c->base.recv_limited = c->base.reads_blocked = false;
	list_del(&c->recv_wait);
	list_add_tail(&c->iw->recv_waiters, &c->recv_wait);
}

static void try_if_enough(struct iwarp_conn *c)
{
	if (c->state == IWARP_OPEN && qp_may_hold(&c->qp))
		recv_sched_try(c);
}

void recv_sched_gave_back(struct fabric_conn *fc)
{
	try_if_enough(container_of(fc, struct iwarp_conn, base));
}

static void end_read_turn(struct iwarp_conn *c)
{
	bool got_answers = c->qp.reads_done != c->read_turn.began;

	if (got_answers || qp_rx_payload(&c->qp) - c->read_turn.octets >= READ_TURN_LEAST)
		c->base.read_turn_unused = false;
	else if (c->qp.reads && list_is_empty(&c->recv_wait) && list_is_empty(&c->yielded))
		c->base.read_turn_unused = true;
	iwarp_conn_end_read_turn(c);
}

static void begin_read_turn(struct iwarp_conn *c)
{
	c->read_turn.looks = c->read_turn.idle = 0;
	c->read_turn.reads = c->qp.reads_done + c->qp.reads;
	c->read_turn.began = c->read_turn.done = c->qp.reads_done;
	c->read_turn.held = qp_recvs_held(&c->qp);
	c->read_turn.octets = qp_rx_payload(&c->qp);
	c->qp.has_read_turn = true;
	list_add_tail(&c->iw->read_turns, &c->read_turn_link);
	c->iw->read_turn_count++;
	c->iw->read_turn_recvs += c->qp.depths.max_recvs;
	try_if_enough(c);
}

/* Whether the Receives left cover all that @c may send, beside the connections that have a read
 * turn. */
static bool has_room_for(const struct iwarp *iw, const struct iwarp_conn *c)
{
	uint64_t taken = iw->recvq.most / FABRIC_RECV_RESERVE_DIV + iw->read_turn_recvs;

	return list_is_empty(&iw->read_turns) ||
	       (iw->read_turn_count < READ_TURNS_MAX &&
		recvq_left(&iw->recvq) >= taken + c->qp.depths.max_recvs);
}

static bool is_through(const struct iwarp_conn *c)
{
	bool has_answers = (int32_t)(c->qp.reads_done - c->read_turn.reads) >= 0;

	return list_is_empty(&c->recv_wait) && has_answers &&
	       qp_recvs_held(&c->qp) <= recvq_left(c->qp.recvq) / FABRIC_RECV_PER_CONN_DIV;
}

/* Whether @c made no progress in its read turn, or has had it for too long. */
static bool is_slow(struct iwarp_conn *c)
{
	const struct qp *qp = &c->qp;

	if (qp->reads_done != c->read_turn.done || qp_recvs_held(qp) < c->read_turn.held)
		c->read_turn.idle = 0;
	c->read_turn.done = qp->reads_done;
	if (qp_recvs_held(qp) < c->read_turn.held)
		c->read_turn.held = qp_recvs_held(qp);
	/* If @c has no Reads outstanding, its user waits for memory, which connections with Reads
	 * outstanding may hold: the turn ends at once. */
	return ++c->read_turn.idle >= (qp->reads ? READ_TURN_IDLE : 1) ||
	       ++c->read_turn.looks >= READ_TURN_LOOKS;
}

static void end_read_turns(struct iwarp *iw, bool is_time)
{
	list_for_each_safe(item, tmp, &iw->read_turns)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, read_turn_link);

		if (c->state != IWARP_OPEN || is_through(c) || (is_time && is_slow(c)))
			end_read_turn(c);
	}
}

static bool are_few(const struct iwarp *iw)
{
	return recvq_left(&iw->recvq) <= iw->recvq.most / FABRIC_RECV_RESERVE_DIV;
}

static void end_round(struct iwarp *iw)
{
	iw->round.number++;
	iw->round.before = iw->round.prios;
	iw->round.prios = 0;
	iw->base.recv_starving = are_few(iw) && iw->round.before;
}

/* Examines @c, the first in `recv_limited`. A connection that was already examined in this round
 * ends the round. */
static void look_at(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;
	uint8_t at = priority(c);

	if (c->round == iw->round.number)
		end_round(iw);
	c->round = iw->round.number;
	if (at < PRIO_NONE)
		iw->round.prios |= (uint8_t)(1u << at);
	if (!c->qp.has_read_turn && at < PRIO_NONE && may_have_read_turn(iw, at) &&
	    has_room_for(iw, c)) {
		count_read_turn(iw, at);
		begin_read_turn(c);
	} else {
		try_if_enough(c);
	}
}

/*
 * Examines the first @looks connections in `recv_limited`: moves those that may continue to
 * `recv_waiters`, and gives read turns. Each connection that continues takes at least one Receive,
 * so no more continue than there are Receives left.
 */
static void look_at_some(struct iwarp *iw, unsigned looks)
{
	uint64_t most = recvq_left(&iw->recvq);
	struct list *last = iw->recv_limited.prev, *item = NULL;

	for (; looks > 0 && item != last && (item = list_pop(&iw->recv_limited)); looks--) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, recv_wait);

		list_add_tail(&iw->recv_limited, &c->recv_wait);
		iw->counters.recv_limited_looks++;
		if (c->state != IWARP_OPEN || most == 0)
			continue;
		look_at(c);
		most -= !c->base.recv_limited;
	}
}

void recv_sched_turn(struct iwarp *iw)
{
	end_read_turns(iw, false);
	look_at_some(iw, FLUSH_LOOKS);
}

void recv_sched_look(struct iwarp *iw)
{
	end_read_turns(iw, true);
	iw->round.looks++;
	look_at_some(iw, TIMED_LOOKS);
	if (list_is_empty(&iw->recv_limited) || !are_few(iw))
		iw->base.recv_starving = false;
}
