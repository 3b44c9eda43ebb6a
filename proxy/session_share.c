/* SPDX-License-Identifier: BSD-2-Clause */
/* The accounts to which a session's memory is charged: those of its client's address, or of all
 * servers' calls of the route, and of its server (shares.h). */
#include "proxy/session_share.h"
#include "proxy/internal.h"

static void count_leg(struct leg *leg, struct share *client, struct share *server)
{
	for (unsigned i = 0; i < QUOTA_PURPOSES; i++)
		quota_count_for(&leg->quotas[i], share_account(client, (enum buf_purpose)i),
				share_account(server, (enum buf_purpose)i));
}

static void count_queue(struct session_queue *q, struct share *client, struct share *server)
{
	enum buf_purpose purpose = q->block_quota.group->pool->purpose;

	quota_count_for(&q->quota, share_account(client, BUF_TRANSACTION),
			share_account(server, BUF_TRANSACTION));
	quota_count_for(&q->block_quota, share_account(client, purpose),
			share_account(server, purpose));
}

void session_share_server(struct session *s)
{
	struct share *all = s->route->by_server,
		     *server = all ? &all[s->upstream->user.server] : NULL;

	count_queue(&s->forward, s->share, server);
	count_queue(&s->reverse, &s->route->servers_calls, server);
	count_leg(&s->server, NULL, server);
}

void session_share_client(struct session *s)
{
	s->share = shares_enter(&s->route->by_client, &s->client.conn->peer);
	count_leg(&s->client, s->share, NULL);
}

void session_share_leave(struct session *s)
{
	shares_leave(&s->route->by_client, s->share);
	s->share = NULL;
}
