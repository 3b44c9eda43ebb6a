/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receives that queue pairs share. A message that finds none waits, with everything behind it in
 * the read-ahead, and continues where it was. Nothing is lost, doubled or out of order.
 */
#include "tests/cmocka_all.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/rng.h"

enum { MSG = 600, MESSAGES = 60, REGION = 200000, ROUNDS = 300, RECVS = 8 };

static const uint64_t seed[5] = {1, 2, 3, 4, 5};
static struct iwarp_counters counters;
static struct qp_store tx_store, rx_store;
static struct recvq recvq;
static struct qp tx, rx;
static uint8_t source[REGION], region[REGION], recvs[RECVS][MSG], wire[8 * REGION];
static bool is_posted[RECVS];
static uint32_t lens[MESSAGES], said, heard;
static size_t wire_len, wire_at;
static unsigned spilled, lent; /* looks that found octets set aside; in the scratch block */

static void begin(uint32_t fpdu, bool crc)
{
	const struct qp_depths depths = {.max_recvs = MESSAGES,
					 .max_sends = 2 * MESSAGES,
					 .max_exposures = 4,
					 .ird = 4,
					 .ord = 4};
	const struct qp_stream s = {.initiator = true, .crc = crc, .ord = 4, .fpdu_max = fpdu};

	qp_store_init(&tx_store, &counters);
	qp_store_init(&rx_store, &counters);
	assert_int_equal(recvq_init(&recvq, MSG), 0);
	rx_store.recvq = &recvq;
	assert_int_equal(qp_init(&tx, &depths, seed, &tx_store), 0);
	assert_int_equal(qp_init(&rx, &depths, seed, &rx_store), 0);
	qp_start(&tx, &s);
	qp_start(&rx, &s);
	memset(region, 0, sizeof(region));
	memset(is_posted, 0, sizeof(is_posted));
	said = heard = 0;
	wire_len = wire_at = 0;
}

static void end(void)
{
	qp_fini(&tx);
	qp_fini(&rx);
	recvq_fini(&recvq);
	qp_store_fini(&tx_store);
	qp_store_fini(&rx_store);
	assert_int_equal(mem_live(), 0);
}

/* Writes that end before their memory does, and Sends behind them. */
static uint32_t make_stream(struct rng *r)
{
	uint32_t written = 0;
	struct segment seg;

	assert_int_equal(qp_expose(&rx, region, REGION, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &seg),
			 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t len = rng_below(r, 30000);
		struct fabric_sge sge = {source + written, len};

		if (rng_below(r, 3) == 0 && len <= REGION - written) {
			seg.offset = written;
			assert_int_equal(qp_write(&tx, &sge, 1, &seg, NULL), 0);
			written += len;
		}
		lens[i] = rng_below(r, MSG + 1);
		sge = (struct fabric_sge){source + i, lens[i]};
		assert_int_equal(qp_send(&tx, &sge, 1, 0, NULL), 0);
		said++;
	}
	wire_len = drain(&tx, wire, sizeof(wire));
	return written;
}

static void post(uint32_t n)
{
	for (uint32_t i = 0; i < RECVS && n; i++) {
		if (is_posted[i])
			continue;
		memset(recvs[i], 0xee, MSG);
		assert_int_equal(recvq_post(&recvq, recvs[i], &is_posted[i]), 0);
		is_posted[i] = true;
		n--;
	}
}

static void pull(void)
{
	struct fabric_event ev;

	while (qp_next_event(&rx, &ev)) {
		bool *which = ev.cookie;

		assert_int_equal(ev.type, FABRIC_EV_RECV);
		assert_int_equal(ev.status, 0);
		assert_int_equal(ev.len, lens[heard]);
		assert_memory_equal(recvs[which - is_posted], source + heard, ev.len);
		sums_give(ev.sums ? container_of(ev.sums, struct sums, base) : NULL);
		*which = false;
		heard++;
	}
}

/* As a socket does: what is there, as far as it is wanted, at most @most octets. */
static bool read_some(size_t most)
{
	struct iovec iov[QP_RX_IOV];
	unsigned n = qp_rx_want(&rx, iov);
	size_t got = 0;

	for (unsigned i = 0; i < n && got < most && wire_at < wire_len; i++) {
		size_t piece = iov[i].iov_len;

		piece = piece < most - got ? piece : most - got;
		piece = piece < wire_len - wire_at ? piece : wire_len - wire_at;
		memcpy(iov[i].iov_base, wire + wire_at, piece);
		got += piece;
		wire_at += piece;
	}
	if (n && got)
		qp_rx_got(&rx, got);
	return n && got;
}

/* Octets that were set aside count as memory of the queue pair and of its instance. */
static void check_memory(void)
{
	const struct qp_store *s = &rx_store;
	size_t pools = s->stages.bytes + s->batches.bytes + s->ops.bytes + s->exposures.bytes +
		       s->scratch.bytes;

	for (unsigned i = 0; i < SUMS_SIZES; i++)
		pools += s->sums.pools[i].bytes;
	assert_int_equal(qp_store_bytes(s) - pools, s->spilled);
	assert_int_equal(rx.rx.spill != NULL, s->spilled || s->scratch.used);
	assert_false(s->spilled && s->scratch.used);
	if (s->spilled)
		assert_int_equal(s->spilled, qp_holds(&rx) - QP_STAGE_BYTES);
}

/* As its owner does: tries again when there may be memory. */
static bool lacked_memory(void)
{
	bool lacked = rx.lacks_memory;

	rx.lacks_memory = false;
	return lacked;
}

/* @failing: the allocation that fails once the stream begins to arrive; 0: none. */
static void one_round(uint64_t round, uint64_t failing)
{
	static const uint32_t sizes[] = {128, 400, 1448, 8948};
	struct rng r = {round};
	uint32_t written;

	begin(sizes[rng_below(&r, 4)], rng_below(&r, 2));
	written = make_stream(&r);
	mem_fail_at(failing);
	while (wire_at < wire_len || qp_is_starved(&rx) || rx.rx.spill) {
		size_t most = rng_below(&r, 4) ? SIZE_MAX : 1 + rng_below(&r, 3000);

		if (!read_some(most) && !qp_is_starved(&rx) && !lacked_memory())
			fail_msg("does not go on at octet %zu of %zu", wire_at, wire_len);
		spilled += rx.rx.spill != NULL;
		lent += rx_store.scratch.used > 0;
		check_memory();
		assert_int_equal(rx.state, QP_OPEN);
		qp_rx_pause(&rx);
		if (rng_below(&r, 2))
			post(rng_below(&r, RECVS));
		if (qp_is_starved(&rx))
			qp_rx_resume(&rx);
		pull();
	}
	pull();
	mem_fail_at(0);
	assert_int_equal(heard, said);
	assert_memory_equal(region, source, written);
	qp_rx_pause(&rx);
	assert_null(rx.rx.stage);
	assert_int_equal(rx_store.spilled + rx_store.stages.used, 0);
	end();
}

static void test_waits_anywhere(void **state)
{
	uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 1;

	(void)state;
	for (size_t i = 0; i < REGION; i++)
		source[i] = (uint8_t)(i * 13 + (i >> 8));
	for (uint64_t i = first; i < first + ROUNDS; i++)
		one_round(i, 0);
	print_message("SEED=%llu, %u looks found octets set aside\n", (unsigned long long)first,
		      spilled);
	assert_true(spilled > 0);
	assert_int_equal(lent, 0);
}

/* Whichever allocation fails, the stream goes on, and nothing is lost. */
static void test_memory_is_short(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 30; round++)
		for (uint64_t failing = 1; failing <= 20; failing++)
			one_round(round, failing);
	print_message("%u looks found octets left in the scratch block\n", lent);
	assert_true(lent > 0);
}

/* A message that waits when its connection ends leaves nothing behind, and no Receive is lost. */
static void test_ends_while_it_waits(void **state)
{
	struct rng r = {7};

	(void)state;
	for (int i = 0; i < 50; i++) {
		begin(1448, true);
		make_stream(&r);
		post(3);
		while (!qp_is_starved(&rx) && read_some(SIZE_MAX))
			;
		assert_true(qp_is_starved(&rx));
		if (i % 2)
			qp_stop(&rx, 0, NULL);
		assert_int_equal(recvq.posted, 0);
		qp_fini(&rx);
		assert_int_equal(recvq.posted, 3);
		assert_int_equal(rx_store.spilled + rx_store.stages.used, 0);
		end();
	}
}

/* A queue that was deep for a while hands back what it does not need any more. */
static void test_hands_back(void **state)
{
	static uint8_t buf[MSG];
	uint32_t deep, n = 0;
	void *cookie;

	(void)state;
	assert_int_equal(recvq_init(&recvq, MSG), 0);
	recvq_promise(&recvq, 1000);
	for (int i = 0; i < 3; i++) {
		while (recvq_wanted(&recvq))
			assert_int_equal(recvq_post(&recvq, buf, &n), 0);
		deep = recvq.posted;
		while (recvq.posted)
			recvq_forget(&recvq, recvq_take(&recvq));
		assert_null(recvq_take(&recvq));
	}
	while (recvq_wanted(&recvq))
		assert_int_equal(recvq_post(&recvq, buf, &n), 0);
	assert_true(recvq.posted > deep);
	for (int i = 0; i < 20; i++)
		(void)recvq_period(&recvq);
	while (recvq_next_back(&recvq, &cookie)) {
		assert_ptr_equal(cookie, &n);
		n++;
	}
	assert_true(n > 0 && recvq.held == recvq.posted && recvq.posted <= 32);
	recvq_release_promise(&recvq, 1000);
	(void)recvq_period(&recvq);
	assert_int_equal(recvq.posted, 0);
	recvq_fini(&recvq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_anywhere),
		cmocka_unit_test(test_memory_is_short),
		cmocka_unit_test(test_ends_while_it_waits),
		cmocka_unit_test(test_hands_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
