/* SPDX-License-Identifier: BSD-2-Clause */
/* Which messages use the round-trip extension, and how the data of replies comes: each cell. */
#include "proxy/plan/nfsreply.h"
#include "tests/proxy/plan_util.h"

static struct rpc_msg m;
static struct rpchdr hdr;

enum { READ = 6, WRITE = 7, GETATTR = 1 };

/* A call with @n Write chunks, of so much each. */
static void call_with(uint32_t proc, unsigned n, const uint64_t *caps)
{
	nfs3_call(&m, &hdr, proc, 65536);
	for (unsigned i = 0; i < n; i++)
		m.writes[m.nwrites++] = (struct rpc_chunk){.count = caps[i] > 0, .length = caps[i]};
}

struct row {
	const char *name;
	uint32_t proc;
	unsigned nreads, nwrites;
	uint64_t caps[6];
	uint32_t data; /* behind what each Receive has */
	bool known, reverse;
	uint32_t reply_bytes;
	bool extends;
	enum plan_ask ask;
};

static void what_goes_so(void **state)
{
	enum { K64 = 65536, M = 1 << 20 };
	static const struct row rows[] = {
		{"nothing to place", GETATTR, 0, 0, {0}, M, true, false, 0, false, 0},
		{"data of a call", WRITE, 1, 0, {0}, 0, true, false, 0, true, PLAN_ASK_NOTHING},
		{"in reverse", WRITE, 1, 0, {0}, M, true, true, 0, false, 0},
		{"beside a Reply chunk", WRITE, 1, 0, {0}, M, true, false, 8192, false, 0},
		{"READ", READ, 0, 1, {K64}, M, true, false, 0, true, PLAN_ASK_SENT},
		{"READ, all there is", READ, 0, 1, {M}, M, true, false, 0, true, PLAN_ASK_SENT},
		{"READ, no whole words",
		 READ,
		 0,
		 1,
		 {K64 - 1},
		 M,
		 true,
		 false,
		 0,
		 true,
		 PLAN_ASK_EITHER},
		{"READ, more", READ, 0, 1, {M + 1}, M, true, false, 0, true, PLAN_ASK_EITHER},
		{"READ, no segment here", READ, 0, 1, {K64}, 0, true, false, 0, false, 0},
		{"READ, reply not known",
		 READ,
		 0,
		 1,
		 {K64},
		 M,
		 false,
		 false,
		 0,
		 true,
		 PLAN_ASK_EITHER},
		{"READ beside a Reply chunk", READ, 0, 1, {K64}, M, true, false, 8192, false, 0},
		{"READ in reverse", READ, 0, 1, {K64}, M, true, true, 0, false, 0},
		{"READ and data", READ, 1, 1, {K64}, M, true, false, 0, true, PLAN_ASK_SENT},
		{"two", READ, 0, 2, {K64, 8}, M, true, false, 0, true, PLAN_ASK_EITHER},
		{"four", READ, 0, 4, {1, 1, 1, 1}, M, true, false, 0, true, PLAN_ASK_EITHER},
		{"five", READ, 0, 5, {1, 1, 1, 1, 1}, M, true, false, 0, false, 0},
		{"an empty one behind",
		 READ,
		 0,
		 2,
		 {K64, 0},
		 M,
		 true,
		 false,
		 0,
		 true,
		 PLAN_ASK_SENT},
		{"an empty one before", READ, 0, 2, {0, K64}, M, true, false, 0, false, 0},
		{"an empty one alone", READ, 0, 1, {0}, M, true, false, 0, false, 0},
		{"data, and an empty one",
		 WRITE,
		 1,
		 1,
		 {0},
		 M,
		 true,
		 false,
		 0,
		 true,
		 PLAN_ASK_NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const struct plan_receives own = {4096, r->data};
		const struct plan_call plan = {.form = PLAN_INLINE, .reply_bytes = r->reply_bytes};
		const struct plan_end to = end_of(2, 4096);
		enum plan_ask ask = PLAN_ASK_NOTHING;

		print_message("%s\n", r->name);
		call_with(r->proc, r->nwrites, r->caps);
		m.nreads = r->nreads;
		assert_int_equal(plan_extends(&(struct plan_in){.call = &m,
								.hdr = r->known ? &hdr : NULL,
								.to = &to,
								.reverse = r->reverse},
					      &plan, &own, &ask),
				 r->extends);
		if (r->extends)
			assert_int_equal(ask, r->ask);
	}
}

static void not_what_is_refused(void **state)
{
	const struct plan_receives own = {4096, 1 << 20};
	const struct plan_call plan = {.form = PLAN_REFUSED};
	const struct plan_end to = end_of(2, 4096);
	const uint64_t cap = 8;
	enum plan_ask ask;

	(void)state;
	call_with(READ, 1, &cap);
	assert_false(plan_extends(&(struct plan_in){.call = &m, .to = &to}, &plan, &own, &ask));
}

/* By Send alone only where the rest of the reply lies before the data. */
static void short_receives(void **state)
{
	const struct plan_call plan = {.form = PLAN_INLINE};
	const struct plan_end to = end_of(2, 4096);
	const struct plan_in in = {.call = &m, .hdr = &hdr, .to = &to};
	const uint64_t cap = 65536;
	uint32_t max;
	enum plan_ask ask;

	(void)state;
	call_with(READ, 1, &cap);
	assert_true(plan_extends(&in, &plan, &(struct plan_receives){8192, 1 << 20}, &ask));
	assert_int_equal(ask, PLAN_ASK_EITHER); /* it sends no more than 4096 */
	max = plan_reply_max(&hdr, m.body[0], &m);
	assert_in_range(max, 24, 1024);
	for (uint32_t less = 0; less < 2; less++) {
		const struct plan_receives own = {max + 128 - less, 1 << 20};

		assert_true(plan_extends(&in, &plan, &own, &ask));
		assert_int_equal(ask, less ? PLAN_ASK_EITHER : PLAN_ASK_SENT);
	}
}

static void what_becomes_of_an_item(void **state)
{
	static const struct {
		enum rpc_way way;
		uint64_t length, offered;
		bool may_send;
		enum plan_item is;
	} rows[] = {
		{RPC_BY_WRITE, 0, 100, true, PLAN_ITEM_NONE},
		{RPC_BY_WRITE, 100, 100, true, PLAN_ITEM_WRITTEN},
		{RPC_BY_WRITE, 101, 100, true, PLAN_ITEM_REFUSED},
		{RPC_BY_SEND, 0, 0, false, PLAN_ITEM_NONE},
		{RPC_BY_SEND, 1, 0, true, PLAN_ITEM_SENT},
		{RPC_BY_SEND, 1, 100, false, PLAN_ITEM_REFUSED},
		{RPC_BY_EITHER, 0, 100, true, PLAN_ITEM_NONE},
		{RPC_BY_EITHER, 100, 100, true, PLAN_ITEM_SENT},
		{RPC_BY_EITHER, 101, 100, true, PLAN_ITEM_SENT},
		{RPC_BY_EITHER, 100, 100, false, PLAN_ITEM_WRITTEN},
		{RPC_BY_EITHER, 101, 100, false, PLAN_ITEM_REFUSED},
		{RPC_BY_SIZE, 0, 100, true, PLAN_ITEM_NONE},
		{RPC_BY_SIZE, 50, 100, true, PLAN_ITEM_SENT},
		{RPC_BY_SIZE, 51, 100, true, PLAN_ITEM_WRITTEN},
		{RPC_BY_SIZE, 50, 100, false, PLAN_ITEM_WRITTEN},
		{RPC_BY_SIZE, 50, 49, false, PLAN_ITEM_REFUSED},
		{RPC_BY_SIZE, 50, 49, true, PLAN_ITEM_SENT},
		{RPC_BY_SIZE, 101, 100, true, PLAN_ITEM_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rpc_wish wish = {.way = rows[i].way, .most = 50};

		assert_int_equal(
			plan_item(&wish, rows[i].length, rows[i].offered, rows[i].may_send),
			rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_so),
		cmocka_unit_test(not_what_is_refused),
		cmocka_unit_test(short_receives),
		cmocka_unit_test(what_becomes_of_an_item),
	};

	return cmocka_run_group_tests_name("plan extended", tests, NULL, NULL);
}
