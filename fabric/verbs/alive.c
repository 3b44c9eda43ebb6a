/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/verbs/internal.h"

/*
 * Operation
 *
 * InfiniBand and RoCE have nothing like TCP's keepalive: a peer that vanishes while
 * nothing is under way is never missed, and its session would stay for ever. So a
 * connection on which nothing completed from one look to the next, .idle_ms later, is
 * asked with an RDMA Write of no octets: the peer's adapter acknowledges it, looks at
 * no handle for it, and its user learns nothing of it. Where nobody answers it fails
 * as any other message does, after the device's retries.
 *
 * Where something is under way the device is waiting for an answer already. But the answer of a peer
 * that posts no Receives is that it has none, again and again, and where it was told to be patient
 * for ever (retry count 7) the device is: what was to be sent would hold its memory until the peer likes.
 * So Sends and Writes of which none completes for .stuck_ms end the connection. That is as long as a session
 * of the relay waits for a peer that takes nothing, and longer than a worker of this gateway may be out of
 * shared Receives.
 *
 * And where an event said that a queue failed, nothing more may ever complete: that is looked for, too.
 */

/* Return: whether it has been so for too long. */
static bool is_stuck(struct verbs_conn *c, nsec_t now)
{
	bool moved = c->taken != c->sends.done;

	c->taken = c->sends.done;
	if (moved || !c->words_out)
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
		leave_begin(c, ERR_TIMEOUT, "the peer does not take what is sent");
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
