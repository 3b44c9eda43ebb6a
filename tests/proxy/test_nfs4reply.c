/* SPDX-License-Identifier: BSD-2-Clause */
/* plan_reply_max() of NFSv4 COMPOUNDs as Linux 6.1 sends them (4.2, AUTH_SYS), and of other
 * octets. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/plan/plan.h"
#include "proxy/plan/nfsreply.h"
#include "tests/rng.h"
#include "xdr/cursor.h"

enum {
	REPLY_HEADER = 24 + 400,
	UNKNOWN = REPLY_HEADER + (1 << 20) + 8192,
	/* By hand, with operation and status. */
	SEQUENCE = 8 + 36,
	PUTFH = 8,
	GETFH = 8 + 4 + 128,
	ACCESS = 8 + 8,
	READ = 8 + 8,
	BITMAP = 4 + 8 * 4,
	ATTRS = 8 + BITMAP + 4,
	OWNER = 4 + 1024,
	/* type, change, size, fsid, fileid, mode, numlinks, owners, rawdev, space, three times, fileid */
	GETATTR = ATTRS + 4 + 8 + 8 + 16 + 8 + 4 + 4 + 2 * OWNER + 8 + 8 + 3 * 12 + 8,
	DELEGATION = 4 + 16 + 4 + 12 + 12 + OWNER,
	OPEN = 8 + 16 + 20 + 4 + BITMAP + DELEGATION,
};

enum row {
	LOOKUP_CALL,
	OPEN_CALL,
	CREATE_CALL,
	READ_CALL,
	READDIR_CALL,
	READLINK_CALL,
	SETATTR_CALL,
	WRITE_CALL,
	CLOSE_CALL,
	GETATTR_CALL,
	FSINFO_CALL,
	ROOT_CALL,
	ACCESS_CALL,
	ROWS
};

/* xid, CALL, RPC version 2, program, version 4, COMPOUND, AUTH_SYS, no verifier. */
#define HEADER                                                                                     \
	"a3e14e4a0000000000000002000186a30000000400000001000000010000001c"                         \
	"0000000000000006286e6f6e6529000000000000000000000000000000000000"                         \
	"00000000"

static const struct {
	uint32_t results; /* behind status, tag, count, SEQUENCE and PUTFH or PUTROOTFH */
	uint32_t reply;	  /* as long as the server's was; 0 not seen whole */
	const char *hex;  /* tag, minor version, count, operations */
} rows[] = {
	[LOOKUP_CALL] = {8 + GETFH + GETATTR, 96,
			 "000000000000000100000005000000356b4a006b07a5691e0100000000000000"
			 "0000001200000000000000000000000000000016000000080100010000000000"
			 "0000000f00000001670000000000000a00000009000000020010011a00b0a23a"},
	[OPEN_CALL] = {OPEN + GETFH + ACCESS + GETATTR, 348,
		       "000000000000000100000006000000356b4a006b07a5691e0100000000000000"
		       "0000000c00000000000000000000000100000016000000080100010000000000"
		       "000000120000000000000001000000006b4a006b07a5691e000000186f70656e"
		       "2069643a0000001f00000000000000021175673c000000000000000000000001"
		       "660000000000000a000000030000003d00000009000000020010011a00b0a23a"},
	[CREATE_CALL] = {OPEN + GETFH + ACCESS + GETATTR, 352,
			 "000000000000000100000006000000356b4a006b07a5691e0100000000000000"
			 "0000001300000000000000000000000100000016000000080100010000000000"
			 "000000120000000000000002000000006b4a006b07a5691e000000186f70656e"
			 "2069643a0000001f00000000000000021175673c0000000100000003b6e3feff"
			 "b100000000000002000000000000000200000004000001a40000000000000001"
			 "670000000000000a000000030000003d00000009000000020010011a00b0a23a"},
	[READ_CALL] = {READ + 20480, 0,
		       "000000000000000100000003000000356b4a006b07a5691e0100000000000000"
		       "0000000d00000000000000000000000000000016000000140100010100000000"
		       "2c4b9061020000000000000000000019000000006b4a006b07a5691e01000000"
		       "000000000000000000005000"},
	[READDIR_CALL] = {8 + 16 + 0xffa8, 14896,
			  "000000000000000100000003000000356b4a006b07a5691e0100000000000000"
			  "0000001000000000000000000000000000000016000000080100010000000000"
			  "0000001a000000000000000000000000000000000000ffa80000ffa800000002"
			  "0018091a00b0a23a"},
	[READLINK_CALL] = {8 + 4 + 4096, 104,
			   "000000000000000100000003000000356b4a006b07a5691e0100000000000000"
			   "0000001100000000000000000000000000000016000000140100010100000000"
			   "bca378373f000000000000000000001b"},
	[SETATTR_CALL] = {8 + BITMAP + GETATTR, 264,
			  "000000000000000100000004000000356b4a006b07a5691e0100000000000000"
			  "0000001400000000000000000000000100000016000000140100010100000000"
			  "a4354b5040000000000000000000002200000000000000000000000000000000"
			  "0000000200000000004100000000000800000000000000000000000900000002"
			  "0010011a00b0a23a"},
	[WRITE_CALL] = {8 + 16 + ATTRS + 8 + 8 + 8 + 12 + 12, 184,
			"000000000000000100000004000000356b4a006b07a5691e0100000000000000"
			"0000001500000000000000000000000000000016000000140100010100000000"
			"a4354b50400000000000000000000026000000006b4a006b07a5691e02000000"
			"0000000000000000000000020000500000000009000000020000001800302000"},
	[CLOSE_CALL] = {ATTRS + 8 + 8 + 12 + 12 + 12 + 8 + 16, 188,
			"000000000000000100000004000000356b4a006b07a5691e0100000000000000"
			"0000000e00000000000000000000000100000016000000140100010100000000"
			"2c4b906102000000000000000000000900000002000000180030800000000004"
			"00000000000000016b4a006b07a5691e01000000"},
	[GETATTR_CALL] = {GETATTR, 240,
			  "000000000000000100000003000000356b4a006b07a5691e0100000000000000"
			  "0000001700000000000000000000000000000016000000080100010000000000"
			  "00000009000000020010011a00b0a23a"},
	[FSINFO_CALL] = {ATTRS + 2 * BITMAP + 6 * 4, 168,
			 "000000000000000100000003000000356b4a006b07a5691e0100000000000000"
			 "0000000400000000000000000000000000000016000000080100010000000000"
			 "0000000900000003000320650000000000000800"},
	[ROOT_CALL] = {GETFH + GETATTR, 260,
		       "000000000000000100000004000000356b4a006b07a5691e0100000000000000"
		       "00000003000000000000000000000000000000180000000a0000000900000002"
		       "0010011a00b0a23a"},
	[ACCESS_CALL] = {ACCESS + ATTRS + 8 + 8 + 12 + 12, 168,
			 "000000000000000100000004000000356b4a006b07a5691e0100000000000000"
			 "0000000b00000000000000000000000000000016000000080100010000000000"
			 "000000030000001f00000009000000020000001800300000"},
};

static uint8_t stream[1024];
static struct rpc_msg call;

static void put_hex(struct xdr_out *x, const char *hex)
{
	for (; *hex; hex += 8) {
		char word[9] = {0};

		memcpy(word, hex, 8);
		xdr_put_u32(x, (uint32_t)strtoul(word, NULL, 16));
	}
	assert_false(x->failed);
}

static struct view call_of(const char *compound)
{
	struct xdr_out x;

	memset(&call, 0, sizeof(call));
	xdr_out_init(&x, stream, sizeof(stream));
	put_hex(&x, HEADER);
	put_hex(&x, compound);
	return view_of(stream, xdr_out_len(&x));
}

static uint32_t max_of(struct view v)
{
	struct rpchdr hdr;

	assert_int_equal(rpchdr_peek(&hdr, v), 0);
	return plan_reply_max(&hdr, v, &call);
}

static void offer(struct rpc_chunk *chunks, unsigned *n, uint32_t position, uint32_t length)
{
	chunks[(*n)++] = (struct rpc_chunk){.position = position, .length = length};
}

enum { WRITE_DATA = 180, WRITE_OCTETS = 20480, READ_OCTETS = 20480 };

static uint32_t longest(unsigned row)
{
	return REPLY_HEADER + 4 + 4 + 4 + SEQUENCE + PUTFH + rows[row].results;
}

static void test_as_linux_sends_them(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROWS; i++) {
		struct view v = call_of(rows[i].hex);

		if (i == WRITE_CALL)
			offer(call.reads, &call.nreads, WRITE_DATA, WRITE_OCTETS);
		assert_int_equal(max_of(v), longest(i));
		assert_true(rows[i].reply < longest(i));
	}
}

/* The data count unless they go to a Write chunk for certain. */
static void test_read_and_its_write_chunk(void **state)
{
	struct view v = call_of(rows[READ_CALL].hex);
	uint32_t all = longest(READ_CALL);

	(void)state;
	offer(call.writes, &call.nwrites, 0, READ_OCTETS);
	assert_int_equal(max_of(v), all - READ_OCTETS);
	call.writes[0].length--;
	assert_int_equal(max_of(v), all);
	call.writes[0].length = 0;
	assert_int_equal(max_of(v), all);
	/* Some servers place the data of the first of two READs. */
	v = call_of("000000000000000000000002"
		    "00000019"
		    "00000000000000000000000000000000"
		    "0000000000000000"
		    "00001001"
		    "00000019"
		    "00000000000000000000000000000000"
		    "0000000000000000"
		    "00000801");
	offer(call.writes, &call.nwrites, 0, 1 << 20);
	offer(call.writes, &call.nwrites, 0, 1 << 20);
	assert_int_equal(max_of(v), REPLY_HEADER + 12 + 2 * READ + 0x804);
	call.nwrites = 0;
	assert_int_equal(max_of(v), REPLY_HEADER + 12 + 2 * READ + 0x1004 + 0x804);
	/* READLINK's could take the chunk of the READ behind it. */
	v = call_of("000000000000000000000002"
		    "0000001b"
		    "00000019"
		    "00000000000000000000000000000000"
		    "0000000000000000"
		    "00001000");
	offer(call.writes, &call.nwrites, 0, 1 << 20);
	assert_int_equal(max_of(v), REPLY_HEADER + 12 + 8 + 4100 + READ + 0x1000);
}

/* A Read chunk that is not just the data of a WRITE: the place of the next operation is unknown. */
static void test_write_and_its_read_chunk(void **state)
{
	struct view v = call_of(rows[WRITE_CALL].hex);

	(void)state;
	assert_int_equal(max_of(v), UNKNOWN); /* the data are not there */
	offer(call.reads, &call.nreads, WRITE_DATA, WRITE_OCTETS);
	assert_int_equal(max_of(v), longest(WRITE_CALL));
	call.reads[0].position += 4;
	assert_int_equal(max_of(v), UNKNOWN);
	call.reads[0].position -= 4;
	call.reads[0].length -= 4;
	assert_int_equal(max_of(v), UNKNOWN);
	call.reads[0].length += 4;
	offer(call.reads, &call.nreads, WRITE_DATA + WRITE_OCTETS + 16, 8);
	assert_int_equal(max_of(v), UNKNOWN);
}

static void test_what_has_no_bound(void **state)
{
	static const char *const compounds[] = {
		/* GETATTR of an ACL, of fs_locations, of what is not defined. */
		"000000000000000100000001000000090000000100001000",
		"000000000000000100000001000000090000000101000000",
		"0000000000000001000000010000000900000003000000000000000080000000",
		/* SECINFO, READ_PLUS, OP_ILLEGAL. */
		"000000000000000100000001000000210000000161000000",
		"0000000000000001000000010000004400000000",
		"0000000000000001000000010000273c",
		/* More operations than anybody sends. */
		"000000000000000100000041",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(compounds) / sizeof(compounds[0]); i++)
		assert_int_equal(max_of(call_of(compounds[i])), UNKNOWN);
	assert_int_equal(max_of(call_of("0000000000000001000000010000000900000009"
					"0000000000000000000000000000000000000000"
					"00000000000000000000000000000000")),
			 UNKNOWN); /* more words than there are attributes */
	/* No more than before for what asks for more than any server sends. */
	assert_int_equal(max_of(call_of("000000000000000100000001"
					"0000001a"
					"0000000000000000"
					"0000000000000000"
					"00000000"
					"ffffffff"
					"00000000")),
			 UNKNOWN);
	/* The tag comes back. */
	assert_int_equal(max_of(call_of("00000005"
					"6861626974000000"
					"00000000"
					"00000000")),
			 REPLY_HEADER + 4 + 12 + 4);
}

/* Operations of versions 4.1 and 4.2, each with a RENEW behind it: its arguments end where they should. */
#define DOUBLE "0000000000000001"
#define ID "00000001" DOUBLE "00000002"
static void test_later_operations(void **state)
{
	static const struct {
		uint32_t results;
		const char *hex;
	} ops[] = {
		/* DELEGPURGE */
		{0, "00000007" DOUBLE},
		/* GET_DIR_DELEGATION: notifications, two delays, attributes of entries and of the directory */
		{4 + 8 + 16 + 3 * BITMAP, "0000002e00000001"
					  "0000000100000044" DOUBLE "00000003" DOUBLE "00000003"
					  "000000020010011a00b0a23a"
					  "00000000"},
		/* COPY within a server */
		{4 + 16 + 8 + 4 + 8 + 4 + 4,
		 "0000003c" ID ID DOUBLE DOUBLE DOUBLE "000000010000000100000000"},
		/* IO_ADVISE, OFFLOAD_CANCEL, OFFLOAD_STATUS */
		{BITMAP, "0000003f" ID DOUBLE DOUBLE "0000000100000010"},
		{0, "00000042" ID},
		{8 + 4 + 4, "00000043" ID},
		/* SETXATTR, LISTXATTRS, REMOVEXATTR */
		{20, "0000004900000000"
		     "0000000361747400"
		     "000000056f63746574000000"},
		{8 + 4 + 4 + 1004, "0000004a" DOUBLE "000003e9"},
		{20, "0000004b0000000361747400"},
		/* GETATTR of offline, of times of a delegation, of 87, and of 89 and 90 */
		{BITMAP + 4 + 4 + 12 + 12 + 4 + 4 + 4, "00000009000000030000000000000000"
						       "06b80000"},
	};
	char hex[400];

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		snprintf(hex, sizeof(hex), "000000000000000200000002%s0000001e" DOUBLE, ops[i].hex);
		assert_int_equal(max_of(call_of(hex)), REPLY_HEADER + 12 + 8 + ops[i].results + 8);
	}
	/* COPY from another server has a list of servers. */
	assert_int_equal(
		max_of(call_of("000000000000000200000001"
			       "0000003c" ID ID DOUBLE DOUBLE DOUBLE "000000010000000100000001")),
		UNKNOWN);
}

/* With integrity or privacy the operations cannot be seen: as if they were unknown. */
static void test_wrapped(void **state)
{
	uint8_t *cred = stream + 24;
	struct xdr_out x;
	struct view v = call_of(rows[GETATTR_CALL].hex);

	(void)state;
	for (uint32_t service = 1; service <= 3; service++) {
		xdr_out_init(&x, cred, 36);
		xdr_put_u32(&x, 6);
		xdr_put_u32(&x, 28);
		xdr_put_u32(&x, 1);
		xdr_put_u32(&x, 0);
		xdr_put_u32(&x, 77);
		xdr_put_u32(&x, service);
		assert_int_equal(max_of(v), service == 1 ? longest(GETATTR_CALL) : UNKNOWN + 400);
	}
}

/* Cut anywhere it is unknown; spoilt anywhere nothing beyond its end is read. */
static void test_cut_and_spoilt(void **state)
{
	struct rng r = rng_seeded("nfs4reply", 5);

	(void)state;
	for (unsigned i = 0; i < ROWS; i++) {
		struct view v = call_of(rows[i].hex);
		size_t args = strlen(HEADER) / 2;

		if (i == WRITE_CALL)
			offer(call.reads, &call.nreads, WRITE_DATA, WRITE_OCTETS);
		for (size_t len = args; len < v.len; len++) {
			uint8_t *exact = malloc(len);

			assert_non_null(exact);
			memcpy(exact, v.data, len);
			assert_int_equal(max_of(view_of(exact, len)), UNKNOWN);
			for (unsigned k = 0; k < 20 && len > args; k++) {
				uint32_t at =
					(uint32_t)args + rng_below(&r, (uint32_t)(len - args));

				exact[at] ^= (uint8_t)(1 + rng_below(&r, 255));
				assert_in_range(max_of(view_of(exact, len)), REPLY_HEADER, UNKNOWN);
			}
			free(exact);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_linux_sends_them),
		cmocka_unit_test(test_read_and_its_write_chunk),
		cmocka_unit_test(test_write_and_its_read_chunk),
		cmocka_unit_test(test_what_has_no_bound),
		cmocka_unit_test(test_later_operations),
		cmocka_unit_test(test_wrapped),
		cmocka_unit_test(test_cut_and_spoilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
