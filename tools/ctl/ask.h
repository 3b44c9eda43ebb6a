/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_ASK_H
#define TOOLS_CTL_ASK_H

#include <stdio.h>

#include "tools/ctl/options.h"

struct json_object;

/** Called for one line of an answer: @name and @value of its one member, and the line as it
 * came. */
typedef void ask_line(void *arg, const char *name, struct json_object *value, const char *line);

enum { ASK_DONE = 0, ASK_REFUSED = 1, ASK_NO_GATEWAY = 3 };

/** ask - send the request of @o to the gateway. @told is called for each line of the answer, except
 * an error. Return: ASK_DONE; or another ASK_..., with the reason in @why (CTL_WHY octets). */
int ask(const struct ctl_options *o, ask_line *told, void *arg, char *why);

/** struct ask_link - a connection for several requests. */
struct ask_link {
	const struct ctl_options *o; /* borrowed */
	FILE *f;
	char *line;
	size_t cap;
};

/** ask_open - Return: as ask(). The caller must call ask_close() in any case. */
int ask_open(struct ask_link *link, const struct ctl_options *o, char *why);

/** ask_say - send a request, as ask(). The options of @o are added only if @command is the command
 * of @o. */
int ask_say(struct ask_link *link, enum control_command command, ask_line *told, void *arg,
	    char *why);

void ask_close(struct ask_link *link);

#endif
