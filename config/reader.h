/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include <libconfig.h>

#include "config/keys.h"

/** reader - private to config/: from a parsed tree to fields, telling every problem. */

enum { READER_MAX_TOLD = 64 };

struct reader {
	const char *path;
	FILE *errors;
	unsigned nerrors;
	/* Lines with a number that the parser would wrap: told once, by scan.c. */
	unsigned told[READER_MAX_TOLD];
	unsigned ntold;
};

/** reader_error - one line "FILE:LINE: ..." about @line; nothing more about a line in @told. */
void reader_error(struct reader *r, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** reader_line - line of @setting; 1 for the file as a whole. */
unsigned reader_line(const config_setting_t *setting);

/** reader_member - member @name of @group, or @group itself when absent: where to point. */
const config_setting_t *reader_member(const config_setting_t *group, const char *name);

/** reader_route - what messages call route @i: its name, or its number where it has none. Return: @text. */
enum { READER_ROUTE_BYTES = CONFIG_NAME_BYTES + 10 };
const char *reader_route(const struct config *cfg, uint32_t i, char text[READER_ROUTE_BYTES]);

/** reader_text - the text of @s, or NULL after an error, which names @want where @s is no text. The text can be printed between
 * quotes as it stands. */
const char *reader_text(struct reader *r, const config_setting_t *s, const struct key *key,
			const char *want);

/** reader_list - how many items @s has, @most at most; -1 after an error, which names @want. */
int reader_list(struct reader *r, const config_setting_t *s, const struct key *key, int most,
		const char *want);

/** reader_name - the text of @item, one of @key's, to @names. Return: whether; else that was told. */
bool reader_name(struct reader *r, const config_setting_t *item, const struct key *key,
		 struct config_names *names);

/** reader_host, reader_hosts - KEY_HOST into char[CONFIG_ADDRESS_BYTES], KEY_HOSTS into struct config_names: hosts.c. */
void reader_host(struct reader *r, const config_setting_t *s, const struct key *key, void *field);
void reader_hosts(struct reader *r, const config_setting_t *s, const struct key *key, void *field);

/** reader_address - whether @text, of the setting @s, is an address as a whole, then without brackets in @bare of
 * CONFIG_ADDRESS_BYTES; else that was told: hosts.c. */
bool reader_address(struct reader *r, const config_setting_t *s, const struct key *key,
		    const char *text, char *bare);

/** reader_integer - whether @s is a whole number, which then is *@value. */
bool reader_integer(const config_setting_t *s, int64_t *value);

/** reader_nets, reader_sources, reader_ports - KEY_NETS into struct config_nets, KEY_SOURCES into struct
 * config_sources: nets.c; KEY_PORTS into struct config_ports: side.c. */
void reader_nets(struct reader *r, const config_setting_t *s, const struct key *key, void *field);
void reader_sources(struct reader *r, const config_setting_t *s, const struct key *key,
		    void *field);
void reader_ports(struct reader *r, const config_setting_t *s, const struct key *key, void *field);

/**
 * reader_group - read @group by @table into the structure @base
 *
 * Fields without a setting, or with an unusable one, keep what they hold.
 */
void reader_group(struct reader *r, const config_setting_t *group, const struct key_table *table,
		  void *base);

/** reader_routes - the setting "routes" when it is a list, else NULL. */
const config_setting_t *reader_routes(const config_setting_t *root);

/**
 * scan - what libconfig's own scanner passes over in silence: numbers that do not fit (it wraps
 * them), NUL octets, also as \x00 (its texts end there), and @include, which is not supported: lines could not be
 * told from it
 * @text: a "versions" of numbers and text, [1, "2-early"], becomes what libconfig can hold
 *
 * Return: whether @text may be parsed.
 */
bool scan(struct reader *r, char *text, size_t len);

/** check_shared - several routes on one listener: which listens, and whose names choose which. */
void check_shared(struct reader *r, const config_setting_t *routes, struct config *cfg);

/** check_hosts - whom an upstream leads to. @item: the route's setting. */
void check_hosts(struct reader *r, const config_setting_t *item, const struct config_route *route);

/** check_side - whether the kernel can carry what is beside RDMA, where side_ports asks for it. */
void check_side(struct reader *r, const struct config *cfg);

/** check - what no single key can tell: duplicates, loops, memory. @root is the file's tree. */
void check(struct reader *r, const config_setting_t *root, struct config *cfg);

#endif
