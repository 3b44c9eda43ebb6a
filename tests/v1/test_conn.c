/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <string.h>

#include "base/mem.h"
#include "tests/v1/gen.h"
#include "v1/conn.h"

/* Two ends of one connection, messages carried by hand. */
static struct v1_conn client, filer;
static struct rpc_msg msg;
static struct rpc_rx rx;
static uint8_t body[GEN_BODY_MAX], wire[GEN_BUF_BYTES];
static size_t wire_len;

static void connect_with(const struct rpc_params *a, const struct rpc_params *b)
{
	uint8_t said[V1_PDATA_BYTES];
	struct v1_pdata p;

	v1_pdata_encode(said, b);
	v1_pdata_parse(&p, view_of(said, sizeof(said)));
	assert_int_equal(v1_conn_init(&client, a, &p), 0);
	v1_pdata_encode(said, a);
	v1_pdata_parse(&p, view_of(said, sizeof(said)));
	assert_int_equal(v1_conn_init(&filer, b, &p), 0);
}

static int setup(void **state)
{
	struct rpc_params a = gen_params(RPC_INITIATOR), b = gen_params(RPC_ACCEPTOR);

	(void)state;
	b.credits = 16;
	connect_with(&a, &b);
	return 0;
}

static int try_send(struct v1_conn *from, const struct rpc_msg *m)
{
	struct rpc_tx tx = {.msg = m};
	size_t body_len;
	int rc = from->t.ops->encode(&from->t, &tx, wire, sizeof(wire), &wire_len, &body_len);

	if (rc)
		return rc;
	assert_int_equal(wire_len, from->t.ops->header_len(&from->t, m));
	assert_int_equal(body_len, tx.body_sent);
	if (body_len)
		memcpy(wire + wire_len, m->body[0].data, body_len);
	wire_len += body_len;
	return 0;
}

static void deliver(struct v1_conn *to, enum rpc_rx_kind kind)
{
	assert_int_equal(to->t.ops->recv(&to->t, view_of(wire, wire_len), &rx), 0);
	assert_int_equal(rx.kind, kind);
}

static void send(struct v1_conn *from, struct v1_conn *to, uint32_t xid, enum rpc_dir dir)
{
	gen_simple(&msg, body, xid, dir);
	assert_int_equal(try_send(from, &msg), 0);
	deliver(to, RPC_RX_MSG);
	assert_true(gen_same(&msg, rx.msg));
}

static uint32_t credit_on_wire(void)
{
	return xdr_peek_u32(wire + 8);
}

static void ready_at_once(void **state)
{
	(void)state;
	assert_true(client.t.ready);
	assert_int_equal(client.t.version, 1);
	assert_string_equal(client.t.ops->name, "1");
	assert_int_equal(client.t.peer.segment_bytes, UINT32_MAX);
	assert_int_equal(client.t.peer.segment_count, 16);
	assert_false(client.t.peer.continuation);
	assert_int_equal(client.t.peer.reverse, RPC_REV_SIMPLE);
	assert_int_equal(client.t.ops->control(&client.t, wire, sizeof(wire)), 0);
}

/* RFC 8797 section 4.2: the smaller of one's Send and the other's Receive size. */
static void thresholds_from_private_data(void **state)
{
	struct rpc_params a = gen_params(RPC_INITIATOR), b = gen_params(RPC_ACCEPTOR);

	(void)state;
	a.send_bytes = 8192;
	a.recv_bytes = 16384;
	b.send_bytes = 4096;
	b.recv_bytes = 2048;
	connect_with(&a, &b);
	assert_int_equal(client.t.peer.send_bytes, 2048);
	assert_int_equal(client.t.peer.recv_bytes, 4096);
	assert_int_equal(filer.t.peer.send_bytes, 4096);
	assert_int_equal(filer.t.peer.recv_bytes, 2048);
	assert_int_equal(v1_conn_init(&client, &a, NULL), 0);
	assert_int_equal(client.t.peer.send_bytes, 1024);
	assert_int_equal(client.t.peer.recv_bytes, 1024);
	assert_false(client.t.peer.remote_inv);
}

static void remote_invalidation_when_both_set_r(void **state)
{
	(void)state;
	for (unsigned both = 0; both < 4; both++) {
		struct rpc_params a = gen_params(RPC_INITIATOR), b = gen_params(RPC_ACCEPTOR);

		a.remote_inv = both & 1;
		b.remote_inv = both & 2;
		connect_with(&a, &b);
		assert_int_equal(client.t.peer.remote_inv, both == 3);
		assert_int_equal(filer.t.peer.remote_inv, both == 3);
	}
}

static void unusable_parameters(void **state)
{
	struct rpc_params p = gen_params(RPC_INITIATOR);

	(void)state;
	p.credits = 0;
	assert_int_equal(v1_conn_init(&client, &p, NULL), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.recv_bytes = 1023;
	assert_int_equal(v1_conn_init(&client, &p, NULL), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.send_bytes = 1023;
	assert_int_equal(v1_conn_init(&client, &p, NULL), ERR_CONFIG);
	p = gen_params(RPC_INITIATOR);
	p.vers_low = 2;
	assert_int_equal(v1_conn_init(&client, &p, NULL), ERR_CONFIG);
}

static void a_call_and_its_reply(void **state)
{
	(void)state;
	send(&client, &filer, 7, RPC_CALL);
	assert_int_equal(credit_on_wire(), 32); /* asked */
	send(&filer, &client, 7, RPC_REPLY);
	assert_int_equal(credit_on_wire(), 16); /* granted */
	assert_int_equal(client.t.ops->call_credits(&client.t), 16);
	assert_int_equal(client.t.count.sends, 1);
	assert_int_equal(client.t.count.recvs, 1);
	assert_int_equal(client.t.count.dropped, 0);
}

/* Section 8: counted apart from the forward direction, and XIDs too are apart. */
static void a_reverse_call_during_a_forward_call(void **state)
{
	(void)state;
	send(&client, &filer, 7, RPC_CALL);
	send(&filer, &client, 7, RPC_CALL);
	assert_int_equal(credit_on_wire(), 2);
	send(&client, &filer, 7, RPC_REPLY);
	assert_int_equal(credit_on_wire(), 2);
	assert_int_equal(filer.t.ops->call_credits(&filer.t), 2);
	assert_int_equal(client.t.ops->call_credits(&client.t), 1); /* no forward reply yet */
	send(&filer, &client, 7, RPC_REPLY);
	assert_int_equal(client.t.ops->call_credits(&client.t), 16);
	assert_int_equal(client.calls.in_flight + filer.calls.in_flight, 0);
}

static void reverse_messages_have_no_chunks(void **state)
{
	struct segment s = {1, 100, 3};

	(void)state;
	gen_simple(&msg, body, 9, RPC_CALL);
	msg.has_reply = true;
	msg.reply = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&msg, &msg.reply, &s), 0);
	assert_int_equal(try_send(&filer, &msg), ERR_TOOBIG);
	assert_int_equal(filer.calls.in_flight, 0);
	msg.dir = RPC_REPLY;
	assert_int_equal(try_send(&client, &msg), ERR_TOOBIG);
	msg.dir = RPC_CALL;
	assert_int_equal(try_send(&client, &msg), 0); /* forward: as it likes */
}

static void inline_threshold_is_kept(void **state)
{
	static uint8_t large[4096];

	(void)state;
	gen_rpc(large, 3, RPC_CALL);
	rpc_msg_reset(&msg, 3, RPC_CALL);
	msg.nbody = 1;
	msg.body[0] = view_of(large, 4096 - 28 + 1);
	assert_int_equal(try_send(&client, &msg), ERR_TOOBIG);
	assert_int_equal(client.calls.in_flight, 0);
	msg.body[0].len--;
	assert_int_equal(try_send(&client, &msg), 0);
	assert_int_equal(wire_len, 4096);
}

static void header_buffer_too_small(void **state)
{
	struct rpc_tx tx = {.msg = &msg};
	size_t body_len;

	(void)state;
	gen_simple(&msg, body, 3, RPC_CALL);
	assert_int_equal(client.t.ops->encode(&client.t, &tx, wire, 27, &wire_len, &body_len),
			 ERR_NOSPACE);
	assert_int_equal(client.calls.in_flight, 0);
	assert_int_equal(tx.body_sent, 0);
	assert_int_equal(client.t.count.sends, 0);
}

static void long_messages_both_ways(void **state)
{
	struct segment s = {1, 100000, 3}, reply = {2, 70000, 4};

	(void)state;
	rpc_msg_reset(&msg, 11, RPC_CALL);
	msg.has_body_chunk = msg.has_reply = true;
	msg.body_chunk = msg.reply = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&msg, &msg.body_chunk, &s), 0);
	assert_int_equal(rpc_msg_add_segment(&msg, &msg.reply, &reply), 0);
	assert_int_equal(try_send(&client, &msg), 0);
	deliver(&filer, RPC_RX_MSG);
	assert_true(gen_same(&msg, rx.msg));
	rpc_msg_reset(&msg, 11, RPC_REPLY);
	msg.has_body_chunk = true;
	msg.body_chunk = (struct rpc_chunk){0};
	assert_int_equal(rpc_msg_add_segment(&msg, &msg.body_chunk, &reply), 0);
	assert_int_equal(try_send(&filer, &msg), 0);
	deliver(&client, RPC_RX_MSG);
	assert_true(gen_same(&msg, rx.msg));
}

static void set_credits_changes_what_is_said(void **state)
{
	(void)state;
	filer.t.ops->set_credits(&filer.t, 5);
	client.t.ops->set_credits(&client.t, 9);
	send(&client, &filer, 1, RPC_CALL);
	assert_int_equal(credit_on_wire(), 9);
	send(&filer, &client, 1, RPC_REPLY);
	assert_int_equal(credit_on_wire(), 5);
	assert_int_equal(client.t.ops->call_credits(&client.t), 5);
	filer.t.ops->set_credits(&filer.t, 0); /* would be a deadlock */
	send(&client, &filer, 2, RPC_CALL);
	send(&filer, &client, 2, RPC_REPLY);
	assert_int_equal(credit_on_wire(), 1);
}

static void nothing_is_allocated(void **state)
{
	uint64_t before = mem_allocs();

	setup(state);
	for (uint32_t xid = 0; xid < 100; xid++) {
		send(&client, &filer, xid, RPC_CALL);
		send(&filer, &client, xid, RPC_REPLY);
	}
	assert_int_equal(mem_allocs(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ready_at_once, setup),
		cmocka_unit_test_setup(thresholds_from_private_data, setup),
		cmocka_unit_test_setup(remote_invalidation_when_both_set_r, setup),
		cmocka_unit_test_setup(unusable_parameters, setup),
		cmocka_unit_test_setup(a_call_and_its_reply, setup),
		cmocka_unit_test_setup(a_reverse_call_during_a_forward_call, setup),
		cmocka_unit_test_setup(reverse_messages_have_no_chunks, setup),
		cmocka_unit_test_setup(inline_threshold_is_kept, setup),
		cmocka_unit_test_setup(header_buffer_too_small, setup),
		cmocka_unit_test_setup(long_messages_both_ways, setup),
		cmocka_unit_test_setup(set_credits_changes_what_is_said, setup),
		cmocka_unit_test_setup(nothing_is_allocated, setup),
	};
	return cmocka_run_group_tests_name("v1 conn", tests, NULL, NULL);
}
