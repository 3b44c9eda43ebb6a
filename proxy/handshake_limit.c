/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/handshake_limit.h"

int handshake_limit_init(struct handshake_limit *d, unsigned most, unsigned each, uint64_t seed)
{
	d->each = each;
	list_init(&d->waiting);
	return preauth_queue_init(&d->inside, most, seed);
}

void handshake_limit_fini(struct handshake_limit *d)
{
	preauth_queue_fini(&d->inside);
}

void handshake_slot_init(struct handshake_slot *g, struct leg *leg)
{
	*g = (struct handshake_slot){.leg = leg};
	list_init(&g->waiting);
}

static bool may_enter(struct handshake_limit *d, const struct fabric_addr *addr)
{
	return !preauth_queue_is_full(&d->inside) &&
	       preauth_queue_count_of(&d->inside, addr) < d->each;
}

static void enter(struct handshake_limit *d, struct handshake_slot *g, nsec_t now)
{
	list_del(&g->waiting);
	g->since = now;
	preauth_queue_enter(&d->inside, &g->member, &g->addr);
}

bool handshake_limit_enter(struct handshake_limit *d, struct handshake_slot *g,
			   const struct fabric_addr *addr, nsec_t now)
{
	g->addr = *addr;
	/* Handshakes that wait came first, unless they wait only because of the limit of their own
	 * client address or server. */
	if (may_enter(d, addr)) {
		enter(d, g, now);
		return true;
	}
	list_add_tail(&d->waiting, &g->waiting);
	return false;
}

void handshake_limit_leave(struct handshake_limit *d, struct handshake_slot *g)
{
	list_del(&g->waiting);
	preauth_queue_leave(&d->inside, &g->member);
}

void handshake_limit_again(struct handshake_limit *d, struct handshake_slot *g, nsec_t now)
{
	preauth_queue_leave(&d->inside, &g->member);
	enter(d, g, now);
}

struct handshake_slot *handshake_limit_next(struct handshake_limit *d, nsec_t now)
{
	if (preauth_queue_is_full(&d->inside))
		return NULL;
	for (struct list *it = d->waiting.next; it != &d->waiting; it = it->next) {
		struct handshake_slot *g = container_of(it, struct handshake_slot, waiting);

		if (!may_enter(d, &g->addr))
			continue;
		enter(d, g, now);
		return g;
	}
	return NULL;
}

struct handshake_slot *handshake_limit_worst(struct handshake_limit *d, nsec_t now)
{
	struct handshake_slot *g;

	if (!handshake_limit_has_waiting(d) || !preauth_queue_is_full(&d->inside))
		return NULL;
	g = container_of(preauth_queue_first(&d->inside), struct handshake_slot, member);
	return now >= g->since + HANDSHAKE_SLOT_TIME ? g : NULL;
}
