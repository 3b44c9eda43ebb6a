/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc/late.h"

#include <string.h>

static void remove_at(struct rpc_late *l, unsigned i)
{
	l->n--;
	memmove(&l->xids[i], &l->xids[i + 1], (l->n - i) * sizeof(l->xids[0]));
	memmove(&l->again[i], &l->again[i + 1], (l->n - i) * sizeof(l->again[0]));
}

static unsigned find(const struct rpc_late *l, uint32_t xid)
{
	unsigned i = 0;

	while (i < l->n && l->xids[i] != xid)
		i++;
	return i;
}

/* Return: whether a call with @xid waited for the next answer. */
static bool await_no_more(struct rpc_late *l, uint32_t xid)
{
	for (unsigned i = find(l, xid); i < l->n; i++)
		if (l->xids[i] == xid && l->again[i]) {
			l->again[i] = false;
			return true;
		}
	return false;
}

void rpc_late_add(struct rpc_late *l, uint32_t xid)
{
	(void)await_no_more(l, xid);
	if (l->n == RPC_LATE)
		remove_at(l, 0);
	l->again[l->n] = false;
	l->xids[l->n++] = xid;
}

bool rpc_late_take(struct rpc_late *l, uint32_t xid)
{
	unsigned i = find(l, xid);

	if (i == l->n || await_no_more(l, xid))
		return false;
	remove_at(l, i);
	return true;
}

void rpc_late_again(struct rpc_late *l, uint32_t xid)
{
	unsigned i = find(l, xid);

	if (i == l->n)
		return;
	(void)await_no_more(l, xid);
	l->again[i] = true;
}
