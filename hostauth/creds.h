/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_CREDS_H
#define HOSTAUTH_CREDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "hostauth/role.h"

/**
 * creds - what an end shows of itself and whom it believes, for one listener or one
 * upstream. Immutable, counted, and of use to any number of handshakes in any number
 * of threads. Made of octets: reading files is the caller's affair.
 */
struct hostauth_creds;

enum { HOSTAUTH_WHY_BYTES = 160, HOSTAUTH_NAMES_MAX = 64 };

/** struct hostauth_material - PEM octets, all borrowed for the call. Either certificate, key and ca,
 * or psk. */
struct hostauth_material {
	struct view certificate;  /* ours, then its chain */
	struct view key;	  /* of the certificate, not encrypted */
	struct view ca;		  /* whom we believe */
	struct view crl;	  /* may be empty: then nothing is revoked */
	struct view psk;	  /* lines "identity:hexadecimal key"; # begins a comment */
	const char *const *names; /* allowed; none: whatever the ca signed */
	unsigned nnames;
};

/**
 * hostauth_creds_new - returns owned, or NULL and @why
 *
 * What is refused: no or a broken certificate, key or ca; a key that is another
 * certificate's; a psk file without keys, or with one of a length that is not allowed;
 * both kinds at once, or none.
 */
struct hostauth_creds *hostauth_creds_new(enum hostauth_role role,
					  const struct hostauth_material *material,
					  char why[HOSTAUTH_WHY_BYTES]);

/** hostauth_creds_get, hostauth_creds_put - one more holder, one less; NULL is nobody's. */
struct hostauth_creds *hostauth_creds_get(struct hostauth_creds *creds);
void hostauth_creds_put(struct hostauth_creds *creds);

/** hostauth_creds_expiry - when our certificate, or one that came with it, ends, in seconds since
 * 1970; INT64_MAX of keys, which do not. */
int64_t hostauth_creds_expiry(const struct hostauth_creds *creds);

#endif
