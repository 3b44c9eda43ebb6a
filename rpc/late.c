/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc/late.h"

#include <string.h>

static void remove_at(struct rpc_late *l, unsigned i)
{
	l->n--;
	memmove(&l->xids[i], &l->xids[i + 1], (l->n - i) * sizeof(l->xids[0]));
}

void rpc_late_add(struct rpc_late *l, uint32_t xid)
{
	if (l->n == RPC_LATE)
		remove_at(l, 0);
	l->xids[l->n++] = xid;
}

bool rpc_late_take(struct rpc_late *l, uint32_t xid)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->xids[i] == xid) {
			remove_at(l, i);
			return true;
		}
	return false;
}
