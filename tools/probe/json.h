/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_JSON_H
#define TOOLS_PROBE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** struct json - a writer of one JSON text, which adds the commas. */
struct json {
	FILE *to;
	bool comma; /* the open object or array has a member already */
};

/** json_open - "{" or "[" after an optional @key. json_close - the bracket that closes it. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

/** json_* - write one member; @key is NULL in an array. */
void json_string(struct json *j, const char *key, const char *value);
void json_number(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_hex(struct json *j, const char *key, const uint8_t *octets, size_t n);

#endif
