/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/mpa.h"

#include <string.h>

#include "tests/cmocka_all.h"

/* From the capture of a Linux 6.1 client and filer over siw. */
static const uint8_t siw_request[] = "MPA ID Req Frame\x10\x02\x00\x0c"
				     "\x00\x80\x80\x00\xf6\xab\x0e\x18\x01\x01\x03\x03";
static const uint8_t siw_reply[] = "MPA ID Rep Frame\x10\x02\x00\x0c"
				   "\x00\x00\x00\x80\xf6\xab\x0e\x18\x01\x00\x03\x03";

static const struct mpa_local local = {.crc = true, .ird = 32, .ord = 16};

static void test_siw_request(void **state)
{
	struct mpa_frame f, reply;
	struct mpa_agreed agreed;
	uint8_t out[MPA_FRAME_MAX];

	(void)state;
	assert_int_equal(mpa_decode(MPA_REQUEST, view_of(siw_request, 32), &f), 0);
	assert_int_equal(f.revision, 2);
	assert_true(f.enhanced && !f.crc && !f.markers && !f.reject && !f.peer_to_peer);
	assert_int_equal(f.ird, 128);
	assert_int_equal(f.ord, 0);
	assert_int_equal(f.rtr, MPA_RTR_WRITE);
	assert_int_equal(f.private_data.len, 8);
	assert_memory_equal(f.private_data.data, siw_request + 24, 8);
	assert_int_equal(mpa_encode(MPA_REQUEST, &f, out, sizeof(out)), 32);
	assert_memory_equal(out, siw_request, 32);

	mpa_answer(&local, &f, view_of("abc", 3), &reply, &agreed);
	assert_true(agreed.crc); /* one side asks, both use it */
	assert_int_equal(agreed.ird, 32);
	assert_int_equal(agreed.ord, 16);
	assert_int_equal(agreed.rtr, MPA_RTR_NONE);
	assert_int_equal(mpa_encode(MPA_REPLY, &reply, out, sizeof(out)), 27);
	assert_memory_equal(out,
			    "MPA ID Rep Frame\x50\x02\x00\x07\x00\x20\x00\x10"
			    "abc",
			    27);
}

static void test_siw_reply(void **state)
{
	struct mpa_frame f;
	struct mpa_agreed agreed;
	uint8_t out[MPA_FRAME_MAX];

	(void)state;
	assert_int_equal(mpa_decode(MPA_REPLY, view_of(siw_reply, 32), &f), 0);
	assert_int_equal(f.ord, 128);
	assert_int_equal(mpa_encode(MPA_REPLY, &f, out, sizeof(out)), 32);
	assert_memory_equal(out, siw_reply, 32);
	/* The filer asks for 128 Reads: more than 32 are not accepted. */
	assert_int_equal(mpa_conclude(&local, &f, &agreed), ERR_TOOBIG);
	f.ord = 32;
	f.ird = 5;
	assert_int_equal(mpa_conclude(&local, &f, &agreed), 0);
	assert_int_equal(agreed.ord, 5);
	assert_int_equal(agreed.ird, 32);
	f.reject = true;
	assert_int_equal(mpa_conclude(&local, &f, &agreed), ERR_REJECTED);
	f.reject = false;
	f.markers = true;
	assert_int_equal(mpa_conclude(&local, &f, &agreed), ERR_PROTO);
}

static void test_request_of_ours(void **state)
{
	struct mpa_frame f;
	uint8_t out[MPA_FRAME_MAX];

	(void)state;
	mpa_request(&local, view_of("xy", 2), &f);
	assert_int_equal(mpa_encode(MPA_REQUEST, &f, out, sizeof(out)), 26);
	assert_memory_equal(out, "MPA ID Req Frame\x50\x02\x00\x06\x00\x20\x00\x10xy", 26);
	assert_int_equal(mpa_encode(MPA_REQUEST, &f, out, 25), ERR_NOSPACE);
}

static void test_old_revision(void **state)
{
	const uint8_t request[] = "MPA ID Req Frame\x00\x01\x00\x02zz";
	struct mpa_frame f, reply;
	struct mpa_agreed agreed;
	uint8_t out[MPA_FRAME_MAX];

	(void)state;
	assert_int_equal(mpa_decode(MPA_REQUEST, view_of(request, 22), &f), 0);
	assert_false(f.enhanced);
	assert_int_equal(f.private_data.len, 2);
	mpa_answer(&(struct mpa_local){.ird = 4, .ord = 4}, &f, view_of(NULL, 0), &reply, &agreed);
	assert_int_equal(mpa_encode(MPA_REPLY, &reply, out, sizeof(out)), 20);
	assert_memory_equal(out, "MPA ID Rep Frame\x00\x01\x00\x00", 20);
	assert_int_equal(agreed.ord, 1);
	assert_false(agreed.crc);
}

/* Decision 157: a peer of revision 1, or of revision 2 without S, told no IRD. An initiator or
 * acceptor without read depth of its own still issues none. */
static void test_no_read_depth_told(void **state)
{
	static const struct mpa_local none = {.ird = 32};

	(void)state;
	for (uint8_t revision = 1; revision <= 2; revision++) {
		struct mpa_frame f = {.revision = revision}, reply;
		struct mpa_agreed agreed;

		mpa_answer(&local, &f, view_of(NULL, 0), &reply, &agreed);
		assert_int_equal(agreed.ord, 1);
		assert_int_equal(agreed.ird, 32);
		mpa_answer(&none, &f, view_of(NULL, 0), &reply, &agreed);
		assert_int_equal(agreed.ord, 0);
		assert_int_equal(mpa_conclude(&local, &f, &agreed), 0);
		assert_int_equal(agreed.ord, 1);
		assert_int_equal(agreed.ird, 32);
		assert_int_equal(mpa_conclude(&none, &f, &agreed), 0);
		assert_int_equal(agreed.ord, 0);
	}
}

/* An end that announces an ORD of 0 issues no Reads. An end that announces no ORD may. */
static void test_a_peer_that_issues_no_reads(void **state)
{
	(void)state;
	for (unsigned ord = 0; ord <= 1; ord++)
		for (unsigned told = 0; told <= 1; told++) {
			struct mpa_frame f = {.enhanced = told,
					      .revision = 2,
					      .ird = 32,
					      .ord = (uint16_t)ord},
					 reply;
			struct mpa_agreed agreed;

			mpa_answer(&local, &f, view_of(NULL, 0), &reply, &agreed);
			assert_int_equal(agreed.peer_reads, !told || ord);
			assert_int_equal(mpa_conclude(&local, &f, &agreed), 0);
			assert_int_equal(agreed.peer_reads, !told || ord);
		}
}

/* RFC 6581 section 6.1: one indication of those offered comes back. */
static void test_peer_to_peer(void **state)
{
	static const struct {
		uint8_t offered;
		enum mpa_rtr chosen;
	} rows[] = {
		{MPA_RTR_WRITE | MPA_RTR_READ | MPA_RTR_SEND, MPA_RTR_WRITE},
		{MPA_RTR_READ | MPA_RTR_SEND, MPA_RTR_READ},
		{MPA_RTR_SEND, MPA_RTR_SEND},
		{0, MPA_RTR_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mpa_frame f = {.enhanced = true,
				      .revision = 2,
				      .peer_to_peer = true,
				      .rtr = rows[i].offered,
				      .ird = 1,
				      .ord = 1};
		struct mpa_frame reply, back;
		struct mpa_agreed agreed;
		uint8_t out[MPA_FRAME_MAX];
		int n;

		mpa_answer(&local, &f, view_of(NULL, 0), &reply, &agreed);
		assert_int_equal(agreed.rtr, rows[i].chosen);
		assert_int_equal(agreed.ord, 1);
		n = mpa_encode(MPA_REPLY, &reply, out, sizeof(out));
		assert_int_equal(mpa_decode(MPA_REPLY, view_of(out, (size_t)n), &back), 0);
		assert_true(back.peer_to_peer);
		assert_int_equal(back.rtr, rows[i].chosen);
	}
}

static void test_markers_declined(void **state)
{
	struct mpa_frame f = {.markers = true, .revision = 1}, reply;
	struct mpa_agreed agreed;

	(void)state;
	mpa_answer(&local, &f, view_of(NULL, 0), &reply, &agreed);
	assert_false(reply.markers);
}

static void test_malformed(void **state)
{
	uint8_t frame[32];
	struct mpa_frame f;
	size_t body;

	(void)state;
	memcpy(frame, siw_request, 32);
	for (size_t n = 0; n < 32; n++)
		assert_int_equal(mpa_decode(MPA_REQUEST, view_of(frame, n), &f), ERR_SHORT);
	assert_int_equal(mpa_decode(MPA_REPLY, view_of(frame, 32), &f), ERR_PROTO);
	frame[19] = 11;
	assert_int_equal(mpa_decode(MPA_REQUEST, view_of(frame, 32), &f), ERR_PROTO);
	frame[17] = 3;
	assert_int_equal(mpa_header_check(MPA_REQUEST, frame, &body), ERR_VERS);
	frame[17] = 0;
	assert_int_equal(mpa_header_check(MPA_REQUEST, frame, &body), ERR_VERS);
	frame[17] = 2;
	frame[18] = 2, frame[19] = 1; /* 513 octets */
	assert_int_equal(mpa_header_check(MPA_REQUEST, frame, &body), ERR_TOOBIG);
	frame[18] = 0, frame[19] = 3; /* enhanced, without room for it */
	assert_int_equal(mpa_decode(MPA_REQUEST, view_of(frame, 23), &f), ERR_SHORT);
	frame[0] = 'm';
	assert_int_equal(mpa_header_check(MPA_REQUEST, frame, &body), ERR_PROTO);
}

/* Linux siw rejects without private data, whatever S says. */
static void test_bare_reject(void **state)
{
	const uint8_t reply[] = "MPA ID Rep Frame\x30\x02\x00\x00";
	struct mpa_frame f;

	(void)state;
	assert_int_equal(mpa_decode(MPA_REPLY, view_of(reply, 20), &f), 0);
	assert_true(f.reject);
	assert_int_equal(f.private_data.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siw_request),
		cmocka_unit_test(test_siw_reply),
		cmocka_unit_test(test_request_of_ours),
		cmocka_unit_test(test_old_revision),
		cmocka_unit_test(test_no_read_depth_told),
		cmocka_unit_test(test_a_peer_that_issues_no_reads),
		cmocka_unit_test(test_peer_to_peer),
		cmocka_unit_test(test_markers_declined),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_bare_reject),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
