/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_DEFER_H
#define PROXY_LEG_LEG_DEFER_H

#include "proxy/leg/leg.h"

/** leg_defer - calls that their user cannot take yet */

/** leg_defer - append the call @out, with all that it holds, to @queue (of one direction). */
void leg_defer(const struct leg_out *out, struct list *queue);

/** leg_defer_copy - copy the call @out out of its Receive, and append it to @queue. Return: false
 * if there is no memory for the copy; then nothing was done. */
bool leg_defer_copy(struct leg *leg, const struct leg_out *out, struct list *queue) WARN_UNUSED;

/** leg_copy_out_deferred - copy all calls of @queue out of their Receives, as far as there is
 * memory. */
void leg_copy_out_deferred(struct leg *leg, struct list *queue);

/** leg_redecode - decode the first call of @queue again, as LEG_OUT_MSG; it stays in
 * @queue. */
void leg_redecode(struct leg *leg, const struct list *queue, struct leg_out *out);

/** leg_undefer - the call that leg_redecode() reported was taken, with @held: remove it from
 * @queue. */
void leg_undefer(struct leg *leg, struct list *queue);

/** leg_drop_deferred - drop all calls of @queue and give back all they hold. */
void leg_drop_deferred(struct leg *leg, struct list *queue);

#endif
