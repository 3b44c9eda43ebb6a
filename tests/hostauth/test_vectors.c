/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vectors of docs/hostauth-profile.md section 10: each end, given the messages and the
 * randomness of the file, sends what the file has. With an argument the files are written anew.
 *
 * Randomness is SHA-256 over the role and a count. It replaces OpenSSL's own, in the only way that
 * 3.0 has, for this program alone.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "tests/cmocka_all.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "tests/hostauth/inside.h"
#include "tests/hostauth/pair.h"

#define FOLDER "tests/hostauth/vectors/"

struct alteration {
	unsigned which; /* message */
	size_t at;	/* octet */
	uint8_t flip;	/* 0: none */
	const char *what;
};

struct vector {
	const char *name;
	struct pair_setup setup;
	struct alteration change;
};

/* Octets of a first message: 16 of prefix, a count, then 12 a property; the value's head follows. */
enum { AT_CREDIT = 11, AT_RBSIZ = 16 + 4 + 12 + 11, AT_VALUE = 16 + 4 + 60 + 12 };

static const struct vector vectors[] = {
	{.name = "certificates", .setup = {.initiator = "client", .acceptor = "server"}},
	{.name = "p256-and-rsa", .setup = {.initiator = "client-p256", .acceptor = "server-rsa"}},
	{.name = "shared-key", .setup = {.initiator = "psk", .acceptor = "psk"}},
	{.name = "in-pieces",
	 .setup = {.initiator = "chained", .acceptor = "long-server", .max = 1024}},
	{.name = "wrong-ca", .setup = {.initiator = "outsider", .acceptor = "server"}},
	{.name = "wrong-name",
	 .setup = {.initiator = "stranger", .acceptor = "server", .names = "client.example"}},
	{.name = "wrong-key", .setup = {.initiator = "psk-wrong", .acceptor = "psk"}},
	{.name = "altered-property",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {0, AT_RBSIZ - 1, 0x20, "the initiator's Receive Buffer Size"}},
	{.name = "altered-credit",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {1, AT_CREDIT, 0x40, "rdma_credit of the acceptor's first message"}},
	{.name = "altered-tls",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {1, AT_VALUE + 4 + 20, 0x01, "the random of the ServerHello"}},
	{.name = "altered-sequence",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {2, AT_VALUE + 3, 0x02, "the sequence of the initiator's second value"}},
	{.name = "altered-profile",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {0, AT_VALUE, 0x02, "the profile of the first value"}},
	{.name = "altered-last-word",
	 .setup = {.initiator = "client", .acceptor = "server"},
	 .change = {3, 3, 0x01, "rdma_xid of the acceptor's last message"}},
};

static struct {
	uint8_t seed[8]; /* role, count */
} stream[2];
static unsigned speaking; /* whose */

static int random_octets(unsigned char *buf, int len)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint8_t *seed = stream[speaking].seed;

	for (int done = 0; done < len; done += SHA256_DIGEST_LENGTH) {
		int n = len - done < SHA256_DIGEST_LENGTH ? len - done : SHA256_DIGEST_LENGTH;

		seed[0] = (uint8_t)speaking;
		if (++seed[7] == 0)
			seed[6]++;
		SHA256(seed, 8, digest);
		memcpy(buf + done, digest, (size_t)n);
	}
	return 1;
}

static int random_status(void)
{
	return 1;
}

static const RAND_METHOD fixed = {
	.bytes = random_octets, .pseudorand = random_octets, .status = random_status};

/* The lines of a vector, as they come about. */
static char lines[1 << 20];
static size_t lines_len;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	lines_len += (size_t)vsnprintf(lines + lines_len, sizeof(lines) - lines_len, fmt, ap);
	va_end(ap);
	assert_in_range(lines_len, 0, sizeof(lines) - 1);
}

static void say_octets(const char *word, const uint8_t *octets, size_t len)
{
	say("%s ", word);
	for (size_t i = 0; i < len; i++)
		say("%02x", octets[i]);
	say("\n");
}

static char secrets[4096];

static void note_secret(const SSL *ssl, const char *line)
{
	(void)ssl;
	if (!strstr(secrets, line))
		snprintf(secrets + strlen(secrets), sizeof(secrets) - strlen(secrets),
			 "secret %s\n", line);
}

static const char *result_of(const struct pair_end *e)
{
	struct hostauth_facts facts;

	switch (hostauth_status(e->h)) {
	case HOSTAUTH_GOING:
		return "going";
	case HOSTAUTH_DONE:
		return "authenticated";
	case HOSTAUTH_ABSENT:
		return "absent";
	case HOSTAUTH_FAILED:
		break;
	}
	hostauth_facts(e->h, &facts);
	return hostauth_cause_name(facts.cause);
}

static void say_head(const struct vector *v)
{
	say("# %s%s\ntime %d\ninitiator %s\nacceptor %s\n", v->name,
	    v->change.flip ? ": altered on the way" : "", PAIR_NOW, v->setup.initiator,
	    v->setup.acceptor);
	if (v->setup.names)
		say("acceptor-names %s\n", v->setup.names);
	say_octets("request-data", v->setup.request_data.data, v->setup.request_data.len);
	say_octets("accept-data", v->setup.accept_data.data, v->setup.accept_data.len);
}

static void make(const struct vector *from)
{
	static const uint8_t request[] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3};
	static const uint8_t accept[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	struct vector v = *from;
	struct pair_end end[2];
	struct pair_message m;
	unsigned n = 0;

	v.setup.request_data = view_of(request, sizeof(request));
	v.setup.accept_data = view_of(accept, sizeof(accept));
	lines_len = 0;
	secrets[0] = '\0';
	memset(stream, 0, sizeof(stream));
	say_head(&v);
	pair_begin(end, &v.setup);
	SSL_CTX_set_keylog_callback(end[0].creds->ctx, note_secret);
	for (speaking = 0; pair_next(&end[speaking], &m); n++) {
		say_octets(speaking ? "a" : "i", m.octets, m.len);
		if (v.change.flip && v.change.which == n) {
			say("# altered: %s\n", v.change.what);
			m.octets[v.change.at] ^= v.change.flip;
			say_octets("delivered", m.octets, m.len);
		}
		speaking = 1 - speaking;
		pair_deliver(&end[speaking], &m);
	}
	say("%sresult-initiator %s\nresult-acceptor %s\n", secrets, result_of(&end[0]),
	    result_of(&end[1]));
	pair_end(end);
}

static bool is_writing;

static void each_vector_is_replayed(void **state)
{
	(void)state;
	assert_int_equal(RAND_set_rand_method(&fixed), 1);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char path[128];
		struct view file;

		make(&vectors[i]);
		snprintf(path, sizeof(path), FOLDER "%s.txt", vectors[i].name);
		if (is_writing) {
			FILE *f = fopen(path, "w");

			assert_non_null(f);
			fwrite(lines, 1, lines_len, f);
			assert_int_equal(fclose(f), 0);
			continue;
		}
		file = pair_read(path);
		if (strcmp((const char *)file.data, lines) != 0) {
			size_t at = 0;

			while (lines[at] && lines[at] == (char)file.data[at])
				at++;
			fail_msg("%s: another octet at %zu: %.60s", path, at, lines + at);
		}
		pair_free(file);
	}
	RAND_set_rand_method(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_vector_is_replayed)};

	(void)argv;
	is_writing = argc > 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
