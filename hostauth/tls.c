/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

int tls_begin(struct tls *t, struct hostauth_creds *creds, int64_t now)
{
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

	t->ssl = SSL_new(creds->ctx);
	if (!t->ssl || !in || !out) {
		BIO_free(in);
		BIO_free(out);
		tls_end(t);
		return ERR_NOMEM;
	}
	SSL_set_app_data(t->ssl, t);
	BIO_set_mem_eof_return(in, -1); /* an empty BIO means that more octets will come */
	SSL_set_bio(t->ssl, in, out);
	t->in = in;
	t->out = out;
	X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), now);
	if (creds->role == HOSTAUTH_INITIATOR)
		SSL_set_connect_state(t->ssl);
	else
		SSL_set_accept_state(t->ssl);
	return 0;
}

struct tls *tls_of(const SSL *ssl)
{
	return SSL_get_app_data(ssl);
}

void tls_end(struct tls *t)
{
	SSL_free(t->ssl); /* frees the BIOs as well */
	t->ssl = NULL;
	t->in = t->out = NULL;
}

int tls_feed(struct tls *t, struct view octets)
{
	if (octets.len == 0)
		return 0;
	return BIO_write(t->in, octets.data, (int)octets.len) == (int)octets.len ? 0 : ERR_NOMEM;
}

/* The reason that this folder or the verification found says more than that of the engine. */
static void tell(const struct tls *t, char why[HOSTAUTH_TEXT_BYTES])
{
	long verdict = SSL_get_verify_result(t->ssl);
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	if (verdict != X509_V_OK)
		reason = X509_verify_cert_error_string(verdict);
	if (t->fault)
		reason = t->fault;
	snprintf(why, HOSTAUTH_TEXT_BYTES, "%s%s",
		 t->shows_key && !t->is_known ? "there is no key of this identity: " : "",
		 reason ? reason : "TLS failed");
	ERR_clear_error();
}

/* Section 4.3, initiator: a server that ignores ALPN would be for another purpose. */
static bool is_purpose_agreed(const struct tls *t)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(t->ssl, &name, &len);
	return len > 0; /* the engine checks that it was offered */
}

/*
 * Section 4.2: both ends authenticate. The acceptor's engine fails without a certificate. An
 * initiator that is not asked for a certificate would speak to an acceptor that does not know the
 * initiator. A shared key is proved by both.
 */
static bool is_authentication_mutual(const struct tls *t)
{
	return SSL_is_server(t->ssl) || SSL_session_reused(t->ssl) || t->is_asked;
}

int tls_step(struct tls *t, char why[HOSTAUTH_TEXT_BYTES])
{
	int rc;

	ERR_clear_error();
	rc = SSL_do_handshake(t->ssl);
	if (rc != 1 && SSL_get_error(t->ssl, rc) == SSL_ERROR_WANT_READ)
		return ERR_AGAIN;
	if (rc != 1) {
		tell(t, why);
		return ERR_PROTO;
	}
	if (!is_purpose_agreed(t)) {
		snprintf(why, HOSTAUTH_TEXT_BYTES, "no application protocol was agreed on");
		return ERR_PROTO;
	}
	if (!is_authentication_mutual(t)) {
		snprintf(why, HOSTAUTH_TEXT_BYTES, "the acceptor asks for no certificate");
		return ERR_PROTO;
	}
	t->complete = true;
	snprintf(t->suite, sizeof(t->suite), "%s", SSL_get_cipher_name(t->ssl));
	return 0;
}

struct view tls_pending(const struct tls *t)
{
	char *data = NULL;
	long len = t->out ? BIO_get_mem_data(t->out, &data) : 0;

	return view_of(data, len > 0 ? (size_t)len : 0);
}

void tls_consume(struct tls *t, size_t octets)
{
	char dump[1024];

	while (octets > 0) {
		int n = BIO_read(t->out, dump,
				 octets < sizeof(dump) ? (int)octets : (int)sizeof(dump));

		if (n <= 0)
			return;
		octets -= (size_t)n;
	}
}

bool tls_is_rest(const struct tls *t)
{
	return BIO_ctrl_pending(t->in) > 0 || SSL_has_pending(t->ssl);
}

void tls_alert(struct tls *t, char why[HOSTAUTH_TEXT_BYTES])
{
	const char *reason;
	char octet;

	ERR_clear_error();
	(void)SSL_read(t->ssl, &octet, 1); /* continues the handshake if it is not complete */
	reason = ERR_reason_error_string(ERR_peek_last_error());
	snprintf(why, HOSTAUTH_TEXT_BYTES, "the peer refused: %s", reason ? reason : "no alert");
	ERR_clear_error();
}

/* Copies @name as text. Return: whether it can be text. */
static bool to_text(struct view name, char text[HOSTAUTH_NAME_BYTES])
{
	if (name.len == 0 || name.len >= HOSTAUTH_NAME_BYTES)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] <= ' ' || name.data[i] > '~' || name.data[i] == '"')
			return false;
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	return true;
}

static bool is_wanted(const struct hostauth_creds *c, enum hostauth_name_kind kind,
		      struct view name)
{
	for (unsigned i = 0; i < c->nnames; i++)
		if (hostauth_name_allows(c->names[i], kind, name))
			return true;
	return c->nnames == 0;
}

/* The first name that is allowed; if there is none, the first one, for the log. */
static bool choose_name(const GENERAL_NAMES *all, const struct hostauth_creds *c,
			struct tls_name *name)
{
	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *one = sk_GENERAL_NAME_value(all, i);
		struct tls_name it = {.kind = one->type == GEN_DNS ? HOSTAUTH_NAME_DNS
								   : HOSTAUTH_NAME_URI};
		struct view octets;

		if (one->type != GEN_DNS && one->type != GEN_URI)
			continue;
		octets = view_of(ASN1_STRING_get0_data(one->d.ia5),
				 (size_t)ASN1_STRING_length(one->d.ia5));
		if (!to_text(octets, it.text))
			continue;
		if (is_wanted(c, it.kind, octets)) {
			*name = it;
			return true;
		}
		if (!*name->text)
			*name = it;
	}
	return false;
}

static int certificate_name(const struct tls *t, const struct hostauth_creds *c,
			    struct tls_name *name, char why[HOSTAUTH_TEXT_BYTES])
{
	X509 *x = SSL_get0_peer_certificate(t->ssl);
	GENERAL_NAMES *all;
	bool found;

	if (!x || SSL_get_verify_result(t->ssl) != X509_V_OK) {
		snprintf(why, HOSTAUTH_TEXT_BYTES, "the peer showed no certificate");
		return ERR_ACCESS;
	}
	all = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	found = choose_name(all, c, name);
	GENERAL_NAMES_free(all);
	if (!found)
		snprintf(why, HOSTAUTH_TEXT_BYTES, "%s",
			 *name->text ? "its name is not one of those allowed"
				     : "its certificate has no name (subjectAltName, DNS or URI)");
	return found ? 0 : ERR_ACCESS;
}

void tls_shown(const struct tls *t, struct tls_name *name)
{
	name->kind = HOSTAUTH_NAME_KEY;
	if (!to_text(view_of(t->identity, strlen(t->identity)), name->text))
		name->text[0] = '\0';
}

static int psk_name(const struct tls *t, const struct hostauth_creds *c, struct tls_name *name,
		    char why[HOSTAUTH_TEXT_BYTES])
{
	const char *identity = c->psks.psks[0].identity;

	if (!SSL_session_reused(t->ssl)) { /* in OpenSSL, a shared key counts as a reused session */
		snprintf(why, HOSTAUTH_TEXT_BYTES, "the peer did not use the shared key");
		return ERR_ACCESS;
	}
	if (c->role == HOSTAUTH_ACCEPTOR)
		identity = t->is_known ? t->identity : "";
	name->kind = HOSTAUTH_NAME_KEY;
	snprintf(name->text, sizeof(name->text), "%s", identity);
	if (*name->text && is_wanted(c, HOSTAUTH_NAME_KEY, view_of(name->text, strlen(name->text))))
		return 0;
	snprintf(why, HOSTAUTH_TEXT_BYTES, "its name is not one of those allowed");
	return ERR_ACCESS;
}

int tls_peer(const struct tls *t, const struct hostauth_creds *creds, struct tls_name *name,
	     char why[HOSTAUTH_TEXT_BYTES])
{
	name->text[0] = '\0';
	return creds->psks.n ? psk_name(t, creds, name, why)
			     : certificate_name(t, creds, name, why);
}
