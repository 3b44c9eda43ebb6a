/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "base/mem.h"
#include "tests/v2/conn_util.h"

static struct rpc_msg m;
static uint8_t body[65536];
static uint8_t hdr[8192];
static size_t hdr_len, body_len;

static struct rpc_tx message(enum rpc_dir dir, size_t len)
{
	rpc_msg_reset(&m, 0x10, dir);
	body[3] = 0x10;
	m.body[0] = view_of(body, len);
	m.nbody = 1;
	return (struct rpc_tx){.msg = &m};
}

static void add_read(uint32_t position, unsigned segments)
{
	struct rpc_chunk *c = &m.reads[m.nreads++];

	*c = (struct rpc_chunk){.position = position};
	while (segments--) {
		struct segment s = {.handle = 7, .length = 8};

		assert_int_equal(rpc_msg_add_segment(&m, c, &s), 0);
	}
}

static struct rpc_tx external_call(void)
{
	struct rpc_tx tx = message(RPC_CALL, 0);
	struct segment s = {.handle = 9, .length = 100000, .offset = 1};

	m.nbody = 0;
	m.has_body_chunk = true;
	m.body_chunk = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&m, &m.body_chunk, &s), 0);
	return tx;
}

static int encode(struct rpc_tx *tx)
{
	return conn.t.ops->encode(&conn.t, tx, hdr, sizeof(hdr), &hdr_len, &body_len);
}

static void inline_exactly_at_the_limit(void **state)
{
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = message(RPC_CALL, 4096 - 32);
	assert_int_equal(conn.t.ops->header_len(&conn.t, &m), 32);
	assert_int_equal(encode(&tx), 0);
	assert_int_equal(hdr_len, 32);
	assert_int_equal(body_len, 4096 - 32);
	assert_int_equal(xdr_peek_u32(hdr), 0x10);
	assert_int_equal(xdr_peek_u32(hdr + 4), 2);
	assert_int_equal(xdr_peek_u32(hdr + 8), 33); /* one received, 32 advertised */
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_CALL_INLINE);

	/* A word more: two messages, of which the last holds a word at least. */
	tx = message(RPC_CALL, 4096 - 28);
	assert_int_equal(encode(&tx), 1);
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_CALL_MIDDLE);
	assert_int_equal(hdr_len, 20);
	assert_int_equal(body_len, 4096 - 32);
	assert_int_equal(xdr_peek_u32(hdr + 16), 4);
	assert_int_equal(encode(&tx), 0);
	assert_int_equal(body_len, 4);
	assert_int_equal(tx.body_sent, 4096 - 28);
	assert_int_equal(conn.t.count.sends, 4);
}

/* 6.6.2: any convenient boundary. Every part holds a word at least, so does the last. */
static void odd_ends_are_continued_too(void **state)
{
	(void)state;
	conn_open(RPC_ACCEPTOR);
	for (size_t len = 4096 - 20; len < 4096 + 4096; len += 1021) {
		struct rpc_tx tx = message(RPC_REPLY, len);
		size_t sum = 0;
		int rc;

		do {
			rc = encode(&tx);
			assert_in_range(rc, 0, 1);
			assert_in_range(body_len, 4, 4096 - hdr_len);
			sum += body_len;
			if (rc == 1)
				assert_int_equal(xdr_peek_u32(hdr + 16), len - sum);
		} while (rc == 1);
		assert_int_equal(sum, len);
		assert_int_equal(tx.body_sent, len);
	}
}

/* 6.3.1: an ERROR has no direction. One about our continued Reply is none about a Call of its XID. */
static void an_error_about_a_reply_fails_no_call(void **state)
{
	static const char cont[] = "00000010 00000002 00000040 00000004 00000005";
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_ACCEPTOR);
	tx = message(RPC_CALL, 64); /* a reverse call, inline */
	tx.reverse = true;
	assert_int_equal(encode(&tx), 0);
	tx = message(RPC_REPLY, 8192);
	while (encode(&tx) == 1)
		continue;
	expect(cont, RPC_RX_ERROR);
	assert_int_equal(rx.error_dir, RPC_CALL);
	/* The report may be about either message: the call must not wait for ever. */
	tx = message(RPC_CALL, 8192);
	tx.reverse = true;
	while (encode(&tx) == 1)
		continue;
	expect(cont, RPC_RX_ERROR);
	assert_int_equal(rx.error_dir, RPC_REPLY);
	/* A message that is not continued cannot be continued wrongly. */
	tx = message(RPC_CALL, 64);
	tx.reverse = true;
	assert_int_equal(encode(&tx), 0);
	tx = message(RPC_REPLY, 64);
	assert_int_equal(encode(&tx), 0);
	expect(cont, RPC_RX_ERROR);
	assert_int_equal(rx.error_dir, RPC_REPLY);
}

/* 6.3.6, 6.3.9: once begun it goes on alone, and nothing comes between, be the window closed. */
static void nothing_between_the_parts(void **state)
{
	static const struct rpc_error system = {.code = RPC_ERROR_SYSTEM};
	static struct rpc_msg small;
	struct rpc_tx tx, other = {.msg = &small};

	(void)state;
	conn_open(RPC_ACCEPTOR);
	rpc_msg_reset(&small, 0x11, RPC_REPLY);
	small.body[0] = view_of(body, 8);
	small.nbody = 1;
	for (int i = 0; i < 20; i++)
		expect(CALL_1, RPC_RX_MSG);
	tx = message(RPC_REPLY, 20000);
	assert_int_equal(encode(&tx), 1);
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_REPLY_MIDDLE);
	assert_int_equal(conn.t.ops->report(&conn.t, 3, RPC_CALL, &system), 0);
	assert_false(conn.t.ops->may_send(&conn.t, &other));
	assert_int_equal(encode(&other), ERR_AGAIN);
	for (int i = 0; i < 20; i++)
		expect(CALL_1, RPC_RX_MSG);
	expect_silence(); /* the next part carries the credit */
	conn_grant(conn.credit.sent);
	assert_int_equal(encode(&tx), ERR_AGAIN);
	expect_silence();
	expect(GRANT, RPC_RX_NONE);
	while (encode(&tx) == 1)
		expect_silence();
	assert_int_equal(tx.body_sent, 20000);
	expect_out("00000003 00000002 00000000 00000004 00000064");
	assert_int_equal(encode(&other), 0);
}

/* An end may speak before its properties come, and these in the middle of our message: where there is no room for its last
 * part any more it does not end in parts without octets. */
static void less_room_in_the_middle(void **state)
{
	enum { SEGMENTS = 64, PARTS = 20 };
	struct rpc_tx tx;
	unsigned parts = 0;

	(void)state;
	conn_open(RPC_ACCEPTOR);
	tx = message(RPC_REPLY, 8000);
	m.nwrites = 1;
	m.writes[0] = (struct rpc_chunk){0};
	for (unsigned i = 0; i < SEGMENTS; i++) {
		struct segment s = {.handle = 7, .length = 8};

		assert_int_equal(rpc_msg_add_segment(&m, &m.writes[0], &s), 0);
	}
	assert_int_equal(encode(&tx), 1);
	conn.t.peer.send_bytes = 1024;
	while (parts++ < PARTS && encode(&tx) == 1)
		assert_true(body_len > 0);
	assert_true(parts < PARTS);
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	conn.t.peer.send_bytes = 4096;
	while (encode(&tx) == 1)
		assert_true(body_len > 0);
	assert_int_equal(tx.body_sent, 8000);
}

static void no_room_changes_nothing(void **state)
{
	struct rpc_tx tx;
	struct v2_credit before;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = message(RPC_CALL, 100);
	before = conn.credit;
	assert_int_equal(conn.t.ops->encode(&conn.t, &tx, hdr, 31, &hdr_len, &body_len),
			 ERR_NOSPACE);
	assert_memory_equal(&before, &conn.credit, sizeof(before));
	assert_int_equal(tx.body_sent, 0);
	assert_false(conn.tx_open);
	assert_int_equal(encode(&tx), 0);
}

static void external_with_a_body_chunk(void **state)
{
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = external_call();
	assert_int_equal(encode(&tx), 0);
	assert_int_equal(xdr_peek_u32(hdr + 12), V2_CALL_EXTERNAL);
	assert_int_equal(body_len, 0);
	assert_int_equal(hdr_len, 16 + 4 + 28 + 12);
}

/* Properties of a peer that takes 256 segments in a header. */
#define PEER_SEGMENTS                                                                              \
	"00000077 00000002 00000040 00000007 00000003 "                                            \
	"00000001 00000004 00001000 00000002 00000004 00001000 00000004 00000004 00000100"

static void what_cannot_be_expressed(void **state)
{
	const struct rpc_params own = conn_params(RPC_INITIATOR);
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = message(RPC_CALL, 3); /* not even its first word */
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	tx = message(RPC_CALL, 8);
	add_read(4, 17); /* the peer takes 16 */
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	/* A header that leaves no room for the last word. */
	conn_open_as(&own, PEER_SEGMENTS);
	tx = message(RPC_CALL, 8);
	add_read(4, 170);
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	assert_int_equal(conn.t.count.sends, 1);
}

#define INVAL_HTYPE(xid) xid " 00000002 00000040 00000004 00000004"

/* Section 7.1.3: a type the peer says it does not know is not sent again. */
static void a_type_refused_is_sent_no_more(void **state)
{
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = external_call();
	assert_int_equal(encode(&tx), 0);
	expect(INVAL_HTYPE("00000010"), RPC_RX_ERROR);
	assert_int_equal(rx.xid, 0x10);
	assert_true(conn.t.peer.continuation);
	tx = external_call();
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	tx = message(RPC_CALL, 5000);
	assert_int_equal(encode(&tx), 1);
	assert_int_equal(encode(&tx), 0);
	expect(INVAL_HTYPE("00000010"), RPC_RX_ERROR);
	assert_false(conn.t.peer.continuation); /* for the plan of what comes next */
	tx = message(RPC_CALL, 5000);
	assert_int_equal(encode(&tx), ERR_TOOBIG);
	/* Replies have types of their own. */
	tx = message(RPC_REPLY, 5000);
	assert_int_equal(encode(&tx), 1);
	assert_int_equal(encode(&tx), 0);
	tx = message(RPC_CALL, 100);
	assert_int_equal(encode(&tx), 0);
	/* About our properties, late: there is nothing more to send of them. */
	expect(INVAL_HTYPE("00000abc"), RPC_RX_ERROR);
	/* About an inline Call, or about none: the user knows which calls are in flight. */
	expect(INVAL_HTYPE("00000011"), RPC_RX_ERROR);
	expect(INVAL_HTYPE("12345678"), RPC_RX_ERROR);
	/* About a GRANT: there is no credit without it. */
	assert_int_equal(conn_feed(INVAL_HTYPE("00000000")), ERR_TYPE);
	assert_int_equal(conn_feed(REPLY_2), ERR_PROTO);
}

#define ERR_SEGMENTS_OF(xid, most) xid " 00000002 00000040 00000004 00000008 " most

/* Section 7.3.3: a limit of the connection follows from a report about a Call that was sent and exceeds it, and from no
 * other. */
static void a_limit_of_segments_is_about_a_call_beyond_it(void **state)
{
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	expect(ERR_SEGMENTS_OF("00000099", "00000001"), RPC_RX_ERROR); /* about nothing */
	expect(ERR_SEGMENTS_OF("00000000", "00000001"), RPC_RX_ERROR);
	assert_int_equal(conn.t.peer.segment_count, 16);
	tx = message(RPC_CALL, 8);
	assert_int_equal(encode(&tx), 0);
	expect(ERR_SEGMENTS_OF("00000010", "00000001"), RPC_RX_ERROR); /* it had none */
	assert_int_equal(conn.t.peer.segment_count, 16);
	tx = message(RPC_CALL, 8);
	add_read(4, 6);
	assert_int_equal(encode(&tx), 0);
	expect(ERR_SEGMENTS_OF("00000010", "00000006"), RPC_RX_ERROR); /* it had no more */
	expect(ERR_SEGMENTS_OF("00000050", "00000001"), RPC_RX_ERROR);
	assert_int_equal(conn.t.peer.segment_count, 16);
	expect(ERR_SEGMENTS_OF("00000010", "00000004"), RPC_RX_ERROR);
	assert_int_equal(conn.t.peer.segment_count, 4);
	tx = message(RPC_CALL, 8);
	add_read(4, 3);
	assert_int_equal(encode(&tx), 0);
	expect("00000010 00000002 00000040 0000000d 00000000 00000010", RPC_RX_MSG);
	expect(ERR_SEGMENTS_OF("00000010", "00000002"), RPC_RX_ERROR); /* it is answered */
	assert_int_equal(conn.t.peer.segment_count, 4);
}

/* An error tells no more of its message than the XID: two XIDs that are remembered in one place are not
 * taken for each other, nor one that was displaced for an inline Call. */
static void a_refusal_is_about_its_own_xid(void **state)
{
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_INITIATOR);
	tx = external_call();
	assert_int_equal(encode(&tx), 0);
	tx = external_call();
	m.xid += V2_SENT;
	assert_int_equal(encode(&tx), 0);
	expect(INVAL_HTYPE("00000010"), RPC_RX_ERROR);
	assert_int_equal(rx.xid, 0x10);
	assert_false(conn.t.peer.no_external);
	expect(INVAL_HTYPE("00000050"), RPC_RX_ERROR);
	assert_true(conn.t.peer.no_external);
	/* A GRANT has no Call's XID. */
	conn_open(RPC_INITIATOR);
	tx = external_call();
	m.xid = V2_SENT;
	assert_int_equal(encode(&tx), 0);
	assert_int_equal(conn_feed(INVAL_HTYPE("00000000")), ERR_TYPE);
	/* A Call that was answered does not count for others either. */
	conn_open(RPC_INITIATOR);
	tx = external_call();
	assert_int_equal(encode(&tx), 0);
	expect("00000010 00000002 00000040 0000000d 00000000 00000010", RPC_RX_MSG);
	expect(INVAL_HTYPE("00000050"), RPC_RX_ERROR);
	assert_false(conn.t.peer.no_external);
}

/* Section 5.2.5: as far as the initiator goes. */
static void reverse_levels(void **state)
{
	static const struct {
		enum rpc_reverse level;
		int small, large, chunk;
	} cases[] = {
		{RPC_REV_NONE, ERR_TOOBIG, ERR_TOOBIG, ERR_TOOBIG},
		{RPC_REV_SIMPLE, 0, ERR_TOOBIG, ERR_TOOBIG},
		{RPC_REV_CONT, 0, 1, ERR_TOOBIG},
		{RPC_REV_GENL, 0, 1, 0},
	};
	static const char *const peers[] = {PEER_OF("00000000"), PEER_OF("00000001"),
					    PEER_OF("00000002"), PEER_OF("00000003")};

	(void)state;
	for (int i = 0; i < 8; i++) {
		enum rpc_role role = i & 1 ? RPC_INITIATOR : RPC_ACCEPTOR;
		enum rpc_dir dir = i & 1 ? RPC_REPLY : RPC_CALL;
		struct rpc_params own = conn_params(role);
		struct rpc_tx tx;

		/* The initiator's own level limits its replies, too. */
		own.reverse = role == RPC_INITIATOR ? cases[i / 2].level : RPC_REV_NONE;
		conn_open_as(&own, role == RPC_INITIATOR ? PEER_OF("00000000")
							 : peers[cases[i / 2].level]);
		tx = message(dir, 100);
		tx.reverse = true;
		assert_int_equal(encode(&tx), cases[i / 2].small);
		if (cases[i / 2].small == 0) { /* sections 4.6.1 and 4.6.2: as any other */
			assert_int_equal(xdr_peek_u32(hdr), 0x10);
			assert_int_equal(xdr_peek_u32(hdr + 4), 2);
			assert_int_equal(xdr_peek_u32(hdr + 8), conn.credit.granted);
			assert_int_equal(xdr_peek_u32(hdr + 12),
					 dir == RPC_CALL ? V2_CALL_INLINE : V2_REPLY_INLINE);
		}
		tx = message(dir, 100);
		tx.reverse = true;
		m.writes[m.nwrites++] = (struct rpc_chunk){0};
		assert_int_equal(rpc_msg_add_segment(&m, &m.writes[0], &(struct segment){1, 2, 3}),
				 0);
		assert_int_equal(encode(&tx), cases[i / 2].chunk);
		tx = message(dir, 5000);
		tx.reverse = true;
		assert_int_equal(encode(&tx), cases[i / 2].large);
	}
}

/* No allocation, ever. */
static void allocates_nothing(void **state)
{
	uint64_t before = mem_allocs();
	struct rpc_tx tx;

	(void)state;
	conn_open(RPC_ACCEPTOR);
	for (int i = 0; i < 1000; i++) {
		expect(PART_5A, RPC_RX_PART);
		expect(PART_5B, RPC_RX_PART);
		expect(PART_5C, RPC_RX_MSG);
		conn_grant(conn.credit.sent + 10);
		tx = message(RPC_REPLY, 8000);
		while (encode(&tx) == 1)
			;
	}
	assert_int_equal(mem_allocs(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_exactly_at_the_limit),
		cmocka_unit_test(odd_ends_are_continued_too),
		cmocka_unit_test(an_error_about_a_reply_fails_no_call),
		cmocka_unit_test(nothing_between_the_parts),
		cmocka_unit_test(less_room_in_the_middle),
		cmocka_unit_test(no_room_changes_nothing),
		cmocka_unit_test(external_with_a_body_chunk),
		cmocka_unit_test(what_cannot_be_expressed),
		cmocka_unit_test(a_type_refused_is_sent_no_more),
		cmocka_unit_test(a_limit_of_segments_is_about_a_call_beyond_it),
		cmocka_unit_test(a_refusal_is_about_its_own_xid),
		cmocka_unit_test(reverse_levels),
		cmocka_unit_test(allocates_nothing),
	};
	return cmocka_run_group_tests_name("v2 encode", tests, NULL, NULL);
}
