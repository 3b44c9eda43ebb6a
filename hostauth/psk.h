/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_PSK_H
#define HOSTAUTH_PSK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/** psk - shared keys by identity: docs/hostauth-profile.md section 4.5. For hostauth/ only. */

enum { PSK_IDENTITY_MAX = 128, PSK_KEY_MIN = 16, PSK_KEY_MAX = 64, PSK_SET_MAX = 1024 };

struct psk {
	char identity[PSK_IDENTITY_MAX + 1];
	uint8_t key[PSK_KEY_MAX];
	unsigned key_len;
};

struct psk_set {
	struct psk *psks; /* an initiator uses the first one */
	unsigned n;
};

/**
 * psk_parse - parse lines "identity:key". Return: 0; ERR_CONFIG and @line, the number of the first
 * wrong line (0: there is no line, or there are too many); ERR_NOMEM. Call psk_fini() in any case.
 */
int psk_parse(struct psk_set *set, struct view text, unsigned *line) WARN_UNUSED;

/** psk_fini - wipes and frees the keys. */
void psk_fini(struct psk_set *set);

/** psk_find - the key of @identity, or NULL. */
const struct psk *psk_find(const struct psk_set *set, struct view identity);

#endif
