/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole established connection. Input: one octet of choices (bit 0 CRC, bit 1
 * initiator, bit 2 Reads of ours out, bit 3 withdraw midway, bit 4 big regions),
 * one octet of how many stream octets come at once, then the stream. Keys are
 * fixed, so STags of the corpus match. Guards around every buffer must survive;
 * each operation completes exactly once.
 */
#include <assert.h>
#include <stdlib.h>

#include "tests/iwarp/qp_tools.h"

enum {
	RECVS = 4,
	RECV = 1024,
	REGION = 6000,
	SMALL_REGION = 2000,
	READ = 5000,
	GUARD = 64,
	EXPOSED = 3,
	READS = 2,
	SENDS = 6
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct guarded {
	uint8_t before[GUARD], mem[REGION], after[GUARD];
};

static struct guarded recvs[RECVS], regions[EXPOSED], sinks[READS];
static struct segment segs[EXPOSED];
static struct qp qp;
static uint8_t out[1 << 16];
static unsigned posted_recvs, posted_ops, done_recvs, done_ops;

/* Everything but the first @len octets of .mem must stay as it is. */
static void guard(struct guarded *g, size_t len)
{
	memset(g, 0xa5, sizeof(*g));
	memset(g->mem, 0, len);
}

static void check_guard(struct guarded *g, size_t len)
{
	for (int i = 0; i < GUARD; i++)
		assert(g->before[i] == 0xa5 && g->after[i] == 0xa5);
	for (size_t i = len; i < REGION; i++)
		assert(g->mem[i] == 0xa5);
}

static void for_all(void (*f)(struct guarded *, size_t), size_t region)
{
	for (int i = 0; i < RECVS; i++)
		f(&recvs[i], RECV);
	for (int i = 0; i < EXPOSED; i++)
		f(&regions[i], i == 1 ? 0 : region);
	for (int i = 0; i < READS; i++)
		f(&sinks[i], READ);
}

static void pull(void)
{
	struct fabric_event ev;

	while (qp_next_event(&qp, &ev)) {
		if (ev.type == FABRIC_EV_RECV) {
			assert(ev.status || ev.len <= RECV);
			done_recvs++;
		} else if (ev.type != FABRIC_EV_WITHDRAWN) {
			done_ops++;
		}
	}
}

static void post(uint8_t choices, uint32_t region)
{
	static const struct segment remote = {.handle = 5, .length = READ, .offset = 9};
	struct fabric_sge sge = {sinks[0].mem, 700};

	for (int i = 0; i < RECVS; i++)
		posted_recvs += !qp_post_recv(&qp, recvs[i].mem, RECV, NULL);
	for (int i = 0; i < EXPOSED; i++)
		assert(!qp_expose(&qp, regions[i].mem, region,
				  i == 0   ? FABRIC_REMOTE_WRITE | FABRIC_SCRATCH
				  : i == 1 ? FABRIC_REMOTE_READ
					   : FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
				  &segs[i]));
	for (int i = 0; choices & 4 && i < READS; i++)
		posted_ops += !qp_read(&qp, sinks[i].mem, &remote, NULL);
	posted_ops += !qp_send(&qp, &sge, 1, 0, NULL);
}

static void converse(uint8_t choices, size_t step, const uint8_t *data, size_t size)
{
	size_t at = 0, n;
	uint32_t written;

	drain(&qp, out, sizeof(out));
	while (at < size) {
		size_t now = size - at < step ? size - at : step;

		n = feed(&qp, data + at, now, 0);
		at += n;
		if (n < now)
			break;
		drain(&qp, out, choices & 8 ? 50 : sizeof(out));
		pull();
		if ((choices & 8) && at > size / 2)
			for (int i = 0; i < EXPOSED; i++)
				(void)!qp_withdraw(&qp, segs[i].handle, NULL, &written);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct qp_depths depths = {.max_recvs = RECVS,
					 .max_sends = SENDS,
					 .max_exposures = EXPOSED,
					 .ird = 2,
					 .ord = 2};
	const uint64_t seed[5] = {1, 2, 3, 4, 5};
	struct iwarp_counters counters = {0};
	struct qp_store store;
	struct qp_stream s = {.ord = 2, .fpdu_max = 1448};
	uint32_t region = size && data[0] & 16 ? REGION : SMALL_REGION;

	if (size < 2)
		return 0;
	s.crc = data[0] & 1;
	s.initiator = data[0] & 2;
	posted_recvs = posted_ops = done_recvs = done_ops = 0;
	for_all(guard, region);
	qp_store_init(&store, &counters);
	if (qp_init(&qp, &depths, seed, &store))
		abort();
	qp_start(&qp, &s);
	post(data[0], region);
	converse(data[0], data[1] ? data[1] * 16u : 1, data + 2, size - 2);
	drain(&qp, out, sizeof(out));
	qp_rx_end(&qp);
	qp_stop(&qp, 0, NULL);
	pull();
	assert(done_recvs == posted_recvs && done_ops == posted_ops && qp.stags.live == 0);
	for_all(check_guard, region);
	qp_fini(&qp);
	qp_store_fini(&store);
	return 0;
}
