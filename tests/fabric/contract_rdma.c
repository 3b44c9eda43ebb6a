/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Reads and Writes that are allowed. */

#define MIB (1024u * 1024)

static const uint32_t sizes[] = {0,	1,     3,      4,	5,   1000,	  4096,	  65535,
				 65536, 65537, 262145, MIB - 1, MIB, 4 * MIB - 3, 4 * MIB};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Octets that are not written stay as they are: with FABRIC_SCRATCH those outside of the exposure. */
static void write_every_size(struct contract *t, unsigned access)
{
	struct pair *p = establish(t, 0);

	for (unsigned i = 0; i < NSIZES; i++) {
		uint32_t len = sizes[i], skip = i % 5;
		struct segment seg = do_expose(&p->b, 64 + i % 3, len + 16, access), to;
		size_t at = 64 + i % 3,
		       end = access & FABRIC_SCRATCH ? at + len + 16 : at + skip + len;
		int w;

		memset(p->b.mem, 0xee, len + 256);
		fill(&p->a, i % 7, len, i);
		to = part(seg, skip, 0);
		w = do_write(&p->a, i % 7, len, &to);
		assert_true(w >= 0);
		barrier(t, &p->a, &p->b);
		check(&p->b, at + skip, len, i);
		check_byte(&p->b, 0, access & FABRIC_SCRATCH ? at : at + skip, 0xee);
		check_byte(&p->b, end, 64, 0xee);
		succeed(&p->a, w);
		fence(&p->b, seg.handle);
		assert_int_equal(p->b.conn->handles_live, 0);
	}
}

static void writes_of_every_size(void **state)
{
	write_every_size(*state, FABRIC_REMOTE_WRITE);
}

static void writes_to_scratch(void **state)
{
	write_every_size(*state, FABRIC_REMOTE_WRITE | FABRIC_SCRATCH);
}

static void reads_of_every_size(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	for (unsigned i = 0; i < NSIZES; i++) {
		uint32_t len = sizes[i], skip = i % 5;
		size_t at = 64 + i % 3;
		struct segment seg = do_expose(&p->a, at, len + 16, FABRIC_REMOTE_READ), from;

		memset(p->b.mem, 0xee, len + 256);
		fill(&p->a, at + skip, len, i);
		from = part(seg, skip, len);
		succeed(&p->b, do_read(&p->b, 100 + i, &from));
		check(&p->b, 100 + i, len, i);
		check_byte(&p->b, 0, 100 + i, 0xee);
		check_byte(&p->b, 100 + i + len, 64, 0xee);
		fence(&p->a, seg.handle);
	}
}

static void writes_gather(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct rng rng = rng_seeded("write gather", 12);

	for (int round = 0; round < 20; round++) {
		struct fabric_sge sge[FABRIC_MAX_SGE];
		unsigned n = 1 + rng_below(&rng, FABRIC_MAX_SGE);
		struct segment seg = do_expose(&p->b, 0, 4 * MIB, FABRIC_REMOTE_WRITE);
		uint32_t total = 0;

		for (unsigned i = 0; i < n; i++) {
			uint32_t len = rng_below(&rng, 4) ? rng_below(&rng, 300000) : 0;

			sge[i] = (struct fabric_sge){p->a.mem + i * MIB + rng_below(&rng, 9), len};
			fill(&p->a, (size_t)((const uint8_t *)sge[i].addr - p->a.mem), len, i);
		}
		assert_true(do_write_sge(&p->a, sge, n, &seg) >= 0);
		barrier(t, &p->a, &p->b);
		for (unsigned i = 0; i < n; i++) {
			check(&p->b, total, sge[i].len, i);
			total += sge[i].len;
		}
		fence(&p->b, seg.handle);
		settle(t);
	}
}

/* More than any read depth, from both sides at once. */
static void many_reads_queue(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment sa = do_expose(&p->a, 0, 4 * MIB, FABRIC_REMOTE_READ);
	struct segment sb = do_expose(&p->b, 0, 4 * MIB, FABRIC_REMOTE_READ);
	int ra[CONTRACT_DEPTH], rb[CONTRACT_DEPTH];

	for (unsigned i = 0; i < CONTRACT_DEPTH; i++) {
		fill(&p->a, i * 65536, 60000, i);
		fill(&p->b, i * 65536, 60000, i + 1000);
	}
	for (unsigned i = 0; i < CONTRACT_DEPTH; i++) {
		struct segment fa = part(sa, i * 65536, 60000 - i);
		struct segment fb = part(sb, i * 65536, 60000 - i);

		ra[i] = do_read(&p->a, 8 * MIB + i * 65536, &fb);
		rb[i] = do_read(&p->b, 8 * MIB + i * 65536, &fa);
	}
	assert_int_equal(do_read(&p->a, 8 * MIB, &sb), ERR_AGAIN);
	for (unsigned i = 0; i < CONTRACT_DEPTH; i++) {
		succeed(&p->a, ra[i]);
		succeed(&p->b, rb[i]);
		check(&p->a, 8 * MIB + i * 65536, 60000 - i, i + 1000);
		check(&p->b, 8 * MIB + i * 65536, 60000 - i, i);
	}
}

static void narrow_read_depth(void **state)
{
	struct contract *t = *state;
	struct fabric_conn_params params = default_params();
	struct pair *p;
	struct segment sa;

	params.ird = 1;
	params.ord = 7;
	p = begin(t, 0, &params);
	params.ird = 9;
	params.ord = 9;
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	until(t, &p->b.connected);
	greet(p);
	sa = do_expose(&p->a, 0, MIB, FABRIC_REMOTE_READ);
	fill(&p->a, 0, MIB, 1);
	for (unsigned i = 0; i < 16; i++) {
		struct segment from = part(sa, i * 65536, 65536);

		assert_true(do_read(&p->b, 2 * MIB + i * 65536, &from) >= 0);
	}
	for (int i = 0; i < 16; i++)
		succeed(&p->b, i);
	check(&p->b, 2 * MIB, MIB, 1);
}

/* Writes with a Send behind each: the data is there when the message is. */
static void writes_come_before_the_send(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = do_expose(&p->b, 0, 4 * MIB, FABRIC_REMOTE_WRITE);
	int r[16], w[16];

	for (unsigned i = 0; i < 16; i++)
		r[i] = do_recv(&p->b, 8 * MIB + i * 64, 64);
	pump(t);
	for (unsigned i = 0; i < 16; i++) {
		struct segment to = part(seg, i * 200000, 0);

		fill(&p->a, i * 200000, 200000, i);
		w[i] = do_write(&p->a, i * 200000, 200000, &to);
		assert_true(w[i] >= 0);
		assert_true(do_send(&p->a, 0, 64) >= 0);
	}
	for (unsigned i = 0; i < 16; i++) {
		succeed(&p->b, r[i]);
		check(&p->b, i * 200000, 200000, i);
	}
	for (unsigned i = 0; i < 16; i++)
		succeed(&p->a, w[i]);
}

/* Large transfers in both directions at once: nobody starves, nothing mixes. */
static void both_directions_at_once(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment wa = do_expose(&p->a, 0, 4 * MIB, FABRIC_REMOTE_WRITE);
	struct segment wb = do_expose(&p->b, 0, 4 * MIB, FABRIC_REMOTE_WRITE);
	struct segment ra = do_expose(&p->a, 4 * MIB, 4 * MIB, FABRIC_REMOTE_READ);
	struct segment rb = do_expose(&p->b, 4 * MIB, 4 * MIB, FABRIC_REMOTE_READ);
	int na, nb;

	fill(&p->a, 4 * MIB, 8 * MIB, 1);
	fill(&p->b, 4 * MIB, 8 * MIB, 2);
	assert_true(do_write(&p->a, 8 * MIB, 4 * MIB, &wb) >= 0);
	assert_true(do_write(&p->b, 8 * MIB, 4 * MIB, &wa) >= 0);
	na = do_read(&p->a, 12 * MIB, &rb);
	nb = do_read(&p->b, 12 * MIB, &ra);
	succeed(&p->a, na);
	succeed(&p->b, nb);
	barrier(t, &p->a, &p->b);
	barrier(t, &p->b, &p->a);
	assert_memory_equal(p->a.mem, p->b.mem + 8 * MIB, 4 * MIB);
	assert_memory_equal(p->b.mem, p->a.mem + 8 * MIB, 4 * MIB);
	assert_memory_equal(p->a.mem + 12 * MIB, p->b.mem + 4 * MIB, 4 * MIB);
	assert_memory_equal(p->b.mem + 12 * MIB, p->a.mem + 4 * MIB, 4 * MIB);
}

int contract_run_rdma(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(writes_to_scratch),
		contract_test(writes_of_every_size),
		contract_test(reads_of_every_size),
		contract_test(writes_gather),
		contract_test(many_reads_queue),
		contract_test(narrow_read_depth),
		contract_test(writes_come_before_the_send),
		contract_test(both_directions_at_once),
	};
	return cmocka_run_group_tests_name("reads and writes", tests, NULL, NULL);
}
