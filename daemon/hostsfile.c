/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/hostsfile.h"

#include <string.h>
#include <strings.h>

enum { WORD_BYTES = 257 }; /* the longest name, and a NUL */

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Read the next word of a line into @word, as text. A longer one becomes empty, because it is no
 * name and no address. Return: its length; 0: the line has no more words. */
static size_t read_word(FILE *f, char *word)
{
	size_t n = 0;
	int c;

	do
		c = getc(f);
	while (is_blank(c));
	for (; c != EOF && c != '\n' && c != '#' && !is_blank(c); c = getc(f)) {
		if (n < WORD_BYTES)
			word[n] = (char)c;
		n++;
	}
	if (c != EOF)
		ungetc(c, f);
	word[n < WORD_BYTES ? n : 0] = '\0';
	return n;
}

static void skip_rest(FILE *f)
{
	int c;

	do
		c = getc(f);
	while (c != EOF && c != '\n');
}

unsigned hostsfile_find(FILE *f, const char *name, struct fabric_addr *addrs, unsigned most)
{
	char address[WORD_BYTES], word[WORD_BYTES];
	size_t len = strlen(name);
	unsigned n = 0;

	if (len > 0 && name[len - 1] == '.')
		len--;
	while (n < most && !feof(f) && !ferror(f)) {
		bool has_name = false;

		if (read_word(f, address) > 0)
			for (size_t got; (got = read_word(f, word)) > 0;)
				has_name = has_name ||
					   (got == len && strncasecmp(word, name, len) == 0);
		skip_rest(f);
		if (has_name && fabric_addr_parse(address, 0, &addrs[n]) == 0)
			n++;
	}
	return n;
}
