/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include <stddef.h>

#include "config/config.h"

/**
 * keys - the only table of what a file may contain. reader.c and print.c work from the table, and
 * rpcrdma-gw.conf.5 documents the keys (a test compares the manual page with the table).
 */

enum key_kind {
	KEY_NUMBER, /* unsigned integer of .size octets, .min to .max, a multiple of .multiple */
	KEY_BYTES,  /* as KEY_NUMBER, a number of octets, also as text with K, M or G */
	KEY_BOOL,
	KEY_NAME,     /* char[CONFIG_NAME_BYTES]: letters, digits, '.', '_', '-' */
	KEY_FABRIC,   /* char[CONFIG_FABRIC_BYTES] */
	KEY_ADDRESS,  /* char[CONFIG_ADDRESS_BYTES] */
	KEY_HOST,     /* char[CONFIG_ADDRESS_BYTES]: an address, or the name of a host */
	KEY_HOSTS,    /* struct config_names, as a list of addresses and names of hosts */
	KEY_VERSIONS, /* uint8_t mask, as a list of 1, 2 and "2-early" */
	KEY_VERSION,  /* uint8_t mask, as "auto", "1", "2" or "2-early" */
	KEY_LEVEL,    /* enum log_level */
	KEY_WORD,     /* an enum, as one of .words, in the order of the enum */
	KEY_HOP,      /* as KEY_WORD, of a struct config_end: "far" has defaults of its own */
	KEY_FILE,     /* struct config_file: the absolute path of a file */
	KEY_NAMES,    /* struct config_names, as a list of text */
	KEY_NETS,     /* struct config_nets, as a list of text like "192.0.2.0/24" */
	KEY_SOURCES,  /* struct config_sources, as one address or a list of groups */
	KEY_PORTS,    /* struct config_ports, as a list of numbers and text like "4045-4046" */
	KEY_GROUP,    /* .sub, in the same or an embedded structure */
	KEY_ROUTES,   /* list of groups of .sub: struct config's routes */
	KEY_KINDS
};

struct key_table;

struct key {
	const char *name;
	enum key_kind kind;
	bool is_required;
	bool needs_items;    /* a list must not be empty, because an empty one would admit all */
	size_t offset, size; /* octets: offset and size of the field */
	uint64_t min, max;
	uint32_t multiple;
	unsigned nwords; /* KEY_WORD: number of .words */
	const char *const *words;
	/* "iwarp" or "verbs": the key is valid only in groups with this fabric; NULL: in all
	 * groups */
	const char *fabric;
	const struct key_table *sub;
};

struct key_table {
	const struct key *keys;
	size_t n;
};

extern const struct key_table config_keys, config_route_keys, config_listen_keys,
	config_upstream_keys;

/** Default values of an end with hop = "far" and without receive_structure: the data of a WRITE of
 * 1 MiB travel in its messages. */
enum { CONFIG_FAR_INLINE = 65536, CONFIG_FAR_CREDITS = 256 };

/** Default values: fields keep them if the file has no setting. */
extern const struct config config_defaults;
extern const struct config_route config_route_defaults;

/** The words for enum config_receives, enum config_reverse, enum config_hostauth_mode, enum
 * config_handles, enum config_balance and enum config_hop. */
enum {
	CONFIG_HOP_WORDS = 3,
	CONFIG_RECEIVES_WORDS = 3,
	CONFIG_REVERSE_WORDS = 5,
	CONFIG_HOSTAUTH_WORDS = 3,
	CONFIG_HANDLES_WORDS = 2,
	CONFIG_BALANCE_WORDS = 2
};
extern const char *const config_balance_words[CONFIG_BALANCE_WORDS];
extern const char *const config_hop_words[CONFIG_HOP_WORDS];
extern const char *const config_handles_words[CONFIG_HANDLES_WORDS];
extern const char *const config_receives_words[CONFIG_RECEIVES_WORDS];
extern const char *const config_reverse_words[CONFIG_REVERSE_WORDS];
extern const char *const config_hostauth_words[CONFIG_HOSTAUTH_WORDS];

/** key_field - the field of @key in the structure @base. */
static inline void *key_field(const struct key *key, void *base)
{
	return (char *)base + key->offset;
}

static inline const void *key_field_const(const struct key *key, const void *base)
{
	return (const char *)base + key->offset;
}

/** keys_are_same - whether two structures of @table hold the same settings; line numbers do not
 * count. */
bool keys_are_same(const struct key_table *table, const void *a, const void *b);

#endif
