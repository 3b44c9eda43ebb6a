/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "config/keys.h"

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

static uint64_t fetch(const struct key *key, const void *field)
{
	if (key->size == sizeof(uint16_t))
		return *(const uint16_t *)field;
	if (key->size == sizeof(uint32_t))
		return *(const uint32_t *)field;
	return *(const uint64_t *)field;
}

static void print_bytes(uint64_t value, FILE *out)
{
	static const char suffixes[] = " KMG";
	unsigned power = 0;

	while (power < 3 && value && value % 1024 == 0) {
		value /= 1024;
		power++;
	}
	if (power)
		fprintf(out, "\"%" PRIu64 "%c\"", value, suffixes[power]);
	else
		fprintf(out, "\"%" PRIu64 "\"", value);
}

static void print_names(const struct config_names *names, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < names->n; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", config_name(names, i));
	fputc(']', out);
}

static void print_net(const struct config_net *net, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(out, "\"%s/%u\"",
		inet_ntop(net->is_v6 ? AF_INET6 : AF_INET, net->octets, text, sizeof(text)),
		net->bits);
}

static void print_nets(const struct config_nets *nets, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < nets->n; i++) {
		fputs(i ? ", " : "", out);
		print_net(&nets->nets[i], out);
	}
	fputc(']', out);
}

static void print_sources(const struct config_sources *sources, FILE *out)
{
	fputc('(', out);
	for (uint32_t i = 0; i < sources->n; i++) {
		const struct config_source *source = &sources->at[i];

		fputs(i ? ", { " : "{ ", out);
		if (source->name)
			fprintf(out, "name = \"%s\"; ", config_source_name(sources, source));
		if (!source->everywhere) {
			fputs("clients = ", out);
			print_net(&source->clients, out);
			fputs("; ", out);
		}
		fputs("addresses = ", out);
		print_net(&source->addresses, out);
		fputs("; }", out);
	}
	fputc(')', out);
}

static void print_ports(const struct config_ports *ports, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < ports->n; i++) {
		fprintf(out, "%s\"%u", i ? ", " : "", ports->at[i].first);
		if (ports->at[i].last > ports->at[i].first)
			fprintf(out, "-%u", ports->at[i].last);
		fputc('"', out);
	}
	fputc(']', out);
}

static void print_value(const struct key *key, const void *field, FILE *out)
{
	/* Indexed by mask. */
	static const char *const lists[] = {"[]",
					    "[1]",
					    "[2]",
					    "[1, 2]",
					    "[\"2-early\"]",
					    "[1, \"2-early\"]",
					    "[2, \"2-early\"]",
					    "[1, 2, \"2-early\"]"};
	static const char *const words[] = {"", "1", "2", "auto", "2-early"};

	switch (key->kind) {
	case KEY_NUMBER:
		fprintf(out, "%" PRIu64, fetch(key, field));
		break;
	case KEY_BYTES:
		print_bytes(fetch(key, field), out);
		break;
	case KEY_BOOL:
		fputs(*(const bool *)field ? "true" : "false", out);
		break;
	case KEY_VERSIONS:
		fputs(lists[*(const uint8_t *)field & CONFIG_VERSIONS], out);
		break;
	case KEY_VERSION:
		fprintf(out, "\"%s\"", words[*(const uint8_t *)field % 5]);
		break;
	case KEY_LEVEL:
		fprintf(out, "\"%s\"", level_names[*(const enum log_level *)field]);
		break;
	case KEY_WORD:
	case KEY_HOP:
		fprintf(out, "\"%s\"", key->words[*(const unsigned *)field]);
		break;
	case KEY_FILE:
		fprintf(out, "\"%s\"", ((const struct config_file *)field)->path);
		break;
	case KEY_NAMES:
	case KEY_HOSTS:
		print_names(field, out);
		break;
	case KEY_NETS:
		print_nets(field, out);
		break;
	case KEY_SOURCES:
		print_sources(field, out);
		break;
	case KEY_PORTS:
		print_ports(field, out);
		break;
	default: /* texts, which need no escapes */
		fprintf(out, "\"%s\"", (const char *)field);
	}
}

static void print_group(const struct key_table *table, const void *base, unsigned depth, FILE *out);

static void print_routes(const struct key *key, const struct config *cfg, FILE *out)
{
	fputs("routes = (\n", out);
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		fputs("  {\n", out);
		print_group(key->sub, &cfg->routes[i], 2, out);
		fputs(i + 1 < cfg->nroutes ? "  },\n" : "  }\n", out);
	}
	fputs(");\n", out);
}

/* Whether the file has no such group: a group without its required address is absent. */
static bool is_absent(const struct key_table *table, const void *base)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];

		if (key->is_required && key->kind == KEY_ADDRESS)
			return !*(const char *)key_field_const(key, base);
	}
	return false;
}

static bool is_empty(const struct key *key, const void *field)
{
	return key->kind == KEY_NETS ? !((const struct config_nets *)field)->n
				     : !((const struct config_names *)field)->n;
}

/* An upstream has one address or a list of them, so the key that is not used is not printed. An
 * empty list that the file must not have is not printed either. */
static bool is_unsaid(const struct key *key, const void *field)
{
	if (key->needs_items)
		return is_empty(key, field);
	return (key->kind == KEY_HOST && !*(const char *)field) ||
	       (key->kind == KEY_HOSTS && !((const struct config_names *)field)->n);
}

static void print_group(const struct key_table *table, const void *base, unsigned depth, FILE *out)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];
		const void *field = key_field_const(key, base);

		if (key->fabric && strcmp(((const struct config_end *)base)->fabric, key->fabric))
			continue;
		if ((key->kind == KEY_GROUP && is_absent(key->sub, field)) || is_unsaid(key, field))
			continue;
		if (key->kind == KEY_ROUTES) {
			print_routes(key, base, out);
			continue;
		}
		fprintf(out, "%*s%s = ", (int)depth * 2, "", key->name);
		if (key->kind == KEY_GROUP) {
			fputs("{\n", out);
			print_group(key->sub, field, depth + 1, out);
			fprintf(out, "%*s}", (int)depth * 2, "");
		} else {
			print_value(key, field, out);
		}
		fputs(";\n", out);
	}
}

void config_print(const struct config *cfg, FILE *out)
{
	print_group(&config_keys, cfg, 0, out);
}
