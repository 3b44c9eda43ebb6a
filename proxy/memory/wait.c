/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/memory/blocks.h"

/* Operation. There is one queue of waiters for each purpose, and only the first waiter of a queue
 * is tried. */

void buf_wait(struct buf_arena *a, struct buf_waiter *w)
{
	if (!list_is_empty(&w->link))
		return;
	list_add_tail(&a->waiters[w->purpose], &w->link);
	a->waits++;
}

void buf_unwait(struct buf_waiter *w)
{
	list_del(&w->link);
}

bool buf_must_wait(const struct buf_arena *a, enum buf_purpose purpose)
{
	return !list_is_empty(&a->waiters[purpose]);
}

/* Power-of-two blocks of r octets in all always fit into one free block of round(r): best fit
 * leaves remainders of distinct sizes, and the rest is always at least as large as what is still
 * to be taken. */
static bool is_ready(const struct buf_arena *a, const struct buf_waiter *w)
{
	bool many = w->bytes > BUF_MAX_BLOCK;
	unsigned order = many ? MAX_ORDER : order_for(w->bytes);
	size_t whole = 0, need = many ? w->bytes : 1;
	enum buf_zone zones[2];
	unsigned n = buf_zones_for(a, w->purpose, zones);

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = order; k < BUF_ORDERS; k++)
			whole += a->zones[zones[i]].nfree[k] * order_bytes(k);
	return whole >= need;
}

struct buf_waiter *buf_next_ready(struct buf_arena *a)
{
	static const enum buf_purpose each[] = {BUF_REASM_REPLY, BUF_REASM_CALL, BUF_TRANSACTION};

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct list *waiters = &a->waiters[each[i]];
		struct buf_waiter *w = list_first(waiters, struct buf_waiter, link);

		if (!list_is_empty(waiters) && is_ready(a, w)) {
			list_del(&w->link);
			return w;
		}
	}
	return NULL;
}
