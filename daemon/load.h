/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "config/config.h"

/** load_config - config_load(), and a check that needs this machine: an upstream must not be an
 * address of this machine where a listener on all addresses has the port. Nothing is sent. */
int load_config(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

/** load_show - write to @text, of @size octets, @path as the log and JSON can have it: '?' for quotes,
 * backslashes and what is not printable ASCII. Return: @text. */
const char *load_show(const char *path, char *text, size_t size);

/** load_clean - replace by '?' what is not printable ASCII in the lines of @problems. */
void load_clean(char *problems);

/** load_warn - write to @warnings problems that a start would fail on now: the folder of the
 * control socket is missing, or another file is in its place. These are no errors, because a unit's
 * RuntimeDirectory= makes the folder at the start. */
void load_warn(const struct config *cfg, const char *path, FILE *warnings);

#endif
