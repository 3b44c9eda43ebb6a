/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_JSON_H
#define TOOLS_PROBE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** struct json - a writer of one JSON text; commas come by themselves. */
struct json {
	FILE *to;
	bool comma; /* something stands before, in the object or array that is open */
};

/** json_open - "{" or "[" after an optional @key; json_close with its partner. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

/** json_* - one member; @key NULL in an array. */
void json_string(struct json *j, const char *key, const char *value);
void json_number(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_hex(struct json *j, const char *key, const uint8_t *octets, size_t n);

#endif
