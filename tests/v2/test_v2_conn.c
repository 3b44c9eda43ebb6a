/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "base/mem.h"
#include "tests/v2/conn_util.h"

#define INVAL_CONT(xid) xid " 00000002 00000000 00000004 00000005"
#define BAD_XDR(xid) xid " 00000002 00000000 00000004 00000002"

/* Section 7, protocol decision 4. */
static void too_short(void **state)
{
	static const char *const cases[] = {"", "00", "00000001 00000002 00000040 000000"};

	(void)state;
	conn_open(RPC_ACCEPTOR);
	for (size_t i = 0; i < 3; i++)
		expect(cases[i], RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 3);
	assert_int_equal(conn.t.count.recvs, 4);
	assert_int_equal(conn.credit.received, 4);
}

static void malformed_calls_are_answered(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	/* Section 7.2: the payload stream has another XID. */
	expect("00000001 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 00000002",
	       RPC_RX_NONE);
	expect_out(BAD_XDR("00000001"));
	expect("00000001 00000002 00000040 0000000a 00000000", RPC_RX_NONE);
	expect_out(BAD_XDR("00000001"));
	expect("00000001 00000002 00000040 0000000e 00000000", RPC_RX_NONE);
	expect_out("00000001 00000002 00000000 00000004 00000004");
	expect("00000000 00000002 00000040 00000005 00000000", RPC_RX_NONE); /* not a GRANT */
	expect_out(BAD_XDR("00000000"));
	expect(CALL_1, RPC_RX_MSG);
	assert_int_equal(conn.t.count.invalid, 4);
	assert_int_equal(conn.t.count.errors_sent, 4);
}

/* A report would name a call of the other end: the one here is failed instead. */
static void malformed_replies_fail_the_call(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	expect("00000009 00000002 00000040 0000000d 00000000 00000002", RPC_RX_ERROR);
	assert_int_equal(rx.xid, 9);
	assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
	expect("00000009 00000002 00000040 0000000b 00000000 00000000", RPC_RX_ERROR);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 2);
	expect(REPLY_2, RPC_RX_MSG);
}

static void errors_received(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	expect("00000009 00000002 00000040 00000004 0000000a 00012345", RPC_RX_ERROR);
	assert_int_equal(rx.xid, 9);
	assert_int_equal(rx.error_dir, RPC_REPLY);
	assert_int_equal(rx.error.code, RPC_ERROR_REPLY_RESOURCE);
	assert_int_equal(rx.error.a, 0x12345);
	assert_int_equal(conn.t.count.errors_received, 1);
	/* Section 7 wants silence for codes that are not known. */
	expect("00000009 00000002 00000040 00000004 0000000c", RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 1);
}

/* No Reply follows them either: their calls would wait for ever. */
static void errors_cut_short_fail_the_call(void **state)
{
	static const char *const cut[] = {
		"00000009 00000002 00000040 00000004 0000000a",
		"00000009 00000002 00000040 00000004 00000001 00000001",
		"00000009 00000002 00000040 00000004",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		conn_open(RPC_INITIATOR);
		expect(cut[i], RPC_RX_ERROR);
		assert_int_equal(rx.xid, 9);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
		assert_int_equal(conn.t.count.errors_received, 1);
		expect_silence();
	}
}

/* A Reply whose header type says that it is a Call. Its sender gets a report; the call here would wait for ever. */
static void a_reply_marked_call_fails_its_call(void **state)
{
	static const char *const whole =
		"00000009 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 "
		"00000009 00000001 00000000";
	static const char *const part =
		"00000009 00000002 00000040 00000009 00000008 00000009 00000001 00000000";
	static const enum rpc_reverse levels[] = {RPC_REV_NONE, RPC_REV_SIMPLE, RPC_REV_GENL};
	struct rpc_params own = conn_params(RPC_INITIATOR);

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		own.reverse = levels[i / 2];
		conn_open_as(&own, PEER_FINAL);
		expect(i % 2 ? part : whole, RPC_RX_ERROR);
		assert_int_equal(rx.xid, 9);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
		assert_int_equal(conn.t.count.invalid, 1);
		expect(REPLY_2, RPC_RX_MSG);
	}
	/* The same about a call in reverse direction, at the end that makes it. */
	for (unsigned i = 0; i < 2; i++) {
		conn_open(RPC_ACCEPTOR);
		expect(i ? part : whole, RPC_RX_ERROR);
		assert_int_equal(rx.xid, 9);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		expect_out(BAD_XDR("00000009"));
	}
}

/* Sections 7.1.1 and 7.1.2: version 2 is not sent to a peer that reports that it does not take version 2. */
static void a_version_refused_is_spoken_no_more(void **state)
{
	static const char *const refusals[] = {
		"00000009 00000002 00000040 00000004 00000001 00000001 00000001",
		"00000009 00000002 00000040 00000004 00000001 00000003 00000004",
		"00000009 00000002 00000040 00000004 0000000b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		conn_open(i % 2 ? RPC_ACCEPTOR : RPC_INITIATOR);
		assert_int_equal(conn_feed(refusals[i]), ERR_VERS);
		assert_int_equal(conn.state, V2_CLOSED);
		expect_silence();
	}
	/* A range that has it says nothing about this version. */
	conn_open(RPC_INITIATOR);
	expect("00000009 00000002 00000040 00000004 00000001 00000001 00000002", RPC_RX_ERROR);
	assert_int_equal(rx.error.code, RPC_ERROR_VERS);
	assert_int_equal(conn.state, V2_OPEN);
}

static void continued_call(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	expect(PART_5A, RPC_RX_PART);
	assert_true(rx.first);
	assert_int_equal(rx.remaining, 12);
	assert_int_equal(rx.msg->xid, 5);
	assert_int_equal(rx.msg->body[0].len, 8);
	/* GRANT and ERROR carry no payload stream. */
	expect(GRANT, RPC_RX_NONE);
	expect("00000009 00000002 00000040 00000004 00000064", RPC_RX_ERROR);
	assert_false(rx.abandon);
	expect(PART_5B, RPC_RX_PART);
	assert_false(rx.first);
	assert_int_equal(rx.remaining, 4);
	expect(PART_5C, RPC_RX_MSG);
	assert_true(rx.continued);
	assert_int_equal(rx.msg->body[0].len, 4);
	expect(CALL_1, RPC_RX_MSG);
	assert_false(rx.continued);
	expect_silence();
}

/* Sections 6.3.6 and 7.1.4. */
static void continued_call_interrupted(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	expect(PART_5A, RPC_RX_PART);
	expect(CALL_1, RPC_RX_NONE);
	assert_true(rx.abandon);
	expect_out(INVAL_CONT("00000001")); /* the part that came is dropped */
	expect_out(INVAL_CONT("00000005")); /* the sender of the other message gets a report, too */
	expect(PART_5B, RPC_RX_NONE);
	expect(PART_5C, RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 2);
	/* The XID of the abandoned call may be used again. */
	expect(PART_5A, RPC_RX_PART);
	expect(PART_5B, RPC_RX_PART);
	expect(PART_5C, RPC_RX_MSG);
}

static void continued_call_interleaved(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	expect(PART_5A, RPC_RX_PART);
	expect("00000006 00000002 00000040 00000009 00000008 00000006", RPC_RX_NONE);
	assert_true(rx.abandon);
	expect_out(INVAL_CONT("00000006"));
	expect_out(INVAL_CONT("00000005"));
	expect(PART_5B, RPC_RX_NONE);
	expect("00000006 00000002 00000040 00000009 00000004 00000000", RPC_RX_NONE);
	expect(PART_5C, RPC_RX_NONE);
	expect_silence();
	expect(CALL_2, RPC_RX_MSG); /* others are not touched */
	expect("00000006 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 00000006",
	       RPC_RX_NONE);
	expect_silence();
	/* An unknown type breaks it as well, and is called what it is. */
	expect(PART_5A, RPC_RX_PART);
	expect("00000007 00000002 00000040 00000020", RPC_RX_NONE);
	assert_true(rx.abandon);
	expect_out("00000007 00000002 00000000 00000004 00000004");
	expect_out(INVAL_CONT("00000005"));
}

#define CALL_5                                                                                     \
	"00000005 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 "                 \
	"00000005 00000000 00000002 000186a3 00000003 00000001"
#define CALL_5_FIRST                                                                               \
	"00000005 00000002 00000040 00000009 0000000c 00000005 00000000 00000002 000186a3"
#define CALL_5_EXTERNAL                                                                            \
	"00000005 00000002 00000040 00000008 00000000 "                                            \
	"00000001 00000000 00000001 00000100 0000000000000000 00000000 "                           \
	"00000000 00000000 00000000"

/* The requester forms the call again in another way (section 7.3.1 names two): that call is no part
 * of the old one. */
static void a_fresh_call_is_no_late_part(void **state)
{
	static const char *const fresh[] = {CALL_5, CALL_5_FIRST, CALL_5_EXTERNAL};

	(void)state;
	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		bool first = i == 1;

		conn_open(RPC_ACCEPTOR);
		expect("00000005 00000002 00000040 00000009 00800000 00000005", RPC_RX_NONE);
		expect_out(INVAL_CONT("00000005")); /* longer than is taken here */
		expect(PART_5B, RPC_RX_NONE);	    /* was under way by then */
		expect(fresh[i], first ? RPC_RX_PART : RPC_RX_MSG);
		assert_int_equal(rx.msg->xid, 5);
		assert_int_equal(rx.first, first);
		expect_silence();
		assert_int_equal(conn.t.count.dropped, 1);
		if (!first) /* and nothing is dropped any more */
			expect(PART_5A, RPC_RX_PART);
	}
}

/* rdma_remaining must add up. */
static void continued_call_that_lies(void **state)
{
	static const struct {
		const char *first, *second;
	} cases[] = {
		/* nothing remains, yet another part is announced */
		{"00000005 00000002 00000040 00000009 00000000 00000005", NULL},
		/* longer than the limit of this end */
		{"00000005 00000002 00000040 00000009 00800000 00000005", NULL},
		{"00000005 00000002 00000040 00000009 ffffffff 00000005", NULL},
		/* does not fall by what was delivered */
		{PART_5A, "00000005 00000002 00000040 00000009 0000000c 00000000"},
		{PART_5A, "00000005 00000002 00000040 00000009 00000004 00000000"},
		/* more than remains */
		{PART_5A, "00000005 00000002 00000040 00000009 fffffffc 00000000 "
			  "00000000 00000000 00000000"},
		/* the last part is too short, or too long */
		{PART_5A, PART_5C},
		{PART_5A, PART_5C " 00000000 00000000 00000000"},
		/* of a type without payload */
		{PART_5A, "00000005 00000002 00000040 00000008 00000000 "
			  "00000001 00000000 00000001 00000010 0000000000000000 "
			  "00000000 00000000 00000000 00000000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn_open(RPC_ACCEPTOR);
		if (cases[i].second)
			expect(cases[i].first, RPC_RX_PART);
		expect(cases[i].second ? cases[i].second : cases[i].first, RPC_RX_NONE);
		assert_int_equal(rx.abandon, cases[i].second != NULL);
		expect_out(INVAL_CONT("00000005"));
		expect_silence();
		assert_false(conn.cont.active);
	}
	/* At the limit is within it. */
	conn_open(RPC_ACCEPTOR);
	expect("00000005 00000002 00000040 00000009 007ffffc 00000005", RPC_RX_PART);
}

/* A malformed part keeps its own error code, and still ends the message. */
static void continued_call_malformed(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	expect("00000005 00000002 00000040 00000009 0000000c 00000006 00000000", RPC_RX_NONE);
	expect_out(BAD_XDR("00000005"));
	expect(PART_5B, RPC_RX_NONE);
	expect(PART_5C, RPC_RX_NONE);
	expect_silence();

	expect(PART_5A, RPC_RX_PART);
	expect(PART_5B, RPC_RX_PART);
	expect("00000005 00000002 00000040 0000000a 00000000 00000007 00000000", RPC_RX_NONE);
	assert_true(rx.abandon);
	expect_out(BAD_XDR("00000005"));
	expect(CALL_1, RPC_RX_MSG);
	/* The malformed part was the last one: no later part is expected. */
	expect(PART_5A, RPC_RX_PART);
}

#define REPLY_PART_5 "00000005 00000002 00000040 0000000c 0000000c 00000005 00000000"

/* Section 6.3.9 wants the report for Replies too; the call is failed as well. */
static void continued_reply_interrupted(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	expect(REPLY_PART_5, RPC_RX_PART);
	assert_int_equal(rx.msg->dir, RPC_REPLY);
	expect(REPLY_2, RPC_RX_ERROR);
	assert_true(rx.abandon);
	assert_int_equal(rx.xid, 5);
	assert_true(rx.also); /* it came, was dropped, and does not come again */
	assert_int_equal(rx.also_xid, 2);
	expect_out(INVAL_CONT("00000002"));
	expect_out(INVAL_CONT("00000005"));
	/* The Call of the same XID is another message. */
	expect(PART_5A, RPC_RX_PART);
	expect(PART_5B, RPC_RX_PART);
	expect(PART_5C, RPC_RX_MSG);
	expect("00000005 00000002 00000040 0000000d 00000000 11111111 22222222 33333333",
	       RPC_RX_NONE);
	assert_int_equal(conn.t.count.dropped, 1);
}

/* A Reply that breaks a Call of the peer's is lost to the call it answers. */
static void an_intruding_reply_fails_its_call(void **state)
{
	(void)state;
	conn_open(RPC_INITIATOR);
	expect(PART_5A, RPC_RX_PART);
	expect(REPLY_2, RPC_RX_ERROR);
	assert_true(rx.abandon);
	assert_int_equal(rx.xid, 2);
	assert_int_equal(rx.error.code, RPC_ERROR_SYSTEM);
	assert_false(rx.also);
	expect_out(INVAL_CONT("00000002"));
	expect_out(INVAL_CONT("00000005"));

	/* A message between two CONNPROPs is refused, too. */
	conn_start(RPC_INITIATOR);
	expect_props();
	expect("00000077 00000002 00000040 00000006 00000000", RPC_RX_NONE);
	expect(REPLY_2, RPC_RX_ERROR);
	assert_int_equal(rx.xid, 2);
	expect_out(INVAL_CONT("00000002"));
}

/* Sections 4.6.3, 4.6.4, 5.2.5: what this end did not announce it does not take. */
static void reverse_calls_beyond_what_was_announced(void **state)
{
#define REVERSE_READ                                                                               \
	"00000001 00000002 00000040 0000000a 00000000 "                                            \
	"00000001 00000020 00000001 00000010 0000000000000000 00000000 00000000 00000000 00000001"
#define REVERSE_WRITE                                                                              \
	"00000001 00000002 00000040 0000000a 00000000 00000000 "                                   \
	"00000001 00000001 00000001 00000010 0000000000000000 00000000 00000000 00000001"
	static const struct {
		enum rpc_reverse level;
		const char *call, *report;
	} cases[] = {
		{RPC_REV_NONE, CALL_1, "00000001 00000002 00000000 00000004 00000064"},
		/* 4.6.4: chunks draw an error of section 7.3 */
		{RPC_REV_NONE, REVERSE_READ,
		 "00000001 00000002 00000000 00000004 00000006 00000000"},
		{RPC_REV_NONE, REVERSE_WRITE,
		 "00000001 00000002 00000000 00000004 0000000a 00000000"},
		{RPC_REV_SIMPLE, CALL_1, NULL},
		{RPC_REV_SIMPLE, PART_5A, INVAL_CONT("00000005")},
		{RPC_REV_SIMPLE, REVERSE_READ,
		 "00000001 00000002 00000000 00000004 00000006 00000000"},
		{RPC_REV_SIMPLE, REVERSE_WRITE,
		 "00000001 00000002 00000000 00000004 0000000a 00000000"},
		{RPC_REV_CONT, CALL_1, NULL},
		{RPC_REV_CONT, PART_5A, NULL},
		{RPC_REV_CONT, REVERSE_READ,
		 "00000001 00000002 00000000 00000004 00000006 00000000"},
		{RPC_REV_CONT, REVERSE_WRITE,
		 "00000001 00000002 00000000 00000004 00000007 00000000"},
		{RPC_REV_GENL, REVERSE_READ, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpc_params own = conn_params(RPC_INITIATOR);

		own.reverse = cases[i].level;
		conn_open_as(&own, PEER_FINAL);
		assert_int_equal(conn_feed(cases[i].call), 0);
		if (cases[i].report) {
			assert_int_equal(rx.kind, RPC_RX_NONE);
			expect_out(cases[i].report);
		} else {
			assert_int_not_equal(rx.kind, RPC_RX_NONE);
		}
		expect_silence();
	}
}

/* A peer that sends more than it was ever granted is cut off. */
static void overrun(void **state)
{
	int err = 0;
	unsigned taken = 0;

	(void)state;
	conn_open(RPC_ACCEPTOR); /* its properties said: one received, 32 more */
	while (!err && taken < 100) {
		err = conn_feed(CALL_1);
		taken += err == 0;
	}
	assert_int_equal(err, ERR_CREDIT);
	assert_int_equal(taken, 33); /* and one more, for 4.2.1 can be read so */
	assert_int_equal(conn_feed(CALL_1), ERR_PROTO);
	expect_silence();

	conn_open(RPC_ACCEPTOR);
	for (taken = 0; taken < 32; taken++)
		expect(CALL_1, RPC_RX_MSG);
	expect(GRANT, RPC_RX_NONE);
	assert_int_equal(conn_feed(GRANT), ERR_CREDIT);
}

static int arrive(const char *hex)
{
	uint8_t buf[GOLDEN_MAX];

	return conn.t.ops->arrive(&conn.t, view_of(buf, unhex(hex, buf)));
}

/* A message that has to wait for recv() counts when it comes, and once. */
static void credits_count_on_arrival(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	assert_int_equal(arrive("00000001 00000002 00000050 0000000a"), 0);
	assert_int_equal(conn.credit.received, 2);
	assert_int_equal(conn.credit.limit, 0x50);
	assert_int_equal(arrive("00000000 00000002 00000051 00000005"), 1);
	assert_int_equal(arrive("00"), 0);
	assert_int_equal(arrive("00000001 00000001 00000009 00000000"), 0);
	assert_int_equal(conn.credit.received, 5);
	assert_int_equal(conn.credit.limit, 0x51);
	expect("00000000 00000002 00000051 00000005", RPC_RX_NONE); /* before the others */
	expect(CALL_1, RPC_RX_MSG);
	expect("00", RPC_RX_NONE);
	expect("00000001 00000001 00000009 00000000", RPC_RX_NONE);
	assert_int_equal(conn.credit.received, 5);
	expect(CALL_1, RPC_RX_MSG);
	assert_int_equal(conn.credit.received, 6);
	/* A message beyond the grant does not become valid by waiting. */
	for (int i = 0; i < 28; i++)
		assert_int_equal(arrive(CALL_1), 0);
	assert_int_equal(arrive(CALL_1), ERR_CREDIT);
	assert_int_equal(arrive(CALL_1), ERR_PROTO);
	assert_int_equal(conn_feed(CALL_1), ERR_PROTO);
}

/* Reports wait for credit, in a ring. Its user gives the connection no message without room in it. */
static void reports_wait_for_credit(void **state)
{
	static const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};

	(void)state;
	conn_open(RPC_ACCEPTOR);
	/* The peer takes its credits back: we have sent one. */
	expect("00000000 00000002 00000001 00000005", RPC_RX_NONE);
	expect("00000001 00000002 00000001 0000000e", RPC_RX_NONE);
	assert_int_equal(conn.t.ops->report(&conn.t, 3, RPC_CALL, &system), 0);
	expect_silence();
	expect(GRANT, RPC_RX_NONE);
	expect_out("00000001 00000002 00000000 00000004 00000004");
	expect_out("00000003 00000002 00000000 00000004 00000064");
	expect_silence();

	conn_open(RPC_ACCEPTOR);
	conn_grant(1);
	for (unsigned i = 0; i < RPC_REPORTS; i++) {
		assert_int_equal(rpc_has_report_room(&conn.t),
				 i + RPC_REPORTS_OF_ONE <= RPC_REPORTS);
		assert_int_equal(conn.t.ops->report(&conn.t, i, RPC_CALL, &system), 0);
	}
	assert_false(rpc_has_report_room(&conn.t));
	assert_int_equal(conn.t.ops->report(&conn.t, 99, RPC_CALL, &system), ERR_NOSPACE);
	assert_int_equal(conn_feed("00000001 00000002 00000001 0000000e"), ERR_PROTO);
}

/* Section 4.2.1.1: a GRANT goes out before half the window is used, if no other message carried the
 * credit. */
static void grants(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	for (int i = 0; i < 15; i++)
		expect(CALL_1, RPC_RX_MSG);
	expect_silence();
	expect(CALL_1, RPC_RX_MSG);
	/* 17 received, 32 advertised; byte for byte but the value, which is looked at here. */
	{
		uint8_t got[16];

		assert_int_equal(conn.t.ops->control(&conn.t, got, 15), ERR_NOSPACE);
		assert_int_equal(conn.t.ops->control(&conn.t, got, 16), 16);
		assert_int_equal(xdr_peek_u32(got), 0);
		assert_int_equal(xdr_peek_u32(got + 4), 2);
		assert_int_equal(xdr_peek_u32(got + 8), 49);
		assert_int_equal(xdr_peek_u32(got + 12), V2_GRANT);
	}
	expect_silence();
	assert_int_equal(conn.t.count.grants_sent, 1);
	conn.t.ops->set_credits(&conn.t, 128);
	expect_out("00000000 00000002 00000000 00000005");
	expect_silence();
	conn.t.ops->set_credits(&conn.t, 0);
	expect_silence();
	conn.t.ops->forget(&conn.t, 1);
	/* Section 4.2.1: less than 2^31 - 1, so that values ahead and behind can be
	 * distinguished. */
	conn.t.ops->set_credits(&conn.t, UINT32_MAX);
	assert_int_equal(conn.credit.advertised, 0x7ffffffe);
	conn.t.ops->set_credits(&conn.t, 0x7fffffff);
	assert_int_equal(conn.credit.advertised, 0x7ffffffe);
}

/*
 * Protocol decision 35: the last credit is for what the peer waits for, which tells it the credits
 * as well; a peer that advertises one or two may open the window again with its next Call only.
 */
static void owe_a_reply(void)
{
	conn_open(RPC_ACCEPTOR);
	conn.t.ops->set_credits(&conn.t, 64); /* worth a GRANT */
	expect("00000001 00000002 00000002 0000000a 00000000 00000000 00000000 00000000 00000001",
	       RPC_RX_MSG);
	assert_true(v2_credit_grant_due(&conn.credit));
	assert_true(v2_credit_is_last(&conn.credit));
	expect_silence();
}

/* The peer uses its credits but for @left, and advertises @limit. */
static void peer_uses_credits(uint32_t left, uint32_t limit)
{
	while (conn.credit.granted - conn.credit.received > left)
		conn_grant(limit);
}

static void the_last_credit_is_for_the_reply(void **state)
{
	(void)state;
	/* The peer has no credit left, but the Reply to come will bring some ... */
	owe_a_reply();
	peer_uses_credits(0, 2);
	expect_silence();
	/* ... unless it is in the middle of a message, and has used its last credit for that ... */
	owe_a_reply();
	peer_uses_credits(2, 2);
	expect_silence();
	expect("00000005 00000002 00000002 00000009 0000000c 00000005 00000000", RPC_RX_PART);
	expect_silence();
	expect("00000005 00000002 00000002 00000009 00000004 11111111 22222222", RPC_RX_PART);
	expect_out("00000000 00000002 00000000 00000005");
	expect_silence();
	/* ... or no Reply is owed ... */
	expect("00000005 00000002 00000003 0000000a 00000000 00000000 00000000 00000000 33333333",
	       RPC_RX_MSG);
	conn.t.ops->set_credits(&conn.t, 256);
	peer_uses_credits(0, 3);
	expect_silence();
	conn.t.ops->unanswered(&conn.t);
	expect_silence();
	conn.t.ops->unanswered(&conn.t); /* none of both Calls gets one */
	expect_out("00000000 00000002 00000000 00000005");
	/* ... or the peer has Replies to send, on which the Reply to come may depend. */
	owe_a_reply();
	peer_uses_credits(0, 2);
	expect_silence();
	conn.t.needs_replies = true;
	expect_out("00000000 00000002 00000000 00000005");
}

/* Section 6.3.2: whatever stands there, be it the XID of a message that is being given up. */
static void xid_of_a_grant_is_ignored(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	expect(PART_5A, RPC_RX_PART);
	expect("00000005 00000002 00000041 00000005", RPC_RX_NONE);
	assert_int_equal(conn.credit.limit, 0x41);
	expect("ffffffff 00000002 00000042 00000005", RPC_RX_NONE);
	expect(PART_5B, RPC_RX_PART);
	expect(CALL_1, RPC_RX_NONE); /* breaks it: what comes yet of 5 is dropped */
	expect_out(INVAL_CONT("00000001"));
	expect_out(INVAL_CONT("00000005"));
	expect("00000005 00000002 00000043 00000005", RPC_RX_NONE);
	assert_int_equal(conn.credit.limit, 0x43);
	assert_int_equal(conn.t.count.grants_received, 3);
	expect(PART_5C, RPC_RX_NONE);
	assert_int_equal(conn.t.count.dropped, 1);
	expect_silence();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_short),
		cmocka_unit_test(malformed_calls_are_answered),
		cmocka_unit_test(malformed_replies_fail_the_call),
		cmocka_unit_test(errors_received),
		cmocka_unit_test(errors_cut_short_fail_the_call),
		cmocka_unit_test(a_reply_marked_call_fails_its_call),
		cmocka_unit_test(a_version_refused_is_spoken_no_more),
		cmocka_unit_test(continued_call),
		cmocka_unit_test(continued_call_interrupted),
		cmocka_unit_test(continued_call_interleaved),
		cmocka_unit_test(a_fresh_call_is_no_late_part),
		cmocka_unit_test(continued_call_that_lies),
		cmocka_unit_test(continued_call_malformed),
		cmocka_unit_test(continued_reply_interrupted),
		cmocka_unit_test(an_intruding_reply_fails_its_call),
		cmocka_unit_test(reverse_calls_beyond_what_was_announced),
		cmocka_unit_test(overrun),
		cmocka_unit_test(credits_count_on_arrival),
		cmocka_unit_test(reports_wait_for_credit),
		cmocka_unit_test(grants),
		cmocka_unit_test(the_last_credit_is_for_the_reply),
		cmocka_unit_test(xid_of_a_grant_is_ignored),
	};
	return cmocka_run_group_tests_name("v2 conn", tests, NULL, NULL);
}
