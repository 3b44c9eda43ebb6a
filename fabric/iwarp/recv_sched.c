/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * A connection whose next message finds no shared Receive waits in one of two lists:
 * - `starved`: it may have one; it gets the next that is posted.
 * - `recv_limited`: its user holds too many for what is left (fabric_may_keep()). It costs next to nothing
 *   there. It goes to `starved` when the user gave some back, or when enough are left.
 *
 * A connection in `recv_limited` may get a turn (`favoured` in code): with a turn it may use Receives down
 * to the last 1/FABRIC_RECV_RESERVE_DIV.
 *
 * State:  a connection holds Receives, has RDMA Reads outstanding, and is in `recv_limited`. The Read
 *         responses may be behind the message that waits, and the user may need them before it can
 *         give Receives back.
 * Danger: when many connections are in that state none can ever continue, and the pool stays empty.
 * Rule:   one connection at any time has a turn. More have one, FAVOURED at most, if what is left
 *         covers all that each of them may send. A turn ends when the connection's Reads are
 *         answered and it holds no more than its share; when FAVOUR_IDLE looks in a row saw no
 *         progress; or after FAVOUR_LOOKS looks. A connection whose user holds back Reads (.reads_blocked)
 *         gets a turn when no connection with Reads outstanding has a claim.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:reads_are_answered_one_after_the_other,
 *         :several_connections_have_a_turn_at_once, :as_many_are_left_as_one_may_send, decision 81.
 *
 * State:  in its turn a connection answered no Read and sent hardly an octet, although all its
 *         input was taken (.read_turn_unused). Lack of Receives is not what holds it up.
 * Danger: a group of connections that never answer Reads delays all others, by one full turn for
 *         each of them, again and again.
 * Rule:   the next turn of an idle connection comes after all others'. The Reads it owes stay due
 *         while it waits. So each such connection delays the others by one turn in all.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:a_connection_that_did_not_use_its_turn_comes_last,
 *         :octets_received_in_a_turn_count_as_use.
 *
 * State:  connections of the first rank answer Reads slowly, and their users post more Reads.
 * Danger: connections of a lower rank never get a turn.
 * Rule:   after OTHERS_LOOKS looks without a turn for a lower rank, a lower rank gets the next
 *         turn.
 * Pinned: tests/iwarp/test_iwarp_recv_sched.c:a_connection_that_answers_rarely_is_not_first_for_ever.
 *
 * Connections in `recv_limited` are looked at some at a time, round-robin, however many there are. A round
 * is over when each was looked at once; only then is it known which ranks there are.
 */
#include "fabric/iwarp/recv_sched.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"

enum {
	TURN_LOOKS = 8,	   /* connections in `recv_limited` looked at in each flush */
	PRESS_LOOKS = 256, /* connections in `recv_limited` looked at every IWARP_PRESS_INTERVAL */
	FAVOURED = 16,	   /* most connections that have a turn at once */
	/* looks (one every IWARP_PRESS_INTERVAL) in a row without progress, after which a turn
	 * ends */
	FAVOUR_IDLE = 4,
	FAVOUR_LOOKS = 40, /* looks after which a turn ends in any case */
	/* octets that the slowest line served (session.h) carries in a turn. Fewer, and no Read
	 * answered: the connection is idle */
	FAVOUR_LEAST = 16384,
	OTHERS_LOOKS = 40, /* looks after which a rank other than the first gets a turn */
	/* of those turns, one in so many skips the second rank, too; of these, one in so many the
	 * third; and so on */
	OTHERS_PART = 4,
};

/* Priority for a turn, the best first. RANK_READS: Reads are outstanding. RANK_BEHIND: the user
 * holds back Reads. RANK_IDLE is added to the rank of an idle connection. RANK_NONE: no turn. */
enum { RANK_READS, RANK_BEHIND, RANK_IDLE, RANK_NONE = RANK_IDLE + RANK_IDLE };

static uint8_t rank(const struct iwarp_conn *c)
{
	uint8_t rank = c->qp.reads ? RANK_READS : RANK_BEHIND;

	if (!c->qp.reads && !c->base.reads_blocked)
		return RANK_NONE;
	return c->base.read_turn_unused ? rank + RANK_IDLE : rank;
}

static uint8_t first_of(unsigned ranks)
{
	return ranks ? (uint8_t)__builtin_ctz(ranks) : RANK_NONE;
}

static unsigned but_first(unsigned ranks)
{
	return ranks & (ranks - 1);
}

/* Whether rank @at may get a turn now. Ranks are those of the round before; a connection of a
 * better rank may have come since. */
static bool has_turn(const struct iwarp *iw, uint8_t at)
{
	unsigned ranks = iw->round.before, n = iw->round.others;

	if (iw->round.looks < OTHERS_LOOKS || !but_first(ranks))
		return at <= first_of(ranks);
	ranks = but_first(ranks);
	for (; but_first(ranks) && n % OTHERS_PART == OTHERS_PART - 1; n /= OTHERS_PART)
		ranks = but_first(ranks);
	return at == first_of(ranks);
}

/* Counts a turn given to rank @at. */
static void count_turn(struct iwarp *iw, uint8_t at)
{
	if (at <= first_of(iw->round.before))
		return;
	iw->round.looks = 0;
	iw->round.others++;
}

void recv_sched_await(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (!list_is_empty(&c->starved))
		return;
	iw->counters.receive_waits++;
	c->base.recv_limited = !qp_may_keep(&c->qp);
	if (!c->base.recv_limited) {
		list_add_tail(&iw->starved, &c->starved);
		return;
	}
	list_add_tail(&iw->recv_limited, &c->starved);
	c->report_recv_limited = true;
	iwarp_conn_activate(c);
}

/* Moves @c to `starved`. There may be no Receive for it soon, because others hold them. So a user
 * that held back Reads is told now, and posts them. */
void recv_sched_try(struct iwarp_conn *c)
{
	if (c->base.reads_blocked) {
		c->report_recv_limited = true;
		iwarp_conn_activate(c);
	}
	c->base.recv_limited = c->base.reads_blocked = false;
	list_del(&c->starved);
	list_add_tail(&c->iw->starved, &c->starved);
}

static void try_if_enough(struct iwarp_conn *c)
{
	if (c->state == IWARP_OPEN && qp_may_keep(&c->qp))
		recv_sched_try(c);
}

void recv_sched_gave_back(struct fabric_conn *fc)
{
	try_if_enough(container_of(fc, struct iwarp_conn, base));
}

static void end_favour(struct iwarp_conn *c)
{
	bool got_answers = c->qp.reads_done != c->favour.began;

	if (got_answers || c->qp.rx.octets - c->favour.octets >= FAVOUR_LEAST)
		c->base.read_turn_unused = false;
	else if (c->qp.reads && list_is_empty(&c->starved) && list_is_empty(&c->yielded))
		c->base.read_turn_unused = true;
	iwarp_conn_unfavour(c);
}

static void favour(struct iwarp_conn *c)
{
	c->favour.looks = c->favour.idle = 0;
	c->favour.reads = c->qp.reads_done + c->qp.reads;
	c->favour.began = c->favour.done = c->qp.reads_done;
	c->favour.kept = qp_keeps(&c->qp);
	c->favour.octets = c->qp.rx.octets;
	c->qp.is_favoured = true;
	list_add_tail(&c->iw->favoured, &c->favoured);
	c->iw->favoured_count++;
	c->iw->favoured_recvs += c->qp.depths.max_recvs;
	try_if_enough(c);
}

/* Whether what is left covers all that @c may send, beside those that have a turn. */
static bool has_room_for(const struct iwarp *iw, const struct iwarp_conn *c)
{
	uint64_t taken = iw->recvq.most / FABRIC_RECV_RESERVE_DIV + iw->favoured_recvs;

	return list_is_empty(&iw->favoured) ||
	       (iw->favoured_count < FAVOURED &&
		recvq_left(&iw->recvq) >= taken + c->qp.depths.max_recvs);
}

static bool is_through(const struct iwarp_conn *c)
{
	bool has_answers = (int32_t)(c->qp.reads_done - c->favour.reads) >= 0;

	return list_is_empty(&c->starved) && has_answers &&
	       qp_keeps(&c->qp) <= recvq_left(c->qp.recvq) / FABRIC_RECV_PER_CONN_DIV;
}

/* Whether @c made no progress in its turn, or has had it for too long. */
static bool is_slow(struct iwarp_conn *c)
{
	const struct qp *qp = &c->qp;

	if (qp->reads_done != c->favour.done || qp_keeps(qp) < c->favour.kept)
		c->favour.idle = 0;
	c->favour.done = qp->reads_done;
	if (qp_keeps(qp) < c->favour.kept)
		c->favour.kept = qp_keeps(qp);
	/* Without Reads outstanding it waits for memory, which connections whose Reads are
	 * outstanding may hold. */
	return ++c->favour.idle >= (qp->reads ? FAVOUR_IDLE : 1) ||
	       ++c->favour.looks >= FAVOUR_LOOKS;
}

static void end_favours(struct iwarp *iw, bool is_time)
{
	list_for_each_safe(item, tmp, &iw->favoured)
	{
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, favoured);

		if (c->state != IWARP_OPEN || is_through(c) || (is_time && is_slow(c)))
			end_favour(c);
	}
}

static bool are_few(const struct iwarp *iw)
{
	return recvq_left(&iw->recvq) <= iw->recvq.most / FABRIC_RECV_RESERVE_DIV;
}

static void end_round(struct iwarp *iw)
{
	iw->round.number++;
	iw->round.before = iw->round.ranks;
	iw->round.ranks = 0;
	iw->base.recv_starving = are_few(iw) && iw->round.before;
}

/* Looks at @c, the first in `recv_limited`. A connection that was already looked at in this round ends the
 * round. */
static void look_at(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;
	uint8_t at = rank(c);

	if (c->round == iw->round.number)
		end_round(iw);
	c->round = iw->round.number;
	if (at < RANK_NONE)
		iw->round.ranks |= (uint8_t)(1u << at);
	if (!c->qp.is_favoured && at < RANK_NONE && has_turn(iw, at) && has_room_for(iw, c)) {
		count_turn(iw, at);
		favour(c);
	} else {
		try_if_enough(c);
	}
}

/*
 * Looks at the first @looks connections in `recv_limited`: moves to `starved` those that may continue, and
 * gives turns. Each takes at least one Receive, so no more continue than there are Receives left.
 */
static void look_at_some(struct iwarp *iw, unsigned looks)
{
	uint64_t most = recvq_left(&iw->recvq);
	struct list *last = iw->recv_limited.prev, *item = NULL;

	for (; looks > 0 && item != last && (item = list_pop(&iw->recv_limited)); looks--) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, starved);

		list_add_tail(&iw->recv_limited, &c->starved);
		iw->counters.recv_limited_looks++;
		if (c->state != IWARP_OPEN || most == 0)
			continue;
		look_at(c);
		most -= !c->base.recv_limited;
	}
}

void recv_sched_turn(struct iwarp *iw)
{
	end_favours(iw, false);
	look_at_some(iw, TURN_LOOKS);
}

void recv_sched_look(struct iwarp *iw)
{
	end_favours(iw, true);
	iw->round.looks++;
	look_at_some(iw, PRESS_LOOKS);
	if (list_is_empty(&iw->recv_limited) || !are_few(iw))
		iw->base.recv_starving = false;
}
