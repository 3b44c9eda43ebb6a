/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: the memory of a continued message (version 2) while its parts arrive
 *
 *   first part --> block of BUDGET_BEGUN --> block of its whole length --> message
 *                  (shorter ones at once)    before that one is full
 *
 * State:  a peer announces the length of a message and sends its parts as it likes.
 * Danger: a peer that announces 8 MiB and sends next to nothing holds 8 MiB; or messages that wait
 *         for their whole block hold memory that others need to get theirs.
 * Rule:   a message first takes 64 KiB of a part of the arena for beginnings alone. It takes a
 *         block of the whole length only before the first one is full, and copies 64 KiB at most. A
 *         reply without room for its beginning takes its whole block at once, because it waits for
 *         nothing that calls hold.
 * Pinned: tests/session/test_press.c:beginnings_come_back
 *
 * A part that finds no memory stalls the leg until leg_resume(). The whole block is there before
 * the last part can come, because the last part must not stall.
 *
 * A server's continued call does not wait: it gets memory at once or is refused.
 */
#include <assert.h>
#include <string.h>

#include "proxy/leg/leg_assembly.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_keep.h"

void leg_set_quotas(struct leg *leg, struct quota_group groups[QUOTA_PURPOSES])
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		quota_member_init(&leg->quotas[i], &groups[i]);
}

/* The member to which @block is charged. */
static struct quota_member *quota_of_block(struct leg *leg, const void *block)
{
	unsigned zone = buf_zone_of(leg->arena, block);

	if (zone == BUF_ZONE_BEGUN)
		return &leg->quotas[BUF_BEGUN];
	if (zone == BUF_ZONE_ASIDE)
		return &leg->quotas[BUF_ASIDE];
	if (zone == BUF_ZONE_CALLS || zone == leg->quotas[BUF_CALL].group->own)
		return &leg->quotas[BUF_CALL];
	return &leg->quotas[BUF_ASSEMBLY];
}

struct quota_member *leg_assembly_quota(struct leg *leg)
{
	return leg->assembly && leg->quotas[0].group ? quota_of_block(leg, leg->assembly) : NULL;
}

void leg_give_block(struct leg *leg, void *block)
{
	if (block && leg->quotas[0].group)
		quota_give(quota_of_block(leg, block), block);
	else
		buf_free(leg->arena, block);
}

static void *take_block(struct leg *leg, size_t bytes, enum buf_purpose purpose)
{
	struct quota_member *m = &leg->quotas[purpose];
	void *block;

	if (!m->group)
		return buf_alloc(leg->arena, bytes, purpose);
	if (!quota_may_take(m, buf_round(bytes)))
		return NULL;
	block = quota_take(m, bytes);
	if (block)
		quota_served(m);
	return block;
}

static void wait_for_block(struct leg *leg, size_t bytes, enum buf_purpose purpose)
{
	if (leg->quotas[purpose].group) {
		quota_wait(&leg->quotas[purpose], buf_round(bytes));
		return;
	}
	leg->waiter.bytes = bytes;
	leg->waiter.purpose = purpose;
	buf_wait(leg->arena, &leg->waiter);
}

void leg_stop_waiting(struct leg *leg)
{
	buf_unwait(&leg->waiter);
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		quota_unwait(&leg->quotas[i]);
}

void leg_drop_assembly(struct leg *leg)
{
	leg->discarding = false;
	if (leg->assembly)
		leg_give_block(leg, leg->assembly);
	leg->assembly = NULL;
	leg->assembly_len = leg->assembly_cap = leg->assembly_total = 0;
}

void leg_append_part(struct leg *leg, struct view part)
{
	if (leg->discarding)
		return;
	assert(leg->assembly && part.len <= leg->assembly_cap - leg->assembly_len);
	memcpy(leg->assembly + leg->assembly_len, part.data, part.len);
	leg->assembly_len += (uint32_t)part.len;
	leg->parts += part.len;
}

void *leg_take_unwaited(struct leg *leg, size_t bytes)
{
	return take_block(leg, bytes, BUF_ASIDE);
}

/* Continue the reassembly in a block of @bytes. */
static bool assembly_move_to(struct leg *leg, uint32_t bytes, enum buf_purpose purpose)
{
	uint8_t *block = take_block(leg, bytes, purpose);

	if (!block)
		return false;
	if (leg->assembly) {
		memcpy(block, leg->assembly, leg->assembly_len);
		leg_give_block(leg, leg->assembly);
	}
	leg->assembly = block;
	leg->assembly_cap = bytes;
	return true;
}

bool leg_make_room(struct leg *leg, struct view part)
{
	uint32_t total = leg->assembly_total;
	size_t need = leg->assembly_len + part.len + leg->cfg->inline_bytes;
	bool is_reply = leg->assembly_purpose == BUF_ASSEMBLY;

	if (leg->discarding || need <= leg->assembly_cap || leg->assembly_cap == total)
		return true;
	if (leg->quotas[0].group && need <= BUDGET_BEGUN && total > BUDGET_BEGUN) {
		if (assembly_move_to(leg, BUDGET_BEGUN, BUF_BEGUN))
			return true;
		if (!is_reply) {
			wait_for_block(leg, BUDGET_BEGUN, BUF_BEGUN);
			return false;
		}
	}
	if (assembly_move_to(leg, total, leg->assembly_purpose))
		return true;
	wait_for_block(leg, total, leg->assembly_purpose);
	return false;
}

bool leg_take_whole(struct leg *leg)
{
	if (assembly_move_to(leg, leg->assembly_total, leg->assembly_purpose))
		return true;
	wait_for_block(leg, leg->assembly_total, leg->assembly_purpose);
	return false;
}

int leg_take_whole_unwaited(struct leg *leg)
{
	const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};

	if (assembly_move_to(leg, leg->assembly_total, BUF_ASIDE))
		return 0;
	leg_report(leg, leg->assembly_xid, RPC_CALL, &system);
	return ERR_AGAIN;
}

void leg_begin_assembly(struct leg *leg, uint32_t total, enum rpc_dir dir)
{
	leg_drop_assembly(leg);
	leg->begun++;
	leg->assembly_total = total;
	leg->assembly_purpose = dir == RPC_CALL ? BUF_CALL : BUF_ASSEMBLY;
}

void leg_begin_reverse_call(struct leg *leg, uint32_t total)
{
	leg_begin_assembly(leg, total, RPC_CALL);
	leg->discarding = leg_take_whole_unwaited(leg) < 0;
}
