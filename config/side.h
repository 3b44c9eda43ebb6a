/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SIDE_H
#define CONFIG_SIDE_H

#include "config/config.h"

/** side - private to config/: the side protocols, which the kernel forwards, with the addresses
 * that upstream.source gives to clients. */

/** side_addresses - the part of @source's addresses that its clients can get: no more addresses
 * than clients. */
struct config_net side_addresses(const struct config_source *source);

/** side_is_new - whether route @i has side_ports, and no earlier route with the same listen address
 * has any. Routes with the same listen address have the same side_ports. */
bool side_is_new(const struct config *cfg, uint32_t i);

#endif
