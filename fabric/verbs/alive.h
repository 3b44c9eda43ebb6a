/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_ALIVE_H
#define FABRIC_VERBS_ALIVE_H

#include "base/loop.h"

struct verbs;

/** alive - whether silent peers are still there */

/** alive_begin - a connection is open: start the checks. */
void alive_begin(struct verbs *v);
void alive_tick(struct verbs *v, nsec_t now);

#endif
