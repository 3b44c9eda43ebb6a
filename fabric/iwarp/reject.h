/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_REJECT_H
#define FABRIC_IWARP_REJECT_H

#include "fabric/iwarp/iwarp_internal.h"

/** reject - a rejected connection, until it is closed */

/** reject_begin - takes @c, whose rejecting Reply was sent, and which is in no list of set-ups.
 * reject_ready - callback of struct iwarp_wake in IWARP_REJECTED: @c has input; may free @c. */
void reject_begin(struct iwarp_conn *c);
void reject_ready(struct iwarp_conn *c);

#endif
