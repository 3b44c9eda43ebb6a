/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/internal.h"

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
 * State:  Sends and Writes are under way, and the peer posts no Receives. Its adapter answers "not
 *         ready", again and again. With retry count 7 the device retries for ever.
 * Danger: the messages hold their memory until the peer posts Receives.
 * Rule:   if no Send or Write completes for .stuck_ms, the connection ends. That is as long as a
 *         session of the relay waits for a peer that takes nothing, and longer than a worker of
 *         this gateway may be out of shared Receives.
 *
 * If an event said that a queue failed, nothing more may ever complete: that is checked as well.
 */

/* Return: whether Sends or Writes are under way and none completed for .stuck_ms. */
static bool is_stuck(struct verbs_conn *c, nsec_t now)
{
	bool moved = c->taken != c->sends.done;

	c->taken = c->sends.done;
	if (moved || !c->strings_out)
		c->stuck_since = NSEC_NEVER;
	else if (c->stuck_since == NSEC_NEVER)
		c->stuck_since = now;
	return c->stuck_since != NSEC_NEVER &&
	       now - c->stuck_since >= c->v->cfg.stuck_ms * NSEC_PER_MS;
}

static void alive_look_at(struct verbs_conn *c, nsec_t now)
{
	uint32_t seen = c->recvs.done + c->sends.done;
	bool idle = c->seen == seen && c->sends.posted == c->sends.done;

	c->seen = seen;
	if (c->state == VERBS_OPEN && atomic_load(&c->async) >= 0)
		leave_failed(c);
	if (c->state != VERBS_OPEN)
		return;
	if (is_stuck(c, now)) {
		conn_close_begin(c, ERR_TIMEOUT, "the peer does not take what is sent");
		wake_conn(c);
	} else if (idle && !c->asked) {
		post_ask(c);
	}
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
		alive_look_at(container_of(it, struct verbs_conn, all), now);
		v->ask = now + v->cfg.idle_ms * NSEC_PER_MS;
	}
}
