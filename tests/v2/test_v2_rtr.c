/* SPDX-License-Identifier: BSD-2-Clause */
/* The round-trip extension over version 2: calls with their data, and what is said of wrong ones. Sections
 * are those of docs/rtrext-profile.md. */
#include "tests/v2/conn_util.h"

#include "v2/rtr.h"

enum { RECV = 4096, BULK = 8192 };

static uint8_t bulk[BULK];

static void rtr_start(uint32_t bulk_bytes)
{
	struct rpc_params own = conn_params(RPC_ACCEPTOR);

	own.bulk_bytes = bulk_bytes;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
	expect(PEER_FINAL, RPC_RX_READY);
}

/* The message that begins as @hex says, zeros behind, of so many octets in the second piece. */
static int feed(const char *hex, uint32_t behind)
{
	static uint8_t first[RECV];
	uint8_t *exact = first;
	size_t len;

	memset(first, 0, sizeof(first));
	len = unhex(hex, first);
	if (!behind) { /* it ends where the message ends */
		memmove(first + RECV - len, first, len);
		exact = first + RECV - len;
	}
	conn.t.behind = view_of(bulk, behind);
	return conn.t.ops->recv(&conn.t, view_of(exact, behind ? RECV : len), &rx);
}

#define REQUEST "00000005 00000002 00000040 52540005 "
#define REPORT "00000005 00000002 00000000 52540008 00000005 00000000 00000000 00000000 "
#define ERROR "00000005 00000002 00000000 00000004 "
/* One item, of so much, from there, in these segments; and what follows the items. */
#define ITEM(position, length, offset, n, numbers)                                                 \
	"00000001 " position " " length " 00000002 " offset " " n " " numbers " "
#define GROUP(count, payload) "00000000 " count " 00000001 " payload " "
#define BODY "00000005 00000000"
#define GOOD GROUP("00000001", "00000008") BODY

static void what_an_end_says_of_itself(void **state)
{
	static const char props[] =
		"00000abc 00000002 00000000 00000007 00000008 "
		"00000001 00000004 00001000 00000002 00000004 00001000 "
		"00000003 00000004 00100000 00000004 00000004 00000010 "
		"00000005 00000004 00000003 "
		"52540003 00000004 00000001 "
		"52540004 00000028 00003000 00000002 "
		"00000001 00001000 00000001 00000000 00000001 00002000 00001000 00000001 "
		"52540006 00000004 00000000";

	(void)state;
	rtr_start(BULK);
	expect_out(props);
	expect_silence();
	/* And nothing of it where it is off. */
	rtr_start(0);
	expect_props();
	assert_int_equal(feed(REQUEST GOOD, 0), 0);
	expect_out(ERROR "00000004");
}

static void a_call_with_its_data(void **state)
{
	const struct rpc_msg *m = conn.t.own.msg;

	(void)state;
	rtr_start(BULK);
	expect_props();
	m = conn.t.own.msg;
	for (unsigned again = 0; again < 2; again++) {
		static const char hex[] = REQUEST ITEM("00000040", "00001001", "00000000",
						       "00000001", "00000000") GOOD;

		if (!again)
			assert_int_equal(feed(hex, 0x1001), 0);
		else
			conn.t.ops->again(&conn.t, view_of(m->body[0].data - 60, RECV));
		assert_int_equal(rx.kind, RPC_RX_MSG);
		assert_int_equal(m->dir, RPC_CALL);
		assert_int_equal(m->body[0].len, 8);
		assert_int_equal(m->nreads, 1);
		assert_int_equal(m->reads[0].position, 0x40);
		assert_int_equal(m->reads[0].length, 0x1001);
		assert_ptr_equal(rpc_msg_placed(m, &m->reads[0]), bulk);
		assert_int_equal(m->nsegs + m->nwrites + m->has_reply + m->has_body_chunk, 0);
	}
	expect_silence();
}

static void from_an_offset_to_the_last_octet(void **state)
{
	const struct rpc_msg *m;

	(void)state;
	rtr_start(BULK);
	expect_props();
	assert_int_equal(
		feed(REQUEST ITEM("00000040", "00001ff8", "00000008", "00000001", "00000000") GOOD,
		     BULK),
		0);
	m = conn.t.own.msg;
	assert_ptr_equal(rpc_msg_placed(m, &m->reads[0]), bulk + 8);
	expect_silence();
}

static void an_item_to_be_read(void **state)
{
	const struct rpc_msg *m;

	(void)state;
	rtr_start(BULK);
	expect_props();
	assert_int_equal(feed(REQUEST "00000001 00000040 00000014 00000001 00000002 "
				      "0000aa01 00000010 00000000 00000000 0000aa02 00000010 "
				      "00000001 00000002 " GOOD,
			      0),
			 0);
	m = conn.t.own.msg;
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_null(rpc_msg_placed(m, &m->reads[0]));
	assert_int_equal(m->reads[0].count, 2);
	assert_int_equal(m->reads[0].length, 0x14);
	assert_int_equal(m->segs[1].handle, 0xaa02);
	assert_int_equal(m->segs[1].length, 4);
	expect_silence();
}

static void each_thing_that_can_be_wrong(void **state)
{
	static const struct {
		const char *hex;
		uint32_t behind;
		const char *answer;
	} cases[] = {
		/* Section 5: another segment, one more, none; longer than it, than the message. */
		{ITEM("00000040", "00000004", "00000000", "00000001", "00000001") GOOD, 4,
		 REPORT "00000007 00000001 00000000 00000000"},
		{ITEM("00000040", "00000004", "00000000", "00000001", "ffffffff") GOOD, 4,
		 REPORT "00000007 ffffffff 00000000 00000000"},
		{ITEM("00000040", "00000004", "00000000", "00000002", "00000000 00000001") GOOD, 4,
		 REPORT "00000007 00000001 00000001 00000000"},
		{ITEM("00000040", "00000004", "00000000", "00000002", "00000000 00000000") GOOD, 4,
		 REPORT "00000007 00000000 00000001 00000000"},
		{ITEM("00000040", "00000004", "00000000", "00000000", "") GOOD, 4,
		 ERROR "00000002"},
		{ITEM("00000040", "00000000", "00000000", "00000001", "00000000") GOOD, 4,
		 REPORT "00000007 00000000 00000000 00000000"},
		{ITEM("00000040", "00002001", "00000000", "00000001", "00000000") GOOD, BULK,
		 REPORT "00000007 00000000 00000001 ffffffff"},
		{ITEM("00000040", "ffffffff", "00000000", "00000001", "00000000") GOOD, BULK,
		 REPORT "00000007 00000000 00000001 ffffffff"},
		{ITEM("00000040", "00000005", "00000000", "00000001", "00000000") GOOD, 4,
		 REPORT "00000007 00000000 00000000 00000000"},
		{ITEM("00000040", "00000004", "00000000", "00000001", "00000000") GOOD, 0,
		 REPORT "00000007 00000000 00000000 00000000"},
		/* Its offset. */
		{ITEM("00000040", "00000004", "00000002", "00000001", "00000000") GOOD, 8,
		 REPORT "00000006 00000002 00000000 00001ffc"},
		{ITEM("00000040", "00000004", "00002000", "00000001", "00000000") GOOD, BULK,
		 REPORT "00000006 00002000 00000000 00001ffc"},
		{ITEM("00000040", "00000004", "fffffffc", "00000001", "00000000") GOOD, BULK,
		 REPORT "00000006 fffffffc 00000000 00001ffc"},
		{ITEM("00000040", "00000008", "00001ffc", "00000001", "00000000") GOOD, BULK,
		 REPORT "00000007 00000000 00000001 ffffffff"},
		/* Positions. */
		{ITEM("00000000", "00000004", "00000000", "00000001", "00000000") GOOD, 4,
		 ERROR "00000002"},
		{ITEM("00000042", "00000004", "00000000", "00000001", "00000000") GOOD, 4,
		 ERROR "00000002"},
		{"00000002 00000040 00000010 00000001 00000001 0000aa01 00000010 00000000 00000000 "
		 "0000004c 00000004 00000001 00000001 0000aa02 00000004 00000000 00000000 " GOOD,
		 0, ERROR "00000002"},
		/* Types: 1 without room, 3 to 6, none. */
		{"00000001 00000040 00000014 00000001 00000001 0000aa01 00000010 00000000 "
		 "00000000 " GOOD,
		 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000001 00000000 " GOOD, 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000003 " GOOD, 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000004 " GOOD, 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000005 " GOOD, 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000006 " GOOD, 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000000 " GOOD, 0, ERROR "00000002"},
		/* Counts that lie. */
		{"ffffffff " GOOD, 0, ERROR "00000002"},
		{"00000021 " GOOD, RECV, ERROR "00000002"},
		{ITEM("00000040", "00000004", "00000000", "ffffffff", "00000000") GOOD, 4,
		 ERROR "00000002"},
		{"00000000 ffffffff " GOOD, 0, ERROR "00000002"},
		/* Section 4: the group. */
		{"00000000 " GROUP("00000000", "00000008") BODY, 0, ERROR "00000002"},
		{"00000000 " GROUP("00000002", "00000008") BODY, 0,
		 REPORT "00000004 00000001 00000002"},
		{"00000000 " GROUP("ffffffff", "00000008") BODY, 0,
		 REPORT "00000004 00000001 ffffffff"},
		/* The payload stream. */
		{"00000000 " GROUP("00000001", "0000000c") BODY, 0,
		 REPORT "00000008 0000000c 00000000 00000008"},
		{"00000000 " GROUP("00000001", "ffffffff") BODY, 0,
		 REPORT "00000008 ffffffff 00000000 00000008"},
		{"00000000 " GROUP("00000001", "00000fdd") BODY, BULK,
		 REPORT "00000008 00000fdd 00000000 00000fdc"},
		{"00000000 " GROUP("00000001", "00000000") BODY, 0, ERROR "00000002"},
		{"00000000 " GROUP("00000001", "00000003") BODY, 0, ERROR "00000002"},
		{"00000000 " GROUP("00000001", "00000008") "00000006 00000000", 0,
		 ERROR "00000002"},
		/* Cut. */
		{"", 0, ERROR "00000002"},
		{"00000000", 0, ERROR "00000002"},
		{"00000000 00000000 00000001 00000001", 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000002 00000000 00000001", 0, ERROR "00000002"},
		/* Sections 2 and 6: directions are not taken here. */
		{"00000000 00000001 00000040 00000080 00000001 00000200 00000002 00000001 00000001 "
		 "00000008 " BODY,
		 0, ERROR "00000007 00000000"},
		{"00000000 00000001 00000040 00000040 00000000 00000001 00000001 00000008 " BODY, 0,
		 ERROR "00000002"},
	};

	(void)state;
	rtr_start(BULK);
	expect_props();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char hex[1024];

		snprintf(hex, sizeof(hex), REQUEST "%s", cases[i].hex);
		assert_int_equal(feed(hex, cases[i].behind), 0);
		assert_int_equal(rx.kind, RPC_RX_NONE);
		expect_out(cases[i].answer);
		expect_silence();
		/* And the next one is served. */
		conn.t.behind = view_of(NULL, 0);
		expect(CALL_1, RPC_RX_MSG);
	}
}

static void other_messages_of_it(void **state)
{
	(void)state;
	rtr_start(BULK);
	expect_props();
	/* A response was not asked for; nothing is to be continued; nothing was sent to report about. */
	assert_int_equal(feed("00000005 00000002 00000040 52540006 00000000 00000001 00000000", 0),
			 0);
	expect_out(ERROR "00000004");
	assert_int_equal(feed("00000005 00000002 00000040 52540007 00000003 52540005 00000000", 0),
			 0);
	expect_out(
		"00000005 00000002 00000000 52540008 00000005 00000000 00000003 00000000 00000003");
	assert_int_equal(
		feed("00000005 00000002 00000040 52540008 00000005 00000000 00000000 00000000 "
		     "00000003",
		     0),
		0);
	expect_out(ERROR "00000004");
	/* What is so long is no message of another kind. */
	assert_int_equal(feed(CALL_1, 4), ERR_PROTO);
}

#define RTR_PROPS(structure)                                                                       \
	"00000077 00000002 00000040 00000007 00000002 52540003 00000004 00000001 "                 \
	"52540004 " structure
#define TWO "00000028 00003000 00000002 "
#define SEGMENTS "00000001 00001000 00000001 00000000 00000001 00002000 00001000 00000001"

static void bad_structures(void **state)
{
	static const char *const cases[] = {
		RTR_PROPS("00000028 00003001 00000002 " SEGMENTS),
		RTR_PROPS("00000028 00003000 00000001 " SEGMENTS),
		RTR_PROPS("00000028 00003000 ffffffff " SEGMENTS),
		RTR_PROPS("00000004 00003000"),
		RTR_PROPS(
			TWO
			"00000000 00001000 00000001 00000000 00000001 00002000 00001000 00000001"),
		RTR_PROPS(
			TWO
			"00000001 00000000 00000001 00000000 00000001 00003000 00001000 00000001"),
		RTR_PROPS(
			TWO
			"00000001 00001000 00000003 00000000 00000001 00002000 00001000 00000001"),
		RTR_PROPS(
			TWO
			"10000001 00001000 00000001 00000000 00000001 00002000 00001000 00000001"),
		"00000077 00000002 00000040 00000007 00000001 52540003 00000008 00000001 00000000",
		"00000077 00000002 00000040 00000007 00000001 52540005 00000003 00000100",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn_start(RPC_ACCEPTOR);
		assert_int_equal(conn_feed(cases[i]), 0);
		expect_props();
		expect_out("00000077 00000002 00000000 00000004 00000003");
		assert_int_equal(conn.rtr.structure.targets, 0);
	}
}

/* An initiator, toward an end with Receives of 4 KiB and 8 KiB. */
static void talk_to(const char *props)
{
	conn_start(RPC_INITIATOR);
	expect_props();
	expect(props, RPC_RX_READY);
}

static struct rpc_msg call;
static uint8_t call_body[RECV];

static void form(uint32_t body, uint32_t item)
{
	rpc_msg_reset(&call, 5, RPC_CALL);
	call_body[3] = 5;
	call.body[0] = view_of(call_body, body);
	call.nbody = 1;
	call.reads[0] = (struct rpc_chunk){.position = 0x40, .length = item};
	call.nreads = call.nplaced = 1;
	call.placed[0] = bulk;
}

static bool places(uint32_t body, uint32_t item)
{
	form(body, item);
	return conn.t.ops->places(&conn.t, &call);
}

static void send_placed(void)
{
	struct rpc_tx tx = {.msg = &call};
	uint8_t hdr[RECV];
	size_t hdr_len, body_len;

	form(8, 8);
	assert_true(conn.t.ops->may_send(&conn.t, &tx));
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(hdr_len, 60);
	assert_int_equal(body_len, 8);
	assert_int_equal(tx.gap[0], RECV - 60 - 8);
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_RTR_REQUEST);
}

static void what_is_placed_and_what_is_not(void **state)
{
	(void)state;
	talk_to(RTR_PROPS(TWO SEGMENTS));
	assert_true(places(8, 1));
	assert_true(places(8, BULK));
	assert_false(places(8, BULK + 1));
	assert_true(places(RECV - 60, BULK));
	assert_false(places(RECV - 59, 8));
	form(8, 8);
	call.nwrites = 1;
	assert_false(conn.t.ops->places(&conn.t, &call));
	form(8, 8);
	call.has_reply = true;
	assert_false(conn.t.ops->places(&conn.t, &call));
	form(8, 8);
	call.reads[1] = (struct rpc_chunk){.position = 0x50, .length = 4, .first = 1};
	call.placed[1] = bulk;
	call.nreads = call.nplaced = 2;
	assert_false(conn.t.ops->places(&conn.t, &call));
	send_placed();
	/* Toward one that has segments, but does not say that it takes requests; or the other way round. */
	talk_to("00000077 00000002 00000040 00000007 00000002 52540003 00000004 00000006 "
		"52540004 " TWO SEGMENTS);
	assert_false(places(8, 8));
	talk_to("00000077 00000002 00000040 00000007 00000001 52540003 00000004 00000001");
	assert_false(places(8, 8));
	/* Sixteen segments of 1 KiB, where the stream fills some; the first part longer than zeros here. */
	talk_to(RTR_PROPS("00000028 00004800 00000002 00000001 00000800 00000001 00000000 00000010 "
			  "00000400 00000400 00000001"));
	assert_true(places(8, 0x4000));
	assert_false(places(8, 0x4001));
	assert_true(places(0x900, 0x3800));
	assert_false(places(0x900, 0x3c01));
	form(8, 0x400);
	call.reads[1] = (struct rpc_chunk){.position = 0x1000, .length = 0x3c00, .first = 1};
	call.placed[1] = bulk;
	call.nreads = call.nplaced = 2;
	assert_true(conn.t.ops->places(&conn.t, &call));
	talk_to(RTR_PROPS("00000028 00012000 00000002 00000001 00010000 00000001 00000000 00000001 "
			  "00002000 00001000 00000001"));
	assert_false(places(8, 8));
}

static void a_request_that_is_refused(void **state)
{
	static const char *const answers[] = {
		"00000005 00000002 00000040 52540008 00000005 00000000 00000000 00000000 00000003",
		("00000005 00000002 00000040 52540008 00000005 00000000 00000000 00000001 00000005 "
		 "00000000 00000000 00000007 00000000 00000000 00000000"),
		"00000005 00000002 00000040 00000004 00000004",
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		talk_to(RTR_PROPS(TWO SEGMENTS));
		send_placed();
		expect(answers[i], RPC_RX_ERROR);
		assert_int_equal(rx.xid, 5);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		assert_int_equal(rx.error.code, RPC_ERROR_INVAL_HTYPE);
		assert_false(places(8, 8));
	}
	/* One that is cut, or of no code that there is, is no reason for another. */
	talk_to(RTR_PROPS(TWO SEGMENTS));
	send_placed();
	expect("00000005 00000002 00000040 52540008 00000005 00000000", RPC_RX_NONE);
	expect("00000005 00000002 00000040 52540008 00000005 00000000 00000000 00000000 00000009",
	       RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_end_says_of_itself),
		cmocka_unit_test(a_call_with_its_data),
		cmocka_unit_test(from_an_offset_to_the_last_octet),
		cmocka_unit_test(an_item_to_be_read),
		cmocka_unit_test(each_thing_that_can_be_wrong),
		cmocka_unit_test(other_messages_of_it),
		cmocka_unit_test(bad_structures),
		cmocka_unit_test(what_is_placed_and_what_is_not),
		cmocka_unit_test(a_request_that_is_refused),
	};

	return cmocka_run_group_tests_name("v2 rtr", tests, NULL, NULL);
}
