/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/config/load.h"

#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char told[65536];

static void write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Each line without "PATH:" in front, which must be there. */
static void cut_path(char *lines, const char *path)
{
	char *to = told, *next;

	for (char *line = lines; *line; line = next) {
		next = strchr(line, '\n');
		assert_non_null(next);
		next++;
		assert_memory_equal(line, path, strlen(path));
		line += strlen(path);
		assert_int_equal(*line, ':');
		line++;
		memcpy(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

int load_path(const char *path, struct config **cfg)
{
	char *lines = NULL;
	size_t len = 0;
	FILE *errors = open_memstream(&lines, &len);
	int err;

	assert_non_null(errors);
	err = config_load(path, cfg, errors);
	fclose(errors);
	cut_path(lines, path);
	free(lines);
	assert_true((err == 0) == (*cfg != NULL));
	return err;
}

int load_octets(const char *text, size_t len, struct config **cfg)
{
	char path[] = "/tmp/gw-config-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	close(fd);
	write_file(path, text, len);
	err = load_path(path, cfg);
	unlink(path);
	return err;
}

int load(const char *text, struct config **cfg)
{
	return load_octets(text, strlen(text), cfg);
}

void check_rows(const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct config *cfg;

		assert_int_equal(load(rows[i].text, &cfg), ERR_CONFIG);
		assert_string_equal(told, rows[i].errors);
	}
}
