/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_TLS_H
#define HOSTAUTH_TLS_H

#include <openssl/ssl.h>

#include "hostauth/creds_internal.h"
#include "hostauth/hostauth.h"
#include "hostauth/names.h"

/** tls - the TLS engine of one handshake, between two memory BIOs. Inside of hostauth/ only. It does not move. */
struct tls {
	SSL *ssl;      /* NULL until it is needed */
	BIO *in, *out; /* the SSL's */
	bool complete;
	char suite[32];
	/* What the engine's callbacks (creds.c) found out. */
	const char *fault;		     /* what they refused, in words */
	bool is_too_much;		     /* because of a limit of section 8 */
	bool is_asked;			     /* initiator: the peer wants a certificate */
	bool shows_key;			     /* acceptor: the peer says that it has a key: */
	char identity[PSK_IDENTITY_MAX + 1]; /* of this identity; "" if it is none that could be */
	bool is_known;			     /* and one of ours */
};

/** tls_of - the struct tls of @ssl. */
struct tls *tls_of(const SSL *ssl);

struct tls_name {
	enum hostauth_name_kind kind;
	char text[HOSTAUTH_NAME_BYTES]; /* "" none */
};

/** tls_begin - Return: 0 or ERR_NOMEM. */
int tls_begin(struct tls *t, struct hostauth_creds *creds, int64_t now) WARN_UNUSED;

/** tls_end - wipes its keys. */
void tls_end(struct tls *t);

/** tls_feed - octets of the peer. Return: 0 or ERR_NOMEM. */
int tls_feed(struct tls *t, struct view octets) WARN_UNUSED;

/** tls_step - go on with the handshake. Return: 0; ERR_AGAIN when the peer has to say more; ERR_PROTO
 * and @why. */
int tls_step(struct tls *t, char why[HOSTAUTH_TEXT_BYTES]) WARN_UNUSED;

/** tls_pending - what is to be sent; tls_consume() what was. */
struct view tls_pending(const struct tls *t);
void tls_consume(struct tls *t, size_t octets);

/** tls_is_rest - the peer sent more than the handshake. */
bool tls_is_rest(const struct tls *t);

/** tls_alert - what the peer's alert says, fed and not read yet. */
void tls_alert(struct tls *t, char why[HOSTAUTH_TEXT_BYTES]);

/** tls_shown - the identity that a peer shows which failed; none: .text is "". */
void tls_shown(const struct tls *t, struct tls_name *name);

/** tls_peer - the peer's name, the one that is allowed if there is one. Return: 0 or ERR_ACCESS, and
 * @why. */
int tls_peer(const struct tls *t, const struct hostauth_creds *creds, struct tls_name *name,
	     char why[HOSTAUTH_TEXT_BYTES]) WARN_UNUSED;

#endif
