/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that peers prove, as texts in a row. */
#include <string.h>

#include "config/reader.h"

const char *config_name(const struct config_names *names, uint32_t i)
{
	const char *at = names->text;

	while (i-- > 0)
		at += strlen(at) + 1;
	return at;
}

const char *config_source_name(const struct config_sources *sources,
			       const struct config_source *source)
{
	return source->name ? config_name(&sources->names, source->name - 1u) : NULL;
}

bool reader_name(struct reader *r, const config_setting_t *item, const struct key *key,
		 struct config_names *names)
{
	const char *text = reader_text(r, item, key, "each name");
	size_t len = text ? strlen(text) + 1 : 0;
	size_t at = (size_t)(config_name(names, names->n) - names->text);

	if (!text)
		return false;
	if (len == 1 || strchr(text, ' ')) {
		reader_error(
			r, reader_line(item),
			"%s has a name that is empty or has blanks: write names as certificates "
			"have them",
			key->name);
		return false;
	}
	if (at + len > sizeof(names->text)) {
		reader_error(r, reader_line(item),
			     "%s are too long together: use at most %zu octets", key->name,
			     sizeof(names->text));
		return false;
	}
	memcpy(names->text + at, text, len);
	names->n++;
	return true;
}
