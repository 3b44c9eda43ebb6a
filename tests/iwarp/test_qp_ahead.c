/* SPDX-License-Identifier: BSD-2-Clause */
/* Large tagged messages in many FPDUs: few reads, no copies, and correct results when predictions
 * fail. */
#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/rng.h"

enum { REGION = 200000, MSS = 1448, LARGE = 65480, LONG = 2 << 20, WIRE = 2 * LONG };

static const struct qp_depths depths = {
	.max_recvs = 4, .max_sends = 8, .max_exposures = 4, .ird = 4, .ord = 4};
static const uint64_t seed[5] = {1, 2, 3, 4, 5};

static struct qp tx, rx;
static struct iwarp_counters out, in;
static struct qp_store tx_store, rx_store;
static uint8_t source[LONG], region[LONG], recvs[2][512], wire[WIRE];
static size_t wire_len, wire_at;
static unsigned reads;

static void open_pair(uint32_t fpdu_max)
{
	struct qp_stream s = {.initiator = true, .crc = true, .ord = 4, .fpdu_max = fpdu_max};

	memset(&out, 0, sizeof(out));
	memset(&in, 0, sizeof(in));
	memset(region, 0xee, sizeof(region));
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 13 + (i >> 8));
	wire_len = wire_at = reads = 0;
	qp_store_init(&tx_store, &out);
	qp_store_init(&rx_store, &in);
	assert_int_equal(qp_init(&tx, &depths, seed, &tx_store), 0);
	assert_int_equal(qp_init(&rx, &depths, seed, &rx_store), 0);
	qp_start(&tx, &s);
	qp_start(&rx, &s);
	for (int i = 0; i < 2; i++)
		assert_int_equal(qp_post_recv(&rx, recvs[i], 512, recvs[i]), 0);
}

static int setup(void **state)
{
	(void)state;
	open_pair(MSS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	qp_fini(&tx);
	qp_fini(&rx);
	qp_store_fini(&tx_store);
	qp_store_fini(&rx_store);
	return 0;
}

/* As a socket does: what is there, as far as it is wanted, in one go. */
static bool read_some(size_t available)
{
	struct iovec iov[QP_RX_IOV];
	unsigned n = qp_rx_want(&rx, iov);
	size_t got = 0;

	for (unsigned i = 0; i < n && got < available; i++) {
		size_t piece = iov[i].iov_len < available - got ? iov[i].iov_len : available - got;

		memcpy(iov[i].iov_base, wire + wire_at + got, piece);
		got += piece;
	}
	wire_at += got;
	reads++;
	qp_rx_got(&rx, got);
	return n && got;
}

static void read_all(void)
{
	wire_len += drain(&tx, wire + wire_len, sizeof(wire) - wire_len);
	while (wire_at < wire_len)
		assert_true(read_some(wire_len - wire_at));
	assert_int_equal(rx.state, QP_OPEN);
}

static void write_at(const struct segment *seg, uint32_t offset, uint32_t len)
{
	struct fabric_sge sge = {source + offset, len};
	struct segment to = *seg;

	to.offset += offset;
	assert_int_equal(qp_write(&tx, &sge, 1, &to, NULL), 0);
}

static void say(const char *text)
{
	struct fabric_sge sge = {text, (uint32_t)strlen(text)};

	assert_int_equal(qp_send(&tx, &sge, 1, 0, NULL), 0);
}

static void expose(uint32_t len, struct segment *seg)
{
	assert_int_equal(qp_expose(&rx, region, len, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, seg), 0);
}

/* Return: what was written. */
static uint32_t withdraw(const struct segment *seg)
{
	uint32_t written;

	assert_int_equal(qp_withdraw(&rx, seg->handle, NULL, &written), 1);
	return written;
}

static void test_whole_region(void **state)
{
	struct segment seg;

	(void)state;
	expose(REGION, &seg);
	write_at(&seg, 0, REGION);
	read_all();
	assert_memory_equal(region, source, REGION);
	assert_int_equal(in.copied_bytes, 0);
	assert_int_equal(withdraw(&seg), REGION);
	/* 141 FPDUs */
	assert_in_range(reads, 1, 14);
}

static void test_read(void **state)
{
	struct segment seg;
	struct fabric_event ev;

	(void)state;
	assert_int_equal(qp_expose(&tx, source, REGION, FABRIC_REMOTE_READ, &seg), 0);
	assert_int_equal(qp_read(&rx, region, &seg, NULL), 0);
	wire_len = drain(&rx, wire, sizeof(wire));
	assert_int_equal(feed(&tx, wire, wire_len, 0), wire_len);
	wire_len = 0;
	read_all();
	assert_int_equal(qp_next_event(&rx, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_READ);
	assert_memory_equal(region, source, REGION);
	assert_int_equal(in.copied_bytes, 0);
	assert_in_range(reads, 1, 14);
}

/* Expose @len octets of the source, have them read, and give the request to the sender. */
static void begin_read(uint32_t len, struct ddp_read *request)
{
	struct segment seg;

	assert_int_equal(qp_expose(&tx, source, len, FABRIC_REMOTE_READ, &seg), 0);
	assert_int_equal(qp_read(&rx, region, &seg, NULL), 0);
	wire_len = drain(&rx, wire, sizeof(wire));
	ddp_read_decode(wire + FPDU_LEN_BYTES + DDP_UNTAGGED_BYTES, request);
	assert_int_equal(feed(&tx, wire, wire_len, 0), wire_len);
	wire_len = 0;
}

/* Return: whether the Read is complete; @sends: received so far. */
static bool take_events(unsigned *sends)
{
	struct fabric_event ev;
	bool done = false;

	while (qp_next_event(&tx, &ev))
		;
	while (qp_next_event(&rx, &ev)) {
		done |= ev.type == FABRIC_EV_READ;
		if (ev.type != FABRIC_EV_RECV)
			continue;
		assert_memory_equal(ev.cookie, "call", 4);
		assert_int_equal(qp_post_recv(&rx, ev.cookie, 512, ev.cookie), 0);
		++*sends;
	}
	return done;
}

static void read_with_sends(uint32_t fpdu_max, unsigned most)
{
	struct ddp_read request;
	unsigned sends = 0;

	open_pair(fpdu_max);
	begin_read(LONG, &request);
	do {
		say("call");
		wire_len += drain(&tx, wire + wire_len, 200000);
		while (wire_at < wire_len)
			assert_true(read_some(wire_len - wire_at));
		assert_int_equal(rx.state, QP_OPEN);
	} while (!take_events(&sends));
	assert_memory_equal(region, source, LONG);
	assert_int_equal(in.copied_bytes, 0);
	print_message("FPDUs of %u octets: %u reads, %u Sends within\n", fpdu_max, reads, sends);
	assert_true(sends > 7); /* eight runs of 256 KiB, or more */
	assert_in_range(reads, 1, most);
	teardown(NULL);
}

/* Another message comes only where it displaces nothing that was read ahead. */
static void test_sends_within_a_response(void **state)
{
	(void)state;
	read_with_sends(MSS, 200);
	read_with_sends(LARGE, 60);
}

/* A sender that puts Sends anywhere: copied, and right. */
static void test_sends_anywhere(void **state)
{
	struct ddp_header send = {.last = true, .opcode = RDMAP_SEND};
	struct ddp_read request;
	unsigned sends = 0;
	bool done = false;

	(void)state;
	begin_read(REGION, &request);
	for (uint32_t at = 0, i = 0; at < REGION; at += 1400, i++) {
		uint32_t len = REGION - at < 1400 ? REGION - at : 1400;
		struct ddp_header h = {.tagged = true,
				       .last = at + len == REGION,
				       .opcode = RDMAP_READ_RESPONSE,
				       .stag = request.sink_stag,
				       .offset = request.sink_offset + at};

		wire_len += make_fpdu(wire + wire_len, &h, source + at, len, true);
		if (i % 9 == 0) {
			send.msn++;
			wire_len += make_fpdu(wire + wire_len, &send, "call", 4, true);
		}
	}
	while (wire_at < wire_len) {
		assert_true(read_some(wire_len - wire_at < 8000 ? wire_len - wire_at : 8000));
		assert_int_equal(rx.state, QP_OPEN);
		done |= take_events(&sends);
	}
	assert_true(done);
	assert_int_equal(sends, send.msn);
	assert_memory_equal(region, source, REGION);
	assert_true(in.copied_bytes > 0);
}

/* Octets that the peer does not write stay as they are. */
static void test_not_scratch(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct segment seg;

		teardown(NULL);
		open_pair(i ? LARGE : MSS);
		assert_int_equal(qp_expose(&rx, region, LONG, FABRIC_REMOTE_WRITE, &seg), 0);
		write_at(&seg, 0, 150000);
		say("behind");
		read_all();
		assert_memory_equal(region, source, 150000);
		for (uint32_t at = 150000; at < LONG; at++)
			assert_int_equal(region[at], 0xee);
		assert_memory_equal(recvs[0], "behind", 6);
	}
}

/* Take what has arrived of a stream, and free its window. Return: octets. */
static uint32_t pass_on(const struct segment *seg)
{
	struct fabric_event ev;
	uint32_t n = 0;

	while (qp_next_event(&rx, &ev)) {
		assert_int_equal(ev.type, FABRIC_EV_PLACED);
		assert_memory_equal(ev.at, source + ev.offset, ev.len);
		qp_went_on(&rx, seg->handle, ev.len);
		n += ev.len;
	}
	return n;
}

/* Through a window that is full again and again: as few reads, and no more is expected than there is room for. */
static void test_through_a_window(void **state)
{
	static uint8_t window[FABRIC_STREAM_WINDOW];
	const struct fabric_piece memory = {window, sizeof(window)};
	struct segment seg;
	uint32_t got = 0;

	(void)state;
	assert_int_equal(qp_stream(&rx, &memory, REGION, NULL, &seg), 0);
	write_at(&seg, 0, REGION);
	wire_len = drain(&tx, wire, sizeof(wire));
	for (unsigned i = 0; wire_at < wire_len || qp_sink_is_blocked(&rx); i++) {
		assert_true(i < 20);
		while (wire_at < wire_len && !qp_sink_is_blocked(&rx))
			assert_true(read_some(wire_len - wire_at));
		got += pass_on(&seg);
		qp_rx_resume(&rx);
	}
	assert_int_equal(got, REGION);
	assert_int_equal(withdraw(&seg), REGION);
	assert_int_equal(in.copied_bytes, 0);
	assert_in_range(reads, 1, 16);
}

/* A user that keeps pieces, while others come of segments that are under way: the last of its pieces becomes longer, and no
 * octets are set aside. */
static void test_pieces_kept(void **state)
{
	static uint8_t window[FABRIC_STREAM_WINDOW];
	const struct fabric_piece memory = {window, sizeof(window)};
	uint32_t kept[FABRIC_STREAM_PIECES], got = 0;
	struct fabric_event ev;
	struct segment seg;
	unsigned n = 0;

	(void)state;
	assert_int_equal(qp_stream(&rx, &memory, REGION, NULL, &seg), 0);
	write_at(&seg, 0, REGION);
	wire_len = drain(&tx, wire, sizeof(wire));
	while (wire_at < wire_len || qp_sink_is_blocked(&rx)) {
		while (wire_at < wire_len && !qp_sink_is_blocked(&rx)) {
			bool is_last = n + 2 >= FABRIC_STREAM_PIECES;

			assert_true(read_some(is_last ? wire_len - wire_at : MSS + MSS / 2));
			assert_null(rx.rx.spill);
			for (; qp_next_event(&rx, &ev); got += ev.len) {
				assert_memory_equal(ev.at, source + ev.offset, ev.len);
				if (n < FABRIC_STREAM_PIECES)
					kept[n++] = ev.len;
				else
					kept[n - 1] += ev.len;
			}
		}
		for (unsigned i = 0; i < n; i++)
			qp_went_on(&rx, seg.handle, kept[i]);
		n = 0;
		qp_rx_resume(&rx);
	}
	got += pass_on(&seg);
	assert_int_equal(got, REGION);
	assert_int_equal(withdraw(&seg), REGION);
	assert_int_equal(in.copied_bytes, 0);
}

/* Shorter than the region, with a message behind it: that comes out right. */
static void test_short_write(void **state)
{
	struct segment seg;

	(void)state;
	expose(REGION, &seg);
	write_at(&seg, 0, 50000);
	say("done");
	say("and more");
	read_all();
	assert_memory_equal(region, source, 50000);
	assert_memory_equal(recvs[0], "done", 4);
	assert_memory_equal(recvs[1], "and more", 8);
	assert_int_equal(rx.ev_count, 2);
	assert_int_equal(withdraw(&seg), 50000);
	assert_true(in.copied_bytes < 2 * MSS);
}

/* The second half first: what stands there already is not disturbed by expecting more. */
static void test_backwards(void **state)
{
	struct segment seg;

	(void)state;
	expose(REGION, &seg);
	write_at(&seg, 100000, 100000);
	read_all();
	write_at(&seg, 0, 50000);
	say("x");
	write_at(&seg, 50000, 50000);
	read_all();
	assert_memory_equal(region, source, REGION);
}

/* Two halves in one go, the second shifted: its octets pass through the wrong place. */
static void test_jump(void **state)
{
	struct segment seg;

	(void)state;
	expose(REGION, &seg);
	write_at(&seg, 0, 30000);
	write_at(&seg, 30100, 60000);
	say("x");
	write_at(&seg, 30000, 100);
	write_at(&seg, 90100, REGION - 90100);
	read_all();
	assert_memory_equal(region, source, REGION);
	assert_int_equal(rx.ev_count, 1);
}

/* Small messages under an open exposure come many a read; the first large Write ends that. */
static void test_small_run(void **state)
{
	struct segment seg;
	struct fabric_event ev;

	(void)state;
	expose(REGION, &seg);
	for (int i = 0; i < 100; i++) {
		say("small");
		if (i == 50) {
			reads = 0;
			assert_true(wire_at == wire_len);
		}
		if (i % 2 || i < 50) {
			read_all();
			while (qp_next_event(&tx, &ev) || qp_next_event(&rx, &ev))
				if (ev.type == FABRIC_EV_RECV)
					assert_int_equal(qp_post_recv(&rx, recvs[0], 512, NULL), 0);
		}
	}
	assert_int_equal(reads, 25);
	write_at(&seg, 0, REGION);
	read_all();
	assert_in_range(in.copied_bytes, 1, QP_STAGE_BYTES);
	write_at(&seg, 0, REGION);
	read_all();
	assert_in_range(in.copied_bytes, 1, QP_STAGE_BYTES);
	assert_memory_equal(region, source, REGION);
}

/* Every octet written is there, and of those that count as written but were not, all are blank. */
static void check_region(const uint8_t *pattern, uint32_t written)
{
	uint32_t start = 0;

	while (start < REGION && pattern[start])
		start++;
	assert_true(written >= start && written <= REGION);
	for (uint32_t i = 0; i < REGION; i++)
		if (pattern[i] ? region[i] != source[i] : i < written && region[i])
			fail_msg("octet %u is wrong, %u are written", i, written);
}

/* Any mix of lengths and orders, cut anywhere: memory is as if each octet was placed by itself. */
static void test_any_mix(void **state)
{
	static uint8_t pattern[REGION];
	struct rng r = rng_seeded("qp_ahead_mix", 7);

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct segment seg;
		uint32_t hole = 0;

		teardown(NULL);
		setup(NULL);
		expose(REGION, &seg);
		memset(pattern, 0, sizeof(pattern));
		for (int i = 0; i < 7; i++) {
			uint32_t at = rng_below(&r, 3) ? hole : rng_below(&r, REGION);
			uint32_t len = rng_below(&r, rng_below(&r, 2) ? 3000 : 60000);

			if (at >= REGION)
				at = 0;
			if (len > REGION - at)
				len = REGION - at;
			write_at(&seg, at, len);
			memset(pattern + at, 1, len);
			hole = at + len;
			if (rng_below(&r, 3) == 0 && rx.recv_count)
				wire_len += drain(&tx, wire + wire_len, sizeof(wire) - wire_len);
		}
		say("end");
		wire_len += drain(&tx, wire + wire_len, sizeof(wire) - wire_len);
		while (wire_at < wire_len) {
			size_t left = wire_len - wire_at;
			size_t some = 1 + rng_below(&r, rng_below(&r, 2) ? 3000 : 90000);

			assert_true(read_some(some < left ? some : left));
		}
		assert_int_equal(rx.state, QP_OPEN);
		assert_int_equal(rx.ev_count, 1);
		check_region(pattern, withdraw(&seg));
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whole_region),	T(test_read),
		T(test_short_write),	T(test_backwards),
		T(test_jump),		T(test_small_run),
		T(test_any_mix),	T(test_through_a_window),
		T(test_pieces_kept),	T(test_not_scratch),
		T(test_sends_anywhere), cmocka_unit_test(test_sends_within_a_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
