/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "config/reader.h"

/*
 * Operation
 *
 * - The file is read whole and scanned (scan.c) for what libconfig accepts wrongly or lacks.
 * - libconfig parses the text. Its own errors end the check, because it stops at the first.
 * - The routes are counted, and the key table (keys.c, reader.c) fills a structure that begins with
 *   the defaults.
 * - A field with an unusable setting keeps its default. So the checks across keys (check.c) always
 *   run, and one pass reports every problem.
 */

enum {
	FILE_MAX_BYTES = 4 * 1024 * 1024, /* 1,024 routes as --print writes them need less */
};

static int report_file(struct reader *r, const char *why, const char *what_to_do)
{
	fprintf(r->errors, "%s: %s: %s\n", r->path, why, what_to_do);
	return ERR_CONFIG;
}

static int report_errno(struct reader *r)
{
	return report_file(r, strerror(errno), "give a readable configuration file");
}

/* Read the whole file and append a NUL. *@text is owned by the caller. */
static int read_text(struct reader *r, char **text, size_t *len)
{
	FILE *f = fopen(r->path, "re");
	int err = 0;

	*text = NULL;
	if (!f)
		return report_errno(r);
	*text = mem_zalloc(FILE_MAX_BYTES + 1);
	if (!*text) {
		err = ERR_NOMEM;
		goto out;
	}
	*len = fread(*text, 1, FILE_MAX_BYTES + 1, f);
	if (ferror(f))
		err = report_errno(r);
	else if (*len > FILE_MAX_BYTES)
		err = report_file(r, "longer than 4 MiB", "leave out defaults and comments");
out:
	fclose(f);
	return err;
}

static struct config *new_config(uint32_t nroutes)
{
	struct config *cfg = mem_zalloc(sizeof(*cfg) + nroutes * sizeof(cfg->routes[0]));

	if (!cfg)
		return NULL;
	*cfg = config_defaults;
	cfg->nroutes = nroutes;
	for (uint32_t i = 0; i < nroutes; i++)
		cfg->routes[i] = config_route_defaults;
	return cfg;
}

/* Fill the structure from the parsed file. */
static int read_tree(struct reader *r, const config_setting_t *root, struct config **out)
{
	const config_setting_t *routes = reader_routes(root);
	int n = routes ? config_setting_length(routes) : 0;

	if (n > CONFIG_ROUTES_MAX) {
		reader_error(r, reader_line(routes), "%d routes: use at most %d", n,
			     CONFIG_ROUTES_MAX);
		return ERR_CONFIG;
	}
	*out = new_config((uint32_t)n);
	if (!*out)
		return ERR_NOMEM;
	reader_group(r, root, &config_keys, *out);
	check(r, root, *out);
	return r->nerrors ? ERR_CONFIG : 0;
}

static int parse(struct reader *r, const char *text, struct config **out)
{
	config_t tree;
	int err = ERR_CONFIG;

	config_init(&tree);
	if (config_read_string(&tree, text) == CONFIG_TRUE)
		err = read_tree(r, config_root_setting(&tree), out);
	else
		reader_error(r, tree.error_line > 0 ? (unsigned)tree.error_line : 1,
			     "%s: look here and in the line before", config_error_text(&tree));
	config_destroy(&tree);
	return err;
}

int config_load(const char *path, struct config **out, FILE *errors)
{
	struct reader r = {.path = path, .errors = errors};
	char *text;
	size_t len = 0;
	int err = read_text(&r, &text, &len);

	*out = NULL;
	if (err == 0)
		err = scan(&r, text, len) ? parse(&r, text, out) : ERR_CONFIG;
	mem_free(text);
	if (err == 0)
		return 0;
	if (err == ERR_NOMEM)
		fprintf(errors, "%s: out of memory\n", path);
	config_free(*out);
	*out = NULL;
	return err;
}

static void forget_lines_of(struct config_end *end)
{
	struct config_hostauth *h = &end->hostauth;

	end->line = end->hosts.line = end->sources.line = end->side_ports.line = h->line =
		h->names.line = 0;
	h->certificate.line = h->key.line = h->ca.line = h->crl.line = h->psk.line = 0;
}

void config_forget_lines(struct config *cfg)
{
	cfg->control.line = cfg->metrics.line = cfg->metrics.names.line = 0;
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		forget_lines_of(&cfg->routes[i].listen);
		forget_lines_of(&cfg->routes[i].upstream);
		cfg->routes[i].names.line = 0;
	}
}

void config_free(struct config *cfg)
{
	mem_free(cfg);
}
