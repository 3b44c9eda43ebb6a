/* SPDX-License-Identifier: BSD-2-Clause */
/* What a handshake takes of the heap: no more than BUDGET_HANDSHAKE, whatever the peer sends. */
#include "tests/cmocka_all.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "tests/hostauth/pair.h"

/* Each of OpenSSL's allocations is counted for whoever was at work. */
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

/* As often as it fits, with the rest, in what a peer may send: no chain, and as long as the longest. */
static struct hostauth_creds *longest(enum hostauth_role role, const char *path, size_t times)
{
	static const char end_of_one[] = "-----END CERTIFICATE-----\n";
	static char many[4 * PAIR_FILE];
	struct view one = pair_read(path), ca = pair_read("tests/hostauth/keys/ca.pem");
	size_t len = (size_t)(strstr((const char *)one.data, end_of_one) - (const char *)one.data) +
		     strlen(end_of_one);
	const struct hostauth_material m = {
		.certificate = view_of(many, times * len), .key = one, .ca = ca};
	struct hostauth_refusal no;
	struct hostauth_creds *creds;

	for (size_t i = 0; i < times; i++)
		memcpy(many + i * len, one.data, len);
	creds = hostauth_creds_new(role, &m, &no);
	assert_non_null(creds);
	pair_free(one);
	pair_free(ca);
	return creds;
}

/* Both ends keep to @most, or, @hostile, the other one. */
static void measure_pair(const char *what, struct pair_end end[2], unsigned hostile, bool half,
			 size_t most)
{
	for (unsigned i = 0; i < 2; i++)
		hostauth_free(end[i].h);
	end[0].h = end[1].h = NULL;
	for (unsigned i = 0; i < 2; i++) { /* the first one finds libraries that are not set up */
		memset(live, 0, sizeof(live));
		again(end);
		run(end, half);
		assert_int_equal(hostauth_status(end[1].h), half ? HOSTAUTH_GOING : HOSTAUTH_DONE);
		for (owner = 0; owner < 2 && i == 0; owner++)
			end_of(&end[owner]);
		owner = NOBODY;
	}
	print_message("%s: initiator %zu octets, acceptor %zu\n", what, peak[0], peak[1]);
	for (unsigned i = 0; i < 2; i++)
		if (i != hostile)
			assert_in_range(peak[i], 10000, most);
	pair_end(end);
}

static void measure(const char *what, const struct pair_setup *setup)
{
	struct pair_end end[2];

	pair_begin(end, setup);
	measure_pair(what, end, NOBODY, false, BUDGET_HANDSHAKE);
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

static void measure_longest(const char *what, enum hostauth_role role, const char *path,
			    size_t times, bool half, size_t most)
{
	static const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	struct pair_end end[2];

	pair_begin(end, &setup);
	hostauth_creds_put(end[role].creds);
	end[role].creds = longest(role, path, times);
	measure_pair(what, end, role, half, most);
}

/*
 * The most that a peer may send is 64 KiB of TLS. Who stops before the end holds no more than others; what
 * is taken to look at it all is taken by those alone who look, which are a few threads.
 */
static void nor_do_the_largest_go_beyond(void **state)
{
	enum { LOOKING = 1024 * 1024 };

	(void)state;
	measure_longest("48 KiB of certificates, and no end", HOSTAUTH_INITIATOR,
			"tests/hostauth/keys/long.pem", 3, true, BUDGET_HANDSHAKE);
	measure_longest("140 certificates, and no end", HOSTAUTH_INITIATOR,
			"tests/hostauth/keys/client.pem", 140, true, BUDGET_HANDSHAKE);
	measure_longest("48 KiB of certificates", HOSTAUTH_INITIATOR,
			"tests/hostauth/keys/long.pem", 3, false, LOOKING);
	measure_longest("140 certificates", HOSTAUTH_INITIATOR, "tests/hostauth/keys/client.pem",
			140, false, LOOKING);
	measure_longest("48 KiB of certificates from a server", HOSTAUTH_ACCEPTOR,
			"tests/hostauth/keys/long-server.pem", 3, false, LOOKING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshakes_keep_to_their_budget),
		cmocka_unit_test(nor_do_the_largest_go_beyond),
	};

	if (CRYPTO_set_mem_functions(take, change, give) != 1)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
