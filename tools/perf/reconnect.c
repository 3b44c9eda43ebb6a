/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   ready --ended--> waiting for its turn --back-off--> connecting --> ready again
 *                          ^                                |
 *                          +----- refused, or ended --------+
 *
 * - The client does what a kernel's RPC client does. It connects again to the same address, and
 *   sends unanswered calls again, with the same XID and in the order of their first send.
 * - A call that was answered before the connection ended is not sent again: the leg completes all
 *   that was in progress before it reports that it is closed.
 * - The back-off doubles from 10 ms to 1 s. A connection that could not be made again within
 *   .call_timeout is given up, and the reason for the last failure is the error.
 */
#include "tools/perf/client_priv.h"

#define WAIT_FIRST (10 * NSEC_PER_MS)
#define WAIT_MOST NSEC_PER_SEC

bool reconnect_begin(struct client_conn *conn)
{
	struct perf_client *c = conn->client;
	nsec_t now = perf_now(&c->env);

	if (!c->cfg->reconnects || (!conn->is_ready && conn->lost == NSEC_NEVER))
		return false;
	if (conn->is_ready) {
		c->nready--;
		conn->lost = now;
		conn->wait = WAIT_FIRST;
	}
	conn->is_ready = false;
	if (now - conn->lost >= c->cfg->call_timeout)
		return false;
	conn->retry_at = nsec_min(now + conn->wait, conn->lost + c->cfg->call_timeout);
	conn->wait = nsec_min(2 * conn->wait, WAIT_MOST);
	return true;
}

nsec_t reconnect_deadline(const struct client_conn *conn)
{
	return conn->retry_at;
}

static void end_leg(struct client_conn *conn)
{
	leg_fini(&conn->leg);
	leg_init(&conn->leg, RPC_INITIATOR);
}

int reconnect_tick(struct client_conn *conn, nsec_t now)
{
	int err;

	if (now < conn->retry_at)
		return 0;
	conn->retry_at = NSEC_NEVER;
	end_leg(conn);
	err = client_connect(conn);
	if (err == 0) {
		conn->is_closed = false;
		conn->client->nclosed--;
		return 0;
	}
	end_leg(conn);
	return reconnect_begin(conn) ? 0 : err;
}

int reconnect_done(struct client_conn *conn)
{
	struct list *item;
	int err = 0;

	if (conn->lost == NSEC_NEVER)
		return 0;
	conn->lost = NSEC_NEVER;
	conn->client->again.reconnects++;
	for (item = conn->flying.next; item != &conn->flying && err == 0; item = item->next) {
		err = slot_resend(container_of(item, struct slot, link));
		conn->client->again.resent += err == 0;
	}
	return err;
}
