/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_MEMORY_H
#define PROXY_LEG_LEG_MEMORY_H

#include "proxy/leg/internal.h"

/** leg_take_memory - take the memory for the leg's whole life. Return: 0, ERR_AGAIN (the arena is
 * short), ERR_NOMEM. */
int leg_take_memory(struct leg *leg) WARN_UNUSED;

/** leg_give_memory - give back what leg_take_memory() took, once the connection is destroyed. */
void leg_give_memory(struct leg *leg);

/**
 * leg_take_slot, leg_free_slot - take a buffer for the header octets of one Send, or NULL if all
 * are in use; give it back
 *
 * leg_borrow_slot() and leg_return_slot() take and give back slots that borrow their buffer.
 */
struct leg_slot *leg_borrow_slot(struct leg *leg);
static inline struct leg_slot *leg_take_slot(struct leg *leg)
{
	struct leg_slot *slot = leg->free_slots;

	if (slot)
		leg->free_slots = slot->next;
	else
		slot = leg_borrow_slot(leg);
	if (!slot)
		return NULL;
	slot->tx = NULL;
	slot->counts = 0;
	return slot;
}

void leg_return_slot(struct leg *leg, struct leg_slot *slot);
static inline void leg_free_slot(struct leg *leg, struct leg_slot *slot)
{
	if (slot->rbuf || !slot->data) {
		leg_return_slot(leg, slot);
		return;
	}
	slot->next = leg->free_slots;
	leg->free_slots = slot;
}

#endif
