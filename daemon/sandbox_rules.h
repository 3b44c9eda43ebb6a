/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_RULES_H
#define DAEMON_SANDBOX_RULES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * sandbox_rules - the system calls of a gateway that serves: the whole filter, as a table
 *
 * The filter is built of these rows and of nothing else, and tests/daemon/inside.c tries each of them from inside:
 * a call that the test does not know fails it.
 */

/** enum sandbox_when - the configuration that a rule is for. */
enum sandbox_when {
	SANDBOX_ALWAYS,
	SANDBOX_WITHOUT_DEVICES,
	SANDBOX_WITH_DEVICES,
	SANDBOX_WITH_RPCBIND
};

/** struct sandbox_arg - argument @number, counted from 0, is @value in the bits of @mask. */
struct sandbox_arg {
	unsigned number;
	uint64_t mask, value;
};

enum { SANDBOX_ARGS = 2 };

/** struct sandbox_rule - a call is allowed where all of .args hold; a call may have several rules. */
struct sandbox_rule {
	const char *name;
	int call;
	enum sandbox_when when;
	bool own_process; /* its first argument has to be this process, too */
	bool is_absent;	  /* not allowed: answered ENOSYS */
	unsigned nargs;
	struct sandbox_arg args[SANDBOX_ARGS];
};

extern const struct sandbox_rule sandbox_rules[];
extern const unsigned sandbox_nrules;

#endif
