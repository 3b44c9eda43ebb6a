/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Receives of several pieces. */

enum {
	APART = 256 * 1024, /* where each piece's part of the memory begins */
	TOTAL = FABRIC_MAX_PIECES * APART,
	FROM = 4 * 1024 * 1024, /* where Sends lie */
	EDGE = 16,		/* octets before and behind a piece that stay as they are */
};

/* Pieces of @len octets each, @skip from where their parts begin. */
static unsigned lay(const struct side *s, const uint32_t *len, unsigned n, uint32_t skip,
		    struct fabric_piece *pieces)
{
	for (unsigned i = 0; i < n; i++)
		pieces[i] = (struct fabric_piece){s->mem + i * (size_t)APART + EDGE + skip, len[i]};
	return n;
}

static int do_recv_pieces(struct side *s, const struct fabric_piece *pieces, unsigned n)
{
	struct op *op = &s->ops[s->nops];
	int err;

	assert_true(s->nops < CONTRACT_OPS);
	*op = (struct op){.type = FABRIC_EV_RECV, .len = (uint32_t)fabric_pieces_bytes(pieces, n)};
	err = fabric_post_pieces(s->conn, pieces, n, op);
	fabric_flush(s->f);
	return err ? err : s->nops++;
}

/* The acceptor of pair @i takes Receives of @most pieces. */
static struct pair *establish_pieces(struct contract *t, int i, uint32_t most)
{
	struct fabric_conn_params params = default_params();
	struct pair *p;
	int r;

	params.domain = (uint32_t)i;
	p = begin(t, i, &params);
	params.recv_pieces = most;
	assert_int_equal(fabric_prepare(p->b.conn, &params), 0);
	p->b.has_own = true;
	r = do_recv(&p->b, 0, 0);
	assert_int_equal(fabric_accept(p->b.conn, &params, &p->b), 0);
	until(t, &p->a.connected);
	until(t, &p->b.connected);
	succeed(&p->a, do_send(&p->a, 0, 0)); /* the acceptor may send from now on */
	assert_int_equal(succeed(&p->b, r)->len, 0);
	return p;
}

/* The pieces hold the message of @len octets, and nothing around them has changed. */
static void check_pieces(const struct side *s, const struct fabric_piece *pieces, unsigned n,
			 uint32_t len, const uint8_t *sent)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *at = pieces[i].addr;
		uint32_t here = len < pieces[i].len ? len : pieces[i].len;

		assert_memory_equal(at, sent, here);
		check_byte(s, (size_t)(at - s->mem) - EDGE, EDGE, 0xee);
		check_byte(s, (size_t)(at - s->mem) + pieces[i].len, EDGE, 0xee);
		sent += here;
		len -= here;
	}
	assert_int_equal(len, 0);
}

static void one_message(struct pair *p, const struct fabric_piece *pieces, unsigned n, uint32_t len)
{
	int r;

	memset(p->b.mem, 0xee, TOTAL);
	r = do_recv_pieces(&p->b, pieces, n);
	assert_true(r >= 0);
	pump(p->a.t);
	fill(&p->a, FROM, len, len);
	succeed(&p->a, do_send(&p->a, FROM, len));
	assert_int_equal(succeed(&p->b, r)->len, len);
	check_pieces(&p->b, pieces, n, len, p->a.mem + FROM);
}

static void each_side_of_each_edge(void **state)
{
	static const uint32_t lens[] = {100, 4096, 1, 65536};
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, 4);
	struct fabric_piece pieces[FABRIC_MAX_PIECES];
	uint32_t edge = 0;

	lay(&p->b, lens, 4, 3, pieces);
	one_message(p, pieces, 4, 0);
	for (unsigned i = 0; i < 4; i++) {
		edge += lens[i];
		one_message(p, pieces, 4, edge - 1);
		one_message(p, pieces, 4, edge);
		if (i < 3)
			one_message(p, pieces, 4, edge + 1);
	}
}

/* The purpose of pieces: a header, and behind it a megabyte where it can be used. */
static void header_and_bulk(void **state)
{
	static const uint32_t bulk = 1048576;
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, 2);
	const struct fabric_piece pieces[] = {{p->b.mem + EDGE, 4096}, {p->b.mem + 1048576, bulk}};
	int r[3];

	for (int round = 0; round < 3; round++) {
		memset(p->b.mem, 0xee, 3 * 1048576);
		r[round] = do_recv_pieces(&p->b, pieces, 2);
		pump(t);
		fill(&p->a, FROM, 4096 + bulk, (uint64_t)round);
		succeed(&p->a, do_send(&p->a, FROM, 4096 + bulk));
		assert_int_equal(succeed(&p->b, r[round])->len, 4096 + bulk);
		check_pieces(&p->b, pieces, 2, 4096 + bulk, p->a.mem + FROM);
	}
}

/* Many at once, each with pieces of its own, some with nothing in them; whole ones between. */
static void any_pieces(void **state)
{
	enum { EACH = 4096, AT_ONCE = 24, PIECE = EACH / FABRIC_MAX_PIECES };
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, FABRIC_MAX_PIECES);
	struct rng rng = rng_seeded("pieces", 7);
	struct fabric_piece pieces[AT_ONCE][FABRIC_MAX_PIECES];
	uint32_t sent[AT_ONCE];
	unsigned n[AT_ONCE];
	int r[AT_ONCE];

	for (int round = 0; round < 20; round++) {
		memset(p->b.mem, 0xee, AT_ONCE * EACH);
		for (unsigned i = 0; i < AT_ONCE; i++) {
			uint32_t room = 0;

			n[i] = 1 + rng_below(&rng, FABRIC_MAX_PIECES);
			for (unsigned k = 0; k < n[i]; k++) {
				uint32_t len =
					rng_below(&rng, 4) ? rng_below(&rng, PIECE - 2 * EDGE) : 0;

				pieces[i][k] = (struct fabric_piece){
					p->b.mem + i * EACH + k * PIECE + EDGE, len};
				room += len;
			}
			sent[i] = rng_below(&rng, 3) ? rng_below(&rng, room + 1) : room;
			if (n[i] == 1 && i % 2)
				r[i] = do_recv(&p->b, (size_t)i * EACH + EDGE, pieces[i][0].len);
			else
				r[i] = do_recv_pieces(&p->b, pieces[i], n[i]);
			assert_true(r[i] >= 0);
		}
		pump(t);
		for (unsigned i = 0; i < AT_ONCE; i++) {
			fill(&p->a, FROM + i * EACH, sent[i], rng_next(&rng));
			assert_true(do_send(&p->a, FROM + i * EACH, sent[i]) >= 0);
		}
		for (unsigned i = 0; i < AT_ONCE; i++) {
			assert_int_equal(succeed(&p->b, r[i])->len, sent[i]);
			check_pieces(&p->b, pieces[i], n[i], sent[i], p->a.mem + FROM + i * EACH);
		}
		settle(t);
	}
}

static void too_large_for_all_of_them(void **state)
{
	static const uint32_t lens[] = {100, 200};
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, 2);
	struct fabric_piece pieces[FABRIC_MAX_PIECES];
	int r;

	lay(&p->b, lens, 2, 0, pieces);
	memset(p->b.mem, 0xee, TOTAL);
	r = do_recv_pieces(&p->b, pieces, 2);
	pump(t);
	assert_true(do_send(&p->a, FROM, 301) >= 0);
	both_end(t, p);
	assert_int_equal(p->b.ops[r].status, ERR_FLUSHED);
	check_byte(&p->b, EDGE + 100, EDGE, 0xee);
	check_byte(&p->b, APART + EDGE + 200, EDGE, 0xee);
}

static void more_than_was_said(void **state)
{
	static const uint32_t lens[] = {1, 2, 3, 4};
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, 2), *q = establish(t, 1);
	struct fabric_piece pieces[FABRIC_MAX_PIECES];
	int r;

	lay(&p->b, lens, 4, 0, pieces);
	assert_int_equal(do_recv_pieces(&p->b, pieces, 3), ERR_TOOBIG);
	assert_int_equal(do_recv_pieces(&q->b, pieces, 2), ERR_TOOBIG);
	pieces[0].len = pieces[1].len = UINT32_MAX;
	assert_int_equal(fabric_post_pieces(p->b.conn, pieces, 2, NULL), ERR_TOOBIG);
	lay(&p->b, lens, 4, 0, pieces);
	for (int i = 0; i < CONTRACT_DEPTH; i++) {
		r = do_recv_pieces(&p->b, pieces, 2);
		assert_true(r >= 0);
	}
	assert_int_equal(do_recv_pieces(&p->b, pieces, 2), ERR_AGAIN);
	/* All of them come back. */
	fabric_disconnect(p->b.conn);
	both_end(t, p);
	assert_int_equal(p->b.ops[r].status, ERR_FLUSHED);
	assert_int_equal(do_recv_pieces(&p->b, pieces, 2), ERR_CLOSED);
}

/* One with pieces among others that share theirs: neither takes the other's. */
static void beside_shared_ones(void **state)
{
	static const uint32_t lens[] = {64, 128 * 1024};
	struct contract *t = *state;
	struct pair *p = establish_pieces(t, 0, 2), *q = establish(t, 1);
	struct fabric_piece pieces[FABRIC_MAX_PIECES];
	uint32_t wanted;

	pump(t);
	wanted = t->pool[1]->posted;
	lay(&p->b, lens, 2, 0, pieces);
	for (uint32_t round = 0; round < 6; round++) {
		talk(&q->a, 5);
		talk(&q->b, 5);
		one_message(p, pieces, 2, 64 + round * 1000);
	}
	run_dry(t, q);
	one_message(p, pieces, 2, 64 + lens[1]);
	assert_true(wanted <= CONTRACT_DEPTH); /* it promised nothing of what is shared */
	drop(&p->b);
	drop(&q->b);
	assert_int_equal(fabric_receives_wanted(t->pool[1]->f), 0);
}

int contract_run_pieces(void)
{
	const struct CMUnitTest own[] = {
		contract_test(each_side_of_each_edge),
		contract_test(header_and_bulk),
		contract_test(any_pieces),
		contract_test(too_large_for_all_of_them),
		contract_test(more_than_was_said),
	};
	const struct CMUnitTest shared[] = {
		contract_test_shared(beside_shared_ones),
	};
	int failed = cmocka_run_group_tests_name("Receives of pieces", own, NULL, NULL);

	if (contract_provider_now()->shares)
		failed += cmocka_run_group_tests_name("pieces beside shared Receives", shared, NULL,
						      NULL);
	return failed;
}
