/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparison of two configurations, and the settings that a reload leaves for a restart. */
#include <string.h>

#include "config/keys.h"

/* Line numbers are not compared. They are the last field of each structure. */
static bool is_same_field(const struct key *key, const void *a, const void *b)
{
	switch (key->kind) {
	case KEY_GROUP:
		return keys_are_same(key->sub, a, b);
	case KEY_FILE:
		return memcmp(a, b, offsetof(struct config_file, line)) == 0;
	case KEY_SOURCES:
		return memcmp(a, b, offsetof(struct config_sources, line)) == 0;
	case KEY_PORTS:
		return memcmp(a, b, offsetof(struct config_ports, line)) == 0;
	case KEY_NAMES:
	case KEY_HOSTS:
		return memcmp(a, b, offsetof(struct config_names, line)) == 0;
	default:
		return memcmp(a, b, key->size) == 0;
	}
}

bool keys_are_same(const struct key_table *table, const void *a, const void *b)
{
	for (size_t i = 0; i < table->n; i++)
		if (!is_same_field(&table->keys[i], key_field_const(&table->keys[i], a),
				   key_field_const(&table->keys[i], b)))
			return false;
	return true;
}

bool config_is_same_route(const struct config_route *a, const struct config_route *b)
{
	return keys_are_same(&config_route_keys, a, b);
}

/* Ends that only collide (one on all addresses, or the same address in other words) are not the
 * same place; check.c reports them. */
bool config_is_one_place(const struct config_end *a, const struct config_end *b)
{
	return a->address[0] && strcmp(a->address, b->address) == 0 && a->port == b->port &&
	       strcmp(a->fabric, b->fabric) == 0;
}

static bool is_live(const char *name)
{
	static const char *const live[] = {"routes", "log", "drain_timeout"};

	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		if (strcmp(name, live[i]) == 0)
			return true;
	return false;
}

static void copy_field(const struct key *key, void *to, const void *from)
{
	if (key->kind != KEY_GROUP) {
		memcpy(to, from, key->size);
		return;
	}
	for (size_t i = 0; i < key->sub->n; i++) {
		const struct key *sub = &key->sub->keys[i];

		copy_field(sub, key_field(sub, to), key_field_const(sub, from));
	}
}

void config_keep(struct config *cfg, const struct config *running,
		 void (*report)(void *arg, const char *key), void *arg)
{
	for (size_t i = 0; i < config_keys.n; i++) {
		const struct key *key = &config_keys.keys[i];
		const void *was = key_field_const(key, running);

		if (is_live(key->name) || is_same_field(key, key_field_const(key, cfg), was))
			continue;
		report(arg, key->name);
		copy_field(key, key_field(key, cfg), was);
	}
}
