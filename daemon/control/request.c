/* SPDX-License-Identifier: BSD-2-Clause */
/* The client may be any program: unknown members are refused, and nothing is guessed. */
#include "daemon/control/request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

enum { DEPTH = 4, QUOTED_MAX = 64 /* octets of the request that an error quotes */ };

enum member {
	MEMBER_DO,
	MEMBER_ROUTE,
	MEMBER_CLIENT,
	MEMBER_NAME,
	MEMBER_SESSION,
	MEMBER_LEVEL,
	MEMBER_SLOW,
	MEMBER_PROGRAM,
	MEMBER_VERSION,
	MEMBER_PROCEDURE,
	MEMBER_KIND,
	MEMBERS
};

static const char *const members[MEMBERS] = {
	[MEMBER_DO] = "do",	      [MEMBER_ROUTE] = "route",
	[MEMBER_CLIENT] = "client",   [MEMBER_NAME] = "name",
	[MEMBER_SESSION] = "session", [MEMBER_LEVEL] = "level",
	[MEMBER_SLOW] = "slow_ns",    [MEMBER_PROGRAM] = "program",
	[MEMBER_VERSION] = "version", [MEMBER_PROCEDURE] = "procedure",
	[MEMBER_KIND] = "kind",
};

#define BIT(member) (1u << (member))
#define SESSIONS (BIT(MEMBER_ROUTE) | BIT(MEMBER_CLIENT) | BIT(MEMBER_NAME) | BIT(MEMBER_SESSION))

/* Members that each command may have, and must have. */
static const struct {
	unsigned may, must;
} takes[CONTROL_COMMANDS] = {
	[CONTROL_SESSIONS] = {BIT(MEMBER_ROUTE) | BIT(MEMBER_CLIENT) | BIT(MEMBER_NAME), 0},
	[CONTROL_SHOW] = {BIT(MEMBER_SESSION), BIT(MEMBER_SESSION)},
	[CONTROL_DRAIN] = {SESSIONS, 0},
	[CONTROL_KILL] = {BIT(MEMBER_SESSION), BIT(MEMBER_SESSION)},
	[CONTROL_LOG] = {BIT(MEMBER_LEVEL), 0},
	[CONTROL_TRACE] = {SESSIONS | BIT(MEMBER_SLOW) | BIT(MEMBER_PROGRAM) | BIT(MEMBER_VERSION) |
				   BIT(MEMBER_PROCEDURE) | BIT(MEMBER_KIND),
			   0},
	[CONTROL_CAPTURE] = {SESSIONS, 0},
};

/* How many octets of @text to quote. A UTF-8 character is never cut, because the answer must be
 * UTF-8. */
static int shown_length(const char *text)
{
	size_t n = strnlen(text, QUOTED_MAX);

	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

static int bad(char *why, const char *what, const char *which)
{
	snprintf(why, REQUEST_WHY, "%s%s%.*s", what, *which ? ": " : "", shown_length(which),
		 which);
	return ERR_CONFIG;
}

static int take_text(struct json_object *value, char *to, const char *name, char *why)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(value, json_type_string))
		return bad(why, "this has to be text", name);
	text = json_object_get_string(value);
	len = (size_t)json_object_get_string_len(value);
	if (len == 0 || len >= REQUEST_TEXT || strlen(text) != len)
		return bad(why, "this has to be 1 to 255 octets of text", name);
	memcpy(to, text, len + 1);
	return 0;
}

static int take_command(struct json_object *value, struct control_request *r, char *why)
{
	static const char *const words[CONTROL_COMMANDS] = CONTROL_WORDS;
	char text[REQUEST_TEXT] = "";
	int err = take_text(value, text, members[MEMBER_DO], why);

	if (err)
		return err;
	for (unsigned i = 0; i < CONTROL_COMMANDS; i++)
		if (strcmp(text, words[i]) == 0) {
			r->command = (enum control_command)i;
			return 0;
		}
	return bad(why, "no such command", text);
}

static int take_number(struct json_object *value, int64_t most, uint64_t *to, const char *name,
		       char *why)
{
	int64_t number;

	if (!json_object_is_type(value, json_type_int))
		return bad(why, "this has to be a whole number", name);
	number = json_object_get_int64(value);
	if (number < 0 || number > most)
		return bad(why, "this number is out of bounds", name);
	*to = (uint64_t)number;
	return 0;
}

static int take_session(struct json_object *value, struct control_request *r, char *why)
{
	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) <= 0)
		return bad(why, "sessions have numbers from 1", "");
	return take_number(value, INT64_MAX, &r->session, members[MEMBER_SESSION], why);
}

/* A 32-bit number of RPC. */
static int take_word(struct json_object *value, uint32_t *to, bool *has, const char *name,
		     char *why)
{
	uint64_t number = 0;
	int err = take_number(value, UINT32_MAX, &number, name, why);

	*to = (uint32_t)number;
	*has = !err;
	return err;
}

static int take_level(struct json_object *value, struct control_request *r, char *why)
{
	char text[REQUEST_TEXT] = "";
	int err = take_text(value, text, members[MEMBER_LEVEL], why);

	if (err)
		return err;
	r->has_level = true;
	if (log_level_parse(text, &r->level))
		return bad(why, "no such level, use error, warn, info or debug", text);
	return 0;
}

static int take(enum member m, struct json_object *value, struct control_request *r, char *why)
{
	switch (m) {
	case MEMBER_DO:
		return take_command(value, r, why);
	case MEMBER_ROUTE:
		return take_text(value, r->route, members[m], why);
	case MEMBER_CLIENT:
		return take_text(value, r->client, members[m], why);
	case MEMBER_NAME:
		return take_text(value, r->name, members[m], why);
	case MEMBER_SESSION:
		return take_session(value, r, why);
	case MEMBER_LEVEL:
		return take_level(value, r, why);
	case MEMBER_SLOW:
		return take_number(value, INT64_MAX, &r->slow_ns, members[m], why);
	case MEMBER_PROGRAM:
		return take_word(value, &r->program, &r->has_program, members[m], why);
	case MEMBER_VERSION:
		return take_word(value, &r->version, &r->has_version, members[m], why);
	case MEMBER_PROCEDURE:
		return take_word(value, &r->procedure, &r->has_procedure, members[m], why);
	case MEMBER_KIND:
		return take_text(value, r->kind, members[m], why);
	case MEMBERS:
		break;
	}
	return ERR_CONFIG;
}

/* Return: MEMBERS if @name is unknown. */
static enum member member_of(const char *name)
{
	unsigned m = 0;

	while (m < MEMBERS && strcmp(name, members[m]) != 0)
		m++;
	return (enum member)m;
}

static int take_all(struct json_object *all, struct control_request *r, char *why)
{
	unsigned said = 0;

	if (!json_object_is_type(all, json_type_object))
		return bad(why, "a request is a JSON object on a line", "");
	json_object_object_foreach(all, name, value)
	{
		enum member m = member_of(name);
		int err = m == MEMBERS ? bad(why, "no such member", name) : take(m, value, r, why);

		if (err)
			return err;
		said |= BIT(m);
	}
	if (!(said & BIT(MEMBER_DO)))
		return bad(why, "there is no \"do\"", "");
	said &= ~BIT(MEMBER_DO);
	for (unsigned m = 0; m < MEMBERS; m++) {
		if (said & ~takes[r->command].may & BIT(m))
			return bad(why, "this command does not take it", members[m]);
		if (takes[r->command].must & ~said & BIT(m))
			return bad(why, "this command needs it", members[m]);
	}
	return 0;
}

int request_parse(const char *text, size_t len, struct control_request *out, char *why)
{
	struct json_tokener *t = json_tokener_new_ex(DEPTH);
	struct json_object *all;
	int err;

	memset(out, 0, sizeof(*out));
	*why = '\0';
	if (!t)
		return ERR_NOMEM;
	if (len > CONTROL_REQUEST_BYTES) {
		json_tokener_free(t);
		return bad(why, "the request is too long", "");
	}
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	all = json_tokener_parse_ex(t, text, (int)len);
	if (json_tokener_get_error(t) != json_tokener_success)
		err = bad(why, "no JSON object",
			  json_tokener_error_desc(json_tokener_get_error(t)));
	else if (json_tokener_get_parse_end(t) != len)
		err = bad(why, "there is text after the object", "");
	else
		err = take_all(all, out, why);
	json_object_put(all);
	json_tokener_free(t);
	return err;
}
