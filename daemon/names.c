/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/names.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

static struct name *find(struct names *names, const char *text)
{
	struct name *name = names->first;

	while (name && strcmp(name->text, text) != 0)
		name = name->next;
	return name;
}

/* Free the entries that no configuration uses any more. */
static void sweep(struct names *names, nsec_t now)
{
	struct name **at = &names->first;

	while (*at) {
		struct name *name = *at;

		if (name->is_asked || now < name->expires + NAMES_FORGET) {
			at = &name->next;
			continue;
		}
		*at = name->next;
		mem_free(name);
	}
}

static struct name *make(struct names *names, const char *text, nsec_t now)
{
	struct name *name = mem_zalloc(sizeof(*name));
	size_t len = strlen(text);

	if (!name || len >= sizeof(name->text)) {
		mem_free(name);
		return NULL;
	}
	sweep(names, now);
	memcpy(name->text, text, len + 1);
	name->next = names->first;
	names->first = name;
	return name;
}

struct name *names_want(struct names *names, const char *text, nsec_t now)
{
	static const struct names_answer nobody = {.result = NAMES_FAILED,
						   .why = "no memory or descriptors to ask for it"};
	struct name *name = find(names, text);

	if (!name)
		name = make(names, text, now);
	if (!name || name->is_asked || now < name->expires)
		return name;
	name->is_asked = true;
	if (!names->ask(names->arg, name))
		names_answer(name, &nobody, now);
	return name;
}

static void notify(const struct name *name, const struct names_answer *answer)
{
	if (answer->result == name->last.result && name->answers > 0)
		return; /* the same result as last time was logged then */
	if (answer->result == NAMES_FOUND)
		log_info("name.found", "name=%s addresses=%u ttl_s=%llu", name->text, answer->n,
			 (unsigned long long)(answer->ttl / NSEC_PER_SEC));
	else
		log_warn("name.failed", "name=%s known=%u why=\"%s\"", name->text,
			 answer->result == NAMES_FAILED ? name->last.n : 0, answer->why);
}

void names_answer(struct name *name, const struct names_answer *answer, nsec_t now)
{
	nsec_t ttl = answer->ttl < NAMES_TTL_MOST ? answer->ttl : NAMES_TTL_MOST;

	notify(name, answer);
	if (answer->result == NAMES_FAILED)
		name->last.result = NAMES_FAILED;
	else
		name->last = *answer;
	name->expires = now + (answer->result == NAMES_FOUND ? ttl : NAMES_RETRY);
	name->answers++;
	name->is_asked = false;
}

void names_free(struct names *names)
{
	while (names->first) {
		struct name *name = names->first;

		names->first = name->next;
		mem_free(name);
	}
}
