/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/mem.h"
#include "fabric/verbs/conn.h"
#include "fabric/verbs/alive.h"
#include "fabric/verbs/cq.h"
#include "fabric/verbs/share_conn.h"
#include "fabric/verbs/share_types.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/* Creation of a connection, and the step to open; the states between are in cm.c. */

struct verbs_conn *conn_new(struct verbs *v, struct rdma_cm_id *id, enum verbs_state state,
			    void *owner)
{
	struct verbs_conn *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->base.fabric = &v->base;
	c->base.owner = owner;
	c->base.remote_inv = v->base.remote_inv;
	c->v = v;
	c->id = id;
	c->state = state;
	c->deadline = NSEC_NEVER;
	atomic_init(&c->async, -1);
	atomic_init(&c->last, false);
	cq_init(&c->cq, v, c, NULL);
	list_init(&c->active);
	list_init(&c->timed);
	list_init(&c->pending);
	list_add_tail(&v->conns, &c->all);
	if (id)
		id->context = c;
	return c;
}

static void note_addresses(struct verbs_conn *c)
{
	struct sockaddr *from = rdma_get_local_addr(c->id), *to = rdma_get_peer_addr(c->id);

	c->base.local.len = from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							: sizeof(struct sockaddr_in);
	memcpy(&c->base.local.ss, from, c->base.local.len);
	c->base.peer.len = to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);
	memcpy(&c->base.peer.ss, to, c->base.peer.len);
}

void conn_opened(struct verbs_conn *c)
{
	if (c->state != VERBS_CONNECTING && c->state != VERBS_ACCEPTED)
		return;
	if (c->state == VERBS_CONNECTING)
		share_set_timer(c);
	c->state = VERBS_OPEN;
	c->connected_due = c->was_open = true;
	c->base.no_reads = c->peer_ord == 0 && !c->dev->iwarp;
	note_addresses(c);
	wake_conn_in(c, 0);
	alive_begin(c->v);
	wake_conn(c);
}
