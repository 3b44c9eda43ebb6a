/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOAD_H
#define DAEMON_LOAD_H

#include "config/config.h"

/** load_config - config_load(), and config_check_loops() with the addresses of this machine: no
 * route may lead to its own listener, and no routes to each other in a ring. Nothing is sent.
 * Return: as config_load(). */
int load_config(const char *path, struct config **out, FILE *errors) WARN_UNUSED;

/** load_show - write @path to @text, which has @size octets, as the log and JSON can have it.
 * Quotes, backslashes and all that is not printable ASCII become '?'. Return: @text. */
const char *load_show(const char *path, char *text, size_t size);

/** load_clean - replace by '?' each octet in the lines of @problems that is not printable ASCII. */
void load_clean(char *problems);

/** load_warn - write to @warnings problems that a start would fail on now: the folder of the
 * control socket is missing, or another file is in its place. These are no errors, because a unit's
 * RuntimeDirectory= makes the folder at the start. */
void load_warn(const struct config *cfg, const char *path, FILE *warnings);

#endif
