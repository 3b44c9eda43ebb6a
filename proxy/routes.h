/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_ROUTES_H
#define PROXY_ROUTES_H

#include "proxy/proxy.h"

/**
 * routes - those of a relay that runs come and go
 *
 * A route is never changed, for sessions keep what they began with. One with other settings is another route,
 * in a slot of its own of proxy_config.routes; the listener is turned over to it, and the old one
 * retired: it goes when the last session that came in by it, or took it, has ended. What it counted is
 * then its successor's, the route of the same name, or else part of what is gone.
 *
 * By the worker, between two turns. What can fail is done before what cannot be taken back.
 */
enum { PROXY_NO_SLOT = UINT32_MAX };

/**
 * proxy_route_add - from now on sessions may take the route in @slot of proxy_config.routes
 * @part:  which range of memory is its own: one of those that there were routes for at the beginning,
 *         that of the route it takes the place of, or any other number, for none
 * @sides: of routes with host authentication, altogether
 *
 * Nobody comes in by it before proxy_listen_by(). Return: 0 or ERR_NOMEM: nothing has changed.
 */
int proxy_route_add(struct proxy *p, unsigned slot, unsigned part, unsigned sides) WARN_UNUSED;

/** proxy_listen_by - who comes to @listener from now on comes in by the route in @slot; PROXY_NO_SLOT: is
 * turned away. */
void proxy_listen_by(struct proxy *p, unsigned listener, unsigned slot);

/** proxy_route_retire - nobody new takes the route in @slot. It goes by and by: proxy_route.users. */
void proxy_route_retire(struct proxy *p, unsigned slot);

/** proxy_use_jobs - for connections made from now on, where there were none; outlives the relay. */
void proxy_use_jobs(struct proxy *p, struct jobs_port *jobs);

#endif
