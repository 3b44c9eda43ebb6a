/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_LISTEN_H
#define FABRIC_IWARP_LISTEN_H

#include "fabric/iwarp/iwarp_internal.h"

/** listen_attach, listen_detach, listen_arriving - attach, detach and arriving of struct
 * fabric_ops. */
int listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void listen_detach(struct fabric *f, struct fabric_listener *l);
bool listen_arriving(const struct fabric *f);

/** listen_tick - accept again at listeners whose pause is over (listen.c). listen_deadline - the
 * end of the first such pause, or NSEC_NEVER. */
void listen_tick(struct iwarp *iw, nsec_t now);
nsec_t listen_deadline(const struct iwarp *iw);

#endif
