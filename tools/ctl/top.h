/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_TOP_H
#define TOOLS_CTL_TOP_H

#include "tools/ctl/options.h"

/** top - who does how much now: a screen that is drawn anew again and again, or once. Return: as ask(). */
int top(const struct ctl_options *o, char *why);

#endif
