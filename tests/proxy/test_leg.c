/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "proxy/leg/leg.h"
#include "proxy/leg/recv_pool.h"

/* Properties of the fabric below a leg, as the leg sees them. */

enum { INLINE_BYTES = 1024 };

/* Behind a Receive lie other peers' octets: no completion may lead there. */
static void no_message_is_larger_than_its_receive(void **state)
{
	static const struct leg_config cfg = {.versions = 1, .inline_bytes = INLINE_BYTES};
	static uint8_t octets[2 * INLINE_BYTES];
	struct leg_rbuf rb = {.data = octets};
	struct leg leg = {.cfg = &cfg, .role = RPC_ACCEPTOR, .posted = 1};
	const struct fabric_event ev = {
		.type = FABRIC_EV_RECV, .cookie = &rb, .len = INLINE_BYTES + 1};
	struct leg_out out;

	(void)state;
	list_init(&leg.rxq);
	leg_input(&leg, &ev, &out);
	assert_int_equal(out.kind, LEG_OUT_NONE);
	assert_int_equal(rb.len, 0);
	assert_int_equal(leg.early, 0); /* nobody looked at it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_message_is_larger_than_its_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
