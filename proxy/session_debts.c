/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debts: what the peers of a session owe, and when the session ends for it.
 *
 * State:  the gateway holds memory for something that only a peer can bring to an end. The peer
 *         owes it: Sends and Writes that it does not take, or replies for which it leaves no
 *         credit; Reads that it does not answer; the rest of a continued message; or answers
 *         without which no other call can proceed (look_at_answers()). debts[] lists the others.
 *         An unanswered call alone is no debt of the server, because some RPCs take any time.
 * Danger: a peer that moves one octet now and then holds the memory for as long as it likes.
 * Rule:   each debt has two budgets of time (deadlines.h): DEBT_TIMEOUT always, and DEBT_PRESSED
 *         while another session waits for memory of a kind that this session holds. (Answers have
 *         only the first.) The session ends when a budget is used up. A budget
 * - falls with time, but not while the gateway itself keeps the peer from continuing
 *   (leg_blocked_by());
 * - rises with each octet that moves, by the time that an octet takes at the budget's rate, and
 *   never exceeds its full size;
 * - is filled again when the peer has delivered all that it owed at the last filling, or owes
 *   nothing; but not while further Writes wait until the peer has taken some (writes_follow()).
 * Pinned: tests/session/test_debts.c, test_mem_reclaim.c, test_pressure.c, test_call_only.c;
 *         tests/isolation; decision 61.
 *
 * State:  no peer owes anything, and a session W has waited for memory of one purpose for
 *         RECLAIM_AFTER.
 * Danger: a server that hangs keeps memory of its route's calls for ever, and other routes wait for
 *         ever.
 * Rule:   once a second, for each purpose, one session H ends that holds memory of this purpose and
 *         has made no progress for RECLAIM_AFTER.
 * - No progress: a call of H waits for its answer. For first octets and whole replies: H itself
 *   waits for memory for a whole message. Time in which a result that is cut through waits for its
 *   requester does not count, because then the requester owes the rest (DEBT_OUTPUT).
 * - H belongs to another route than W, and the route of H holds memory of the common zone. Or H
 *   belongs to the route of W, and holds an incomplete continued message (helps()).
 * - If the server of W itself does not answer, W does not count as waiting.
 * - If there are several sessions H: of the route that holds most memory of this purpose, the
 *   session that has been without progress for the longest time.
 * Pinned: tests/session/test_mem_reclaim.c:the_route_that_holds_most_gives_back_its_oldest,
 *         :memory_of_another_routes_own_zone_is_not_taken_back;
 *         tests/session/test_large.c:a_result_that_moves_is_not_taken_back,
 *         :slow_moments_keep_no_memory
 *
 * State:  the process stood still: it was stopped, or its machine was (base/pause.h).
 * Danger: sessions end for time in which the gateway read nothing, and peers could do nothing.
 * Rule:   one look takes DEBT_LOOK_MOST from a budget at most. RECLAIM_AFTER and CREDITS_FINAL_TIME
 *         are numbers of looks. So a pause counts as one look.
 * Pinned: tests/session/test_debts.c:a_pause_of_the_gateway_does_not_count,
 *         tests/session/test_mem_reclaim.c:a_pause_of_the_gateway_is_no_wait,
 *         :pauses_that_recur_do_not_keep_memory
 *
 * Sessions with anything in flight are in proxy.owing. One timer looks at them, some in a turn. An
 * idle session is in no list, and an RPC costs nothing here.
 */
#include "proxy/session_debts.h"
#include "proxy/internal.h"
#include "proxy/session_end.h"
#include "proxy/session_flow.h"
#include "proxy/txn_reply_timeout.h"

enum { DEBT_TURN = 128 }; /* sessions that one turn looks at */

/* One debt, as it stands now. */
struct owed {
	bool is_owed;
	bool is_coarse; /* octets show as moved only when a whole piece has moved */
	bool goes_on;	/* more is owed as soon as the peer has taken some */
	uint64_t moved; /* octets, in all */
	/* Steps of each kind (messages or operations), in all; everything is delivered when .paid
	 * reaches .due. */
	uint64_t paid[DEBT_STEPS], due[DEBT_STEPS];
};

static bool is_delivered(const uint64_t paid[DEBT_STEPS], const uint64_t due[DEBT_STEPS])
{
	return (int64_t)(paid[0] - due[0]) >= 0 && (int64_t)(paid[1] - due[1]) >= 0;
}

/*
 * The peer has to take queued replies, error reports, posted Sends and Writes, and to leave credits
 * for them. The kernel takes octets in bursts of a third of its buffer, so only octets that the
 * peer has acknowledged show the peer's rate. Queued replies are behind the posted Sends and
 * Writes, so octets of these count for them as well.
 */
static struct owed owes_output(const struct leg *leg, const struct session_ops *ops)
{
	struct fabric_moved m = {.taken = leg->sent + ops->writes.moved};
	uint64_t done = leg->t->count.sends - leg->sending + ops->writes.done;
	struct owed o = {.paid = {done, leg->replied},
			 .due = {done + leg->sending + ops->writes.posted + leg->t->nreports,
				 leg->replied + (leg->active != NULL)}};

	for (const struct list *it = leg->replies.next; it != &leg->replies; it = it->next)
		o.due[1]++;
	o.is_owed = !is_delivered(o.paid, o.due);
	if (o.is_owed)
		o.is_coarse = !fabric_moved(leg->conn, &m);
	o.moved = m.taken;
	return o;
}

static struct owed owes_reads(const struct leg *leg, const struct session_ops *ops)
{
	struct fabric_moved m = {.read = ops->reads.moved};
	uint64_t done = ops->reads.done;
	struct owed o = {.is_owed = ops->reads.posted > 0,
			 .paid = {done},
			 .due = {done + ops->reads.posted}};

	if (o.is_owed)
		o.is_coarse = !fabric_moved(leg->conn, &m);
	o.moved = m.read;
	return o;
}

static struct owed owes_message(const struct leg *leg, const struct session_ops *ops)
{
	(void)ops;
	return (struct owed){.is_owed = leg->reasm || leg_is_receiving_reply(leg),
			     .moved = leg->reasm_bytes,
			     .paid = {leg->reasm_count},
			     .due = {leg->reasm_count + UINT64_C(1)}};
}

static const struct debt_kind {
	struct owed (*owed)(const struct leg *leg, const struct session_ops *ops);
	unsigned excuses; /* enum leg_block: reasons for which this debt's time stands still */
	const char *why;
} debts[DEBTS] = {
	[DEBT_OUTPUT] =
		{owes_output, LEG_BLOCK_SINK,
		 "the peer does not take Sends and Writes, or too slowly, or leaves no credit for "
		 "replies"},
	[DEBT_READS] = {owes_reads, LEG_BLOCK_TURN | LEG_BLOCK_RECEIVE | LEG_BLOCK_SINK,
			"the peer does not answer Reads, or too slowly"},
	[DEBT_MESSAGE] = {owes_message, LEG_BLOCK_INPUT | LEG_BLOCK_CREDIT,
			  "the rest of a continued message does not come, or too slowly"},
};

static const struct budget {
	nsec_t most, an_octet; /* the whole budget, and the time by which one octet raises it */
} budgets[DEBT_BUDGETS] = {
	[DEBT_COMMON] = {DEBT_TIMEOUT, DEBT_TIMEOUT / DEBT_RATE},
	[DEBT_WHILE_PRESSED] = {DEBT_PRESSED, NSEC_PER_SEC / DEBT_PRESSED_RATE},
};

/* The whole budget. If octets show as moved only a whole piece at a time, a peer at the pressed
 * rate shows none while one piece (OP_PIECE) moves, so the pressed budget is longer by that time.
 * The common budget needs no addition: at the common rate a piece takes DEBT_TIMEOUT. */
static nsec_t most(unsigned i, const struct owed *o)
{
	bool is_longer = o->is_coarse && i == DEBT_WHILE_PRESSED;

	return budgets[i].most + (is_longer ? OP_PIECE * budgets[i].an_octet : 0);
}

static void fill(struct debt *d, const struct owed *o)
{
	*d = (struct debt){.moved = o->moved, .due = {o->due[0], o->due[1]}, .is_owed = true};
	for (unsigned i = 0; i < DEBT_BUDGETS; i++)
		d->left[i] = most(i, o);
}

/* Return: the rest of @left, at most @full, after the time @took in which @octets moved. */
static nsec_t spend(nsec_t an_octet, nsec_t full, nsec_t left, nsec_t took, uint64_t octets)
{
	nsec_t earned = octets < full / an_octet ? octets * an_octet : full;

	left = nsec_min(left + earned, full + took);
	return left > took ? nsec_min(left - took, full) : 0;
}

/*
 * @took: time since the last look; none of it counts while @is_blocked. Return: whether a budget is
 *        used up.
 */
static bool is_used_up(struct debt *d, const struct owed *o, nsec_t took, bool is_blocked,
		       bool is_pressed)
{
	uint64_t octets = o->moved - d->moved;

	if (!d->is_owed || (!o->goes_on && is_delivered(o->paid, d->due))) {
		fill(d, o);
		return false;
	}
	d->moved = o->moved;
	for (unsigned i = 0; i < DEBT_BUDGETS; i++) {
		bool runs = !is_blocked && (i == DEBT_COMMON || is_pressed);

		d->left[i] =
			spend(budgets[i].an_octet, most(i, o), d->left[i], runs ? took : 0, octets);
	}
	return d->left[DEBT_COMMON] == 0 || d->left[DEBT_WHILE_PRESSED] == 0;
}

/* Whether the peer of @leg may owe @kind again soon, although it owes nothing now: the client's
 * next calls wait, for memory perhaps, so there is no reply that it could take. It has taken none
 * meanwhile, so its budgets are not filled. */
static bool may_owe_again(const struct session *s, const struct leg *leg, enum debt_of_leg kind)
{
	return kind == DEBT_OUTPUT && leg == &s->client && session_calls_wait(&s->forward);
}

/* Whether another session waits for memory of a kind of which @m holds some. */
static bool is_wanted(const struct quota_member *m)
{
	return m->used > 0 && quota_is_wanted(m);
}

static bool leg_is_pressed(const struct leg *leg)
{
	static const enum buf_purpose each[] = {BUF_REASM_CALL, BUF_REASM_START, BUF_REASM_REPLY};

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		if (is_wanted(&leg->quotas[each[i]]))
			return true;
	return false;
}

static bool is_pressed(const struct session *s)
{
	return is_wanted(&s->forward.quota) || is_wanted(&s->forward.block_quota) ||
	       is_wanted(&s->reverse.quota) || is_wanted(&s->reverse.block_quota) ||
	       leg_is_pressed(&s->client) || leg_is_pressed(&s->server);
}

/* Whether further Writes to the peer of @leg follow as soon as that has taken some octets: they are
 * held back (txn_ops.c, txn_cut_through.c), or the input of the other leg's peer waits for it. */
static bool writes_follow(const struct session *s, const struct leg *leg)
{
	const struct session_ops *ops = &s->ops[session_side(leg)];
	const struct leg *other = leg == &s->client ? &s->server : &s->client;

	return leg_sink_is_blocked(other) ||
	       ((!list_is_empty(&ops->queue) || !list_is_empty(&ops->cut_through_txns)) &&
		session_flow_is_full(&ops->writes, s->proxy->now));
}

/* Return: why the session ends, or NULL. */
static const char *look_at_leg(struct session *s, struct leg *leg, nsec_t took, bool pressed)
{
	struct session_ops *ops = session_ops(s, leg);
	unsigned blocked;

	if (leg->state != LEG_OPEN || !leg->t)
		return NULL;
	blocked = leg_blocked_by(leg);
	if (blocked & LEG_BLOCK_SINK)
		ops->sink_blocked_ns += took;
	for (enum debt_of_leg i = 0; i < DEBTS; i++) {
		struct owed o = debts[i].owed(leg, ops);
		struct debt *d = &ops->debts[i];

		o.goes_on = i == DEBT_OUTPUT && writes_follow(s, leg);
		if (!o.is_owed && !may_owe_again(s, leg, i))
			d->is_owed = false;
		else if (o.is_owed && is_used_up(d, &o, took, blocked & debts[i].excuses, pressed))
			return debts[i].why;
		s->owes |= o.is_owed;
	}
	return NULL;
}

/*
 * State:  a continued message waits for more credits than there are.
 * Danger: an idle peer may advertise fewer credits than it did before (v2/credit_cover.c), and the
 *         message waits for ever.
 * Rule:   if the peer's credits do not change for CREDITS_FINAL_TIME, the message is sent with the
 *         credits that there are, or is given back (leg_credits_final()). The time is counted in
 *         looks.
 * Pinned: tests/session/test_continue.c:what_is_not_advertised_any_more_is_not_waited_for,
 *         :a_pause_of_the_gateway_is_no_wait_for_credits
 */
static void look_at_credits(struct session *s, struct leg *leg)
{
	struct session_ops *ops = session_ops(s, leg);

	if (leg->state != LEG_OPEN || !leg_waits(leg)) {
		ops->credits_looks = 0;
		return;
	}
	s->owes = true;
	if (ops->credits_looks == 0 || leg_limit(leg) != ops->credits) {
		ops->credits_looks = 1;
		ops->credits = leg_limit(leg);
	} else if (ops->credits_looks++ == CREDITS_FINAL_TIME / DEBT_LOOK) {
		ops->credits_looks = 0;
		leg_credits_final(leg);
		session_touch(s);
	}
}

/*
 * State:  calls of @q cannot proceed before others are answered (txn_queue_is_blocked()).
 * Danger: Call-only RPCs of version 2 (draft-07 4.7) are never answered. Each keeps one place for
 *         ever, until no call of @q can run.
 * Rule:   if no call of @q was answered for DEBT_TIMEOUT, the calls that may be Call-only are
 *         abandoned. If no call may be Call-only and the responder grants no further call, the
 *         session ends.
 * Pinned: tests/session/test_call_only.c:call_only_calls_are_in_nobodys_way, decision 68.
 */
static const char *look_at_answers(struct session *s, struct session_queue *q, nsec_t took)
{
	const struct owed o = {
		.is_owed = txn_queue_is_blocked(q), .paid = {q->ended}, .due = {q->ended + 1}};
	const char *why = NULL;

	if (!o.is_owed) {
		q->answers_due.is_owed = false;
		return NULL;
	}
	s->owes = true;
	if (!is_used_up(&q->answers_due, &o, took,
			leg_blocked_by(session_responder(q)) & LEG_BLOCK_INPUT, false))
		return NULL;
	q->answers_due.is_owed = false; /* begins again if the queue is still blocked */
	why = txn_abandon_call_only(q);
	session_touch(s);
	return why;
}

/* Return: why the session ends, for what the peer of *@debtor owes, or NULL. */
static const char *look_at_debts(struct session *s, nsec_t took, struct leg **debtor)
{
	bool pressed = is_pressed(s);
	const char *why = look_at_leg(s, *debtor = &s->client, took, pressed);

	if (!why)
		why = look_at_leg(s, *debtor = &s->server, took, pressed);
	if (!why)
		why = look_at_answers(s, &s->forward, took);
	if (!why) {
		*debtor = &s->client;
		why = look_at_answers(s, &s->reverse, took);
	}
	look_at_credits(s, &s->client);
	look_at_credits(s, &s->server);
	return why;
}

/* Since when @t has waited for its answer, without the time in which the answer may have lain
 * unread here, because the requester did not take a result: the requester owed that. */
static nsec_t waits_from(const struct session *s, const struct txn *t)
{
	return t->pulled + s->ops[session_side(t->rsp)].sink_blocked_ns - t->sink_ns;
}

/* Since when the longest waiting RPC of @s that holds memory for @purpose has waited for its
 * answer. */
static nsec_t unanswered_since(const struct session *s, enum buf_purpose purpose)
{
	nsec_t since = NSEC_NEVER;

	for (const struct list *it = s->txns.next; it != &s->txns; it = it->next) {
		const struct txn *t = container_of(it, struct txn, link);
		bool is_of =
			purpose == BUF_TRANSACTION || t->reverse == (purpose == BUF_TXN_REVERSE);

		if (is_of && t->pulled && (t->state == TXN_CALL || t->state == TXN_WAIT))
			since = nsec_min(since, waits_from(s, t));
	}
	return since;
}

/* The members by which @s takes, and may wait for, memory for @purpose. */
static unsigned members(struct session *s, enum buf_purpose purpose, struct quota_member *m[2])
{
	m[0] = &s->client.quotas[purpose];
	m[1] = &s->server.quotas[purpose];
	if (purpose == BUF_TRANSACTION) {
		m[0] = &s->forward.quota;
		m[1] = &s->reverse.quota;
	} else if (purpose == BUF_TXN_FORWARD || purpose == BUF_TXN_REVERSE) {
		m[0] = purpose == BUF_TXN_FORWARD ? &s->forward.block_quota
						  : &s->reverse.block_quota;
		return 1;
	}
	return 2;
}

static size_t holds(struct session *s, enum buf_purpose purpose)
{
	struct quota_member *m[2];
	size_t bytes = 0;

	for (unsigned n = members(s, purpose, m); n-- > 0;)
		bytes += m[n]->used;
	return bytes;
}

/* The time of the round RECLAIM_AFTER / DEBT_LOOK rounds ago: a wait that began at this time or
 * earlier has lasted too long. 0: there were not so many rounds yet. */
static nsec_t long_ago(const struct proxy *p)
{
	return p->rounds[(p->nrounds + 1) % RECLAIM_ROUNDS];
}

static nsec_t waits_since(struct session *s, enum buf_purpose purpose)
{
	struct quota_member *m[2];
	nsec_t since = NSEC_NEVER;

	for (unsigned n = members(s, purpose, m); n-- > 0;)
		since = nsec_min(since, m[n]->waiting_since);
	return since;
}

/*
 * State:  a client's continued call waits for memory, and the client's replies to the server's
 *         calls are behind it. The server answers the calls that hold this memory only after these
 *         replies; or the server's calls hold memory that these calls wait for.
 * Danger: nothing ever moves.
 * Rule:   after RECLAIM_AFTER the session ends.
 * Pinned: tests/session/test_pressure.c:a_callback_behind_a_call_that_waits,
 *         :both_directions_complete, decision 78.
 */
static bool waits_for_itself(struct session *s)
{
	return s->client.stalled && s->reverse.running > 0 &&
	       waits_since(s, BUF_REASM_CALL) <= long_ago(s->proxy);
}

static void end_debtor(struct session *s, const struct leg *debtor, const char *why)
{
	s->route->count.peer_faults++;
	session_close_for(s, debtor, ERR_TIMEOUT, why);
	session_touch(s);
}

static void look_at_session(struct session *s)
{
	nsec_t now = s->proxy->now, took = nsec_min(now - s->looked, DEBT_LOOK_MOST);
	struct leg *debtor;
	const char *why;

	s->looked = now;
	s->owes = !session_is_idle(s) || s->client.stalled || s->server.stalled;
	if (s->state != SESSION_OPEN)
		return;
	why = look_at_debts(s, took, &debtor);
	(void)session_blocked_ns(s, &s->client);
	(void)session_blocked_ns(s, &s->server);
	if (why) {
		end_debtor(s, debtor, why);
	} else if (waits_for_itself(s)) {
		session_close(s, ERR_TIMEOUT,
			      "calls of both directions wait for each other's memory");
		session_touch(s);
	} else if (s->owes) {
		list_add_tail(&s->proxy->owing, &s->owing);
	}
}

/* Whether a continued message has begun in memory for @purpose and is not complete. */
static bool has_begun(const struct leg *leg, enum buf_purpose purpose)
{
	return leg->reasm && leg->quotas[purpose].used > 0;
}

/* Since when the memory that @s holds for @purpose has not moved although no peer owes anything:
 * the server of @s has not answered, or @s waits for memory itself. NSEC_NEVER: @s holds no such
 * memory, or the memory moves. */
static nsec_t still_since(struct session *s, enum buf_purpose purpose)
{
	if (holds(s, purpose) == 0)
		return NSEC_NEVER;
	if (purpose == BUF_REASM_START || purpose == BUF_REASM_REPLY)
		return nsec_min(waits_since(s, BUF_REASM_CALL), waits_since(s, BUF_REASM_REPLY));
	return unanswered_since(s, purpose);
}

/* Set .waits_too_long of each route: a session of the route has waited too long for memory, while
 * its own server answers. Return: the number of these routes. */
static unsigned find_waiting_routes(struct proxy *p, enum buf_purpose purpose)
{
	nsec_t before = long_ago(p);
	unsigned n = 0;

	for (unsigned i = 0; i < p->nslots; i++)
		if (p->routes[i])
			p->routes[i]->waits_too_long = false;
	for (const struct list *it = p->owing.next; it != &p->owing; it = it->next) {
		struct session *s = container_of(it, struct session, owing);

		if (s->route->waits_too_long || waits_since(s, purpose) > before ||
		    unanswered_since(s, BUF_TRANSACTION) <= before)
			continue;
		s->route->waits_too_long = true;
		n++;
	}
	return n;
}

/*
 * Whether memory that @s gives back helps one of the @n routes that wait
 *
 * - Memory of the common zones helps each other route that waits.
 * - An incomplete message helps sessions of its own route as well, because it waits for no server.
 *   Other memory does not: a server that takes its time is no reason to end one of its clients for
 *   another of its clients.
 */
static bool helps(const struct session *s, unsigned n, enum buf_purpose purpose)
{
	const struct route_state *rs = s->route;

	if (rs->groups[purpose].common > 0 && n > rs->waits_too_long)
		return true;
	return rs->waits_too_long &&
	       (has_begun(&s->client, purpose) || has_begun(&s->server, purpose));
}

/* The session to end: of the route that holds most, the one whose memory has not moved for the
 * longest time, if that helps one of the @n routes that wait. */
static struct session *to_reclaim(const struct proxy *p, enum buf_purpose purpose, unsigned n)
{
	const struct quota_group *most = NULL;
	nsec_t since = long_ago(p);
	struct session *worst = NULL;

	for (const struct list *it = p->owing.next; it != &p->owing; it = it->next) {
		struct session *s = container_of(it, struct session, owing);
		const struct quota_group *g = &s->route->groups[purpose];
		nsec_t still;

		if (s->state != SESSION_OPEN || (most && g->used < most->used) ||
		    !helps(s, n, purpose))
			continue;
		still = still_since(s, purpose);
		if (still > (most == g ? since : long_ago(p)))
			continue;
		most = g;
		worst = s;
		since = still;
	}
	return worst;
}

static void reclaim(struct proxy *p)
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++) {
		enum buf_purpose purpose = (enum buf_purpose)i;
		struct session *s = NULL;
		unsigned n = 0;

		if (quota_has_line(&p->quota, purpose))
			n = find_waiting_routes(p, purpose);
		if (n > 0)
			s = to_reclaim(p, purpose, n);
		if (!s)
			continue;
		session_close(s, ERR_NOMEM,
			      "others wait for memory that it holds, and nothing moves in it");
		session_touch(s);
	}
}

static void begin_round(struct proxy *p, nsec_t now)
{
	p->round_at = now + DEBT_LOOK;
	p->nrounds = (p->nrounds + 1) % RECLAIM_ROUNDS;
	p->rounds[p->nrounds] = now;
	reclaim(p);
	list_add_tail(&p->owing, &p->round_end);
}

void session_debts_look(struct timer *timer, nsec_t now)
{
	struct proxy *p = container_of(timer, struct proxy, debts);
	struct list *item;

	if (list_is_empty(&p->round_end))
		begin_round(p, now);
	for (unsigned i = 0; i < DEBT_TURN && (item = list_pop(&p->owing)) != &p->round_end; i++) {
		p->debt_looks++;
		look_at_session(container_of(item, struct session, owing));
	}
	if (!list_is_empty(&p->round_end))
		timer_arm(&p->timers, timer, now + 1); /* continues in the next turn */
	else if (!list_is_empty(&p->owing))
		timer_arm(&p->timers, timer, p->round_at);
}

void session_debts_begin(struct session *s)
{
	struct proxy *p = s->proxy;

	s->looked = p->now;
	list_add_tail(&p->owing, &s->owing);
	if (!timer_is_armed(&p->debts))
		timer_arm(&p->timers, &p->debts, p->now + DEBT_LOOK);
}

void session_debts_init(struct session *s)
{
	list_init(&s->owing);
	s->ops[PROXY_CLIENT].blocked_since = s->ops[PROXY_SERVER].blocked_since = NSEC_NEVER;
}
