/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys are wiped when a handshake is over (profile section 5), however it ended. Shared keys are
 * wiped with the last user of their file. Afterwards they are nowhere in the memory of this
 * process, used or freed. The test reads /proc/self/mem, and keeps the keys that it looks for in
 * another form.
 */
#include "tests/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hostauth/inside.h"
#include "tests/hostauth/pair.h"

enum { SECRETS = 16, SECRET_MAX = 48, LABEL = 40, CHUNK = 1 << 20, DISGUISE = 0x55 };

/* The secrets of a handshake, as the TLS engine reports them, and shared keys. */
static struct secret {
	char label[LABEL];
	uint8_t octets[SECRET_MAX]; /* disguised */
	size_t len;
} secrets[SECRETS];
static unsigned nsecrets;

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static void add_secret(const char *label, const char *hex)
{
	struct secret *s = &secrets[nsecrets];

	assert_in_range(nsecrets, 0, SECRETS - 1);
	snprintf(s->label, sizeof(s->label), "%s", label);
	s->len = strlen(hex) / 2;
	assert_in_range(s->len, 16, SECRET_MAX);
	for (size_t i = 0; i < s->len; i++)
		s->octets[i] =
			(uint8_t)((digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1])) ^ DISGUISE);
	nsecrets++;
}

/* "LABEL random secret" */
static void on_secret(const SSL *ssl, const char *line)
{
	char label[LABEL], secret[2 * SECRET_MAX + 1];

	(void)ssl;
	assert_int_equal(sscanf(line, "%39s %*s %96s", label, secret), 2);
	add_secret(label, secret);
}

static bool is_secret(const uint8_t *at, const struct secret *s)
{
	for (size_t i = 0; i < s->len; i++)
		if ((at[i] ^ DISGUISE) != s->octets[i])
			return false;
	return true;
}

static const struct secret *found_in(const uint8_t *octets, size_t len)
{
	for (unsigned i = 0; i < nsecrets; i++) {
		const struct secret *s = &secrets[i];
		const uint8_t *at = octets, *end = octets + len;

		while ((size_t)(end - at) >= s->len &&
		       (at = memchr(at, s->octets[0] ^ DISGUISE,
				    (size_t)(end - at) - s->len + 1))) {
			if (is_secret(at, s))
				return s;
			at++;
		}
	}
	return NULL;
}

/* A mapping, by overlapping pieces. */
static const struct secret *found_between(int mem, uint8_t *chunk, uint64_t from, uint64_t to)
{
	const struct secret *found = NULL;

	while (from < to && !found) {
		size_t want = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		ssize_t n = pread(mem, chunk, want, (off_t)from);

		if (n <= 0)
			break;
		found = found_in(chunk, (size_t)n);
		if ((size_t)n <= SECRET_MAX)
			break;
		from += (uint64_t)n - ((uint64_t)n == to - from ? 0 : SECRET_MAX);
	}
	explicit_bzero(chunk, CHUNK);
	return found;
}

/* The label of a secret that is still there; NULL: none is. */
static const char *found(void)
{
	uint8_t *chunk =
		mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "re");
	const struct secret *it = NULL;
	char line[512];

	assert_ptr_not_equal(chunk, MAP_FAILED);
	assert_true(mem >= 0 && maps);
	while (!it && fgets(line, sizeof(line), maps)) {
		uint64_t from, to;
		char rights[8];

		assert_int_equal(sscanf(line, "%lx-%lx %7s", &from, &to, rights), 3);
		/* A sanitizer's shadow is as large as an address can tell. */
		if (strncmp(rights, "rw", 2) != 0 || to - from > 1ul << 30)
			continue;
		if ((uint64_t)(uintptr_t)chunk >= from && (uint64_t)(uintptr_t)chunk < to) {
			it = found_between(mem, chunk, from, (uint64_t)(uintptr_t)chunk);
			from = (uint64_t)(uintptr_t)chunk + CHUNK;
		}
		if (!it)
			it = found_between(mem, chunk, from, to);
	}
	fclose(maps);
	close(mem);
	munmap(chunk, CHUNK);
	return it ? it->label : NULL;
}

static void begin(struct pair_end end[2], const struct pair_setup *setup)
{
	nsecrets = 0;
	pair_begin(end, setup);
	for (unsigned i = 0; i < 2; i++)
		SSL_CTX_set_keylog_callback(end[i].creds->ctx, on_secret);
	pair_again(end, setup);
}

static void expect_none(const char *when)
{
	const char *label = found();

	if (label)
		fail_msg("%s: %s is still there", when, label);
}

static const struct pair_setup setups[] = {
	{.initiator = "client", .acceptor = "server"},
	{.initiator = "psk", .acceptor = "psk"},
	{.initiator = "outsider", .acceptor = "server"},
	{.initiator = "stranger", .acceptor = "server", .names = "client.example"}};

static void nothing_is_left_of_a_handshake(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
		struct pair_end end[2];
		struct pair_message m;
		bool works = i < 2;

		/* Under way they are there: what is not found below is not there. */
		begin(end, &setups[i]);
		assert_true(pair_next(&end[0], &m));
		pair_deliver(&end[1], &m);
		assert_true(pair_next(&end[1], &m));
		assert_true(nsecrets > 0);
		assert_non_null(found());
		for (unsigned turn = 1;;) {
			pair_deliver(&end[1 - turn], &m);
			turn = 1 - turn;
			if (!pair_next(&end[turn], &m))
				break;
		}
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(hostauth_status(end[k].h),
					 works ? HOSTAUTH_DONE : HOSTAUTH_FAILED);
		assert_true(nsecrets >= 5);
		/* Where it is done before its user is: the leg lives on. */
		if (works)
			expect_none("done");
		for (unsigned k = 0; k < 2; k++) {
			hostauth_free(end[k].h);
			end[k].h = NULL;
		}
		expect_none("over");
		pair_end(end);
	}
}

/* (The key of keys/psk.txt is in every process: OpenSSL's generator has it as a constant.) */
static void nothing_is_left_of_a_file_of_keys(void **state)
{
#define KEY "7e1d5c3b9a8f60423124a5b6c7d8e9fa0b1c2d3e4f5a6b7c8d9eafb0c1d2e3f4"
	static const char text[] = "pair-1:" KEY "\n";
	static const struct pair_setup setup = {.initiator = "psk-wrong", .acceptor = "psk"};
	const struct hostauth_material m = {.psk = view_of(text, sizeof(text) - 1)};
	struct hostauth_refusal no;
	struct pair_end end[2];

	(void)state;
	pair_begin(end, &setup);
	for (unsigned i = 0; i < 2; i++) {
		hostauth_creds_put(end[i].creds);
		end[i].creds = hostauth_creds_new(end[i].role, &m, &no);
		assert_non_null(end[i].creds);
	}
	pair_again(end, &setup);
	nsecrets = 0;
	add_secret("the shared key", KEY);
	assert_non_null(found());
	pair_run(end);
	assert_int_equal(hostauth_status(end[1].h), HOSTAUTH_DONE);
	pair_end(end);
	expect_none("after the last holder");
}

/* The PEM file is wiped by its reader (daemon/auth_files.c); an Ed25519 key's octets are at its
 * end. */
static void nothing_is_left_of_a_private_key(void **state)
{
	struct view file = pair_read("tests/hostauth/keys/client.pem");
	struct hostauth_creds *creds;
	EVP_PKEY *key;
	uint8_t raw[32];
	size_t len = sizeof(raw);
	char hex[65];

	(void)state;
	pair_free(file);
	creds = pair_creds(HOSTAUTH_INITIATOR, "client", "ca", NULL, NULL, NULL);
	key = SSL_CTX_get0_privatekey(creds->ctx);
	assert_int_equal(EVP_PKEY_get_raw_private_key(key, raw, &len), 1);
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", raw[i]);
	explicit_bzero(raw, sizeof(raw));
	nsecrets = 0;
	add_secret("the private key", hex);
	assert_non_null(found());
	hostauth_creds_put(creds);
	expect_none("after the last holder");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_a_handshake),
		cmocka_unit_test(nothing_is_left_of_a_file_of_keys),
		cmocka_unit_test(nothing_is_left_of_a_private_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
