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

/** What may be wrong with the material. */
enum hostauth_part {
	HOSTAUTH_PART_NONE, /* none of it alone: no memory, or both kinds at once */
	HOSTAUTH_PART_CERTIFICATE,
	HOSTAUTH_PART_KEY,
	HOSTAUTH_PART_CA,
	HOSTAUTH_PART_CRL,
	HOSTAUTH_PART_PSK,
};

struct hostauth_refusal {
	enum hostauth_part part;
	char why[HOSTAUTH_WHY_BYTES];
};

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
 * hostauth_creds_new - returns owned, or NULL and @refusal
 *
 * What is refused: no or a broken certificate, key or ca; a key that is another
 * certificate's; a psk file without keys, or with one of a length that is not allowed;
 * both kinds at once, or none.
 */
struct hostauth_creds *hostauth_creds_new(enum hostauth_role role,
					  const struct hostauth_material *material,
					  struct hostauth_refusal *refusal);

/** hostauth_creds_get, hostauth_creds_put - one more holder, one less; NULL is nobody's. */
struct hostauth_creds *hostauth_creds_get(struct hostauth_creds *creds);
void hostauth_creds_put(struct hostauth_creds *creds);

/** struct hostauth_times - in seconds since 1970; what does not end ends at INT64_MAX. */
struct hostauth_times {
	int64_t begin, end; /* of our certificate, and all that came with it, together */
	/* Of the authorities: the first that ends, and the last, after which nobody is believed. */
	int64_t ca_end, ca_last;
	/* When their lists are due to be replaced, of each authority the latest: the first, whose authority's peers are
	 * not believed then, and the last. */
	int64_t crl_end, crl_last;
};

void hostauth_creds_times(const struct hostauth_creds *creds, struct hostauth_times *times);

#endif
