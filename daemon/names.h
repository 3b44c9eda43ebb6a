/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_NAMES_H
#define DAEMON_NAMES_H

#include <stdbool.h>

#include "base/loop.h"
#include "fabric/addr.h"

/**
 * names - what was found out about names of servers, and how long that holds
 *
 * The time comes in, and who looks a name up is somebody else: daemon/resolver.h. An answer holds as long as it says
 * itself, NAMES_TTL_MOST at most; that there is no such name, or no answer, for NAMES_RETRY, so that a name server
 * is not asked for each client. Without an answer what was known before holds on.
 *
 * NAMES_TTL_MOST is short because the TTL of an answer is not the whole truth: libevent tells that of the addresses, and
 * not those of the CNAMEs that lead there. A server that moved is found again within that time.
 */
enum { NAMES_ADDRS = 32, NAMES_BYTES = 256 };

#define NAMES_RETRY (5 * NSEC_PER_SEC)
#define NAMES_TTL_MOST (60 * NSEC_PER_SEC)
#define NAMES_FORGET (24 * 3600 * NSEC_PER_SEC) /* an entry that nobody wants, after it expired */

enum names_result {
	NAMES_FOUND,
	NAMES_NONE,   /* there is no such name, or it has no address */
	NAMES_FAILED, /* nobody answered, or not so that it could be understood */
};

/** struct names_answer - addresses without ports. */
struct names_answer {
	enum names_result result;
	nsec_t ttl; /* FOUND */
	unsigned n;
	struct fabric_addr addrs[NAMES_ADDRS];
	const char *why; /* NONE, FAILED: static storage */
};

/** struct name - an entry, read only. */
struct name {
	struct name *next;
	char text[NAMES_BYTES];
	struct names_answer
		last;	/* .result of the last one; addresses of the last that was none of FAILED */
	nsec_t expires; /* it is to be asked for again then */
	uint64_t answers; /* so far */
	bool is_asked;	  /* the answer is on its way */
};

struct names {
	struct name *first;
	/* Somebody is to look @name up, and to call names_answer(), now or later. Return: false: it cannot be asked
	 * for. */
	bool (*ask)(void *arg, struct name *name);
	void *arg;
};

/** names_want - the entry of @text, for which somebody is asked unless it holds at @now. Return: NULL without memory. */
struct name *names_want(struct names *names, const char *text, nsec_t now);

/** names_answer - what came of .ask. */
void names_answer(struct name *name, const struct names_answer *answer, nsec_t now);

/** names_free - all entries; nobody looks up any. */
void names_free(struct names *names);

#endif
