/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_KEEP_H
#define PROXY_LEG_LEG_KEEP_H

#include "proxy/leg/leg.h"

/** leg_keep - calls that their user cannot take yet */

/**
 * leg_keep - append @out, a call, with all it holds to @queue (of one direction)
 * @aside: copy it out of its Receive, if there is memory for a copy
 *
 * Return: whether it was copied.
 */
bool leg_keep(struct leg *leg, const struct leg_out *out, struct list *queue, bool aside);

/** leg_keep_aside - copy all calls of @queue out of their Receives, as far as there is memory.
 * Return: how many were copied. */
unsigned leg_keep_aside(struct leg *leg, struct list *queue);

/** leg_again - decode the first call of @queue again, as LEG_OUT_MSG; it stays in @queue. Return:
 * whether it was copied out of its Receive. */
bool leg_again(struct leg *leg, const struct list *queue, struct leg_out *out);

/** leg_unkeep - the call that leg_again() reported was taken, with @held: remove it from @queue. */
void leg_unkeep(struct leg *leg, struct list *queue);

/** leg_drop_kept - drop all calls of @queue and give back all they hold. */
void leg_drop_kept(struct leg *leg, struct list *queue);

#endif
