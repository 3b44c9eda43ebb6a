/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_UPSTREAMS_H
#define DAEMON_UPSTREAMS_H

#include "daemon/gateway.h"
#include "daemon/loop.h"

/**
 * upstreams - the main thread's part of proxy/servers.h: looks up names for workers, and wakes
 * workers when servers change
 */
struct upstreams;
struct worker;

/** upstreams_new - @gw, @loop and @workers (gw->nworkers entries) are borrowed; no worker runs yet.
 * gw->changes then wakes this module. Return: owned, or NULL. */
struct upstreams *upstreams_new(struct gateway *gw, struct loop *loop, struct worker **workers);

/** upstreams_tick - call after each event. Return: when to call again. */
nsec_t upstreams_tick(struct upstreams *u, nsec_t now);

/** upstreams_report - log a line for each server of each route. */
void upstreams_report(const struct gateway *gw);

/** upstreams_free - takes @u, which may be NULL. Runs the loop, as resolver_free() does. Workers
 * may still run, or have ended. */
void upstreams_free(struct upstreams *u);

#endif
