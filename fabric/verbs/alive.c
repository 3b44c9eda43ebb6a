/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/alive.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * InfiniBand and RoCE have nothing like TCP's keepalive. If a peer vanishes while nothing is under
 * way, no device reports that.
 *
 * State:  nothing completed on a connection since the last check, .idle_ms ago, and nothing is
 *         under way.
 * Danger: the peer is gone, and its session holds memory for ever.
 * Rule:   - The connection sends an RDMA Write of no octets. The peer's adapter acknowledges the
 *           Write and checks no handle, and the peer's user gets no event.
 *         - If no adapter answers, the Write fails after the device's retries, as any operation.
 *         - If an operation is under way, no Write is needed, because the device waits for an
 *           acknowledgement already.
 *
 * A peer whose adapter answers "not ready" again and again, because its user posts no Receives, is
 * left to the user of the fabric (proxy/session_debts.c).
 *
 * The same check ends a connection whose queue pair has failed by an event of the device, because
 * no further completion may come from a failed queue pair.
 */

static void alive_look_at(struct verbs_conn *c)
{
	uint32_t seen = c->recvs.done + c->sends.done;
	bool idle = c->seen == seen && c->sends.posted == c->sends.done;

	c->seen = seen;
	if (c->state == VERBS_OPEN && atomic_load(&c->async) >= 0)
		conn_close_failed(c);
	if (c->state != VERBS_OPEN)
		return;
	if (idle && !c->asked)
		post_ask(c);
}

void alive_begin(struct verbs *v)
{
	if (v->cfg.idle_ms)
		v->ask = nsec_min(v->ask, wake_now() + v->cfg.idle_ms * NSEC_PER_MS);
}

void alive_tick(struct verbs *v, nsec_t now)
{
	if (now < v->ask)
		return;
	v->ask = NSEC_NEVER;
	list_for_each_safe(it, tmp, &v->conns)
	{
		alive_look_at(container_of(it, struct verbs_conn, all));
		v->ask = now + v->cfg.idle_ms * NSEC_PER_MS;
	}
}
