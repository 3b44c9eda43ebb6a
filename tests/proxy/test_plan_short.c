/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_is_short() says in short what plan_call_form() would decide. */
#include "tests/proxy/plan_util.h"
#include "tests/rng.h"

enum { ROUNDS = 20000, PROG_PERF = 0x20049, LONGEST = 6000 };

static struct rpc_msg m;
static struct rpchdr hdr;

static struct plan_end any_end(struct rng *r)
{
	struct plan_end e = end_of(1 + rng_below(r, 2), 1024 + 4 * rng_below(r, 1024));

	e.limits.recv_bytes = 1024 + 4 * rng_below(r, 1024);
	e.no_reply_chunk = rng_below(r, 4) == 0;
	e.slack = rng_below(r, 2) * 65536;
	return e;
}

/* A call without chunks, of a program of which much, little or nothing is known. */
static size_t any_call(struct rng *r)
{
	static const uint32_t procs[] = {0, 1, 3, 5, 6, 16, 17, 99};
	size_t len;

	if (rng_below(r, 4) == 0) {
		nfs4_getattr(&m, &hdr, rng_next(r));
		return m.body[0].len;
	}
	len = nfs3_call(&m, &hdr, procs[rng_below(r, 8)], rng_below(r, LONGEST));
	if (rng_below(r, 4) == 0)
		hdr.prog = PROG_PERF;
	return len;
}

static void a_short_plan_is_that_of_plan_call_form(void **state)
{
	static uint8_t octets[LONGEST];
	struct rng r = rng_seeded("short plans", 1);
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct plan_end from = any_end(&r), to = any_end(&r);
		size_t len = any_call(&r);
		struct plan_call p;

		if (rng_below(&r, 2)) { /* with further octets behind the arguments */
			memcpy(octets, m.body[0].data, len);
			len += rng_below(&r, LONGEST - (uint32_t)len);
			m.body[0] = view_of(octets, len);
		}
		if (!plan_is_short(&hdr, m.body[0], to.traits, &to.limits))
			continue;
		n++;
		call_form(&m, len, &hdr, &from, &to, 0, false, CAP, &p);
		assert_int_equal(p.form, PLAN_INLINE);
		assert_int_equal(p.reply_bytes, 0);
		assert_int_equal(p.offer, 0);
		assert_int_equal(p.expected, 0);
		assert_false(p.only_way);
	}
	assert_in_range(n, ROUNDS / 10, ROUNDS - ROUNDS / 10);
}

/* The most that fits, to the octet: the reply of NULL is known. */
static void a_call_is_short_up_to_one_send(void **state)
{
	static uint8_t octets[LONGEST];
	struct plan_end to = end_of(1, 4096);
	size_t len = nfs3_call(&m, &hdr, 0, 0);

	(void)state;
	memcpy(octets, m.body[0].data, len);
	assert_true(plan_is_short(&hdr, view_of(octets, 4096), to.traits, &to.limits));
	assert_false(plan_is_short(&hdr, view_of(octets, 4097), to.traits, &to.limits));
	/* nothing is known of the replies of another program */
	hdr.prog = PROG_PERF;
	hdr.proc = 1;
	assert_false(plan_is_short(&hdr, view_of(octets, len), to.traits, &to.limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_plan_is_that_of_plan_call_form),
		cmocka_unit_test(a_call_is_short_up_to_one_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
