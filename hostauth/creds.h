/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_CREDS_H
#define HOSTAUTH_CREDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "hostauth/role.h"

/**
 * creds - the credentials of one listener or upstream: its own certificate or key, and the
 * authorities it trusts
 *
 * Immutable and reference-counted. Any number of handshakes in any number of threads may use the
 * credentials. They are made from octets: the caller reads the files.
 */
struct hostauth_creds;

enum { HOSTAUTH_WHY_BYTES = 160, HOSTAUTH_NAMES_MAX = 64 };

/** Part of the material that is wrong. */
enum hostauth_part {
	HOSTAUTH_PART_NONE, /* no single part: no memory, or both kinds at once */
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

/** struct hostauth_material - PEM octets, all borrowed for the call. Either .certificate, .key and
 * .ca, or .psk. */
struct hostauth_material {
	struct view certificate; /* the certificate of this end, then its chain */
	struct view key;	 /* of the certificate, not encrypted */
	struct view ca;		 /* authorities that this end trusts */
	struct view crl;	 /* may be empty: no certificate is revoked then */
	struct view psk;	 /* lines "identity:hexadecimal key"; # begins a comment */
	/* names of peers that are allowed; none: every certificate signed by .ca */
	const char *const *names;
	unsigned nnames;
};

/**
 * hostauth_creds_new - returns owned, or NULL and @refusal
 *
 * Refused: no or a broken certificate, key or ca; a key of another certificate; a psk file without
 * keys, or with a key of a length that is not allowed; both kinds at once, or none.
 */
struct hostauth_creds *hostauth_creds_new(enum hostauth_role role,
					  const struct hostauth_material *material,
					  struct hostauth_refusal *refusal);

/** hostauth_creds_get, hostauth_creds_put - add and drop a reference; NULL is allowed. */
struct hostauth_creds *hostauth_creds_get(struct hostauth_creds *creds);
void hostauth_creds_put(struct hostauth_creds *creds);

/** struct hostauth_times - validity, in seconds since 1970; INT64_MAX: no end. */
struct hostauth_times {
	int64_t begin, end; /* when the certificate of this end and its whole chain are valid */
	/* Authorities: when the first expires, and when the last expires. After the last no peer is
	 * trusted. */
	int64_t ca_end, ca_last;
	/* Revocation lists, the latest of each authority: when the first is due for replacement,
	 * and when the last is. After a list is due, peers of its authority are not trusted. */
	int64_t crl_end, crl_last;
};

void hostauth_creds_times(const struct hostauth_creds *creds, struct hostauth_times *times);

#endif
