/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SANDBOX_RULES_H
#define DAEMON_SANDBOX_RULES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * sandbox_rules - the system calls of a serving gateway: the whole filter, as a table
 *
 * The filter is built from these rows alone. tests/daemon/inside.c tries each row from inside the
 * sandbox, and fails for a row that it does not know.
 */

/** enum sandbox_when - configurations in which a rule applies. */
enum sandbox_when {
	SANDBOX_ALWAYS,
	SANDBOX_WITHOUT_DEVICES,
	SANDBOX_WITH_DEVICES,
	SANDBOX_WITH_RPCBIND
};

/** struct sandbox_arg - argument @number, from 0, must equal @value in the bits of @mask. */
struct sandbox_arg {
	unsigned number;
	uint64_t mask, value;
};

enum { SANDBOX_ARGS = 2 };

/** struct sandbox_rule - a call is allowed if all of .args match; a call may have several rules. */
struct sandbox_rule {
	const char *name;
	int call;
	enum sandbox_when when;
	bool own_process; /* the first argument must be this process, too */
	bool is_absent;	  /* the call is not allowed, and is answered ENOSYS */
	unsigned nargs;
	struct sandbox_arg args[SANDBOX_ARGS];
};

extern const struct sandbox_rule sandbox_rules[];
extern const unsigned sandbox_nrules;

#endif
