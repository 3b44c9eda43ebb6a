/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc/late.h"

#include <string.h>

static void remove_at(struct rpc_late *l, unsigned i)
{
	l->n--;
	memmove(&l->xids[i], &l->xids[i + 1], (l->n - i) * sizeof(l->xids[0]));
	memmove(&l->again[i], &l->again[i + 1], (l->n - i) * sizeof(l->again[0]));
}

/* The newest entry with @xid, which is the last of these to be replaced. Return: its index, or
 * .n. */
static unsigned newest(const struct rpc_late *l, uint32_t xid)
{
	for (unsigned i = l->n; i-- > 0;)
		if (l->xids[i] == xid)
			return i;
	return l->n;
}

void rpc_late_add(struct rpc_late *l, uint32_t xid)
{
	unsigned i = newest(l, xid);

	if (i < l->n)
		l->again[i] = false;
	if (l->n == RPC_LATE)
		remove_at(l, 0);
	l->again[l->n] = false;
	l->xids[l->n++] = xid;
}

void rpc_late_mark(struct rpc_late *l, uint32_t xid)
{
	unsigned i = newest(l, xid);

	if (i < l->n)
		l->again[i] = true;
}

bool rpc_late_awaits(const struct rpc_late *l, uint32_t xid)
{
	unsigned i = newest(l, xid);

	return i < l->n && l->again[i];
}

bool rpc_late_has(const struct rpc_late *l, uint32_t xid)
{
	unsigned i = newest(l, xid);

	return i < l->n && !l->again[i];
}

bool rpc_late_find(struct rpc_late *l, uint32_t xid)
{
	unsigned i = newest(l, xid);

	if (i == l->n || !l->again[i])
		return rpc_late_take_first(l, xid);
	l->again[i] = false;
	return false;
}

bool rpc_late_take_first(struct rpc_late *l, uint32_t xid)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->xids[i] == xid) {
			remove_at(l, i);
			return true;
		}
	return false;
}
