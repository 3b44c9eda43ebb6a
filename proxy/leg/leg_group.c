/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: a group, that is, a message of the round-trip extension in several Sends
 * (docs/rtrext-profile.md, section 4)
 *
 *   first --> held, as are others --> the last: memory? --yes--> copying --> ready
 *               |                          |   ^                 |  ^
 *               '--> anything else:        no  | leg_resume()    '--' leg_copy_group()
 *                    all go back           v   |
 *                                         stalled
 *
 * When the message of a ready group is reported (leg_next_group()), all Receives of the group but
 * the first go back.
 *
 * State:  the Sends of a group stay in their Receives, which are the connection's own, until the
 *         last has come. Then the octets in all Receives but the first are copied into one block.
 * Danger: a group that never ends holds memory of other sessions; and copying the longest message
 *         takes milliseconds, in which no other session of the worker is served.
 * Rule:   a group takes no memory before its last Send has come, so one without an end costs no
 *         other session anything. The rest of a reply is owed, as that of a continued one
 *         (session_debts.c), because its call is not abandoned meanwhile. The copy is made a part
 *         at a time, and other sessions are served in between.
 * Pinned: tests/session/test_groups.c:a_turn_copies_some, :a_reply_without_end, decision 127.
 *
 * With Receives as long as the data (receive_structure), all data come in one Send and no copy is
 * made.
 */
#include <assert.h>

#include "proxy/leg/leg_group.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_reasm.h"
#include "proxy/leg/leg_conn.h"

void leg_list_group(struct leg *leg, struct rpc_octets octets[RPC_MAX_TRANSMISSIONS])
{
	unsigned n = 0;

	list_for_each_safe(it, tmp, &leg->group)
	{
		const struct leg_rbuf *rb = container_of(it, struct leg_rbuf, link);

		octets[n].here = leg_octets(leg, rb);
		octets[n++].bulk = leg->t->bulk;
	}
	leg->t->held = octets;
	leg->t->nheld = n;
}

void leg_hold_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	/* A continued message that a group interrupts was dropped (.abandon of struct rpc_rx). */
	assert(leg->ngroup < RPC_MAX_TRANSMISSIONS && !leg->reasm);
	list_add_tail(&leg->group, &rb->link);
	leg->ngroup++;
	leg->reasm_xid = rx->xid;
	leg->reasm_purpose = rx->group_dir == RPC_CALL ? BUF_REASM_CALL : BUF_REASM_REPLY;
	leg->reasm_bytes += rb->len;
}

/* Give back the Receives of the group. */
static void give_parts(struct leg *leg)
{
	struct list *item;

	while ((item = list_pop(&leg->group)))
		leg_post_recv(leg, container_of(item, struct leg_rbuf, link));
	leg->ngroup = 0;
	leg->t->held = NULL;
	leg->t->nheld = 0;
}

void leg_end_group_copy(struct leg *leg)
{
	list_del(&leg->copier_link);
	leg->group_state = LEG_GROUP_INCOMPLETE;
}

void leg_drop_group(struct leg *leg)
{
	if (leg->ngroup)
		give_parts(leg);
	leg_end_group_copy(leg);
}

uint32_t leg_copy_group(struct leg *leg, uint32_t most)
{
	uint32_t left = leg->reasm_total - leg->reasm_len, n = left < most ? left : most;
	struct rpc_octets octets[RPC_MAX_TRANSMISSIONS];

	leg_list_group(leg, octets);
	leg->t->ops->gather(leg->t, leg->reasm, leg->reasm_len, leg->reasm_len + n);
	leg->t->held = NULL;
	leg->t->nheld = 0;
	leg->reasm_len += n;
	if (n < left)
		return n;
	leg_end_group_copy(leg);
	leg->group_state = LEG_GROUP_READY;
	return n;
}

/* The group has its memory: begin to copy. */
static void begin_group_copy(struct leg *leg)
{
	leg->group_state = LEG_GROUP_COPYING;
	if (leg->group_copiers)
		list_add_tail(leg->group_copiers, &leg->copier_link);
	else
		(void)leg_copy_group(leg, leg->reasm_total);
}

void leg_end_group(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx)
{
	leg_hold_part(leg, rb, rx);
	leg_reasm_begin(leg, rx->remaining, rx->group_dir);
	if (!rx->remaining)
		leg->group_state = LEG_GROUP_READY;
	else if (leg->role == RPC_ACCEPTOR || rx->group_dir == RPC_REPLY)
		leg_try_group(leg);
	else if (leg_reasm_alloc_nowait(leg) == 0)
		begin_group_copy(leg);
	else
		give_parts(leg);
}

void leg_try_group(struct leg *leg)
{
	bool has_memory = leg_reasm_alloc_all(leg);

	leg->stalled = has_memory ? NULL : container_of(leg->group.prev, struct leg_rbuf, link);
	if (has_memory)
		begin_group_copy(leg);
}

void leg_next_group(struct leg *leg, struct leg_out *out)
{
	struct rpc_octets octets[RPC_MAX_TRANSMISSIONS];
	struct leg_rbuf *first;

	leg->group_state = LEG_GROUP_INCOMPLETE;
	leg_list_group(leg, octets);
	/* Decode the complete message; its octets are copied already. */
	leg->t->ops->gather(leg->t, leg->reasm, leg->reasm_total, leg->reasm_total);
	first = container_of(list_pop(&leg->group), struct leg_rbuf, link);
	*out = (struct leg_out){.kind = LEG_OUT_MSG,
				.msg = leg->msg,
				.reverse = leg_is_reverse(leg, leg->msg->dir),
				.held = {first, leg->reasm}};
	if (leg_is_receiving_reply(leg))
		leg_got_answer(leg);
	leg->reasm = NULL;
	give_parts(leg);
	leg_reasm_drop(leg);
}
