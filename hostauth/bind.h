/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_BIND_H
#define HOSTAUTH_BIND_H

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include "hostauth/hostauth.h"
#include "hostauth/value.h"

/**
 * bind - what both ends said, and its proof: docs/hostauth-profile.md section 5.
 * Inside of hostauth/ only.
 */
struct hostauth_bind {
	EVP_MD_CTX *t; /* T */
	bool failed;
	bool has_keys;
	uint8_t keys[2][HOSTAUTH_BINDING_BYTES]; /* by role */
};

/** hostauth_bind_init - with parts 1 to 3. Return: 0 or ERR_NOMEM; _fini() is due in either case. */
int hostauth_bind_init(struct hostauth_bind *b, struct view request_data,
		       struct view accept_data) WARN_UNUSED;

/** hostauth_bind_fini - wipes the keys. */
void hostauth_bind_fini(struct hostauth_bind *b);

/** hostauth_bind_keys - the exporter keys of @ssl, whose handshake is complete. */
int hostauth_bind_keys(struct hostauth_bind *b, SSL *ssl) WARN_UNUSED;

/** hostauth_bind_message - a CONNPROP message of @from, as it was sent, part 4. */
void hostauth_bind_message(struct hostauth_bind *b, enum hostauth_role from, struct view message);

/** hostauth_bind_digest - T as it is with @message of @from, whose binding value, at @at, is zeros. T
 * itself stays. */
int hostauth_bind_digest(struct hostauth_bind *b, enum hostauth_role from, struct view message,
			 size_t at, uint8_t digest[HOSTAUTH_BINDING_BYTES]) WARN_UNUSED;

/** hostauth_bind_value - the binding value of that message. After hostauth_bind_keys(). */
int hostauth_bind_value(const struct hostauth_bind *b, enum hostauth_role from,
			const uint8_t digest[HOSTAUTH_BINDING_BYTES],
			uint8_t out[HOSTAUTH_BINDING_BYTES]) WARN_UNUSED;

#endif
