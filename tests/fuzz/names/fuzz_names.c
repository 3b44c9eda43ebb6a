/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of servers: any octets as a file like /etc/hosts, and as a sequence of events for the cache
 * of names: look-ups, answers, and passing time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/hostsfile.h"
#include "daemon/names.h"

enum { NAMES = 4, HOSTS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const texts[NAMES] = {"filer.example", "filer", "a.b", "FILER."};

/* The expected state of a name, computed in another way than names.c does. */
struct mirror {
	struct name *name; /* being asked for; NULL: it is not */
	bool is_known;	   /* it was answered, and that holds until then */
	nsec_t until;
	unsigned n; /* addresses of the last answer that was none of FAILED */
};

static struct mirror mirrors[NAMES];
static bool refuses;

static void check(bool right)
{
	if (!right)
		abort();
}

static unsigned number(const char *text)
{
	unsigned i = 0;

	while (strcmp(texts[i], text) != 0)
		i++;
	return i;
}

static bool ask(void *arg, struct name *name)
{
	struct mirror *m = &mirrors[number(name->text)];
	const nsec_t *now = arg;

	check(!m->name && !(m->is_known && *now < m->until));
	if (refuses)
		return false;
	m->name = name;
	return true;
}

static void answer(struct mirror *m, uint8_t how, uint8_t ttl, nsec_t now)
{
	struct names_answer a = {.result = (enum names_result)(how % 3),
				 .ttl = ttl == 255 ? UINT64_MAX : ttl * NSEC_PER_SEC,
				 .why = "so it is"};
	struct name *name = m->name;
	uint64_t before = name->answers;

	if (a.result == NAMES_FOUND)
		a.n = 1 + how % NAMES_ADDRS;
	m->name = NULL;
	m->is_known = true;
	m->until = now + (a.result != NAMES_FOUND  ? NAMES_RETRY
			  : a.ttl < NAMES_TTL_MOST ? a.ttl
						   : NAMES_TTL_MOST);
	if (a.result != NAMES_FAILED)
		m->n = a.n;
	names_answer(name, &a, now);
	check(!name->is_asked && name->answers == before + 1 && name->expires == m->until);
	check(name->last.n == m->n && name->last.result == a.result);
}

static void want(struct names *names, unsigned i, nsec_t now)
{
	struct mirror *m = &mirrors[i];
	bool holds = m->is_known && now < m->until, was_asked = m->name;
	struct name *name = names->first;

	while (name && strcmp(name->text, texts[i]) != 0)
		name = name->next;
	if (!name)
		m->n = 0; /* nobody wanted it for so long that it was forgotten */
	name = names_want(names, texts[i], now);
	check(name && strcmp(name->text, texts[i]) == 0);
	check(name->is_asked == (m->name != NULL));
	check(holds ? m->name == NULL || was_asked : m->name || refuses);
	if (!holds && refuses && !was_asked) { /* nobody could be asked: that was an answer */
		m->is_known = true;
		m->until = now + NAMES_RETRY;
		check(name->last.result == NAMES_FAILED && name->expires == m->until);
	}
	check(name->last.n == m->n);
}

static void names_in_any_order(const uint8_t *at, const uint8_t *end)
{
	nsec_t now = 1000 * NSEC_PER_SEC;
	struct names names = {.ask = ask, .arg = &now};

	memset(mirrors, 0, sizeof(mirrors));
	for (; end - at >= 3; at += 3) {
		struct mirror *m = &mirrors[at[1] % NAMES];

		refuses = at[0] & 0x80;
		switch (at[0] % 4) {
		case 0:
			want(&names, at[1] % NAMES, now);
			break;
		case 1:
			if (m->name)
				answer(m, at[0] >> 2, at[2], now);
			break;
		case 2:
			now += at[2] * NSEC_PER_SEC;
			break;
		case 3:
			now += at[2] * 3600 * NSEC_PER_SEC;
			break;
		}
	}
	names_free(&names);
	check(mem_live() == 0);
}

static bool stands_in(const uint8_t *data, size_t size, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i + len <= size; i++)
		if (strncasecmp((const char *)data + i, name, len) == 0)
			return true;
	return false;
}

/* At most the number asked for, each a printable address, and the name is in the file. */
static void any_hosts(const uint8_t *data, size_t size)
{
	struct fabric_addr found[HOSTS];
	char *text = malloc(size + 1), told[FABRIC_ADDR_TEXT];
	FILE *f;

	check(text);
	memcpy(text, data, size);
	text[size] = '\0';
	f = fmemopen(text, size, "r");
	if (f) {
		unsigned n = hostsfile_find(f, "filer.example.", found, HOSTS);

		check(n <= HOSTS && (n == 0 || stands_in(data, size, "filer.example")));
		for (unsigned i = 0; i < n; i++)
			check(*fabric_addr_format(&found[i], told));
		fclose(f);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (size > 0 && data[0] & 1)
		names_in_any_order(data + 1, data + size);
	else if (size > 0)
		any_hosts(data + 1, size - 1);
	return 0;
}
