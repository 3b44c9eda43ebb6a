/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RTREXT_VECTORS_H
#define TESTS_RTREXT_VECTORS_H

/**
 * The vectors of docs/rtrext-profile.md, section 9, in hexadecimal. check-vectors compares both,
 * and the seeds of the fuzzer, which are these vectors behind the kind of message.
 */

/* clang-format off */
#define VECTOR_REQUEST_PLAIN                                                                       \
	"00000000 00000000 00000001 00000001 00000028"
#define VECTOR_REQUEST_WRITE                                                                       \
	"00000001 00000068 00002000 00000002 00000000 00000002 00000000 00000001"                  \
	"00000000 00000001 00000001 0000006c"
#define VECTOR_REQUEST_READ                                                                        \
	"00000000"                                                                                 \
	"00000001 00000040 00000080 00000002"                                                      \
	"00000200 00000004 00001000 00000001 0000aa01 00100000 0000000000000000"                   \
	"00000000 00000002"                                                                        \
	"00000001 00000003 00000080"
#define VECTOR_RESPONSE_READ                                                                       \
	"00000002"                                                                                 \
	"00000054 00002000 00000001 00000001 0000aa01 00002000 0000000000000000"                   \
	"00000000 00000000 00000006"                                                               \
	"00000001 00000054"
#define VECTOR_RESPONSE_SHORT                                                                      \
	"00000001 00000054 00000010 00000005 00000001 00000064"
#define VECTOR_REQUEST_CHOICE                                                                      \
	"00000000"                                                                                 \
	"00000001 00000000 ffffffff 00000001"                                                      \
	"00000000 00000003 00000001 0000aa02 00020000 0000000000000000"                            \
	"00000001 00000004 00000080"
#define VECTOR_RESPONSE_SENT                                                                       \
	"00000001 00000000 00018000 00000002 00000000 00000002 00000000 00000001"                  \
	"00000002 00000078"
#define VECTOR_RESPONSE_NONE                                                                       \
	"00000001 00000000 00000000 00000006 00000001 00000074"
#define VECTOR_CONTINUE_RESPONSE                                                                   \
	"00000001 52540006 00000000"
#define VECTOR_CONTINUE                                                                            \
	"00000001 00000005 00000000"
#define VECTOR_REPORT_NUMBER                                                                       \
	"00000a01 00000000 00000002 00000001 00000a01 00000000 00000000 00000004 00000001 00000002"
#define VECTOR_REPORT_TARGET                                                                       \
	"00000a02 00000001 00000000 00000000 00000007 00000009 00000000 00000003"
#define VECTOR_REPORT_CONT                                                                         \
	"00000a03 00000000 00000001 00000000 00000003"
#define VECTOR_STRUCTURE                                                                           \
	"00101000 00000002 00000001 00001000 00000001 00000000 00000010 00010000 00001000 00000001"
/* clang-format on */

#endif
