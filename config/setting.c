/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to one setting, and reports of what is wrong with it. */
#include "config/reader.h"

#include <ctype.h>
#include <stdarg.h>

void reader_error(struct reader *r, unsigned line, const char *fmt, ...)
{
	va_list ap;

	r->nerrors++;
	for (unsigned i = 0; i < r->nreported; i++)
		if (r->reported[i] == line)
			return;
	fprintf(r->errors, "%s:%u: ", r->path, line);
	va_start(ap, fmt);
	vfprintf(r->errors, fmt, ap);
	va_end(ap);
	fputc('\n', r->errors);
}

unsigned reader_line(const config_setting_t *setting)
{
	return setting->line ? setting->line : 1;
}

const config_setting_t *reader_member(const config_setting_t *group, const char *name)
{
	const config_setting_t *member = config_setting_get_member(group, name);

	return member ? member : group;
}

const config_setting_t *reader_routes(const config_setting_t *root)
{
	const config_setting_t *routes = config_setting_get_member(root, "routes");

	return routes && routes->type == CONFIG_TYPE_LIST ? routes : NULL;
}

const char *reader_route(const struct config *cfg, uint32_t i, char text[READER_ROUTE_BYTES])
{
	const char *name = cfg->routes[i].name;

	if (*name)
		snprintf(text, READER_ROUTE_BYTES, "route \"%s\"", name);
	else
		snprintf(text, READER_ROUTE_BYTES, "route %u", i + 1);
	return text;
}

/* Texts must be printable without escapes because messages, logs and answers quote them. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

const char *reader_text(struct reader *r, const config_setting_t *s, const struct key *key,
			const char *want)
{
	if (s->type != CONFIG_TYPE_STRING)
		reader_error(r, reader_line(s), "%s must be text: write %s in double quotes",
			     key->name, want);
	else if (!is_plain(s->value.sval))
		reader_error(r, reader_line(s),
			     "%s has quotes, backslashes or characters that are not printable "
			     "ASCII: leave them out",
			     key->name);
	else
		return s->value.sval;
	return NULL;
}

int reader_list(struct reader *r, const config_setting_t *s, const struct key *key, int most,
		const char *want)
{
	int n = config_setting_length(s);

	if (s->type != CONFIG_TYPE_ARRAY && s->type != CONFIG_TYPE_LIST) {
		reader_error(r, reader_line(s), "%s must be a list: write [%s]", key->name, want);
		return -1;
	}
	if (n > most)
		reader_error(r, reader_line(s), "%s has %d items: use %d at most", key->name, n,
			     most);
	if (n == 0 && key->needs_items)
		reader_error(r, reader_line(s), "%s is empty: give at least one, or leave it out",
			     key->name);
	return n > most ? -1 : n;
}

bool reader_integer(const config_setting_t *s, int64_t *value)
{
	if (s->type != CONFIG_TYPE_INT && s->type != CONFIG_TYPE_INT64)
		return false;
	*value = s->type == CONFIG_TYPE_INT ? s->value.ival : s->value.llval;
	return true;
}
