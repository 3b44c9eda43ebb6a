/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that TLS accepts and the profile does not. */
#include "tests/cmocka_all.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>

#include "hostauth/chain.h"
#include "hostauth/value.h"
#include "tests/hostauth/inside.h"
#include "tests/hostauth/pair.h"

static const struct pair_setup common = {.initiator = "client", .acceptor = "server"};

/* Section 4.3: of the initiator none, or another; of the acceptor none. */
static void another_purpose_is_refused(void **state)
{
	static const unsigned char other[] = "\x13rpcrdma2-hostauth-2";
	struct pair_end end[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		pair_begin(end, &common);
		assert_int_equal(SSL_CTX_set_alpn_protos(end[0].creds->ctx, i ? other : NULL,
							 i ? sizeof(other) - 1 : 0),
				 0);
		pair_again(end, &common);
		pair_run(end);
		pair_expect(&end[1], HOSTAUTH_CAUSE_TLS,
			    i ? "no application protocol" : "no application protocol is offered");
		pair_expect(&end[0], HOSTAUTH_CAUSE_PEER, "alert no application protocol");
		pair_end(end);
	}
	pair_begin(end, &common);
	SSL_CTX_set_alpn_select_cb(end[1].creds->ctx, NULL, NULL);
	pair_again(end, &common);
	pair_run(end);
	pair_expect(&end[0], HOSTAUTH_CAUSE_TLS, "no application protocol was agreed on");
	pair_expect(&end[1], HOSTAUTH_CAUSE_PEER, "the peer refused: TLS");
	pair_end(end);
}

static void earlier_versions_are_refused(void **state)
{
	struct pair_end end[2];

	(void)state;
	for (unsigned which = 0; which < 2; which++) {
		pair_begin(end, &common);
		assert_int_equal(
			SSL_CTX_set_min_proto_version(end[which].creds->ctx, TLS1_2_VERSION), 1);
		assert_int_equal(
			SSL_CTX_set_max_proto_version(end[which].creds->ctx, TLS1_2_VERSION), 1);
		pair_again(end, &common);
		pair_run(end);
		pair_expect(&end[1], HOSTAUTH_CAUSE_TLS, which ? "" : "unsupported protocol");
		pair_expect(&end[0], HOSTAUTH_CAUSE_PEER, which ? "" : "alert protocol version");
		pair_end(end);
	}
}

/* This holds whatever openssl.cnf allows: the test runs with tests/hostauth/lax.cnf, which has
 * level 0. */
static void weak_keys_are_refused(void **state)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
	SSL_CTX *lax = SSL_CTX_new(TLS_server_method());
	struct view ca = pair_read("tests/hostauth/keys/ca.pem");
	struct hostauth_material m = {.ca = ca};
	BIO *bio = BIO_new(BIO_s_mem());
	struct hostauth_refusal no;
	X509 *x = X509_new();
	char *pem;

	(void)state;
	assert_int_equal(SSL_CTX_get_security_level(lax), 0);
	ASN1_TIME_set(X509_getm_notBefore(x), PAIR_NOW - 1000);
	ASN1_TIME_set(X509_getm_notAfter(x), PAIR_NOW + 1000);
	X509_set_pubkey(x, key);
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	assert_int_equal(SSL_CTX_use_certificate(lax, x), 1);
	PEM_write_bio_X509(bio, x);
	PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	m.certificate.len = (size_t)BIO_get_mem_data(bio, &pem);
	m.certificate.data = (const uint8_t *)pem;
	m.key = m.certificate;
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_int_equal(no.part, HOSTAUTH_PART_CERTIFICATE);
	assert_non_null(strstr(no.why, "ee key too small"));
	X509_free(x);
	EVP_PKEY_free(key);
	BIO_free(bio);
	SSL_CTX_free(lax);
	pair_free(ca);
}

/* --- what a chain may cost --- */

enum { MESSAGE = 1 << 16 };

/* A Certificate message of @n certificates of @len octets each. */
static struct view certificates(uint8_t *to, unsigned n, const uint8_t *one, size_t len)
{
	uint8_t *at = to + 8;

	for (unsigned i = 0; i < n; i++) {
		*at++ = 0;
		*at++ = (uint8_t)(len >> 8);
		*at++ = (uint8_t)len;
		memcpy(at, one, len);
		at += len;
		*at++ = 0; /* no extensions */
		*at++ = 0;
	}
	len = (size_t)(at - to) - 8;
	memcpy(to,
	       (const uint8_t[]){11, 0, (uint8_t)((len + 4) >> 8), (uint8_t)(len + 4), 0, 0,
				 (uint8_t)(len >> 8), (uint8_t)len},
	       8);
	return view_of(to, (size_t)(at - to));
}

static void chains_are_counted(void **state)
{
	static uint8_t message[MESSAGE];
	static const uint8_t one[] = {0x30, 3, 2, 1, 5};
	/* Two within two: six elements. */
	static const uint8_t nested[] = {0x30, 10, 4, 4, 2, 0, 2, 0, 0x30, 2, 5, 0};
	static const uint8_t endless[] = {0x30, 0x80, 2, 1, 5};
	uint8_t names[4 + 2 * CHAIN_ELEMENTS] = {0x30, 0x82}, deep[100];
	struct view m;

	(void)state;
	m = certificates(message, CHAIN_CERTIFICATES, one, sizeof(one));
	assert_null(chain_fault(m));
	m = certificates(message, CHAIN_CERTIFICATES + 1, one, sizeof(one));
	assert_string_equal(chain_fault(m), "more certificates than are accepted");
	message[0] = 8; /* another message */
	assert_null(chain_fault(m));
	/* Names of no octets: as many as may be; one more, in one certificate or in two. */
	for (size_t i = 4; i < sizeof(names); i++)
		names[i] = i % 2 ? 0 : 0x82;
	for (size_t n = CHAIN_ELEMENTS - 1; n <= CHAIN_ELEMENTS; n++) {
		const char *fault;

		names[2] = (uint8_t)(2 * n >> 8);
		names[3] = (uint8_t)(2 * n);
		fault = chain_fault(certificates(message, 1, names, 4 + 2 * n));
		if (n < CHAIN_ELEMENTS)
			assert_null(fault);
		else
			assert_string_equal(
				fault, "certificates with more DER elements than are accepted");
	}
	names[2] = (uint8_t)(CHAIN_ELEMENTS >> 8);
	names[3] = 0;
	m = certificates(message, 2, names, 4 + CHAIN_ELEMENTS);
	assert_string_equal(chain_fault(m),
			    "certificates with more DER elements than are accepted");
	m = certificates(message, 10, nested, sizeof(nested));
	assert_null(chain_fault(m));
	m = certificates(message, 10, endless, sizeof(endless));
	assert_null(chain_fault(m));
	/* Each in the one before. */
	for (size_t i = 0; i < sizeof(deep); i += 2) {
		deep[i] = 0x30;
		deep[i + 1] = (uint8_t)(sizeof(deep) - i - 2);
	}
	m = certificates(message, 1, deep, sizeof(deep));
	assert_string_equal(chain_fault(m),
			    "certificates with more DER elements than are accepted");
	/* A message that is cut off, or claims to be longer, is never read beyond its end (the
	 * sanitizers check that). */
	m = certificates(message, 3, nested, sizeof(nested));
	for (size_t len = 0; len < m.len; len++)
		(void)chain_fault(view_of(message, len));
	for (size_t at = 1; at < m.len; at++) {
		message[at] ^= 0xff;
		(void)chain_fault(m);
		message[at] ^= 0xff;
	}
}

/* @path's certificate, and @times - 1 behind it. */
static struct hostauth_creds *chain_of(enum hostauth_role role, const char *path, size_t times)
{
	static const char end_of_one[] = "-----END CERTIFICATE-----\n";
	static char many[64 * 1024];
	struct view one = pair_read(path), ca = pair_read("tests/hostauth/keys/ca.pem");
	size_t len = (size_t)(strstr((const char *)one.data, end_of_one) - (const char *)one.data) +
		     strlen(end_of_one);
	const struct hostauth_material m = {
		.certificate = view_of(many, times * len), .key = one, .ca = ca};
	struct hostauth_refusal no;
	struct hostauth_creds *creds;

	assert_in_range(times * len, 1, sizeof(many));
	for (size_t i = 0; i < times; i++)
		memcpy(many + i * len, one.data, len);
	creds = hostauth_creds_new(role, &m, &no);
	assert_non_null(creds);
	pair_free(one);
	pair_free(ca);
	return creds;
}

static void long_chains_are_refused_before_they_are_looked_at(void **state)
{
	static const char *const paths[] = {"tests/hostauth/keys/client.pem",
					    "tests/hostauth/keys/server.pem"};
	struct pair_end end[2];

	(void)state;
	for (unsigned role = 0; role < 2; role++) {
		for (unsigned more = 0; more < 2; more++) {
			pair_begin(end, &common);
			hostauth_creds_put(end[role].creds);
			end[role].creds =
				chain_of(end[role].role, paths[role], CHAIN_CERTIFICATES + more);
			pair_again(end, &common);
			pair_run(end);
			if (more) {
				pair_expect(&end[1 - role], HOSTAUTH_CAUSE_LIMIT,
					    "more certificates than are accepted");
				pair_expect(&end[role], HOSTAUTH_CAUSE_PEER, "a limit of its own");
			} else {
				assert_int_equal(hostauth_status(end[1 - role].h), HOSTAUTH_DONE);
			}
			pair_end(end);
		}
	}
}

/* --- values made by hand --- */

static void give(struct hostauth *h, uint8_t *value, size_t len, unsigned kind, unsigned sequence)
{
	struct hostauth_in in = {
		.has_value = true, .value = view_of(value, len), .message = view_of(value, len)};

	memcpy(value,
	       (const uint8_t[]){1, (uint8_t)kind, (uint8_t)(sequence >> 8), (uint8_t)sequence}, 4);
	hostauth_recv(h, &in);
}

static void skip_answer(struct hostauth *h)
{
	struct hostauth_out out;
	uint8_t message[4096];

	assert_true(hostauth_next(h, 992, 60, &out));
	memcpy(message, out.value.data, out.value.len);
	hostauth_sent(h, message, out.value.len, 0);
}

/* Section 8: an initiator's first turn. */
static void a_clienthello_without_end_is_refused(void **state)
{
	static const uint8_t hello[] = {22, 3, 1, 0x3f, 0xff, 1, 0, 0x7f, 0xff, 3, 3};
	uint8_t value[1000] = {0};
	struct pair_end end[2];
	unsigned n = 0;

	(void)state;
	pair_begin(end, &common);
	memcpy(value + 4, hello, sizeof(hello));
	for (; hostauth_status(end[1].h) == HOSTAUTH_GOING && n < 100; n++) {
		give(end[1].h, value, sizeof(value), HOSTAUTH_MORE, n);
		if (hostauth_status(end[1].h) == HOSTAUTH_GOING)
			skip_answer(end[1].h);
	}
	pair_expect(&end[1], HOSTAUTH_CAUSE_LIMIT, "more TLS octets than are accepted");
	assert_int_equal(n, HOSTAUTH_MAX_HELLO / 996 + 1);
	pair_end(end);
}

/* Number of handshake messages that the TLS engine sent. */
static unsigned engine_says;

static void count_messages(int sent, int version, int type, const void *octets, size_t len,
			   SSL *ssl, void *arg)
{
	(void)version;
	(void)octets;
	(void)len;
	(void)ssl;
	(void)arg;
	engine_says += sent && type == SSL3_RT_HANDSHAKE;
}

/* Section 6: what comes with FAIL is read for its alert. A ClientHello, or its end, would draw a signature,
 * where a message is taken in, and not where there is time for it. */
static void a_fail_asks_for_no_work(void **state)
{
	struct pair_end end[2];
	struct pair_message m;
	struct hostauth_out out;
	uint8_t value[1024];
	size_t len;

	(void)state;
	for (unsigned whole = 0; whole < 2; whole++) {
		size_t cut = whole ? 0 : 100;

		pair_begin(end, &common);
		SSL_CTX_set_msg_callback(end[1].creds->ctx, count_messages);
		pair_again(end, &common);
		hostauth_work(end[0].h);
		assert_true(hostauth_next(end[0].h, 992, 60, &out));
		len = out.value.len;
		memcpy(value, out.value.data, len);
		give(end[1].h, value, len - cut, HOSTAUTH_MORE, 0);
		skip_answer(end[1].h);
		engine_says = 0;
		memmove(value + 6, value + len - cut, cut);
		value[4] = 0;
		value[5] = HOSTAUTH_REASON_TLS;
		give(end[1].h, value, 6 + cut, HOSTAUTH_FAIL, 1);
		pair_expect(&end[1], HOSTAUTH_CAUSE_PEER, "the peer refused: TLS");
		assert_int_equal(engine_says, 0);
		assert_false(pair_next(&end[1], &m));
		pair_end(end);
	}
}

/* Section 4.2: an acceptor that asks for no certificate authenticates nobody. */
static void an_acceptor_that_does_not_ask_is_refused(void **state)
{
	struct pair_end end[2];

	(void)state;
	pair_begin(end, &common);
	SSL_CTX_set_verify(end[1].creds->ctx, SSL_VERIFY_NONE, NULL);
	pair_again(end, &common);
	pair_run(end);
	pair_expect(&end[0], HOSTAUTH_CAUSE_TLS, "the acceptor asks for no certificate");
	pair_end(end);
}

static int use_early_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *idlen,
			 SSL_SESSION **session)
{
	static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
	static const unsigned char key[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					      22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
	static const unsigned char alpn[] = "rpcrdma2-hostauth-1";

	(void)md;
	*session = SSL_SESSION_new();
	assert_int_equal(SSL_SESSION_set1_master_key(*session, key, sizeof(key)), 1);
	assert_int_equal(SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, aes_128_gcm_sha256)),
			 1);
	assert_int_equal(SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION), 1);
	assert_int_equal(SSL_SESSION_set_max_early_data(*session, 1000), 1);
	assert_int_equal(SSL_SESSION_set1_alpn_selected(*session, alpn, sizeof(alpn) - 1), 1);
	*id = (const unsigned char *)"pair-1";
	*idlen = 6;
	return 1;
}

/* Section 4.2: 0-RTT data are not taken, nor passed over: a ClientHello that announces them is refused. */
static void early_data_are_refused(void **state)
{
	static const struct pair_setup shared = {.initiator = "psk", .acceptor = "psk"};
	static const unsigned char alpn[] = "\x13rpcrdma2-hostauth-1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	uint8_t value[1024];
	struct pair_end end[2];
	size_t written;
	SSL *ssl;
	int len;

	(void)state;
	SSL_CTX_set_psk_use_session_callback(ctx, use_early_key);
	assert_int_equal(SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1), 0);
	assert_int_equal(SSL_CTX_set1_groups_list(ctx, "X25519"), 1);
	ssl = SSL_new(ctx);
	BIO_set_mem_eof_return(in, -1);
	SSL_set_bio(ssl, in, out);
	SSL_set_connect_state(ssl);
	assert_int_equal(SSL_write_early_data(ssl, "too soon", 8, &written), 1);
	len = BIO_read(out, value + 4, sizeof(value) - 4);
	assert_true(len > 0);
	pair_begin(end, &shared);
	give(end[1].h, value, (size_t)len + 4, HOSTAUTH_TURN, 0);
	hostauth_work(end[1].h);
	pair_expect(&end[1], HOSTAUTH_CAUSE_TLS, "early data");
	pair_end(end);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

/* Section 7.3: a peer that begins with another type than CONNPROP_MIDDLE does not have the profile, whatever the
 * message contains. */
static void a_final_at_first_is_none(void **state)
{
	struct hostauth_in in = {.has_value = true, .final = true};
	struct hostauth_out out;
	struct pair_end end[2];
	uint8_t value[1024];

	(void)state;
	for (unsigned kind = HOSTAUTH_MORE; kind <= HOSTAUTH_FAIL; kind++) {
		pair_begin(end, &common);
		hostauth_work(end[0].h);
		assert_true(hostauth_next(end[0].h, 992, 60, &out));
		memcpy(value, out.value.data, out.value.len);
		value[1] = (uint8_t)kind;
		in.value = in.message = view_of(value, out.value.len);
		assert_int_equal(hostauth_recv(end[1].h, &in), HOSTAUTH_ABSENT);
		pair_end(end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_purpose_is_refused),
		cmocka_unit_test(earlier_versions_are_refused),
		cmocka_unit_test(weak_keys_are_refused),
		cmocka_unit_test(chains_are_counted),
		cmocka_unit_test(long_chains_are_refused_before_they_are_looked_at),
		cmocka_unit_test(a_clienthello_without_end_is_refused),
		cmocka_unit_test(a_fail_asks_for_no_work),
		cmocka_unit_test(an_acceptor_that_does_not_ask_is_refused),
		cmocka_unit_test(early_data_are_refused),
		cmocka_unit_test(a_final_at_first_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
