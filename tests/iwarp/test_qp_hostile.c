/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that breaks the protocol: each breach has its Terminate, and no octet is placed
 * wrongly. */
#include "base/mem.h"
#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"

enum { RECV = 64, REGION = 256, IRD = 2 };

static const struct qp_depths depths = {
	.max_recvs = 2, .max_sends = 4, .max_exposures = 4, .ird = IRD, .ord = 2};
static const uint64_t seed[5] = {11, 12, 13, 14, 15};
static const struct qp_stream stream = {.crc = true, .ord = 2, .fpdu_max = 1448};

static struct qp qp;
static struct iwarp_counters counters;
static struct qp_store store;
static uint8_t recvs[2][RECV], region[REGION], sink[REGION];
static struct segment wseg, rseg;
static uint32_t written; /* result of the last withdrawal */
static uint8_t wire[70000], reply[4096];
static size_t wire_len;

static void begin_on(const struct qp_stream *s)
{
	memset(&counters, 0, sizeof(counters));
	memset(recvs, 0xee, sizeof(recvs));
	memset(region, 0xee, sizeof(region));
	memset(sink, 0xee, sizeof(sink));
	wire_len = 0;
	qp_store_init(&store, &counters);
	assert_int_equal(qp_init(&qp, &depths, seed, &store), 0);
	qp_start(&qp, s);
	for (int i = 0; i < 2; i++)
		assert_int_equal(qp_post_recv(&qp, recvs[i], RECV, recvs[i]), 0);
	assert_int_equal(
		qp_expose(&qp, region, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &wseg), 0);
	assert_int_equal(qp_expose(&qp, region, REGION, FABRIC_REMOTE_READ, &rseg), 0);
}

static int setup(void **state)
{
	(void)state;
	begin_on(&stream);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	qp_stop(&qp, 0, NULL);
	qp_fini(&qp);
	qp_store_fini(&store);
	return 0;
}

static void add(struct ddp_header h, uint32_t len)
{
	static const uint8_t payload[66000] = {1, 2, 3};

	wire_len += make_fpdu(wire + wire_len, &h, payload, len, true);
}

static void add_read(uint32_t msn, uint32_t stag, uint64_t offset, uint32_t length)
{
	struct ddp_header h = {.last = true, .opcode = RDMAP_READ_REQUEST, .queue = 1, .msn = msn};
	struct ddp_read r = {
		.sink_stag = 9, .length = length, .source_stag = stag, .source_offset = offset};
	uint8_t payload[RDMAP_READ_BYTES];

	ddp_read_encode(&r, payload);
	wire_len += make_fpdu(wire + wire_len, &h, payload, sizeof(payload), true);
}

static struct ddp_header send_header(uint32_t msn, uint32_t offset, bool last)
{
	return (struct ddp_header){
		.last = last, .opcode = RDMAP_SEND, .msn = msn, .offset = offset};
}

static struct ddp_header write_header(uint32_t stag, uint64_t offset)
{
	return (struct ddp_header){.tagged = true,
				   .last = true,
				   .opcode = RDMAP_WRITE,
				   .stag = stag,
				   .offset = offset};
}

static bool untouched(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0xee)
			return false;
	return true;
}

/* Feeds the wire; the queue pair must send exactly that Terminate, and nothing after it. */
static void expect_terminate(int err, struct ddp_term want)
{
	struct ddp_header h;
	struct ddp_term term;
	size_t n;

	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_TERMINATING);
	assert_int_equal(qp.status, err);
	assert_non_null(qp.why);
	assert_int_equal(feed(&qp, wire, wire_len, 0), 0);
	n = drain(&qp, reply, sizeof(reply));
	assert_true(n >= 28);
	assert_int_equal(n, fpdu_bytes(wire_get16(reply)));
	assert_int_equal(fpdu_crc(FPDU_CRC_INIT, reply, n - 4), fpdu_crc_get(reply + n - 4));
	assert_int_equal(ddp_header_decode(reply + 2, &h, &term), 0);
	assert_int_equal(h.opcode, RDMAP_TERMINATE);
	assert_true(h.queue == 2 && h.msn == 1 && h.last);
	assert_int_equal(ddp_term_decode(reply + 20, n - 20, &term), 0);
	assert_memory_equal(&term, &want, sizeof(term));
	assert_true(qp_is_drained(&qp));
	assert_int_equal(counters.terminates_sent, 1);
	assert_int_equal(qp_post_recv(&qp, sink, 1, NULL), ERR_CLOSED);
}

static void test_bad_crc(void **state)
{
	(void)state;
	add(send_header(1, 0, true), 10);
	wire[25] ^= 1;
	expect_terminate(ERR_CRC, TERM_MPA_CRC);
	assert_true(untouched(recvs[0], RECV));
	assert_int_equal(counters.crc_errors, 1);
	assert_false(qp_has_events(&qp));
}

static void test_bad_crc_placed(void **state)
{
	(void)state;
	add(write_header(wseg.handle, 0), REGION);
	wire[wire_len - 1] ^= 1;
	feed(&qp, wire, 30, 0); /* placement begins before the rest is there */
	assert_int_equal(qp.state, QP_OPEN);
	memmove(wire, wire + 30, wire_len - 30);
	wire_len -= 30;
	expect_terminate(ERR_CRC, TERM_MPA_CRC);
}

static void test_msn(void **state)
{
	(void)state;
	add(send_header(2, 0, true), 10);
	expect_terminate(ERR_PROTO, TERM_DDP_MSN);
}

static void test_mo_gap(void **state)
{
	(void)state;
	add(send_header(1, 0, false), 10);
	add(send_header(1, 12, true), 10);
	expect_terminate(ERR_PROTO, TERM_DDP_MO);
}

static void test_mo_overlap(void **state)
{
	(void)state;
	add(send_header(1, 0, false), 10);
	add(send_header(1, 5, true), 10);
	expect_terminate(ERR_PROTO, TERM_DDP_MO);
}

/* The second half of the message comes first (decision 161). */
static void test_mo_decreases(void **state)
{
	(void)state;
	add(send_header(1, 10, false), 10);
	add(send_header(1, 0, true), 10);
	expect_terminate(ERR_PROTO, TERM_DDP_MO);
}

static void test_no_receive(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		add(send_header(i, 0, true), 4);
	expect_terminate(ERR_PROTO, TERM_DDP_NO_BUFFER);
	assert_int_equal(qp.ev_count, 2);
}

static void test_send_too_long(void **state)
{
	(void)state;
	add(send_header(1, 0, true), RECV + 1);
	expect_terminate(ERR_TOOBIG, TERM_DDP_TOO_LONG);
	assert_true(untouched(recvs[0], RECV));
}

static void test_send_too_long_later(void **state)
{
	(void)state;
	add(send_header(1, 0, false), RECV - 1);
	add(send_header(1, RECV - 1, true), 2);
	expect_terminate(ERR_TOOBIG, TERM_DDP_TOO_LONG);
	assert_true(untouched(recvs[1], RECV));
}

static void test_opcode_changes(void **state)
{
	struct ddp_header h = send_header(1, 10, true);

	(void)state;
	h.opcode = RDMAP_SEND_SE;
	add(send_header(1, 0, false), 10);
	add(h, 10);
	expect_terminate(ERR_PROTO, TERM_RDMA_OPCODE);
}

static void test_unknown_stag(void **state)
{
	(void)state;
	add(write_header(wseg.handle ^ 0x100, 0), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(region, REGION));
	/* The Terminate quotes the header at fault. */
	assert_int_equal(reply[22], 0xc0);
	assert_memory_equal(reply + 26, wire + 2, DDP_TAGGED_BYTES);
}

static void test_other_connection(void **state)
{
	const uint64_t other_seed[5] = {21, 22, 23, 24, 25};
	struct segment theirs;
	static struct qp other;

	(void)state;
	assert_int_equal(qp_init(&other, &depths, other_seed, &store), 0);
	assert_int_equal(
		qp_expose(&other, sink, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &theirs), 0);
	add(write_header(theirs.handle, 0), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(sink, REGION));
	qp_fini(&other);
}

static void test_out_of_bounds(void **state)
{
	(void)state;
	add(write_header(wseg.handle, REGION - 9), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_BOUNDS);
	assert_true(untouched(region, REGION));
}

static void test_offset_wraps(void **state)
{
	(void)state;
	add(write_header(wseg.handle, UINT64_MAX - 3), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_WRAP);
}

static void test_write_to_readable(void **state)
{
	(void)state;
	add(write_header(rseg.handle, 0), 10);
	expect_terminate(ERR_ACCESS, TERM_RDMA_ACCESS);
	assert_true(untouched(region, REGION));
}

static void test_withdrawn(void **state)
{
	(void)state;
	assert_int_equal(qp_withdraw(&qp, wseg.handle, NULL, &written), 1);
	add(write_header(wseg.handle, 0), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(region, REGION));
}

/* A Write that is half there when its memory is withdrawn: the rest is not placed. */
static void test_withdrawn_midway(void **state)
{
	(void)state;
	add(write_header(wseg.handle, 0), 200);
	feed(&qp, wire, 116, 0);
	assert_int_equal(qp_withdraw(&qp, wseg.handle, NULL, &written), 1);
	memmove(wire, wire + 116, wire_len - 116);
	wire_len -= 116;
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(region + 100, REGION - 100));
}

static void test_read_writable(void **state)
{
	(void)state;
	add_read(1, wseg.handle, 0, 10);
	expect_terminate(ERR_ACCESS, TERM_RDMA_ACCESS);
	assert_int_equal(reply[22], 0xe0); /* quotes the Read Request, too */
}

static void test_read_too_much(void **state)
{
	(void)state;
	add_read(1, rseg.handle, 1, REGION);
	expect_terminate(ERR_ACCESS, TERM_RDMA_BOUNDS);
}

static void test_read_giant(void **state)
{
	(void)state;
	add_read(1, rseg.handle, 0, UINT32_MAX);
	expect_terminate(ERR_ACCESS, TERM_RDMA_BOUNDS);
}

static void test_read_depth(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= IRD + 1; i++)
		add_read(i, rseg.handle, 0, 10);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.irq_count, IRD);
	wire_len = 0;
	assert_int_equal(qp.state, QP_TERMINATING);
	assert_memory_equal(&qp.term, &TERM_DDP_NO_BUFFER, sizeof(struct ddp_term));
}

static void test_read_msn(void **state)
{
	(void)state;
	add_read(2, rseg.handle, 0, 10);
	expect_terminate(ERR_PROTO, TERM_DDP_MSN);
}

static void test_read_length(void **state)
{
	(void)state;
	add((struct ddp_header){.last = true, .opcode = RDMAP_READ_REQUEST, .queue = 1, .msn = 1},
	    RDMAP_READ_BYTES - 1);
	expect_terminate(ERR_PROTO, TERM_DDP_TOO_LONG);
}

static void test_giant_read_request(void **state)
{
	(void)state;
	add((struct ddp_header){.last = true, .opcode = RDMAP_READ_REQUEST, .queue = 1, .msn = 1},
	    60000);
	expect_terminate(ERR_PROTO, TERM_DDP_TOO_LONG);
}

static void test_giant_terminate(void **state)
{
	(void)state;
	add((struct ddp_header){.last = true, .opcode = RDMAP_TERMINATE, .queue = 2, .msn = 1},
	    60000);
	expect_terminate(ERR_PROTO, TERM_DDP_TOO_LONG);
}

static void test_response_unasked(void **state)
{
	struct ddp_header h = write_header(wseg.handle, 0);

	(void)state;
	h.opcode = RDMAP_READ_RESPONSE;
	add(h, 10);
	expect_terminate(ERR_PROTO, TERM_RDMA_OPCODE);
	assert_true(untouched(region, REGION));
}

/* An IRD of 0 (RFC 6581 section 4) is no size that is too large. */
static void a_peer_that_serves_no_reads_breaks_the_protocol(void **state)
{
	const struct segment remote = {.handle = 77, .length = 4};
	struct qp_stream none = stream;
	struct qp other;

	(void)state;
	none.ord = 0;
	assert_int_equal(qp_init(&other, &depths, seed, &store), 0);
	qp_start(&other, &none);
	assert_int_equal(qp_read(&other, sink, &remote, sink), ERR_PROTO);
	qp_stop(&other, 0, NULL);
	qp_fini(&other);
}

/* A Read of ours is out: returns the sink STag that was asked for. */
static uint32_t ask_read(uint32_t length)
{
	const struct segment remote = {.handle = 77, .length = length, .offset = 5};
	size_t n;

	add(send_header(1, 0, true), 4); /* the acceptor may speak only then */
	feed(&qp, wire, wire_len, 0);
	wire_len = 0;
	assert_int_equal(qp_read(&qp, sink, &remote, sink), 0);
	n = drain(&qp, reply, sizeof(reply));
	assert_int_equal(n, 52);
	return wire_get32(reply + 20);
}

static struct ddp_header response(uint32_t stag, uint64_t offset, bool last)
{
	return (struct ddp_header){.tagged = true,
				   .last = last,
				   .opcode = RDMAP_READ_RESPONSE,
				   .stag = stag,
				   .offset = offset};
}

static void test_response_wrong_stag(void **state)
{
	(void)state;
	add(response(ask_read(100) + 1, 0, false), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(sink, REGION));
}

static void test_response_too_long(void **state)
{
	(void)state;
	add(response(ask_read(100), 0, true), 101);
	expect_terminate(ERR_ACCESS, TERM_DDP_BOUNDS);
	assert_true(untouched(sink, REGION));
}

static void test_response_gap(void **state)
{
	uint32_t stag = ask_read(100);

	(void)state;
	add(response(stag, 0, false), 10);
	add(response(stag, 20, false), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_BOUNDS);
	assert_true(untouched(sink + 10, REGION - 10));
}

static void test_response_short(void **state)
{
	(void)state;
	add(response(ask_read(100), 0, true), 99);
	expect_terminate(ERR_PROTO, TERM_RDMA_STREAM);
}

static void test_response_no_end(void **state)
{
	(void)state;
	add(response(ask_read(100), 0, false), 100);
	expect_terminate(ERR_PROTO, TERM_RDMA_STREAM);
}

/* The sink of a Read is no exposure: a Write to it is refused. */
static void test_write_to_sink(void **state)
{
	(void)state;
	add(write_header(ask_read(100), 0), 10);
	expect_terminate(ERR_ACCESS, TERM_DDP_INVALID_STAG);
	assert_true(untouched(sink, REGION));
}

static void test_invalidate_unknown(void **state)
{
	struct ddp_header h = send_header(1, 0, true);

	(void)state;
	h.opcode = RDMAP_SEND_INV;
	h.stag = wseg.handle + 1;
	add(h, 4);
	expect_terminate(ERR_ACCESS, TERM_RDMA_INVALIDATE);
	assert_false(qp_has_events(&qp));
}

static void test_ulpdu_too_short(void **state)
{
	(void)state;
	add(send_header(1, 0, true), 0);
	wire_put16(wire, 17);
	expect_terminate(ERR_PROTO, TERM_MPA_LENGTH);
}

static void test_unknown_opcode(void **state)
{
	struct ddp_header h = send_header(1, 0, true);

	(void)state;
	h.opcode = 8;
	add(h, 4);
	expect_terminate(ERR_PROTO, TERM_RDMA_OPCODE);
}

static void test_peer_terminates(void **state)
{
	struct ddp_header h = {.last = true, .opcode = RDMAP_TERMINATE, .queue = 2, .msn = 1};
	uint8_t payload[4] = {0x01, 0x01};

	(void)state;
	wire_len = make_fpdu(wire, &h, payload, 4, true);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_DEAD);
	assert_int_equal(qp.status, ERR_REMOTE);
	assert_string_equal(qp.why, "RDMAP: base or bounds violation");
	assert_int_equal(drain(&qp, reply, sizeof(reply)), 0);
	assert_int_equal(counters.terminates_received, 1);
}

static void test_empty_terminate(void **state)
{
	(void)state;
	add((struct ddp_header){.last = true, .opcode = RDMAP_TERMINATE, .queue = 2, .msn = 1}, 0);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_DEAD);
	assert_int_equal(qp.status, ERR_REMOTE);
}

static void test_read_offset(void **state)
{
	(void)state;
	add((struct ddp_header){.last = true,
				.opcode = RDMAP_READ_REQUEST,
				.queue = 1,
				.msn = 1,
				.offset = 4},
	    RDMAP_READ_BYTES);
	expect_terminate(ERR_PROTO, TERM_DDP_MO);
}

/* Messages of no octets need no STag (RFC 5040 section 5.1), and still have one: adapters refuse 0. */
static void test_nothing_has_an_stag(void **state)
{
	const struct segment nothing = {0};
	struct ddp_header h;
	struct ddp_read read;
	struct ddp_term term;

	(void)state;
	add(send_header(1, 0, true), 4); /* it has spoken: now this end may */
	feed(&qp, wire, wire_len, 0);
	qp_nudge(&qp);
	assert_int_equal(drain(&qp, reply, sizeof(reply)), fpdu_bytes(DDP_TAGGED_BYTES));
	assert_int_equal(ddp_header_decode(reply + 2, &h, &term), 0);
	assert_true(h.tagged && h.last && h.opcode == RDMAP_WRITE && h.offset == 0);
	assert_int_equal(h.stag, 1);
	assert_int_equal(qp_write(&qp, NULL, 0, &nothing, NULL), 0);
	assert_int_equal(drain(&qp, reply, sizeof(reply)), fpdu_bytes(DDP_TAGGED_BYTES));
	assert_int_equal(ddp_header_decode(reply + 2, &h, &term), 0);
	assert_int_equal(h.stag, 1);
	assert_int_equal(qp_read(&qp, sink, &nothing, NULL), 0);
	drain(&qp, reply, sizeof(reply));
	assert_int_equal(ddp_header_decode(reply + 2, &h, &term), 0);
	assert_int_equal(h.opcode, RDMAP_READ_REQUEST);
	ddp_read_decode(reply + 2 + DDP_UNTAGGED_BYTES, &read);
	assert_int_equal(read.source_stag, 1);
	assert_int_not_equal(read.sink_stag, 0);
}

/* RFC 6581 section 6.1: a Send agreed on as ready-to-receive takes no Receive. */
static void test_rtr_send(void **state)
{
	struct qp_stream s = stream;

	(void)teardown(state);
	s.rtr = MPA_RTR_SEND;
	begin_on(&s);
	add(send_header(1, 0, true), 0);
	add(send_header(2, 0, true), 5);
	assert_int_equal(feed(&qp, wire, wire_len, 0), wire_len);
	assert_int_equal(qp.state, QP_OPEN);
	assert_int_equal(qp.ev_count, 1);
	assert_false(qp.tx.hold);
}

/* Withdrawn while a Read of it waits: the peer gets a Terminate, not the octets. */
static void test_withdrawn_before_response(void **state)
{
	(void)state;
	add_read(1, rseg.handle, 0, 10);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp_withdraw(&qp, rseg.handle, NULL, &written), 1);
	wire_len = 0;
	drain(&qp, reply, sizeof(reply));
	assert_int_equal(qp.state, QP_TERMINATING);
	assert_int_equal(counters.terminates_sent, 1);
	assert_memory_equal(&qp.term, &TERM_RDMA_INVALID_STAG, sizeof(struct ddp_term));
}

/* Withdrawn while its octets are on their way out: the event comes when they are gone. */
static void test_withdrawn_during_response(void **state)
{
	struct fabric_event ev;

	(void)state;
	add_read(1, rseg.handle, 0, REGION);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(drain(&qp, reply, 100), 100);
	assert_int_equal(qp_withdraw(&qp, rseg.handle, &ev, &written), 0);
	assert_false(qp_has_events(&qp));
	drain(&qp, reply, sizeof(reply));
	assert_int_equal(qp_next_event(&qp, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_WITHDRAWN);
	assert_ptr_equal(ev.cookie, &ev);
	assert_int_equal(ev.status, 0);
	assert_int_equal(qp.state, QP_OPEN);
}

/* The same when the stream is at its end already: nothing of the memory goes out any more. */
static void test_withdrawn_while_closing(void **state)
{
	(void)state;
	add_read(1, rseg.handle, 0, REGION);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(drain(&qp, reply, 100), 100);
	qp_disconnect(&qp);
	assert_int_equal(qp_withdraw(&qp, rseg.handle, NULL, &written), ERR_CLOSED);
	assert_int_equal(drain(&qp, reply, sizeof(reply)), 0);
	assert_int_equal(qp.state, QP_DEAD);
}

/* A peer that invalidates what it is reading gets nothing more. */
static void test_invalidate_during_read(void **state)
{
	struct ddp_header h = send_header(1, 0, true);

	(void)state;
	add_read(1, rseg.handle, 0, REGION);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(drain(&qp, reply, 100), 100);
	wire_len = 0;
	h.opcode = RDMAP_SEND_INV;
	h.stag = rseg.handle;
	add(h, 4);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_TERMINATING);
	assert_memory_equal(&qp.term, &TERM_RDMA_INVALIDATE, sizeof(struct ddp_term));
	assert_false(qp_has_events(&qp));
}

/* RFC 5040 section 5.1: a zero-length Write names no memory. */
static void test_empty_write(void **state)
{
	(void)state;
	add(write_header(0, 123), 0);
	add(send_header(1, 0, true), 0);
	assert_int_equal(feed(&qp, wire, wire_len, 0), wire_len);
	assert_int_equal(qp.state, QP_OPEN);
	assert_int_equal(qp.ev_count, 1);
}

static void test_empty_read(void **state)
{
	(void)state;
	add_read(1, 0, 99, 0);
	feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_OPEN);
	assert_int_equal(drain(&qp, reply, sizeof(reply)), 20);
	assert_int_equal(reply[2], 0xc1);
	assert_int_equal(reply[3], 0x42);
	assert_int_equal(wire_get32(reply + 4), 9);
}

static void test_end_inside_message(void **state)
{
	(void)state;
	add(send_header(1, 0, false), 10);
	feed(&qp, wire, wire_len, 0);
	qp_rx_end(&qp);
	assert_int_equal(qp.state, QP_DEAD);
	assert_int_equal(qp.status, ERR_CLOSED);
}

static void test_allocation_fails(void **state)
{
	static struct qp other;
	uint64_t live = mem_live();

	(void)state;
	for (uint64_t i = 1; i <= 5; i++) {
		mem_fail_at(i);
		assert_int_equal(qp_init(&other, &depths, seed, &store), ERR_NOMEM);
		mem_fail_at(0);
		assert_int_equal(mem_live(), live);
	}
	assert_int_equal(
		qp_init(&other, &(struct qp_depths){.max_sends = UINT32_MAX}, seed, &store),
		ERR_TOOBIG);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_peer_that_serves_no_reads_breaks_the_protocol),
		T(test_bad_crc),
		T(test_bad_crc_placed),
		T(test_msn),
		T(test_mo_gap),
		T(test_mo_overlap),
		T(test_mo_decreases),
		T(test_no_receive),
		T(test_send_too_long),
		T(test_send_too_long_later),
		T(test_opcode_changes),
		T(test_unknown_stag),
		T(test_other_connection),
		T(test_out_of_bounds),
		T(test_offset_wraps),
		T(test_write_to_readable),
		T(test_withdrawn),
		T(test_withdrawn_midway),
		T(test_read_writable),
		T(test_read_too_much),
		T(test_read_giant),
		T(test_read_depth),
		T(test_read_msn),
		T(test_read_length),
		T(test_giant_read_request),
		T(test_giant_terminate),
		T(test_response_unasked),
		T(test_response_wrong_stag),
		T(test_response_too_long),
		T(test_response_gap),
		T(test_response_short),
		T(test_response_no_end),
		T(test_write_to_sink),
		T(test_invalidate_unknown),
		T(test_ulpdu_too_short),
		T(test_unknown_opcode),
		T(test_peer_terminates),
		T(test_empty_terminate),
		T(test_read_offset),
		T(test_rtr_send),
		T(test_nothing_has_an_stag),
		T(test_withdrawn_before_response),
		T(test_withdrawn_during_response),
		T(test_withdrawn_while_closing),
		T(test_invalidate_during_read),
		T(test_empty_write),
		T(test_empty_read),
		T(test_end_inside_message),
		T(test_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
