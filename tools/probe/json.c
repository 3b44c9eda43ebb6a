/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/probe/json.h"

static void quoted(struct json *j, const char *s)
{
	fputc('"', j->to);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(j->to, "\\%c", c);
		else if (c < 0x20)
			fprintf(j->to, "\\u%04x", c);
		else
			fputc(c, j->to);
	}
	fputc('"', j->to);
}

static void member(struct json *j, const char *key)
{
	if (j->comma)
		fputs(", ", j->to);
	j->comma = true;
	if (key) {
		quoted(j, key);
		fputs(": ", j->to);
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	member(j, key);
	fputc(bracket, j->to);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	fputc(bracket, j->to);
	j->comma = true;
}

void json_string(struct json *j, const char *key, const char *value)
{
	member(j, key);
	quoted(j, value);
}

void json_number(struct json *j, const char *key, double value)
{
	member(j, key);
	fprintf(j->to, "%.15g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	member(j, key);
	fputs(value ? "true" : "false", j->to);
}

void json_hex(struct json *j, const char *key, const uint8_t *octets, size_t n)
{
	member(j, key);
	fputc('"', j->to);
	for (size_t i = 0; i < n; i++)
		fprintf(j->to, "%02x", octets[i]);
	fputc('"', j->to);
}
