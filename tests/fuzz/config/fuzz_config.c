/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text is either refused with at least one line, or is printed and read back as the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the text in hand when it meets a syntax error. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static int load(const void *text, size_t len, struct config **cfg, char **lines)
{
	int fd = memfd_create("config", MFD_CLOEXEC), err;
	size_t lines_len = 0;
	char path[64];
	FILE *errors = open_memstream(lines, &lines_len);

	if (fd < 0 || !errors || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = config_load(path, cfg, errors);
	fclose(errors);
	close(fd);
	return err;
}

/* A file that nobody else may read: what keys are to be, which the corpus has at this descriptor. */
enum { KEY_FD = 100 };
static void have_key(void)
{
	static bool had;
	int fd;

	if (had)
		return;
	fd = memfd_create("key", MFD_CLOEXEC);
	if (fd < 0 || write(fd, "key\n", 4) != 4 || fchmod(fd, 0600) < 0 || dup2(fd, KEY_FD) < 0)
		abort();
	close(fd);
	had = true;
}

/* An accepted configuration has nft rules, too. */
static void print_rules(const struct config *cfg)
{
	char *rules = NULL;
	size_t len;
	FILE *f = open_memstream(&rules, &len);

	if (!f)
		abort();
	config_print_nft(cfg, f);
	fclose(f);
	if (!strstr(rules, "table inet rpcrdma_gw\n"))
		abort();
	free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *lines = NULL, *printed = NULL, *none = NULL;
	struct config *cfg, *again;
	size_t len;
	FILE *f;

	have_key();
	if (load(data, size, &cfg, &lines) != 0) {
		if (!strchr(lines, '\n') || cfg)
			abort();
		free(lines);
		return 0;
	}
	f = open_memstream(&printed, &len);
	if (!f || lines[0])
		abort();
	config_print(cfg, f);
	fclose(f);
	print_rules(cfg);
	if (load(printed, len, &again, &none) != 0 || none[0])
		abort();
	config_forget_lines(cfg); /* of what is printed they are others */
	config_forget_lines(again);
	if (memcmp(cfg, again, sizeof(*cfg) + cfg->nroutes * sizeof(cfg->routes[0])) != 0)
		abort();
	config_free(cfg);
	config_free(again);
	free(lines);
	free(printed);
	free(none);
	return 0;
}
