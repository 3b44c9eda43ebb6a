/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include <libconfig.h>

#include "config/keys.h"

/** reader - private to config/: turns a parsed tree into fields. Every problem is reported. */

enum { READER_MAX_REPORTED = 64 };

struct reader {
	const char *path;
	FILE *errors;
	unsigned nerrors;
	/* Lines on which scan.c already reported a number that libconfig would wrap. */
	unsigned reported[READER_MAX_REPORTED];
	unsigned nreported;
};

/** reader_error - report one line "FILE:LINE: ..." about @line, unless @line is in .reported. */
void reader_error(struct reader *r, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** reader_line - line of @setting; 1 for the file as a whole. */
unsigned reader_line(const config_setting_t *setting);

/** reader_member - member @name of @group, or @group itself if it has no such member; messages
 * point to its line. */
const config_setting_t *reader_member(const config_setting_t *group, const char *name);

/** reader_route - how messages name route @i: by its name, or by its number if it has none.
 * Return: @text. */
enum { READER_ROUTE_BYTES = CONFIG_NAME_BYTES + 10 };
const char *reader_route(const struct config *cfg, uint32_t i, char text[READER_ROUTE_BYTES]);

/** reader_text - the text of @s, or NULL after an error, which names @want if @s is no text. The
 * text is printable and needs no escapes between quotes. */
const char *reader_text(struct reader *r, const config_setting_t *s, const struct key *key,
			const char *want);

/** reader_list - number of items of @s, up to @most; -1 after an error, which names @want. */
int reader_list(struct reader *r, const config_setting_t *s, const struct key *key, int most,
		const char *want);

/** reader_name - append the text of @item, an item in the list of @key, to @names. Return: false
 * after a reported error. */
bool reader_name(struct reader *r, const config_setting_t *item, const struct key *key,
		 struct config_names *names);

/** reader_host, reader_hosts - read KEY_HOST into char[CONFIG_ADDRESS_BYTES] and KEY_HOSTS into
 * struct config_names (hosts.c). */
void reader_host(struct reader *r, const config_setting_t *s, const struct key *key, void *field);
void reader_hosts(struct reader *r, const config_setting_t *s, const struct key *key, void *field);

/** reader_address - whether @text, of the setting @s, is an address; @bare (CONFIG_ADDRESS_BYTES)
 * then gets it without brackets. Return: false after a reported error (hosts.c). */
bool reader_address(struct reader *r, const config_setting_t *s, const struct key *key,
		    const char *text, char *bare);

/** reader_integer - whether @s is a whole number; *@value then has it. */
bool reader_integer(const config_setting_t *s, int64_t *value);

/** reader_nets, reader_sources, reader_ports - read KEY_NETS into struct config_nets and
 * KEY_SOURCES into struct config_sources (nets.c), and KEY_PORTS into struct config_ports
 * (side.c). */
void reader_nets(struct reader *r, const config_setting_t *s, const struct key *key, void *field);
void reader_sources(struct reader *r, const config_setting_t *s, const struct key *key,
		    void *field);
void reader_ports(struct reader *r, const config_setting_t *s, const struct key *key, void *field);

/**
 * reader_group - read @group by @table into the structure @base
 *
 * Fields without a setting, or with an unusable one, keep their value.
 */
void reader_group(struct reader *r, const config_setting_t *group, const struct key_table *table,
		  void *base);

/** reader_routes - the setting "routes" if it is a list, else NULL. */
const config_setting_t *reader_routes(const config_setting_t *root);

/**
 * scan - report what libconfig's scanner accepts silently and wrongly
 * @text: a "versions" of numbers and text, [1, "2-early"], is changed into a form that libconfig
 *        can hold
 *
 * Reported are numbers that do not fit (libconfig wraps them), NUL octets, also as \x00
 * (libconfig's text ends there), and @include. Includes are not supported because messages could
 * not name lines in them.
 *
 * Return: whether @text may be parsed.
 */
bool scan(struct reader *r, char *text, size_t len);

/** check_shared - find and check routes that share a listener: which route listens, and which
 * client names lead to which route. */
void check_shared(struct reader *r, const config_setting_t *routes, struct config *cfg);

/** check_hosts - check the servers of an upstream. @item: the route's setting. */
void check_hosts(struct reader *r, const config_setting_t *item, const struct config_route *route);

/** check_side - check that the kernel can forward what side_ports asks for. */
void check_side(struct reader *r, const struct config *cfg);

/** check - checks that need more than one key: duplicates, loops, memory. @root is the file's
 * tree. */
void check(struct reader *r, const config_setting_t *root, struct config *cfg);

#endif
