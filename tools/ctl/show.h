/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_SHOW_H
#define TOOLS_CTL_SHOW_H

#include <stdio.h>

#include "tools/ctl/options.h"

struct json_object;

/** struct show - prints answers as text. */
struct show {
	FILE *to;
	const struct ctl_options *o;
	unsigned lines; /* number of lines of the current table so far */
};

/** show_line - print one line of an answer. */
void show_line(struct show *s, const char *name, struct json_object *value);

/** show_text - copy member @name of @o into @text. A peer may have chosen the member, so control
 * characters for terminals are replaced. "-" if the member is empty or absent. Return: @text. */
const char *show_text(struct json_object *o, const char *name, char *text, size_t size);

/** show_clean - replace control characters for terminals in @text by '?'. Return: @text. */
char *show_clean(char *text);

/** show_number - number of member @name of @o, or 0. */
uint64_t show_number(struct json_object *o, const char *name);

/** show_size - write @bytes with a unit into @text of 16 octets. Return: @text. */
const char *show_size(uint64_t bytes, char *text);

#endif
