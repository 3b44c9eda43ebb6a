/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker on the path changes messages of the two ends. The initiator never succeeds. The
 * acceptor succeeds only if its own last message was changed: then no client ever calls it.
 */
#include "tests/cmocka_all.h"

#include <string.h>

#include "tests/hostauth/pair.h"
#include "tests/rng.h"

enum { MESSAGES = 16 };

/* Run, with bit @bit of message @which flipped on the way. Return: whether there was such a bit. */
static bool run_flipped(struct pair_end end[2], unsigned which, size_t bit)
{
	struct pair_message m;
	bool found = false;
	unsigned n = 0, turn = 0;

	for (; pair_next(&end[turn], &m); turn = 1 - turn, n++) {
		if (n == which && bit / 8 < m.len) {
			m.octets[bit / 8] ^= (uint8_t)(1u << bit % 8);
			found = true;
		}
		pair_deliver(&end[1 - turn], &m);
	}
	return found;
}

static void expect_unsatisfied(const struct pair_end end[2], bool last_word, unsigned which,
			       size_t bit)
{
	if (hostauth_status(end[0].h) == HOSTAUTH_DONE)
		fail_msg("the initiator is satisfied: message %u bit %zu", which, bit);
	if (hostauth_status(end[1].h) == HOSTAUTH_DONE && !last_word)
		fail_msg("the acceptor is satisfied: message %u bit %zu", which, bit);
}

static void flip(const struct pair_setup *setup, size_t step, struct rng *rng)
{
	struct pair_end end[2];
	unsigned runs = 0;

	pair_begin(end, setup);
	for (unsigned which = 0; which < 4; which++) {
		for (size_t at = 0;; at += step) {
			size_t bit = at + (step > 1 ? rng_below(rng, (uint32_t)step) : 0);

			pair_again(end, setup);
			if (!run_flipped(end, which, bit))
				break;
			expect_unsatisfied(end, which == 3, which, bit);
			runs++;
		}
	}
	print_message("%u runs\n", runs);
	assert_in_range(runs, 500, 100000);
	pair_end(end);
}

static void each_bit_of_each_message(void **state)
{
	const struct pair_setup psk = {.initiator = "psk", .acceptor = "psk"};
	const struct pair_setup certificates = {.initiator = "client", .acceptor = "server"};
	struct rng rng = rng_seeded("tamper", 12);

	(void)state;
	flip(&psk, 1, &rng);
	flip(&certificates, 16, &rng);
}

/* The private data that each end believes in. */
static void each_bit_of_the_private_data(void **state)
{
	uint8_t data[8] = {0xf6, 0xab, 0x0e, 0x18, 1, 1, 4, 4}, seen[8];
	struct pair_setup setup = {.initiator = "psk", .acceptor = "psk"};
	struct pair_end end[2];

	(void)state;
	setup.request_data = view_of(data, sizeof(data));
	pair_begin(end, &setup);
	for (unsigned bit = 0; bit < 2 * 8 * sizeof(data); bit++) {
		struct hostauth_params p = {.role = HOSTAUTH_ACCEPTOR,
					    .creds = end[1].creds,
					    .request_data = view_of(data, sizeof(data)),
					    .accept_data = view_of(data, sizeof(data)),
					    .now = PAIR_NOW};

		setup.accept_data = view_of(data, sizeof(data));
		pair_again(end, &setup);
		memcpy(seen, data, sizeof(seen));
		seen[bit / 8 % sizeof(seen)] ^= (uint8_t)(1u << bit % 8);
		if (bit / 8 < sizeof(data))
			p.request_data = view_of(seen, sizeof(seen));
		else
			p.accept_data = view_of(seen, sizeof(seen));
		hostauth_free(end[1].h);
		end[1].h = hostauth_new(&p);
		pair_run(end);
		expect_unsatisfied(end, false, 100, bit);
	}
	/* Zeros that a network puts behind are none of it. */
	pair_again(end, &setup);
	{
		uint8_t padded[56] = {0};
		const struct hostauth_params p = {.role = HOSTAUTH_ACCEPTOR,
						  .creds = end[1].creds,
						  .request_data = view_of(padded, sizeof(padded)),
						  .accept_data = view_of(padded, sizeof(padded)),
						  .now = PAIR_NOW};

		memcpy(padded, data, sizeof(data));
		hostauth_free(end[1].h);
		end[1].h = hostauth_new(&p);
	}
	assert_int_equal(pair_run(end), 4);
	assert_int_equal(hostauth_status(end[0].h), HOSTAUTH_DONE);
	assert_int_equal(hostauth_status(end[1].h), HOSTAUTH_DONE);
	pair_end(end);
}

enum mischief { DROP, TWICE, SWAP, MISCHIEFS };

static void run_with(struct pair_end end[2], enum mischief what, unsigned which)
{
	struct pair_message m, before = {.len = 0};
	unsigned n = 0;

	for (unsigned turn = 0; pair_next(&end[turn], &m); turn = 1 - turn, n++) {
		if (n != which) {
			pair_deliver(&end[1 - turn], &m);
		} else if (what == TWICE) {
			pair_deliver(&end[1 - turn], &m);
			pair_deliver(&end[1 - turn], &m);
		} else if (what == SWAP) {
			pair_deliver(&end[1 - turn], before.len ? &before : &m);
			pair_deliver(&end[1 - turn], &m);
		}
		if (turn == which % 2)
			before = m;
	}
}

/* In messages of 1024 octets, so that there are pieces. */
static void dropped_repeated_out_of_order(void **state)
{
	const struct pair_setup setup = {.initiator = "long", .acceptor = "server", .max = 1024};
	struct pair_end end[2];

	(void)state;
	pair_begin(end, &setup);
	for (unsigned what = 0; what < MISCHIEFS; what++) {
		for (unsigned which = 0; which < MESSAGES; which++) {
			pair_again(end, &setup);
			run_with(end, (enum mischief)what, which);
			if (what != SWAP || which > 1)
				expect_unsatisfied(end, false, which, what);
		}
	}
	pair_end(end);
}

static void replayed_from_another_connection(void **state)
{
	const struct pair_setup setup = {.initiator = "client", .acceptor = "server"};
	static struct pair_message said[2][MESSAGES];
	unsigned n[2] = {0}, turn = 0;
	struct pair_end end[2];
	struct pair_message m;

	(void)state;
	pair_begin(end, &setup);
	for (; pair_next(&end[turn], &m); turn = 1 - turn) {
		said[turn][n[turn]++] = m;
		pair_deliver(&end[1 - turn], &m);
	}
	assert_int_equal(hostauth_status(end[0].h), HOSTAUTH_DONE);
	for (turn = 0; turn < 2; turn++) {
		pair_again(end, &setup);
		for (unsigned i = 0; i < n[turn]; i++) {
			while (turn == 1 && i == 0 && pair_next(&end[0], &m))
				;
			pair_deliver(&end[1 - turn], &said[turn][i]);
			(void)pair_next(&end[1 - turn], &m);
		}
		assert_int_not_equal(hostauth_status(end[1 - turn].h), HOSTAUTH_DONE);
	}
	/* One message of another connection between those of this one. */
	for (unsigned which = 0; which < 4; which++) {
		unsigned k = 0;

		pair_again(end, &setup);
		for (turn = 0; pair_next(&end[turn], &m); turn = 1 - turn, k++)
			pair_deliver(&end[1 - turn], k == which ? &said[turn][k / 2] : &m);
		expect_unsatisfied(end, which == 3, which, 0);
	}
	pair_end(end);
}

/* An end gets its own messages back. */
static void reflected(void **state)
{
	const struct pair_setup setup = {.initiator = "psk", .acceptor = "psk"};
	struct pair_end end[2];
	struct pair_message m;

	(void)state;
	pair_begin(end, &setup);
	for (unsigned i = 0; i < 8 && pair_next(&end[0], &m); i++)
		pair_deliver(&end[0], &m);
	assert_int_equal(hostauth_status(end[0].h), HOSTAUTH_FAILED);
	pair_end(end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bit_of_each_message),
		cmocka_unit_test(each_bit_of_the_private_data),
		cmocka_unit_test(dropped_repeated_out_of_order),
		cmocka_unit_test(replayed_from_another_connection),
		cmocka_unit_test(reflected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
