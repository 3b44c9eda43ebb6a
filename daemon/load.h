/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "config/config.h"

/** load_config - config_load(), and what only this machine can tell: an upstream that is an address of its own, where
 * a listener on all addresses is. Nothing is sent. */
int load_config(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

#endif
