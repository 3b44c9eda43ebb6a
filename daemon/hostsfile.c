/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/hostsfile.h"

#include <string.h>
#include <strings.h>

enum { LINE_BYTES = 2048 };

/* Whether @line, without its address, has @name, whose length is @len. */
static bool has(char *line, const char *name, size_t len)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		if (strlen(word) == len && strncasecmp(word, name, len) == 0)
			return true;
	return false;
}

/* Skip the rest of a line that did not fit. */
static void skip_rest(FILE *f)
{
	int c;

	do
		c = getc(f);
	while (c != EOF && c != '\n');
}

unsigned hostsfile_find(FILE *f, const char *name, struct fabric_addr *addrs, unsigned most)
{
	size_t len = strlen(name);
	char line[LINE_BYTES];
	unsigned n = 0;

	if (len > 0 && name[len - 1] == '.')
		len--;
	while (n < most && fgets(line, sizeof(line), f)) {
		size_t end = strcspn(line, "#\r\n"), start = strspn(line, " \t"), word;

		if (!strchr(line, '\n') && strlen(line) == sizeof(line) - 1) {
			skip_rest(f);
			continue;
		}
		line[end] = '\0';
		word = strcspn(line + start, " \t");
		if (start >= end || !line[start + word])
			continue;
		line[start + word] = '\0';
		if (has(line + start + word + 1, name, len) &&
		    fabric_addr_parse(line + start, 0, &addrs[n]) == 0)
			n++;
	}
	return n;
}
