/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SIDE_H
#define CONFIG_SIDE_H

#include "config/config.h"

/** side - private to config/: what the kernel carries beside RDMA, by the map of upstream.source. */

/** side_addresses - those of @source's addresses that its clients can have: as many as there are clients. */
struct config_net side_addresses(const struct config_source *source);

/** side_is_new - whether route @i has side_ports, and no earlier route of the same listen address has: those
 * of one address are the same. */
bool side_is_new(const struct config *cfg, uint32_t i);

#endif
