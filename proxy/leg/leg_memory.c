/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a leg takes from the arena for its whole life: Receives, and buffers for the
 * headers of Sends (slots). If Receives are shared, the leg has a few slots of its own and
 * borrows the rest. */
#include "base/budget.h"
#include "base/mem.h"
#include "proxy/leg/leg_memory.h"
#include "proxy/leg/internal.h"

/* No slot is borrowed while Receives are short; the leg's own slots suffice to continue. */
struct leg_slot *leg_borrow_slot(struct leg *leg)
{
	struct leg_slot *slot = leg->bare_slots;

	if (!slot || recv_pool_is_low(leg->recvs))
		return NULL;
	slot->rbuf = recv_pool_take(leg->recvs);
	if (!slot->rbuf)
		return NULL;
	slot->data = slot->rbuf->data;
	leg->bare_slots = slot->next;
	return slot;
}

void leg_return_slot(struct leg *leg, struct leg_slot *slot)
{
	if (slot->rbuf)
		recv_pool_put(leg->recvs, slot->rbuf);
	slot->rbuf = NULL;
	slot->data = NULL;
	slot->next = leg->bare_slots;
	leg->bare_slots = slot;
}

/* Cut @n buffers of @size octets from blocks. set() gets the index and address of each buffer,
 * and the block if the buffer is the first in it. */
static int cut_blocks(struct leg *leg, uint32_t n, uint32_t size,
		      void (*set)(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block))
{
	uint32_t per_block = BUDGET_BLOCK / size;
	uint8_t *block = NULL;

	for (uint32_t i = 0; i < n; i++) {
		bool is_first = i % per_block == 0;

		if (is_first) {
			block = buf_alloc(leg->arena, BUDGET_BLOCK, BUF_CONN);
			if (!block)
				return ERR_AGAIN;
		}
		set(leg, i, block + (size_t)(i % per_block) * size, is_first ? block : NULL);
	}
	return 0;
}

static void set_rbuf(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block)
{
	leg->rbufs[i].data = data;
	leg->rbufs[i].block = block;
	list_init(&leg->rbufs[i].link);
}

static void set_slot(struct leg *leg, uint32_t i, uint8_t *data, uint8_t *block)
{
	leg->slots[i].data = data;
	leg->slots[i].block = block;
	/* Already NULL; set again for clang-tidy, which follows recv_pool_put(). */
	leg->slots[i].rbuf = NULL;
	leg_free_slot(leg, &leg->slots[i]);
}

static uint32_t leg_receives(const struct leg_config *cfg)
{
	_Static_assert((int)RPC_LATE == (int)BUDGET_LATE, "a Receive for each late reply");
	_Static_assert(sizeof(struct leg_rbuf) <= BUDGET_RECV_HEAP, "config/ reckons with that");
	return budget_receives(cfg->credits, cfg->rev_credits, cfg->reply_timeout > 0);
}

size_t leg_fixed_bytes(const struct leg_config *cfg, const struct fabric *fabric, uint32_t op_depth)
{
	const struct fabric_conn_params depths = {.max_recvs = leg_receives(cfg),
						  .recv_pieces = cfg->bulk_bytes ? 2 : 1,
						  .max_sends = BUDGET_SENDS + op_depth,
						  .max_exposures = leg_exposures(cfg, op_depth)};
	size_t heap = fabric_conn_bytes(fabric, &depths) + BUDGET_SENDS * sizeof(struct leg_slot) +
		      (cfg->auth ? sizeof(struct leg_proof) : 0);

	if (!cfg->bulk_bytes && recv_pool_of(fabric))
		return heap + buf_round(budget_sharing_leg(cfg->inline_bytes));
	if (cfg->bulk_bytes)
		heap += leg_receives(cfg) * (sizeof(uint8_t *) + 2 * sizeof(struct fabric_piece));
	return heap + sizeof(struct rpc_msg) + leg_receives(cfg) * sizeof(struct leg_rbuf) +
	       budget_leg(cfg->inline_bytes, leg_receives(cfg)) +
	       budget_bulk(cfg->bulk_bytes, leg_receives(cfg));
}

/* Take a few slots of its own, so that something can always be sent; the rest borrow. */
static int take_shared_memory(struct leg *leg)
{
	uint32_t bytes = leg->cfg->inline_bytes;
	uint8_t *block = buf_alloc(leg->arena, budget_sharing_leg(bytes), BUF_CONN);

	if (!block)
		return ERR_AGAIN;
	leg->msg = leg->recvs->msg;
	for (uint32_t i = 0; i < BUDGET_SENDS; i++)
		set_slot(leg, i, i < BUDGET_OWN_SENDS ? block + (size_t)i * bytes : NULL,
			 i == 0 ? block : NULL);
	return 0;
}

/* Take a block for each second piece: it begins at a page, and is exposed as it is. */
static int take_bulks(struct leg *leg)
{
	leg->bulks = mem_zalloc(leg->nrbufs * sizeof(*leg->bulks));
	if (!leg->bulks)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < leg->nrbufs; i++) {
		leg->bulks[i] = buf_alloc(leg->arena, leg->cfg->bulk_bytes, BUF_CONN);
		if (!leg->bulks[i])
			return ERR_AGAIN;
	}
	return 0;
}

int leg_take_memory(struct leg *leg)
{
	const struct leg_config *cfg = leg->cfg;

	leg->nrbufs = leg_receives(cfg);
	leg->slots = mem_zalloc(BUDGET_SENDS * sizeof(*leg->slots));
	if (!leg->slots)
		return ERR_NOMEM;
	if (leg->recvs)
		return take_shared_memory(leg);
	leg->rbufs = mem_zalloc(leg->nrbufs * sizeof(*leg->rbufs));
	leg->msg = mem_zalloc(sizeof(*leg->msg));
	if (!leg->rbufs || !leg->msg)
		return ERR_NOMEM;
	if (cut_blocks(leg, leg->nrbufs, cfg->inline_bytes, set_rbuf) < 0)
		return ERR_AGAIN;
	if (cfg->bulk_bytes) {
		int err = take_bulks(leg);

		if (err < 0)
			return err;
	}
	return cut_blocks(leg, BUDGET_SENDS, cfg->inline_bytes, set_slot);
}

void leg_give_memory(struct leg *leg)
{
	for (uint32_t i = 0; leg->rbufs && i < leg->nrbufs; i++) {
		leg_drop_sums(&leg->rbufs[i]);
		buf_free(leg->arena, leg->rbufs[i].block);
	}
	for (uint32_t i = 0; leg->bulks && i < leg->nrbufs; i++)
		buf_free(leg->arena, leg->bulks[i]);
	for (uint32_t i = 0; leg->slots && i < BUDGET_SENDS; i++) {
		buf_free(leg->arena, leg->slots[i].block);
		if (leg->slots[i].rbuf)
			recv_pool_put(leg->recvs, leg->slots[i].rbuf);
	}
	mem_free(leg->rbufs);
	mem_free(leg->bulks);
	if (!leg->recvs)
		mem_free(leg->msg);
	mem_free(leg->slots);
	leg->rbufs = NULL;
	leg->bulks = NULL;
	leg->msg = NULL;
	leg->slots = NULL;
}
