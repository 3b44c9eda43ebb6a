/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFIG_LOAD_H
#define TESTS_CONFIG_LOAD_H

#include "config/config.h"

/** load - load texts and files as configurations, and keep the messages about them. */

extern char told[65536]; /* messages of the last load, without the file's name */

int load_path(const char *path, struct config **cfg);
int load_octets(const char *text, size_t len, struct config **cfg);
int load(const char *text, struct config **cfg);

#define NAME "name = \"a\";\n"				 /* line 1 of a route */
#define LISTEN "listen = { address = \"10.0.0.1\"; };\n" /* line 2 */
#define UP "upstream = { address = \"10.0.0.2\"; };\n"	 /* line 3 */
#define ROUTE(body) "routes = ( {\n" body "} );\n"	 /* the first line of @body is line 2 */
#define GOOD ROUTE(NAME LISTEN UP)
#define ON(text) ROUTE(NAME "listen = { address = \"10.0.0.1\";\n" text " };\n" UP)	  /* 4 */
#define TO(text) ROUTE(NAME LISTEN "upstream = { address = \"10.0.0.2\";\n" text " };\n") /* 5 */

struct bad {
	const char *text;
	const char *errors; /* all messages */
};

#define INT_RANGE(key, value, low, high)                                                           \
	key " = " value " is out of range: use " low " to " high "\n"
#define NOT_PLAIN                                                                                  \
	" has quotes, backslashes or characters that are not printable ASCII: leave them out\n"
#define ON_VERBS "fabric = \"verbs\"; "
#define NOT_ON_IWARP(key)                                                                          \
	key " does nothing with fabric \"iwarp\": use it with \"verbs\", or leave it out\n"

#define ROWS(t) t, sizeof(t) / sizeof((t)[0])

/** check_rows - each text is refused, with exactly these messages. */
void check_rows(const struct bad *rows, size_t n);

#endif
