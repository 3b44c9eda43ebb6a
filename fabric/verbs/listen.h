/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_LISTEN_H
#define FABRIC_VERBS_LISTEN_H

#include "base/err.h"
#include "base/loop.h"

struct fabric;
struct fabric_listener;
struct verbs;

/**
 * listen - listeners
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** verbs_listen_attach, verbs_listen_detach - attach and detach of struct fabric_ops. */
int verbs_listen_attach(struct fabric *f, struct fabric_listener *l, void *owner) WARN_UNUSED;
void verbs_listen_detach(struct fabric *f, struct fabric_listener *l);

/** verbs_listen_tick - try to listen again at addresses whose device was removed.
 * verbs_listen_deadline - when verbs_listen_tick() is due, or NSEC_NEVER. */
void verbs_listen_tick(struct verbs *v, nsec_t now);
nsec_t verbs_listen_deadline(const struct verbs *v);

#endif
