/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/reader.h"

enum {
	/* The largest group has about 50 known keys, each once. */
	KEYS_MOST = 200,
	DEPTH_MOST = 16, /* groups in groups; the configuration has 4 */
};

struct scanner {
	struct reader *r;
	unsigned keys[DEPTH_MOST]; /* of each group that is open, the file itself first */
	unsigned depth;
	char *pos, *end;
	char *array; /* bracket of a "versions" that is still open */
	unsigned line;
	bool may_parse;
	bool is_versions; /* the last name that was scanned is "versions" */
	bool is_mixed;	  /* the array holds text */
};

static bool at(const struct scanner *s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s->end - s->pos) >= len && memcmp(s->pos, word, len) == 0;
}

static void step(struct scanner *s)
{
	if (s->pos < s->end && *s->pos++ == '\n')
		s->line++;
}

static void skip_until(struct scanner *s, const char *word)
{
	while (s->pos < s->end && !at(s, word))
		step(s);
}

static void skip_comment(struct scanner *s)
{
	s->pos += 2;
	skip_until(s, "*/");
}

static void skip_string(struct scanner *s)
{
	step(s);
	while (s->pos < s->end && *s->pos != '"') {
		if (at(s, "\\x00"))
			reader_error(s->r, s->line,
				     "an octet 0 (\\x00), where the text would end: leave it out");
		if (*s->pos == '\\')
			step(s);
		step(s);
	}
	step(s);
	s->is_mixed = true;
}

static void skip_name(struct scanner *s)
{
	const char *name = s->pos;

	while (s->pos < s->end && (isalnum((unsigned char)*s->pos) || strchr("_-*", *s->pos)))
		s->pos++;
	s->is_versions = s->pos - name == (long)strlen("versions") &&
			 memcmp(name, "versions", strlen("versions")) == 0;
}

/* A libconfig array has one type, and [1, 2, "2-early"] has two. A libconfig list, in round
 * brackets, may have both. */
static void note_bracket(struct scanner *s)
{
	char c = *s->pos;

	if (c == '[' && s->is_versions) {
		s->array = s->pos;
		s->is_mixed = false;
	} else if (c == ']' && s->array && s->is_mixed) {
		*s->array = '(';
		*s->pos = ')';
	}
	if (strchr("](){};", c))
		s->array = NULL;
}

/*
 * State:  a file may have 4 MiB. libconfig compares each key with all keys of its group.
 * Danger: a group with hundreds of thousands of keys keeps --check busy for minutes, and at a
 *         reload the main thread.
 * Rule:   a group has at most KEYS_MOST keys, and at most DEPTH_MOST groups are nested. Otherwise
 *         the text is not parsed.
 * Pinned: tests/config/test_config_scan.c:so_many_keys_are_refused_at_once
 */
static void count_key(struct scanner *s)
{
	char c = *s->pos;

	if (c == '{' && ++s->depth < DEPTH_MOST)
		s->keys[s->depth] = 0;
	if (c == '}' && s->depth > 0)
		s->depth--;
	if (c == '{' && s->depth == DEPTH_MOST && s->may_parse) {
		reader_error(s->r, s->line, "groups are nested too deeply: look for a missing }");
		s->may_parse = false;
	}
	if ((c != '=' && c != ':') || s->depth >= DEPTH_MOST ||
	    ++s->keys[s->depth] != KEYS_MOST + 1)
		return;
	reader_error(s->r, s->line,
		     "more than %d keys in one group: leave out those that rpcrdma-gw.conf(5) does "
		     "not have",
		     KEYS_MOST);
	s->may_parse = false;
}

static void report_number(struct scanner *s, const char *why)
{
	reader_error(s->r, s->line, "%s", why);
	if (s->r->nreported < READER_MAX_REPORTED)
		s->r->reported[s->r->nreported++] = s->line;
}

/*
 * Check a number without sign.
 * - libconfig wants an L behind numbers beyond 32 bits, and silently wraps numbers that do not fit.
 * - After a leading 0 some releases read octal, others decimal.
 * - The text ends in NUL, so strtoull() stops there.
 */
static void check_number(struct scanner *s)
{
	bool is_hex = at(s, "0x") || at(s, "0X");
	bool begins_with_0 = at(s, "0") && isdigit((unsigned char)s->pos[1]);
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(s->pos, &end, is_hex ? 16 : 10);
	s->pos = end > s->pos ? end : s->pos + 1;
	if (!is_hex && s->pos < s->end && strchr(".eE", *s->pos)) {
		while (s->pos < s->end &&
		       (isalnum((unsigned char)*s->pos) || strchr(".+-", *s->pos)))
			s->pos++;
		return;
	}
	if (begins_with_0)
		report_number(s, "numbers do not begin with 0: write 60, not 060");
	else if (errno || value > INT64_MAX)
		report_number(s, "a number beyond 64 bits: use a smaller one");
	else if (value > INT32_MAX && !at(s, "L"))
		report_number(s, "a number beyond 32 bits: put an L behind it, or write a size as "
				 "text like \"4G\"");
	while (at(s, "L"))
		s->pos++;
}

static void check_other(struct scanner *s, bool is_line_start)
{
	note_bracket(s);
	count_key(s);
	if (is_line_start && at(s, "@include")) {
		reader_error(s->r, s->line, "@include is not supported: write all into this file");
		s->may_parse = false;
	}
	step(s);
}

/* Handle a byte order mark at the beginning of the text. A mark of UTF-8 becomes blanks.
 * Return: false after a reported error. */
static bool take_mark(struct scanner *s)
{
	if (at(s, "\xef\xbb\xbf"))
		memset(s->pos, ' ', 3);
	if (!at(s, "\xff\xfe") && !at(s, "\xfe\xff"))
		return true;
	reader_error(s->r, 1, "text in UTF-16 or UTF-32: save the file as UTF-8");
	return false;
}

bool scan(struct reader *r, char *text, size_t len)
{
	struct scanner s = {.r = r, .pos = text, .end = text + len, .line = 1, .may_parse = true};
	const char *nul = memchr(text, '\0', len);
	bool is_line_start = true;

	if (!take_mark(&s))
		return false;
	if (nul) {
		while (s.pos < nul)
			step(&s);
		reader_error(r, s.line, "an octet 0: this is no text file");
		return false;
	}
	while (s.pos < s.end) {
		char c = *s.pos;

		if (c == '#' || at(&s, "//"))
			skip_until(&s, "\n");
		else if (at(&s, "/*"))
			skip_comment(&s);
		else if (c == '"')
			skip_string(&s);
		else if (isalpha((unsigned char)c) || c == '*')
			skip_name(&s);
		else if (isdigit((unsigned char)c))
			check_number(&s);
		else
			check_other(&s, is_line_start);
		is_line_start = c == '\n' || (is_line_start && isblank((unsigned char)c));
	}
	return s.may_parse;
}
