/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TAINT_H
#define TESTS_ISOLATION_TAINT_H

#include <stdbool.h>

#include "base/view.h"
#include "tests/isolation/mark.h"

/**
 * taint - looks at what leaves the gateway for a session
 *
 * Of the session's own mark, nobody's, or of the gateway's own making; anything else is a
 * defect. Payload is looked at octet by octet. Of a transport header, which the gateway
 * encodes, only a run of another session's octets is one: handles and offsets are random,
 * but never so many in a row.
 */

/** struct taint_defect - what was found. */
struct taint_defect {
	const char *what; /* static storage */
	size_t at;	  /* offset in what was looked at */
	size_t len;	  /* of that */
	uint8_t octets[16];
};

/** taint_data - payload: an RDMA Write, or the answer to an RDMA Read. Return: whether it is clean. */
bool taint_data(unsigned mark, struct view data, struct taint_defect *d);

/** taint_has - whether so many octets of @mark lie in a row in @octets that it is no accident. */
bool taint_has(unsigned mark, struct view octets);

/**
 * taint_message - a message of either version
 * @mark: the session's; MARK_NONE when it is not known yet: a call then tells it
 *
 * Return: whether it is clean.
 */
bool taint_message(unsigned *mark, struct view in, struct taint_defect *d);

#endif
