/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a connection stands whose message finds no shared Receive: in line for the next, or, if its user keeps too many
 * for what is left (fabric_may_keep()), on `sated`, which costs next to nothing, until he gave some back, or there are
 * enough for it.
 *
 * Answers to Reads may be behind the message that waits, and who keeps Receives may do so for want of these. Where that
 * is so with many connections none of them would ever go on, so some are favoured: these may have of the last
 * Receives, until their Reads are answered and they keep no more than their part again. One is at any time, and as many
 * more as all they may send leaves room for. Who does not get on meanwhile, or not in the end, makes room for the next.
 * A user that waits with his Reads (.behind) is favoured when nobody's Reads are out.
 *
 * All that the peer said was taken, and for as long as its turn was no Read was answered, and hardly an octet came: then it
 * is not want of Receives that keeps it (.idles). Its turn comes behind all others', and what it owes it owes while it
 * waits, too. So a crowd that answers no Reads has one turn each in the way of others, and not one after the other for as
 * long as each would have to answer.
 *
 * Reads are answered as slowly as their peers like, and more asked for: so who is behind others for what he is, and not for
 * having had his turn, has one in between when these have had theirs for OTHERS_LOOKS.
 *
 * They are looked at by turns, some at a time however many wait. What is so of all of them is known when each was looked
 * at once, a round.
 */
#include "fabric/iwarp/iwarp_internal.h"

enum {
	TURN_LOOKS = 8,	   /* at those that are sated, with each flush */
	PRESS_LOOKS = 256, /* ... and at regular times */
	FAVOURED = 16,	   /* at once */
	FAVOUR_IDLE =
		4, /* looks at regular times that saw nothing move, until the next one's turn */
	FAVOUR_LOOKS = 40,    /* ... in all */
	FAVOUR_LEAST = 16384, /* octets that come meanwhile on the slowest line (session.h) */
	OTHERS_LOOKS = 40,    /* at regular times, until a turn is of another rank than the first */
	OTHERS_PART = 4,      /* one in so many of those is not even of the second; and so on */
};

/* Who is favoured before whom. */
enum { RANK_READS, RANK_BEHIND, RANK_IDLE, RANK_NONE = RANK_IDLE + RANK_IDLE };

static uint8_t rank(const struct iwarp_conn *c)
{
	uint8_t rank = c->qp.reads ? RANK_READS : RANK_BEHIND;

	if (!c->qp.reads && !c->base.behind)
		return RANK_NONE;
	return c->base.idles ? rank + RANK_IDLE : rank;
}

static uint8_t first_of(unsigned ranks)
{
	return ranks ? (uint8_t)__builtin_ctz(ranks) : RANK_NONE;
}

static unsigned but_first(unsigned ranks)
{
	return ranks & (ranks - 1);
}

/* Whether those of rank @at have their turn. Who is of a better one than all the round before may have come since. */
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

/* One of rank @at has it. */
static void count_turn(struct iwarp *iw, uint8_t at)
{
	if (at <= first_of(iw->round.before))
		return;
	iw->round.looks = 0;
	iw->round.others++;
}

void lines_await(struct iwarp_conn *c)
{
	struct iwarp *iw = c->iw;

	if (!list_is_empty(&c->starved))
		return;
	c->base.waits = !qp_may_keep(&c->qp);
	if (!c->base.waits) {
		list_add_tail(&iw->starved, &c->starved);
		return;
	}
	list_add_tail(&iw->sated, &c->starved);
	c->tell_sated = true;
	iwarp_conn_activate(c);
}

/* Nor may there be a Receive for it soon, which others have: its user is told, and posts the Reads he waits with. */
void lines_try(struct iwarp_conn *c)
{
	if (c->base.behind) {
		c->tell_sated = true;
		iwarp_conn_activate(c);
	}
	c->base.waits = c->base.behind = false;
	list_del(&c->starved);
	list_add_tail(&c->iw->starved, &c->starved);
}

static void try_if_enough(struct iwarp_conn *c)
{
	if (c->state == IWARP_OPEN && qp_may_keep(&c->qp))
		lines_try(c);
}

void lines_gave_back(struct fabric_conn *fc)
{
	try_if_enough(container_of(fc, struct iwarp_conn, base));
}

static void end_favour(struct iwarp_conn *c)
{
	bool got_answers = c->qp.reads_done != c->favour.began;

	if (got_answers || c->qp.rx.octets - c->favour.octets >= FAVOUR_LEAST)
		c->base.idles = false;
	else if (c->qp.reads && list_is_empty(&c->starved) && list_is_empty(&c->resting))
		c->base.idles = true;
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

/* Whether what is left is enough for all that it may send, beside the others. */
static bool has_room_for(const struct iwarp *iw, const struct iwarp_conn *c)
{
	uint64_t taken = iw->recvq.most / FABRIC_LAST + iw->favoured_recvs;

	return list_is_empty(&iw->favoured) ||
	       (iw->favoured_count < FAVOURED &&
		recvq_left(&iw->recvq) >= taken + c->qp.depths.max_recvs);
}

static bool is_through(const struct iwarp_conn *c)
{
	bool has_answers = (int32_t)(c->qp.reads_done - c->favour.reads) >= 0;

	return list_is_empty(&c->starved) && has_answers &&
	       qp_keeps(&c->qp) <= recvq_left(c->qp.recvq) / FABRIC_SHARE;
}

/* Or has been favoured for too long. */
static bool is_slow(struct iwarp_conn *c)
{
	const struct qp *qp = &c->qp;

	if (qp->reads_done != c->favour.done || qp_keeps(qp) < c->favour.kept)
		c->favour.idle = 0;
	c->favour.done = qp->reads_done;
	if (qp_keeps(qp) < c->favour.kept)
		c->favour.kept = qp_keeps(qp);
	/* Without Reads it waits for memory, which others may have, whose Reads are behind. */
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
	return recvq_left(&iw->recvq) <= iw->recvq.most / FABRIC_LAST;
}

static void end_round(struct iwarp *iw)
{
	iw->round.number++;
	iw->round.before = iw->round.ranks;
	iw->round.ranks = 0;
	iw->base.in_want = are_few(iw) && iw->round.before;
}

/* Those it is behind were all looked at, or came since. */
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

/* The first @looks of them: who may goes on, and who is to be favoured is. Each takes one Receive at least, so no more of
 * them than there are. */
static void look_at_some(struct iwarp *iw, unsigned looks)
{
	uint64_t most = recvq_left(&iw->recvq);
	struct list *last = iw->sated.prev, *item = NULL;

	for (; looks > 0 && item != last && (item = list_pop(&iw->sated)); looks--) {
		struct iwarp_conn *c = container_of(item, struct iwarp_conn, starved);

		list_add_tail(&iw->sated, &c->starved);
		iw->counters.sated_looks++;
		if (c->state != IWARP_OPEN || most == 0)
			continue;
		look_at(c);
		most -= !c->base.waits;
	}
}

void lines_turn(struct iwarp *iw)
{
	end_favours(iw, false);
	look_at_some(iw, TURN_LOOKS);
}

void lines_look(struct iwarp *iw)
{
	end_favours(iw, true);
	iw->round.looks++;
	look_at_some(iw, PRESS_LOOKS);
	if (list_is_empty(&iw->sated) || !are_few(iw))
		iw->base.in_want = false;
}
