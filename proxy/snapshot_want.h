/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_SNAPSHOT_WANT_H
#define PROXY_SNAPSHOT_WANT_H

#include "proxy/internal.h"

/** session_fits - whether @want selects @s. */
bool session_fits(const struct session *s, const struct snapshot_want *want);

#endif
