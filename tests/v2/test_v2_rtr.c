/* SPDX-License-Identifier: BSD-2-Clause */
/* The round-trip extension over version 2: calls with their data, and reports about invalid ones.
 * Sections are those of docs/rtrext-profile.md. */
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
	conn.t.bulk = view_of(bulk, behind);
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
/* Directions for what comes of all of the request; and what follows them. */
#define RANGE "00000001 00000000 ffffffff "
#define TAIL "00000001 00000001 00000008 " BODY

static void what_an_end_says_of_itself(void **state)
{
	static const char props[] =
		"00000abc 00000002 00000000 00000007 00000008 "
		"00000001 00000004 00001000 00000002 00000004 00001000 "
		"00000003 00000004 00100000 00000004 00000004 00000010 "
		"00000005 00000004 00000003 "
		"52540003 00000004 00000003 "
		"52540004 00000028 00003000 00000002 "
		"00000001 00001000 00000001 00000000 00000001 00002000 00001000 00000001 "
		"52540006 00000004 00000001";

	(void)state;
	rtr_start(BULK);
	expect_out(props);
	expect_silence();
	/* No such property if the extension is off. */
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
			conn.t.ops->again(&conn.t, view_of(m->body[0].data - 60, RECV),
					  view_of(NULL, 0));
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
		/* The item's offset. */
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
		{"00000000 " GROUP("00000001", "00000003"), 0, ERROR "00000002"},
		{"00000000 " GROUP("00000001", "00000008") "00000006 00000000", 0,
		 ERROR "00000002"},
		/* Cut. */
		{"", 0, ERROR "00000002"},
		{"00000000", 0, ERROR "00000002"},
		{"00000000 00000000 00000001 00000001", 0, ERROR "00000002"},
		{"00000001 00000040 00000004 00000002 00000000 00000001", 0, ERROR "00000002"},
		/* Section 6: an empty range, one before another, no segments, no such way, too many. */
		{"00000000 00000001 00000040 00000040 00000000 00000001 00000001 00000008 " BODY, 0,
		 ERROR "00000002"},
		{"00000000 00000002 00000040 00000080 00000000 0000007c 00000080 00000000 00000001 "
		 "00000001 00000008 " BODY,
		 0, ERROR "00000002"},
		{"00000000 " RANGE "00000001 00000000 00000001 00000000 " TAIL, 0,
		 ERROR "00000002"},
		{"00000000 " RANGE "00000001 00000000 00000003 00000000 " TAIL, 0,
		 ERROR "00000002"},
		{"00000000 " RANGE "00000001 00000000 00000005 " TAIL, 0, ERROR "00000002"},
		{"00000000 " RANGE "00000001 00000000 00000006 " TAIL, 0, ERROR "00000002"},
		{"00000000 " RANGE "00000005 00000000 00000002 00000000 00000002 00000000 00000002 "
		 "00000000 00000002 00000000 00000002 " TAIL,
		 0, ERROR "00000007 00000004"},
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
		/* The next message is served. */
		conn.t.bulk = view_of(NULL, 0);
		expect(CALL_1, RPC_RX_MSG);
	}
}

static void other_messages_of_it(void **state)
{
	(void)state;
	rtr_start(BULK);
	expect_props();
	/* Nothing is to be continued; nothing was sent to report about. */
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
	/* A message of that length cannot be of another kind. */
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
		struct rpc_params own = conn_params(RPC_ACCEPTOR);

		own.bulk_bytes = BULK;
		assert_int_equal(v2_conn_init(&conn, &own), 0);
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
	call.reads[0] = (struct rpc_chunk){.position = 0x40};
	call.nreads = 1;
	assert_int_equal(rpc_msg_place(&call, &call.reads[0], view_of(bulk, item)), 0);
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
	assert_int_equal(tx.data[0].gap, RECV - 60 - 8);
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_RTR_REQUEST);
}

/* Decision 126. */
static void a_structure_is_no_buffer_size(void **state)
{
	(void)state;
	talk_to(RTR_PROPS(TWO SEGMENTS));
	assert_int_equal(conn.rtr.structure.bytes, 0x3000);
	assert_int_equal(conn.t.peer.send_bytes, 0x1000);
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
	call.reads[1] = (struct rpc_chunk){.position = 0x50};
	call.nreads = 2;
	assert_int_equal(rpc_msg_place(&call, &call.reads[1], view_of(bulk, 4)), 0);
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
	call.reads[1] = (struct rpc_chunk){.position = 0x1000};
	call.nreads = 2;
	assert_int_equal(rpc_msg_place(&call, &call.reads[1], view_of(bulk, 0x3c00)), 0);
	assert_true(conn.t.ops->places(&conn.t, &call));
	talk_to(RTR_PROPS("00000028 00012000 00000002 00000001 00010000 00000001 00000000 00000001 "
			  "00002000 00001000 00000001"));
	assert_false(places(8, 8));
}

/* Receives of one segment, and a targetable one of 1 KiB behind it. */
#define BEHIND(all, first)                                                                         \
	"00000028 " all " 00000002 00000001 " first " 00000001 00000000 "                          \
	"00000001 00000400 00000001 00000001"

/* Zeros before an item go out of what the header leaves of its buffer: five pieces of it, or there are too many. The number
 * of octets that are to be zero may be next to 2^32. */
static void a_gap_is_as_long_as_there_are_zeros(void **state)
{
	(void)state;
	talk_to(RTR_PROPS(BEHIND("00005318", "00004f18"))); /* 60 + 8 + 5 * (RECV - 60) */
	assert_true(places(8, 8));
	talk_to(RTR_PROPS(BEHIND("00005319", "00004f19")));
	assert_false(places(8, 8));
	talk_to(RTR_PROPS(BEHIND("ffffffff", "fffffbff")));
	assert_false(places(120, 0x400));
}

#define ERROR_IN "00000005 00000002 00000040 00000004 "

#define REPORT_ABOUT(xid)                                                                          \
	xid " 00000002 00000040 52540008 " xid " 00000000 00000000 00000000 00000003"

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
	/* About what is no request of this end's it says nothing. */
	talk_to(RTR_PROPS(TWO SEGMENTS));
	send_placed();
	expect(REPORT_ABOUT("00000006"), RPC_RX_NONE);
	assert_true(places(8, 8));
	assert_int_equal(conn.t.count.dropped, 1);
	expect_silence();
	/* The same call is not sent again with data to a peer that refused the first one: for its
	 * XDR, chunks, segments, or as continued. */
	static const char *const forms[] = {"00000002", "00000005", "00000006 00000001",
					    "00000007 00000000", "00000008 00000010"};

	for (unsigned i = 0; i < 5; i++) {
		char hex[128];

		talk_to(RTR_PROPS(TWO SEGMENTS));
		send_placed();
		snprintf(hex, sizeof(hex), ERROR_IN "%s", forms[i]);
		expect(hex, RPC_RX_ERROR);
		assert_false(places(8, 8));
	}
	/* An executed call had no wrong form. A report that is cut, or has no known code, is no
	 * reason for another form. */
	talk_to(RTR_PROPS(TWO SEGMENTS));
	send_placed();
	expect(ERROR_IN "00000009 00000001 00000010", RPC_RX_ERROR);
	assert_true(places(8, 8));
	send_placed();
	expect("00000005 00000002 00000040 52540008 00000005 00000000", RPC_RX_NONE);
	expect("00000005 00000002 00000040 52540008 00000005 00000000 00000000 00000000 00000009",
	       RPC_RX_NONE);
	expect_silence();
	assert_int_equal(conn.t.count.dropped, 2);
}

/* --- responses --- */

/* Section 6: of a peer whose Receives have 4 KiB, then @targets. */
static void a_call_with_wishes(void **state)
{
	const struct rpc_msg *m;

	(void)state;
	rtr_start(BULK);
	expect_props();
	assert_int_equal(feed(REQUEST
			      "00000000 00000002 00000000 00000040 00000003 00000000 00000002 "
			      "00000007 00000003 00000001 0000aa01 00000100 00000000 00000000 "
			      "00000000 00000004 00000050 00000002 0000aa02 00000080 00000000 "
			      "00000000 0000aa03 00000040 00000000 00000010 "
			      "00000040 ffffffff 00000001 00000000 00000001 00000001 0000aa04 "
			      "00000010 00000000 00000000 " TAIL,
			      0),
			 0);
	m = conn.t.own.msg;
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(m->nwishes, 4);
	assert_int_equal(m->nwrites, 4);
	assert_int_equal(m->wishes[0].way, RPC_BY_SEND);
	assert_int_equal(m->writes[0].count, 0);
	assert_int_equal(m->writes[0].length, 0); /* it said nothing of its Receives */
	assert_int_equal(m->wishes[1].way, RPC_BY_EITHER);
	assert_int_equal(m->wishes[1].least, 7);
	assert_int_equal(m->writes[1].length, 0x100);
	assert_int_equal(m->wishes[2].way, RPC_BY_SIZE);
	assert_int_equal(m->wishes[2].most, 0x50);
	assert_int_equal(m->writes[2].length, 0xc0);
	assert_int_equal(m->writes[2].count, 2);
	assert_int_equal(m->wishes[2].end, 0x40);
	assert_int_equal(m->wishes[3].way, RPC_BY_WRITE);
	assert_int_equal(m->wishes[3].begin, 0x40);
	expect_silence();
}

static struct rpc_msg answer;

/* A reply to one wish, with @len octets by Send, or in a segment of @handle. */
static void form_answer(uint32_t body, uint32_t len, uint32_t handle)
{
	const struct segment s = {handle, len, 0};

	rpc_msg_reset(&answer, 5, RPC_REPLY);
	call_body[3] = 5;
	answer.body[0] = view_of(call_body, body);
	answer.nbody = 1;
	answer.writes[0] = (struct rpc_chunk){0};
	answer.wishes[0] = (struct rpc_wish){.way = RPC_NO_ITEM};
	answer.nwrites = answer.nwishes = 1;
	if (handle)
		assert_int_equal(rpc_msg_add_segment(&answer, &answer.writes[0], &s), 0);
	else if (len)
		assert_int_equal(rpc_msg_place(&answer, &answer.writes[0], view_of(bulk, len)), 0);
}

/* The header that goes out for it, zeros before its item, and whether it goes. */
static bool send_answer(const char *hex, uint32_t gap)
{
	struct rpc_tx tx = {.msg = &answer};
	uint8_t hdr[RECV], want[RECV];
	size_t hdr_len, body_len, len = unhex(hex, want);

	if (!conn.t.ops->places(&conn.t, &answer))
		return false;
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, sizeof(hdr), &hdr_len, &body_len),
			 0);
	assert_int_equal(hdr_len, len);
	assert_memory_equal(hdr, want, len);
	assert_int_equal(body_len, 8);
	if (answer.nplaced)
		assert_int_equal(tx.data[0].gap, gap);
	return true;
}

static void talk_as_server(const char *props)
{
	struct rpc_params own = conn_params(RPC_ACCEPTOR);

	own.bulk_bytes = BULK;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
	expect(props, RPC_RX_READY);
	expect_props();
}

#define TAKES_ALL                                                                                  \
	"00000077 00000002 00000040 00000007 00000002 52540003 00000004 00000003 "                 \
	"52540004 " TWO SEGMENTS

static void answers_go_out(void **state)
{
	(void)state;
	talk_as_server(TAKES_ALL);
	form_answer(8, 0x1001, 0);
	assert_true(send_answer("00000005 00000002 00000021 52540006 00000001 00000000 00001001 "
				"00000002 00000000 00000001 00000000 00000001 00000008",
				RECV - 52 - 8));
	form_answer(8, 0x30, 0xaa01);
	assert_true(send_answer("00000005 00000002 00000021 52540006 00000001 00000000 00000030 "
				"00000001 00000001 0000aa01 00000030 00000000 00000000 00000001 "
				"00000008",
				0));
	form_answer(8, 0, 0);
	assert_true(send_answer("00000005 00000002 00000021 52540006 00000001 00000000 00000000 "
				"00000006 00000001 00000008",
				0));
	/* Answers that do not fit into Receives of 4 KiB and 8 KiB. */
	form_answer(RECV - 52, BULK, 0);
	assert_true(conn.t.ops->places(&conn.t, &answer));
	form_answer(RECV - 51, BULK, 0);
	assert_false(conn.t.ops->places(&conn.t, &answer));
	form_answer(8, BULK + 1, 0);
	assert_false(conn.t.ops->places(&conn.t, &answer));
	/* After a report that such a message was wrong no data goes by Send. */
	form_answer(8, 8, 0);
	assert_true(conn.t.ops->places(&conn.t, &answer));
	expect("00000005 00000002 00000040 52540008 00000005 00000001 00000000 00000000 00000007 "
	       "00000000 00000000 00000000",
	       RPC_RX_NONE);
	assert_false(conn.t.ops->places(&conn.t, &answer));
	form_answer(8, 8, 0xaa01);
	assert_true(conn.t.ops->places(&conn.t, &answer));
	/* A peer that does not announce responses gets none. */
	talk_as_server(RTR_PROPS(TWO SEGMENTS));
	assert_false(conn.t.ops->places(&conn.t, &answer));
	/* Without a structure: whatever fits into its Receive. */
	talk_as_server("00000077 00000002 00000040 00000007 00000001 52540003 00000004 00000002");
	assert_true(conn.t.ops->places(&conn.t, &answer));
	form_answer(8, 8, 0);
	assert_false(conn.t.ops->places(&conn.t, &answer));
}

static void an_answer_has_no_longer_gap(void **state)
{
	(void)state;
	talk_as_server("00000077 00000002 00000040 00000007 00000002 52540003 00000004 00000003 "
		       "52540004 " BEHIND("ffffffff", "fffffbff"));
	form_answer(8, 8, 0);
	assert_false(conn.t.ops->places(&conn.t, &answer));
	form_answer(8, 8, 0xaa01);
	assert_true(conn.t.ops->places(&conn.t, &answer));
}

#define RESPONSE "00000005 00000002 00000040 52540006 "
#define FAULT_IN_REPLY "00000005 00000002 00000000 52540008 00000005 00000001 00000000 00000000 "

static void talk_as_client(void)
{
	struct rpc_params own = conn_params(RPC_INITIATOR);

	own.bulk_bytes = BULK;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
	expect_props();
	expect(TAKES_ALL, RPC_RX_READY);
}

static void answers_come_in(void **state)
{
	const struct rpc_msg *m;

	(void)state;
	talk_as_client();
	m = conn.t.own.msg;
	assert_int_equal(feed(RESPONSE "00000001 00000000 00001001 00000002 00000000 00000001 "
				       "00000000 00000001 00000008 " BODY,
			      0x1001),
			 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(m->dir, RPC_REPLY);
	assert_int_equal(m->nwrites, 1);
	assert_int_equal(m->nwishes, 1);
	assert_int_equal(m->wishes[0].way, RPC_BY_SEND);
	assert_int_equal(m->writes[0].length, 0x1001);
	assert_ptr_equal(rpc_msg_placed(m, &m->writes[0]), bulk);
	assert_int_equal(feed(RESPONSE
			      "00000003 00000064 00000020 00000001 00000001 0000aa01 00000020 "
			      "00000000 00000000 00000000 00000000 00000006 "
			      "00000090 00000004 00000005 00000001 00000008 " BODY,
			      0),
			 0);
	assert_int_equal(rx.kind, RPC_RX_MSG);
	assert_int_equal(m->nwishes, 3);
	assert_int_equal(m->wishes[0].position, 0x64);
	assert_int_equal(m->writes[0].count, 1);
	assert_int_equal(m->segs[0].handle, 0xaa01);
	assert_int_equal(m->wishes[1].way, RPC_NO_ITEM);
	assert_int_equal(m->wishes[2].way, RPC_TOO_SHORT);
	assert_int_equal(m->wishes[2].length, 4);
	expect_silence();
}

/* The call is lost, and the sender gets a report if there is a code; the next message is served. */
static void answers_that_are_wrong(void **state)
{
	static const struct {
		const char *hex;
		uint32_t behind;
		const char *answer; /* NULL: none */
	} cases[] = {
		{ITEM("00000000", "00000004", "00000000", "00000001",
		      "00000001") "00000001 00000008 " BODY,
		 4, FAULT_IN_REPLY "00000007 00000001 00000000 00000000"},
		{ITEM("00000000", "00000008", "00000000", "00000001",
		      "00000000") "00000001 00000008 " BODY,
		 4, FAULT_IN_REPLY "00000007 00000000 00000000 00000000"},
		{ITEM("00000000", "00000004", "00002000", "00000001",
		      "00000000") "00000001 00000008 " BODY,
		 4, FAULT_IN_REPLY "00000006 00002000 00000000 00001ffc"},
		{"00000000 00000002 00000008 " BODY, 0,
		 FAULT_IN_REPLY "00000004 00000001 00000002"},
		{"00000000 00000001 0000000c " BODY, 0,
		 FAULT_IN_REPLY "00000008 0000000c 00000000 00000008"},
		{"00000000 00000000 00000008 " BODY, 0, NULL},
		{"00000001 00000042 00000004 00000001 00000001 0000aa01 00000004 00000000 00000000 "
		 "00000001 00000008 " BODY,
		 0, NULL},
		{"00000001 00000000 00000004 00000003 00000001 00000008 " BODY, 0, NULL},
		{"00000001 00000000 00000004 00000004 00000001 00000008 " BODY, 0, NULL},
		{"00000001 00000000", 0, NULL},
		{"00000000 00000001 00000008 00000006 00000000", 0, NULL},
		{"00000005 00000000 00000000 00000006 00000000 00000000 00000006 "
		 "00000000 00000000 00000006 00000000 00000000 00000006 "
		 "00000000 00000000 00000006 00000001 00000008 " BODY,
		 0, NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char hex[1024];

		talk_as_client();
		snprintf(hex, sizeof(hex), RESPONSE "%s", cases[i].hex);
		assert_int_equal(feed(hex, cases[i].behind), 0);
		assert_int_equal(rx.kind, RPC_RX_ERROR);
		assert_int_equal(rx.xid, 5);
		assert_int_equal(rx.error_dir, RPC_REPLY);
		if (cases[i].answer)
			expect_out(cases[i].answer);
		expect_silence();
	}
}

static void asks_where_it_is_answered(void **state)
{
	static const struct {
		const char *props;
		bool asks;
	} cases[] = {
		{TAKES_ALL, true},
		{RTR_PROPS(TWO SEGMENTS), true}, /* it takes none itself */
		{"00000077 00000002 00000040 00000007 00000003 52540003 00000004 00000003 "
		 "52540004 " TWO SEGMENTS " 52540006 00000004 00000000",
		 false},
		{"00000077 00000002 00000040 00000007 00000003 52540003 00000004 00000003 "
		 "52540004 " TWO SEGMENTS " 52540006 00000004 00000001",
		 true},
		{"00000077 00000002 00000040 00000007 00000001 52540003 00000004 00000002", false},
		{"00000077 00000002 00000040 00000007 00000001 52540003 00000004 00000001", true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpc_params own = conn_params(RPC_INITIATOR);

		own.bulk_bytes = BULK;
		assert_int_equal(v2_conn_init(&conn, &own), 0);
		expect_props();
		expect(cases[i].props, RPC_RX_READY);
		rpc_msg_reset(&call, 5, RPC_CALL);
		call_body[3] = 5;
		call.body[0] = view_of(call_body, 8);
		call.nbody = 1;
		call.writes[0] = (struct rpc_chunk){.length = BULK};
		call.wishes[0] = (struct rpc_wish){.way = RPC_BY_SEND, .end = UINT32_MAX};
		call.nwrites = call.nwishes = 1;
		assert_int_equal(conn.t.ops->places(&conn.t, &call), cases[i].asks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_end_says_of_itself),
		cmocka_unit_test(a_structure_is_no_buffer_size),
		cmocka_unit_test(a_call_with_its_data),
		cmocka_unit_test(from_an_offset_to_the_last_octet),
		cmocka_unit_test(an_item_to_be_read),
		cmocka_unit_test(each_thing_that_can_be_wrong),
		cmocka_unit_test(other_messages_of_it),
		cmocka_unit_test(bad_structures),
		cmocka_unit_test(what_is_placed_and_what_is_not),
		cmocka_unit_test(a_gap_is_as_long_as_there_are_zeros),
		cmocka_unit_test(a_request_that_is_refused),
		cmocka_unit_test(a_call_with_wishes),
		cmocka_unit_test(answers_go_out),
		cmocka_unit_test(an_answer_has_no_longer_gap),
		cmocka_unit_test(answers_come_in),
		cmocka_unit_test(answers_that_are_wrong),
		cmocka_unit_test(asks_where_it_is_answered),
	};

	return cmocka_run_group_tests_name("v2 rtr", tests, NULL, NULL);
}
