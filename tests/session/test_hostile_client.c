/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients that send false lengths, overrun, repeat messages or fall silent. Each gets the answer
 * that the documents require, or loses its one session. The server sees nothing of the fault, and
 * the bystander nothing at all.
 */
#include "tests/cmocka_all.h"

#include "tests/session/inside.h"
#include "tests/session/stage.h"

enum { NOMSG = 1, ERROR_TYPE = 4, CHUNK_CODE = 2 };
enum { BAD_XDR_CODE = 2, INVAL_CONT_CODE = 5, READ_CHUNKS_CODE = 6, SYSTEM_CODE = 100 };
enum { XID = 0x5000 };

static uint32_t vers, credit = 60;

static void put_words(struct xdr_out *x, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		xdr_put_u32(x, words[i]);
}

/* A call with one Read chunk, one Write chunk; a NULL segment leaves it out. */
static void send_call(uint32_t xid, uint32_t body_xid, const struct segment *read,
		      uint32_t position, const struct segment *write, uint32_t result)
{
	const uint32_t body[] = {RAW_CALL_BODY(body_xid)};
	struct xdr_out x = raw_begin(&stage.raw);

	xdr_put_u32(&x, xid);
	xdr_put_u32(&x, vers);
	xdr_put_u32(&x, vers == 1 ? 16 : credit);
	xdr_put_u32(&x, vers == 1 ? 0 : 10);
	if (vers == 2)
		xdr_put_u32(&x, 0); /* no handle to invalidate */
	if (read) {
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, position);
		xdr_put_segment(&x, read);
	}
	xdr_put_u32(&x, 0);
	if (write) {
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, 1);
		xdr_put_segment(&x, write);
	}
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 0); /* no Reply chunk */
	put_words(&x, body, 7);
	xdr_put_u32(&x, write ? 1 : 0);
	xdr_put_u32(&x, result);
	for (unsigned i = 9; i < 24; i++)
		xdr_put_u32(&x, i == 14 && read ? read->length : 0);
	raw_end(&stage.raw, &x);
}

static void send_null(uint32_t xid)
{
	send_call(xid, xid, NULL, 0, NULL, 0);
}

/* The last message is the report of an error about @xid. */
static void expect_error(uint32_t xid, uint32_t v1, uint32_t v2)
{
	stage_run(0);
	assert_in_range(stage.raw.nkept, 1, 3); /* and perhaps a GRANT */
	for (unsigned i = 0; i < stage.raw.nkept; i++)
		if (raw_word(&stage.raw, i, 3) == ERROR_TYPE) {
			assert_int_equal(raw_word(&stage.raw, i, 0), xid);
			assert_int_equal(raw_word(&stage.raw, i, 1), vers);
			assert_int_equal(raw_word(&stage.raw, i, 4), vers == 1 ? v1 : v2);
			stage.raw.nkept = 0;
			return;
		}
	fail_msg("no error report");
}

static bool got_reply(uint32_t xid)
{
	for (unsigned i = 0; i < stage.raw.nkept; i++)
		if (raw_word(&stage.raw, i, 0) == xid &&
		    raw_word(&stage.raw, i, 3) == (vers == 1 ? 0 : 13))
			return true;
	return false;
}

static void expect_service(uint32_t xid)
{
	stage.raw.nkept = 0;
	send_null(xid);
	stage_run(0);
	assert_true(got_reply(xid));
	stage_goes_on();
}

/* Every test for all pairs of versions. */
static void each_pair(void (*test)(void))
{
	for (vers = 1; vers <= 2; vers++)
		for (unsigned sv = 1; sv <= 2; sv++) {
			credit = 60;
			stage_client(vers, sv);
			test();
			stage_end();
		}
}

static uint64_t octets_to_server(void)
{
	return proxy_counters(stage.proxy)->bytes_to_server;
}

static void read_beyond_what_is_exposed(void)
{
	struct segment s = raw_expose(&stage.raw, 1000, FABRIC_REMOTE_READ);

	s.length = 5000;
	send_call(XID, XID, &s, 64, NULL, 0);
	stage_is_over(false);
	assert_int_equal(stage.pairs[0].server.served, vers == 1); /* the first words' call */
	assert_true(octets_to_server() < 1000);
}

static void a_read_chunk_longer_than_exposed_costs_the_session(void **state)
{
	(void)state;
	each_pair(read_beyond_what_is_exposed);
}

static void write_beyond_what_is_exposed(void)
{
	struct segment s = raw_expose(&stage.raw, 100, FABRIC_REMOTE_WRITE);

	s.length = 5000;
	send_call(XID, XID, NULL, 0, &s, 5000);
	stage_is_over(false);
}

static void a_write_chunk_longer_than_exposed_costs_the_session(void **state)
{
	(void)state;
	each_pair(write_beyond_what_is_exposed);
}

static void too_long(void)
{
	struct segment s = raw_expose(&stage.raw, 1000, FABRIC_REMOTE_READ);

	s.length = (4 << 20) + 4;
	send_call(XID, XID, &s, 64, NULL, 0);
	expect_error(XID, CHUNK_CODE, SYSTEM_CODE);
	s.length = UINT32_MAX;
	send_call(XID + 1, XID + 1, NULL, 0, &s, 0);
	expect_error(XID + 1, CHUNK_CODE, SYSTEM_CODE);
	s.length = UINT32_MAX;
	send_call(XID + 2, XID + 2, &s, 64, NULL, 0);
	expect_error(XID + 2, CHUNK_CODE, SYSTEM_CODE);
	assert_true(octets_to_server() < 1000); /* none of it was read */
	expect_service(XID);
}

static void lengths_beyond_max_payload_are_refused(void **state)
{
	(void)state;
	each_pair(too_long);
}

static void other_xid(void)
{
	send_call(XID, XID + 1, NULL, 0, NULL, 0);
	expect_error(XID, CHUNK_CODE, BAD_XDR_CODE);
	expect_service(XID);
}

static void header_and_message_of_two_xids_are_refused(void **state)
{
	(void)state;
	each_pair(other_xid);
}

/* A call that is in a chunk of 1000 zeros. */
static void send_long_call(uint32_t xid)
{
	struct segment s = raw_expose(&stage.raw, 1000, FABRIC_REMOTE_READ);

	if (vers == 1)
		raw_words(&stage.raw, xid, 1, 16, NOMSG, 1, 0, s.handle, s.length,
			  (uint32_t)(s.offset >> 32), (uint32_t)s.offset, 0, 0, 0);
	else
		raw_words(&stage.raw, xid, 2, credit, 8, 0, 1, 0, s.handle, s.length,
			  (uint32_t)(s.offset >> 32), (uint32_t)s.offset, 0, 0, 0, 0);
}

static void no_reads(void)
{
	struct segment s = raw_expose(&stage.raw, 1000, FABRIC_REMOTE_READ);

	memnet_deny_reads(stage.raw.conn);
	send_call(XID, XID, &s, 64, NULL, 0);
	expect_error(XID, CHUNK_CODE, READ_CHUNKS_CODE);
	send_long_call(XID + 1);
	expect_error(XID + 1, CHUNK_CODE, READ_CHUNKS_CODE);
	expect_service(XID + 2);
}

static void a_client_that_serves_no_reads_is_told(void **state)
{
	(void)state;
	each_pair(no_reads);
}

/* A body chunk is looked into once it is here. */
static void other_xid_in_chunk(void)
{
	send_long_call(XID);
	expect_error(XID, CHUNK_CODE, BAD_XDR_CODE);
	expect_service(XID);
}

static void a_body_chunk_with_another_xid_goes_no_further(void **state)
{
	(void)state;
	each_pair(other_xid_in_chunk);
}

static void position_nowhere(void)
{
	struct segment s = raw_expose(&stage.raw, 1000, FABRIC_REMOTE_READ);

	send_call(XID, XID, &s, 4000, NULL, 0);
	expect_error(XID, CHUNK_CODE, BAD_XDR_CODE);
	send_call(XID, XID, &s, 0xfffffffc, NULL, 0);
	expect_error(XID, CHUNK_CODE, BAD_XDR_CODE);
	expect_service(XID);
}

static void a_position_outside_the_stream_goes_no_further(void **state)
{
	(void)state;
	each_pair(position_nowhere);
}

static unsigned replies_to(uint32_t xid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < stage.raw.nkept; i++)
		n += raw_word(&stage.raw, i, 0) == xid && raw_word(&stage.raw, i, 3) == 13;
	return n;
}

static void one_xid_twice(void)
{
	uint64_t served = stage.pairs[0].server.served;

	send_null(XID);
	send_null(XID);
	if (vers == 1) {
		stage_is_over(true);
		return;
	}
	stage_run(0);
	assert_int_equal(replies_to(XID), 1);
	assert_int_equal(stage.pairs[0].server.served, served + 1);
	assert_int_equal(proxy_counters(stage.proxy)->duplicates, 1);
	assert_int_equal(inside_session(stage.proxy, 1)->client.u.v2.owed, 0);
	expect_service(XID);
}

/* Version 2 lets its Requester send a call again (4.6.5): the second is dropped. */
static void two_calls_with_one_xid(void **state)
{
	(void)state;
	each_pair(one_xid_twice);
}

/* The server has answered, and the reply waits for a credit of the client: the call is in flight
 * until a part of its reply was sent. */
static void a_call_is_sent_again_while_its_reply_waits(void **state)
{
	struct peer *server = &stage.pairs[0].server;
	uint64_t served;

	(void)state;
	for (unsigned sv = 1; sv <= 2; sv++) {
		vers = 2;
		credit = 3;
		stage_client(2, sv);
		for (uint32_t i = 0; i < 2; i++) { /* as many replies as there are credits */
			send_null(XID + 1 + i);
			stage_run(0);
		}
		served = server->served;
		send_null(XID);
		stage_run(0);
		assert_int_equal(server->served, served + 1);
		assert_int_equal(replies_to(XID), 0);
		send_null(XID);
		stage_run(0);
		assert_int_equal(server->served, served + 1);
		assert_int_equal(proxy_counters(stage.proxy)->duplicates, 1);
		credit = 60;
		send_null(XID + 9);
		stage_run(0);
		assert_int_equal(replies_to(XID), 1);
		expect_service(XID);
		stage_end();
	}
}

static void xid_again(void)
{
	for (unsigned i = 0; i < 50; i++)
		expect_service(XID);
}

static void an_xid_can_be_used_again_after_its_reply(void **state)
{
	(void)state;
	each_pair(xid_again);
}

static void flood(void)
{
	for (uint32_t i = 0; i < 60; i++)
		send_null(XID + i);
	stage_is_over(false);
}

static void more_calls_than_granted_cost_the_session(void **state)
{
	(void)state;
	each_pair(flood);
}

static void reply_to_nothing(void)
{
	if (vers == 1)
		raw_words(&stage.raw, RAW_V1_REPLY(XID, 16));
	else
		raw_words(&stage.raw, RAW_V2_REPLY(XID, credit));
	stage_run(0);
	if (vers == 1) /* nothing is in flight, so nothing is spoiled: dropped */
		expect_service(XID);
	else
		stage_is_over(true);
}

static void a_reply_nobody_asked_for(void **state)
{
	(void)state;
	each_pair(reply_to_nothing);
}

static void error_about_nothing(void)
{
	if (vers == 1)
		raw_words(&stage.raw, XID, 1, 16, ERROR_TYPE, CHUNK_CODE);
	else
		raw_words(&stage.raw, XID, 2, credit, ERROR_TYPE, SYSTEM_CODE);
	expect_service(XID);
}

static void an_error_about_nothing_is_passed_over(void **state)
{
	(void)state;
	each_pair(error_about_nothing);
}

/* The log is not the peer's to fill: a line each for the first, then one a second. */
static void errors_without_end_take_few_lines(void **state)
{
	unsigned sent = 0;

	(void)state;
	stage_client(2, 1);
	while (sent < 3000) {
		for (unsigned i = 0; i < 3; i++, sent++)
			raw_words(&stage.raw, sent, 2, 100000, ERROR_TYPE, SYSTEM_CODE);
		world_run(&stage, 4 * NSEC_PER_MS);
	}
	assert_int_equal(proxy_counters(stage.proxy)->errors_from_responder, sent);
	assert_in_range(stage_lines("rpc.error"), 8 + 3, 8 + 5);
	assert_int_equal(stage_lines("rpc.errors"), 0);
	stage_goes_on();
	raw_hang_up(&stage.raw);
	stage_run(1);
	assert_int_equal(stage_lines("rpc.errors"), 1);
	stage_end();
}

/* A version 2 client that lets the gateway send this many messages and no more. */
static void close_the_window(void)
{
	credit = 3;
}

static void never_grants(void)
{
	if (vers == 1)
		return;
	close_the_window();
	for (uint32_t i = 0; i < 8; i++) {
		send_null(XID + i);
		stage_run(0);
	}
	stage_run(30);
	assert_false(stage.raw.closed);
	stage_run(60);
	stage_is_over(true);
}

static void a_client_that_takes_no_replies_is_closed(void **state)
{
	(void)state;
	each_pair(never_grants);
}

static void send_middle(uint32_t xid, uint32_t remaining, bool first)
{
	raw_words(&stage.raw, xid, 2, credit, 9, remaining, first ? xid : 0, 0);
}

static void endless(void)
{
	if (vers == 1)
		return;
	/* Longer than anything may be. */
	send_middle(XID, 0x7fffffff, true);
	expect_error(XID, INVAL_CONT_CODE, INVAL_CONT_CODE);
	/* One that never gets shorter. */
	send_middle(XID + 1, 100000, true);
	send_middle(XID + 1, 100000, false);
	expect_error(XID + 1, INVAL_CONT_CODE, INVAL_CONT_CODE);
	/* One whose end never comes. */
	send_middle(XID + 2, 100000, true);
	send_middle(XID + 2, 99992, false);
	stage_run(30);
	assert_false(stage.raw.closed);
	stage_run(60);
	stage_is_over(true);
}

static void an_endless_message_ends_with_its_session(void **state)
{
	(void)state;
	each_pair(endless);
}

static void noise(void)
{
	struct rng r = {vers + 77};

	for (unsigned i = 0; i < 400 && !stage.raw.closed; i++) {
		struct xdr_out x = raw_begin(&stage.raw);
		unsigned n = rng_below(&r, 60);

		xdr_put_u32(&x, rng_below(&r, 5) ? 0x7000 + i : XID);
		xdr_put_u32(&x, rng_below(&r, 20) ? vers : rng_below(&r, 4));
		xdr_put_u32(&x, 60 + i);
		xdr_put_u32(&x, rng_below(&r, vers == 1 ? 6 : 16));
		for (unsigned j = 0; j < n; j++)
			xdr_put_u32(&x,
				    rng_below(&r, 3) ? rng_below(&r, 2) : (uint32_t)rng_next(&r));
		raw_end(&stage.raw, &x);
		world_run(&stage, NSEC_PER_MS);
	}
	stage_run(10);
}

static void noise_hurts_nobody_else(void **state)
{
	(void)state;
	each_pair(noise);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_chunk_longer_than_exposed_costs_the_session),
		cmocka_unit_test(a_write_chunk_longer_than_exposed_costs_the_session),
		cmocka_unit_test(lengths_beyond_max_payload_are_refused),
		cmocka_unit_test(a_client_that_serves_no_reads_is_told),
		cmocka_unit_test(header_and_message_of_two_xids_are_refused),
		cmocka_unit_test(a_body_chunk_with_another_xid_goes_no_further),
		cmocka_unit_test(a_position_outside_the_stream_goes_no_further),
		cmocka_unit_test(two_calls_with_one_xid),
		cmocka_unit_test(a_call_is_sent_again_while_its_reply_waits),
		cmocka_unit_test(an_xid_can_be_used_again_after_its_reply),
		cmocka_unit_test(more_calls_than_granted_cost_the_session),
		cmocka_unit_test(a_reply_nobody_asked_for),
		cmocka_unit_test(an_error_about_nothing_is_passed_over),
		cmocka_unit_test(errors_without_end_take_few_lines),
		cmocka_unit_test(a_client_that_takes_no_replies_is_closed),
		cmocka_unit_test(an_endless_message_ends_with_its_session),
		cmocka_unit_test(noise_hurts_nobody_else),
	};

	return cmocka_run_group_tests_name("hostile client", tests, NULL, NULL);
}
