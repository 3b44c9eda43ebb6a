/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_FOLLOW_H
#define TOOLS_CTL_FOLLOW_H

#include "tools/ctl/options.h"

/**
 * follow - commands that print continuously: RPCs as they end, messages as they pass
 *
 * Limits among their options end the commands, or SIGINT or SIGTERM. These are no errors. Return:
 * as ask(), with the reason in @why (CTL_WHY octets).
 */
int follow_trace(const struct ctl_options *o, char *why);
int follow_capture(const struct ctl_options *o, char *why);

/** follow_catch - from now on SIGINT and SIGTERM end the command, not the program. They are
 * delivered only in follow_sleep(), so no answer is cut. */
void follow_catch(void);

/** follow_sleep - sleep for @ns, until a signal, or until @fd is readable (-1: none). Return: false
 * if a signal has ever come. */
bool follow_sleep(uint64_t ns, int fd);

#endif
