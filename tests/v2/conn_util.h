/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_V2_CONN_UTIL_H
#define TESTS_V2_CONN_UTIL_H

#include "tests/cmocka_all.h"

#include <stdio.h>

#include "tests/v2/golden.h"
#include "v2/conn.h"

/** One connection that gets messages written by hand. */
static struct v2_conn conn;
static struct rpc_rx rx;

/* Properties of a peer that takes 8192 octets, sends 8192, all reverse directions. */
#define PEER_FINAL PEER_OF("00000003")
/* The same, of a peer with this level of the reverse direction (enum rpc_reverse). */
#define PEER_OF(level)                                                                             \
	"00000077 00000002 00000040 00000007 00000003 "                                            \
	"00000001 00000004 00002000 00000002 00000004 00002000 00000005 00000004 " level
#define CALL_1 "00000001 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 00000001"
#define CALL_2 "00000002 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 00000002"
#define REPLY_2 "00000002 00000002 00000040 0000000d 00000000 00000002"
#define GRANT "00000000 00000002 00000040 00000005"
/* Parts of Call 5: 8 octets of 20, 8 more, the last 4. */
#define PART_5A "00000005 00000002 00000040 00000009 0000000c 00000005 00000000"
#define PART_5B "00000005 00000002 00000040 00000009 00000004 11111111 22222222"
#define PART_5C "00000005 00000002 00000040 0000000a 00000000 00000000 00000000 00000000 33333333"

static inline struct rpc_params conn_params(enum rpc_role role)
{
	static struct rpc_msg received;

	return (struct rpc_params){
		.role = role,
		.recv_bytes = 4096,
		.send_bytes = 4096,
		.segment_bytes = 1 << 20,
		.segment_count = 16,
		.credits = 32,
		.reverse = RPC_REV_GENL,
		.vers_low = 1,
		.vers_high = 2,
		.first_xid = 0xabc,
		.msg = &received,
	};
}

static inline void conn_start(enum rpc_role role)
{
	struct rpc_params own = conn_params(role);

	assert_int_equal(v2_conn_init(&conn, &own), 0);
}

/** conn_feed - recv() of octets at the end of a block, so that a sanitizer sees reads beyond the
 * message. */
static inline int conn_feed(const char *hex)
{
	uint8_t buf[GOLDEN_MAX];
	static uint8_t exact[GOLDEN_MAX];
	size_t len = unhex(hex, buf);

	memcpy(exact + GOLDEN_MAX - len, buf, len);
	return conn.t.ops->recv(&conn.t, view_of(exact + GOLDEN_MAX - len, len), &rx);
}

/** expect - receive one message, and check its kind. */
static inline void expect(const char *hex, enum rpc_rx_kind kind)
{
	assert_int_equal(conn_feed(hex), 0);
	assert_int_equal(rx.kind, kind);
}

/** expect_out - the next control message must be @hex; its credit word is not compared. */
static inline void expect_out(const char *hex)
{
	uint8_t want[GOLDEN_MAX], got[1024];
	size_t len = unhex(hex, want);
	int n = conn.t.ops->control(&conn.t, got, sizeof(got));

	assert_int_equal(n, len);
	memset(got + 8, 0, 4);
	memset(want + 8, 0, 4);
	assert_memory_equal(got, want, len);
}

static inline void expect_silence(void)
{
	uint8_t got[1024];

	assert_int_equal(conn.t.ops->control(&conn.t, got, sizeof(got)), 0);
}

/** expect_props - the next control message is our CONNPROP_FINAL. */
static inline void expect_props(void)
{
	uint8_t got[1024];
	int n = conn.t.ops->control(&conn.t, got, sizeof(got));

	assert_in_range(n, 16, 1024);
	assert_int_equal(xdr_peek_u32(got), 0xabc);
	assert_int_equal(xdr_peek_u32(got + 4), 2);
	assert_int_equal(xdr_peek_u32(got + 12), V2_CONNPROP_FINAL);
}

/** conn_open_as - a connection with @own after negotiation with a peer that sent @properties. */
static inline void conn_open_as(const struct rpc_params *own, const char *properties)
{
	assert_int_equal(v2_conn_init(&conn, own), 0);
	if (own->role == RPC_INITIATOR)
		expect_props();
	expect(properties, RPC_RX_READY);
	if (own->role == RPC_ACCEPTOR)
		expect_props();
	expect_silence();
}

/** conn_open - a connection after negotiation. */
static inline void conn_open(enum rpc_role role)
{
	struct rpc_params own = conn_params(role);

	conn_open_as(&own, PEER_FINAL);
}

/** conn_grant - the peer's credits are now @limit messages in all. */
static inline void conn_grant(uint32_t limit)
{
	char hex[64];

	snprintf(hex, sizeof(hex), "00000000 00000002 %08x 00000005", limit);
	expect(hex, RPC_RX_NONE);
}

#endif
