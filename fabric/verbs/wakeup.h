/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_WAKEUP_H
#define FABRIC_VERBS_WAKEUP_H

#include <stdint.h>

#include "base/loop.h"

struct verbs;
struct verbs_conn;

/** wakeup - clock, wake-ups */

/** wake_now - CLOCK_MONOTONIC. */
nsec_t wake_now(void);

/** wake_conn - @c may have an event: its instance checks it in this turn. */
void wake_conn(struct verbs_conn *c);

/** wake_conn_in - check @c @ms from now; 0: not at all. */
void wake_conn_in(struct verbs_conn *c, uint32_t ms);

/** wake_shares - @v has shared Receives: check their depth at regular times. */
void wake_shares(struct verbs *v, nsec_t now);

#endif
