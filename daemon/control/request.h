/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONTROL_REQUEST_H
#define DAEMON_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "daemon/control/protocol.h"

enum { REQUEST_TEXT = 256, REQUEST_WHY = 160 };

/** struct control_request - one request, checked. Only members that its command takes are set. */
struct control_request {
	enum control_command command;
	uint64_t session; /* number of the session; 0: absent */
	uint64_t slow_ns; /* RPCs that took at least this long; 0: absent */
	bool has_program, has_version, has_procedure;
	uint32_t program, version, procedure;
	bool has_level;
	enum log_level level;
	/* Empty: absent. */
	char route[REQUEST_TEXT], client[REQUEST_TEXT], name[REQUEST_TEXT], kind[REQUEST_TEXT];
};

/** request_parse - parse @len octets of JSON. Return: 0; ERR_CONFIG with the reason in @why
 * (REQUEST_WHY octets); or ERR_NOMEM. */
int request_parse(const char *text, size_t len, struct control_request *out, char *why) WARN_UNUSED;

#endif
