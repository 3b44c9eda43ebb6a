/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/door.h"

int door_init(struct door *d, unsigned most, unsigned each, uint64_t seed)
{
	d->each = each;
	list_init(&d->waiting);
	return lobby_init(&d->inside, most, seed);
}

void door_fini(struct door *d)
{
	lobby_fini(&d->inside);
}

void door_guest_init(struct door_guest *g)
{
	*g = (struct door_guest){.since = 0};
	list_init(&g->waiting);
}

static bool may_enter(struct door *d, const struct fabric_addr *addr)
{
	return !lobby_is_full(&d->inside) && lobby_count_of(&d->inside, addr) < d->each;
}

static void enter(struct door *d, struct door_guest *g, nsec_t now)
{
	list_del(&g->waiting);
	g->since = now;
	lobby_enter(&d->inside, &g->member, &g->addr);
}

bool door_enter(struct door *d, struct door_guest *g, const struct fabric_addr *addr, nsec_t now)
{
	g->addr = *addr;
	/* Handshakes that wait came first, unless they wait only because of their own host's
	 * limit. */
	if (may_enter(d, addr)) {
		enter(d, g, now);
		return true;
	}
	list_add_tail(&d->waiting, &g->waiting);
	return false;
}

void door_leave(struct door *d, struct door_guest *g)
{
	list_del(&g->waiting);
	lobby_leave(&d->inside, &g->member);
}

void door_again(struct door *d, struct door_guest *g, nsec_t now)
{
	lobby_leave(&d->inside, &g->member);
	enter(d, g, now);
}

struct door_guest *door_next(struct door *d, nsec_t now)
{
	if (lobby_is_full(&d->inside))
		return NULL;
	for (struct list *it = d->waiting.next; it != &d->waiting; it = it->next) {
		struct door_guest *g = container_of(it, struct door_guest, waiting);

		if (!may_enter(d, &g->addr))
			continue;
		enter(d, g, now);
		return g;
	}
	return NULL;
}

struct door_guest *door_worst(struct door *d, nsec_t now)
{
	struct door_guest *g;

	if (!door_has_waiting(d) || !lobby_is_full(&d->inside))
		return NULL;
	g = container_of(lobby_first(&d->inside), struct door_guest, member);
	return now >= g->since + DOOR_PATIENCE ? g : NULL;
}
