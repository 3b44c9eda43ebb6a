/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/creds.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "hostauth/chain.h"
#include "hostauth/creds_internal.h"
#include "hostauth/hostauth.h"
#include "hostauth/tls.h"

/* Section 4.1 of the profile. RSA+... are for signatures within chains: TLS 1.3 itself uses PSS. */
static const char suites[] =
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
static const char psk_suites[] = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
static const char groups[] = "X25519:P-256:P-384";
static const char signatures[] =
	"ed25519:ECDSA+SHA256:ECDSA+SHA384:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:"
	"rsa_pss_pss_sha256:RSA+SHA256:RSA+SHA384:RSA+SHA512";
static const uint8_t alpn[] = "\x13rpcrdma2-hostauth-1";

enum {
	ALPN_BYTES = sizeof(alpn) - 1,
	SECURITY_LEVEL = 2, /* 112 bits: RSA from 2048 on; overrides openssl.cnf */
};

/*
 * OpenSSL's heap. SSL_free() wipes neither the secrets of TLS 1.3 nor keys derived from them (3.0),
 * so all freed memory is wiped. The functions must be set before OpenSSL's first allocation, and
 * only this folder uses OpenSSL.
 */
static void *take(size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	return bytes ? mem_secret_alloc(bytes) : NULL; /* the same as OpenSSL's own */
}

static void *change(void *p, size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	if (bytes)
		return mem_secret_realloc(p, bytes);
	mem_secret_free(p);
	return NULL;
}

static void give(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	mem_secret_free(p);
}

/* If another heap was set before, it stays. */
static void set_heap(void)
{
	CRYPTO_malloc_fn allocate;
	CRYPTO_realloc_fn reallocate;
	CRYPTO_free_fn release;

	CRYPTO_get_mem_functions(&allocate, &reallocate, &release);
	if (allocate == CRYPTO_malloc)
		(void)CRYPTO_set_mem_functions(take, change, give);
}

static int refuse(struct hostauth_refusal *r, enum hostauth_part part, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	r->part = part;
	snprintf(r->why, sizeof(r->why), "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
	ERR_clear_error();
	return ERR_CONFIG;
}

/* Section 4.3: a handshake for another purpose is rejected. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *len,
		       const unsigned char *in, unsigned in_len, void *arg)
{
	(void)ssl;
	(void)arg;
	for (unsigned i = 0; i < in_len; i += in[i] + 1u)
		if (in[i] == alpn[0] && in_len - i >= ALPN_BYTES &&
		    memcmp(in + i, alpn, ALPN_BYTES) == 0) {
			*out = in + i + 1;
			*len = in[i];
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A ClientHello without ALPN is rejected here, because choose_alpn() is not called for it. Section
 * 4.2: 0-RTT data MUST NOT be used, and the engine would ignore them. */
static int look_at_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *data;
	size_t len;

	(void)arg;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_early_data, &data, &len) == 1) {
		tls_of(ssl)->fault = "early data are announced";
		*alert = SSL_AD_ILLEGAL_PARAMETER;
		return SSL_CLIENT_HELLO_ERROR;
	}
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation,
				      &data, &len) == 1)
		return SSL_CLIENT_HELLO_SUCCESS;
	tls_of(ssl)->fault = "no application protocol is offered";
	*alert = SSL_AD_NO_APPLICATION_PROTOCOL;
	return SSL_CLIENT_HELLO_ERROR;
}

/*
 * OpenSSL calls this with a message before it parses it, in OpenSSL's own memory, and ignores a
 * return value. So a message that is too large is made unreadable. The cost is the message's
 * octets, which are limited.
 */
static void look_at_message(int sent, int version, int type, const void *octets, size_t len,
			    SSL *ssl, void *arg)
{
	const char *fault;

	(void)version;
	(void)arg;
	if (sent || type != SSL3_RT_HANDSHAKE || len == 0)
		return;
	if (*(const uint8_t *)octets == SSL3_MT_CERTIFICATE_REQUEST)
		tls_of(ssl)->is_asked = true;
	fault = chain_fault(view_of(octets, len));
	if (!fault)
		return;
	tls_of(ssl)->fault = fault;
	tls_of(ssl)->is_too_much = true;
	memset((uint8_t *)octets + SSL3_HM_HEADER_LENGTH, 0xff, len - SSL3_HM_HEADER_LENGTH);
}

static SSL_SESSION *psk_session(SSL *ssl, const uint8_t *key, size_t len)
{
	static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session && cipher && SSL_SESSION_set1_master_key(session, key, len) &&
	    SSL_SESSION_set_cipher(session, cipher) &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

static const struct hostauth_creds *creds_of(SSL *ssl)
{
	return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

static int use_psk(SSL *ssl, const EVP_MD *md, const unsigned char **identity, size_t *len,
		   SSL_SESSION **session)
{
	const struct psk *psk = creds_of(ssl)->psks.psks;

	*session = NULL;
	if (md && EVP_MD_get_type(md) != NID_sha256)
		return 0;
	*session = psk_session(ssl, psk->key, psk->key_len);
	*identity = (const unsigned char *)psk->identity;
	*len = strlen(psk->identity);
	return *session != NULL;
}

/* Keeps the identity that the peer claims, for the log, and for psk_name() if it is known. */
static void note_identity(struct tls *t, const unsigned char *identity, size_t len, bool is_known)
{
	t->shows_key = true;
	t->is_known = is_known;
	if (len > PSK_IDENTITY_MAX || memchr(identity, '\0', len))
		len = 0;
	memcpy(t->identity, identity, len);
	t->identity[len] = '\0';
}

/* Section 4.5: an unknown identity gets the answer of a wrong key, so the peer learns nothing. */
static int find_psk(SSL *ssl, const unsigned char *identity, size_t len, SSL_SESSION **session)
{
	const struct psk *psk = psk_find(&creds_of(ssl)->psks, view_of(identity, len));
	uint8_t nobodys[PSK_KEY_MIN];

	*session = NULL;
	note_identity(tls_of(ssl), identity, len, psk != NULL);
	if (psk) {
		*session = psk_session(ssl, psk->key, psk->key_len);
	} else if (RAND_priv_bytes(nobodys, sizeof(nobodys)) == 1) {
		*session = psk_session(ssl, nobodys, sizeof(nobodys));
	}
	return *session != NULL;
}

static int set_psks(struct hostauth_creds *c, struct view text, struct hostauth_refusal *r)
{
	unsigned line;
	int err = psk_parse(&c->psks, text, &line);

	if (err == ERR_CONFIG && line == 0)
		return refuse(r, HOSTAUTH_PART_PSK, "the psk file has no key, or too many");
	if (err == ERR_CONFIG) {
		r->part = HOSTAUTH_PART_PSK;
		snprintf(r->why, sizeof(r->why),
			 "line %u of the psk file is not IDENTITY:KEY with 16 to 64 octets of key "
			 "in hexadecimal",
			 line);
		return err;
	}
	if (err)
		return refuse(r, HOSTAUTH_PART_NONE, "no memory");
	if (c->role == HOSTAUTH_INITIATOR)
		SSL_CTX_set_psk_use_session_callback(c->ctx, use_psk);
	else
		SSL_CTX_set_psk_find_session_callback(c->ctx, find_psk);
	return 0;
}

static BIO *bio_of(struct view v)
{
	return v.len && v.len < INT32_MAX ? BIO_new_mem_buf(v.data, (int)v.len) : NULL;
}

/* Rejects encrypted keys, instead of asking a terminal for the password. */
static int no_password(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

/* Seconds since 1970; @other when it cannot be read. */
static int64_t seconds_of(const ASN1_TIME *time, int64_t other)
{
	struct tm tm;

	return time && ASN1_TIME_to_tm(time, &tm) == 1 ? timegm(&tm) : other;
}

static void note_end(int64_t *end, const ASN1_TIME *time)
{
	int64_t at = seconds_of(time, INT64_MAX);

	if (at < *end)
		*end = at;
}

static void note_times(struct hostauth_creds *c, const X509 *x)
{
	int64_t begin = seconds_of(X509_get0_notBefore(x), INT64_MIN);

	note_end(&c->times.end, X509_get0_notAfter(x));
	if (begin > c->times.begin)
		c->times.begin = begin;
}

static int set_certificate(struct hostauth_creds *c, struct view pem, struct hostauth_refusal *r)
{
	BIO *bio = bio_of(pem);
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
	int ok = x && SSL_CTX_use_certificate(c->ctx, x) == 1;

	if (ok)
		note_times(c, x);
	X509_free(x);
	if (!ok) {
		BIO_free(bio);
		return refuse(r, HOSTAUTH_PART_CERTIFICATE,
			      "the certificate file has no certificate that can be used");
	}
	while ((x = PEM_read_bio_X509(bio, NULL, no_password, NULL))) {
		note_times(c, x);
		if (SSL_CTX_add0_chain_cert(c->ctx, x) != 1) {
			X509_free(x);
			BIO_free(bio);
			return refuse(r, HOSTAUTH_PART_CERTIFICATE,
				      "the certificate file's chain is unusable");
		}
	}
	ERR_clear_error(); /* the loop ends with the error "no start line" */
	BIO_free(bio);
	return 0;
}

static int set_key(struct hostauth_creds *c, struct view pem, struct hostauth_refusal *r)
{
	BIO *bio = bio_of(pem);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
	int usable = key != NULL;
	int ok = usable && SSL_CTX_use_PrivateKey(c->ctx, key) == 1 &&
		 SSL_CTX_check_private_key(c->ctx) == 1;

	EVP_PKEY_free(key);
	BIO_free(bio);
	if (ok)
		return 0;
	return refuse(r, HOSTAUTH_PART_KEY,
		      usable ? "the key is not the certificate's"
			     : "the key file has no private key that can be read (one with a "
			       "password cannot)");
}

/* Extends the span from *@first to *@last by @end, which is the @nth end, from 0. */
static void note_span(int64_t *first, int64_t *last, int nth, int64_t end)
{
	if (end < *first)
		*first = end;
	if (nth == 0 || end > *last)
		*last = end;
}

/* When the latest revocation list of the authority of list @i is due for replacement. */
static int64_t list_end(const STACK_OF(X509_INFO) * all, int i)
{
	const X509_CRL *one = sk_X509_INFO_value(all, i)->crl;
	int64_t end = INT64_MIN;

	for (int k = 0; k < sk_X509_INFO_num(all); k++) {
		const X509_CRL *crl = sk_X509_INFO_value(all, k)->crl;
		int64_t at;

		if (!crl || X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_CRL_get_issuer(one)) != 0)
			continue;
		at = seconds_of(X509_CRL_get0_nextUpdate(crl), INT64_MAX);
		if (at > end)
			end = at;
	}
	return end;
}

/* Loads certificates or revocation lists, whose files have the same form. Return: how many were
 * loaded, or -1. */
static int load_store(struct hostauth_creds *c, struct view pem, bool crls)
{
	X509_STORE *store = SSL_CTX_get_cert_store(c->ctx);
	struct hostauth_times *t = &c->times;
	BIO *bio = bio_of(pem);
	STACK_OF(X509_INFO) *all =
		bio ? PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL) : NULL;
	int n = all ? 0 : -1;

	for (int i = 0; all && n >= 0 && i < sk_X509_INFO_num(all); i++) {
		const X509_INFO *info = sk_X509_INFO_value(all, i);

		if (crls && info->crl) {
			note_span(&t->crl_end, &t->crl_last, n, list_end(all, i));
			n = X509_STORE_add_crl(store, info->crl) == 1 ? n + 1 : -1;
		} else if (!crls && info->x509) {
			note_span(&t->ca_end, &t->ca_last, n,
				  seconds_of(X509_get0_notAfter(info->x509), INT64_MAX));
			n = X509_STORE_add_cert(store, info->x509) == 1 ? n + 1 : -1;
		}
	}
	sk_X509_INFO_pop_free(all, X509_INFO_free);
	BIO_free(bio);
	return n;
}

/* Chain certificates come from the peer: only certificates of the configured authorities are
 * trusted. */
static int set_trust(struct hostauth_creds *c, const struct hostauth_material *m,
		     struct hostauth_refusal *r)
{
	if (load_store(c, m->ca, false) <= 0)
		return refuse(r, HOSTAUTH_PART_CA, "the ca file has no certificate");
	if (!m->crl.len)
		return 0;
	if (load_store(c, m->crl, true) <= 0)
		return refuse(r, HOSTAUTH_PART_CRL, "the crl file has no revocation list");
	X509_STORE_set_flags(SSL_CTX_get_cert_store(c->ctx),
			     X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
	return 0;
}

static int copy_names(struct hostauth_creds *c, const struct hostauth_material *m)
{
	if (m->nnames == 0)
		return 0;
	c->names = mem_zalloc(m->nnames * sizeof(*c->names));
	if (!c->names)
		return ERR_NOMEM;
	for (; c->nnames < m->nnames; c->nnames++) {
		size_t len = strlen(m->names[c->nnames]) + 1;
		char *copy = mem_zalloc(len);

		if (!copy)
			return ERR_NOMEM;
		memcpy(copy, m->names[c->nnames], len);
		c->names[c->nnames] = copy;
	}
	return 0;
}

/* Section 4: version 1.3 alone, no tickets, no early data. */
static int set_up(struct hostauth_creds *c, bool psk)
{
	SSL_CTX *ctx = c->ctx;

	SSL_CTX_set_app_data(ctx, c);
	SSL_CTX_set_options(ctx,
			    SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
	/* OpenSSL 3.2: a compressed certificate could not be checked before it is parsed. */
	SSL_CTX_set_options(ctx, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#endif
	SSL_CTX_clear_options(ctx, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
	SSL_CTX_set_security_level(ctx, SECURITY_LEVEL);
	SSL_CTX_set_mode(ctx, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_cert_list(ctx, HOSTAUTH_MAX_TLS);
	SSL_CTX_set_msg_callback(ctx, look_at_message);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
	if (c->role == HOSTAUTH_ACCEPTOR)
		SSL_CTX_set_client_hello_cb(ctx, look_at_hello, NULL);
	/* Only shared keys have sessions; a server needs a name for them. */
	if (c->role == HOSTAUTH_ACCEPTOR &&
	    SSL_CTX_set_session_id_context(ctx, alpn, ALPN_BYTES) != 1)
		return ERR_NOMEM;
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
			       SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
			       SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
			       SSL_CTX_set_ciphersuites(ctx, psk ? psk_suites : suites) == 1 &&
			       SSL_CTX_set1_groups_list(ctx, groups) == 1 &&
			       SSL_CTX_set1_sigalgs_list(ctx, signatures) == 1 &&
			       SSL_CTX_set_alpn_protos(ctx, alpn, ALPN_BYTES) == 0
		       ? 0
		       : ERR_NOMEM;
}

static int fill(struct hostauth_creds *c, const struct hostauth_material *m,
		struct hostauth_refusal *r)
{
	bool psk = m->psk.len > 0;
	int err;

	if (!c->ctx || set_up(c, psk) || copy_names(c, m))
		return refuse(r, HOSTAUTH_PART_NONE, "no memory");
	if (psk && (m->certificate.len || m->key.len || m->ca.len || m->crl.len))
		return refuse(r, HOSTAUTH_PART_NONE, "a psk and a certificate exclude each other");
	if (psk)
		return set_psks(c, m->psk, r);
	err = set_certificate(c, m->certificate, r);
	if (!err)
		err = set_key(c, m->key, r);
	return err ? err : set_trust(c, m, r);
}

struct hostauth_creds *hostauth_creds_new(enum hostauth_role role,
					  const struct hostauth_material *material,
					  struct hostauth_refusal *refusal)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct hostauth_creds *c;

	pthread_once(&once, set_heap);
	c = mem_zalloc(sizeof(*c));
	ERR_clear_error();
	if (!c) {
		refuse(refusal, HOSTAUTH_PART_NONE, "no memory");
		return NULL;
	}
	atomic_init(&c->holders, 1);
	c->role = role;
	c->times = (struct hostauth_times){INT64_MIN, INT64_MAX, INT64_MAX,
					   INT64_MAX, INT64_MAX, INT64_MAX};
	c->ctx =
		SSL_CTX_new(role == HOSTAUTH_INITIATOR ? TLS_client_method() : TLS_server_method());
	if (fill(c, material, refusal) == 0)
		return c;
	hostauth_creds_put(c);
	return NULL;
}

struct hostauth_creds *hostauth_creds_get(struct hostauth_creds *creds)
{
	if (creds)
		atomic_fetch_add(&creds->holders, 1);
	return creds;
}

void hostauth_creds_put(struct hostauth_creds *creds)
{
	if (!creds || atomic_fetch_sub(&creds->holders, 1) > 1)
		return;
	SSL_CTX_free(creds->ctx);
	psk_fini(&creds->psks);
	for (unsigned i = 0; i < creds->nnames; i++)
		mem_free(creds->names[i]);
	mem_free(creds->names);
	mem_free(creds);
}

void hostauth_creds_times(const struct hostauth_creds *creds, struct hostauth_times *times)
{
	*times = creds->times;
}
