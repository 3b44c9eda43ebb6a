/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "tests/v2/conn_util.h"

/* Whether a small Call (Reply, of the acceptor) could be sent now. */
static bool may_send(void)
{
	static struct rpc_msg m;
	struct rpc_tx tx = {.msg = &m};

	rpc_msg_reset(&m, 9, conn.t.own.role == RPC_INITIATOR ? RPC_CALL : RPC_REPLY);
	return conn.t.ops->may_send(&conn.t, &tx);
}

static void initiator_speaks_first_and_waits(void **state)
{
	(void)state;
	conn_start(RPC_INITIATOR);
	assert_false(may_send());
	/* Byte for byte: credits of 32, five properties. */
	expect_out("00000abc 00000002 00000020 00000007 00000005 "
		   "00000001 00000004 00001000 00000002 00000004 00001000 "
		   "00000003 00000004 00100000 00000004 00000004 00000010 "
		   "00000005 00000004 00000003");
	expect_silence();
	assert_false(may_send());
	assert_false(conn.t.ready);
	expect(PEER_FINAL, RPC_RX_READY);
	assert_true(conn.t.ready);
	assert_true(may_send());
	assert_int_equal(conn.t.peer.send_bytes, 4096); /* the lower of 8192 and ours */
	assert_int_equal(conn.t.peer.reverse, RPC_REV_GENL);
	expect_silence();
}

static void acceptor_answers(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect_silence();
	assert_false(may_send());
	expect(PEER_FINAL, RPC_RX_READY);
	assert_false(may_send()); /* its own properties come first */
	expect_props();
	assert_true(may_send());
	expect_silence();
}

/* Sections 4.3 and 5.2: a peer that calls at once is served, with the defaults. */
static void no_properties_at_all(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect(CALL_1, RPC_RX_MSG);
	assert_true(conn.t.ready);
	assert_int_equal(conn.t.peer.send_bytes, 4096);
	assert_int_equal(conn.t.peer.segment_count, 16);
	assert_int_equal(conn.t.peer.reverse, RPC_REV_NONE);
	expect_props();
	assert_true(may_send());
	/* Properties may still come later. */
	expect(PEER_FINAL, RPC_RX_READY);
	assert_int_equal(conn.t.peer.reverse, RPC_REV_GENL);
	expect(PEER_FINAL, RPC_RX_NONE);
	expect_out("00000077 00000002 00000000 00000004 00000005");
}

#define MIDDLE(props) "00000076 00000002 00000040 00000006 " props
#define FINAL(props) "00000077 00000002 00000040 00000007 " props

/* Protocol decision 8: together, at the FINAL; of a property repeated the last. */
/* For all settings of this end: the largest list is 80 octets, and a FINAL. */
static void our_properties_fit_one_message(void **state)
{
	struct rpc_params own = conn_params(RPC_INITIATOR);
	uint8_t out[V2_FIRST_MESSAGE_BYTES];

	(void)state;
	own.recv_bytes = own.send_bytes = own.segment_bytes = own.segment_count = UINT32_MAX;
	own.credits = INT32_MAX - 1;
	for (unsigned role = RPC_INITIATOR; role <= RPC_ACCEPTOR; role++) {
		own.role = (enum rpc_role)role;
		assert_int_equal(v2_conn_init(&conn, &own), 0);
		if (role == RPC_ACCEPTOR)
			expect(PEER_FINAL, RPC_RX_READY);
		assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)), 16 + 4 + 5 * 12);
		assert_int_equal(xdr_peek_u32(out + 12), V2_CONNPROP_FINAL);
		assert_int_equal(xdr_peek_u32(out + 16), 5);
		expect_silence();
	}
}

static void properties_in_several_messages(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect(MIDDLE("00000002 00000002 00000004 00000800 00000004 00000004 00000002"),
	       RPC_RX_NONE);
	assert_int_equal(conn.t.peer.segment_count, 16);
	expect_props(); /* at once: the peer needs credits to go on */
	expect(MIDDLE("00000001 00000006 00000008 00000004 abababab"), RPC_RX_NONE);
	assert_int_equal(conn.hostauth.len, 4);
	expect(GRANT, RPC_RX_NONE); /* carries nothing that could break a sequence */
	assert_int_equal(conn.hostauth.len, 0);
	expect(FINAL("00000001 00000004 00000004 00000003"), RPC_RX_READY);
	assert_int_equal(conn.t.peer.send_bytes, 2048);
	assert_int_equal(conn.t.peer.segment_count, 3);
	assert_true(may_send());
}

/* Section 6.3.3: only another CONNPROP may follow a MIDDLE. */
static void properties_interrupted(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect(MIDDLE("00000001 00000004 00000004 00000002"), RPC_RX_NONE);
	expect_props();
	expect(CALL_1, RPC_RX_NONE);
	expect_out("00000001 00000002 00000000 00000004 00000005");
	/* Later parts of a message that was refused here draw no further report. */
	expect(PART_5A, RPC_RX_NONE);
	expect_out("00000005 00000002 00000000 00000004 00000005");
	expect(PART_5B, RPC_RX_NONE);
	expect(PART_5C, RPC_RX_NONE);
	expect_silence();
	expect("00000008 00000002 00000040 00000063", RPC_RX_NONE);
	expect_out("00000008 00000002 00000000 00000004 00000004");
	expect(FINAL("00000000"), RPC_RX_READY);
	assert_int_equal(conn.t.peer.segment_count, 2);
	/* Section 6.3.4: none after the FINAL. */
	expect(MIDDLE("00000000"), RPC_RX_NONE);
	expect_out("00000076 00000002 00000000 00000004 00000005");
	assert_int_equal(conn.t.count.invalid, 4);
}

/* Section 7.2.2: the bad message's settings are lost, and only those. */
static void bad_property_values(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect(MIDDLE("00000001 00000004 00000004 00000002"), RPC_RX_NONE);
	expect_props();
	expect(MIDDLE("00000002 00000004 00000004 00000003 00000002 00000002 10000000"),
	       RPC_RX_NONE);
	expect_out("00000076 00000002 00000000 00000004 00000003");
	expect(FINAL("00000002 00000003 00000004 00004000 00000002 00000000 00000001"),
	       RPC_RX_READY);
	expect_out("00000077 00000002 00000000 00000004 00000002"); /* octets left over */
	assert_int_equal(conn.t.peer.segment_count, 2);
	assert_int_equal(conn.t.peer.segment_bytes, 1048576);

	conn_start(RPC_INITIATOR);
	expect_props();
	expect(FINAL("00000001 00000001 00000003 00200000"), RPC_RX_READY);
	expect_out("00000077 00000002 00000000 00000004 00000003");
	assert_int_equal(conn.t.peer.send_bytes, 4096);
}

/* Protocol decision 9: a Linux filer echoes version 2, others say 1. */
static void other_version(void **state)
{
	static const char *const verdicts[] = {
		"00000abc 00000002 00000020 00000004 00000001 00000001 00000001",
		"00000abc 00000001 00000020 00000004 00000001 00000001 00000001",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		conn_start(RPC_INITIATOR);
		expect_props();
		expect(verdicts[i], RPC_RX_OTHER_VERSION);
		assert_int_equal(rx.error.code, RPC_ERROR_VERS);
		assert_int_equal(rx.error.a, 1);
		assert_int_equal(rx.error.b, 1);
		/* This state machine is at its end. */
		expect_silence();
		assert_false(may_send());
		assert_int_equal(conn_feed(PEER_FINAL), ERR_PROTO);
	}
	/* A range that is none. */
	conn_start(RPC_INITIATOR);
	expect_props();
	assert_int_equal(conn_feed("00000abc 00000002 00000020 00000004 "
				   "00000001 00000003 00000001"),
			 ERR_PROTO);
	/* Before the first message there is nothing it could be the answer to. */
	conn_start(RPC_INITIATOR);
	expect(verdicts[1], RPC_RX_NONE);
	expect_props();
	expect(PEER_FINAL, RPC_RX_READY);
	/* Other reports of a version 1 peer say nothing. */
	conn_start(RPC_INITIATOR);
	expect_props();
	expect("00000abc 00000001 00000020 00000004 00000002", RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 1);
}

/* A peer that knows no properties says so, and keeps the defaults. */
static void properties_not_known(void **state)
{
	(void)state;
	conn_start(RPC_INITIATOR);
	expect_props();
	expect("00000abc 00000002 00000040 00000004 00000004", RPC_RX_READY);
	assert_true(may_send());
	assert_int_equal(conn.t.peer.send_bytes, 4096);
	/* Any other complaint about them is no answer to a call. */
	conn_start(RPC_INITIATOR);
	expect_props();
	expect("00000abc 00000002 00000040 00000004 00000003", RPC_RX_NONE);
	expect(PEER_FINAL, RPC_RX_READY);
}

/* Every GRANT has XID 0, so a peer that knows no GRANTs cannot mean our properties. */
static void properties_have_an_xid_of_their_own(void **state)
{
	struct rpc_params own = conn_params(RPC_ACCEPTOR);
	/* ERR_INVAL_HTYPE about what is not known */
	uint8_t refused[20] = {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 64, 0, 0, 0, 4, 0, 0, 0, 4};
	uint8_t out[1024];

	(void)state;
	own.first_xid = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(v2_conn_init(&conn, &own), 0);
		expect(PEER_FINAL, RPC_RX_READY);
		assert_in_range(conn.t.ops->control(&conn.t, out, sizeof(out)), 16, 1024);
		assert_int_not_equal(xdr_peek_u32(out), 0);
		if (i == 0) {
			assert_int_equal(conn_feed("00000000 00000002 00000040 00000004 00000004"),
					 ERR_TYPE);
			continue;
		}
		memcpy(refused, out, 4);
		assert_int_equal(conn.t.ops->recv(&conn.t, view_of(refused, sizeof(refused)), &rx),
				 0);
	}
}

/* Sections 7.1.1 and 7.1.2: the report has the version of what it answers. */
static void versions_that_do_not_match(void **state)
{
	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect("00000009 00000003 00000020 00000000", RPC_RX_NONE);
	expect_out("00000009 00000003 00000000 00000004 00000001 00000001 00000002");
	expect_silence();

	conn_open(RPC_ACCEPTOR);
	expect("00000009 00000001 00000020 00000000", RPC_RX_NONE);
	expect_out("00000009 00000001 00000000 00000004 0000000b");
	expect("0000000a 00000007 00000020 00000000", RPC_RX_NONE);
	expect_out("0000000a 00000007 00000000 00000004 00000001 00000001 00000002");
	/* Error reports of other versions are not answered. */
	expect("0000000b 00000001 00000020 00000004 00000002", RPC_RX_NONE);
	expect("0000000b 00000009 00000020 00000004 00000002", RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 2);
	/* The third word of a message of another version is no credit value. */
	assert_int_equal(conn.credit.limit, 0x40);
}

static void bad_parameters(void **state)
{
	struct rpc_params own;

	(void)state;
	own = conn_params(RPC_INITIATOR);
	own.recv_bytes = 4095;
	assert_int_equal(v2_conn_init(&conn, &own), ERR_CONFIG);
	own = conn_params(RPC_INITIATOR);
	own.send_bytes = 1023;
	assert_int_equal(v2_conn_init(&conn, &own), ERR_CONFIG);
	own = conn_params(RPC_INITIATOR);
	own.credits = 1;
	assert_int_equal(v2_conn_init(&conn, &own), ERR_CONFIG);
	own.credits = INT32_MAX;
	assert_int_equal(v2_conn_init(&conn, &own), ERR_CONFIG);
	own = conn_params(RPC_INITIATOR);
	own.segment_bytes = 0;
	assert_int_equal(v2_conn_init(&conn, &own), ERR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initiator_speaks_first_and_waits),
		cmocka_unit_test(acceptor_answers),
		cmocka_unit_test(no_properties_at_all),
		cmocka_unit_test(our_properties_fit_one_message),
		cmocka_unit_test(properties_in_several_messages),
		cmocka_unit_test(properties_interrupted),
		cmocka_unit_test(bad_property_values),
		cmocka_unit_test(other_version),
		cmocka_unit_test(properties_not_known),
		cmocka_unit_test(properties_have_an_xid_of_their_own),
		cmocka_unit_test(versions_that_do_not_match),
		cmocka_unit_test(bad_parameters),
	};
	return cmocka_run_group_tests_name("v2 negotiate", tests, NULL, NULL);
}
