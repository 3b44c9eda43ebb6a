/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of a queue pair about octets that the peer wrote, whatever else the peer had sent at
 * that moment. */
#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"

enum { RECV = 64, REGION = 256, OLD = 0xee };

/* One exposure at a time: the next one has the same slot. */
static const struct qp_depths depths = {
	.max_recvs = 3, .max_sends = 4, .max_exposures = 1, .ird = 2, .ord = 2};
static const uint64_t seed[5] = {31, 32, 33, 34, 35};
static const struct qp_stream stream = {.crc = true, .ord = 2, .fpdu_max = 1448};

static struct qp qp;
static struct iwarp_counters counters;
static struct qp_store store;
static uint8_t recvs[3][RECV], region[REGION], wire[4096];
static struct segment seg;
static size_t wire_len;
static uint32_t msn;

static void expose(void)
{
	memset(region, OLD, sizeof(region));
	assert_int_equal(qp_expose(&qp, region, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &seg),
			 0);
}

static int setup(void **state)
{
	(void)state;
	wire_len = 0;
	msn = 1;
	qp_store_init(&store, &counters);
	assert_int_equal(qp_init(&qp, &depths, seed, &store), 0);
	qp_start(&qp, &stream);
	for (int i = 0; i < 3; i++)
		assert_int_equal(qp_post_recv(&qp, recvs[i], RECV, recvs[i]), 0);
	expose();
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
	static const uint8_t payload[REGION] = {1, 2, 3};

	wire_len += make_fpdu(wire + wire_len, &h, payload, len, true);
}

static void add_write(uint32_t at, uint32_t len)
{
	add((struct ddp_header){.tagged = true,
				.last = true,
				.opcode = RDMAP_WRITE,
				.stag = seg.handle,
				.offset = at},
	    len);
}

static void add_send(uint32_t invalidate)
{
	add((struct ddp_header){.last = true,
				.opcode = invalidate ? RDMAP_SEND_INV : RDMAP_SEND,
				.stag = invalidate,
				.msn = msn++},
	    10);
}

/* All of it in one go, but for the last octets. */
static void flush_but(size_t kept)
{
	assert_int_equal(feed(&qp, wire, wire_len - kept, 0), wire_len - kept);
	memmove(wire, wire + wire_len - kept, kept);
	wire_len = kept;
}

static uint32_t withdraw(int answer)
{
	uint32_t written = 12345;

	assert_int_equal(qp_withdraw(&qp, seg.handle, NULL, &written), answer);
	return written;
}

static void received(uint32_t invalidated)
{
	struct fabric_event ev;

	assert_int_equal(qp_next_event(&qp, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_RECV);
	assert_int_equal(ev.invalidated, invalidated);
}

/* The reply, nothing written, and in the same flush a message that invalidates: of the first one it
 * is known that nothing was written. Nor is the handle another's before it was withdrawn. */
static void invalidated_in_one_flush(void **state)
{
	struct segment next;

	(void)state;
	add_send(0);
	add_send(seg.handle);
	flush_but(0);
	received(0);
	assert_int_equal(
		qp_expose(&qp, region, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &next),
		ERR_AGAIN);
	assert_int_equal(withdraw(1), 0);
	received(seg.handle);
	assert_int_equal(withdraw(1), 0);
	add_write(0, 50);
	expose();
	assert_int_equal(qp.stags.live, 1);
	flush_but(0);
	assert_int_equal(qp.state, QP_TERMINATING); /* it named the one before */
	assert_int_equal(withdraw(ERR_CLOSED), 0);
}

/* Octets behind the reply are the exposure's own as long as it is one. */
static void written_behind_the_message(void **state)
{
	(void)state;
	add_send(0);
	add_write(0, 70);
	add_send(seg.handle);
	flush_but(0);
	received(0);
	assert_int_equal(withdraw(1), 70);
}

/* All its octets are placed, and of its CRC nothing came, or a part: it does not count for this
 * exposure, nor for the next in the slot. */
static void withdrawn_before_the_crc(void **state)
{
	(void)state;
	for (size_t kept = 1; kept <= 4; kept++) {
		add_write(0, 200);
		flush_but(kept);
		assert_int_equal(qp.rx.state, QP_RX_TAIL);
		assert_int_equal(withdraw(1), 0);
		expose();
		flush_but(0);
		assert_int_equal(qp.state, QP_OPEN);
		assert_int_equal(qp.rx.state, QP_RX_HEAD);
		assert_int_equal(region[0], OLD);
		assert_int_equal(withdraw(1), 0);
		expose();
	}
}

/* The same with one octet of the payload left, or its header alone there: the rest must not be
 * placed. */
static void withdrawn_before_the_payload(void **state)
{
	static const size_t kept[] = {5, 204};

	for (unsigned i = 0; i < 2; i++) {
		if (i)
			setup(state);
		add_write(0, 200);
		flush_but(kept[i]);
		assert_int_equal(qp.rx.state, QP_RX_PLACE);
		assert_int_equal(withdraw(1), 0);
		assert_int_equal(qp.state, QP_TERMINATING);
		assert_int_equal(
			qp_expose(&qp, region, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &seg),
			ERR_CLOSED);
		if (!i)
			teardown(state);
	}
}

/* An orderly end is not upset by it: nothing is taken in any more. */
static void withdrawn_while_draining(void **state)
{
	struct iovec iov[QP_RX_IOV];

	for (size_t kept = 4; kept <= 5; kept++) {
		if (kept > 4)
			setup(state);
		add_write(0, 100);
		add_write(100, 100);
		flush_but(kept);
		qp_disconnect(&qp);
		assert_int_equal(withdraw(ERR_CLOSED), 100);
		assert_int_equal(withdraw(ERR_CLOSED), 0);
		assert_int_equal(qp.state, QP_DRAINING);
		assert_int_equal(qp_rx_want(&qp, iov), 0);
		if (kept == 4)
			teardown(state);
	}
}

/* The end of the stream takes nothing along, a Terminate of the peer's least of all. */
static void known_after_the_end(void **state)
{
	static const uint8_t terminate[RDMAP_TERM_BYTES];
	const struct ddp_header h = {.last = true, .opcode = RDMAP_TERMINATE, .queue = 2, .msn = 1};

	(void)state;
	add_write(0, 60);
	add_send(0);
	wire_len += make_fpdu(wire + wire_len, &h, terminate, sizeof(terminate), true);
	flush_but(0);
	assert_int_equal(qp.state, QP_DEAD);
	qp_stop(&qp, 0, NULL);
	received(0);
	assert_int_equal(withdraw(ERR_CLOSED), 60);
}

/* Streams. */

static void expose_stream(uint32_t window)
{
	const struct fabric_piece memory = {region, window};

	assert_int_equal(withdraw(1), 0);
	memset(region, OLD, sizeof(region));
	assert_int_equal(qp_stream(&qp, &memory, 4 * REGION, &seg, &seg), 0);
}

static void placed(uint32_t offset, uint32_t octets, uint32_t at)
{
	struct fabric_event ev;

	assert_int_equal(qp_next_event(&qp, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_PLACED);
	assert_ptr_equal(ev.cookie, &seg);
	assert_int_equal(ev.handle, seg.handle);
	assert_int_equal(ev.offset, offset);
	assert_int_equal(ev.len, octets);
	assert_ptr_equal(ev.at, region + at);
}

static void nothing_more(void)
{
	struct fabric_event ev;

	assert_int_equal(qp_next_event(&qp, &ev), 0);
}

/* Placed octets count when their CRC is verified, and when they were reported. Octets that follow
 * directly belong to the same piece. */
static void reported_once_it_counts(void **state)
{
	(void)state;
	expose_stream(REGION);
	add_write(500, 40);
	add_write(540, 40);
	flush_but(4);
	placed(500, 40, 0);
	nothing_more();
	flush_but(0);
	add_write(580, 60);
	add_send(0);
	flush_but(0);
	placed(540, 100, 40);
	received(0);
	nothing_more();
	add_write(0, 50);
	flush_but(0);
	placed(0, 50, 140);
	add_write(50, 20);
	flush_but(0);
	assert_int_equal(withdraw(1), 50); /* the last octets were not reported */
}

/* Octets with a wrong CRC are never reported. */
static void never_reported(void **state)
{
	(void)state;
	expose_stream(REGION);
	add_write(0, 100);
	flush_but(0);
	placed(0, 100, 0);
	add_write(100, 10);
	wire[wire_len - 1] ^= 1;
	(void)feed(&qp, wire, wire_len, 0);
	assert_int_equal(qp.state, QP_TERMINATING);
	nothing_more();
	assert_int_equal(withdraw(ERR_CLOSED), 100);
}

/* An FPDU that finds no room waits, with everything behind it, until there is room. */
static void full_until_it_is_given_back(void **state)
{
	(void)state;
	for (size_t step = 1; step <= 3; step++) {
		size_t took;

		if (step > 1)
			setup(state);
		expose_stream(100);
		add_write(0, 60);
		add_write(60, 50);
		add_send(0);
		took = feed(&qp, wire, wire_len, step == 3 ? 0 : step);
		assert_true(qp_sink_is_blocked(&qp));
		assert_false(qp_rx_is_inside(&qp));
		placed(0, 60, 0);
		nothing_more();
		qp_rx_resume(&qp);
		assert_true(qp_sink_is_blocked(&qp));
		qp_went_on(&qp, seg.handle, 60);
		qp_rx_resume(&qp);
		assert_false(qp_sink_is_blocked(&qp));
		assert_int_equal(feed(&qp, wire + took, wire_len - took, 0), wire_len - took);
		placed(60, 50, 0);
		received(0);
		nothing_more();
		assert_int_equal(withdraw(1), 110);
		if (step < 3)
			teardown(state);
	}
}

/* ... or until it is withdrawn: then it is a Write to nobody. */
static void withdrawn_while_full(void **state)
{
	(void)state;
	expose_stream(100);
	add_write(0, 60);
	add_write(60, 50);
	(void)feed(&qp, wire, wire_len, 0);
	placed(0, 60, 0);
	assert_true(qp_sink_is_blocked(&qp));
	assert_int_equal(withdraw(1), 60);
	qp_rx_resume(&qp);
	assert_false(qp_sink_is_blocked(&qp));
	assert_int_equal(qp.state, QP_TERMINATING);
	qp_went_on(&qp, seg.handle, 60); /* of nobody's interest */
}

/* Queued reports of a withdrawn exposure are removed, wherever they are, and their places are
 * free. */
static void reports_nothing_withdrawn(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool before = i & 1, behind = i & 2;

		expose_stream(REGION);
		if (before)
			add_send(0);
		add_write(0, 60);
		if (behind)
			add_send(0);
		flush_but(0);
		assert_int_equal(withdraw(1), 0);
		expose();
		if (before)
			received(0);
		if (behind)
			received(0);
		nothing_more();
		for (unsigned k = 0; k < before + (unsigned)behind; k++)
			assert_int_equal(qp_post_recv(&qp, recvs[k], RECV, recvs[k]), 0);
		add_write(0, 60); /* that one is no stream */
		flush_but(0);
		nothing_more();
		assert_int_equal(withdraw(1), 60);
		expose();
	}
}

/* A turn ends inside of each segment, and nobody gives anything back: octets that go on are reported nevertheless. */
static void reported_in_the_middle_of_each(void **state)
{
	struct fabric_event ev;
	uint32_t told = 0;
	size_t at = 0;

	(void)state;
	expose_stream(REGION);
	for (uint32_t i = 0; i < 12; i++)
		add_write(20 * i, 20);
	for (size_t one = wire_len / 12, i = 0; i < 11 && at < wire_len; i++) {
		at += feed(&qp, wire + at, i * one + one + 22 - at, 0);
		while (qp_next_event(&qp, &ev)) {
			assert_int_equal(ev.type, FABRIC_EV_PLACED);
			assert_int_equal(ev.offset, told);
			told += ev.len;
		}
	}
	assert_int_equal(told, 11 * 20);
	assert_false(qp_sink_is_blocked(&qp));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(invalidated_in_one_flush),	T(written_behind_the_message),
		T(withdrawn_before_the_crc),	T(withdrawn_before_the_payload),
		T(withdrawn_while_draining),	T(known_after_the_end),
		T(reported_once_it_counts),	T(never_reported),
		T(full_until_it_is_given_back), T(withdrawn_while_full),
		T(reports_nothing_withdrawn),	T(reported_in_the_middle_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
