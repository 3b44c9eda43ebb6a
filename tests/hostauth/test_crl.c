/* SPDX-License-Identifier: BSD-2-Clause */
/* Revocation lists: which are required, which are accepted, and until when. Authorities are made
 * for each run. */
#include "tests/cmocka_all.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "tests/hostauth/pair.h"

enum { DAY = 24 * 3600, MATERIAL = 16384 };

/* An authority, or somebody it signed for. */
struct party {
	EVP_PKEY *key;
	X509 *cert;
};

static struct party root, other, middle, client, server, chained;

static X509_NAME *name_of(const char *common)
{
	X509_NAME *name = X509_NAME_new();

	assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
						    (const unsigned char *)common, -1, -1, 0),
			 1);
	return name;
}

static void extend(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(ext);
	assert_int_equal(X509_add_ext(x, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

/* @san: name of the certificate's owner; NULL: an authority. @by: the signer; NULL: signed by itself. */
static struct party party(const char *common, const char *san, const struct party *by, long serial)
{
	struct party p = {.key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), .cert = X509_new()};
	X509_NAME *name = name_of(common);

	assert_non_null(p.key);
	X509_set_version(p.cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(p.cert), serial);
	X509_set_subject_name(p.cert, name);
	X509_set_issuer_name(p.cert, by ? X509_get_subject_name(by->cert) : name);
	ASN1_TIME_set(X509_getm_notBefore(p.cert), PAIR_NOW - DAY);
	ASN1_TIME_set(X509_getm_notAfter(p.cert), PAIR_NOW + DAY);
	X509_set_pubkey(p.cert, p.key);
	extend(p.cert, NID_basic_constraints, san ? "CA:FALSE" : "critical,CA:TRUE");
	if (san)
		extend(p.cert, NID_subject_alt_name, san);
	assert_true(X509_sign(p.cert, by ? by->key : p.key, NULL) > 0);
	X509_NAME_free(name);
	return p;
}

static void put(char *to, void *of, int (*write)(BIO *bio, void *of))
{
	BIO *bio = BIO_new(BIO_s_mem());
	size_t used = strlen(to);
	int n;

	assert_int_equal(write(bio, of), 1);
	n = BIO_read(bio, to + used, (int)(MATERIAL - used - 1));
	assert_in_range(n, 1, MATERIAL);
	to[used + (size_t)n] = '\0';
	BIO_free(bio);
}

static int write_certificate(BIO *bio, void *of)
{
	return PEM_write_bio_X509(bio, of);
}

static int write_list(BIO *bio, void *of)
{
	return PEM_write_bio_X509_CRL(bio, of);
}

static int write_key(BIO *bio, void *of)
{
	return PEM_write_bio_PrivateKey(bio, of, NULL, NULL, 0, NULL, NULL);
}

static void put_certificate(char *to, const struct party *p)
{
	put(to, p->cert, write_certificate);
}

/* A list of @by's, signed by @signer, in force @from and until @until (seconds from now), with @revoked in it. */
static void put_list(char *to, const struct party *by, const struct party *signer, long from,
		     long until, const struct party *revoked)
{
	X509_CRL *crl = X509_CRL_new();
	ASN1_TIME *time = ASN1_TIME_set(NULL, PAIR_NOW + from);

	X509_CRL_set_version(crl, X509_CRL_VERSION_2);
	X509_CRL_set_issuer_name(crl, X509_get_subject_name(by->cert));
	X509_CRL_set1_lastUpdate(crl, time);
	if (revoked) {
		X509_REVOKED *one = X509_REVOKED_new();

		X509_REVOKED_set_serialNumber(one, X509_get_serialNumber(revoked->cert));
		X509_REVOKED_set_revocationDate(one, time);
		X509_CRL_add0_revoked(crl, one);
	}
	ASN1_TIME_set(time, PAIR_NOW + until);
	X509_CRL_set1_nextUpdate(crl, time);
	assert_true(X509_CRL_sign(crl, signer->key, NULL) > 0);
	put(to, crl, write_list);
	ASN1_TIME_free(time);
	X509_CRL_free(crl);
}

static struct hostauth_creds *creds(enum hostauth_role role, const struct party *who,
				    const struct party *between, const char *ca, const char *lists)
{
	char cert[MATERIAL] = "", key[MATERIAL] = "";
	struct hostauth_refusal no = {.why = ""};
	struct hostauth_material m = {.ca = view_of(ca, strlen(ca)),
				      .crl = view_of(lists, strlen(lists))};
	struct hostauth_creds *c;

	put_certificate(cert, who);
	if (between)
		put_certificate(cert, between);
	put(key, who->key, write_key);
	m.certificate = view_of(cert, strlen(cert));
	m.key = view_of(key, strlen(key));
	c = hostauth_creds_new(role, &m, &no);
	if (!c)
		fail_msg("%s", no.why);
	return c;
}

/* The end with the lists is the acceptor, then the initiator. @why: the reason in its log; NULL: it accepts the
 * peer. */
static void meet(const struct party *who, const struct party *between, const char *ca,
		 const char *lists, const char *why)
{
	static const struct pair_setup none = {0};
	char roots[MATERIAL] = "";

	put_certificate(roots, &root);
	for (unsigned has_lists = 0; has_lists < 2; has_lists++) {
		struct pair_end end[2] = {{.role = HOSTAUTH_INITIATOR, .max = PAIR_MESSAGE},
					  {.role = HOSTAUTH_ACCEPTOR, .max = PAIR_MESSAGE}};
		struct hostauth_facts facts;

		end[has_lists].creds = creds(end[has_lists].role, &server, NULL, ca, lists);
		end[1 - has_lists].creds = creds(end[1 - has_lists].role, who, between, roots, "");
		pair_again(end, &none);
		pair_run(end);
		hostauth_facts(end[has_lists].h, &facts);
		if (why ? strcmp(facts.why, why) != 0 || facts.cause != HOSTAUTH_CAUSE_TLS
			: hostauth_status(end[has_lists].h) != HOSTAUTH_DONE)
			fail_msg("role %u: \"%s\" instead of \"%s\"", has_lists, facts.why,
				 why ? why : "");
		if (why)
			assert_int_equal(hostauth_status(end[1 - has_lists].h), HOSTAUTH_FAILED);
		pair_end(end);
	}
}

static void a_revoked_certificate_is_refused(void **state)
{
	char ca[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	meet(&client, NULL, ca, "", NULL);
	put_list(lists, &root, &root, -DAY, DAY, &server);
	meet(&client, NULL, ca, lists, NULL);
	lists[0] = '\0';
	put_list(lists, &root, &root, -DAY, DAY, &client);
	meet(&client, NULL, ca, lists, "certificate revoked");
}

static void lists_have_their_time(void **state)
{
	char ca[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	put_list(lists, &root, &root, -DAY, -1, NULL);
	meet(&client, NULL, ca, lists, "CRL has expired");
	/* A fresh one beside it will do. */
	put_list(lists, &root, &root, -DAY, DAY, NULL);
	meet(&client, NULL, ca, lists, NULL);
	lists[0] = '\0';
	put_list(lists, &root, &root, 1, DAY, NULL);
	meet(&client, NULL, ca, lists, "CRL is not yet valid");
}

static void ends(const char *ca, const char *lists, int64_t first, int64_t last)
{
	struct hostauth_creds *c = creds(HOSTAUTH_ACCEPTOR, &server, NULL, ca, lists);
	struct hostauth_times t;

	hostauth_creds_times(c, &t);
	hostauth_creds_put(c);
	assert_int_equal(t.crl_end, first);
	assert_int_equal(t.crl_last, last);
}

/* For one authority the latest list counts. Among several authorities the first to end is warned
 * of, and the last decides the end. */
static void their_ends_are_known(void **state)
{
	char ca[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	ends(ca, lists, INT64_MAX, INT64_MAX);
	put_list(lists, &root, &root, -DAY, -1, NULL);
	ends(ca, lists, PAIR_NOW - 1, PAIR_NOW - 1);
	put_list(lists, &root, &root, -DAY, DAY, NULL);
	ends(ca, lists, PAIR_NOW + DAY, PAIR_NOW + DAY);
	put_list(lists, &other, &other, -DAY, 5, NULL);
	ends(ca, lists, PAIR_NOW + 5, PAIR_NOW + DAY);
}

/* Where lists are given there is to be one of each authority that signs. */
static void a_list_that_is_missing_is_no_permission(void **state)
{
	char ca[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	put_certificate(ca, &other);
	put_list(lists, &other, &other, -DAY, DAY, NULL);
	meet(&client, NULL, ca, lists, "unable to get certificate CRL");
	put_list(lists, &root, &root, -DAY, DAY, NULL);
	meet(&client, NULL, ca, lists, NULL);
}

static void an_authority_cannot_revoke_for_another(void **state)
{
	char ca[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	put_certificate(ca, &other);
	put_list(lists, &root, &other, -DAY, DAY, NULL);
	meet(&client, NULL, ca, lists, "CRL signature failure");
}

/* The whole chain is looked at: that of the root, and that of the one between. */
static void chains_want_a_list_each(void **state)
{
	char ca[MATERIAL] = "", roots[MATERIAL] = "", both[MATERIAL] = "", lists[MATERIAL] = "";

	(void)state;
	put_certificate(ca, &root);
	meet(&chained, &middle, ca, "", NULL);
	put_list(roots, &root, &root, -DAY, DAY, NULL);
	meet(&chained, &middle, ca, roots, "unable to get certificate CRL");
	strcpy(both, roots);
	put_list(both, &middle, &middle, -DAY, DAY, NULL);
	meet(&chained, &middle, ca, both, NULL);
	strcpy(lists, roots);
	put_list(lists, &middle, &middle, -DAY, DAY, &chained);
	meet(&chained, &middle, ca, lists, "certificate revoked");
	lists[0] = '\0';
	put_list(lists, &root, &root, -DAY, DAY, &middle);
	put_list(lists, &middle, &middle, -DAY, DAY, NULL);
	meet(&chained, &middle, ca, lists, "certificate revoked");
}

static void drop(struct party *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
}

static int make_all(void **state)
{
	(void)state;
	root = party("root", NULL, NULL, 1);
	other = party("other", NULL, NULL, 2);
	middle = party("middle", NULL, &root, 3);
	client = party("client", "DNS:client.example", &root, 4);
	server = party("server", "DNS:server.example", &root, 5);
	chained = party("chained", "DNS:client.example", &middle, 6);
	return 0;
}

static int drop_all(void **state)
{
	(void)state;
	drop(&root);
	drop(&other);
	drop(&middle);
	drop(&client);
	drop(&server);
	drop(&chained);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_revoked_certificate_is_refused),
		cmocka_unit_test(lists_have_their_time),
		cmocka_unit_test(their_ends_are_known),
		cmocka_unit_test(a_list_that_is_missing_is_no_permission),
		cmocka_unit_test(an_authority_cannot_revoke_for_another),
		cmocka_unit_test(chains_want_a_list_each),
	};

	return cmocka_run_group_tests(tests, make_all, drop_all);
}
