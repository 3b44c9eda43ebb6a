/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fabric/contract.h"

#include <string.h>

/* Streams: octets are reported as the peer writes them, with a window smaller than their number. */

enum { LEN = 1 << 20, WINDOW = 128 << 10, AT = 4096, SHADOW = 4 << 20, OLD = 0xee, SOME = 20000 };

static bool cannot(const struct contract *t)
{
	return !t->fabric[1]->streams;
}

static struct segment streamed(struct side *s)
{
	memset(s->mem + AT - 64, OLD, WINDOW + 128);
	memset(s->mem + SHADOW, OLD, LEN);
	return do_stream(s, AT, WINDOW, LEN, SHADOW);
}

static void post(struct pair *p, const struct segment *seg, uint32_t at, uint32_t len)
{
	struct segment to = part(*seg, at, 0);

	assert_true(do_write(&p->a, AT + at, len, &to) >= 0);
}

/* Write those octets as the peer, and step until all reports that will come have come. */
static void put(struct pair *p, const struct segment *seg, uint32_t at, uint32_t len)
{
	post(p, seg, at, len);
	settle(p->a.t);
}

/* Nothing but its window was written to. */
static void nothing_beside(const struct side *s)
{
	check_byte(s, AT - 64, 64, OLD);
	check_byte(s, AT + WINDOW, 64, OLD);
}

static void as_it_comes(void **state)
{
	static const uint32_t pieces[] = {1, 1000, WINDOW - 3, 3 * WINDOW + 5, WINDOW, 200000};
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	uint32_t at = 0;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 1);
	seg = streamed(&p->b);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		put(p, &seg, at, pieces[i]);
		at += pieces[i];
		assert_int_equal(p->b.placed, at);
		check(&p->b, SHADOW, at, 1);
		check_byte(&p->b, SHADOW + at, 64, OLD);
	}
	assert_false(p->b.conn->sink_blocked);
	nothing_beside(&p->b);
	assert_int_equal(fence(&p->b, seg.handle), at);
}

/* Backwards, and a part twice: the last octets count. Only octets from the start without a gap are
 * reported as written at the end. */
static void in_any_order(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 2);
	seg = streamed(&p->b);
	for (uint32_t at = 10 * SOME; at > 0; at -= SOME)
		put(p, &seg, at - SOME, SOME);
	check(&p->b, SHADOW, 10 * SOME, 2);
	put(p, &seg, 11 * SOME, SOME);
	assert_int_equal(p->b.placed, 11 * SOME);
	fill(&p->a, AT, LEN, 3);
	for (uint32_t at = 0; at < 10 * SOME; at += SOME)
		post(p, &seg, at, SOME);
	settle(t);
	check(&p->b, SHADOW, 10 * SOME, 3);
	assert_int_equal(p->b.placed, 21 * SOME);
	assert_int_equal(fence(&p->b, seg.handle), 10 * SOME);
}

/* Nothing is given back: no more than the window is reported, and octets behind it wait. Then all
 * of them are reported. */
static void no_more_than_its_window(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	int r;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 4);
	r = do_recv(&p->b, 2 * LEN, 8);
	seg = streamed(&p->b);
	p->b.keeps = true;
	post(p, &seg, 0, LEN);
	assert_true(do_send(&p->a, 0, 8) >= 0);
	settle(t);
	assert_in_range(p->b.placed, WINDOW / 2, WINDOW);
	assert_true(p->b.conn->sink_blocked);
	assert_false(p->b.ops[r].done);
	check(&p->b, SHADOW, p->b.placed, 4);
	while (p->b.nheld > 0) {
		uint32_t before = p->b.placed;

		give_back(&p->b);
		settle(t);
		assert_in_range(p->b.placed - before, 0, WINDOW);
	}
	assert_false(p->b.conn->sink_blocked);
	succeed(&p->b, r);
	assert_int_equal(p->b.placed, LEN);
	check(&p->b, SHADOW, LEN, 4);
	nothing_beside(&p->b);
	assert_int_equal(fence(&p->b, seg.handle), LEN);
}

/* ... nor more pieces than a user has places for, however small. */
static void no_more_than_some_pieces(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 5);
	seg = streamed(&p->b);
	p->b.keeps = true;
	for (uint32_t at = 0; at < 40; at += 2)
		post(p, &seg, at, 1);
	settle(t);
	assert_true(p->b.nheld == FABRIC_STREAM_PIECES && p->b.conn->sink_blocked);
	while (p->b.nheld > 0) {
		give_back(&p->b);
		settle(t);
	}
	assert_int_equal(p->b.placed, 20);
	for (uint32_t at = 0; at < 40; at += 2) {
		assert_int_equal(p->b.mem[SHADOW + at], p->a.mem[AT + at]);
		assert_int_equal(p->b.mem[SHADOW + at + 1], OLD);
	}
	fence(&p->b, seg.handle);
}

/* The memory is as long as the stream, and nothing is given back. Octets behind a gap do not wait: they go to their own
 * places, without a report. Only octets that were reported, and come again, wait. */
static void stored_behind_a_gap(void **state)
{
	enum { ALL = 10 * SOME };
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	int r;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 12);
	r = do_recv(&p->b, 2 * LEN, 8);
	memset(p->b.mem + AT, OLD, ALL + 64);
	seg = do_stream(&p->b, AT, ALL, ALL, SHADOW);
	p->b.keeps = true;
	put(p, &seg, 0, SOME);
	for (uint32_t at = ALL; at > SOME; at -= SOME)
		post(p, &seg, at - SOME, SOME);
	assert_true(do_send(&p->a, 0, 8) >= 0);
	succeed(&p->b, r);
	assert_false(p->b.conn->sink_blocked);
	assert_int_equal(p->b.placed, SOME);
	check(&p->b, SHADOW, SOME, 12);
	check(&p->b, AT, ALL, 12);
	check_byte(&p->b, AT + ALL, 64, OLD);
	post(p, &seg, SOME / 2, SOME / 2);
	settle(t);
	assert_true(p->b.conn->sink_blocked);
	while (p->b.nheld > 0) {
		give_back(&p->b);
		settle(t);
	}
	assert_false(p->b.conn->sink_blocked);
	assert_int_equal(p->b.placed, SOME + SOME / 2);
	check(&p->b, SHADOW, SOME, 12);
	assert_int_equal(fence(&p->b, seg.handle), ALL);
}

/* A stream without room on one connection does not affect other connections. */
static void others_go_on(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0), *other = establish(t, 1);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	p->b.keeps = true;
	put(p, &seg, 0, LEN);
	assert_true(p->b.conn->sink_blocked);
	barrier(t, &other->a, &other->b);
	barrier(t, &other->b, &other->a);
	barrier(t, &p->b, &p->a);
	assert_false(other->b.conn->sink_blocked);
}

/* A Write, a message, a Write: with the message all is known that came before it. */
static void in_order_with_messages(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	int r;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 6);
	r = do_recv(&p->b, 2 * LEN, 8);
	seg = streamed(&p->b);
	pump(t);
	t->deaf[1] = true;
	post(p, &seg, 0, SOME);
	assert_true(do_send(&p->a, 0, 8) >= 0);
	post(p, &seg, SOME, SOME);
	settle(t);
	t->deaf[1] = false;
	p->b.stop_at = r + 1;
	settle(t);
	assert_in_range(p->b.placed_at, SOME, 2 * SOME);
	assert_int_equal(p->b.placed, 2 * SOME);
	assert_int_equal(fence(&p->b, seg.handle), 2 * SOME);
}

/* A message that invalidates it takes nothing away of what is there. */
static void invalidated_by_a_message(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;
	int r;

	if (cannot(t))
		return;
	fill(&p->a, AT, LEN, 7);
	r = do_recv(&p->b, 2 * LEN, 8);
	seg = streamed(&p->b);
	pump(t);
	p->b.keeps = true;
	post(p, &seg, 0, SOME);
	assert_true(do_send_inv(&p->a, 0, 8, seg.handle) >= 0);
	succeed(&p->b, r);
	assert_int_equal(p->b.ops[r].invalidated, seg.handle);
	assert_int_equal(p->b.placed, SOME);
	while (p->b.nheld > 0)
		give_back(&p->b);
	check(&p->b, SHADOW, SOME, 7);
	assert_int_equal(fence(&p->b, seg.handle), SOME);
	barrier(t, &p->a, &p->b);
}

/* No event follows a withdrawal (contract.c), whatever was queued. Octets that were not reported
 * count as not written, and their place is free. */
static void silence_behind_a_withdrawal(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);

	if (cannot(t))
		return;
	for (unsigned i = 0; i < 2 * CONTRACT_EXPOSURES; i++) {
		struct segment seg = streamed(&p->b);

		put(p, &seg, 0, SOME);
		t->deaf[1] = true;
		put(p, &seg, SOME, SOME);
		t->deaf[1] = false;
		assert_int_equal(fence(&p->b, seg.handle), SOME);
		settle(t);
		assert_int_equal(p->b.placed, SOME);
	}
}

/* Octets that wait for room are behind the withdrawal, as any others: the connection ends. */
static void withdrawn_while_full(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	p->b.keeps = true;
	put(p, &seg, 0, LEN);
	assert_true(p->b.conn->sink_blocked);
	assert_in_range(fence(&p->b, seg.handle), WINDOW / 2, WINDOW);
	both_end(t, p);
}

static void beyond_its_end(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	post(p, &seg, LEN - SOME, SOME + 1);
	both_end(t, p);
	check_byte(&p->b, SHADOW + LEN, 1, 0);
	nothing_beside(&p->b);
}

/* No event follows DISCONNECTED either; the withdrawal still gives its result. */
static void over_with_the_connection(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	t->deaf[1] = true;
	put(p, &seg, 0, SOME);
	fabric_disconnect(p->a.conn);
	settle(t);
	t->deaf[1] = false;
	both_end(t, p);
	assert_int_equal(p->b.placed, SOME);
	assert_int_equal(do_withdraw(&p->b, seg.handle), ERR_CLOSED);
	assert_int_equal(p->b.written, SOME);
}

/* The end comes though nothing is given back: this end's own, and by the other's destruction. */
static void ended_while_full(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	p->b.keeps = true;
	put(p, &seg, 0, LEN);
	assert_true(p->b.conn->sink_blocked);
	fabric_disconnect(p->b.conn);
	both_end(t, p);
}

/* With events that nobody polled, and with no room. */
static void destroyed_with_events(void **state)
{
	struct contract *t = *state;
	struct pair *p = establish(t, 0);
	struct segment seg;

	if (cannot(t))
		return;
	seg = streamed(&p->b);
	t->deaf[1] = true;
	put(p, &seg, 0, LEN);
	drop(&p->b);
	t->deaf[1] = false;
	settle(t);
}

int contract_run_placed(void)
{
	const struct CMUnitTest tests[] = {
		contract_test(as_it_comes),
		contract_test(in_any_order),
		contract_test(no_more_than_its_window),
		contract_test(no_more_than_some_pieces),
		contract_test(stored_behind_a_gap),
		contract_test(others_go_on),
		contract_test(in_order_with_messages),
		contract_test(invalidated_by_a_message),
		contract_test(silence_behind_a_withdrawal),
		contract_test(withdrawn_while_full),
		contract_test(beyond_its_end),
		contract_test(over_with_the_connection),
		contract_test(ended_while_full),
		contract_test(destroyed_with_events),
	};

	return cmocka_run_group_tests_name("placed", tests, NULL, NULL);
}
