/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_BIND_H
#define HOSTAUTH_BIND_H

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include "hostauth/hostauth.h"
#include "hostauth/value.h"

/** bind - the transcript of both ends' messages and the binding value that proves it:
 * docs/hostauth-profile.md section 5. For hostauth/ only. */
struct hostauth_bind {
	EVP_MD_CTX *t; /* digest of the transcript so far: T of the profile */
	bool failed;
	bool has_keys;
	uint8_t keys[2][HOSTAUTH_BINDING_BYTES]; /* exporter keys, indexed by role */
};

/** hostauth_bind_init - start T with parts 1 to 3. Return: 0 or ERR_NOMEM; call
 * hostauth_bind_fini() in either case. */
int hostauth_bind_init(struct hostauth_bind *b, struct view request_data,
		       struct view accept_data) WARN_UNUSED;

/** hostauth_bind_fini - wipes the keys. */
void hostauth_bind_fini(struct hostauth_bind *b);

/** hostauth_bind_keys - derive the exporter keys of @ssl, whose handshake must be complete. */
int hostauth_bind_keys(struct hostauth_bind *b, SSL *ssl) WARN_UNUSED;

/** hostauth_bind_message - add a CONNPROP message of @from to T, as it was sent: part 4. */
void hostauth_bind_message(struct hostauth_bind *b, enum hostauth_role from, struct view message);

/** hostauth_bind_digest - the digest of T with @message of @from added. The binding value in the
 * message, at offset @at, counts as zeros. T does not change. */
int hostauth_bind_digest(struct hostauth_bind *b, enum hostauth_role from, struct view message,
			 size_t at, uint8_t digest[HOSTAUTH_BINDING_BYTES]) WARN_UNUSED;

/** hostauth_bind_value - the binding value of the message of @from, from its digest. Call it after
 * hostauth_bind_keys(). */
int hostauth_bind_value(const struct hostauth_bind *b, enum hostauth_role from,
			const uint8_t digest[HOSTAUTH_BINDING_BYTES],
			uint8_t out[HOSTAUTH_BINDING_BYTES]) WARN_UNUSED;

#endif
