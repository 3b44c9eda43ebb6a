/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_VERSION_H
#define PROXY_LEG_LEG_VERSION_H

#include "proxy/leg/internal.h"

/** leg_own_params - the parameters of this end, for its transport. */
struct rpc_params leg_own_params(const struct leg *leg);

/** leg_speaks - whether @version is configured. */
bool leg_speaks(const struct leg *leg, enum leg_version version);

/** leg_version_of - the version of the first message @in, which has @number on the wire, among
 * those configured. Return: 0 if none fits. */
enum leg_version leg_version_of(const struct leg *leg, uint32_t number, struct view in);

/** leg_is_other_draft - whether @in, the first message, for which @version was chosen, is of the
 * other draft with number 2. */
bool leg_is_other_draft(enum leg_version version, struct view in);

/** leg_set_version - make leg->t a new transport of @version. Return: 0, or the error of its
 * init function, such as ERR_CONFIG. */
int leg_set_version(struct leg *leg, enum leg_version version) WARN_UNUSED;

#endif
