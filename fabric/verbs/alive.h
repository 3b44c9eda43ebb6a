/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_ALIVE_H
#define FABRIC_VERBS_ALIVE_H

#include "base/loop.h"

struct verbs;

/** alive - checks whether silent peers still exist */

/** alive_begin - a connection of @v has opened: the checks begin, unless they are under way. */
void alive_begin(struct verbs *v);

/** alive_tick - probe peers that have been silent since the last check, if the check is due. */
void alive_tick(struct verbs *v, nsec_t now);

#endif
