/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_OPTIONS_H
#define TOOLS_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/control/protocol.h"

#define CTL_SOCKET "/run/rpcrdma-gw/control"

enum { CTL_WHY = 256 };

/** struct ctl_rpcs - which RPCs to trace. */
struct ctl_rpcs {
	uint64_t slow_ns; /* RPCs that took at least this long; 0: not given */
	bool has_program, has_version, has_procedure;
	uint32_t program, version, procedure;
	const char *kind; /* NULL: not given */
};

/* Order of the sessions of "top": the largest first. TOP_MEMORY: octets of memory that they hold. */
enum top_order { TOP_CALLS, TOP_BYTES, TOP_FLIGHT, TOP_MEMORY, TOP_ORDERS };

/** struct ctl_options - the command line; texts point into argv. */
struct ctl_options {
	bool help, version, json;
	const char *socket;
	enum control_command command;
	bool by_client;				   /* "clients": the sums of sessions, by client */
	bool is_top, once;			   /* used by "top" */
	enum top_order order;			   /* used by "top" */
	const char *route, *client, *name, *level; /* NULL: not given */
	uint64_t session;			   /* number of the session; 0: not given */
	struct ctl_rpcs rpcs;
	/* trace, capture: limits; 0: no limit. top: .time_ns is the time between two screens */
	uint64_t time_ns, count, size;
	const char *file; /* capture: the file to write */
};

/** ctl_options_parse - Return: 0, or -1 with the reason in @why (CTL_WHY octets). */
int ctl_options_parse(int argc, char **argv, struct ctl_options *o, char *why);

/** ctl_help - what --help prints. */
const char *ctl_help(void);

#endif
