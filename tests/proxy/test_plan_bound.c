/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest possible reply, bounded by the requester, the procedure and knowledge about the
 * server. */
#include "proxy/plan/nfsreply.h"
#include "tests/proxy/plan_util.h"

/* A Reply chunk of a version 2 requester bounds the reply (draft 6.6.3), and a version 1 responder, which
 * uses any, gets none where that fits its Send. */
static void test_reply_chunk_bounds(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096), narrow = end_of(1, 1024);
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	rpc_msg_reset(&m, 1, RPC_CALL);
	offer_reply(&m, 512);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, false, CAP), 0);
	assert_int_equal(reply_bytes(&m, NULL, &v1, &v1, false, CAP), 512);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v2, false, CAP), 512);
	/* A reply that the requester accepts inline may also be placed in a chunk, if the responder
	 * needs one. */
	assert_int_equal(reply_bytes(&m, NULL, &v2, &narrow, false, CAP), 4096 - V2_REPLY_HDR);
	/* By its operations: no bound, 1 MiB and more; by the chunk: what it says. */
	nfs4_getattr(&m, &hdr, 1 << 12);
	offer_reply(&m, 4096 - V1_HDR);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	offer_reply(&m, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 8192);
	/* By its operations less than the chunk: none. */
	nfs4_getattr(&m, &hdr, UINT64_C(1) << 36);
	offer_reply(&m, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	/* READDIR of 32 KiB with a chunk of 8 KiB: the rest would have been continued. */
	nfs3_call(&m, &hdr, 16, 32768);
	offer_reply(&m, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP),
			 plan_reply_max(&hdr, m.body[0], NULL));
}

/* A version 1 requester's Reply chunk is not needed where the data of its READ go to a Write chunk: some responders would
 * put them into the Reply chunk. */
static void test_reply_chunk_beside_write_chunks(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096), narrow = end_of(1, 128);
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	nfs3_call(&m, &hdr, 6, 8192); /* READ */
	offer_reply(&m, 9000);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v1, false, CAP), 9000);
	m.writes[m.nwrites++] = chunk_of(&m, 1, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v1, false, CAP), 0);
	/* Kept: for what nobody knows, a responder that cannot send even that inline, and version 2. */
	assert_int_equal(reply_bytes(&m, NULL, &v1, &v1, false, CAP), 9000);
	narrow.limits.send_bytes = 4096; /* it takes more than it sends */
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 9000);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v2, false, CAP), 9000);
	/* A name may be longer than is expected. */
	nfs4_getattr(&m, &hdr, UINT64_C(1) << 36);
	offer_reply(&m, 9000);
	m.writes[m.nwrites++] = chunk_of(&m, 1, 100);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v1, false, CAP), 9000);
}

/* Found by reading: a Write chunk that is empty, or too short, takes nothing, and the Reply chunk was left out beside it all
 * the same: the server then had no way for its reply. */
static void test_data_that_no_write_chunk_takes(void **state)
{
	struct plan_end v1 = end_of(1, 16384), narrow = end_of(1, 4096);
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	nfs3_call(&m, &hdr, 6, 8192); /* READ */
	m.writes[m.nwrites++] = (struct rpc_chunk){0};
	/* The requester takes it inline, the responder cannot send it so. */
	assert_true(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP) >= 8192 + 104);
	offer_reply(&m, 9000);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 9000);
	m.writes[0] = chunk_of(&m, 1, 4096);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 9000);
	m.writes[0] = chunk_of(&m, 1, 8192);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 0);
	nfs3_call(&m, &hdr, 5, 0); /* READLINK */
	m.writes[m.nwrites++] = (struct rpc_chunk){0};
	assert_true(plan_reply_max(&hdr, m.body[0], &m) >= 4096 + 104);
}

static uint32_t expected(const struct rpc_msg *m, const struct rpchdr *hdr,
			 const struct plan_end *from, const struct plan_end *to)
{
	struct plan_call out;

	call_form(m, 100, hdr, from, to, V1_HDR, false, CAP, &out);
	return out.expected;
}

/* A responder whose replies were longer can have all that the requester would take of them. */
static void test_reply_chunk_grows(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096), narrow = end_of(1, 1024);
	static struct rpc_msg m;
	struct rpchdr hdr;
	uint32_t max;

	(void)state;
	/* Estimates, and no other bounds: not that of a requester, nor one that NFS sets. */
	nfs4_getattr(&m, &hdr, 1 << 12);
	offer_reply(&m, 8192);
	assert_int_equal(expected(&m, &hdr, &v2, &v1), 0);
	nfs3_call(&m, &hdr, 1, 0);
	assert_int_equal(expected(&m, &hdr, &v2, &v1), 0);
	/* A symbolic link longer than any server was seen to have. */
	v1.slack = 0;
	nfs3_call(&m, &hdr, 5, 0);
	max = plan_reply_max(&hdr, m.body[0], NULL);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max);
	assert_int_equal(expected(&m, &hdr, &v2, &v1), max);
	v1.slack = 65536;
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max + 65536);
	/* Names of users: no chunk is needed for those that are expected. */
	v1.slack = 0;
	nfs4_getattr(&m, &hdr, UINT64_C(3) << 36);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	assert_int_equal(expected(&m, &hdr, &v2, &v1), 4096 - V1_HDR);
	v1.slack = 65536;
	max = plan_reply_max(&hdr, m.body[0], NULL);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max + 65536);
	/* Attributes without names have a fixed bound: a size, NFSv3's attributes, ACLs. */
	nfs4_getattr(&m, &hdr, 1 << 4);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	assert_int_equal(expected(&m, &hdr, &v2, &v1), 0);
	nfs3_call(&m, &hdr, 1, 0);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	nfs4_getattr(&m, &hdr, 1 << 12);
	offer_reply(&m, 4096 - V1_HDR);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
	nfs4_getattr(&m, &hdr, UINT64_C(3) << 36);
	/* Never more than the requester takes; where that is all it was given nothing else is expected. */
	v1.slack = 0;
	assert_int_equal(expected(&m, &hdr, &v1, &v1), 0);
	assert_int_equal(expected(&m, &hdr, &v1, &narrow), max);
	narrow.slack = 65536;
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 4096 - V1_HDR);
	offer_reply(&m, 512);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &narrow, false, CAP), 512);
	assert_int_equal(expected(&m, &hdr, &v1, &narrow), 0);
}

/* A version 1 requester's threshold bounds its replies; over version 2 a Reply chunk says so, where
 * the operations do not, and where it costs no other form. */
static void test_threshold_goes_along(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096);
	static struct rpc_msg m;
	struct rpchdr hdr;
	struct plan_call out;

	(void)state;
	nfs4_getattr(&m, &hdr, 1 << 12); /* the ACL */
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v2, false, CAP), 4096 - V1_HDR);
	nfs4_getattr(&m, &hdr, UINT64_C(1) << 36);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v2, false, CAP), 0);
	assert_int_equal(reply_bytes(&m, NULL, &v1, &v2, false, CAP), 0); /* not of NFS */
	nfs4_getattr(&m, &hdr, 1 << 12);
	call_form(&m, 4096 - V2_CALL_HDR - 20, &hdr, &v1, &v2, V2_CALL_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 4096 - V1_HDR);
	call_form(&m, 4096 - V2_CALL_HDR - 19, &hdr, &v1, &v2, V2_CALL_HDR, false, CAP, &out);
	assert_int_equal(out.form, PLAN_INLINE);
	assert_int_equal(out.reply_bytes, 0);
	/* In the next gateway: a server of the same threshold needs none. */
	offer_reply(&m, 4096 - V1_HDR);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), 0);
}

/* A version 2 requester knows how long its verifier is, and counts exactly: no more is offered than
 * it offered. */
static void test_a_requester_that_counts_is_believed(void **state)
{
	static const uint32_t procs[] = {6, 16, 17}; /* READ, READDIR, READDIRPLUS */
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096);
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	/* By 1 to 5 octets around 8 KiB to 2 MiB. */
	for (unsigned i = 0; i < 3 * 9 * 11; i++) {
		const uint32_t count = (8192u << i % 9) + 5 - i / 9 % 11;
		/* Header without verifier, status, attributes; READ's count, eof and length, or a
		 * cookie verifier and no entry. As Linux clients count. */
		const uint32_t longest = 24 + 4 + 88 + 12 + ((count + 3) & ~3u);

		nfs3_call(&m, &hdr, procs[i / 9 / 11], count);
		offer_reply(&m, longest);
		assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), longest);
		offer_reply(&m, longest / 2);
		assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP),
				 plan_reply_max(&hdr, m.body[0], NULL));
	}
}

/* The call in @m with RPCSEC_GSS and privacy: nothing behind its credential can be read. */
static void wrap(struct rpc_msg *m, struct rpchdr *hdr)
{
	static const uint32_t words[] = {7, 0, 2, 100003, 3, 6, 6, 20, 1, 0, 5, 3, 0, 0, 0, 64};
	static uint8_t octets[sizeof(words) + 64];
	struct xdr_out x;

	xdr_out_init(&x, octets, sizeof(octets));
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		xdr_put_u32(&x, words[i]);
	rpc_msg_reset(m, 7, RPC_CALL);
	m->body[m->nbody++] = view_of(octets, sizeof(octets));
	assert_int_equal(rpchdr_peek(hdr, m->body[0]), 0);
}

/* ntirpc asserts that a Reply chunk is no longer than 1 MiB. A requester that offers none gets no
 * longer one, if the call does not ask for more. */
static void test_no_more_than_a_mebibyte_unasked(void **state)
{
	struct plan_end v1 = end_of(1, 4096), v2 = end_of(2, 4096);
	const uint32_t mib = 1 << 20;
	static struct rpc_msg m;
	struct rpchdr hdr;

	(void)state;
	v1.slack = 65536;
	nfs4_getattr(&m, &hdr, (UINT64_C(1) << 36) | (1 << 12)); /* the ACL and a name */
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), UNASKED);
	v1.slack = 0;
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), UNASKED);
	assert_int_equal(reply_bytes(&m, NULL, &v2, &v1, false, CAP),
			 UNASKED); /* in a body chunk */
	for (uint32_t count = mib - 2000; count < mib + 2000; count += 3) {
		uint32_t max;

		nfs3_call(&m, &hdr, 6, count); /* READ without a Write chunk */
		max = plan_reply_max(&hdr, m.body[0], NULL);
		if (max > UNASKED && max <= UNASKED + REPLY_UNSURE)
			max = UNASKED; /* enough with a shorter verifier */
		assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max);
		offer_reply(&m, 5000);
		assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), max);
	}
	wrap(&m, &hdr);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), UNASKED);
	/* A Reply chunk that was offered is offered. */
	nfs4_getattr(&m, &hdr, 1 << 12);
	offer_reply(&m, mib + 4096);
	assert_int_equal(reply_bytes(&m, &hdr, &v2, &v1, false, CAP), mib + 4096);
	assert_int_equal(reply_bytes(&m, &hdr, &v1, &v1, false, CAP), mib + 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply_chunk_bounds),
		cmocka_unit_test(test_reply_chunk_beside_write_chunks),
		cmocka_unit_test(test_data_that_no_write_chunk_takes),
		cmocka_unit_test(test_reply_chunk_grows),
		cmocka_unit_test(test_threshold_goes_along),
		cmocka_unit_test(test_no_more_than_a_mebibyte_unasked),
		cmocka_unit_test(test_a_requester_that_counts_is_believed),
	};

	return cmocka_run_group_tests_name("plan bound", tests, NULL, NULL);
}
