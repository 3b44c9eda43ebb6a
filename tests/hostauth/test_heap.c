/* SPDX-License-Identifier: BSD-2-Clause */
/* Heap of a handshake: at most BUDGET_HANDSHAKE, whatever the peer sends. */
#include "tests/cmocka_all.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "hostauth/chain.h"
#include "tests/hostauth/pair.h"

/* Each of OpenSSL's allocations is counted for the end that was at work. */
enum { NOBODY = 2, OWNERS, HEAD = 16 };

struct head {
	size_t bytes;
	size_t owner;
};

static unsigned owner = NOBODY;
static size_t live[OWNERS], peak[OWNERS];

/* As malloc has it: with a word of its own, in steps of 16. */
static size_t cost(size_t bytes)
{
	return (bytes + sizeof(size_t) + 15) / 16 * 16;
}

static void *take(size_t bytes, const char *file, int line)
{
	struct head *h = malloc(HEAD + bytes);

	(void)file;
	(void)line;
	if (!h)
		return NULL;
	*h = (struct head){bytes, owner};
	live[owner] += cost(bytes);
	if (live[owner] > peak[owner])
		peak[owner] = live[owner];
	return (uint8_t *)h + HEAD;
}

static void give(void *p, const char *file, int line)
{
	struct head *h;

	(void)file;
	(void)line;
	if (!p)
		return;
	h = (struct head *)((uint8_t *)p - HEAD);
	live[h->owner] -= cost(h->bytes);
	free(h);
}

/* As bad as it can be: what was there, and what it becomes, side by side. */
static void *change(void *p, size_t bytes, const char *file, int line)
{
	void *q = take(bytes, file, line);
	size_t had;

	if (!p || !q)
		return q;
	had = ((struct head *)((uint8_t *)p - HEAD))->bytes;
	memcpy(q, p, had < bytes ? had : bytes);
	give(p, file, line);
	return q;
}

static void end_of(struct pair_end *e)
{
	size_t own = malloc_usable_size(e->h);

	hostauth_free(e->h);
	e->h = NULL;
	if (owner < NOBODY && live[owner] >= own)
		live[owner] -= own;
}

/* pair_again(), counted. */
static void again(struct pair_end end[2])
{
	for (owner = 0; owner < 2; owner++) {
		const struct hostauth_params p = {
			.role = end[owner].role, .creds = end[owner].creds, .now = PAIR_NOW};

		end_of(&end[owner]);
		assert_int_equal(live[owner], 0);
		peak[owner] = 0;
		end[owner].h = hostauth_new(&p);
		assert_non_null(end[owner].h);
		live[owner] += malloc_usable_size(end[owner].h);
		if (live[owner] > peak[owner])
			peak[owner] = live[owner];
		end[owner].credit = 8;
	}
	owner = NOBODY;
}

/* All of it; or, @half, up to the initiator's last message, which does not arrive. */
static void run(struct pair_end end[2], bool half)
{
	struct pair_message m;

	for (unsigned turn = 0;; turn = 1 - turn) {
		bool any;

		owner = turn;
		any = pair_next(&end[turn], &m);
		owner = 1 - turn;
		if (!any || (half && m.octets[15] == V2_CONNPROP_FINAL))
			break;
		pair_deliver(&end[1 - turn], &m);
	}
	owner = NOBODY;
}

/* --- the worst that a peer may show --- */

enum { MATERIAL = 128 * 1024 };

static void put(char *to, X509 *x, EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	size_t used = strlen(to);
	int n;

	assert_int_equal(x ? PEM_write_bio_X509(bio, x)
			   : PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL),
			 1);
	n = BIO_read(bio, to + used, (int)(MATERIAL - used - 1));
	assert_in_range(n, 1, MATERIAL);
	to[used + (size_t)n] = '\0';
	BIO_free(bio);
}

static void extend(X509 *x, int nid, const char *oid, const void *octets, size_t len)
{
	ASN1_OCTET_STRING *data = ASN1_OCTET_STRING_new();
	ASN1_OBJECT *object = oid ? OBJ_txt2obj(oid, 1) : OBJ_nid2obj(nid);
	X509_EXTENSION *ext;

	assert_int_equal(ASN1_OCTET_STRING_set(data, octets, (int)len), 1);
	ext = X509_EXTENSION_create_by_OBJ(NULL, object, 0, data);
	assert_int_equal(X509_add_ext(x, ext, -1), 1);
	X509_EXTENSION_free(ext);
	ASN1_OCTET_STRING_free(data);
	ASN1_OBJECT_free(object);
}

/* @n alternative names of @len octets each. */
static void add_names(X509 *x, unsigned n, unsigned len)
{
	static uint8_t der[MATERIAL];
	size_t at = 4;

	for (unsigned i = 0; i < n; i++) {
		der[at++] = 0x82;
		der[at++] = (uint8_t)len;
		memset(der + at, 'a', len);
		at += len;
	}
	memcpy(der, (const uint8_t[]){0x30, 0x82, (uint8_t)((at - 4) >> 8), (uint8_t)(at - 4)}, 4);
	extend(x, NID_subject_alt_name, NULL, der, at);
}

static void add_subject(X509 *x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN",
							    MBSTRING_ASC,
							    (const unsigned char *)"a", 1, -1, 0),
				 1);
}

static void add_extensions(X509 *x, unsigned n)
{
	char oid[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(oid, sizeof(oid), "1.2.%u", i + 1);
		extend(x, 0, oid, "\xff", 1);
	}
}

/* Octets that are no DER. */
static void add_octets(X509 *x, size_t n)
{
	static uint8_t octets[MATERIAL];

	memset(octets, 0xff, n);
	extend(x, 0, "1.2.3.4", octets, n);
}

/* How the certificates that @times stand behind the first are made up. */
struct fat {
	const char *what;
	unsigned names, name_len, subject, extensions, times;
	size_t octets;
};

/* Nobody signed it but itself: it costs what it costs until that is found out. */
static struct hostauth_creds *fat_creds(enum hostauth_role role, const struct fat *f)
{
	static char certificates[MATERIAL], key[MATERIAL];
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	struct view ca = pair_read("tests/hostauth/keys/ca.pem");
	struct hostauth_material m = {.ca = ca};
	struct hostauth_refusal no = {.why = ""};
	struct hostauth_creds *creds;
	X509 *x = X509_new();

	certificates[0] = key[0] = '\0';
	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	ASN1_TIME_set(X509_getm_notBefore(x), PAIR_NOW - 1000);
	ASN1_TIME_set(X509_getm_notAfter(x), PAIR_NOW + 1000);
	X509_set_pubkey(x, pkey);
	add_subject(x, f->subject);
	if (f->subject)
		X509_set_issuer_name(x, X509_get_subject_name(x));
	if (f->names)
		add_names(x, f->names, f->name_len);
	add_extensions(x, f->extensions);
	if (f->octets)
		add_octets(x, f->octets);
	assert_true(X509_sign(x, pkey, NULL) > 0);
	for (unsigned i = 0; i < f->times; i++)
		put(certificates, x, NULL);
	put(key, NULL, pkey);
	m.certificate = view_of(certificates, strlen(certificates));
	m.key = view_of(key, strlen(key));
	creds = hostauth_creds_new(role, &m, &no);
	if (!creds)
		fail_msg("%s: %s", f->what, no.why);
	X509_free(x);
	EVP_PKEY_free(pkey);
	pair_free(ca);
	return creds;
}

/* Both ends keep to @most, or, @hostile, the other one, which ends as @status. */
static void measure_pair(const char *what, struct pair_end end[2], unsigned hostile,
			 enum hostauth_status status, size_t most)
{
	unsigned judge = hostile == NOBODY ? 1 : 1 - hostile;
	struct hostauth_facts facts;

	for (unsigned i = 0; i < 2; i++)
		hostauth_free(end[i].h);
	end[0].h = end[1].h = NULL;
	for (unsigned i = 0; i < 2; i++) { /* the first one finds libraries that are not set up */
		memset(live, 0, sizeof(live));
		again(end);
		run(end, status == HOSTAUTH_GOING);
		assert_int_equal(hostauth_status(end[judge].h), status);
		for (owner = 0; owner < 2 && i == 0; owner++)
			end_of(&end[owner]);
		owner = NOBODY;
	}
	hostauth_facts(end[judge].h, &facts);
	print_message("%s: initiator %zu octets, acceptor %zu; %s\n", what, peak[0], peak[1],
		      *facts.why ? facts.why : "as it should");
	for (unsigned i = 0; i < 2; i++)
		if (i != hostile)
			assert_in_range(peak[i], 10000, most);
	pair_end(end);
}

static void measure(const char *what, const struct pair_setup *setup)
{
	struct pair_end end[2];

	pair_begin(end, setup);
	measure_pair(what, end, NOBODY, HOSTAUTH_DONE, BUDGET_HANDSHAKE);
}

static void handshakes_keep_to_their_budget(void **state)
{
	static const struct pair_setup common = {.initiator = "client", .acceptor = "server"};
	static const struct pair_setup rsa = {.initiator = "client-p256", .acceptor = "server-rsa"};
	static const struct pair_setup psk = {.initiator = "psk", .acceptor = "psk"};
	static const struct pair_setup chains = {.initiator = "long", .acceptor = "long-server"};
	static const struct pair_setup pieces = {
		.initiator = "long", .acceptor = "long-server", .max = 1024};

	(void)state;
	measure("certificates", &common);
	measure("P-256 and RSA", &rsa);
	measure("shared key", &psk);
	measure("chains of 16 KiB", &chains);
	measure("chains of 16 KiB in 1024 octets", &pieces);
}

static void measure_fat(enum hostauth_role role, const struct fat *f, enum hostauth_status status)
{
	static const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	struct pair_end end[2];

	pair_begin(end, &setup);
	hostauth_creds_put(end[role].creds);
	end[role].creds = fat_creds(role, f);
	measure_pair(f->what, end, role, status, BUDGET_HANDSHAKE);
}

/* The peer sends the most that it may (profile section 8), and more. */
static void the_largest_handshakes_keep_to_their_budget(void **state)
{
	static const struct fat fat[] = {
		{.what = "ten certificates", .times = CHAIN_CERTIFICATES},
		{.what = "140 certificates", .times = 140},
		{.what = "many short names",
		 .names = CHAIN_ELEMENTS - 50,
		 .name_len = 1,
		 .times = 1},
		{.what = "many names", .names = CHAIN_ELEMENTS - 50, .name_len = 36, .times = 1},
		{.what = "thousands of names", .names = 10000, .name_len = 0, .times = 1},
		{.what = "a long subject", .subject = (CHAIN_ELEMENTS - 50) / 8, .times = 1},
		{.what = "an endless subject", .subject = 1000, .times = 1},
		{.what = "many extensions", .extensions = (CHAIN_ELEMENTS - 50) / 3, .times = 1},
		{.what = "one of 23 KiB", .octets = 23 * 1024, .times = 1},
		{.what = "ten in 23 KiB", .octets = 2000, .times = CHAIN_CERTIFICATES},
		{.what = "ten with names, in 23 KiB",
		 .names = 28,
		 .name_len = 70,
		 .times = CHAIN_CERTIFICATES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fat) / sizeof(fat[0]); i++)
		for (unsigned role = 0; role < 2; role++)
			measure_fat((enum hostauth_role)role, &fat[i], HOSTAUTH_FAILED);
	for (size_t i = 0; i < sizeof(fat) / sizeof(fat[0]); i++)
		measure_fat(HOSTAUTH_INITIATOR, &fat[i], HOSTAUTH_GOING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshakes_keep_to_their_budget),
		cmocka_unit_test(the_largest_handshakes_keep_to_their_budget),
	};

	if (CRYPTO_set_mem_functions(take, change, give) != 1)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
