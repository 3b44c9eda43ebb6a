/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_ROUTES_H
#define PROXY_ROUTES_H

#include "proxy/proxy.h"

/**
 * routes - add and remove routes of a running relay
 *
 * A route is never changed, because sessions keep the settings they began with. New settings are a
 * new route, in another slot of proxy_config.routes. The listener is switched to the new route, and
 * the old route is retired. The old route is freed when the last session has ended that arrived by
 * it or chose it. Its counters are then added to those of its successor, the active route of the
 * same name; without successor, to those of removed routes.
 *
 * Called by the worker, between two turns. Steps that can fail come before those that cannot be
 * undone.
 */
enum { PROXY_NO_SLOT = UINT32_MAX };

/**
 * proxy_route_add - add the route in @slot of proxy_config.routes
 * @part:  number of the memory range that belongs to the route alone. The ranges are those of the
 *         routes at start, numbered from 0; a route that replaces another one gets that route's
 *         range. Any other number: the route has no range of its own
 * @sides: number of sides with host authentication, of all routes together
 *
 * No client arrives by it before proxy_listen_by(). Return: 0, or ERR_NOMEM and nothing has
 * changed.
 */
int proxy_route_add(struct proxy *p, unsigned slot, unsigned part, unsigned sides) WARN_UNUSED;

/** proxy_listen_by - clients that connect to @listener from now on arrive by the route in @slot;
 * PROXY_NO_SLOT: they are rejected. */
void proxy_listen_by(struct proxy *p, unsigned listener, unsigned slot);

/** proxy_route_retire - no new session uses the route in @slot. It is freed later:
 * proxy_route.users tells when. */
void proxy_route_retire(struct proxy *p, unsigned slot);

/** proxy_use_jobs - use @jobs for connections made from now on, if there was none; @jobs outlives
 * the relay. */
void proxy_use_jobs(struct proxy *p, struct jobs_port *jobs);

#endif
