/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs joined by a pipe that cuts the stream anywhere. For all cuts, FPDU sizes and
 * mixes: messages arrive in order, payload is equal, data that a Send announces was placed before
 * it, and every operation completes exactly once. Operations of one kind complete in order, except
 * short Sends that were copied.
 */
#include <stdlib.h>

#include "tests/cmocka_all.h"
#include "tests/iwarp/qp_tools.h"
#include "tests/rng.h"

enum { MSG = 3000, REGION = 9000, REGIONS = 6, RECVS = 5, SENDS = 9, PIPE = 1 << 16, OPS = 150 };

/* Every Send begins with: its number, then the region its Writes are in or NONE, and its length. */
enum { NONE = 0xff, SEND_HEAD = 8 };

struct region {
	uint8_t mem[REGION];
	struct segment seg;
	uint32_t seed;
	enum { FREE, FOR_WRITE, FOR_READ, LEAVING } use;
};

struct end {
	struct qp qp;
	struct iwarp_counters counters;
	struct qp_store store;
	struct end *peer;
	uint8_t pipe[PIPE]; /* octets on their way to the peer */
	size_t pipe_len;
	uint8_t recvs[RECVS][MSG];
	struct region regions[REGIONS];
	uint8_t sends[SENDS][MSG], writes[SENDS][REGION], reads[SENDS][REGION];
	bool copied[SENDS]; /* that one was: nothing tells of its end */
	uint32_t send_posted, send_done, recv_next, write_posted, write_done, read_posted,
		read_done, recv_posted, recv_done;
	struct {
		struct region *from;
		uint32_t offset, len;
	} reading[SENDS];
};

static struct end ends[2];
static struct rng rng;

static uint8_t octet(uint32_t seed, uint32_t at)
{
	return (uint8_t)(seed * 31 + at * 7 + (at >> 8));
}

static void fill(uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = octet(seed, i);
}

static void check(const uint8_t *p, uint32_t len, uint32_t seed, uint32_t from)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != octet(seed, from + i))
			fail_msg("octet %u of %u differs", i, len);
}

static void post_recv(struct end *e)
{
	int i = (int)(e->recv_posted++ % RECVS);

	assert_int_equal(qp_post_recv(&e->qp, e->recvs[i], MSG, e->recvs[i]), 0);
}

static void start_end(struct end *e, struct end *peer, const struct qp_stream *s)
{
	const struct qp_depths depths = {.max_recvs = RECVS,
					 .max_sends = SENDS,
					 .max_exposures = REGIONS,
					 .ird = 3,
					 .ord = 3};
	uint64_t seed[5];

	memset(e, 0, sizeof(*e));
	e->peer = peer;
	for (int i = 0; i < 5; i++)
		seed[i] = rng_next(&rng);
	qp_store_init(&e->store, &e->counters);
	assert_int_equal(qp_init(&e->qp, &depths, seed, &e->store), 0);
	qp_start(&e->qp, s);
	for (int i = 0; i < RECVS; i++)
		post_recv(e);
}

static struct region *pick_region(struct end *e, int use)
{
	uint32_t first = rng_below(&rng, REGIONS);

	for (uint32_t i = 0; i < REGIONS; i++) {
		struct region *r = &e->regions[(first + i) % REGIONS];

		if ((int)r->use == use)
			return r;
	}
	return NULL;
}

/* Cuts @len octets into pieces. Return: how many. */
static unsigned cut(struct fabric_sge *sge, uint8_t *data, uint32_t len)
{
	unsigned n = 0;

	while (n < FABRIC_MAX_SGE - 1 && len && rng_below(&rng, 2)) {
		uint32_t piece = rng_below(&rng, len + 1);

		sge[n++] = (struct fabric_sge){data, piece};
		data += piece;
		len -= piece;
	}
	sge[n++] = (struct fabric_sge){data, len};
	return n;
}

/* Sends that were copied are complete. */
static void pass_copied(struct end *e)
{
	while (e->send_done < e->send_posted && e->copied[e->send_done % SENDS])
		e->send_done++;
}

/* A Send of a random kind; @written: the peer's region that Writes before it filled, or NULL. */
static bool post_send(struct end *e, struct region *written)
{
	uint8_t *msg = e->sends[e->send_posted % SENDS];
	uint32_t len = SEND_HEAD + rng_below(&rng, rng_below(&rng, 4) ? 100 : MSG - SEND_HEAD + 1);
	bool inv = written && rng_below(&rng, 2);
	struct fabric_sge sge[FABRIC_MAX_SGE];
	unsigned n;

	/* Messages in flight never exceed the peer's Receives. */
	pass_copied(e);
	if (e->send_posted - e->peer->recv_done >= RECVS || e->send_posted - e->send_done >= SENDS)
		return false;
	fill(msg, len, e->send_posted + 1000);
	msg[0] = (uint8_t)e->send_posted;
	msg[1] = written ? (uint8_t)(written - e->peer->regions) : NONE;
	msg[2] = inv;
	msg[3] = (uint8_t)len;
	n = cut(sge, msg, len);
	e->copied[e->send_posted % SENDS] =
		rng_below(&rng, 2) && qp_send_short(&e->qp, sge, n, inv ? written->seg.handle : 0);
	if (e->copied[e->send_posted % SENDS])
		memset(msg, 0xee, len); /* its octets are ours again */
	else if (qp_send(&e->qp, sge, n, inv ? written->seg.handle : 0, msg))
		return false;
	e->send_posted++;
	return true;
}

/* Fills a region of the peer's by some Writes, then tells it. */
static void post_writes(struct end *e)
{
	struct region *r = pick_region(e->peer, FREE);
	struct fabric_sge sge[FABRIC_MAX_SGE];
	uint8_t *from = e->writes[e->write_posted % SENDS];
	struct segment to;
	unsigned n;
	uint32_t half;

	pass_copied(e);
	if (!r || e->qp.ops.used + 3 > SENDS || e->send_posted - e->peer->recv_done >= RECVS ||
	    e->send_posted - e->send_done >= SENDS)
		return;
	r->seed = (uint32_t)rng_next(&rng);
	r->seg.length = rng_below(&rng, 2) ? rng_below(&rng, REGION) : rng_below(&rng, 300);
	assert_int_equal(qp_expose(&e->peer->qp, r->mem, r->seg.length,
				   FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &r->seg),
			 0);
	r->use = FOR_WRITE;
	to = r->seg;
	half = rng_below(&rng, to.length + 1);
	fill(from, to.length, r->seed);
	n = cut(sge, from, half);
	assert_int_equal(qp_write(&e->qp, sge, n, &to, from), 0);
	e->write_posted++;
	/* Both Writes borrow the same buffer: the second completes last. */
	to.offset = half;
	memcpy(e->writes[e->write_posted % SENDS], from, to.length);
	from = e->writes[e->write_posted % SENDS];
	n = cut(sge, from + half, r->seg.length - half);
	assert_int_equal(qp_write(&e->qp, sge, n, &to, from), 0);
	e->write_posted++;
	assert_true(post_send(e, r));
}

static void post_read(struct end *e)
{
	uint32_t i = e->read_posted % SENDS, offset;
	struct region *r = pick_region(e->peer, FOR_READ);
	struct segment from;

	if (!r && (r = pick_region(e->peer, FREE))) {
		r->seed = (uint32_t)rng_next(&rng);
		fill(r->mem, REGION, r->seed);
		assert_int_equal(
			qp_expose(&e->peer->qp, r->mem, REGION, FABRIC_REMOTE_READ, &r->seg), 0);
		r->use = FOR_READ;
	}
	if (!r)
		return;
	from = r->seg;
	offset = rng_below(&rng, REGION + 1);
	from.offset += offset;
	from.length = rng_below(&rng, REGION - offset + 1);
	if (qp_read(&e->qp, e->reads[i], &from, e->reads[i]))
		return;
	e->reading[i].from = r;
	e->reading[i].offset = offset;
	e->reading[i].len = from.length;
	e->read_posted++;
}

static void on_recv(struct end *e, const struct fabric_event *ev)
{
	uint8_t *msg = ev->cookie;
	uint32_t n = e->recv_next++, written;
	struct region *r;

	assert_ptr_equal(msg, e->recvs[e->recv_done++ % RECVS]);
	assert_int_equal(msg[0], (uint8_t)n);
	assert_int_equal(msg[3], (uint8_t)ev->len);
	check(msg + 4, ev->len - 4, n + 1000, 4);
	if (msg[1] != NONE) {
		r = &e->regions[msg[1]];
		check(r->mem, r->seg.length, r->seed, 0);
		assert_int_equal(ev->invalidated, msg[2] ? r->seg.handle : 0);
		assert_int_equal(qp_withdraw(&e->qp, r->seg.handle, r, &written), 1);
		r->use = FREE;
	}
	post_recv(e);
}

static void on_event(struct end *e, const struct fabric_event *ev)
{
	uint32_t i;

	assert_int_equal(ev->status, 0);
	switch (ev->type) {
	case FABRIC_EV_RECV:
		on_recv(e, ev);
		break;
	case FABRIC_EV_SEND:
		pass_copied(e);
		assert_ptr_equal(ev->cookie, e->sends[e->send_done++ % SENDS]);
		break;
	case FABRIC_EV_WRITE:
		assert_ptr_equal(ev->cookie, e->writes[e->write_done++ % SENDS]);
		break;
	case FABRIC_EV_READ:
		i = e->read_done++ % SENDS;
		assert_ptr_equal(ev->cookie, e->reads[i]);
		assert_int_equal(ev->len, e->reading[i].len);
		check(e->reads[i], ev->len, e->reading[i].from->seed, e->reading[i].offset);
		break;
	default:
		fail_msg("unexpected event %d", ev->type);
	}
}

/* Moves a random number of octets out of one end and into the other. */
static void move(struct end *e)
{
	size_t n;

	if (rng_below(&rng, 3))
		e->pipe_len += drain(&e->qp, e->pipe + e->pipe_len,
				     rng_below(&rng, (uint32_t)(PIPE - e->pipe_len) + 1));
	if (rng_below(&rng, 3)) {
		size_t some = rng_below(&rng, (uint32_t)e->pipe_len + 1);

		n = feed(&e->peer->qp, e->pipe, some, 1 + rng_below(&rng, 5000));
		memmove(e->pipe, e->pipe + n, e->pipe_len - n);
		e->pipe_len -= n;
	}
}

static void post_something(struct end *e)
{
	switch (rng_below(&rng, 4)) {
	case 0:
		post_send(e, NULL);
		break;
	case 1:
		post_writes(e);
		break;
	default:
		post_read(e);
		break;
	}
}

static void pull_events(struct end *e)
{
	struct fabric_event ev;

	assert_int_equal(e->qp.state, QP_OPEN);
	while (rng_below(&rng, 8) && qp_next_event(&e->qp, &ev))
		on_event(e, &ev);
}

static bool is_idle(const struct end *e)
{
	return !e->qp.ops.used && !qp_has_events(&e->qp) && !e->pipe_len &&
	       e->qp.tx.built == e->qp.tx.taken;
}

static void check_end(struct end *e)
{
	uint32_t written;

	pass_copied(e);
	assert_int_equal(e->send_done, e->send_posted);
	assert_int_equal(e->recv_next, e->peer->send_posted);
	assert_int_equal(e->write_done, e->write_posted);
	assert_int_equal(e->read_done, e->read_posted);
	for (int i = 0; i < REGIONS; i++)
		if (e->regions[i].use != FREE)
			assert_int_equal(
				qp_withdraw(&e->qp, e->regions[i].seg.handle, NULL, &written), 1);
	assert_int_equal(e->qp.stags.live, 0);
	assert_int_equal(e->qp.rx.bulk_reads + e->qp.rx.bulk_writes, 0);
	assert_int_equal(e->counters.fpdus_out, e->peer->counters.fpdus_in);
	assert_int_equal(e->counters.bytes_out, e->peer->counters.bytes_in);
}

static void one_conversation(uint64_t seed)
{
	static const uint32_t sizes[] = {128, 256, 1448, 8948, 65536};
	struct qp_stream s;

	rng = (struct rng){seed};
	s = (struct qp_stream){.initiator = true, .ord = 3};
	s.crc = rng_below(&rng, 4) != 0;
	s.fpdu_max = sizes[rng_below(&rng, 5)];
	start_end(&ends[0], &ends[1], &s);
	s.initiator = false;
	start_end(&ends[1], &ends[0], &s);
	for (int i = 0; i < OPS * 20; i++) {
		struct end *e = &ends[rng_below(&rng, 2)];

		if (i < OPS * 10 && rng_below(&rng, 3) == 0)
			post_something(e);
		move(e);
		pull_events(e);
	}
	/* The acceptor speaks once it was spoken to. */
	if (!ends[0].send_posted)
		post_send(&ends[0], NULL);
	for (int i = 0; i < 100000 && !(is_idle(&ends[0]) && is_idle(&ends[1])); i++) {
		move(&ends[i & 1]);
		pull_events(&ends[i & 1]);
	}
	check_end(&ends[0]);
	check_end(&ends[1]);
	qp_fini(&ends[0].qp);
	qp_fini(&ends[1].qp);
	qp_store_fini(&ends[0].store);
	qp_store_fini(&ends[1].store);
}

static void test_conversations(void **state)
{
	struct rng seeds = rng_seeded("qp_conversations", 20260101);
	int rounds = getenv("SEED") ? 1 : 150;

	(void)state;
	if (rounds == 1) {
		one_conversation(seeds.state);
		return;
	}
	for (int i = 0; i < rounds; i++) {
		uint64_t seed = rng_next(&seeds);

		printf("SEED=%llu\n", (unsigned long long)seed);
		one_conversation(seed);
	}
}

/* One stream, cut in two at every place, and into pieces of every small size. */
static void test_every_cut(void **state)
{
	const struct qp_depths depths = {
		.max_recvs = 4, .max_sends = 8, .max_exposures = 2, .ird = 2, .ord = 2};
	const uint64_t seed[5] = {1, 2, 3, 4, 5};
	struct qp_stream s = {.initiator = true, .crc = true, .ord = 2, .fpdu_max = 128};
	static uint8_t wire[4096], out[600], recvs[2][400], region[600];
	static struct qp tx, rx;
	struct iwarp_counters counters = {0};
	struct qp_store store;
	struct segment seg;
	size_t len = 0;

	(void)state;
	qp_store_init(&store, &counters);
	fill(out, sizeof(out), 9);
	for (size_t at = 0; at == 0 || at < len * 2; at++) {
		struct fabric_sge sge[2] = {{out, 301}, {out, 555}};

		memset(recvs, 0, sizeof(recvs));
		memset(region, 0, sizeof(region));
		assert_int_equal(qp_init(&rx, &depths, seed, &store), 0);
		s.initiator = false;
		qp_start(&rx, &s);
		for (int i = 0; i < 2; i++)
			assert_int_equal(qp_post_recv(&rx, recvs[i], 400, NULL), 0);
		assert_int_equal(
			qp_expose(&rx, region, 600, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH, &seg), 0);
		if (!len) {
			assert_int_equal(qp_init(&tx, &depths, seed, &store), 0);
			s.initiator = true;
			qp_start(&tx, &s);
			assert_int_equal(qp_send(&tx, sge, 1, 0, NULL), 0);
			assert_int_equal(qp_write(&tx, sge + 1, 1, &seg, NULL), 0);
			assert_int_equal(qp_send(&tx, sge, 1, seg.handle, NULL), 0);
			len = drain(&tx, wire, sizeof(wire));
			qp_fini(&tx);
		}
		if (at < len) { /* one cut */
			assert_int_equal(feed(&rx, wire, at, 0), at);
			assert_int_equal(feed(&rx, wire + at, len - at, 0), len - at);
		} else { /* many */
			assert_int_equal(feed(&rx, wire, len, at - len + 1), len);
		}
		assert_int_equal(rx.ev_count, 2);
		assert_int_equal(rx.stags.live, 0);
		check(recvs[0], 301, 9, 0);
		check(recvs[1], 301, 9, 0);
		check(region, 555, 9, 0);
		qp_fini(&rx);
	}
	qp_store_fini(&store);
}

/* A short Send is copied unless something has to go before it; what does not fit is left to qp_send(). */
static void test_short_sends(void **state)
{
	const struct qp_depths depths = {
		.max_recvs = 4, .max_sends = 8, .max_exposures = 2, .ird = 2, .ord = 2};
	const uint64_t seed[5] = {1, 2, 3, 4, 5};
	const struct qp_stream s = {
		.initiator = true, .hold = true, .crc = true, .ord = 2, .fpdu_max = 1448};
	static uint8_t out[QP_TX_SHORT + 1], wire[2 * QP_TX_CTL];
	struct fabric_sge fits[2] = {{out, 7}, {out + 7, QP_TX_SHORT - 7}}, tiny = {out, 20};
	struct fabric_sge more = {out, QP_TX_SHORT + 1};
	struct iwarp_counters counters = {0};
	struct qp_store store;
	struct iovec *iov;
	unsigned copied = 0;
	struct qp qp;

	(void)state;
	qp_store_init(&store, &counters);
	assert_int_equal(qp_init(&qp, &depths, seed, &store), 0);
	assert_false(qp_send_short(&qp, &tiny, 1, 0)); /* no stream */
	qp_start(&qp, &s);
	assert_false(qp_send_short(&qp, &tiny, 1, 0)); /* held */
	qp_release(&qp);
	assert_false(qp_send_short(&qp, &more, 1, 0));
	assert_int_equal(qp_send(&qp, &tiny, 1, 0, NULL), 0);
	assert_false(qp_send_short(&qp, &tiny, 1, 0)); /* behind one that waits */
	assert_true(drain(&qp, wire, sizeof(wire)) > 0);
	assert_int_equal(store.batches.used, 0);
	assert_int_equal(qp.ev_count, 1);
	store.early = QP_EARLY;
	assert_false(qp_send_short(&qp, &tiny, 1, 0)); /* others have begun enough */
	store.early = 0;
	assert_true(qp_send_short(&qp, fits, 2, 0));
	assert_int_equal(store.early, 1);
	while (qp_send_short(&qp, &tiny, 1, 0))
		copied++;
	assert_in_range(copied, 64, QP_TX_CTL / 44);
	assert_int_equal(qp_tx_want(&qp, &iov), 1); /* all of them are one piece */
	assert_int_equal(iov->iov_len, 1048 + 44 * copied);
	qp_tx_took(&qp, 100);
	assert_false(qp_send_short(&qp, &tiny, 1, 0));
	assert_int_equal(drain(&qp, wire, sizeof(wire)), 948 + 44 * copied);
	assert_int_equal(qp.ev_count, 1);
	assert_int_equal(store.batches.used, 0);
	assert_int_equal(store.early, 0);
	assert_true(qp_send_short(&qp, &tiny, 1, 0));
	qp_disconnect(&qp);
	assert_false(qp_send_short(&qp, &tiny, 1, 0));
	assert_int_equal(drain(&qp, wire, sizeof(wire)), 44); /* what was posted before goes out */
	assert_true(qp_send(&qp, &tiny, 1, 0, NULL) == ERR_CLOSED);
	qp_fini(&qp);
	assert_int_equal(store.early, 0);
	qp_store_fini(&store);
}

/* However few octets may go, whole FPDUs do; short Sends that were copied go with what is behind them. */
static void test_whole_fpdus(void **state)
{
	enum { SHORT = 44, TOOK = 7 };
	const struct qp_depths depths = {
		.max_recvs = 4, .max_sends = 8, .max_exposures = 2, .ird = 2, .ord = 2};
	const uint64_t seed[5] = {1, 2, 3, 4, 5};
	const struct qp_stream s = {.initiator = true, .ord = 2, .fpdu_max = 128};
	static uint8_t out[1000], wire[2000];
	struct fabric_sge tiny = {out, 20}, all = {out, sizeof(out)};
	struct segment seg = {.handle = 1, .length = sizeof(out)};
	struct iwarp_counters counters = {0};
	size_t stops[32], len = 0, at = 2 * SHORT;
	struct qp_store store;
	struct iovec *iov;
	unsigned pieces, n = 0;
	struct qp qp;

	(void)state;
	qp_store_init(&store, &counters);
	assert_int_equal(qp_init(&qp, &depths, seed, &store), 0);
	qp_start(&qp, &s);
	assert_true(qp_send_short(&qp, &tiny, 1, 0));
	assert_true(qp_send_short(&qp, &tiny, 1, 0));
	assert_int_equal(qp_write(&qp, &all, 1, &seg, NULL), 0);
	pieces = qp_tx_want(&qp, &iov);
	for (unsigned i = 0; i < pieces; len += iov[i++].iov_len)
		memcpy(wire + len, iov[i].iov_base, iov[i].iov_len);
	while (at < len)
		stops[n++] = at += fpdu_bytes(wire_get16(wire + at));
	assert_in_range(n, 9, 32);
	for (size_t took = 0; took < len; took += TOOK) {
		assert_true(qp_tx_want(&qp, &iov) > 0);
		for (size_t most = 0; most <= len - took; most++) {
			size_t end = 0;

			for (unsigned i = 0; i < n; i++)
				if (stops[i] > took && (!end || stops[i] <= took + most))
					end = stops[i];
			assert_int_equal(qp_tx_whole(&qp, most), end - took);
		}
		qp_tx_took(&qp, len - took < TOOK ? len - took : TOOK);
	}
	qp_fini(&qp);
	qp_store_fini(&store);
}

/* Small Sends do not wait behind a whole long Write or a whole long response. */
static void test_small_sends_pass_responses(void **state)
{
	const struct qp_depths depths = {
		.max_recvs = 4, .max_sends = 8, .max_exposures = 2, .ird = 2, .ord = 2};
	const uint64_t seed[5] = {1, 2, 3, 4, 5};
	const struct qp_stream s = {.initiator = true, .ord = 2, .fpdu_max = 1448};
	static uint8_t big[1 << 16], wire[1 << 17];
	static struct qp qp;
	struct iwarp_counters counters = {0};
	struct qp_store store;
	struct ddp_header h = {.last = true, .opcode = RDMAP_READ_REQUEST, .queue = 1, .msn = 1};
	struct ddp_read read = {.length = sizeof(big)};
	uint8_t payload[RDMAP_READ_BYTES];
	struct fabric_sge sge = {big, 100};
	struct segment seg;
	size_t len, at, sends = 0;

	(void)state;
	qp_store_init(&store, &counters);
	assert_int_equal(qp_init(&qp, &depths, seed, &store), 0);
	qp_start(&qp, &s);
	assert_int_equal(qp_expose(&qp, big, sizeof(big), FABRIC_REMOTE_READ, &seg), 0);
	read.source_stag = seg.handle;
	ddp_read_encode(&read, payload);
	len = make_fpdu(wire, &h, payload, sizeof(payload), false);
	assert_int_equal(feed(&qp, wire, len, 0), len);
	for (int i = 0; i < 3; i++)
		assert_int_equal(qp_send(&qp, &sge, 1, 0, NULL), 0);
	len = drain(&qp, wire, sizeof(wire));
	for (at = 0; at < len && sends < 3; at += fpdu_bytes(wire_get16(wire + at)))
		sends += (wire[at + 3] & 15) == RDMAP_SEND;
	assert_int_equal(sends, 3);
	assert_true(at < 8 * 1448);
	qp_fini(&qp);
	qp_store_fini(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_small_sends_pass_responses),
		cmocka_unit_test(test_short_sends),
		cmocka_unit_test(test_whole_fpdus),
		cmocka_unit_test(test_conversations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
