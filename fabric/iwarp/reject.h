/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_REJECT_H
#define FABRIC_IWARP_REJECT_H

#include "fabric/iwarp/iwarp_internal.h"

/** reject - a rejected connection, until it is closed */

/** reject_begin - the Reply Frame is out; takes @c, which is on no list of set-ups. */
void reject_begin(struct iwarp_conn *c);
void reject_ready(struct iwarp_conn *c);

#endif
