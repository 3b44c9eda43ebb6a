/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

static void store(const struct key *key, void *field, uint64_t value)
{
	if (key->size == sizeof(uint16_t))
		*(uint16_t *)field = (uint16_t)value;
	else if (key->size == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)value;
	else
		*(uint64_t *)field = value;
}

/* Check range and multiple of a number. @value may be negative. */
static void store_checked(struct reader *r, const config_setting_t *s, const struct key *key,
			  void *field, int64_t value)
{
	if (value < 0 || (uint64_t)value < key->min || (uint64_t)value > key->max)
		reader_error(r, reader_line(s),
			     "%s = %" PRId64 " is out of range: use %" PRIu64 " to %" PRIu64,
			     key->name, value, key->min, key->max);
	else if ((uint64_t)value % key->multiple)
		reader_error(r, reader_line(s),
			     "%s = %" PRId64 " is not a multiple of %u: use %" PRIu64
			     " or %" PRIu64,
			     key->name, value, key->multiple,
			     (uint64_t)value / key->multiple * key->multiple,
			     ((uint64_t)value / key->multiple + 1) * key->multiple);
	else
		store(key, field, (uint64_t)value);
}

static void read_number(struct reader *r, const config_setting_t *s, const struct key *key,
			void *field)
{
	int64_t value;

	if (reader_integer(s, &value))
		store_checked(r, s, key, field, value);
	else
		reader_error(r, reader_line(s),
			     "%s must be a whole number: use %" PRIu64 " to %" PRIu64, key->name,
			     key->min, key->max);
}

/* A size like "4M"; -1 if @text is no size. */
static int64_t parse_bytes(const char *text)
{
	static const char suffixes[] = "KMG";
	uint64_t value, scale = 1;
	const char *suffix;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end) {
		suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			return -1;
		scale = (uint64_t)1 << (10 * (suffix - suffixes + 1));
	}
	return errno || value > INT64_MAX / scale ? -1 : (int64_t)(value * scale);
}

static void read_bytes(struct reader *r, const config_setting_t *s, const struct key *key,
		       void *field)
{
	int64_t value = -1;

	if (reader_integer(s, &value)) {
		store_checked(r, s, key, field, value);
		return;
	}
	if (s->type == CONFIG_TYPE_STRING)
		value = parse_bytes(s->value.sval);
	if (value < 0)
		reader_error(
			r, reader_line(s),
			"%s is not a size: write octets as a number, or as text with K, M or G "
			"like \"4M\"",
			key->name);
	else
		store_checked(r, s, key, field, value);
}

static void read_bool(struct reader *r, const config_setting_t *s, const struct key *key,
		      void *field)
{
	if (s->type == CONFIG_TYPE_BOOL)
		*(bool *)field = s->value.ival != 0;
	else
		reader_error(r, reader_line(s), "%s must be true or false: write it without quotes",
			     key->name);
}

static void read_name(struct reader *r, const config_setting_t *s, const struct key *key,
		      void *field)
{
	const char *text = reader_text(r, s, key, "a word");
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return;
	if (len == 0 || len >= CONFIG_NAME_BYTES)
		reader_error(r, reader_line(s), "%s has %zu octets: use 1 to %d", key->name, len,
			     CONFIG_NAME_BYTES - 1);
	else if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") <
		 len)
		reader_error(r, reader_line(s),
			     "%s has characters it may not have: use letters, digits, '.', '_' "
			     "and '-'",
			     key->name);
	/* rpcrdma-gwctl takes a number for a session. */
	else if (strspn(text, "0123456789._-") == len)
		reader_error(r, reader_line(s), "%s \"%s\" has no letter: use one that has",
			     key->name, text);
	else
		memcpy(field, text, len + 1);
}

static void read_fabric(struct reader *r, const config_setting_t *s, const struct key *key,
			void *field)
{
	const char *text = reader_text(r, s, key, "\"iwarp\" or \"verbs\"");

	if (!text)
		return;
	if (strcmp(text, "iwarp") != 0 && strcmp(text, "verbs") != 0)
		reader_error(r, reader_line(s),
			     "there is no such fabric: use \"iwarp\" or \"verbs\"");
	else
		memcpy(field, text, strlen(text) + 1);
}

static void read_address(struct reader *r, const config_setting_t *s, const struct key *key,
			 void *field)
{
	const char *text = reader_text(r, s, key, "an IPv4 or IPv6 address");
	char bare[CONFIG_ADDRESS_BYTES];

	if (text && reader_address(r, s, key, text, bare))
		memcpy(field, bare, sizeof(bare));
}

/* One bit of the version mask; 0: no version. */
static unsigned version_of(const config_setting_t *item)
{
	int64_t number;

	if (item->type == CONFIG_TYPE_STRING)
		return strcmp(item->value.sval, "2-early") == 0 ? CONFIG_V2_EARLY : 0;
	if (!reader_integer(item, &number))
		return 0;
	return number == 1 ? CONFIG_V1 : number == 2 ? CONFIG_V2 : 0;
}

static void read_versions(struct reader *r, const config_setting_t *s, const struct key *key,
			  void *field)
{
	unsigned mask = 0;
	int n = config_setting_length(s);
	bool is_good = (s->type == CONFIG_TYPE_ARRAY || s->type == CONFIG_TYPE_LIST) && n > 0;

	for (int i = 0; is_good && i < n; i++) {
		unsigned version = version_of(config_setting_get_elem(s, (unsigned)i));

		is_good = version != 0;
		mask |= version;
	}
	if (is_good)
		*(uint8_t *)field = (uint8_t)mask;
	else
		reader_error(
			r, reader_line(s),
			"%s must list versions of RPC-over-RDMA: use 1, 2 and \"2-early\", like "
			"[1, 2]",
			key->name);
}

static void read_version(struct reader *r, const config_setting_t *s, const struct key *key,
			 void *field)
{
	static const char *const names[] = {"1", "2", "auto", "2-early"}; /* indexed by mask - 1 */
	int64_t number = 0; /* stays 0 if @s is text */

	reader_integer(s, &number);
	for (unsigned mask = 1; mask <= sizeof(names) / sizeof(names[0]); mask++)
		if ((s->type == CONFIG_TYPE_STRING &&
		     strcmp(s->value.sval, names[mask - 1]) == 0) ||
		    (number == mask && mask < 3)) {
			*(uint8_t *)field = (uint8_t)mask;
			return;
		}
	reader_error(r, reader_line(s),
		     "there is no such %s: use \"auto\", \"1\", \"2\" or \"2-early\"", key->name);
}

static void read_level(struct reader *r, const config_setting_t *s, const struct key *key,
		       void *field)
{
	const char *text = reader_text(r, s, key, "a level");

	if (text && log_level_parse(text, field) != 0)
		reader_error(r, reader_line(s),
			     "there is no such level: use \"error\", \"warn\", \"info\" or "
			     "\"debug\"");
}

/* "a", "b" or "c" */
static const char *list_words(const struct key *key, char *text, size_t size)
{
	size_t len = 0;

	for (unsigned i = 0; i < key->nwords && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s\"%s\"",
					i == 0		       ? ""
					: i + 1 == key->nwords ? " or "
							       : ", ",
					key->words[i]);
	return text;
}

static void read_word(struct reader *r, const config_setting_t *s, const struct key *key,
		      void *field)
{
	char words[128];
	const char *text = reader_text(r, s, key, list_words(key, words, sizeof(words)));

	if (!text)
		return;
	/* All enumerations have one size and alignment, so one type can store each. */
	_Static_assert(sizeof(enum config_receives) == sizeof(unsigned) &&
			       sizeof(enum config_reverse) == sizeof(unsigned) &&
			       sizeof(enum config_hostauth_mode) == sizeof(unsigned),
		       "one size");
	for (unsigned i = 0; i < key->nwords; i++)
		if (strcmp(text, key->words[i]) == 0) {
			*(unsigned *)field = i;
			return;
		}
	reader_error(r, reader_line(s), "there is no such %s: use %s", key->name, words);
}

/*
 * With hop = "far" the defaults of inline and credits are larger, so that a call travels with its
 * data. With receive_structure the defaults stay: the data have Receives of their own, and each
 * takes memory for the life of the connection.
 */
static void read_hop(struct reader *r, const config_setting_t *s, const struct key *key,
		     void *field)
{
	struct config_end *end = container_of(field, struct config_end, hop);
	const config_setting_t *group = config_setting_parent(s);

	read_word(r, s, key, field);
	if (end->hop != CONFIG_HOP_FAR || config_setting_get_member(group, "receive_structure"))
		return;
	if (!config_setting_get_member(group, "inline"))
		end->inline_bytes = CONFIG_FAR_INLINE;
	if (!config_setting_get_member(group, "credits"))
		end->credits = CONFIG_FAR_CREDITS;
}

static void read_file(struct reader *r, const config_setting_t *s, const struct key *key,
		      void *field)
{
	const char *text = reader_text(r, s, key, "the path of a file");
	struct config_file *file = field;
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return;
	file->line = reader_line(s);
	if (len >= sizeof(file->path))
		reader_error(r, reader_line(s), "%s has %zu octets: use %zu at most", key->name,
			     len, sizeof(file->path) - 1);
	else if (len > 0 && text[0] != '/')
		reader_error(r, reader_line(s),
			     "%s is not an absolute path: begin it with a slash, because the "
			     "service has another working folder",
			     key->name);
	else
		memcpy(file->path, text, len + 1);
}

static void read_names(struct reader *r, const config_setting_t *s, const struct key *key,
		       void *field)
{
	int n = reader_list(r, s, key, CONFIG_NAMES_MAX, "\"host.example\", ...");
	struct config_names *names = field;

	if (n < 0)
		return;
	*names = (struct config_names){.line = reader_line(s)};
	for (int i = 0; i < n; i++)
		reader_name(r, config_setting_get_elem(s, (unsigned)i), key, names);
}

static void read_group(struct reader *r, const config_setting_t *s, const struct key *key,
		       void *field)
{
	if (s->type == CONFIG_TYPE_GROUP)
		reader_group(r, s, key->sub, field);
	else
		reader_error(r, reader_line(s), "%s must be a group: write %s = { ... };",
			     key->name, key->name);
}

/* @field is a struct config. Its routes are allocated and hold defaults. */
static void read_routes(struct reader *r, const config_setting_t *s, const struct key *key,
			void *field)
{
	struct config *cfg = field;

	if (s->type != CONFIG_TYPE_LIST) {
		reader_error(r, reader_line(s),
			     "routes must be a list: write routes = ( { ... }, { ... } );");
		return;
	}
	if (config_setting_length(s) == 0)
		reader_error(r, reader_line(s), "there are no routes: give at least one");
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const config_setting_t *item = config_setting_get_elem(s, i);

		if (item->type == CONFIG_TYPE_GROUP)
			reader_group(r, item, key->sub, &cfg->routes[i]);
		else
			reader_error(r, reader_line(item),
				     "a route must be a group: write { name = ...; }");
	}
}

typedef void read_fn(struct reader *, const config_setting_t *, const struct key *, void *);

static read_fn *const readers[KEY_KINDS] = {
	[KEY_NUMBER] = read_number,	[KEY_BYTES] = read_bytes,     [KEY_BOOL] = read_bool,
	[KEY_NAME] = read_name,		[KEY_FABRIC] = read_fabric,   [KEY_ADDRESS] = read_address,
	[KEY_VERSIONS] = read_versions, [KEY_VERSION] = read_version, [KEY_LEVEL] = read_level,
	[KEY_WORD] = read_word,		[KEY_GROUP] = read_group,     [KEY_ROUTES] = read_routes,
	[KEY_FILE] = read_file,		[KEY_NAMES] = read_names,     [KEY_NETS] = reader_nets,
	[KEY_SOURCES] = reader_sources, [KEY_PORTS] = reader_ports,   [KEY_HOST] = reader_host,
	[KEY_HOSTS] = reader_hosts,	[KEY_HOP] = read_hop,
};

static const struct key *find_key(const struct key_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->keys[i].name, name) == 0)
			return &table->keys[i];
	return NULL;
}

static void report_unknown(struct reader *r, const config_setting_t *s,
			   const struct key_table *table)
{
	char known[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < table->n && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					table->keys[i].name);
	reader_error(r, reader_line(s), "unknown key \"%s\": known here are %s", s->name, known);
}

void reader_group(struct reader *r, const config_setting_t *group, const struct key_table *table,
		  void *base)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
		const struct key *key = find_key(table, s->name);

		if (key)
			readers[key->kind](r, s, key, key_field(key, base));
		else
			report_unknown(r, s, table);
	}
	for (size_t i = 0; i < table->n; i++)
		if (table->keys[i].is_required &&
		    !config_setting_get_member(group, table->keys[i].name))
			reader_error(r, reader_line(group), "%s is missing: give it",
				     table->keys[i].name);
}
