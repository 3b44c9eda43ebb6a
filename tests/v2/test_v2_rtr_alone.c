/* SPDX-License-Identifier: BSD-2-Clause */
/* The round-trip extension over version 2: data that comes only by Send, and peers without the
 * extension. Sections are those of docs/rtrext-profile.md. */
#include "tests/v2/conn_util.h"

#include "v2/rtr.h"

enum { RECV = 4096, BULK = 8192 };

#define BODY "00000005 00000000"
#define STRUCTURE                                                                                  \
	"52540004 00000028 00003000 00000002 "                                                     \
	"00000001 00001000 00000001 00000000 00000001 00002000 00001000 00000001"
#define TAKES_CONTINUES "00000007 00000002 52540003 00000004 00000007 " STRUCTURE

static void begin(uint32_t transmissions)
{
	struct rpc_params own = conn_params(RPC_ACCEPTOR);

	own.bulk_bytes = BULK;
	own.transmissions = transmissions;
	assert_int_equal(v2_conn_init(&conn, &own), 0);
}

static void talk(const char *props)
{
	begin(8);
	expect(props, RPC_RX_READY);
	expect_props();
}

/* A peer that accepts groups: the announced limits of their length. */
static void what_is_said_of_groups(void **state)
{
	uint8_t out[256];

	(void)state;
	begin(7);
	expect(PEER_FINAL, RPC_RX_READY);
	assert_int_equal(conn.t.ops->control(&conn.t, out, sizeof(out)),
			 16 + 4 + 5 * 12 + 48 + 3 * 12);
	assert_memory_equal(out + 80, "\x52\x54\0\3\0\0\0\4\0\0\0\7", 12);
	assert_memory_equal(out + 140, "\x52\x54\0\5\0\0\0\4\0\0\0\7\x52\x54\0\6\0\0\0\4\0\0\0\7",
			    24);
}

/* Section 2: an end without the extension knows none of its properties, malformed or not, and heeds the others beside
 * them. An initiator sends requests of the extension, so it knows them. */
static void structures_where_it_is_not_spoken(void **state)
{
	static const char bad[] = "00000077 00000002 00000040 00000007 00000002 "
				  "00000002 00000004 00000c00 52540004 00000004 00003000";

	(void)state;
	conn_start(RPC_ACCEPTOR);
	expect(bad, RPC_RX_READY);
	expect_props();
	expect_silence();
	assert_int_equal(conn.t.peer.send_bytes, 0xc00);
	conn_start(RPC_INITIATOR);
	expect_props();
	expect(bad, RPC_RX_READY);
	expect_out("00000077 00000002 00000000 00000004 00000003");
	assert_int_equal(conn.t.peer.send_bytes, 4096);
}

/* By Send alone as many octets can come back as the targetable segments of all Receives have that are kept, whatever lies
 * between these; no more than this end sends in one group, or may hold. */
static void room_for_what_comes_by_send_alone(void **state)
{
	static const struct {
		const char *takes, *kept;
		uint32_t transmissions, room;
	} cases[] = {
		{"00000003", "00000004", 16, 0x2000}, /* it takes no continues */
		{"00000007", "00000000", 16, 0x2000},  {"00000007", "00000001", 16, 0x2000},
		{"00000007", "00000004", 16, 0x8000},  {"00000007", "00000004", 3, 0x6000},
		{"00000007", "ffffffff", 16, 0x20000},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpc_params own = conn_params(RPC_ACCEPTOR);
		char hex[1024];

		own.bulk_bytes = BULK;
		own.transmissions = cases[i].transmissions;
		assert_int_equal(v2_conn_init(&conn, &own), 0);
		snprintf(hex, sizeof(hex),
			 "00000077 00000002 00000040 00000007 00000002 52540003 00000004 %s "
			 "52540004 00000048 00003064 00000004 "
			 "00000001 00001000 00000001 00000000 00000001 00001000 00001000 00000001 "
			 "00000001 00000064 00000004 00000000 00000001 00001000 00000004 00000001",
			 cases[i].takes);
		expect(hex, RPC_RX_READY);
		expect_props();
		snprintf(hex, sizeof(hex),
			 "00000005 00000002 00000040 52540005 "
			 "00000000 00000001 00000000 ffffffff 00000001 00000000 00000002 00000001 "
			 "%s "
			 "00000008 " BODY,
			 cases[i].kept);
		expect(hex, RPC_RX_MSG);
		assert_int_equal(conn.t.own.msg->writes[0].length, cases[i].room);
	}
}

static uint8_t item[3 * BULK];
static struct rpc_msg answer;

/* A reply with an item that fills three Receives. */
static void form_answer(void)
{
	static uint8_t body[8] = {0, 0, 0, 5};

	rpc_msg_reset(&answer, 5, RPC_REPLY);
	answer.body[0] = view_of(body, sizeof(body));
	answer.nbody = answer.nwrites = answer.nwishes = 1;
	answer.writes[0] = (struct rpc_chunk){0};
	answer.wishes[0] = (struct rpc_wish){.way = RPC_BY_SEND};
	assert_int_equal(rpc_msg_place(&answer, &answer.writes[0], view_of(item, sizeof(item))), 0);
}

/* A group waits for credits if its item was asked for by Send only; other items have another form.
 * Even such a group is not longer than the Receives that were kept. */
static void by_send_alone_waits_for_credits(void **state)
{
	static const char *const props[] = {"00000077 00000002 00000005 " TAKES_CONTINUES,
					    "00000077 00000002 00000003 " TAKES_CONTINUES};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		talk(props[i]);
		form_answer();
		answer.reserved = 3;
		answer.wishes[0].way = RPC_BY_EITHER;
		assert_int_equal(conn.t.ops->places(&conn.t, &answer), i == 0);
		answer.wishes[0].way = RPC_BY_SEND;
		assert_true(conn.t.ops->places(&conn.t, &answer));
		answer.reserved = 2;
		assert_false(conn.t.ops->places(&conn.t, &answer));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_of_groups),
		cmocka_unit_test(structures_where_it_is_not_spoken),
		cmocka_unit_test(room_for_what_comes_by_send_alone),
		cmocka_unit_test(by_send_alone_waits_for_credits),
	};

	return cmocka_run_group_tests_name("v2 rtr alone", tests, NULL, NULL);
}
