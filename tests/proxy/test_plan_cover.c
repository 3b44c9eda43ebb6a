/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a message is continued: a rule of the re-chunking table of proxy/README.md. */
#include "tests/proxy/plan_util.h"

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
	plan_call_form(&m, inline_room + 4 * middle, NULL, &from, &to, V2_CALL_HDR, false, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_false(out.only_way);
	plan_call_form(&m, inline_room + 4 * middle + 1, NULL, &from, &to, V2_CALL_HDR, false,
		       &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.continued.bytes = 5000;
	plan_call_form(&m, 5001, NULL, &from, &to, V2_CALL_HDR, false, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.limits.continue_bytes = 4500; /* it refused more */
	plan_call_form(&m, 5000, NULL, &from, &to, V2_CALL_HDR, false, &out);
	assert_int_equal(out.form, PLAN_BODY_CHUNK);
	to.limits.continue_bytes = UINT32_MAX;
	/* No other way: a peer without CALL_EXTERNAL, a reply without a Reply chunk. */
	to.limits.no_external = true;
	plan_call_form(&m, inline_room + 7 * middle, NULL, &from, &to, V2_CALL_HDR, false, &out);
	assert_int_equal(out.form, PLAN_CONTINUED);
	assert_true(out.only_way);
	plan_call_form(&m, inline_room + 7 * middle + 1, NULL, &from, &to, V2_CALL_HDR, false,
		       &out);
	assert_int_equal(out.form, PLAN_REFUSED);
	plan_reply_form(&m, 4096 - V2_REPLY_HDR + 7 * middle, &to, V2_REPLY_HDR, false, &reply);
	assert_int_equal(reply.form, PLAN_CONTINUED);
	plan_reply_form(&m, 4097 - V2_REPLY_HDR + 7 * middle, &to, V2_REPLY_HDR, false, &reply);
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
