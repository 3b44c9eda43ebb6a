/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_OPTIONS_H
#define TOOLS_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/control/protocol.h"

#define CTL_SOCKET "/run/rpcrdma-gw/control"

enum { CTL_WHY = 256 };

/** struct ctl_options - the command line; texts are argv's own. */
struct ctl_options {
	bool help, version, json;
	const char *socket;
	enum control_command command;
	bool by_client;				   /* "clients": sessions, added up */
	const char *route, *client, *name, *level; /* NULL: not said */
	uint64_t session;			   /* 0: not said */
};

/** ctl_options_parse - Return: 0, or -1 with the reason in @why (CTL_WHY octets). */
int ctl_options_parse(int argc, char **argv, struct ctl_options *o, char *why);

/** ctl_help - what --help prints. */
const char *ctl_help(void);

#endif
