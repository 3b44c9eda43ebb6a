/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOST_H
#define DAEMON_LOST_H

#include "daemon/gateway.h"

/**
 * lost - listeners on link-local addresses whose interface is gone
 *
 * A socket on such an address belongs to the number of the interface. An interface that is removed
 * and made again has another number, so no client reaches the socket any more.
 */
struct lost {
	nsec_t at; /* the next look; 0: at once */
};

/** lost_tick - log each listener that lost its interface, once. Return: when to call again. */
nsec_t lost_tick(struct lost *lost, struct gateway *gw, nsec_t now);

#endif
