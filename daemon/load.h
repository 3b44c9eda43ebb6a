/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "config/config.h"

/** load_config - config_load(), and what only this machine can tell: an upstream that is an address of its own, where
 * a listener on all addresses is. Nothing is sent. */
int load_config(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

/** load_warn - to @warnings what ends a start unless it is put right before: control's folder is missing, or another
 * file is in the socket's place. No error, for a unit's RuntimeDirectory= makes the folder at the start. */
void load_warn(const struct config *cfg, const char *path, FILE *warnings);

#endif
