/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Reads and Writes that are not allowed, and the life of handles. */

enum { BASE = 4096, LEN = 1000 }; /* the exposed region at the acceptor */

/* The connection ends; the victim's memory around and in the region is as it was. */
static void is_a_breach(struct contract *t, struct pair *p)
{
	both_end(t, p);
	assert_int_equal(p->b.status, ERR_ACCESS);
	assert_true(p->a.status != 0 || !t->provider->tells_both);
	check_byte(&p->b, 0, 3 * BASE, 0xee);
	assert_int_equal(p->b.conn->handles_live, 0);
}

static struct pair *with_region(struct contract *t, unsigned access, struct segment *seg)
{
	struct pair *p = establish(t, 0);

	memset(p->b.mem, 0xee, 3 * BASE);
	memset(p->a.mem, 0xaa, 3 * BASE);
	*seg = do_expose(&p->b, BASE, LEN, access);
	return p;
}

static void bad_write(struct contract *t, struct pair *p, struct segment to, uint32_t len)
{
	int w = do_write(&p->a, 0, len, &to);

	assert_true(w >= 0);
	is_a_breach(t, p);
	assert_true(p->a.ops[w].done);
}

static void bad_read(struct contract *t, struct pair *p, struct segment from)
{
	int r = do_read(&p->a, BASE, &from);

	assert_true(r >= 0);
	is_a_breach(t, p);
	assert_int_not_equal(p->a.ops[r].status, 0);
	check_byte(&p->a, 0, BASE, 0xaa);
	check_byte(&p->a, BASE + from.length, BASE, 0xaa);
}

static void write_one_too_far(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	bad_write(*state, p, part(seg, 1, 0), LEN);
}

static void write_one_too_long(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	bad_write(*state, p, seg, LEN + 1);
}

static void write_one_before(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	seg.offset--;
	bad_write(*state, p, seg, 10);
}

static void write_just_behind(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	bad_write(*state, p, part(seg, LEN, 0), 1);
}

static void write_with_overflow(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	seg.offset = UINT64_MAX - 3;
	bad_write(*state, p, seg, 8);
}

static void read_one_too_far(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_READ, &seg);

	bad_read(*state, p, part(seg, 1, LEN));
}

static void read_one_too_long(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_READ, &seg);

	bad_read(*state, p, part(seg, 0, LEN + 1));
}

static void read_with_overflow(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_READ, &seg);

	seg.offset = UINT64_MAX;
	bad_read(*state, p, part(seg, 0, 2));
}

static void write_where_one_may_read(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_READ, &seg);

	bad_write(*state, p, seg, 10);
}

static void read_where_one_may_write(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	bad_read(*state, p, seg);
}

static void handle_never_given(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	seg.handle ^= 0x01000000;
	bad_write(*state, p, seg, 10);
}

static void handle_of_another_connection(void **state)
{
	struct contract *t = *state;
	struct segment seg;
	struct pair *other = establish(t, 1);
	struct pair *p = with_region(t, FABRIC_REMOTE_WRITE, &seg);
	struct segment foreign =
		do_expose(&other->b, BASE, LEN, FABRIC_REMOTE_WRITE | FABRIC_REMOTE_READ);

	bad_write(t, p, foreign, 10);
	assert_false(other->a.disconnected);
	/* Where it belongs it still works. */
	fill(&other->a, 0, LEN, 9);
	succeed(&other->a, do_write(&other->a, 0, LEN, &foreign));
	assert_true(do_recv(&other->b, 0, 8) >= 0);
	pump(t);
	assert_true(do_send(&other->a, 0, 8) >= 0);
	succeed(&other->b, 0);
	check(&other->b, BASE, LEN, 9);
}

static void read_with_the_handle_of_another_connection(void **state)
{
	struct contract *t = *state;
	struct segment seg;
	struct pair *other = establish(t, 1);
	struct pair *p = with_region(t, FABRIC_REMOTE_READ, &seg);

	bad_read(t, p, do_expose(&other->b, BASE, LEN, FABRIC_REMOTE_READ));
	assert_false(other->b.disconnected);
}

static void handle_withdrawn(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	fence(&p->b, seg.handle);
	assert_int_equal(p->b.conn->handles_live, 0);
	bad_write(*state, p, seg, 10);
}

static void handle_withdrawn_and_slot_used_again(void **state)
{
	struct segment seg;
	struct pair *p = with_region(*state, FABRIC_REMOTE_WRITE, &seg);

	fence(&p->b, seg.handle);
	for (int i = 0; i < CONTRACT_EXPOSURES; i++)
		assert_int_not_equal(do_expose(&p->b, BASE, LEN, FABRIC_REMOTE_WRITE).handle,
				     seg.handle);
	bad_write(*state, p, seg, 10);
}

static void message_invalidates(void **state)
{
	struct contract *t = *state;
	struct segment seg, rest;
	struct pair *p = with_region(t, FABRIC_REMOTE_WRITE, &seg);
	int r;

	if (!t->fabric[1]->remote_inv)
		return; /* the handle was never sent to a peer */
	r = do_recv(&p->b, 3 * BASE, 64);
	rest = do_expose(&p->b, 2 * BASE, 100, FABRIC_REMOTE_READ);
	pump(t);
	assert_true(p->b.conn->remote_inv);
	assert_true(do_send_inv(&p->a, 0, 64, seg.handle) >= 0);
	assert_int_equal(succeed(&p->b, r)->invalidated, seg.handle);
	assert_int_equal(p->b.conn->handles_live, 1);
	/* The handle is already fenced, and withdrawing it says so; the other one is not. */
	assert_int_equal(do_withdraw(&p->b, seg.handle), -1);
	rest = part(rest, 0, 100);
	succeed(&p->a, do_read(&p->a, BASE, &rest));
	bad_write(t, p, seg, 10);
}

static void message_invalidates_nonsense(void **state)
{
	struct contract *t = *state;
	struct segment seg;
	struct pair *p = with_region(t, FABRIC_REMOTE_WRITE, &seg);

	assert_true(do_recv(&p->b, 3 * BASE, 64) >= 0);
	pump(t);
	assert_true(do_send_inv(&p->a, 0, 64, seg.handle ^ 0x00100000) >= 0);
	is_a_breach(t, p);
	assert_int_equal(p->b.ops[0].status, ERR_FLUSHED);
}

static void withdraw_of_nothing(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg = do_expose(&p->b, 0, 10, FABRIC_REMOTE_READ);

	assert_int_equal(do_withdraw(&p->b, seg.handle ^ 0x01000000), -1);
	fence(&p->b, seg.handle);
	assert_int_equal(do_withdraw(&p->b, seg.handle), -1);
	assert_int_equal(do_withdraw(&p->b, 0), -1);
}

static void exposures_have_a_limit(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg[CONTRACT_EXPOSURES], more;

	for (int round = 0; round < 20; round++) {
		for (unsigned i = 0; i < CONTRACT_EXPOSURES; i++) {
			seg[i] = do_expose(&p->b, i, 10, FABRIC_REMOTE_READ);
			for (unsigned k = 0; k < i; k++)
				assert_int_not_equal(seg[i].handle, seg[k].handle);
		}
		assert_int_equal(p->b.conn->handles_live, CONTRACT_EXPOSURES);
		assert_int_equal(fabric_expose(p->b.conn, p->b.mem, 10, FABRIC_REMOTE_READ, &more),
				 ERR_AGAIN);
		for (unsigned i = 0; i < CONTRACT_EXPOSURES; i++)
			fence(&p->b, seg[i].handle);
		assert_int_equal(p->b.conn->handles_live, 0);
	}
}

/* A peer needs handle and offset: without the offset a handle is useless. */
static uint64_t expose_and_fence(struct pair *p)
{
	struct segment seg = do_expose(&p->b, 0, 10, FABRIC_REMOTE_READ);

	fence(&p->b, seg.handle);
	return (uint64_t)seg.handle << 32 ^ seg.offset;
}

/* A handle guessed from the ones seen before must not be right. */
static void handles_do_not_repeat_soon(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	static uint64_t seen[1000];
	unsigned steady = 0;

	for (int i = 0; i < 1000; i++) {
		seen[i] = expose_and_fence(p);
		for (int k = i > 8 ? i - 8 : 0; k < i; k++)
			assert_true(seen[i] != seen[k]);
		steady += i > 1 && seen[i] - seen[i - 1] == seen[i - 1] - seen[i - 2];
	}
	/* No constant step. Drawn from some 500 windows and 255 keys, two are alike in one of a hundred runs. */
	assert_in_range(steady, 0, 20);
}

/* While a Read is served its memory stays; after the fence nothing is taken from it. */
static void withdraw_while_read(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	int r, w;

	for (int round = 0; round < 20; round++) {
		seg = do_expose(&p->a, 0, 1024 * 1024, FABRIC_REMOTE_READ);
		fill(&p->a, 0, 1024 * 1024, (uint64_t)round);
		r = do_read(&p->b, 0, &seg);
		for (int i = 0; i < round && !p->b.ops[r].done; i++) {
			pump(t);
			t->provider->step(t);
		}
		w = do_withdraw(&p->a, seg.handle);
		if (w >= 0)
			done(&p->a, w);
		memset(p->a.mem, 0, 1024 * 1024); /* ours again */
		settle(t);
		assert_true(p->b.ops[r].done);
		if (p->b.disconnected)
			return;
		assert_int_equal(p->b.ops[r].status, 0);
		check(&p->b, 0, 1024 * 1024, (uint64_t)round);
	}
}

int contract_run_access(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(write_one_too_far),
		contract_test(write_one_too_long),
		contract_test(write_one_before),
		contract_test(write_just_behind),
		contract_test(write_with_overflow),
		contract_test(read_one_too_far),
		contract_test(read_one_too_long),
		contract_test(read_with_overflow),
		contract_test(write_where_one_may_read),
		contract_test(read_where_one_may_write),
		contract_test(handle_never_given),
		contract_test(handle_of_another_connection),
		contract_test(read_with_the_handle_of_another_connection),
		contract_test(handle_withdrawn),
		contract_test(handle_withdrawn_and_slot_used_again),
		contract_test(message_invalidates),
		contract_test(message_invalidates_nonsense),
		contract_test(withdraw_of_nothing),
		contract_test(exposures_have_a_limit),
		contract_test(handles_do_not_repeat_soon),
		contract_test(withdraw_while_read),
	};
	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
