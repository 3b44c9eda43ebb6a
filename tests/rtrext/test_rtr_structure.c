/* SPDX-License-Identifier: BSD-2-Clause */
/* Structure of Receives: the property, and the places of its segments. */
#include "tests/cmocka_all.h"

#include "rtrext/structure.h"
#include "tests/rng.h"
#include "tests/rtrext/hex.h"
#include "tests/rtrext/vectors.h"

static struct rtr_structure s;
static uint8_t wire[1024];

static int decode(const char *hex)
{
	size_t len = hex_octets(hex, wire, sizeof(wire));
	uint8_t *exact = hex_exact(wire, len);
	int rc = rtr_structure_decode(&s, view_of(exact, len));

	free(exact);
	return rc;
}

/* 4 KiB, then 1 MiB in 16 placement-targetable segments. */
static void the_profiles_example(void **state)
{
	struct rtr_target t;
	uint8_t again[64];
	struct xdr_out x;

	(void)state;
	assert_int_equal(decode(VECTOR_STRUCTURE), 0);
	assert_int_equal(s.bytes, 4096 + (1 << 20));
	assert_int_equal(s.targets, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_true(rtr_structure_target(&s, i, &t));
		assert_int_equal(t.offset, 4096 + i * 65536);
		assert_int_equal(t.length, 65536);
		assert_int_equal(t.align, 4096);
	}
	assert_false(rtr_structure_target(&s, 16, &t));
	xdr_out_init(&x, again, sizeof(again));
	rtr_structure_encode(&s, &x);
	assert_int_equal(xdr_out_len(&x), 40);
	assert_memory_equal(again, wire, 40);
	for (size_t len = 0; len < 40; len++)
		assert_int_equal(rtr_structure_decode(&s, view_of(wire, len)), ERR_PROP);
	assert_int_equal(rtr_structure_decode(&s, view_of(wire, 44)), ERR_PROP);
}

static void a_peer_without_a_structure(void **state)
{
	struct rtr_target t;

	(void)state;
	rtr_structure_plain(&s, 4096);
	assert_int_equal(s.bytes, 4096);
	assert_int_equal(s.targets, 0);
	assert_false(rtr_structure_target(&s, 0, &t));
	assert_int_equal(rtr_limit(0), 1);
	assert_int_equal(rtr_limit(7), 7);
}

static void values_that_cannot_be(void **state)
{
	(void)state;
	assert_int_equal(decode("00000000 00000000"), ERR_PROP); /* no groups */
	assert_int_equal(decode("00001000 00000001 00000000 00001000 00000001 00000000"), ERR_PROP);
	assert_int_equal(decode("00000000 00000001 00000001 00000000 00000001 00000000"), ERR_PROP);
	assert_int_equal(decode("00001000 00000001 00000001 00001000 00000003 00000000"), ERR_PROP);
	assert_int_equal(decode("00001004 00000001 00000001 00001000 00000001 00000000"), ERR_PROP);
	/* 2^32 octets and nothing, by 32 bits */
	assert_int_equal(decode("00000000 00000001 00010000 00010000 00000001 00000000"), ERR_PROP);
	assert_int_equal(decode("00000000 00000002 00000001 80000000 00000001 00000000 "
				"00000001 80000000 00000001 00000000"),
			 ERR_PROP);
	assert_int_equal(decode("00010001 00000001 00010001 00000001 00000001 00000001"),
			 ERR_TOOBIG);
	/* Alignment 0 is none; flags that do not exist mean nothing. */
	assert_int_equal(decode("00001000 00000001 00000001 00001000 00000000 fffffffe"), 0);
	assert_int_equal(s.groups[0].align, 1);
	assert_int_equal(s.targets, 0);
}

static void more_groups_than_are_held(void **state)
{
	struct xdr_out x;

	(void)state;
	for (uint32_t n = RTR_MAX_GROUPS; n <= RTR_MAX_GROUPS + 1; n++) {
		xdr_out_init(&x, wire, sizeof(wire));
		xdr_put_u32(&x, 4 * n);
		xdr_put_u32(&x, n);
		for (uint32_t i = 0; i < n; i++) {
			xdr_put_u32(&x, 1);
			xdr_put_u32(&x, 4);
			xdr_put_u32(&x, 4);
			xdr_put_u32(&x, i & 1);
		}
		assert_int_equal(rtr_structure_decode(&s, view_of(wire, xdr_out_len(&x))),
				 n == RTR_MAX_GROUPS ? 0 : ERR_TOOBIG);
	}
}

/* Against a walk over all segments, one by one. */
static void segments_are_where_a_walk_finds_them(void **state)
{
	struct rng r = rng_seeded("rtrext structure", 1);

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint32_t offset = 0, number = 0, at = rng_below(&r, 3000), first = UINT32_MAX;
		struct rtr_target t;

		s = (struct rtr_structure){.ngroups = 1 + rng_below(&r, 5)};
		for (unsigned i = 0; i < s.ngroups; i++)
			s.groups[i] = (struct rtr_segments){1 + rng_below(&r, 4),
							    4 + 4 * rng_below(&r, 100), 4,
							    rng_below(&r, 2)};
		for (unsigned i = 0; i < s.ngroups; i++)
			s.targets += s.groups[i].flags ? s.groups[i].count : 0;
		for (unsigned i = 0; i < s.ngroups; i++)
			for (uint32_t k = 0; k < s.groups[i].count; k++) {
				if (s.groups[i].flags) {
					assert_true(rtr_structure_target(&s, number, &t));
					assert_int_equal(t.offset, offset);
					assert_int_equal(t.length, s.groups[i].length);
					if (first == UINT32_MAX && offset >= at)
						first = number;
					number++;
				}
				offset += s.groups[i].length;
			}
		assert_false(rtr_structure_target(&s, number, &t));
		assert_int_equal(rtr_structure_free(&s, at), first == UINT32_MAX ? number : first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_profiles_example),
		cmocka_unit_test(a_peer_without_a_structure),
		cmocka_unit_test(values_that_cannot_be),
		cmocka_unit_test(more_groups_than_are_held),
		cmocka_unit_test(segments_are_where_a_walk_finds_them),
	};
	return cmocka_run_group_tests_name("rtrext structure", tests, NULL, NULL);
}
