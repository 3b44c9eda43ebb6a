/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock, and the lists of connections and queues to check. Used by all other files here. */
#include <time.h>

#include "fabric/verbs/wakeup.h"
#include "fabric/verbs/types.h"

enum { SHARES_MS = 1000 };

nsec_t wake_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

void wake_conn(struct verbs_conn *c)
{
	if (list_is_empty(&c->active))
		list_add_tail(&c->v->active, &c->active);
}

void wake_conn_in(struct verbs_conn *c, uint32_t ms)
{
	list_del(&c->timed);
	if (!ms)
		return;
	c->deadline = wake_now() + ms * NSEC_PER_MS;
	c->v->next = nsec_min(c->v->next, c->deadline);
	list_add_tail(&c->v->timed, &c->timed);
}

void wake_shares(struct verbs *v, nsec_t now)
{
	v->period = nsec_min(v->period, now + SHARES_MS * NSEC_PER_MS);
}
