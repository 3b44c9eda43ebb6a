/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/alive.h"
#include "fabric/verbs/conn_close.h"
#include "fabric/verbs/post.h"
#include "fabric/verbs/types.h"
#include "fabric/verbs/wakeup.h"

/*
 * Operation
 *
 * InfiniBand and RoCE have nothing like TCP's keepalive: a peer that vanishes while nothing is
 * under way is never noticed, and its session would stay for ever.
 *
 * State:  nothing completed on a connection since the last check, .idle_ms ago, and nothing is
 *         under way.
 * Danger: the peer is gone, and its session holds memory for ever.
 * Rule:   the connection sends an RDMA Write of no octets. The peer's adapter acknowledges it,
 *         checks no handle for it, and the peer's user does not see it. If no adapter answers, it
 *         fails as any message does, after the device's retries. If something is under way, the
 *         device waits for an acknowledgement already.
 *
 * A peer whose adapter answers "not ready" again and again, because its user posts no Receives, is
 * left to the user of the fabric (proxy/session_debts.c).
 *
 * If an event said that a queue failed, nothing more may ever complete: that is checked as well.
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
