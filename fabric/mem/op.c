/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "base/asan.h"
#include "fabric/mem/op.h"
#include "fabric/mem/due.h"
#include "fabric/mem/internal.h"

/*
 * Operation. A posted operation is in two lists of its connection: .posted until the next flush,
 * and .flight of its kind until its completion is queued. post.c, deliver.c, expose.c and shared.c
 * have the effects of the operations.
 */

void mem_op_init(struct mem_conn *c, struct mem_op *op)
{
	list_init(&op->link);
	list_init(&op->kin);
	list_init(&op->done.link);
	op->done.op = op;
	memnet_due_init(&op->due, c, MEM_NOTHING);
}

void mem_op_guard(const struct mem_op *op, bool on)
{
	for (unsigned i = 0; i < op->npieces; i++)
		if (on)
			ASAN_POISON_MEMORY_REGION(op->to[i].addr, op->to[i].len);
		else
			ASAN_UNPOISON_MEMORY_REGION(op->to[i].addr, op->to[i].len);
}

void mem_op_arm(const struct mem_op *op)
{
	mem_op_guard(op, false);
	for (unsigned i = 0; i < op->npieces; i++)
		if (op->to[i].len)
			memset(op->to[i].addr, MEMNET_POISON, op->to[i].len);
	mem_op_guard(op, true);
}

/* Four sums side by side: large payloads are summed up three times. */
static uint64_t sum_octets(uint64_t sum, const uint8_t *p, uint32_t left)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t lane[4] = {sum, 1, 2, 3}, word[4];

	for (; left >= sizeof(word); p += sizeof(word), left -= (uint32_t)sizeof(word)) {
		memcpy(word, p, sizeof(word));
		for (unsigned i = 0; i < 4; i++)
			lane[i] = (lane[i] ^ word[i]) * odd;
	}
	for (unsigned i = 1; i < 4; i++)
		lane[0] = (lane[0] ^ lane[i]) * odd;
	for (; left; p++, left--)
		lane[0] = (lane[0] ^ *p) * odd;
	return lane[0];
}

uint64_t mem_op_sum(const struct mem_op *op)
{
	uint64_t sum = op->len;

	for (unsigned i = 0; i < op->nsge; i++)
		sum = sum_octets(sum, op->sge[i].addr, op->sge[i].len);
	return sum;
}

void mem_op_post(struct mem_conn *c, struct mem_op *op, enum mem_kind kind, void *cookie)
{
	static const enum fabric_ev_type type[MEM_KINDS] = {
		[MEM_RECV] = FABRIC_EV_RECV,	      [MEM_SEND] = FABRIC_EV_SEND,
		[MEM_READ] = FABRIC_EV_READ,	      [MEM_WRITE] = FABRIC_EV_WRITE,
		[MEM_WITHDRAW] = FABRIC_EV_WITHDRAWN,
	};

	op->kind = kind;
	op->cookie = cookie;
	op->flushed = op->delivered = op->ripe = false;
	op->done.ev = (struct fabric_event){.type = type[kind], .cookie = cookie};
	list_add_tail(&c->posted, &op->link);
	list_add_tail(&c->flight[kind], &op->kin);
	if (list_is_empty(&c->dirty))
		list_add_tail(&mem_conn_fabric(c)->dirty, &c->dirty);
	c->nposted++;
}

void mem_event_push(struct mem_conn *c, struct mem_event *e)
{
	assert(list_is_empty(&e->link));
	e->ev.conn = &c->base;
	list_add_tail(&mem_conn_fabric(c)->ready, &e->link);
}

void mem_op_finish(struct mem_op *op, int status)
{
	struct mem_conn *c = op->due.conn;

	/* The octets of a Send or Write were the provider's until now. */
	assert(status != 0 || op->nsge == 0 || op->sum == mem_op_sum(op));
	list_del(&op->kin);
	op->done.ev.status = status;
	mem_event_push(c, &op->done);
}
