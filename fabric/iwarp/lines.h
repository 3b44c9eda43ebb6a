/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_LINES_H
#define FABRIC_IWARP_LINES_H

#include "fabric/iwarp/iwarp_internal.h"

/** lines - which connections get the next shared Receives */

/** lines_await - the message at hand of @c waits for a shared Receive: until one is posted, or
 * @c holds fewer. */
void lines_await(struct iwarp_conn *c);

/** lines_try - @c, which waits, tries again with the next flush. */
void lines_try(struct iwarp_conn *c);

/** lines_gave_back - fabric_ops.gave_back. */
void lines_gave_back(struct fabric_conn *c);

/** lines_look - call every IWARP_PRESS_INTERVAL: connections for which enough are left now try
 * again; looks at a limited number. */
void lines_look(struct iwarp *iw);

/** lines_turn - lines_look() for a few connections; call with each flush. */
void lines_turn(struct iwarp *iw);

#endif
