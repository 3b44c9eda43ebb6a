/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_reply_max(): RFC 1813 by procedure, and the credentials in front of the arguments. */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/plan/plan.h"
#include "proxy/plan/nfsreply.h"
#include "tests/rng.h"
#include "xdr/cursor.h"

enum { HEADER = 24 + 400, ATTR = 88, WCC = 116 };

static uint8_t stream[2048];

struct call {
	uint32_t prog, vers, proc, count;
	uint32_t flavor, cred_octets;	/* not RPCSEC_GSS */
	uint32_t gss_proc, gss_service; /* RPCSEC_GSS */
	uint32_t fh_octets;
};

/* The call's payload stream. */
static struct view encode(const struct call *c)
{
	static const uint8_t zeros[512];
	struct xdr_out x;

	xdr_out_init(&x, stream, sizeof(stream));
	xdr_put_u32(&x, 1);
	xdr_put_u32(&x, 0);
	xdr_put_u32(&x, 2);
	xdr_put_u32(&x, c->prog);
	xdr_put_u32(&x, c->vers);
	xdr_put_u32(&x, c->proc);
	xdr_put_u32(&x, c->flavor);
	if (c->flavor == 6) {
		xdr_put_u32(&x, 5 * 4 + 8); /* version, procedure, number, service, handle<> */
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, c->gss_proc);
		xdr_put_u32(&x, 77);
		xdr_put_u32(&x, c->gss_service);
		xdr_put_opaque(&x, view_of(zeros, 8));
	} else {
		xdr_put_opaque(&x, view_of(zeros, c->cred_octets));
	}
	xdr_put_u32(&x, 0);
	xdr_put_opaque(&x, view_of(zeros, c->flavor == 6 ? 28 : 0));
	xdr_put_opaque(&x, view_of(zeros, c->fh_octets));
	xdr_put_u64(&x, 0);
	if (c->proc != 6)
		xdr_put_u64(&x, 0);
	if (c->proc == 17)
		xdr_put_u32(&x, 1000);
	xdr_put_u32(&x, c->count);
	assert_false(x.failed);
	return view_of(stream, xdr_out_len(&x));
}

static uint32_t max_of(const struct call *c, unsigned nwrites)
{
	struct view args = encode(c);
	struct rpchdr hdr;

	assert_int_equal(rpchdr_peek(&hdr, args), 0);
	return plan_reply_max(&hdr, args,
			      &(struct rpc_msg){.nwrites = nwrites, .writes = {{.length = 4096}}});
}

static void test_nfs3_by_procedure(void **state)
{
	/* RFC 1813 section 3.3, by hand: octets of the largest results. */
	static const struct {
		uint32_t proc, octets;
	} rows[] = {
		{0, 4},
		{1, 4 + 84},
		{2, 4 + WCC},
		{3, 4 + 68 + 2 * ATTR},
		{4, 4 + ATTR + 4},
		{5, 4 + ATTR + 4 + 4096},
		{7, 4 + WCC + 16},
		{8, 4 + 72 + ATTR + WCC},
		{9, 4 + 72 + ATTR + WCC},
		{10, 4 + 72 + ATTR + WCC},
		{11, 4 + 72 + ATTR + WCC},
		{12, 4 + WCC},
		{13, 4 + WCC},
		{14, 4 + 2 * WCC},
		{15, 4 + ATTR + WCC},
		{18, 4 + ATTR + 52},
		{19, 4 + ATTR + 48},
		{20, 4 + ATTR + 24},
		{21, 4 + WCC + 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call c = {.prog = 100003, .vers = 3, .proc = rows[i].proc, .fh_octets = 28};

		assert_int_equal(max_of(&c, 0), HEADER + rows[i].octets);
	}
}

static void test_counts(void **state)
{
	struct call c = {.prog = 100003, .vers = 3, .proc = 6, .count = 1001, .fh_octets = 64};

	(void)state;
	assert_int_equal(max_of(&c, 0), HEADER + 4 + ATTR + 12 + 1004);
	assert_int_equal(max_of(&c, 1), HEADER + 4 + ATTR + 12); /* the data is in the chunk */
	c.proc = 16;
	assert_int_equal(max_of(&c, 0), HEADER + 4 + ATTR + 16 + 1004);
	assert_int_equal(max_of(&c, 1), HEADER + 4 + ATTR + 16 + 1004); /* not DDP-eligible */
	c.proc = 17;
	c.count = 65536;
	assert_int_equal(max_of(&c, 0), HEADER + 4 + ATTR + 16 + 65536);
	c.count = UINT32_MAX;
	assert_int_equal(max_of(&c, 0), UINT32_MAX);
	c.proc = 5;
	assert_int_equal(max_of(&c, 1), HEADER + 4 + ATTR + 4);
}

static void test_neighbours(void **state)
{
	struct call c = {.prog = 100005, .vers = 3, .proc = 1};

	(void)state;
	assert_int_equal(max_of(&c, 0), HEADER + 4 + 68 + 4 + 256); /* MNT */
	c.proc = 2;						    /* DUMP: a list without bound */
	assert_int_equal(max_of(&c, 0), 0);
	c.proc = 5; /* EXPORT: likewise */
	assert_int_equal(max_of(&c, 0), 0);
	c = (struct call){.prog = 100021, .vers = 4, .proc = 1}; /* NLM TEST */
	assert_int_equal(max_of(&c, 0), HEADER + 1028 + 12 + 1028 + 16);
	c.proc = 16;
	assert_int_equal(max_of(&c, 0), 0);
	c = (struct call){.prog = 100227, .vers = 3, .proc = 1}; /* GETACL */
	assert_int_equal(max_of(&c, 0), HEADER + 4 + ATTR + 4 + 2 * 12296);
	/* READ's Write chunk means nothing to a neighbour with the same number. */
	c = (struct call){.prog = 100021, .vers = 4, .proc = 6};
	assert_int_equal(max_of(&c, 1), HEADER + 4);
}

static void test_unknown(void **state)
{
	struct call c = {.prog = 100003, .vers = 2, .proc = 1};

	(void)state;
	assert_int_equal(max_of(&c, 0), 0);
	c.vers = 3;
	c.proc = 22;
	assert_int_equal(max_of(&c, 0), 0);
	c = (struct call){.prog = 0x20000001, .vers = 1, .proc = 1};
	assert_int_equal(max_of(&c, 0), 0);
	/* A handle longer than any NFSv3 server's: not what it seems. */
	c = (struct call){.prog = 100003, .vers = 3, .proc = 6, .count = 100, .fh_octets = 68};
	assert_int_equal(max_of(&c, 0), 0);
}

static void test_credentials(void **state)
{
	struct call c = {.prog = 100003, .vers = 3, .proc = 6, .count = 100, .fh_octets = 32};
	uint32_t plain = HEADER + 4 + ATTR + 12 + 100;

	(void)state;
	c.flavor = 1;
	c.cred_octets = 399;
	assert_int_equal(max_of(&c, 0), plain);
	c.cred_octets = 404; /* RFC 5531 8.2: at most 400 */
	assert_int_equal(max_of(&c, 0), 0);
	c.flavor = 6;
	c.gss_service = 1; /* authentication only: the arguments are in the clear */
	assert_int_equal(max_of(&c, 0), plain);
	c.gss_service = 2; /* integrity, privacy: the count is not to be read */
	assert_int_equal(max_of(&c, 0), 0);
	c.gss_service = 3;
	assert_int_equal(max_of(&c, 0), 0);
	c.proc = 1; /* of fixed size: with the wrapping */
	assert_int_equal(max_of(&c, 0), HEADER + 400 + 4 + 84);
	c.proc = 5; /* draft-07 11.2.2.3: what is wrapped cannot be reduced */
	assert_int_equal(max_of(&c, 1), HEADER + 400 + 4 + ATTR + 4 + 4096);
	c.proc = 0; /* setting up a context: tokens of any size */
	c.gss_proc = 1;
	assert_int_equal(max_of(&c, 0), 0);
}

/* Cut or spoilt anywhere, the answer is "unknown" or that of what can be read; and no octet past
 * the end is touched (the copy is exact, for the sanitizer). */
static void test_truncated(void **state)
{
	struct rng r = rng_seeded("nfsreply", 4);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct call c = {.prog = 100003,
				 .vers = 3,
				 .proc = rng_below(&r, 22),
				 .count = 512,
				 .flavor = rng_below(&r, 2) ? 6 : 1,
				 .gss_service = 1,
				 .fh_octets = 4 * rng_below(&r, 17)};
		struct view v = encode(&c);
		size_t len = rng_below(&r, (uint32_t)v.len + 1);
		uint8_t *exact = malloc(len ? len : 1);
		struct rpchdr hdr = {.prog = 100003, .vers = 3, .proc = c.proc};

		assert_non_null(exact);
		memcpy(exact, v.data, len);
		if (len > 0 && rng_below(&r, 2))
			exact[rng_below(&r, (uint32_t)len)] ^= (uint8_t)(1 + rng_below(&r, 255));
		if (plan_reply_max(&hdr, view_of(exact, len), NULL) != 0)
			assert_true(len >= 40);
		free(exact);
	}
	assert_int_equal(plan_reply_max(&(struct rpchdr){.prog = 100003, .vers = 3, .proc = 1},
					view_of(NULL, 0), NULL),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nfs3_by_procedure), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_neighbours),	  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_credentials),	  cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
