/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_LISTEN_H
#define FABRIC_IWARP_LISTEN_H

#include "fabric/iwarp/iwarp_internal.h"

int listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void listen_detach(struct fabric *f, struct fabric_listener *l);
bool listen_arriving(const struct fabric *f);
void listen_tick(struct iwarp *iw, nsec_t now);
nsec_t listen_deadline(const struct iwarp *iw);

#endif
