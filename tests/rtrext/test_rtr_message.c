/* SPDX-License-Identifier: BSD-2-Clause */
/* The four messages: the profile's vectors, forms that Table 1 forbids, lists with wrong counts,
 * and random messages there and back. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "rtrext/message.h"
#include "tests/rng.h"
#include "tests/rtrext/hex.h"
#include "tests/rtrext/vectors.h"

static struct rtr_msg m;
static uint8_t wire[65536];
static size_t wire_len;

static int decode_octets(enum rtr_op op, size_t len)
{
	uint8_t *exact = hex_exact(wire, len);
	struct xdr_in x;
	int rc;

	xdr_in_init(&x, view_of(exact, len));
	rc = rtr_decode(&m, op, &x);
	if (!rc)
		assert_int_equal(xdr_in_left(&x), 0);
	free(exact);
	return rc;
}

static int decode(enum rtr_op op, const char *hex)
{
	wire_len = hex_octets(hex, wire, sizeof(wire));
	return decode_octets(op, wire_len);
}

/* The message decodes, encodes to the same octets, and each of its prefixes is malformed. */
static void good(enum rtr_op op, const char *hex)
{
	static uint8_t again[4096];
	struct xdr_out x;

	assert_int_equal(decode(op, hex), 0);
	assert_int_equal(m.op, op);
	assert_int_equal(rtr_len(&m), wire_len);
	xdr_out_init(&x, again, wire_len - 1);
	rtr_encode(&m, &x);
	assert_true(x.failed);
	xdr_out_init(&x, again, sizeof(again));
	rtr_encode(&m, &x);
	assert_false(x.failed);
	assert_int_equal(xdr_out_len(&x), wire_len);
	assert_memory_equal(again, wire, wire_len);
	for (size_t len = 0; len < wire_len; len++)
		assert_int_equal(decode_octets(op, len), ERR_XDR);
	assert_int_equal(decode_octets(op, wire_len), 0);
}

static void requests(void **state)
{
	(void)state;
	good(RTR_REQUEST, VECTOR_REQUEST_PLAIN);
	assert_int_equal(m.nitems + m.nsets, 0);
	assert_int_equal(m.count, 1);
	assert_int_equal(m.reserved, 1);
	assert_int_equal(m.payload, 40);
	good(RTR_REQUEST, VECTOR_REQUEST_WRITE);
	assert_int_equal(m.nitems, 1);
	assert_int_equal(m.items[0].position, 0x68);
	assert_int_equal(m.items[0].length, 8192);
	assert_int_equal(m.items[0].place.type, RTR_TBSN);
	assert_int_equal(m.items[0].place.bytes, 0);
	assert_int_equal(m.items[0].place.count, 2);
	assert_int_equal(m.numbers[1], 1);
	good(RTR_REQUEST, VECTOR_REQUEST_READ);
	assert_int_equal(m.nsets, 1);
	assert_int_equal(m.sets[0].begin, 0x40);
	assert_int_equal(m.sets[0].end, 0x80);
	assert_int_equal(m.sets[0].count, 2);
	assert_int_equal(m.nwishes, 2);
	assert_int_equal(m.wishes[0].least, 512);
	assert_int_equal(m.wishes[0].place.type, RTR_BYSIZE);
	assert_int_equal(m.wishes[0].place.bytes, 4096);
	assert_int_equal(m.segs[0].length, 1 << 20);
	assert_int_equal(m.wishes[1].place.type, RTR_TBSN);
	assert_int_equal(m.reserved, 3);
	good(RTR_REQUEST, VECTOR_REQUEST_CHOICE);
	assert_int_equal(m.sets[0].end, UINT32_MAX);
	assert_int_equal(m.wishes[0].place.type, RTR_CHOICE);
	assert_int_equal(m.segs[0].handle, 0xaa02);
	assert_int_equal(m.reserved, 4);
}

static void responses(void **state)
{
	(void)state;
	good(RTR_RESPONSE, VECTOR_RESPONSE_READ);
	assert_int_equal(m.nitems, 2);
	assert_int_equal(m.items[0].place.type, RTR_EXRW);
	assert_int_equal(m.segs[0].handle, 0xaa01);
	assert_int_equal(m.items[1].place.type, RTR_NOITEM);
	good(RTR_RESPONSE, VECTOR_RESPONSE_SHORT);
	assert_int_equal(m.items[0].place.type, RTR_TOOSHORT);
	assert_int_equal(m.payload, 100);
	good(RTR_RESPONSE, VECTOR_RESPONSE_SENT);
	assert_int_equal(m.items[0].position, 0);
	assert_int_equal(m.items[0].length, 98304);
	assert_int_equal(m.items[0].place.count, 2);
	assert_int_equal(m.count, 2);
	good(RTR_RESPONSE, VECTOR_RESPONSE_NONE);
	assert_int_equal(m.items[0].place.type, RTR_NOITEM);
}

static void continues(void **state)
{
	(void)state;
	good(RTR_CONTINUE, VECTOR_CONTINUE);
	assert_int_equal(m.number, 1);
	assert_int_equal(m.began, RTR_REQUEST);
	assert_int_equal(m.payload, 0);
	good(RTR_CONTINUE, VECTOR_CONTINUE_RESPONSE);
	assert_int_equal(m.began, RTR_HEADER_TYPES + RTR_RESPONSE);
}

static void reports(void **state)
{
	(void)state;
	good(RTR_REPORT, VECTOR_REPORT_NUMBER);
	assert_int_equal(m.bad.xid, 0xa01);
	assert_false(m.bad.is_reply);
	assert_int_equal(m.bad.number, 2);
	assert_true(m.has_lead);
	assert_int_equal(m.lead.number, 0);
	assert_int_equal(m.fault.code, RTR_BAD_NUMBER);
	assert_int_equal(m.fault.min, 1); /* expected, then what came */
	assert_int_equal(m.fault.value, 2);
	good(RTR_REPORT, VECTOR_REPORT_TARGET);
	assert_true(m.bad.is_reply);
	assert_int_equal(m.fault.value, 9);
	assert_int_equal(m.fault.min, 0);
	assert_int_equal(m.fault.max, 3);
	good(RTR_REPORT, VECTOR_REPORT_CONT);
	assert_int_equal(m.fault.code, RTR_BAD_CONT);
	assert_false(m.has_lead);
	/* Codes that do not exist; a direction and a choice that are neither. */
	assert_int_equal(decode(RTR_REPORT, "00000001 00000000 00000000 00000000 00000000"),
			 ERR_XDR);
	assert_int_equal(decode(RTR_REPORT, "00000001 00000000 00000000 00000000 00000009"),
			 ERR_XDR);
	assert_int_equal(decode(RTR_REPORT, "00000001 00000002 00000000 00000000 00000003"),
			 ERR_XDR);
	assert_int_equal(decode(RTR_REPORT, "00000001 00000000 00000000 00000002 00000003"),
			 ERR_XDR);
}

/* Table 1, each cell. */
static void types_in_their_places(void **state)
{
	static const struct {
		const char *arm; /* of the union, its words behind the type */
		bool in_request, in_direction, in_response;
	} types[] = {
		[0] = {"", false, false, false},
		[RTR_EXRW] = {"00000001 00000001 00000004 0000000000000000", true, true, true},
		[RTR_TBSN] = {"", true, true, true},
		[RTR_CHOICE] = {"00000001 00000001 00000004 0000000000000000", false, true, false},
		[RTR_BYSIZE] = {"00000000 00000001 00000001 00000004 0000000000000000", false, true,
				false},
		[RTR_TOOSHORT] = {"", false, false, true},
		[RTR_NOITEM] = {"", false, false, true},
		[7] = {"", false, false, false},
	};
	char hex[256];

	(void)state;
	for (unsigned type = 0; type < 8; type++) {
		const char *loc = type == RTR_TBSN ? "00000000 00000001 00000000" : types[type].arm;

		snprintf(hex, sizeof(hex),
			 "00000001 00000040 00000004 %08x %s 00000000 00000001 "
			 "00000001 00000028",
			 type, loc);
		assert_int_equal(decode(RTR_REQUEST, hex), types[type].in_request ? 0 : ERR_XDR);
		snprintf(hex, sizeof(hex), "00000001 00000040 00000004 %08x %s 00000001 00000028",
			 type, loc);
		assert_int_equal(decode(RTR_RESPONSE, hex), types[type].in_response ? 0 : ERR_XDR);
		snprintf(hex, sizeof(hex),
			 "00000000 00000001 00000000 00000004 00000001 00000010 "
			 "%08x %s 00000001 00000001 00000028",
			 type, types[type].arm);
		assert_int_equal(decode(RTR_REQUEST, hex), types[type].in_direction ? 0 : ERR_XDR);
	}
}

/* A place that needs segments has some; a group has a transmission. */
static void empty_where_it_may_not_be(void **state)
{
	static const char *const bad[] = {
		"00000001 00000040 00000004 00000001 00000000 00000000 00000001 00000001 00000028",
		"00000001 00000040 00000004 00000002 00000000 00000000 00000000 00000001 00000001 "
		"00000028",
		"00000000 00000001 00000000 00000004 00000001 00000010 00000003 00000000 00000001 "
		"00000001 00000028",
		"00000000 00000000 00000000 00000001 00000028",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode(RTR_REQUEST, bad[i]), ERR_XDR);
}

/* Section 7.4: disjoint, and in strictly increasing order. */
static void ranges_rise(void **state)
{
	static const struct {
		uint32_t range[4];
		int rc;
	} pairs[] = {
		{{0, 4, 4, 8}, 0},	  {{0, 4, 100, 104}, 0},
		{{0, 4, 3, 8}, ERR_XDR},  {{8, 12, 0, 4}, ERR_XDR},
		{{4, 4, 8, 12}, ERR_XDR}, {{8, 4, 12, 16}, ERR_XDR},
		{{0, 4, 0, 4}, ERR_XDR},  {{0, UINT32_MAX, UINT32_MAX, 0}, ERR_XDR},
	};
	char hex[256];

	(void)state;
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const uint32_t *r = pairs[i].range;

		snprintf(hex, sizeof(hex),
			 "00000000 00000002 %08x %08x 00000000 %08x %08x 00000000 "
			 "00000001 00000001 00000028",
			 r[0], r[1], r[2], r[3]);
		assert_int_equal(decode(RTR_REQUEST, hex), pairs[i].rc);
	}
}

static void counts_that_lie(void **state)
{
	static const char *const lies[] = {
		"ffffffff 00000000 00000000 00000000",
		"00000001 00000000 00000000 00000001 ffffffff 00000000 00000000",
		"00000001 00000000 00000000 00000001 10000001 00000000 00000000",
		"00000001 00000000 00000000 00000002 00000000 40000001 00000000",
		"00000000 ffffffff 00000000 00000000 00000000",
		"00000000 00000001 00000000 00000004 ffffffff 00000000 00000000",
		"00000000 00000001 00000000 00000004 20000001 00000000 00000002",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		assert_int_equal(decode(RTR_REQUEST, lies[i]), ERR_XDR);
}

static void put(unsigned n, const uint32_t *words, struct xdr_out *x)
{
	for (unsigned i = 0; i < n; i++)
		xdr_put_u32(x, words[i]);
}
#define PUT(x, ...) put(sizeof((uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__}, x)

/* One more than each table holds. */
static void more_than_is_held(void **state)
{
	struct xdr_out x;

	(void)state;
	xdr_out_init(&x, wire, sizeof(wire));
	PUT(&x, RTR_MAX_ITEMS + 1);
	for (unsigned i = 0; i <= RTR_MAX_ITEMS; i++)
		PUT(&x, 0, 0, RTR_NOITEM);
	PUT(&x, 1, 0);
	assert_int_equal(decode_octets(RTR_RESPONSE, xdr_out_len(&x)), ERR_TOOBIG);
	xdr_out_init(&x, wire, sizeof(wire));
	PUT(&x, 1, 0, 4, RTR_TBSN, 0, RTR_MAX_NUMBERS + 1);
	for (unsigned i = 0; i <= RTR_MAX_NUMBERS; i++)
		PUT(&x, i);
	PUT(&x, 1, 0);
	assert_int_equal(decode_octets(RTR_RESPONSE, xdr_out_len(&x)), ERR_TOOBIG);
	xdr_out_init(&x, wire, sizeof(wire));
	PUT(&x, 1, 0, 4, RTR_EXRW, RTR_MAX_SEGMENTS + 1);
	for (unsigned i = 0; i <= RTR_MAX_SEGMENTS; i++)
		PUT(&x, 1, 1, 0, 0);
	PUT(&x, 1, 0);
	assert_int_equal(decode_octets(RTR_RESPONSE, xdr_out_len(&x)), ERR_TOOBIG);
	xdr_out_init(&x, wire, sizeof(wire));
	PUT(&x, 0, RTR_MAX_SETS + 1);
	for (unsigned i = 0; i <= RTR_MAX_SETS; i++)
		PUT(&x, 4 * i, 4 * i + 4, 0);
	PUT(&x, 1, 1, 0);
	assert_int_equal(decode_octets(RTR_REQUEST, xdr_out_len(&x)), ERR_TOOBIG);
	xdr_out_init(&x, wire, sizeof(wire));
	PUT(&x, 0, 2, 0, 4, RTR_MAX_ITEMS);
	for (unsigned i = 0; i < RTR_MAX_ITEMS; i++)
		PUT(&x, 0, RTR_TBSN);
	PUT(&x, 4, 8, 1, 0, RTR_TBSN, 1, 1, 0);
	assert_int_equal(decode_octets(RTR_REQUEST, xdr_out_len(&x)), ERR_TOOBIG);
}

static void random_segments(struct rng *r, struct rtr_msg *to, struct rtr_place *p)
{
	unsigned n = 1 + rng_below(r, 4);

	for (unsigned i = 0; i < n; i++) {
		struct segment s = {(uint32_t)rng_next(r), (uint32_t)rng_next(r), rng_next(r)};

		assert_int_equal(rtr_add_segment(to, p, &s), 0);
	}
}

static void random_place(struct rng *r, struct rtr_msg *to, struct rtr_place *p)
{
	static const enum rtr_type types[] = {RTR_EXRW, RTR_TBSN, RTR_TOOSHORT, RTR_NOITEM};
	unsigned n = 1 + rng_below(r, 4);

	*p = (struct rtr_place){.type = types[rng_below(r, to->op == RTR_RESPONSE ? 4 : 2)]};
	if (p->type == RTR_EXRW)
		random_segments(r, to, p);
	if (p->type != RTR_TBSN)
		return;
	p->bytes = (uint32_t)rng_next(r);
	while (n--)
		assert_int_equal(rtr_add_number(to, p, (uint32_t)rng_next(r)), 0);
}

static void random_sets(struct rng *r, struct rtr_msg *to)
{
	uint32_t at = 0;

	for (to->nsets = 0; to->nsets < rng_below(r, 6); to->nsets++) {
		struct rtr_set *set = &to->sets[to->nsets];

		*set = (struct rtr_set){.begin = at + rng_below(r, 100),
					.first = (uint16_t)to->nwishes,
					.count = (uint16_t)rng_below(r, 4)};
		set->end = at = set->begin + 1 + rng_below(r, 100);
		for (unsigned i = 0; i < set->count; i++) {
			struct rtr_wish *w = &to->wishes[to->nwishes++];

			*w = (struct rtr_wish){.least = (uint32_t)rng_next(r)};
			w->place.type = (enum rtr_type)(RTR_EXRW + rng_below(r, 4));
			if (w->place.type == RTR_BYSIZE)
				w->place.bytes = (uint32_t)rng_next(r);
			if (w->place.type != RTR_TBSN)
				random_segments(r, to, &w->place);
		}
	}
}

static void random_msg(struct rng *r, struct rtr_msg *to)
{
	rtr_msg_reset(to, (enum rtr_op)(RTR_REQUEST + rng_below(r, 3)));
	to->payload = (uint32_t)rng_next(r);
	if (to->op == RTR_CONTINUE) {
		to->number = (uint32_t)rng_next(r);
		to->began = (uint32_t)rng_next(r);
		return;
	}
	to->count = 1 + rng_below(r, 1000);
	for (to->nitems = 0; to->nitems < rng_below(r, 6); to->nitems++) {
		to->items[to->nitems].position = (uint32_t)rng_next(r);
		to->items[to->nitems].length = (uint32_t)rng_next(r);
		random_place(r, to, &to->items[to->nitems].place);
	}
	if (to->op == RTR_RESPONSE)
		return;
	to->reserved = (uint32_t)rng_next(r);
	random_sets(r, to);
}

/* encode(decode(encode(m))) == encode(m), and the length is foretold. */
static void random_messages_come_back(void **state)
{
	struct rng r = rng_seeded("rtrext round trip", 1);
	static struct rtr_msg sent;
	static uint8_t again[sizeof(wire)];
	struct xdr_out x;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		size_t len;

		random_msg(&r, &sent);
		xdr_out_init(&x, wire, sizeof(wire));
		rtr_encode(&sent, &x);
		len = xdr_out_len(&x);
		assert_int_equal(rtr_len(&sent), len);
		assert_int_equal(decode_octets(sent.op, len), 0);
		assert_int_equal(m.count, sent.count);
		assert_int_equal(m.payload, sent.payload);
		assert_int_equal(m.nitems, sent.nitems);
		assert_int_equal(m.nwishes, sent.nwishes);
		xdr_out_init(&x, again, sizeof(again));
		rtr_encode(&m, &x);
		assert_int_equal(xdr_out_len(&x), len);
		assert_memory_equal(again, wire, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(responses),
		cmocka_unit_test(continues),
		cmocka_unit_test(reports),
		cmocka_unit_test(types_in_their_places),
		cmocka_unit_test(empty_where_it_may_not_be),
		cmocka_unit_test(ranges_rise),
		cmocka_unit_test(counts_that_lie),
		cmocka_unit_test(more_than_is_held),
		cmocka_unit_test(random_messages_come_back),
	};
	return cmocka_run_group_tests_name("rtrext messages", tests, NULL, NULL);
}
