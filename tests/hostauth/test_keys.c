/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared keys: the right one of several, and what a peer without a key can find out. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "tests/hostauth/pair.h"

#define KEY_1 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_2 "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
#define KEY_3                                                                                      \
	"c0c1c2c3c4c5c6c7c8c9cacbcccdcecfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"                         \
	"d0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0c1c2c3c4c5c6c7c8c9cacbcccdcecf"

static const char several[] = "# of several pairs\n"
			      "pair-1:" KEY_1 "\n"
			      "host.example/nfs@2:" KEY_2 "\n"
			      "pair-11:" KEY_3 "\n";

static struct hostauth_creds *creds(enum hostauth_role role, const char *text, const char *name)
{
	struct hostauth_refusal no = {.why = ""};
	const struct hostauth_material m = {
		.psk = view_of(text, strlen(text)), .names = &name, .nnames = name ? 1 : 0};
	struct hostauth_creds *c = hostauth_creds_new(role, &m, &no);

	if (!c)
		fail_msg("%s", no.why);
	return c;
}

static void begin(struct pair_end end[2], const char *initiators, const char *name)
{
	static const struct pair_setup none = {0};

	memset(end, 0, 2 * sizeof(*end));
	end[0].role = HOSTAUTH_INITIATOR;
	end[1].role = HOSTAUTH_ACCEPTOR;
	end[0].creds = creds(HOSTAUTH_INITIATOR, initiators, NULL);
	end[1].creds = creds(HOSTAUTH_ACCEPTOR, several, name);
	end[0].max = end[1].max = PAIR_MESSAGE;
	pair_again(end, &none);
}

static void expect(const struct pair_end *e, enum hostauth_status status, const char *peer,
		   const char *why)
{
	struct hostauth_facts facts;

	hostauth_facts(e->h, &facts);
	if (hostauth_status(e->h) != status || strcmp(facts.peer, peer) != 0 ||
	    strcmp(facts.why, why) != 0)
		fail_msg("role %d: status %d, peer \"%s\", \"%s\"", e->role, hostauth_status(e->h),
			 facts.peer, facts.why);
	assert_int_equal(*peer ? facts.peer_kind : HOSTAUTH_NAME_KEY, HOSTAUTH_NAME_KEY);
}

static void each_has_its_own(void **state)
{
	static const struct {
		const char *line, *identity;
	} pairs[] = {{"pair-1:" KEY_1, "pair-1"},
		     {"host.example/nfs@2:" KEY_2, "host.example/nfs@2"},
		     {"pair-11:" KEY_3, "pair-11"},
		     /* The initiator uses the first key. */
		     {"pair-11:" KEY_3 "\npair-1:" KEY_1, "pair-11"}};
	struct pair_end end[2];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		begin(end, pairs[i].line, NULL);
		assert_int_equal(pair_run(end), 4);
		expect(&end[0], HOSTAUTH_DONE, pairs[i].identity, "");
		expect(&end[1], HOSTAUTH_DONE, pairs[i].identity, "");
		pair_end(end);
	}
}

static void a_key_is_no_permission(void **state)
{
	struct pair_end end[2];

	(void)state;
	begin(end, "pair-11:" KEY_3, "pair-1");
	pair_run(end);
	expect(&end[1], HOSTAUTH_FAILED, "pair-11", "its name is not one of those allowed");
	expect(&end[0], HOSTAUTH_FAILED,
	       "pair-1"
	       "1",
	       "the peer refused: our name is not allowed there");
	pair_end(end);
}

/* All that the acceptor says to somebody. */
struct answers {
	unsigned n;
	size_t len[4];
	uint8_t last[PAIR_MESSAGE];
};

static void listen_to(struct pair_end end[2], struct answers *a)
{
	struct pair_message m;

	*a = (struct answers){0};
	for (unsigned turn = 0; pair_next(&end[turn], &m); turn = 1 - turn) {
		if (turn == 1) {
			assert_in_range(a->n, 0, 3);
			a->len[a->n++] = m.len;
			memcpy(a->last, m.octets, m.len);
		}
		pair_deliver(&end[1 - turn], &m);
	}
}

/* Profile section 4.5: cases that the acceptor's log distinguishes look the same to the peer, octet
 * by octet. */
static void a_peer_without_the_key_learns_nothing(void **state)
{
	static const struct {
		const char *line, *shown, *why;
	} peers[] = {
		/* A wrong key; no such identity, of each length; one that is the beginning of another's. */
		{"pair-1:ff" KEY_2, "pair-1", "binder does not verify"},
		{"pair-11:" KEY_1, "pair-11", "binder does not verify"},
		{"pair-9:" KEY_1, "pair-9",
		 "there is no key of this identity: binder does not verify"},
		{"p:" KEY_1, "p", "there is no key of this identity: binder does not verify"},
		{"pair-111:" KEY_2, "pair-111",
		 "there is no key of this identity: binder does not verify"},
		{"PAIR-1:" KEY_1, "PAIR-1",
		 "there is no key of this identity: binder does not verify"},
	};
	struct answers first, next;
	struct pair_end end[2];

	(void)state;
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		begin(end, peers[i].line, NULL);
		listen_to(end, i ? &next : &first);
		expect(&end[1], HOSTAUTH_FAILED, peers[i].shown, peers[i].why);
		assert_int_equal(hostauth_status(end[0].h), HOSTAUTH_FAILED);
		pair_end(end);
		if (i == 0)
			continue;
		assert_int_equal(next.n, first.n);
		assert_memory_equal(next.len, first.len, sizeof(first.len));
		assert_memory_equal(next.last, first.last, first.len[0]);
	}
	assert_int_equal(first.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own),
		cmocka_unit_test(a_key_is_no_permission),
		cmocka_unit_test(a_peer_without_the_key_learns_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
