/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_TOP_H
#define TOOLS_CTL_TOP_H

#include "tools/ctl/options.h"

/** top - current rates by route and session: a screen that is drawn again and again, or once.
 * Return: as ask(). */
int top(const struct ctl_options *o, char *why);

#endif
