/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_FOLLOW_H
#define TOOLS_CTL_FOLLOW_H

#include "tools/ctl/options.h"

/**
 * follow - what goes on and on, until it is enough: RPCs as they end, messages as they pass
 *
 * Ended by its options, or SIGINT or SIGTERM, which is no error. Return: as ask(), with the reason in
 * @why (CTL_WHY octets).
 */
int follow_trace(const struct ctl_options *o, char *why);
int follow_capture(const struct ctl_options *o, char *why);

/** follow_catch - from now on these signals end what follows, not the program: they are heard in follow_sleep()
 * alone, so that no answer is cut by one. */
void follow_catch(void);

/** follow_sleep - for so long, until a signal comes, or there is something to read at @fd, unless that is -1. Return:
 * whether to go on: no signal ever came. */
bool follow_sleep(uint64_t ns, int fd);

#endif
