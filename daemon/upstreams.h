/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_UPSTREAMS_H
#define DAEMON_UPSTREAMS_H

#include "daemon/gateway.h"
#include "daemon/loop.h"

/**
 * upstreams - the main thread's part in proxy/servers.h: names that workers ask for are looked up, and whoever has to
 * hear news of servers is woken
 */
struct upstreams;
struct worker;

/** upstreams_new - @gw, @loop and @workers, one for each of gw->nworkers, are borrowed; none of these runs yet. From now
 * on gw->bell rings here. Return: owned, or NULL. */
struct upstreams *upstreams_new(struct gateway *gw, struct loop *loop, struct worker **workers);

/** upstreams_tick - after each event. Return: when it is due again. */
nsec_t upstreams_tick(struct upstreams *u, nsec_t now);

/** upstreams_report - a line of the log for each server of each route. */
void upstreams_report(const struct gateway *gw);

/** upstreams_free - takes @u, which may be NULL. Runs the loop; workers are over, or run. */
void upstreams_free(struct upstreams *u);

#endif
