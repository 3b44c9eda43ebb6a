/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_COMPLETE_H
#define FABRIC_VERBS_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

struct fabric_event;
struct ibv_wc;
struct verbs_conn;

/** complete - completion of operations */

/** complete_own - process @n completions at @wc from @c's own completion queue. */
void complete_own(struct verbs_conn *c, const struct ibv_wc *wc, int n);

/** complete_shared - the shared Receive in @slot completed for @c. Return: whether its message is
 * to be delivered; if not, @c ends, because @wc is of no message, or the peer sent one too many. */
bool complete_shared(struct verbs_conn *c, const struct ibv_wc *wc, uint32_t slot, void *cookie);

/** complete_failed - @wc failed: ends @c with that cause. */
void complete_failed(struct verbs_conn *c, const struct ibv_wc *wc, bool is_recv);

/** complete_flush - complete all operations of @c, after its queue pair is gone. */
void complete_flush(struct verbs_conn *c);

/** complete_event - fill @ev with the next event of @c. Return: whether there was one. */
bool complete_event(struct verbs_conn *c, struct fabric_event *ev);

#endif
