/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TAINT_H
#define TESTS_ISOLATION_TAINT_H

#include <stdbool.h>

#include "base/view.h"
#include "tests/isolation/mark.h"

/**
 * taint - checks what leaves the gateway for a session
 *
 * Octets must have the session's own mark, no mark, or be made by the gateway; all others are a
 * defect. Payload is checked octet by octet. In a transport header, which the gateway encodes, only
 * a run of octets with another session's mark is a defect: handles and offsets are random, but
 * never match in so many octets in a row.
 */

/** struct taint_defect - a defect. */
struct taint_defect {
	const char *what; /* static storage */
	size_t at;	  /* offset in the data */
	size_t len;	  /* octets of the data */
	uint8_t octets[16];
};

/** taint_data - check payload: an RDMA Write, or the answer to an RDMA Read. Return: whether it is
 * clean. */
bool taint_data(unsigned mark, struct view data, struct taint_defect *d);

/** taint_has - whether @octets has a run of octets with @mark that is too long for chance. */
bool taint_has(unsigned mark, struct view octets);

/**
 * taint_message - check a message of either version
 * @mark: mark of the session; MARK_NONE: not known yet, and then set from a call
 *
 * Return: whether it is clean.
 */
bool taint_message(unsigned *mark, struct view in, struct taint_defect *d);

#endif
