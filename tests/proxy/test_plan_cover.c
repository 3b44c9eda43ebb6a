/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a message is continued: a rule of the re-chunking table of docs/rechunking.md. */
#include "tests/proxy/plan_util.h"

static void call_of(const struct rpc_msg *m, size_t body_len, const struct plan_end *from,
		    const struct plan_end *to, struct plan_call *out)
{
	plan_call_form(&(struct plan_in){.call = m,
					 .body_len = body_len,
					 .header_len = V2_CALL_HDR,
					 .from = from,
					 .to = to},
		       out);
}

static void reply_of(const struct rpc_msg *call, size_t body_len, const struct plan_end *to,
		     struct plan_reply *out)
{
	plan_reply_form(
		&(struct plan_in){
			.call = call, .body_len = body_len, .header_len = V2_REPLY_HDR, .to = to},
		out);
}

/* As far as credits and the cap cover it, or, with no other way, what the peer advertises. */
static void test_cover(void **state)
{
	struct plan_end from = end_of(2, 4096), to = end_of(2, 4096);
	const size_t inline_room = 4096 - V2_CALL_HDR, middle = 4096 - 20;
	static struct rpc_msg m;
	struct plan_reply reply;
	struct plan_call out;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	to.continued = (struct plan_cover){65536, 5};
	to.continued_most = (struct plan_cover){CAP, 8};
	call_of(&m, inline_room + 4 * middle, &from, &to, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_false(out.only_way);
	call_of(&m, inline_room + 4 * middle + 1, &from, &to, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.continued.bytes = 5000;
	call_of(&m, 5001, &from, &to, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.limits.continue_bytes = 4500; /* it refused more */
	call_of(&m, 5000, &from, &to, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.limits.continue_bytes = UINT32_MAX;
	/* No other way: a peer without CALL_EXTERNAL, a reply without a Reply chunk. */
	to.limits.no_external = true;
	call_of(&m, inline_room + 7 * middle, &from, &to, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_true(out.only_way);
	call_of(&m, inline_room + 7 * middle + 1, &from, &to, &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	reply_of(&m, 4096 - V2_REPLY_HDR + 7 * middle, &to, &reply);
	assert_int_equal(reply.form, PLAN_CONTINUED);
	reply_of(&m, 4097 - V2_REPLY_HDR + 7 * middle, &to, &reply);
	assert_int_equal(reply.form, PLAN_REFUSED);
	assert_int_equal(reply.error.code, RPC_ERROR_REPLY_RESOURCE);
	assert_int_equal(reply.error.a, 4097 - V2_REPLY_HDR + 7 * middle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cover),
	};

	return cmocka_run_group_tests_name("plan cover", tests, NULL, NULL);
}
