/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: the memory of a continued message (version 2) while its parts arrive
 *
 *   first part --> block of BUDGET_REASM_START --> block of its whole length --> message
 *                  (shorter ones at once)    before that one is full
 *
 * State:  a peer announces the length of a message and sends its parts as it likes.
 * Danger: a peer that announces 8 MiB and sends next to nothing holds 8 MiB; or messages that wait
 *         for their whole block hold memory that others need to get theirs.
 * Rule:   a message first takes 64 KiB of a part of the arena for first blocks alone. It takes a
 *         block of the whole length only before the first one is full, and copies 64 KiB at most. A
 *         reply without room for its first block takes its whole block at once, because it waits
 *         for nothing that calls hold.
 * Pinned: tests/session/test_mem_reclaim.c:start_blocks_come_back
 *
 * A part that finds no memory stalls the leg until leg_resume(). The whole block is there before
 * the last part can come, because the last part must not stall.
 *
 * A server's continued call does not wait: it gets memory at once or is refused.
 */
#include <assert.h>
#include <string.h>

#include "proxy/leg/leg_reasm.h"
#include "proxy/leg/internal.h"
#include "proxy/leg/leg_defer.h"

void leg_set_quotas(struct leg *leg, struct quota_group groups[QUOTA_PURPOSES])
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		quota_member_init(&leg->quotas[i], &groups[i]);
}

/* The member to which @block is charged. */
static struct quota_member *quota_of_block(struct leg *leg, const void *block)
{
	unsigned zone = buf_zone_of(leg->arena, block);

	if (zone == BUF_ZONE_REASM_START)
		return &leg->quotas[BUF_REASM_START];
	if (zone == BUF_ZONE_COPIED_CALL)
		return &leg->quotas[BUF_COPIED_CALL];
	if (zone == BUF_ZONE_REASM_CALLS || zone == leg->quotas[BUF_REASM_CALL].group->own)
		return &leg->quotas[BUF_REASM_CALL];
	return &leg->quotas[BUF_REASM_REPLY];
}

struct quota_member *leg_reasm_quota(struct leg *leg)
{
	return leg->reasm && leg->quotas[0].group ? quota_of_block(leg, leg->reasm) : NULL;
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
	if (leg->quotas[purpose].group)
		quota_wait(&leg->quotas[purpose], buf_round(bytes));
}

void leg_stop_waiting(struct leg *leg)
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		quota_unwait(&leg->quotas[i]);
}

void leg_reasm_drop(struct leg *leg)
{
	leg->discarding = false;
	if (leg->reasm)
		leg_give_block(leg, leg->reasm);
	leg->reasm = NULL;
	leg->reasm_len = leg->reasm_cap = leg->reasm_total = 0;
}

void leg_reasm_append(struct leg *leg, struct view part)
{
	if (leg->discarding)
		return;
	assert(leg->reasm && part.len <= leg->reasm_cap - leg->reasm_len);
	memcpy(leg->reasm + leg->reasm_len, part.data, part.len);
	leg->reasm_len += (uint32_t)part.len;
	leg->reasm_bytes += part.len;
}

void *leg_alloc_nowait(struct leg *leg, size_t bytes)
{
	return take_block(leg, bytes, BUF_COPIED_CALL);
}

/* Continue the reassembly in a block of @bytes. */
static bool reasm_move_to(struct leg *leg, uint32_t bytes, enum buf_purpose purpose)
{
	uint8_t *block = take_block(leg, bytes, purpose);

	if (!block)
		return false;
	if (leg->reasm) {
		memcpy(block, leg->reasm, leg->reasm_len);
		leg_give_block(leg, leg->reasm);
	}
	leg->reasm = block;
	leg->reasm_cap = bytes;
	return true;
}

bool leg_reasm_make_room(struct leg *leg, struct view part)
{
	uint32_t total = leg->reasm_total;
	size_t need = leg->reasm_len + part.len + leg->cfg->inline_bytes;
	bool is_reply = leg->reasm_purpose == BUF_REASM_REPLY;

	if (leg->discarding || need <= leg->reasm_cap || leg->reasm_cap == total)
		return true;
	if (leg->quotas[0].group && need <= BUDGET_REASM_START && total > BUDGET_REASM_START) {
		if (reasm_move_to(leg, BUDGET_REASM_START, BUF_REASM_START))
			return true;
		if (!is_reply) {
			wait_for_block(leg, BUDGET_REASM_START, BUF_REASM_START);
			return false;
		}
	}
	if (reasm_move_to(leg, total, leg->reasm_purpose))
		return true;
	wait_for_block(leg, total, leg->reasm_purpose);
	return false;
}

bool leg_reasm_alloc_all(struct leg *leg)
{
	if (reasm_move_to(leg, leg->reasm_total, leg->reasm_purpose))
		return true;
	wait_for_block(leg, leg->reasm_total, leg->reasm_purpose);
	return false;
}

int leg_reasm_alloc_nowait(struct leg *leg)
{
	const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};

	if (reasm_move_to(leg, leg->reasm_total, BUF_COPIED_CALL))
		return 0;
	leg_reject(leg, leg->reasm_xid, &system);
	return ERR_AGAIN;
}

void leg_reasm_begin(struct leg *leg, uint32_t total, enum rpc_dir dir)
{
	leg_reasm_drop(leg);
	leg->reasm_count++;
	leg->reasm_total = total;
	leg->reasm_purpose = dir == RPC_CALL ? BUF_REASM_CALL : BUF_REASM_REPLY;
}

void leg_reasm_begin_reverse(struct leg *leg, uint32_t total)
{
	leg_reasm_begin(leg, total, RPC_CALL);
	leg->discarding = leg_reasm_alloc_nowait(leg) < 0;
}
