/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_WAKEUP_H
#define FABRIC_VERBS_WAKEUP_H

#include <stdint.h>

#include "base/loop.h"

struct verbs;
struct verbs_conn;

/** wakeup - the clock, and when connections and queues are checked */

/** wake_now - the time, by CLOCK_MONOTONIC. */
nsec_t wake_now(void);

/** wake_conn - @c may have an event: fabric_poll() will ask @c. */
void wake_conn(struct verbs_conn *c);

/** wake_conn_in - .deadline of @c expires @ms from now; 0: never. */
void wake_conn_in(struct verbs_conn *c, uint32_t ms);

/** wake_shares - check the depths of @v's shared queues a period after @now, at the latest. */
void wake_shares(struct verbs *v, nsec_t now);

#endif
