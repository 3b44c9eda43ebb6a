/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_HELP_H
#define DAEMON_HELP_H

/* Text of --help: enough to run the gateway without the manual page. */
extern const char help_text[];

#endif
