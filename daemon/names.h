/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_NAMES_H
#define DAEMON_NAMES_H

#include <stdbool.h>

#include "base/loop.h"
#include "fabric/addr.h"

/**
 * names - a cache of addresses of servers' names
 *
 * This module does no I/O: time is an argument, and daemon/resolver.h looks names up. An answer is
 * valid for its own TTL, at most NAMES_TTL_MOST. A failure, or the answer that there is no such
 * name, is valid for NAMES_RETRY, so that the name server is not asked again for each client. After
 * a failure the previous addresses stay in use.
 *
 * NAMES_TTL_MOST is short because libevent reports the TTL of the addresses, but not those of the
 * CNAMEs that lead to them. A server that moved is found again within that time.
 */
enum { NAMES_ADDRS = 32, NAMES_BYTES = 256 };

#define NAMES_RETRY (5 * NSEC_PER_SEC)
#define NAMES_TTL_MOST (60 * NSEC_PER_SEC)
/* an entry that nothing asks for is freed this long after it expired */
#define NAMES_FORGET (24 * 3600 * NSEC_PER_SEC)

enum names_result {
	NAMES_FOUND,
	NAMES_NONE,   /* no such name, or it has no address */
	NAMES_FAILED, /* no answer, or one that could not be parsed */
};

/** struct names_answer - addresses without ports. */
struct names_answer {
	enum names_result result;
	nsec_t ttl; /* FOUND: how long the addresses are valid */
	unsigned n;
	struct fabric_addr addrs[NAMES_ADDRS];
	const char *why; /* NONE, FAILED: reason; static storage */
};

/** struct name - an entry, read-only for callers. */
struct name {
	struct name *next;
	char text[NAMES_BYTES];
	/* .result is the latest; addresses are of the latest answer other than FAILED */
	struct names_answer last;
	nsec_t expires;	  /* when to look the name up again */
	uint64_t answers; /* number of answers so far */
	bool is_asked;	  /* a look-up is under way */
};

struct names {
	struct name *first;
	/* Look @name up and call names_answer(), now or later. Return: false: the look-up could not
	 * begin. */
	bool (*ask)(void *arg, struct name *name);
	void *arg;
};

/** names_want - the entry for @text; a look-up begins unless the entry is valid at @now. Return:
 * NULL without memory. */
struct name *names_want(struct names *names, const char *text, nsec_t now);

/** names_answer - result of a look-up that .ask began. */
void names_answer(struct name *name, const struct names_answer *answer, nsec_t now);

/** names_free - free all entries; no look-up may be under way. */
void names_free(struct names *names);

#endif
