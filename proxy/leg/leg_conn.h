/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_CONN_H
#define PROXY_LEG_LEG_CONN_H

#include "proxy/leg/internal.h"

/** leg_post_recv - give @rb back: to the shared pool, or to the fabric unless the leg ends. */
void leg_post_recv(struct leg *leg, struct leg_rbuf *rb);

/** leg_stop - as leg_close(), but nothing more is sent, because a post failed. */
void leg_stop(struct leg *leg, int status, const char *why);

#endif
