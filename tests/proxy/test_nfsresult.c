/* SPDX-License-Identifier: BSD-2-Clause */
/* nfs_result_check(): lengths of data in replies to READs (RFC 1813 3.3.6, RFC 7530 16.23). */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/plan/nfs.h"
#include "proxy/plan/nfsresult.h"

enum { FATTR3_OCTETS = 84 };
enum { GETATTR = 9, PUTFH = 22, READ = 25, OPEN = 18, SEQUENCE = 53 };

static uint8_t stream[4096];
static const uint8_t zeros[1024];
static struct xdr_out x;
static bool changed;

/* With Write chunks that have room for any result. */
static int result_check(enum nfs_reads reads, struct view reply, uint32_t *placed, unsigned n)
{
	struct nfs_chunk chunks[2];
	int rc;

	for (unsigned i = 0; i < n; i++)
		chunks[i] = (struct nfs_chunk){UINT32_MAX, placed[i]};
	rc = nfs_result_check(reads, reply, chunks, n, &changed);
	for (unsigned i = 0; i < n; i++)
		placed[i] = chunks[i].placed;
	return rc;
}

static void begin(void)
{
	xdr_out_init(&x, stream, sizeof(stream));
	xdr_put_u32(&x, 77); /* XID */
	xdr_put_u32(&x, 1);  /* REPLY */
	xdr_put_u32(&x, 0);  /* MSG_ACCEPTED */
	xdr_put_u32(&x, 0);
	xdr_put_opaque(&x, view_of(zeros, 8)); /* verifier */
	xdr_put_u32(&x, 0);		       /* SUCCESS */
}

static struct view end(void)
{
	assert_false(x.failed);
	return view_of(stream, xdr_out_len(&x));
}

static void put(unsigned n, ...)
{
	va_list words;

	va_start(words, n);
	while (n--)
		xdr_put_u32(&x, va_arg(words, unsigned));
	va_end(words);
}

static void put_octets(size_t n)
{
	for (; n >= 4; n -= 4)
		xdr_put_u32(&x, 0);
}

/* Results of NFSv3 READ, the data left out. */
static struct view read3(bool attributes, uint32_t length)
{
	begin();
	put(2, 0u, attributes ? 1u : 0u);
	put_octets(attributes ? FATTR3_OCTETS : 0);
	put(3, length, 0u, length);
	return end();
}

/* Results of SEQUENCE, PUTFH, READ and GETATTR, the data left out. */
static struct view compound(uint32_t length)
{
	begin();
	put(1, 0u);
	xdr_put_opaque(&x, view_of(zeros, 5)); /* tag */
	put(1, 4u);
	put(2, SEQUENCE, 0u);
	put_octets(36);
	put(2, PUTFH, 0u);
	put(4, READ, 0u, 1u, length);
	put(4, GETATTR, 0u, 1u, 16u);
	xdr_put_opaque(&x, view_of(zeros, 8));
	return end();
}

/* In a compound(): from the last octet of the READ's eof to the end. */
enum { AFTER_EOF_4 = 1 + 4 + 4 * 4 + 4 + 8 };

/* A length that is 1 to 3 octets too long is put right; others that differ are an error. */
static void lengths_are_those_of_the_data(void **state)
{
	static const struct {
		uint32_t placed, length;
		int result;
		uint32_t then;
	} rows[] = {
		{1000, 1000, 0, 1000},	    {1001, 1000, 0, 1000},	 {1003, 1000, 0, 1000},
		{4094, 4093, 0, 4093},	    {1004, 1000, ERR_XDR, 1004}, {996, 1000, ERR_XDR, 996},
		{4096, 100, ERR_XDR, 4096}, {1, 0xffffffff, ERR_XDR, 1}, {3, 0, 0, 0},
	};
	uint32_t placed;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int attributes = 0; attributes < 2; attributes++) {
			placed = rows[i].placed;
			assert_int_equal(result_check(NFS_READS_3,
						      read3(attributes, rows[i].length), &placed,
						      1),
					 rows[i].result);
			assert_int_equal(placed, rows[i].then);
		}
		placed = rows[i].placed;
		assert_int_equal(result_check(NFS_READS_4, compound(rows[i].length), &placed, 1),
				 rows[i].result);
		assert_int_equal(placed, rows[i].then);
	}
}

/* One that is up to three octets too short makes the READ a short one: the requester asks for the rest. NFS-Ganesha 6.5
 * places 1,048,572 octets of 1,048,575. */
static void octets_that_are_missing_make_a_short_read(void **state)
{
	static const uint32_t length = 1048575;
	uint8_t want[sizeof(stream)];
	struct view reply;
	uint32_t placed;

	(void)state;
	for (uint32_t missing = 1; missing <= 3; missing++) {
		for (int version = 3; version <= 4; version++) {
			placed = length - missing;
			reply = version == 3 ? read3(true, placed) : compound(placed);
			memcpy(want, reply.data, reply.len);
			if (version == 4)
				want[reply.len - AFTER_EOF_4] = 0;
			reply = version == 3 ? read3(true, length) : compound(length);
			if (version == 3)
				stream[reply.len - 5] = 1; /* eof */
			assert_int_equal(result_check(version == 3 ? NFS_READS_3 : NFS_READS_4,
						      reply, &placed, 1),
					 0);
			assert_true(changed);
			assert_int_equal(placed, length - missing);
			assert_memory_equal(reply.data, want, reply.len);
		}
	}
}

/* Data that were not placed have to be there, to the last octet. */
static void data_in_the_stream_are_whole(void **state)
{
	uint32_t placed = 0;
	struct view whole;

	(void)state;
	read3(true, 100);
	put_octets(100);
	whole = end();
	assert_int_equal(result_check(NFS_READS_3, whole, &placed, 1), 1);
	/* Where there is no chunk for them they are where they belong: no habit of the server's to remember, which would
	 * take Reply chunks from all clients of its route. */
	assert_int_equal(result_check(NFS_READS_3, whole, NULL, 0), 0);
	whole.len -= 4;
	assert_int_equal(result_check(NFS_READS_3, whole, &placed, 1), ERR_XDR);
	assert_int_equal(result_check(NFS_READS_3, whole, NULL, 0), ERR_XDR);
	assert_int_equal(placed, 0);
}

/* Results of PUTFH and READ, and all 100 octets of room behind them. */
static struct view compound_in_stream(uint32_t length)
{
	begin();
	put(1, 0u);
	xdr_put_opaque(&x, view_of(zeros, 0)); /* tag */
	put(1, 2u);
	put(2, PUTFH, 0u);
	put(4, READ, 0u, 1u, length);
	put_octets(100);
	return end();
}

/* Data that end the reply are whole without the XDR pad behind them. */
static void the_last_pad_may_be_missing(void **state)
{
	(void)state;
	for (uint32_t length = 97; length <= 100; length++)
		for (uint32_t missing = 0; missing <= 4; missing++) {
			const bool whole = missing <= 100 - length;
			struct view three, four;
			uint32_t placed = 0;

			read3(true, length);
			put_octets(100);
			three = end();
			three.len -= missing;
			assert_int_equal(result_check(NFS_READS_3, three, &placed, 1),
					 whole ? 1 : ERR_XDR);
			assert_int_equal(result_check(NFS_READS_3, three, NULL, 0),
					 whole ? 0 : ERR_XDR);
			four = compound_in_stream(length);
			four.len -= missing;
			assert_int_equal(result_check(NFS_READS_4, four, NULL, 0),
					 whole ? 0 : ERR_XDR);
		}
}

/* Where something follows the pad has to be there: what follows could not be found. */
static void a_pad_within_the_reply_is_not_missing(void **state)
{
	uint32_t placed = 100;
	struct view whole;

	(void)state;
	begin();
	put(1, 0u);
	xdr_put_opaque(&x, view_of(zeros, 0));
	put(1, 2u);
	put(4, READ, 0u, 0u, 99u);
	put_octets(96);
	put(3, 0u, (uint32_t)PUTFH << 8, 0u); /* three octets of data; PUTFH and its status */
	whole = end();
	whole.len -= 1;
	assert_int_equal(result_check(NFS_READS_4, whole, NULL, 0), ERR_XDR);
	/* Attributes at the end are data of variable length as well. */
	begin();
	put(1, 0u);
	xdr_put_opaque(&x, view_of(zeros, 0));
	put(1, 2u);
	put(4, READ, 0u, 0u, 100u);
	put(4, GETATTR, 0u, 1u, 16u);
	put(2, 7u, 0u);
	put_octets(4);
	whole = end();
	whole.len -= 1;
	assert_int_equal(result_check(NFS_READS_4, whole, &placed, 1), 0);
	whole.len -= 1;
	assert_int_equal(result_check(NFS_READS_4, whole, &placed, 1), ERR_XDR);
}

/* Wherever a COMPOUND is cut: in the operations behind the data, too. */
static void a_cut_compound_is_seen(void **state)
{
	uint32_t placed;
	struct view whole = compound(1000);

	(void)state;
	for (size_t len = 32; len < whole.len; len += 4) {
		uint8_t *exact = malloc(len);

		assert_non_null(exact);
		memcpy(exact, whole.data, len);
		placed = 1000;
		assert_int_equal(result_check(NFS_READS_4, view_of(exact, len), &placed, 1),
				 ERR_XDR);
		free(exact);
	}
}

/* Two READs, two Write chunks; the second one's is too long. */
static void each_read_has_its_chunk(void **state)
{
	uint32_t placed[2] = {500, 302};

	(void)state;
	begin();
	put(1, 0u);
	xdr_put_opaque(&x, view_of(zeros, 0));
	put(1, 2u);
	put(4, READ, 0u, 0u, 500u);
	put(4, READ, 0u, 0u, 301u);
	assert_int_equal(result_check(NFS_READS_4, end(), placed, 2), 0);
	assert_int_equal(placed[0], 500);
	assert_int_equal(placed[1], 301);
}

/* The first chunk is empty, for its client wants these data inline, or too short for them; of the second READ there are none.
 * Nothing was placed, so the server may have left out the Write list: that is no habit of its. */
static void data_that_their_chunk_has_no_room_for(void **state)
{
	static const struct {
		uint32_t room;
		int result;
	} rows[] = {{0, 0}, {99, 0}, {100, 1}, {4096, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nfs_chunk chunks[2] = {{rows[i].room, 0}, {4096, 0}};

		begin();
		put(1, 0u);
		xdr_put_opaque(&x, view_of(zeros, 0));
		put(1, 2u);
		put(4, READ, 0u, 0u, 100u);
		put_octets(100);
		put(4, READ, 0u, 1u, 0u);
		assert_int_equal(nfs_result_check(NFS_READS_4, end(), chunks, 2, &changed),
				 rows[i].result);
	}
}

/* Errors, operations whose results are not known, replies without results: believed. */
static void what_cannot_be_read_is_believed(void **state)
{
	uint32_t placed = 9;

	(void)state;
	begin();
	put(1, 70u); /* NFS3ERR_STALE */
	assert_int_equal(result_check(NFS_READS_3, end(), &placed, 1), 0);
	begin();
	put(4, 10001u, 0u, 1u, READ);
	put(1, 10001u);
	assert_int_equal(result_check(NFS_READS_4, end(), &placed, 1), 0);
	begin();
	put(3, 0u, 0u, 2u);
	put(3, OPEN, 0u, 1234u);
	assert_int_equal(result_check(NFS_READS_4, end(), &placed, 1), 0);
	begin();
	x.pos[-1] = 4; /* GARBAGE_ARGS */
	assert_int_equal(result_check(NFS_READS_3, end(), &placed, 1), 0);
	assert_int_equal(result_check(NFS_READS_NONE, view_of(zeros, 3), &placed, 1), 0);
	assert_int_equal(placed, 9);
}

static enum nfs_reads reads_of(uint32_t prog, uint32_t vers, uint32_t proc, uint32_t gss_service)
{
	struct rpchdr hdr = {.prog = prog, .vers = vers, .proc = proc};

	xdr_out_init(&x, stream, sizeof(stream));
	put(6, 1u, 0u, 2u, prog, vers, proc);
	if (gss_service)
		put(8, 6u, 20u, 1u, 0u, 5u, gss_service, 0u, 0u);
	else
		put(2, 0u, 0u);
	put(2, 0u, 0u);
	return nfs_reads_of(&hdr, end());
}

static void only_reads_that_can_be_seen(void **state)
{
	(void)state;
	assert_int_equal(reads_of(PROG_NFS, 3, 6, 0), NFS_READS_3);
	assert_int_equal(reads_of(PROG_NFS, 4, 1, 0), NFS_READS_4);
	assert_int_equal(reads_of(PROG_NFS, 3, 6, 1), NFS_READS_3);    /* authentication alone */
	assert_int_equal(reads_of(PROG_NFS, 3, 6, 2), NFS_READS_NONE); /* integrity */
	assert_int_equal(reads_of(PROG_NFS, 4, 1, 3), NFS_READS_NONE); /* privacy */
	assert_int_equal(reads_of(PROG_NFS, 3, 7, 0), NFS_READS_NONE);
	assert_int_equal(reads_of(PROG_NFS, 4, 0, 0), NFS_READS_NONE);
	assert_int_equal(reads_of(PROG_MOUNT, 3, 6, 0), NFS_READS_NONE);
}

/* A result in a Write chunk that such a procedure cannot return is not believed. */
static void only_some_procedures_return_write_chunks(void **state)
{
	struct rpchdr h = {.prog = PROG_NFS, .vers = 3};

	(void)state;
	for (h.proc = 0; h.proc < 22; h.proc++)
		assert_int_equal(nfs_returns_chunks(&h), h.proc == 5 || h.proc == 6);
	h.vers = 4;
	for (h.proc = 0; h.proc < 2; h.proc++)
		assert_int_equal(nfs_returns_chunks(&h), h.proc);
	h.prog = 400000; /* an unknown program */
	for (h.proc = 0; h.proc < 9; h.proc++)
		assert_int_equal(nfs_returns_chunks(&h), h.proc > 0);
}

/* Any reply takes no longer to check than a valid COMPOUND of the greatest length. */
static void what_is_beyond_any_compound_is_not_looked_at(void **state)
{
	uint32_t placed[1] = {100};

	(void)state;
	for (unsigned ops = NFS4_OPERATIONS - 1; ops <= NFS4_OPERATIONS; ops++) {
		begin();
		put(3, 0u, 0u, 1000000u); /* no tag */
		for (unsigned i = 0; i < ops; i++)
			put(2, PUTFH, 0u);
		put(4, READ, 0u, 1u, 50u); /* not what was placed */
		assert_int_equal(result_check(NFS_READS_4, end(), placed, 1),
				 ops < NFS4_OPERATIONS ? ERR_XDR : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_beyond_any_compound_is_not_looked_at),
		cmocka_unit_test(lengths_are_those_of_the_data),
		cmocka_unit_test(octets_that_are_missing_make_a_short_read),
		cmocka_unit_test(data_in_the_stream_are_whole),
		cmocka_unit_test(the_last_pad_may_be_missing),
		cmocka_unit_test(a_pad_within_the_reply_is_not_missing),
		cmocka_unit_test(a_cut_compound_is_seen),
		cmocka_unit_test(each_read_has_its_chunk),
		cmocka_unit_test(data_that_their_chunk_has_no_room_for),
		cmocka_unit_test(what_cannot_be_read_is_believed),
		cmocka_unit_test(only_reads_that_can_be_seen),
		cmocka_unit_test(only_some_procedures_return_write_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
