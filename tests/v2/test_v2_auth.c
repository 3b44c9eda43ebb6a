/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of version 2 while the handshake of host authentication is under way. Sections are those of
 * docs/hostauth-profile.md. */
#include "tests/v2/conn_util.h"

#include "tests/rtrext/vectors.h"
#include "v2/auth.h"

/* A handshake that accepts every value, answers with one, and never ends. */
static const uint8_t value[] = {1, 2, 0, 0};
static unsigned values;
static bool is_due;

static enum v2_auth_verdict take_value(struct v2_auth *auth, struct view message,
				       const struct v2_hdr *h)
{
	(void)auth;
	(void)message;
	(void)h;
	values++;
	is_due = true;
	return V2_AUTH_GOING;
}

static bool is_absent(struct v2_auth *auth)
{
	(void)auth;
	return values == 0;
}

static bool next_value(struct v2_auth *auth, size_t room, size_t properties,
		       struct v2_auth_out *out)
{
	(void)auth;
	(void)room;
	(void)properties;
	if (!is_due)
		return false;
	is_due = false;
	*out = (struct v2_auth_out){.value = view_of(value, sizeof(value))};
	return true;
}

static enum v2_auth_verdict value_sent(struct v2_auth *auth, uint8_t *message, size_t len,
				       size_t value_at)
{
	(void)auth;
	(void)message;
	(void)len;
	(void)value_at;
	return V2_AUTH_GOING;
}

static const struct v2_auth_ops ops = {
	.recv = take_value, .absent = is_absent, .next = next_value, .sent = value_sent};
static struct v2_auth auth;

/* A CONNPROP_MIDDLE: a value, and that the peer takes Transmit Requests and Responses. */
#define VALUE                                                                                      \
	"00000077 00000002 00000040 00000006 00000002 52540003 00000004 00000003 "                 \
	"00000006 00000008 00000004 01020000"

static void say_value(void)
{
	uint8_t out[1024];

	assert_in_range(conn.t.ops->control(&conn.t, out, sizeof(out)), 16, 100);
	assert_int_equal(xdr_peek_u32(out + 12), V2_CONNPROP_MIDDLE);
}

static void begin(enum rpc_role role)
{
	struct rpc_params own = conn_params(role);

	own.bulk_bytes = 8192;
	own.transmissions = 1;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
	auth = (struct v2_auth){.ops = &ops};
	conn.auth = &auth;
	values = 0;
	is_due = role == RPC_INITIATOR;
	if (is_due)
		say_value();
	expect(VALUE, RPC_RX_NONE);
	assert_int_equal(values, 1);
	say_value();
}

/* Section 3.5. */
static void only_properties_grants_and_errors_come_between(void **state)
{
	static const char *const others[] = {
		"00000009 00000001 00000040 00000000 00000000 00000000 00000000 00000009 00000000",
		"00000009 00000001 00000040 00000004 00000002", /* RDMA_ERROR of version 1 */
		"00000009 00000003 00000040 00000006 00000000",
		"00000009 00000000 00000040 00000005",
		CALL_1,
		REPLY_2,
		PART_5A,
		"00000009 00000002 00000040 0000000e",
		"00000009 00000002 00000040 52540008 " VECTOR_REPORT_NUMBER,
		"00000009 00000002 00000040 52540008 " VECTOR_REPORT_TARGET,
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(others) / sizeof(others[0]); i++) {
		begin(i % 2 ? RPC_ACCEPTOR : RPC_INITIATOR);
		expect(GRANT, RPC_RX_NONE);
		expect("00000055 00000002 00000040 00000004 00000064", RPC_RX_ERROR);
		expect(VALUE, RPC_RX_NONE);
		say_value();
		assert_int_equal(conn_feed(others[i / 2]), ERR_AUTH);
		assert_int_equal(rx.kind, RPC_RX_NONE);
		assert_int_equal(auth.verdict, V2_AUTH_FAILED);
		assert_non_null(auth.why);
		assert_int_equal(conn.t.count.invalid, 0);
		assert_int_equal(conn.t.count.errors_received, 1);
		expect_silence();
	}
}

/* Without the handshake they are what they always are. */
static void afterwards_they_may_come(void **state)
{
	(void)state;
	begin(RPC_ACCEPTOR);
	auth.verdict = V2_AUTH_DONE;
	expect("00000009 00000003 00000040 00000006 00000000", RPC_RX_NONE);
	assert_int_equal(conn.t.count.invalid, 1);
	expect("00000009 00000002 00000040 52540008 " VECTOR_REPORT_TARGET, RPC_RX_NONE);
	assert_int_equal(conn.t.count.errors_received, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_properties_grants_and_errors_come_between),
		cmocka_unit_test(afterwards_they_may_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
