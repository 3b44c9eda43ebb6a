/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "tests/cmocka_all.h"
#include "tests/rng.h"
#include "tools/perf/options.h"
#include "tools/perf/pattern.h"

enum { ROOM = 300 };

/* For every length and alignment: filled octets check, and octets beside them are untouched. */
static void test_pattern_fills_what_it_checks(void **state)
{
	uint8_t buf[ROOM + 2];

	(void)state;
	for (size_t at = 0; at < 9; at++) {
		for (size_t len = 0; len + at < ROOM; len++) {
			memset(buf, 0xee, sizeof(buf));
			pattern_fill(buf + at, len, 77, len);
			assert_int_equal(pattern_check(buf + at, len, 77, len), len);
			assert_int_equal(buf[at + len], 0xee);
			assert_true(at == 0 || buf[at - 1] == 0xee);
		}
	}
}

static void test_pattern_finds_each_wrong_octet(void **state)
{
	uint8_t buf[ROOM];

	(void)state;
	pattern_fill(buf, sizeof(buf), 0x12345678, 4096);
	for (size_t i = 0; i < sizeof(buf); i++) {
		buf[i] ^= 0x40;
		assert_int_equal(pattern_check(buf, sizeof(buf), 0x12345678, 4096), i);
		buf[i] ^= 0x40;
	}
}

/* Another RPC's data, another offset's, or data that slid by a word is wrong from the start. */
static void test_pattern_tells_items_apart(void **state)
{
	uint8_t buf[4096];

	(void)state;
	pattern_fill(buf, sizeof(buf), 5, 0);
	assert_true(pattern_check(buf, sizeof(buf), 6, 0) < 8);
	assert_true(pattern_check(buf, sizeof(buf), 5, 4096) < 8);
	assert_true(pattern_check(buf + 8, sizeof(buf) - 8, 5, 0) < 8);
}

static void test_latency_is_near(void **state)
{
	static struct latency l, more;
	struct rng rng = rng_seeded("latency", 11);

	(void)state;
	assert_int_equal(latency_quantile(&l, 500000), 0);
	for (nsec_t t = 1; t <= 100000; t++)
		latency_add(&l, t);
	assert_in_range(latency_quantile(&l, 500000), 49000, 51000);
	assert_in_range(latency_quantile(&l, 990000), 97500, 100000);
	assert_in_range(latency_quantile(&l, 1000000), 99000, 100000);
	for (int i = 0; i < 10000; i++) {
		nsec_t t = rng_next(&rng) >> (16 + rng_below(&rng, 47));
		static struct latency one;

		memset(&one, 0, sizeof(one));
		latency_add(&one, t);
		if (t < (nsec_t)1 << 40)
			assert_in_range(latency_quantile(&one, 500000), t - t / 64, t);
	}
	latency_add(&more, UINT64_MAX);
	latency_merge(&l, &more);
	assert_int_equal(l.count, 100001);
	assert_int_equal(l.max, UINT64_MAX);
}

static void test_sizes(void **state)
{
	static uint32_t sizes[PERF_MAX_SIZES];
	int n;

	(void)state;
	assert_int_equal(perf_sizes_parse("0", 4096, sizes), 1);
	assert_int_equal(perf_sizes_parse("7,4k,1M", 4096, sizes), 3);
	assert_int_equal(sizes[0], 7);
	assert_int_equal(sizes[1], 4096);
	assert_int_equal(sizes[2], 1 << 20);
	assert_int_equal(perf_sizes_parse("4m", 4096, sizes), 1);
	for (const char *const *bad =
		     (const char *const[]){"", "x", "1,", ",1", "-1", "4194305", "5m", "1kk", "1 ",
					   "99999999999999999999", "0x10", "1,,2", NULL};
	     *bad; bad++)
		assert_int_equal(perf_sizes_parse(*bad, 4096, sizes), ERR_CONFIG);
	for (uint32_t inl = 1024; inl <= 65536; inl += 1024) {
		n = perf_sizes_parse("ladder", inl, sizes);
		assert_true(n > 100 && n < PERF_MAX_SIZES);
		assert_int_equal(sizes[0], 0);
		assert_int_equal(sizes[n - 1], PERF_MAX_DATA);
		for (int i = 1; i < n; i++)
			assert_true(sizes[i] > sizes[i - 1]);
	}
}

static void test_call_round_trip(void **state)
{
	uint8_t buf[PERF_HEAD_MAX + 8] = {0};

	(void)state;
	for (enum perf_op op = PERF_NULL; op <= PERF_WRITE; op++) {
		const struct perf_call in = {.xid = 9,
					     .op = op,
					     .offset = UINT64_MAX - 3,
					     .count = op == PERF_NULL ? 0 : 5};
		size_t head = perf_call_encode(&in, buf);
		size_t len = head + (op == PERF_ECHO || op == PERF_WRITE ? 8 : 0);
		struct perf_call out;

		assert_int_equal(perf_call_decode(&out, view_of(buf, len), false), 0);
		assert_int_equal(out.stat, PERF_SUCCESS);
		assert_int_equal(out.xid, 9);
		assert_int_equal(out.op, op);
		assert_int_equal(out.count, in.count);
		if (op == PERF_READ || op == PERF_WRITE)
			assert_int_equal(out.offset, in.offset);
		if (len > head)
			assert_ptr_equal(out.data.data, buf + head);
		/* One octet less or more is not a call of this procedure. */
		for (size_t n = PERF_CALL_HEAD; n <= len + 4 && n < sizeof(buf); n += 4) {
			assert_int_equal(perf_call_decode(&out, view_of(buf, n), false), 0);
			assert_int_equal(out.stat, n == len ? PERF_SUCCESS : PERF_GARBAGE_ARGS);
		}
	}
}

static void set_word(uint8_t *buf, unsigned word, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		buf[4 * word + i] = (uint8_t)(v >> (24 - 8 * i));
}

/* RFC 5531 section 9: what a server says to calls that are not its own. */
static void test_rpc_errors(void **state)
{
	static const struct {
		unsigned word;
		uint32_t value;
		uint32_t stat;
		size_t reply;
	} cases[] = {
		{3, 100003, PERF_PROG_UNAVAIL, PERF_REPLY_HEAD},
		{4, 2, PERF_PROG_MISMATCH, PERF_REPLY_HEAD + 8},
		{5, 4, PERF_PROC_UNAVAIL, PERF_REPLY_HEAD},
		{12, PERF_MAX_DATA + 1, PERF_GARBAGE_ARGS, PERF_REPLY_HEAD},
	};
	const struct perf_call read = {.xid = 1, .op = PERF_READ, .count = 4};
	uint8_t buf[PERF_HEAD_MAX], reply[PERF_HEAD_MAX];
	struct perf_result r;
	struct perf_call c;
	size_t len, reply_len;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = perf_call_encode(&read, buf);
		set_word(buf, cases[i].word, cases[i].value);
		assert_int_equal(perf_call_decode(&c, view_of(buf, len), false), 0);
		assert_int_equal(c.stat, cases[i].stat);
		reply_len = perf_reply_encode(&c, true, reply);
		assert_int_equal(reply_len, cases[i].reply);
		assert_int_equal(perf_reply_decode(&r, PERF_READ, view_of(reply, reply_len), false),
				 0);
		assert_int_equal(r.stat, cases[i].stat);
	}
	len = perf_call_encode(&read, buf);
	set_word(buf, 2, 3);
	assert_int_equal(perf_call_decode(&c, view_of(buf, len), false), 0);
	assert_true(c.is_rpc_mismatch);
	reply_len = perf_reply_encode(&c, true, reply);
	assert_int_equal(reply_len, PERF_RPC_MISMATCH);
	assert_int_equal(perf_reply_decode(&r, PERF_READ, view_of(reply, reply_len), false), 0);
	assert_true(r.is_denied);
	/* A reply is not a call, and half a header is nothing. */
	assert_int_equal(perf_call_decode(&c, view_of(reply, reply_len), false), ERR_SHORT);
	assert_int_equal(perf_call_decode(&c, view_of(buf, 20), false), ERR_SHORT);
}

static void test_reduced(void **state)
{
	const struct perf_call call = {.xid = 1, .op = PERF_WRITE, .count = 4097};
	uint8_t buf[PERF_HEAD_MAX];
	size_t len = perf_call_encode(&call, buf);
	struct perf_result r;
	struct perf_call c;

	(void)state;
	assert_int_equal(perf_call_decode(&c, view_of(buf, len), true), 0);
	assert_int_equal(c.stat, PERF_SUCCESS);
	assert_int_equal(c.count, 4097);
	assert_int_equal(c.position, len);
	assert_int_equal(c.position % 4, 0);
	c.op = PERF_READ;
	len = perf_reply_encode(&c, true, buf);
	assert_int_equal(perf_reply_decode(&r, PERF_READ, view_of(buf, len), true), 0);
	assert_int_equal(r.count, 4097);
	assert_int_equal(perf_reply_decode(&r, PERF_READ, view_of(buf, len), false), ERR_SHORT);
	/* ECHO has nothing that may be reduced. */
	c.op = PERF_ECHO;
	len = perf_call_encode(&c, buf);
	assert_int_equal(perf_call_decode(&c, view_of(buf, len), true), 0);
	assert_int_equal(c.stat, PERF_GARBAGE_ARGS);
}

/* Random octets are refused or understood, never more: bounds are the sanitizers' to check. */
static void test_random_input(void **state)
{
	struct rng rng = rng_seeded("program", 3);
	uint8_t buf[96];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		size_t len = rng_below(&rng, sizeof(buf));
		const struct perf_call call = {.op = (enum perf_op)rng_below(&rng, 4),
					       .count = rng_below(&rng, 40)};
		struct perf_result r;
		struct perf_call c;

		for (size_t k = 0; k < sizeof(buf); k++)
			buf[k] = (uint8_t)rng_next(&rng);
		if (i % 2)
			perf_call_encode(&call, buf);
		buf[rng_below(&rng, sizeof(buf))] = (uint8_t)rng_next(&rng);
		if (perf_call_decode(&c, view_of(buf, len), i % 3 == 0) == 0 && c.data.len > 0 &&
		    c.stat == PERF_SUCCESS)
			assert_true(c.data.data + c.data.len <= buf + len);
		if (i % 2)
			perf_reply_encode(&call, true, buf);
		if (perf_reply_decode(&r, call.op, view_of(buf, len), i % 3 == 0) == 0 &&
		    r.data.len > 0)
			assert_true(r.data.data + r.data.len <= buf + len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern_fills_what_it_checks),
		cmocka_unit_test(test_pattern_finds_each_wrong_octet),
		cmocka_unit_test(test_pattern_tells_items_apart),
		cmocka_unit_test(test_latency_is_near),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_call_round_trip),
		cmocka_unit_test(test_rpc_errors),
		cmocka_unit_test(test_reduced),
		cmocka_unit_test(test_random_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
