/* SPDX-License-Identifier: BSD-2-Clause */
/* ClientHellos, and their faults. */
#include "tests/cmocka_all.h"

#include <string.h>

#include "hostauth/value.h"
#include "tests/hostauth/pair.h"
#include "tools/probe/hello.h"

enum {
	GROUPS = 10,
	SIGNATURES = 13,
	ALPN = 16,
	PSK = 41,
	EARLY_DATA = 42,
	VERSIONS = 43,
	PSK_MODES = 45,
	POST_HANDSHAKE = 49,
	EXT_MASTER = 23, /* one that is there, and may be anything */
	SUITES = 0xffff,
};

/* The record with the ClientHello of @name. */
static size_t hello_by(const char *name, uint8_t record[HELLO_MOST])
{
	const struct pair_setup setup = {.initiator = name,
					 .acceptor = name[0] == 'p' ? "psk" : "server"};
	struct hostauth_out out;
	struct pair_end end[2];
	size_t len;

	pair_begin(end, &setup);
	hostauth_work(end[0].h);
	assert_true(hostauth_next(end[0].h, 992, 60, &out));
	len = out.value.len - HOSTAUTH_VALUE_HEAD;
	memcpy(record, out.value.data + HOSTAUTH_VALUE_HEAD, len);
	pair_end(end);
	return len;
}

static void hellos_of_this_tree_are_sound(void **state)
{
	static const char *const names[] = {"client", "psk"};
	uint8_t record[HELLO_MOST], split[HELLO_MOST];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		size_t len = hello_by(names[i], record);

		assert_null(hello_fault(view_of(record, len)));
		/* In two records. */
		memcpy(split, record, 105);
		split[3] = 0;
		split[4] = 100;
		memcpy(split + 105,
		       (const uint8_t[]){22, 3, 1, (uint8_t)((len - 105) >> 8),
					 (uint8_t)(len - 105)},
		       5);
		memcpy(split + 110, record + 105, len - 105);
		assert_null(hello_fault(view_of(split, len + 5)));
	}
}

/* The octet at @at of extension @ext, from its number on (-4), becomes @value. */
static const struct row {
	const char *by;
	unsigned ext;
	int at;
	unsigned value;
	const char *fault;
} rows[] = {
	{"client", VERSIONS, 2, 3, "TLS 1.3 is not offered"},
	{"client", VERSIONS, -3, 99, "TLS 1.3 is not offered"},
	{"client", ALPN, 3, 'R', "the application protocol rpcrdma2-hostauth-1 is not offered"},
	{"client", ALPN, -4, 0x8a, "no application protocol (ALPN) is offered"},
	{"client", EXT_MASTER, -3, EARLY_DATA, "early data is offered"},
	{"client", EXT_MASTER, -3, POST_HANDSHAKE, "authentication after the handshake is offered"},
	{"psk", PSK_MODES, 1, 0, "psk_ke is offered"},
	{"client", SUITES, 1, 0x99, "TLS_AES_128_GCM_SHA256 is not offered"},
	{"client", GROUPS, 3, 0x99, "x25519 or secp256r1 is not offered"},
	{"client", GROUPS, 5, 0x99, "x25519 or secp256r1 is not offered"},
	{"client", GROUPS, -3, 99, "x25519 or secp256r1 is not offered"},
	{"client", SIGNATURES, -3, 99,
	 "a signature algorithm of RFC 8446 section 9.1 is not offered"},
};

static void what_is_wrong_is_reported(void **state)
{
	uint8_t record[HELLO_MOST];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		size_t len = hello_by(row->by, record);
		struct view hello = view_of(record, len);
		struct view at =
			row->ext == SUITES ? hello_suites(hello) : hello_extension(hello, row->ext);
		const char *fault;

		if (!at.data)
			fail_msg("row %zu: no extension %u", i, row->ext);
		record[at.data - record + row->at] = (uint8_t)row->value;
		fault = hello_fault(hello);
		if (!fault || strcmp(fault, row->fault) != 0)
			fail_msg("row %zu: %s instead of %s", i, fault ? fault : "nothing",
				 row->fault);
	}
}

/* Two octets. */
static void grow(uint8_t *number)
{
	unsigned value = (unsigned)(number[0] << 8 | number[1]) + 2;

	number[0] = (uint8_t)(value >> 8);
	number[1] = (uint8_t)value;
}

static void another_version_beside_is_reported(void **state)
{
	uint8_t record[HELLO_MOST];
	size_t len = hello_by("client", record);
	struct view at = hello_extension(view_of(record, len), VERSIONS);
	size_t where = (size_t)(at.data - record);

	(void)state;
	assert_int_equal(at.len, 3);
	/* Two octets more: of the list, the extension, all of them, the message, the record. */
	memmove(record + where + 5, record + where + 3, len - where - 3);
	record[where + 3] = record[where + 4] = 3;
	record[where] += 2;
	grow(record + where - 2);
	grow(record + 7);
	grow(record + 3);
	for (size_t i = 44; i < where; i++) { /* the extensions' length: what is left behind it */
		if ((size_t)(record[i] << 8 | record[i + 1]) == len - i - 2) {
			grow(record + i);
			break;
		}
	}
	assert_string_equal(hello_fault(view_of(record, len + 2)),
			    "another version than TLS 1.3 is offered");
	record[where + 3] = record[where + 4] = 0x1a; /* RFC 8701 */
	assert_null(hello_fault(view_of(record, len + 2)));
}

/* Nothing is read beyond the message's end (the sanitizers check that), and a cut message is
 * reported. */
static void what_cannot_be_read_is_reported(void **state)
{
	uint8_t record[HELLO_MOST], copy[HELLO_MOST];
	size_t len = hello_by("client", record);

	(void)state;
	for (size_t n = 0; n < len; n++) {
		memcpy(copy, record, n);
		assert_string_equal(hello_fault(view_of(copy, n)), "it cannot be read");
	}
	for (size_t at = 0; at < len; at++) {
		memcpy(copy, record, len);
		copy[at] ^= 0xff;
		(void)hello_fault(view_of(copy, len));
		(void)hello_extension(view_of(copy, len), PSK);
		(void)hello_suites(view_of(copy, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hellos_of_this_tree_are_sound),
		cmocka_unit_test(what_is_wrong_is_reported),
		cmocka_unit_test(another_version_beside_is_reported),
		cmocka_unit_test(what_cannot_be_read_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
