/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Reports of a withdrawal about octets that the peer wrote. */

enum { LEN = 1024 * 1024, AT = 4096, PIECES = 64, PIECE = LEN / PIECES, OLD = 0xee };

/* The peer cannot count octets behind those that it wrote. */
static void is_written(struct contract *t, uint32_t written, uint32_t octets)
{
	assert_int_equal(written, t->fabric[1]->reports_written ? octets : FABRIC_WRITTEN_UNKNOWN);
}

static struct segment fresh(struct side *s, unsigned access)
{
	memset(s->mem, OLD, AT + LEN + AT);
	return do_expose(s, AT, LEN, access);
}

/* The octets of the region there, as the peer has them. */
static void put(struct side *from, const struct segment *seg, uint32_t at, uint32_t len)
{
	struct segment to = part(*seg, at, 0);

	succeed(from, do_write(from, AT + at, len, &to));
}

static void tells_how_much_without_a_gap(void **state)
{
	static const struct {
		uint32_t at[3][2], octets;
	} rows[] = {
		{{{0, 0}}, 0},
		{{{0, 100}}, 100},
		{{{1, 100}}, 0},
		{{{0, 100}, {101, 50}}, 100},		   /* leaves a gap */
		{{{0, 100}, {50, 20}}, 100},		   /* within */
		{{{0, 100}, {50, 70}}, 120},		   /* overlaps */
		{{{0, 100}, {101, 50}, {100, 1}}, 151},	   /* the gap is filled */
		{{{200, 100}, {100, 100}, {0, 100}}, 300}, /* the last comes first */
		{{{0, 100}, {100, LEN - 100}}, LEN},
	};
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE);

		for (unsigned k = 0; k < 3; k++)
			put(&p->a, &seg, rows[i].at[k][0], rows[i].at[k][1]);
		barrier(t, &p->a, &p->b);
		is_written(t, fence(&p->b, seg.handle), rows[i].octets);
	}
}

/* Memory that the peer may not write counts as not written. */
static void of_readable_memory_nothing(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = fresh(&p->b, FABRIC_REMOTE_READ);

	succeed(&p->a, do_read(&p->a, AT, &seg));
	is_written(t, fence(&p->b, seg.handle), 0);
}

/* rfc5666bis-01 section 3.2.2: Writes need not come in the order of their addresses. */
static void written_whole_in_any_order(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct rng rng = rng_seeded("writes in any order", 21);
	uint32_t order[PIECES];

	for (int round = 0; round < 12; round++) {
		struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE);

		fill(&p->a, AT, LEN, (uint64_t)round);
		for (uint32_t i = 0; i < PIECES; i++)
			order[i] = round == 0	? PIECES - 1 - i
				   : round == 1 ? i * 2 % PIECES + i / (PIECES / 2)
						: i;
		for (uint32_t i = PIECES; round > 1 && i > 1; i--) {
			uint32_t k = rng_below(&rng, i), was = order[k];

			order[k] = order[i - 1];
			order[i - 1] = was;
		}
		for (uint32_t i = 0; i < PIECES; i++)
			put(&p->a, &seg, order[i] * PIECE, PIECE);
		barrier(t, &p->a, &p->b);
		is_written(t, fence(&p->b, seg.handle), LEN);
		check(&p->b, AT, LEN, (uint64_t)round);
		check_byte(&p->b, 0, AT, OLD);
		check_byte(&p->b, AT + LEN, AT, OLD);
	}
}

/* Too many gaps to remember: what counts as written was written, or is blank. */
static void nothing_old_counts_as_written(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct rng rng = rng_seeded("gaps", 22);

	if (!t->fabric[1]->reports_written)
		return;
	for (int round = 0; round < 30; round++) {
		struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE);
		bool wrote[PIECES] = {false};
		uint32_t written;

		fill(&p->a, AT, LEN, (uint64_t)round);
		for (uint32_t i = 0; i < 40; i++) {
			uint32_t k = rng_below(&rng, PIECES);

			wrote[k] = true;
			put(&p->a, &seg, k * PIECE, PIECE);
		}
		wrote[0] = true;
		put(&p->a, &seg, 0, PIECE);
		barrier(t, &p->a, &p->b);
		written = fence(&p->b, seg.handle);
		assert_true(written >= PIECE && written % PIECE == 0);
		for (uint32_t k = 0; k < PIECES; k++)
			if (wrote[k])
				assert_memory_equal(p->b.mem + AT + k * PIECE,
						    p->a.mem + AT + k * PIECE, PIECE);
			else if (k * PIECE < written)
				check_byte(&p->b, AT + k * PIECE, PIECE, 0);
	}
}

/* Invalidating the handle does not erase the record of written octets, neither at once nor
 * later. */
static void the_peer_cannot_make_it_forgotten(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE), more[CONTRACT_EXPOSURES];
	int r = do_recv(&p->b, 2 * LEN, 8);
	unsigned n = 0;

	pump(t);
	put(&p->a, &seg, 0, 600);
	assert_true(do_send_inv(&p->a, 0, 8, seg.handle) >= 0);
	assert_int_equal(succeed(&p->b, r)->invalidated, seg.handle);
	/* The exposure's place is taken until its owner has withdrawn it. */
	while (n < CONTRACT_EXPOSURES - 1)
		more[n++] = do_expose(&p->b, AT, 10, FABRIC_REMOTE_WRITE);
	assert_int_equal(fabric_expose(p->b.conn, p->b.mem, 10, FABRIC_REMOTE_WRITE, &more[n]),
			 ERR_AGAIN);
	assert_int_equal(do_withdraw(&p->b, seg.handle), -1);
	is_written(t, p->b.written, 600);
	/* The next one begins anew. */
	more[n++] = do_expose(&p->b, AT, 10, FABRIC_REMOTE_WRITE);
	for (unsigned i = 0; i < n; i++)
		is_written(t, fence(&p->b, more[i].handle), 0);
}

/* A message, and what is written behind it: it counts only if it came before the fence. */
static void written_behind_a_message(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE);
	int r = do_recv(&p->b, 2 * LEN, 8);

	pump(t);
	fill(&p->a, AT, LEN, 5);
	assert_true(do_send(&p->a, 0, 8) >= 0);
	assert_true(do_write(&p->a, AT, LEN, &seg) >= 0);
	succeed(&p->b, r);
	fence(&p->b, seg.handle);
	if (p->b.written != FABRIC_WRITTEN_UNKNOWN)
		check(&p->b, AT, p->b.written, 5);
}

static void known_after_the_end(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = fresh(&p->b, FABRIC_REMOTE_WRITE);

	put(&p->a, &seg, 0, 600);
	barrier(t, &p->a, &p->b);
	fabric_disconnect(p->a.conn);
	both_end(t, p);
	assert_int_equal(do_withdraw(&p->b, seg.handle), ERR_CLOSED);
	is_written(t, p->b.written, 600);
	assert_int_equal(do_withdraw(&p->b, seg.handle), ERR_CLOSED);
	is_written(t, p->b.written, 0);
}

int contract_run_written(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(tells_how_much_without_a_gap),
		contract_test(of_readable_memory_nothing),
		contract_test(written_whole_in_any_order),
		contract_test(nothing_old_counts_as_written),
		contract_test(the_peer_cannot_make_it_forgotten),
		contract_test(written_behind_a_message),
		contract_test(known_after_the_end),
	};
	return cmocka_run_group_tests_name("what was written", tests, NULL, NULL);
}
