/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_TLS_H
#define HOSTAUTH_TLS_H

#include <openssl/ssl.h>

#include "hostauth/creds_internal.h"
#include "hostauth/hostauth.h"
#include "hostauth/names.h"

/** tls - the TLS engine of one handshake, between two memory BIOs. For hostauth/ only. The address
 * of a struct tls must not change. */
struct tls {
	SSL *ssl;      /* NULL until it is needed */
	BIO *in, *out; /* owned by the SSL */
	bool complete;
	char suite[32];
	/* Results of the engine's callbacks (creds.c). */
	const char *fault; /* why the callbacks refused, in words */
	bool is_too_much;  /* the callbacks refused because of a limit of section 8 */
	bool is_asked;	   /* initiator: the peer asks for a certificate */
	bool shows_key;	   /* acceptor: the peer claims a shared key */
	/* identity of that key; "" if the identity is not valid */
	char identity[PSK_IDENTITY_MAX + 1];
	bool is_known; /* this end has that key */
};

/** tls_of - the struct tls of @ssl. */
struct tls *tls_of(const SSL *ssl);

struct tls_name {
	enum hostauth_name_kind kind;
	char text[HOSTAUTH_NAME_BYTES]; /* name of the peer; "": none */
};

/** tls_begin - Return: 0 or ERR_NOMEM. */
int tls_begin(struct tls *t, struct hostauth_creds *creds, int64_t now) WARN_UNUSED;

/** tls_end - wipes its keys. */
void tls_end(struct tls *t);

/** tls_feed - add octets from the peer. Return: 0 or ERR_NOMEM. */
int tls_feed(struct tls *t, struct view octets) WARN_UNUSED;

/** tls_step - continue the handshake. Return: 0; ERR_AGAIN: the peer has to send more; ERR_PROTO
 * and @why. */
int tls_step(struct tls *t, char why[HOSTAUTH_TEXT_BYTES]) WARN_UNUSED;

/** tls_pending - octets to send. tls_consume() - @octets of these were sent. */
struct view tls_pending(const struct tls *t);
void tls_consume(struct tls *t, size_t octets);

/** tls_is_rest - whether the peer sent more than the handshake. */
bool tls_is_rest(const struct tls *t);

/** tls_alert - the alert of the peer, in words. The alert was given to tls_feed() and not processed
 * yet. */
void tls_alert(struct tls *t, char why[HOSTAUTH_TEXT_BYTES]);

/** tls_shown - the identity that a peer claimed before it failed; none: .text is "". */
void tls_shown(const struct tls *t, struct tls_name *name);

/** tls_peer - the peer's name: one that is allowed, if the peer has such a name. Return: 0 or
 * ERR_ACCESS, and @why. */
int tls_peer(const struct tls *t, const struct hostauth_creds *creds, struct tls_name *name,
	     char why[HOSTAUTH_TEXT_BYTES]) WARN_UNUSED;

#endif
