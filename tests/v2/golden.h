/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_V2_GOLDEN_H
#define TESTS_V2_GOLDEN_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/**
 * Messages of every type, written by hand from section 8 of the draft, one line for each structure.
 * The same octets are the seeds in tests/fuzz/corpus/v2_header.
 */
struct golden {
	const char *name;
	const char *hex;
};

/* clang-format off */
static const struct golden goldens[] = {
	{"error_vers",
	 "00000011 00000002 00000008 00000004"
	 "00000001 00000001 00000002"},
	{"error_bad_xdr",
	 "00000012 00000002 00000008 00000004"
	 "00000002"},
	{"error_segments",
	 "00000013 00000002 00000008 00000004"
	 "00000008 00000010"},
	{"error_write_resource",
	 "00000014 00000002 00000008 00000004"
	 "00000009 00000002 00100000"},
	{"error_system",
	 "00000015 00000002 00000008 00000004"
	 "00000064"},
	{"grant",
	 "00000000 00000002 00000021 00000005"},
	{"connprop_middle",
	 "00001234 00000002 00000040 00000006"
	 "00000001"
	 "00000006 0000000c 00000005 68656c6c 6f000000"},
	{"connprop_final",
	 "00001234 00000002 00000040 00000007"
	 "00000005"
	 "00000001 00000004 00002000"
	 "00000002 00000004 00004000"
	 "00000003 00000004 00100000"
	 "00000004 00000004 00000020"
	 "00000005 00000004 00000003"},
	{"call_external",
	 "deadbeef 00000002 00000042 00000008"
	 "aabbccdd"
	 "00000001 00000000 aabbccdd 00001000 0000000100000000"
	 "00000001 00000000 aabbccde 00000200 0000000200000000"
	 "00000000"
	 "00000000"
	 "00000000"
	 "00000001 00000001 aabbccdf 00002000 0000000300000000"},
	{"call_middle",
	 "deadbef0 00000002 00000042 00000009"
	 "00000010"
	 "deadbef0 00000000"},
	{"call_inline",
	 "deadbef1 00000002 00000042 0000000a"
	 "11111113"
	 "00000001 0000001c 11111111 00000ffd 0000000000001000"
	 "00000001 0000001c 11111112 00000003 0000000000002000"
	 "00000001 00000040 11111113 00000100 fffffffffffff000"
	 "00000000"
	 "00000001 00000002 22222221 00001000 0000000000003000"
	 "                  22222222 00000800 0000000000004000"
	 "00000001 00000000"
	 "00000000"
	 "00000000"
	 "deadbef1 00000000"},
	{"reply_external",
	 "deadbeef 00000002 00000042 0000000b"
	 "00000001 00000001 22222221 00000800 0000000000003000"
	 "00000000"
	 "00000001 00000001 aabbccdf 00000123 0000000300000000"},
	{"reply_middle",
	 "deadbef0 00000002 00000042 0000000c"
	 "0000000c"
	 "deadbef0 00000001 00000000"},
	{"reply_inline",
	 "deadbef1 00000002 00000042 0000000d"
	 "00000001 00000002 22222221 00001000 0000000000003000"
	 "                  22222222 00000000 0000000000004000"
	 "00000000"
	 "deadbef1 00000001"},
};
/* clang-format on */

enum { GOLDENS = sizeof(goldens) / sizeof(goldens[0]), GOLDEN_MAX = 4096 };

static inline unsigned unhex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/** unhex - decode @hex, which may have blanks, into @buf. Return: number of octets. */
static inline size_t unhex(const char *hex, uint8_t *buf)
{
	size_t n = 0;

	while (*hex) {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		buf[n++] = (uint8_t)(unhex_digit(hex[0]) << 4 | unhex_digit(hex[1]));
		hex += 2;
	}
	return n;
}

/** golden_get - octets of the message @name. Return: their number; 0: no such message. */
static inline size_t golden_get(const char *name, uint8_t *buf)
{
	for (unsigned i = 0; i < GOLDENS; i++) {
		if (!strcmp(goldens[i].name, name))
			return unhex(goldens[i].hex, buf);
	}
	return 0;
}

#endif
