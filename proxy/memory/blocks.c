/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/memory/blocks.h"

#include "base/asan.h"

/* With AddressSanitizer free blocks are out of bounds for everybody. */
void buf_give_block(struct buf_arena *a, size_t page, unsigned order)
{
	ASAN_POISON_MEMORY_REGION(a->base + page * BUF_MIN_BLOCK, order_bytes(order));
	bits_set(&a->free[order], page >> order);
	a->zones[a->zone_at[page]].nfree[order]++;
	a->orders[page] = (uint8_t)(order + 1);
}

void buf_take_block(struct buf_arena *a, size_t page, unsigned order)
{
	bits_clear(&a->free[order], page >> order);
	a->zones[a->zone_at[page]].nfree[order]--;
	a->orders[page] = 0;
}
