/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: their order, the places of items, and the answers to directions. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "rtrext/group.h"
#include "tests/rng.h"

enum { XID = 0xa01, SEGMENT = 4096 };

static struct rtr_msg m, answer;
static struct rtr_group g;
static struct rtr_fault fault;
/* 1024 octets, then four placement-targetable segments. */
static const struct rtr_structure structure = {
	.bytes = 1024 + 4 * SEGMENT,
	.targets = 4,
	.groups = {{1, 1024, 4, 0}, {4, SEGMENT, SEGMENT, RTR_TARGETABLE}},
	.ngroups = 2};

static void assert_fault(enum rtr_code code, uint32_t value, uint32_t min, uint32_t max)
{
	assert_int_equal(fault.code, code);
	assert_int_equal(fault.value, value);
	assert_int_equal(fault.min, min);
	assert_int_equal(fault.max, max);
}

static int begin(uint32_t count, uint32_t most)
{
	struct rtr_id id = {XID, false, 0};

	rtr_msg_reset(&m, RTR_REQUEST);
	m.count = count;
	memset(&fault, 0, sizeof(fault));
	return rtr_group_begin(&g, &m, &id, RTR_REQUEST, most, &fault);
}

static int go_on(uint32_t xid, uint32_t number, uint32_t began)
{
	struct rtr_id id = {xid, false, number};
	struct rtr_msg c;

	rtr_msg_reset(&c, RTR_CONTINUE);
	c.number = number;
	c.began = began;
	return rtr_group_continue(&g, &c, &id, &fault);
}

static void groups_in_order(void **state)
{
	(void)state;
	assert_int_equal(begin(1, 1), 0);
	assert_false(g.is_open);
	assert_int_equal(begin(4, 4), 0);
	for (uint32_t i = 1; i < 4; i++) {
		assert_true(g.is_open);
		assert_int_equal(go_on(XID, i, RTR_REQUEST), 0);
	}
	assert_false(g.is_open);
}

/* Section 9.5: each code that is about order, with what was expected and what came. */
static void groups_out_of_order(void **state)
{
	struct rtr_id reply = {XID, true, 1};
	struct rtr_msg c;

	(void)state;
	assert_int_equal(begin(5, 4), ERR_CONT);
	assert_fault(RTR_BAD_NUMBER, 5, 4, 4);
	assert_false(g.is_open);
	assert_int_equal(go_on(XID, 1, RTR_REQUEST), ERR_CONT);
	assert_int_equal(fault.code, RTR_BAD_CONT);
	assert_int_equal(begin(3, 4), 0);
	assert_int_equal(go_on(XID, 2, RTR_REQUEST), ERR_CONT);
	assert_fault(RTR_BAD_NUMBER, 2, 1, 1);
	assert_false(g.is_open);
	assert_int_equal(begin(3, 4), 0);
	assert_int_equal(go_on(XID + 1, 1, RTR_REQUEST), ERR_CONT);
	assert_fault(RTR_BAD_XID, XID + 1, XID, XID);
	assert_int_equal(begin(3, 4), 0);
	assert_int_equal(go_on(XID, 1, RTR_RESPONSE), ERR_CONT);
	assert_fault(RTR_BAD_OPTION, RTR_RESPONSE, RTR_REQUEST, RTR_REQUEST);
	assert_int_equal(begin(3, 4), 0);
	rtr_msg_reset(&c, RTR_CONTINUE);
	c.number = 1;
	c.began = RTR_REQUEST;
	assert_int_equal(rtr_group_continue(&g, &c, &reply, &fault), ERR_CONT);
	assert_int_equal(fault.code, RTR_BAD_XID);
}

static void groups_interrupted(void **state)
{
	(void)state;
	assert_int_equal(begin(1, 4), 0);
	assert_int_equal(rtr_group_interrupt(&g, 0, false, 5, &fault), 0);
	assert_int_equal(begin(2, 4), 0);
	assert_int_equal(rtr_group_interrupt(&g, 0, false, 5, &fault), ERR_CONT);
	assert_fault(RTR_BAD_TYPE, 0, 5, 5);
	assert_int_equal(rtr_group_interrupt(&g, 0, false, 5, &fault), 0); /* it is over */
	assert_int_equal(begin(2, 4), 0);
	assert_int_equal(rtr_group_interrupt(&g, RTR_REQUEST, true, RTR_CONTINUE, &fault),
			 ERR_CONT);
	assert_fault(RTR_BAD_OPTION, RTR_REQUEST, RTR_CONTINUE, RTR_CONTINUE);
}

static void payload_is_in_the_transmission(void **state)
{
	(void)state;
	rtr_msg_reset(&m, RTR_REQUEST);
	m.payload = 100;
	assert_int_equal(rtr_check_payload(&m, false, 100, &fault), 0);
	assert_int_equal(rtr_check_payload(&m, false, 99, &fault), ERR_CONT);
	assert_fault(RTR_BAD_PAYLOAD, 100, 0, 99);
}

/* One more item of @length at @position in the segments @numbers, ended by -1. */
static void add_sent(uint32_t position, uint32_t length, uint32_t offset, const int64_t *numbers)
{
	struct rtr_item *item = &m.items[m.nitems++];

	*item = (struct rtr_item){position, length, {.type = RTR_TBSN, .bytes = offset}};
	for (; *numbers >= 0; numbers++)
		assert_int_equal(rtr_add_number(&m, &item->place, (uint32_t)*numbers), 0);
}
#define SENT(position, length, offset, ...)                                                        \
	add_sent(position, length, offset, (const int64_t[]){__VA_ARGS__, -1})

static void fresh(uint32_t count)
{
	rtr_msg_reset(&m, RTR_REQUEST);
	m.count = count;
}

static int check(void)
{
	memset(&fault, 0, sizeof(fault));
	return rtr_check_items(&m, &structure, &fault);
}

static void items_where_they_may_be(void **state)
{
	(void)state;
	fresh(1);
	SENT(40, 4 * SEGMENT, 0, 0, 1, 2, 3);
	assert_int_equal(check(), 0);
	fresh(3); /* two Receives further on, and segments left out */
	SENT(40, 10, 0, 1);
	SENT(52, SEGMENT + 1, 0, 4, 6);
	SENT(40 + 2 * SEGMENT, 5, SEGMENT - 8, 11);
	assert_int_equal(check(), 0);
}

static void items_where_they_may_not_be(void **state)
{
	(void)state;
	fresh(1);
	SENT(40, 10, 0, 4);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 4, 0, 3);
	fresh(1);
	SENT(40, 10, 0, UINT32_MAX);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, UINT32_MAX, 0, 3);
	fresh(2); /* used twice; numbers that fall */
	SENT(40, 10, 0, 5);
	SENT(52, 10, 0, 5);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 5, 6, 7);
	fresh(2);
	SENT(40, SEGMENT + 1, 0, 5, 3);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 3, 6, 7);
	fresh(1); /* more segments than the item fills, and fewer */
	SENT(40, SEGMENT, 0, 0, 1);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 1, 0, 0);
	fresh(1);
	SENT(40, SEGMENT + 1, 0, 2);
	assert_int_equal(check(), ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 2, 3, UINT32_MAX);
	fresh(1);
	SENT(40, SEGMENT, 4, 2);
	assert_int_equal(check(), ERR_CONT);
	fresh(1);
	SENT(40, 0, 0, 0);
	assert_int_equal(check(), ERR_CONT);
}

static void offsets(void **state)
{
	static const uint32_t bad[] = {1, 2, 3, SEGMENT, SEGMENT + 4, UINT32_MAX - 3};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fresh(1);
		SENT(40, 1, bad[i], 0);
		assert_int_equal(check(), ERR_CONT);
		assert_fault(RTR_BAD_OFFSET, bad[i], 0, SEGMENT - 4);
	}
}

static void positions_rise(void **state)
{
	static const struct {
		uint32_t first, length, second;
		int rc;
	} pairs[] = {{40, 8, 48, 0},	   {40, 8, 44, ERR_XDR}, {40, 8, 40, ERR_XDR},
		     {48, 8, 40, ERR_XDR}, {42, 8, 52, ERR_XDR}, {40, 7, 46, ERR_XDR},
		     {40, 7, 48, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		fresh(1);
		SENT(pairs[i].first, pairs[i].length, 0, 0);
		SENT(pairs[i].second, 4, 0, 1);
		assert_int_equal(check(), pairs[i].rc);
	}
}

/* An end that has said nothing has no segment for anybody. */
static void nowhere_to_place(void **state)
{
	struct rtr_structure plain;

	(void)state;
	rtr_structure_plain(&plain, 4096);
	fresh(1);
	SENT(40, 10, 0, 0);
	assert_int_equal(rtr_check_items(&m, &plain, &fault), ERR_CONT);
	assert_int_equal(fault.code, RTR_BAD_TARGET);
}

static void items_are_in_what_arrived(void **state)
{
	(void)state;
	fresh(2);
	SENT(40, 2 * SEGMENT, 0, 0, 1);
	SENT(40 + 2 * SEGMENT, 100, 8, 5);
	assert_int_equal(check(), 0);
	assert_int_equal(rtr_check_taken(&m, &structure, 0, 1024, 1024 + 2 * SEGMENT, &fault), 0);
	assert_int_equal(rtr_check_taken(&m, &structure, 0, 1025, 1024 + 2 * SEGMENT, &fault),
			 ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 0, 1, 3);
	assert_int_equal(rtr_check_taken(&m, &structure, 0, 1024, 1024 + 2 * SEGMENT - 1, &fault),
			 ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 1, 0, 3);
	assert_int_equal(
		rtr_check_taken(&m, &structure, 1, 1024 + SEGMENT, 1024 + SEGMENT + 108, &fault),
		0);
	assert_int_equal(
		rtr_check_taken(&m, &structure, 1, 1024 + SEGMENT, 1024 + SEGMENT + 107, &fault),
		ERR_CONT);
	assert_fault(RTR_BAD_TARGET, 5, 5, 7);
}

/* --- responses --- */

static struct rtr_wish *wish(enum rtr_type type, uint32_t least, uint32_t bytes)
{
	struct rtr_wish *w = &m.wishes[m.nwishes++];

	*w = (struct rtr_wish){least, {.type = type, .bytes = bytes}};
	for (unsigned i = 0; type != RTR_TBSN && i < 2; i++) {
		struct segment s = {0xaa00 + i, 1000, 0x10000u * i};

		assert_int_equal(rtr_add_segment(&m, &w->place, &s), 0);
	}
	return w;
}

static void result(enum rtr_type type, uint32_t length)
{
	struct rtr_item *item = &answer.items[answer.nitems++];
	uint32_t left = length;

	*item = (struct rtr_item){40, length, {.type = type}};
	for (unsigned i = 0; type == RTR_EXRW && left; i++) {
		struct segment s = {0xaa00 + i, left < 1000 ? left : 1000, 0x10000u * i};

		assert_int_equal(rtr_add_segment(&answer, &item->place, &s), 0);
		left -= s.length;
	}
}

static int check_one(enum rtr_type asked, uint32_t least, uint32_t bytes, enum rtr_type got,
		     uint32_t length)
{
	rtr_msg_reset(&m, RTR_REQUEST);
	rtr_msg_reset(&answer, RTR_RESPONSE);
	wish(asked, least, bytes);
	result(got, length);
	return rtr_check_response(&m, &answer);
}

/* Table 2, each cell. */
static void table_2(void **state)
{
	static const struct {
		enum rtr_type asked;
		bool exrw, tbsn; /* such a result is allowed */
	} rows[] = {
		{RTR_EXRW, true, false},
		{RTR_TBSN, false, true},
		{RTR_CHOICE, true, true},
		{RTR_BYSIZE, true, true},
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		/* BYSIZE: up to 100 octets by Send. */
		const struct {
			enum rtr_type got;
			uint32_t length;
			bool is_allowed;
		} cells[] = {{RTR_EXRW, 1500, rows[i].exrw},
			     {RTR_TBSN, 50, rows[i].tbsn},
			     {RTR_TOOSHORT, 5, true},
			     {RTR_NOITEM, 0, true}};

		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(
				check_one(rows[i].asked, 10, 100, cells[k].got, cells[k].length),
				cells[k].is_allowed ? 0 : ERR_XDR);
		assert_int_equal(check_one(rows[i].asked, 10, 100, RTR_CHOICE, 5), ERR_XDR);
	}
}

static void results_that_lie(void **state)
{
	(void)state;
	assert_int_equal(check_one(RTR_EXRW, 10, 0, RTR_TOOSHORT, 10), ERR_XDR);
	assert_int_equal(check_one(RTR_EXRW, 10, 0, RTR_EXRW, 9), ERR_XDR);
	assert_int_equal(check_one(RTR_TBSN, 10, 0, RTR_TBSN, 9), ERR_XDR);
	assert_int_equal(check_one(RTR_EXRW, 10, 0, RTR_NOITEM, 1), ERR_XDR);
	assert_int_equal(check_one(RTR_EXRW, 10, 0, RTR_EXRW, 2001), ERR_XDR);
	assert_int_equal(check_one(RTR_BYSIZE, 0, 100, RTR_TBSN, 101), ERR_XDR);
	assert_int_equal(check_one(RTR_BYSIZE, 0, 100, RTR_EXRW, 100), 0); /* no room */
	/* One of no octets is not taken out. */
	assert_int_equal(check_one(RTR_TBSN, 0, 0, RTR_TBSN, 0), ERR_XDR);
	assert_int_equal(check_one(RTR_EXRW, 0, 0, RTR_EXRW, 0), ERR_XDR);
	/* A receiver that does not know the place of an item cannot put it back. */
	assert_int_equal(check_one(RTR_TBSN, 10, 0, RTR_TBSN, 9), ERR_XDR);
	answer.items[0].position = 0;
	assert_int_equal(rtr_check_response(&m, &answer), 0);
	assert_int_equal(check_one(RTR_BYSIZE, 0, 100, RTR_TBSN, 100), 0);
	assert_int_equal(check_one(RTR_BYSIZE, 0, 100, RTR_EXRW, 101), 0);
	/* One for each wish, no more and no fewer. */
	assert_int_equal(check_one(RTR_TBSN, 0, 0, RTR_TBSN, 9), 0);
	wish(RTR_TBSN, 0, 0);
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
	result(RTR_NOITEM, 0);
	assert_int_equal(rtr_check_response(&m, &answer), 0);
	result(RTR_NOITEM, 0);
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
}

/* Into the segments that were offered, from the first octet on, without a gap. */
static void results_elsewhere(void **state)
{
	(void)state;
	assert_int_equal(check_one(RTR_CHOICE, 0, 0, RTR_EXRW, 1500), 0);
	answer.segs[0].handle++;
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
	assert_int_equal(check_one(RTR_CHOICE, 0, 0, RTR_EXRW, 1500), 0);
	answer.segs[1].offset++;
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
	assert_int_equal(check_one(RTR_CHOICE, 0, 0, RTR_EXRW, 1500), 0);
	answer.segs[0].length = 900; /* a gap */
	answer.segs[1].length = 600;
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
	assert_int_equal(check_one(RTR_CHOICE, 0, 0, RTR_EXRW, 1500), 0);
	answer.items[0].length = 1400; /* not their sum */
	assert_int_equal(rtr_check_response(&m, &answer), ERR_XDR);
}

/* Positions that are not announced are in no order. */
static void positions_that_are_not_told(void **state)
{
	(void)state;
	fresh(1);
	m.op = RTR_RESPONSE;
	for (unsigned i = 0; i < 3; i++)
		m.items[m.nitems++] = (struct rtr_item){i == 1 ? 0 : 40, 8, {.type = RTR_TOOSHORT}};
	assert_int_equal(rtr_check_items(&m, &structure, &fault), ERR_XDR);
	m.items[2].position = 48;
	assert_int_equal(rtr_check_items(&m, &structure, &fault), 0);
	m.op = RTR_REQUEST;
	assert_int_equal(rtr_check_items(&m, &structure, &fault), ERR_XDR);
}

/* --- the sender's side --- */

static void laid_out_by_hand(void **state)
{
	const uint32_t lengths[] = {SEGMENT + 1, 3 * SEGMENT, 0, 8};
	struct rtr_piece p[16];
	uint32_t transmissions;

	(void)state;
	/* Header and payload reach into the first segment of the first Receive. */
	assert_int_equal(rtr_lay_out(&structure, 1025, 64, lengths, 4, p, 16, &transmissions), 6);
	assert_int_equal(transmissions, 2);
	assert_int_equal(p[0].number, 1);
	assert_int_equal(p[0].at, 1024 + SEGMENT);
	assert_int_equal(p[1].number, 2);
	assert_int_equal(p[1].from, SEGMENT);
	assert_int_equal(p[1].length, 1);
	assert_int_equal(p[2].item, 1);
	assert_int_equal(p[2].number, 3);
	assert_int_equal(p[3].number, 4);
	assert_int_equal(p[3].transmission, 1);
	assert_int_equal(p[3].at, 1024);
	assert_int_equal(p[5].item, 3);
	assert_int_equal(p[5].number, 6);
	assert_int_equal(rtr_lay_out(&structure, 1024, 64, lengths, 4, p, 5, &transmissions),
			 ERR_TOOBIG);
	/* A later header that leaves no segment free. */
	assert_int_equal(
		rtr_lay_out(&structure, 1025, structure.bytes, lengths, 4, p, 16, &transmissions),
		ERR_NOSPACE);
	assert_int_equal(rtr_lay_out(&structure, 1024, 64, lengths, 0, p, 16, &transmissions), 0);
	assert_int_equal(transmissions, 1);
}

/* Every layout passes the receiver's checks, and every octet has exactly one place. */
static void what_is_laid_out_is_let_through(void **state)
{
	struct rng r = rng_seeded("rtrext layout", 1);
	enum { PIECES = 200 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct rtr_structure s = {.ngroups = 2 + rng_below(&r, 3)};
		uint32_t lengths[4], n = 1 + rng_below(&r, 4), taken, later, all = 0, transmissions;
		struct rtr_piece p[PIECES];
		uint32_t position = 40;
		int count;

		for (unsigned i = 0; i < s.ngroups; i++) {
			s.groups[i] = (struct rtr_segments){1 + rng_below(&r, 3),
							    64 * (1 + rng_below(&r, 8)), 64,
							    i == 0 ? 0 : rng_below(&r, 2)};
			s.bytes += s.groups[i].count * s.groups[i].length;
			s.targets += s.groups[i].flags ? s.groups[i].count : 0;
		}
		taken = rng_below(&r, s.bytes);
		later = 28 + rng_below(&r, 60);
		for (unsigned i = 0; i < n; i++)
			all += lengths[i] = 1 + rng_below(&r, 3000);
		count = rtr_lay_out(&s, taken, later, lengths, n, p, PIECES, &transmissions);
		if (count < 0) {
			assert_true(count == ERR_TOOBIG || count == ERR_NOSPACE);
			continue;
		}
		fresh(transmissions);
		for (int k = 0; k < count; k++) {
			struct rtr_item *item = &m.items[p[k].item];

			if (p[k].from == 0) {
				assert_int_equal(p[k].item, m.nitems++);
				*item = (struct rtr_item){
					position, lengths[p[k].item], {.type = RTR_TBSN}};
				position += (item->length + 3) & ~3u;
			}
			assert_int_equal(rtr_add_number(&m, &item->place, p[k].number), 0);
			all -= p[k].length;
		}
		assert_int_equal(all, 0);
		assert_int_equal(rtr_check_items(&m, &s, &fault), 0);
		for (uint32_t t = 0; t < transmissions; t++) {
			uint32_t end = t ? later : taken;

			for (int k = 0; k < count; k++)
				if (p[k].transmission == t)
					end = p[k].at + p[k].length;
			assert_true(end <= s.bytes);
			assert_int_equal(rtr_check_taken(&m, &s, t, t ? later : taken, end, &fault),
					 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_in_order),
		cmocka_unit_test(groups_out_of_order),
		cmocka_unit_test(groups_interrupted),
		cmocka_unit_test(payload_is_in_the_transmission),
		cmocka_unit_test(items_where_they_may_be),
		cmocka_unit_test(items_where_they_may_not_be),
		cmocka_unit_test(offsets),
		cmocka_unit_test(positions_rise),
		cmocka_unit_test(nowhere_to_place),
		cmocka_unit_test(items_are_in_what_arrived),
		cmocka_unit_test(table_2),
		cmocka_unit_test(results_that_lie),
		cmocka_unit_test(results_elsewhere),
		cmocka_unit_test(positions_that_are_not_told),
		cmocka_unit_test(laid_out_by_hand),
		cmocka_unit_test(what_is_laid_out_is_let_through),
	};
	return cmocka_run_group_tests_name("rtrext groups", tests, NULL, NULL);
}
