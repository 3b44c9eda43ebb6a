/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <dirent.h>
#include <string.h>

#include "tests/v1/gen.h"
#include "v1/header.h"

#define CORPUS "tests/fuzz/corpus/v1_header/"

static struct rpc_msg m;
static struct v1_header h;
static uint8_t wire[GEN_BUF_BYTES];

static int decode(size_t len)
{
	bool dir_known;

	return v1_header_decode(&h, &m, &dir_known, view_of(wire, len));
}

static void load(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), CORPUS "%s", name);
	assert_int_equal(decode(gen_load(path, wire, sizeof(wire))), 0);
}

/* Linux's messages decode, and encode to the same octets. */
static void every_linux_send_comes_back(void **state)
{
	static uint8_t again[GEN_BUF_BYTES];
	DIR *dir = opendir(CORPUS);
	struct dirent *entry;
	unsigned files = 0;
	char path[512];

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		size_t len, body, header;

		if (strncmp(entry->d_name, "linux_", 6) != 0)
			continue;
		snprintf(path, sizeof(path), CORPUS "%s", entry->d_name);
		len = gen_load(path, wire, sizeof(wire));
		assert_int_equal(decode(len), 0);
		body = rpc_msg_body_len(&m);
		assert_int_equal(v1_header_len(&m) + body, len);
		assert_int_equal(v1_header_encode(&m, h.credit, again, sizeof(again), &header), 0);
		assert_int_equal(header + body, len);
		assert_memory_equal(again, wire, header);
		files++;
	}
	closedir(dir);
	assert_true(files >= 16);
}

static void null_call_and_reply(void **state)
{
	(void)state;
	load("linux_nfs4_null_call");
	assert_int_equal(h.xid, 0x8ee14e4a);
	assert_int_equal(h.vers, 1);
	assert_int_equal(h.credit, 128);
	assert_int_equal(h.proc, V1_MSG);
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.xid, h.xid);
	assert_int_equal(m.nreads + m.nwrites + m.nsegs, 0);
	assert_int_equal(m.nbody, 1);
	assert_int_equal(m.body[0].len, 40);
	load("linux_nfs4_null_reply");
	assert_int_equal(h.credit, 64);
	assert_int_equal(m.dir, RPC_REPLY);
	assert_int_equal(m.body[0].len, 24);
}

static void write_call_has_its_read_chunk(void **state)
{
	(void)state;
	load("linux_nfs4_write_call_read_chunk");
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.nreads, 1);
	assert_int_equal(m.reads[0].position, 180);
	assert_int_equal(m.reads[0].count, 1);
	assert_int_equal(m.reads[0].length, 20480);
	assert_int_equal(m.segs[0].handle, 0xe4315f03);
	assert_int_equal(m.segs[0].length, 20480);
	assert_int_equal(m.segs[0].offset, 0xa6e14e4a44433000);
	assert_int_equal(m.body[0].len, 196);
}

static void read_has_its_write_chunk_both_ways(void **state)
{
	(void)state;
	load("linux_nfs3_read_call_write_chunk");
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.nwrites, 1);
	assert_int_equal(m.writes[0].length, 20480);
	assert_false(m.has_reply);
	load("linux_nfs3_read_reply_write_chunk");
	assert_int_equal(m.dir, RPC_REPLY);
	assert_int_equal(m.nwrites, 1);
	assert_int_equal(m.writes[0].length, 20480);
	assert_int_equal(m.segs[0].handle, 0x11c4e501);
}

static void long_reply_is_its_reply_chunk(void **state)
{
	(void)state;
	load("linux_nfs4_readdir_call_reply_chunk3");
	assert_int_equal(m.dir, RPC_CALL);
	assert_true(m.has_reply);
	assert_false(m.has_body_chunk);
	assert_int_equal(m.reply.count, 3);
	assert_int_equal(m.reply.length, 0x68 + 0xffa8 + 4);
	load("linux_nfs4_readdir_reply_nomsg3");
	assert_int_equal(h.proc, V1_NOMSG);
	assert_int_equal(m.dir, RPC_REPLY);
	assert_true(m.has_body_chunk);
	assert_false(m.has_reply);
	assert_int_equal(m.body_chunk.count, 3);
	assert_int_equal(m.body_chunk.length, 0x68 + 0x39c8);
	assert_int_equal(m.nbody, 0);
}

/* rfc5666bis-01 section 5.3.3, and the layout of its appendix 13.1: 1 PHLOO 1 PHLOO 0 0 0. */
static void long_call_is_its_position_zero_chunk(void **state)
{
	static const uint8_t golden[] = {
		0,    0, 0, 7, 0, 0, 0, 1,  0,	  0, 0, 9, 0, 0, 0, 1, /* fixed */
		0,    0, 0, 1, 0, 0, 0, 0,			       /* 1 P */
		0xaa, 0, 0, 1, 0, 0, 0, 60, 0,	  0, 0, 2, 0, 0, 0, 3, /* HLOO */
		0,    0, 0, 1, 0, 0, 0, 0,  0xaa, 0, 0, 2, 0, 0, 0, 4,
		0,    0, 0, 0, 0, 0, 0, 0, /* 0 */
		0,    0, 0, 1, 0, 0, 0, 48, 0xaa, 0, 0, 3, 0, 0, 0, 5,
		0,    0, 0, 0, 0, 0, 0, 0, /* 48 */
		0,    0, 0, 0,		   /* reads */
		0,    0, 0, 0,		   /* writes */
		0,    0, 0, 1, 0, 0, 0, 0, /* an empty Reply chunk */
	};
	size_t len;

	(void)state;
	memcpy(wire, golden, sizeof(golden));
	assert_int_equal(decode(sizeof(golden)), 0);
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.xid, 7);
	assert_true(m.has_body_chunk);
	assert_int_equal(m.body_chunk.count, 2);
	assert_int_equal(m.body_chunk.length, 64);
	assert_int_equal(m.segs[0].offset, 0x200000003);
	assert_int_equal(m.nreads, 1);
	assert_int_equal(m.reads[0].position, 48);
	assert_int_equal(m.nbody, 0);
	assert_true(m.has_reply);
	assert_int_equal(m.reply.count, 0);
	memset(wire, 0xff, sizeof(wire));
	assert_int_equal(v1_header_encode(&m, 9, wire, sizeof(wire), &len), 0);
	assert_int_equal(len, sizeof(golden));
	assert_memory_equal(wire, golden, len);
}

/* RFC 8166 section 4.2.4: received RDMA_MSGP is RDMA_MSG; align and thresh are hints. */
static void msgp_is_msg(void **state)
{
	struct xdr_out x;
	uint8_t body[40];

	(void)state;
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, 5, 1, 3, V1_MSGP);
	GEN_WORDS(&x, 64, 1024, 0, 0, 0);
	gen_rpc(body, 5, RPC_CALL);
	for (unsigned i = 0; i < sizeof(body); i += 4)
		xdr_put_u32(&x, xdr_peek_u32(body + i));
	assert_int_equal(decode(xdr_out_len(&x)), 0);
	assert_int_equal(m.dir, RPC_CALL);
	assert_int_equal(m.body[0].len, 40);
	assert_memory_equal(m.body[0].data, body, 40);
}

static void done_is_only_its_fixed_fields(void **state)
{
	struct xdr_out x;

	(void)state;
	xdr_out_init(&x, wire, sizeof(wire));
	gen_header(&x, 5, 1, 3, V1_DONE);
	assert_int_equal(decode(16), 0);
	assert_int_equal(h.proc, V1_DONE);
}

static void both_errors_and_back(void **state)
{
	static const uint8_t vers[] = {0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0,
				       0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,  0, 1};
	static const uint8_t chunk[] = {0, 0,  0, 6, 0, 0, 0, 1, 0, 0,
					0, 32, 0, 0, 0, 4, 0, 0, 0, 2};

	(void)state;
	memcpy(wire, vers, sizeof(vers)); /* as knfsd answers a version 2 message */
	assert_int_equal(decode(sizeof(vers)), 0);
	assert_int_equal(h.proc, V1_ERROR);
	assert_int_equal(h.vers, 2);
	assert_int_equal(h.err, V1_ERR_VERS);
	assert_int_equal(h.low, 1);
	assert_int_equal(h.high, 1);
	assert_int_equal(v1_error_encode(&h, wire, sizeof(wire)), sizeof(vers));
	assert_memory_equal(wire, vers, sizeof(vers));
	assert_int_equal(v1_error_encode(&h, wire, sizeof(vers) - 1), ERR_NOSPACE);
	memcpy(wire, chunk, sizeof(chunk));
	assert_int_equal(decode(sizeof(chunk)), 0);
	assert_int_equal(h.err, V1_ERR_CHUNK);
	assert_int_equal(v1_error_encode(&h, wire, sizeof(wire)), sizeof(chunk));
	assert_memory_equal(wire, chunk, sizeof(chunk));
}

/* decode(encode(m)) == m; the length is foretold; no shorter buffer will do. */
static void random_messages_come_back(void **state)
{
	struct rng r = rng_seeded("v1 header round trip", 1);
	static struct rpc_msg sent;
	uint8_t body[GEN_BODY_MAX];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t credit = (uint32_t)rng_next(&r);
		size_t len, header, n;
		uint8_t *exact;
		bool dir_known;

		gen_msg(&r, &sent, body);
		len = gen_wire(&sent, credit, wire, sizeof(wire));
		header = v1_header_len(&sent);
		assert_int_equal(header + rpc_msg_body_len(&sent), len);
		exact = gen_exact(wire, len);
		assert_int_equal(v1_header_decode(&h, &m, &dir_known, view_of(exact, len)), 0);
		assert_true(dir_known);
		assert_int_equal(h.credit, credit);
		assert_true(gen_same(&sent, &m));
		free(exact);
		exact = gen_exact(wire, header - 1);
		assert_int_equal(v1_header_encode(&sent, credit, exact, header - 1, &n),
				 ERR_NOSPACE);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_linux_send_comes_back),
		cmocka_unit_test(null_call_and_reply),
		cmocka_unit_test(write_call_has_its_read_chunk),
		cmocka_unit_test(read_has_its_write_chunk_both_ways),
		cmocka_unit_test(long_reply_is_its_reply_chunk),
		cmocka_unit_test(long_call_is_its_position_zero_chunk),
		cmocka_unit_test(msgp_is_msg),
		cmocka_unit_test(done_is_only_its_fixed_fields),
		cmocka_unit_test(both_errors_and_back),
		cmocka_unit_test(random_messages_come_back),
	};
	return cmocka_run_group_tests_name("v1 header", tests, NULL, NULL);
}
