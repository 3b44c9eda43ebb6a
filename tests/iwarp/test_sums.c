/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRCs that go with octets from one queue pair to another one
 *
 * Octets come as FPDUs of one size, in Writes, Reads or a stream, and go on in FPDUs of another size. A
 * third queue pair checks them, and the test compares them with what was sent. Sizes, cuts and orders are random.
 */
#include "tests/cmocka_all.h"

#include <stdlib.h>

#include "base/random.h"
#include "fabric/iwarp/sums.h"
#include "tests/iwarp/qp_tools.h"

enum { ROOM = 1 << 20, ROUNDS = 3000, WIRE = 1 << 22, WINDOW = 1 << 17 };

static const struct qp_depths depths = {
	.max_recvs = 2, .max_sends = 64, .max_exposures = 4, .ird = 32, .ord = 32};
static const uint64_t key[5] = {41, 42, 43, 44, 45};
static uint64_t seed;
static bool leaves_out; /* some Writes do not name the sums */
static struct iwarp_counters counters, far_counters;
static struct qp_store store, far_store;
/* from a peer to the gateway, and from the gateway to another peer */
static struct qp in_peer, in, out, out_peer;
static uint8_t *sent, *other, *expected, *here, *got, *wire;

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(random_next(&seed) >> 33) % n;
}

static void lengths_are_shifted(void **state)
{
	uint8_t data[3000];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t len = pick(sizeof(data)), cut = len ? pick(len + 1) : 0,
			 crc = (uint32_t)random_next(&seed);
		uint32_t whole, second;

		for (uint32_t k = 0; k < len; k++)
			data[k] = (uint8_t)random_next(&seed);
		whole = fpdu_crc(crc, data, len);
		second = fpdu_crc(0, data + cut, len - cut);
		assert_int_equal(fpdu_crc_shift(fpdu_crc(crc, data, cut), len - cut) ^ second,
				 whole);
	}
	for (uint32_t len = 1; len < UINT32_MAX / 2;
	     len *= 2) /* by halves, which the loop above has proved at first */
		assert_int_equal(fpdu_crc_shift(0x12345678, 2 * len),
				 fpdu_crc_shift(fpdu_crc_shift(0x12345678, len), len));
}

static void begin_qp(struct qp *qp, struct qp_store *from, bool initiator, uint32_t fpdu)
{
	struct qp_stream s = {
		.initiator = initiator, .crc = true, .ord = 32, .fpdu_max = fpdu_max(fpdu)};

	assert_int_equal(qp_init(qp, &depths, key, from), 0);
	qp_start(qp, &s);
	qp_release(qp);
}

static uint32_t any_fpdu(void)
{
	static const uint32_t usual[] = {536, 1220, 1448, 8948, 65483, 65536, 128};

	return pick(2) ? usual[pick(7)] : 128 + pick(65536 - 128);
}

static void begin(void)
{
	uint32_t fpdu = any_fpdu();

	begin_qp(&in_peer, &far_store, true, fpdu);
	begin_qp(&in, &store, false, fpdu);
	fpdu = pick(3) ? any_fpdu() : fpdu;
	begin_qp(&out, &store, true, fpdu);
	begin_qp(&out_peer, &far_store, false, fpdu);
}

static void end_qp(struct qp *qp)
{
	qp_stop(qp, 0, NULL);
	qp_fini(qp);
}

static void end(void)
{
	end_qp(&in_peer);
	end_qp(&in);
	end_qp(&out);
	end_qp(&out_peer);
}

/* Moves octets from @a to @b until there are none, or @most. Return: whether there were any. */
static bool move(struct qp *a, struct qp *b, size_t most)
{
	size_t n = drain(a, wire, most);

	for (size_t at = 0; at < n;) {
		size_t part = pick(4) ? n - at : 1 + pick((uint32_t)(n - at)), took;

		took = feed(b, wire + at, part, pick(2) ? 0 : 1 + pick(1 << 16));
		at += took;
		if (took < part)
			break;
	}
	return n > 0;
}

static void exchange(struct qp *a, struct qp *b)
{
	bool more = true;

	while (more) {
		more = move(a, b, WIRE);
		more |= move(b, a, WIRE);
	}
}

static void drop_events(struct qp *qp)
{
	struct fabric_event ev;

	while (qp_next_event(qp, &ev))
		;
}

static void withdraw(struct qp *qp, uint32_t handle)
{
	uint32_t written;

	assert_true(qp_withdraw(qp, handle, NULL, &written) != 0);
}

static void fill(uint32_t from, uint32_t len)
{
	uint64_t at = random_next(&seed) | 1;

	for (uint32_t i = 0; i < len; i++, at = at * 6364136223846793005u + 1442695040888963407u)
		sent[from + i] = (uint8_t)(at >> 56);
}

/* The peer's Write of @len octets at @from, in whatever pieces. */
static void write_in(struct segment to, uint32_t from, uint32_t len)
{
	while (len) {
		uint32_t part = pick(3) ? len : 1 + pick(len);
		struct fabric_sge sge = {sent + from, part};
		struct segment at = {to.handle, part, to.offset + from};

		if (qp_write(&in_peer, &sge, 1, &at, NULL)) {
			exchange(&in_peer, &in);
			drop_events(&in_peer);
			continue;
		}
		from += part;
		len -= part;
	}
	exchange(&in_peer, &in);
	drop_events(&in_peer);
}

static uint32_t any_len(void)
{
	return pick(4) ? 1 + pick(200000) : 1 + pick(ROOM);
}

/* The gateway's Reads of @len octets, into the memory of @sums. */
static void read_in(uint32_t len, struct sums *sums)
{
	struct segment seg;

	assert_int_equal(qp_expose(&in_peer, sent, len, FABRIC_REMOTE_READ, &seg), 0);
	for (uint32_t at = 0; at < len;) {
		uint32_t part = pick(3) ? len - at : 1 + pick(len - at);
		struct segment from = {seg.handle, part, at};

		if (qp_read(&in, here + at, &from, NULL)) {
			exchange(&in, &in_peer);
			drop_events(&in);
			continue;
		}
		qp_sum_posted(&in, 0, sums, at);
		at += part;
	}
	exchange(&in, &in_peer);
	drop_events(&in);
	assert_int_equal(qp_withdraw(&in_peer, seg.handle, NULL, &(uint32_t){0}), 1);
}

/* The gateway's Writes of the memory, in the pieces of @period or whatever pieces. */
static void write_out(uint32_t len, struct sums *sums, uint32_t period)
{
	struct segment seg;

	assert_int_equal(qp_expose(&out_peer, got, len, FABRIC_REMOTE_WRITE, &seg), 0);
	for (uint32_t at = 0; at < len;) {
		uint32_t left = len - at, part = pick(2) && period < left ? period
						 : pick(3)		  ? left
									  : 1 + pick(left);
		struct fabric_sge sge = {here + at, part};
		struct segment to = {seg.handle, part, at};

		if (qp_write(&out, &sge, 1, &to, NULL)) {
			exchange(&out, &out_peer);
			drop_events(&out);
			continue;
		}
		if (!leaves_out || pick(8))
			qp_sum_posted(&out, 0, sums, at);
		at += part;
	}
	exchange(&out, &out_peer);
	drop_events(&out);
	withdraw(&out_peer, seg.handle);
}

/* The other peer's Reads of the memory, in whatever order, some octets twice. */
static void read_out(uint32_t len, struct sums *sums)
{
	struct segment seg;
	uint32_t at = 0;

	assert_int_equal(qp_expose(&out, here, len, FABRIC_REMOTE_READ, &seg), 0);
	qp_sum_exposure(&out, seg.handle, sums, 0);
	while (at < len && out.state == QP_OPEN) {
		uint32_t part = pick(3) ? len - at : 1 + pick(len - at), again = pick(at + 1);
		struct segment from = {seg.handle, part, at};

		if (pick(4) == 0)
			from = (struct segment){seg.handle, part = len - again, again};
		else
			at += part;
		assert_int_equal(qp_read(&out_peer, got + from.offset, &from, NULL), 0);
		exchange(&out_peer, &out);
		drop_events(&out_peer);
	}
	withdraw(&out, seg.handle);
}

static void go_out(uint32_t len, struct sums *sums, uint32_t period)
{
	if (pick(2))
		write_out(len, sums, period);
	else
		read_out(len, sums);
}

static uint32_t any_period(void)
{
	return pick(2) ? UINT32_MAX : 1 + pick(ROOM);
}

static struct sums *any_sums(uint32_t period)
{
	struct sums *s = sums_take(&store.sums, 0, pick(8) ? out.tx.max_tagged : 108 + pick(65000),
				   period, pick(5000));

	assert_non_null(s);
	return s;
}

/* Writes of the peer: in order, with gaps, backwards, the same octets again. */
static void come_by_writes(uint32_t len, struct sums *sums)
{
	struct segment seg;
	uint32_t ways = pick(4);

	assert_int_equal(qp_expose(&in, here, len, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &seg), 0);
	qp_sum_exposure(&in, seg.handle, sums, 0);
	if (ways == 1) { /* the second half first */
		write_in(seg, len / 2, len - len / 2);
		write_in(seg, 0, len / 2);
	} else {
		write_in(seg, 0, len);
	}
	for (; ways >= 2 && pick(3); ways--) { /* other octets over them */
		uint32_t from = pick(len), part = 1 + pick(len - from);

		fill(from, part);
		write_in(seg, from, part);
	}
	assert_int_equal(qp_withdraw(&in, seg.handle, NULL, &(uint32_t){0}), 1);
}

static void come(uint32_t len, struct sums *sums)
{
	if (pick(2))
		come_by_writes(len, sums);
	else
		read_in(len, sums);
}

static void all_is_well(void)
{
	assert_int_equal(in.state, QP_OPEN);
	assert_int_equal(out.state, QP_OPEN);
	assert_int_equal(in_peer.state, QP_OPEN);
	assert_int_equal(out_peer.state, QP_OPEN);
}

static void set_up(void)
{
	sent = sent ? sent : malloc(ROOM);
	other = other ? other : malloc(ROOM);
	expected = expected ? expected : malloc(ROOM);
	here = here ? here : malloc(ROOM);
	got = got ? got : malloc(ROOM);
	wire = wire ? wire : malloc(WIRE);
	assert_true(sent && other && expected && here && got && wire);
	counters = (struct iwarp_counters){0};
	qp_store_init(&store, &counters);
	qp_store_init(&far_store, &far_counters);
}

static void tear_down(void)
{
	qp_store_fini(&store);
	qp_store_fini(&far_store);
}

static unsigned rounds(void)
{
	const char *n = getenv("SUMS_ROUNDS");

	return n ? (unsigned)atoi(n) : ROUNDS;
}

/* Memory and sums are used again and again, on connections that stay and on new ones. */
static void right_octets_arrive(void **state)
{
	(void)state;
	set_up();
	begin();
	leaves_out = true;
	for (unsigned i = 0; i < rounds(); i++) {
		uint32_t len = any_len(), period = any_period();
		struct sums *s = any_sums(period);

		for (uint32_t n = 1 + (pick(4) == 0); n; n--) { /* another try: all comes again */
			fill(0, len);
			come(len, s);
		}
		if (pick(8) == 0) { /* the user changes octets */
			sums_end(s);
			here[len - 1] ^= 1;
			sent[len - 1] ^= 1;
		}
		for (uint32_t n = 1 + pick(2); n; n--) {
			memset(got, 0, len);
			go_out(len, s, period);
			all_is_well();
			assert_memory_equal(got, sent, len);
		}
		sums_give(s);
		if (pick(4) == 0) {
			end();
			begin();
		}
	}
	leaves_out = false;
	end();
	print_message("carried %llu, computed %llu\n", (unsigned long long)counters.crc_carried,
		      (unsigned long long)counters.crc_computed);
	tear_down();
}

/* A peer reads a large item in Reads of a size of its own, which begin between points: at most two FPDUs of each Read
 * have a CRC that is computed. */
static void reads_of_any_size_keep_crcs(void **state)
{
	(void)state;
	set_up();
	begin_qp(&in_peer, &far_store, true, 65483);
	begin_qp(&in, &store, false, 65483);
	begin_qp(&out, &store, true, 65483);
	begin_qp(&out_peer, &far_store, false, 65483);
	for (unsigned i = 0; i < 20; i++) {
		uint32_t slice = out.tx.max_tagged, size = 2 * slice + pick(4 * slice), reads = 0;
		struct sums *s = sums_take(&store.sums, 0, slice, UINT32_MAX, ROOM / slice + 8);
		struct segment seg;

		assert_non_null(s);
		fill(0, ROOM);
		read_in(ROOM, s);
		counters = (struct iwarp_counters){0};
		assert_int_equal(qp_expose(&out, here, ROOM, FABRIC_REMOTE_READ, &seg), 0);
		qp_sum_exposure(&out, seg.handle, s, 0);
		for (uint32_t at = 0; at < ROOM; at += size, reads++) {
			struct segment from = {seg.handle, size < ROOM - at ? size : ROOM - at, at};

			assert_int_equal(qp_read(&out_peer, got + at, &from, NULL), 0);
			exchange(&out_peer, &out);
			drop_events(&out_peer);
		}
		withdraw(&out, seg.handle);
		all_is_well();
		assert_memory_equal(got, sent, ROOM);
		assert_in_range(counters.crc_computed, 0, 2 * slice * reads);
		sums_give(s);
	}
	end();
	tear_down();
}

/* The peer sends @len octets, in one or two pieces, into a Receive at @here. Return: their sums, or NULL. */
static struct sums *message_in(uint32_t len)
{
	uint32_t first = pick(len + 1);
	struct fabric_sge sge[] = {{sent, first}, {sent + first, len - first}};
	struct fabric_event ev = {0};

	assert_int_equal(qp_post_recv(&in, here, len, NULL), 0);
	assert_int_equal(qp_send(&in_peer, sge, 2, 0, NULL), 0);
	exchange(&in_peer, &in);
	drop_events(&in_peer);
	assert_int_equal(qp_next_event(&in, &ev), 1);
	assert_int_equal(ev.type, FABRIC_EV_RECV);
	assert_int_equal(ev.len, len);
	return ev.sums ? container_of(ev.sums, struct sums, base) : NULL;
}

/* All but its first @from octets goes on, behind a header of another length. */
static void message_out(uint32_t from, uint32_t len, struct sums *sums)
{
	uint8_t header[100];
	uint32_t head = 1 + pick(sizeof(header)), first = pick(3) ? 0 : pick(head);
	struct fabric_sge sge[] = {
		{header, first}, {header + first, head - first}, {here + from, len - from}};

	memset(header, 7, head);
	assert_int_equal(qp_post_recv(&out_peer, got, head + len, NULL), 0);
	assert_int_equal(qp_send(&out, sge, 3, 0, NULL), 0);
	if (sums)
		qp_sum_posted(&out, first ? 2 : 1, sums, from);
	exchange(&out, &out_peer);
	memmove(got, got + head, len - from);
}

/* All but its first @from octets is read by the other peer. */
static void message_read(uint32_t from, uint32_t len, struct sums *sums)
{
	struct segment seg;

	assert_int_equal(qp_expose(&out, here + from, len - from, FABRIC_REMOTE_READ, &seg), 0);
	if (sums)
		qp_sum_exposure(&out, seg.handle, sums, from);
	for (uint32_t at = 0, part; at < len - from && out.state == QP_OPEN; at += part) {
		struct segment piece = {seg.handle, 0, at};

		piece.length = part = pick(3) ? len - from - at : 1 + pick(len - from - at);
		assert_int_equal(qp_read(&out_peer, got + at, &piece, NULL), 0);
		exchange(&out_peer, &out);
		drop_events(&out_peer);
	}
	withdraw(&out, seg.handle);
}

/* Messages go on in Sends and in Reads. A bit that flips in the Receive ends the connection, unless the message is so
 * short that it would be copied. */
static void messages_go_on(void **state)
{
	(void)state;
	set_up();
	for (unsigned i = 0; i < rounds(); i++) {
		uint32_t len = 2 + (pick(4) ? pick(4096) : pick(1 << 16));
		uint32_t from = pick(len < 200 ? len : 200);
		bool flips = pick(3) == 0, sends = pick(2);
		struct sums *s;

		begin();
		fill(0, len);
		s = message_in(len);
		assert_true(s || len <= QP_TX_SHORT);
		if (flips)
			here[from + pick(len - from)] ^= (uint8_t)(1u << pick(8));
		if (sends)
			message_out(from, len, s);
		else
			message_read(from, len, s);
		if (flips && s && (!sends || len - from > QP_TX_SHORT)) {
			assert_int_equal(out_peer.status, ERR_CRC);
		} else if (!flips) {
			all_is_well();
			assert_memory_equal(got, sent + from, len - from);
		}
		drop_events(&out);
		drop_events(&out_peer);
		sums_give(s);
		end();
	}
	print_message("carried %llu, computed %llu\n", (unsigned long long)counters.crc_carried,
		      (unsigned long long)counters.crc_computed);
	tear_down();
}

/* Octets of the stream's peer that the gateway has not taken yet, and pieces that it has. */
static struct {
	uint8_t octets[WINDOW];
	uint32_t at, len;
	struct fabric_event pieces[FABRIC_STREAM_PIECES];
	unsigned held;
} line;

static void stream_in(void)
{
	if (line.at == line.len) {
		line.at = 0;
		line.len = (uint32_t)drain(&in_peer, line.octets, 1 + pick(WINDOW - 1));
	}
	if (in.rx.sink_blocked)
		qp_rx_resume(&in);
	line.at += (uint32_t)feed(&in, line.octets + line.at, line.len - line.at, 1 + pick(WINDOW));
	move(&in, &in_peer, WIRE);
	drop_events(&in_peer);
}

/* The oldest piece goes on to @far, in whatever parts, and its memory comes back. */
static void piece_out(uint32_t handle, uint32_t far, struct sums *sums)
{
	const struct fabric_event *p = &line.pieces[0];

	for (uint32_t done = 0, part; done < p->len; done += part) {
		struct fabric_sge sge = {p->at + done, 0};
		struct segment to = {far, 0, p->offset + done};

		part = pick(3) ? p->len - done : 1 + pick(p->len - done);
		sge.len = to.length = part;
		while (qp_write(&out, &sge, 1, &to, NULL)) {
			exchange(&out, &out_peer);
			drop_events(&out);
		}
		qp_sum_posted(&out, 0, sums, p->offset + done);
	}
	exchange(&out, &out_peer);
	drop_events(&out);
	qp_went_on(&in, handle, p->len);
	memmove(line.pieces, line.pieces + 1, --line.held * sizeof(line.pieces[0]));
}

static void stream(uint32_t len, bool goes_back, struct sums *sums)
{
	static uint8_t window[WINDOW];
	struct fabric_piece piece = {window, WINDOW};
	struct segment seg, far;
	uint32_t at = 0;

	line.at = line.len = line.held = 0;
	assert_int_equal(qp_stream(&in, &piece, len, NULL, &seg), 0);
	qp_sum_exposure(&in, seg.handle, sums, 0);
	assert_int_equal(qp_expose(&out_peer, got, len, FABRIC_REMOTE_WRITE, &far), 0);
	while (at < len || line.held || in.ev_count || in.rx.sink_blocked || in_peer.ops.used ||
	       line.at < line.len) {
		if (at < len && in_peer.ops.used < 4) {
			uint32_t part = 1 + pick(len - at);
			const uint8_t *octets = goes_back && pick(2) ? other : sent;
			struct fabric_sge sge = {octets + at, part};
			struct segment to = {seg.handle, part, at};

			memcpy(expected + at, octets + at, part);
			assert_int_equal(qp_write(&in_peer, &sge, 1, &to, NULL), 0);
			at += part;
			if (goes_back && pick(4) == 0)
				at -= pick(part);
		}
		stream_in();
		if (line.held < FABRIC_STREAM_PIECES && pick(2) &&
		    qp_next_event(&in, &line.pieces[line.held]))
			line.held++;
		if (line.held && pick(2))
			piece_out(seg.handle, far.handle, sums);
		all_is_well();
	}
	assert_memory_equal(got, expected, len);
	withdraw(&in, seg.handle);
}

/* The same through the window of a stream: pieces go on as they come, some late. */
static void streams_go_on(void **state)
{
	(void)state;
	set_up();
	for (unsigned i = 0; i < rounds() / 10; i++) {
		uint32_t len = 1 + pick(ROOM);
		struct sums *s;

		begin();
		s = any_sums(any_period());
		fill(0, len);
		memcpy(other, sent, len);
		fill(0, len);
		stream(len, pick(4) == 0, s);
		sums_give(s);
		end();
	}
	print_message("carried %llu, computed %llu\n", (unsigned long long)counters.crc_carried,
		      (unsigned long long)counters.crc_computed);
	tear_down();
}

/* A bit of the gateway's memory flips between in and out: the receiver ends the connection. Only octets
 * whose points were forgotten, because an item had too many of them, go unnoticed. */
static void flips_are_noticed(void **state)
{
	unsigned delivered = 0, flips = rounds() / 2;

	(void)state;
	set_up();
	for (unsigned i = 0; i < flips; i++) {
		uint32_t len = any_len(), at = pick(len), least;
		struct sums *s;

		begin();
		least = in_peer.tx.max_tagged < out.tx.max_tagged ? in_peer.tx.max_tagged
								  : out.tx.max_tagged;
		s = sums_take(&store.sums, 0, out.tx.max_tagged, UINT32_MAX, 4096);
		assert_non_null(s);
		fill(0, len);
		read_in(len, s);
		here[at] ^= (uint8_t)(1u << pick(8));
		go_out(len, s, any_period());
		if (out_peer.state == QP_OPEN || out_peer.status != ERR_CRC) {
			delivered++;
			assert_true(len / least > SUMS_LEAST * 4);
		}
		sums_give(s);
		end();
	}
	print_message("%u of %u flips passed\n", delivered, flips);
	assert_true(delivered < flips / 20);
	tear_down();
}

static size_t sums_in_use(void)
{
	size_t n = 0;

	for (unsigned i = 0; i < SUMS_SIZES; i++)
		n += store.sums.pools[i].used;
	return n;
}

/* Takes all that @host may have of the smallest size. Return: how many. */
static unsigned take_all(struct sums_store *from, struct sums **all, uint8_t host)
{
	unsigned n = 0;

	while ((all[n] = sums_of_message(from, host, 4096, 1448)))
		n++;
	return n;
}

static void a_host_leaves_a_quarter_to_others(void **state)
{
	enum { MOST = SUMS_MOST / SUMS_LEAST / sizeof(struct sum_point) };
	static struct sums *first[MOST], *second[MOST];
	static struct sums_store from;
	unsigned n, n2;

	(void)state;
	sums_store_init(&from);
	n = take_all(&from, first, 7);
	n2 = take_all(&from, second, 8);
	assert_true(n >= 1000);
	assert_in_range(n2, n / 4 - 1, n / 4 + 1); /* three quarters of the rest */
	for (unsigned i = 0; i < n; i++)
		sums_give(first[i]);
	for (unsigned i = 0; i < n2; i++)
		sums_give(second[i]);
	for (unsigned i = 0; i < SUMS_SIZES; i++)
		assert_int_equal(from.pools[i].used, 0);
	assert_int_equal(take_all(&from, first, 8), n);
	sums_store_fini(&from);
}

static void say(uint32_t len, bool last)
{
	uint8_t fpdu[2048];
	struct ddp_header h = {.last = last,
			       .opcode = RDMAP_SEND,
			       .queue = DDP_QUEUE_SEND,
			       .msn = in.rx.send_msn,
			       .offset = 0};
	size_t n = make_fpdu(fpdu, &h, sent, len, true);

	assert_int_equal(feed(&in, fpdu, n, 0), n);
}

/* A message has one set of sums, however many empty segments it begins with; and also if its connection ends. */
static void empty_segments_take_no_sums(void **state)
{
	struct fabric_event ev;

	(void)state;
	set_up();
	begin();
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(qp_post_recv(&in, here, 2000, NULL), 0);
		for (unsigned i = 0; i < 10; i++)
			say(0, false);
		assert_int_equal(sums_in_use(), 1);
		if (k == 1)
			break;
		say(1200, true);
		assert_int_equal(qp_next_event(&in, &ev), 1);
		assert_non_null(ev.sums);
		sums_give(container_of(ev.sums, struct sums, base));
		assert_int_equal(sums_in_use(), 0);
	}
	end();
	assert_int_equal(sums_in_use(), 0);
	tear_down();
}

/* However many pieces of memory are in use, their sums take so much and no more. */
static void memory_of_sums_is_bounded(void **state)
{
	static struct sums *taken[SUMS_MOST / sizeof(struct sums)];
	struct qp_store some;
	size_t n = 0;

	(void)state;
	qp_store_init(&some, &counters);
	while ((taken[n] = sums_take(&some.sums, (uint8_t)n, 1000, UINT32_MAX, 1)))
		n++;
	assert_in_range(n, 256, SUMS_MOST / (SUMS_LEAST * sizeof(struct sum_point)));
	while (n > 0)
		sums_give(taken[--n]);
	qp_store_fini(&some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_leaves_a_quarter_to_others),
		cmocka_unit_test(memory_of_sums_is_bounded),
		cmocka_unit_test(lengths_are_shifted),
		cmocka_unit_test(right_octets_arrive),
		cmocka_unit_test(reads_of_any_size_keep_crcs),
		cmocka_unit_test(messages_go_on),
		cmocka_unit_test(empty_segments_take_no_sums),
		cmocka_unit_test(streams_go_on),
		cmocka_unit_test(flips_are_noticed),
	};
	const char *from = getenv("SUMS_SEED");

	seed = from ? (uint64_t)atoll(from) : 1;
	return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
