/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_SETUP_H
#define FABRIC_IWARP_SETUP_H

#include "fabric/iwarp/iwarp_internal.h"

/** setup - a connection from its TCP connection to the open stream. */

/** setup_ready, setup_expired - callbacks of struct iwarp_wake while .state is below IWARP_OPEN:
 * the socket has @events, or .deadline has passed. */
void setup_ready(struct iwarp_conn *c, unsigned events);
void setup_expired(struct iwarp_conn *c, nsec_t now);

/** setup_begin_time - the time for set-up of @c begins now; it has SETUP_LOOKS looks. */
void setup_begin_time(struct iwarp_conn *c);

/** setup_connect, setup_accept, setup_reject - connect, accept and reject of struct fabric_ops. */
int setup_connect(struct fabric *f, const struct fabric_addr *to,
		  const struct fabric_conn_params *params, void *owner,
		  struct fabric_conn **conn) WARN_UNUSED;
int setup_accept(struct fabric_conn *fc, const struct fabric_conn_params *params,
		 void *owner) WARN_UNUSED;
void setup_reject(struct fabric_conn *fc, struct view private_data);

#endif
