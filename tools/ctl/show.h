/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_SHOW_H
#define TOOLS_CTL_SHOW_H

#include <stdio.h>

#include "tools/ctl/options.h"

struct json_object;

/** struct show - answers as text for people. */
struct show {
	FILE *to;
	const struct ctl_options *o;
	unsigned lines; /* of the table that is being printed */
};

/** show_line - one line of the answer. */
void show_line(struct show *s, const char *name, struct json_object *value);

/** show_text - of member @name of @o, which a peer may have chosen: nothing that moves a terminal;
 * "-" when it is empty or not there. */
const char *show_text(struct json_object *o, const char *name, char *text, size_t size);

/** show_clean - @text, whoever wrote it: what could move a terminal becomes '?'. Return: @text. */
char *show_clean(char *text);

/** show_number - of member @name of @o, or 0. */
uint64_t show_number(struct json_object *o, const char *name);

/** show_size - octets in a word, into @text of 16. */
const char *show_size(uint64_t bytes, char *text);

#endif
