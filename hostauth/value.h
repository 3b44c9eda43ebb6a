/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_VALUE_H
#define HOSTAUTH_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/** Codec of the property's value: docs/hostauth-profile.md section 2. */

enum {
	HOSTAUTH_PROFILE = 1,
	HOSTAUTH_VALUE_HEAD = 4,
	HOSTAUTH_BINDING_BYTES = 32,
	HOSTAUTH_REASON_BYTES = 2,
};

enum hostauth_kind {
	HOSTAUTH_MORE = 1,
	HOSTAUTH_TURN = 2,
	HOSTAUTH_ACK = 3,
	HOSTAUTH_BIND = 4,
	HOSTAUTH_FAIL = 5,
};

/** Reasons on the wire, section 6. */
enum hostauth_reason {
	HOSTAUTH_REASON_VALUE = 1,
	HOSTAUTH_REASON_TLS = 2,
	HOSTAUTH_REASON_BINDING = 3,
	HOSTAUTH_REASON_NAME = 4,
	HOSTAUTH_REASON_LIMIT = 5,
	HOSTAUTH_REASON_OWN = 6,
};

struct hostauth_value {
	enum hostauth_kind kind;
	uint16_t sequence;
	enum hostauth_reason reason; /* kind FAIL only */
	struct view binding;	     /* kind BIND only */
	struct view tls; /* octets of the TLS record stream; FAIL: an alert, or nothing */
};

/**
 * hostauth_value_decode - one value of the property
 * @in: borrowed; the views of @v point into it
 *
 * Return: 0; ERR_VERS: of another profile, or empty; ERR_SHORT or ERR_XDR.
 */
int hostauth_value_decode(struct hostauth_value *v, struct view in) WARN_UNUSED;

/**
 * hostauth_value_head - encode a value without its TLS octets; a binding is zeros
 * @out: HOSTAUTH_VALUE_HEAD + HOSTAUTH_BINDING_BYTES octets
 *
 * Return: its length.
 */
size_t hostauth_value_head(uint8_t *out, const struct hostauth_value *v);

/** hostauth_is_plausible - whether @v can be an initiator's first value: section 8. */
bool hostauth_is_plausible(const struct hostauth_value *v);

#endif
