/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole handshakes: which peers are accepted, which are refused, and what remains afterwards. */
#include "tests/cmocka_all.h"

#include <malloc.h>
#include <string.h>

#include "base/mem.h"
#include "tests/hostauth/pair.h"

static void expect_done(const struct pair_end *e, const char *peer)
{
	struct hostauth_facts facts;

	hostauth_facts(e->h, &facts);
	if (hostauth_status(e->h) != HOSTAUTH_DONE)
		fail_msg("%d: status %d: %s", e->role, hostauth_status(e->h), facts.why);
	assert_string_equal(facts.peer, peer);
	assert_string_equal(facts.suite, "TLS_AES_128_GCM_SHA256");
}

static void both_ends_prove_their_names(void **state)
{
	static const struct {
		struct pair_setup setup;
		const char *initiator, *acceptor;
		unsigned messages;
	} cases[] = {
		{{.initiator = "client", .acceptor = "server"},
		 "client.example",
		 "server.example",
		 4},
		{{.initiator = "client-p256", .acceptor = "server-rsa"},
		 "client.example",
		 "server.example",
		 4},
		{{.initiator = "chained", .acceptor = "server"},
		 "client.example",
		 "server.example",
		 4},
		{{.initiator = "psk", .acceptor = "psk"}, "pair-1", "pair-1", 4},
		{{.initiator = "psk", .acceptor = "psk", .names = "other,pair-1"},
		 "pair-1",
		 "pair-1",
		 4},
		{{.initiator = "client", .acceptor = "server", .crl = "crl"},
		 "client.example",
		 "server.example",
		 4},
		{{.initiator = "client",
		  .acceptor = "server",
		  .names = "*.example",
		  .initiator_names = "SERVER.example"},
		 "client.example",
		 "server.example",
		 4},
		{{.initiator = "client", .acceptor = "server", .names = "nfs://client.example/"},
		 "nfs://client.example/",
		 "server.example",
		 4},
		/* Certificates of more than 16 KiB within the thresholds. */
		{{.initiator = "long", .acceptor = "long-server"},
		 "client.example",
		 "server.example",
		 0},
		{{.initiator = "long", .acceptor = "long-server", .max = 1024},
		 "client.example",
		 "server.example",
		 0},
		{{.initiator = "client", .acceptor = "server", .max = 1024},
		 "client.example",
		 "server.example",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair_end end[2];
		unsigned n;

		pair_begin(end, &cases[i].setup);
		n = pair_run(end);
		expect_done(&end[1], cases[i].initiator);
		expect_done(&end[0], cases[i].acceptor);
		if (cases[i].messages)
			assert_int_equal(n, cases[i].messages);
		else
			print_message("case %zu: %u messages\n", i, n);
		pair_end(end);
	}
}

static void a_peer_that_is_not_allowed_is_refused_on_both_sides(void **state)
{
	static const struct {
		struct pair_setup setup;
		enum hostauth_cause cause[2];
		const char *why[2];
	} cases[] = {
		{{.initiator = "outsider", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert unknown ca", "unable to get local issuer certificate"}},
		{{.initiator = "client", .acceptor = "outsider"},
		 {HOSTAUTH_CAUSE_TLS, HOSTAUTH_CAUSE_PEER},
		 {"unable to get local issuer certificate", "alert unknown ca"}},
		{{.initiator = "expired", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert certificate expired", "certificate has expired"}},
		{{.initiator = "early", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert bad certificate", "certificate is not yet valid"}},
		{{.initiator = "revoked", .acceptor = "server", .crl = "crl"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert certificate revoked", "certificate revoked"}},
		{{.initiator = "server-only", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert unsupported certificate", "un"}},
		{{.initiator = "client", .acceptor = "client-only"},
		 {HOSTAUTH_CAUSE_TLS, HOSTAUTH_CAUSE_PEER},
		 {"un", "alert unsupported certificate"}},
		{{.initiator = "stranger", .acceptor = "server", .names = "client.example"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_NAME},
		 {"our name is not allowed there", "not one of those allowed"}},
		{{.initiator = "client",
		  .acceptor = "stranger",
		  .initiator_names = "server.example"},
		 {HOSTAUTH_CAUSE_NAME, HOSTAUTH_CAUSE_PEER},
		 {"not one of those allowed", "our name is not allowed there"}},
		{{.initiator = "nameless", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_NAME},
		 {"our name is not allowed there", "no name"}},
		{{.initiator = "psk-wrong", .acceptor = "psk"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert", "binder does not verify"}},
		{{.initiator = "psk-other", .acceptor = "psk"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert", "binder does not verify"}},
		{{.initiator = "psk", .acceptor = "server"},
		 {HOSTAUTH_CAUSE_TLS, HOSTAUTH_CAUSE_PEER},
		 {"unable to get local issuer certificate", "alert unknown ca"}},
		{{.initiator = "client", .acceptor = "psk"},
		 {HOSTAUTH_CAUSE_PEER, HOSTAUTH_CAUSE_TLS},
		 {"alert handshake failure", "no suitable signature algorithm"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair_end end[2];

		print_message("%s to %s\n", cases[i].setup.initiator, cases[i].setup.acceptor);
		pair_begin(end, &cases[i].setup);
		pair_run(end);
		for (unsigned k = 0; k < 2; k++)
			pair_expect(&end[k], cases[i].cause[k], cases[i].why[k]);
		pair_end(end);
	}
}

static void a_long_chain_of_another_is_no_reason_to_go_on_for_ever(void **state)
{
	const struct pair_setup setup = {.initiator = "long", .acceptor = "server", .max = 1024};
	struct pair_end end[2];
	struct pair_message m;
	unsigned n = 0;

	(void)state;
	pair_begin(end, &setup);
	assert_true(pair_next(&end[0], &m));
	pair_deliver(&end[1], &m);
	/* The same first piece for ever, numbered on. */
	while (hostauth_status(end[1].h) == HOSTAUTH_GOING && n++ < 1000) {
		struct hostauth_in in = {.has_value = true};
		uint8_t value[1000] = {1, 1, (uint8_t)(n >> 8), (uint8_t)n};
		struct hostauth_out out;

		in.message = in.value = view_of(value, sizeof(value));
		hostauth_work(end[1].h);
		if (hostauth_next(end[1].h, 992, 60, &out)) {
			memcpy(m.octets, out.value.data, out.value.len);
			hostauth_sent(end[1].h, m.octets, out.value.len, 0);
		}
		hostauth_recv(end[1].h, &in);
	}
	assert_int_equal(hostauth_status(end[1].h), HOSTAUTH_FAILED);
	assert_in_range(n, 1, 100);
	pair_end(end);
}

static void peers_without_the_profile_are_recognized(void **state)
{
	const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	const struct hostauth_in without = {.message = view_of("octets", 6), .final = true};
	const struct hostauth_in later = {.message = view_of("\x02octets", 7),
					  .has_value = true,
					  .value = view_of("\x02octets", 7)};
	struct pair_end end[2];
	struct pair_message m;

	(void)state;
	pair_begin(end, &setup);
	assert_int_equal(hostauth_recv(end[1].h, &without), HOSTAUTH_ABSENT);
	/* The results stay the same afterwards. */
	assert_true(pair_next(&end[0], &m));
	assert_int_equal(pair_deliver(&end[1], &m), HOSTAUTH_ABSENT);
	assert_false(pair_next(&end[1], &m));
	assert_int_equal(hostauth_recv(end[0].h, &later), HOSTAUTH_ABSENT);

	pair_again(end, &setup);
	assert_int_equal(hostauth_recv(end[1].h, &later), HOSTAUTH_ABSENT);
	assert_false(hostauth_absent(end[0].h));
	assert_true(pair_next(&end[0], &m));
	assert_true(hostauth_absent(end[0].h));

	/* But not in the middle. */
	pair_again(end, &setup);
	assert_true(pair_next(&end[0], &m));
	pair_deliver(&end[1], &m);
	assert_true(pair_next(&end[1], &m));
	assert_int_equal(hostauth_recv(end[1].h, &without), HOSTAUTH_FAILED);
	pair_deliver(&end[0], &m);
	assert_false(hostauth_absent(end[0].h));
	assert_true(pair_next(&end[0], &m));
	assert_int_equal(hostauth_recv(end[0].h, &without), HOSTAUTH_FAILED);
	pair_end(end);
}

static void what_is_no_clienthello_costs_no_tls(void **state)
{
	static const char *const firsts[] = {
		"\x01\x02\x00\x00\x17\x03\x01\x00\x10\x01\x00\x00\x0c", /* no handshake record */
		"\x01\x02\x00\x00\x16\x03\x01\x00\x10\x02\x00\x00\x0c", /* a ServerHello */
		"\x01\x02\x00\x00\x16\x03\x01\x7f\x10\x01\x00\x00\x0c", /* too long */
		"\x01\x02\x00\x01\x16\x03\x01\x00\x10\x01\x00\x00\x0c", /* sequence 1 */
		"\x01\x04\x00\x00\x16\x03\x01\x00\x10\x01\x00\x00\x0c", /* another kind */
	};
	const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	struct pair_end end[2];

	(void)state;
	pair_begin(end, &setup);
	for (size_t i = 0; i < 5; i++) {
		struct hostauth_in in = {.has_value = true, .value = view_of(firsts[i], 13)};

		in.message = in.value;
		pair_again(end, &setup);
		assert_int_equal(hostauth_recv(end[1].h, &in), HOSTAUTH_FAILED);
		assert_false(hostauth_is_work_due(end[1].h));
	}
	pair_end(end);
}

static void what_cannot_be_used_is_refused(void **state)
{
	struct hostauth_material m = {0};
	struct hostauth_refusal no;

	(void)state;
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_non_null(strstr(no.why, "no certificate that can be used"));
	m.psk = view_of("pair-1:00", 9);
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_non_null(strstr(no.why, "line 1"));
	assert_int_equal(no.part, HOSTAUTH_PART_PSK);
	m.psk = view_of("# none\n", 7);
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_non_null(strstr(no.why, "no key"));
	m.ca = view_of("x", 1);
	m.psk = view_of("a:000102030405060708090a0b0c0d0e0f", 34);
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_non_null(strstr(no.why, "exclude each other"));
	m = (struct hostauth_material){.certificate = pair_read("tests/hostauth/keys/server.pem"),
				       .key = pair_read("tests/hostauth/keys/client.pem")};
	assert_null(hostauth_creds_new(HOSTAUTH_ACCEPTOR, &m, &no));
	assert_non_null(strstr(no.why, "not the certificate's"));
	assert_int_equal(no.part, HOSTAUTH_PART_KEY);
	pair_free(m.certificate);
	pair_free(m.key);
}

/* Profile section 2: which of the two would be meant? */
static void two_values_in_one_message_are_refused(void **state)
{
	enum { COUNT_AT = 19, SIXTH_AT = 80 }; /* behind properties 1 to 5 */
	static const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	struct hostauth_facts facts;
	struct pair_end end[2];
	struct pair_message m;

	(void)state;
	pair_begin(end, &setup);
	assert_true(pair_next(&end[0], &m));
	memcpy(m.octets + m.len, m.octets + SIXTH_AT, m.len - SIXTH_AT);
	m.len += m.len - SIXTH_AT;
	m.octets[COUNT_AT]++;
	assert_int_equal(pair_deliver(&end[1], &m), HOSTAUTH_FAILED);
	hostauth_facts(end[1].h, &facts);
	assert_int_equal(facts.cause, HOSTAUTH_CAUSE_VALUE);
	assert_string_equal(facts.why, "two values in one message");
	assert_true(pair_next(&end[1], &m));
	assert_int_equal(pair_deliver(&end[0], &m), HOSTAUTH_FAILED);
	pair_end(end);
}

static void failures_leave_nothing_behind(void **state)
{
	static const struct pair_setup setups[] = {{.initiator = "outsider", .acceptor = "server"},
						   {.initiator = "client", .acceptor = "outsider"},
						   {.initiator = "psk-wrong", .acceptor = "psk"}};
	enum { TIMES = 200 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pair_end end[2];
		size_t before = 0;
		uint64_t live = 0;

		pair_begin(end, &setups[i]);
		for (unsigned k = 0; k < TIMES; k++) {
			pair_again(end, &setups[i]);
			pair_run(end);
			assert_int_equal(hostauth_status(end[1].h), HOSTAUTH_FAILED);
			if (k == TIMES / 2) {
				before = mallinfo2().uordblks;
				live = mem_live();
			}
		}
		assert_int_equal(mem_live(), live);
		assert_in_range(mallinfo2().uordblks, 0, before + 4096);
		pair_end(end);
	}
}

static void every_allocation_may_fail(void **state)
{
	const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	struct pair_end end[2];
	uint64_t live;

	(void)state;
	pair_begin(end, &setup);
	live = mem_live();
	for (uint64_t n = 1; n <= 2; n++) {
		const struct hostauth_params p = {
			.role = HOSTAUTH_ACCEPTOR, .creds = end[1].creds, .now = PAIR_NOW};
		struct hostauth *h;

		mem_fail_at(n);
		h = hostauth_new(&p);
		mem_fail_at(0);
		assert_true((h == NULL) == (n == 1));
		hostauth_free(h);
		assert_int_equal(mem_live(), live);
	}
	pair_end(end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_prove_their_names),
		cmocka_unit_test(a_peer_that_is_not_allowed_is_refused_on_both_sides),
		cmocka_unit_test(a_long_chain_of_another_is_no_reason_to_go_on_for_ever),
		cmocka_unit_test(peers_without_the_profile_are_recognized),
		cmocka_unit_test(what_is_no_clienthello_costs_no_tls),
		cmocka_unit_test(what_cannot_be_used_is_refused),
		cmocka_unit_test(two_values_in_one_message_are_refused),
		cmocka_unit_test(failures_leave_nothing_behind),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
