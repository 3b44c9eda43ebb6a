/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every conformance case can fail: a valid server, and on the way to the probe a defect that the
 * case must find. A case without a row here fails this test. The word numbers are those of the
 * messages: 0 XID, 1 version, 2 credit, 3 type, then the words of the type.
 */
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_all.h"
#include "tests/probe/world.h"

enum {
	V1_MSG_T = 0,
	V1_NOMSG_T = 1,
	V1_MSGP_T = 2,
	V1_DONE_T = 3,
	ERROR_T = 4,
	GRANT_T = 5,
	MIDDLE_PROP_T = 6,
	FINAL_T = 7,
	EXTERNAL_T = 8,
	MIDDLE_T = 9,
	CALL_T = 10,
	REPLY_EXTERNAL_T = 11,
	REPLY_MIDDLE_T = 12,
	REPLY_T = 13,
	REQUEST_T = 0x52540005, /* of the round-trip extension */
	CONTINUE_T = 0x52540007,
	REPORT_T = 0x52540008,
	OPTIONAL_T = 5, /* of the early draft, whose others are those of version 1 */
};

enum { EARLY = LEG_V2_EARLY };

struct tooth {
	const char *id;
	struct rule rules[2];
	bool in_survey;	      /* the case judges what the survey saw */
	unsigned versions;    /* of the server; 0: both */
	const char *before;   /* cases that are run first, for what is watched */
	uint32_t pdata_flags; /* if not 0 */
	size_t pdata_len;     /* if not 0 */
};

/* A defect: which messages, and what becomes of them. */
#define ON(way_, version_, type_, action_, ...)                                                    \
	{                                                                                          \
		.way = way_, .version = version_, .type = type_, .action = action_, ##__VA_ARGS__  \
	}

/* No reply arrives; or an error report has another code. */
#define MUTE_1 ON(WAY_IN, 1, V1_MSG_T, ACT_DROP)
#define MUTE_2 ON(WAY_IN, 2, REPLY_T, ACT_DROP)
#define MUTE_EARLY ON(WAY_IN, 2, V1_MSG_T, ACT_DROP)
#define MUTE_EARLY_LATER ON(WAY_IN, 2, V1_MSG_T, ACT_DROP, .skip = 1)
#define MUTE_EARLY_TWICE ON(WAY_IN, 2, V1_MSG_T, ACT_DROP, .skip = 2)
#define MUTE_EARLY_THRICE ON(WAY_IN, 2, V1_MSG_T, ACT_DROP, .skip = 3)
#define ERROR_SAYS(version, code) ON(WAY_IN, version, ERROR_T, ACT_SET, .at = 4, .value = code)

/* clang-format off */
static const struct tooth teeth[] = {
	/* private data */
	{.id = "pdata.format", .rules = {ON(WAY_IN, 0, ANY, ACT_NONE)}, .in_survey = true, .pdata_len = 7},
	{.id = "pdata.reserved", .rules = {ON(WAY_IN, 0, ANY, ACT_NONE)}, .in_survey = true, .pdata_flags = 0x41},
	{.id = "pdata.absent", .rules = {MUTE_1}},
	{.id = "pdata.absent", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_LENGTH, .value = 1200)}},
	{.id = "pdata.foreign", .rules = {MUTE_1}},
	{.id = "pdata.shifted", .rules = {MUTE_1}},
	{.id = "pdata.future", .rules = {MUTE_1}},
	{.id = "pdata.ignored", .rules = {MUTE_1}},
	{.id = "pdata.r-clear", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_INVALIDATE, .value = 77)}},
	{.id = "pdata.r-set", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_INVALIDATE, .value = 77)}},

	/* versions */
	{.id = "vers.unknown", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_DROP)}, .in_survey = true},
	{.id = "vers.xid", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "vers.3", .rules = {ON(WAY_IN, 3, ERROR_T, ACT_DROP)}},
	{.id = "vers.0", .rules = {ON(WAY_IN, 0, ERROR_T, ACT_SET, .at = 4, .value = 2)}},
	{.id = "vers.range", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_SET, .at = 6, .value = 0xffff)}, .in_survey = true},
	{.id = "vers.range", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_SET, .at = 5, .value = 2)}, .in_survey = true},
	{.id = "vers.echo", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_SET, .at = 1, .value = 1)}, .in_survey = true},
	{.id = "vers.goes-on", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 1)}, .in_survey = true},
	{.id = "vers.not-2", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 6, .value = 2)}, .in_survey = true, .versions = LEG_V1},
	{.id = "vers.not-2.goes-on", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP), ON(WAY_OUT, 1, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 1)}, .in_survey = true, .versions = LEG_V1},
	{.id = "vers.1-then-2", .rules = {ON(WAY_IN, 0, ERROR_T, ACT_SET, .at = 4, .value = 100)}},
	{.id = "vers.1-then-2", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_SET, .at = 1, .value = 1)}},
	{.id = "vers.2-answered", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 1, .value = 3)}},
	{.id = "vers.2-call-first", .rules = {MUTE_2}},
	{.id = "vers.2-then-1", .rules = {ERROR_SAYS(1, 1)}},
	{.id = "vers.2-then-1", .rules = {ON(WAY_IN, 1, ERROR_T, ACT_SET, .at = 1, .value = 2)}},
	{.id = "vers.2-then-unknown", .rules = {ON(WAY_IN, ABSURD_VERSION, ERROR_T, ACT_SET, .at = 1, .value = 2)}},

	/* version 1: messages */
	{.id = "v1.reply", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_ADD, .at = 7, .value = 1)}},
	{.id = "v1.reply", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v1.credit.given", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 2, .value = 0)}},
	{.id = "v1.credit.kept", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 7)}},
	{.id = "v1.credit.kept", .rules = {ON(WAY_OUT, 1, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 7)}},
	{.id = "v1.size.1024", .rules = {MUTE_1}},
	{.id = "v1.size.agreed", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 1)}},
	{.id = "v1.done", .rules = {ON(WAY_OUT, 1, V1_DONE_T, ACT_ERROR, .value = 2)}},
	{.id = "v1.msgp", .rules = {ON(WAY_OUT, 1, V1_MSGP_T, ACT_SET, .at = 3, .value = 9)}},
	{.id = "v1.error.chunk", .rules = {ON(WAY_OUT, 1, ERROR_T, ACT_ERROR, .value = 2)}},
	{.id = "v1.error.vers", .rules = {ON(WAY_OUT, 1, ERROR_T, ACT_ERROR, .value = 2)}},
	{.id = "v1.type.unknown", .rules = {ERROR_SAYS(1, 1)}},
	{.id = "v1.type.unknown", .rules = {ON(WAY_IN, 1, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v1.short.header", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}},
	{.id = "v1.short.rpc", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}},
	{.id = "v1.rpc-version", .rules = {ON(WAY_OUT, 1, V1_MSG_T, ACT_SET, .at = 9, .value = 2)}},

	/* version 1: chunks */
	{.id = "v1.nomsg", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 1)}},
	{.id = "v1.nomsg.pieces", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 1)}},
	{.id = "v1.reply-chunk", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 3, .value = V1_NOMSG_T, .skip = 1)}},
	{.id = "v1.write.unused", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_SET, .at = 8, .value = 5, .skip = 1)}},
	{.id = "v1.write.unused", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_ADD, .at = 7, .value = 1, .skip = 1)}},
	{.id = "v1.bad.discriminator", .rules = {ERROR_SAYS(1, 1)}},
	{.id = "v1.bad.count", .rules = {ON(WAY_IN, 1, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v1.bad.reply-count", .rules = {ON(WAY_IN, 1, ERROR_T, ACT_DROP)}},
	{.id = "v1.bad.position", .rules = {ON(WAY_IN, 1, ERROR_T, ACT_DROP), ON(WAY_OUT, 1, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 1)}},
	{.id = "v1.bad.nomsg", .rules = {ERROR_SAYS(1, 1)}},
	{.id = "v1.bad.handle", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_DROP, .skip = 1)}},

	/* properties */
	{.id = "v2.prop.sent", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 3, .value = MIDDLE_PROP_T)}},
	{.id = "v2.prop.values", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 19, .value = 9)}},
	{.id = "v2.prop.none", .rules = {MUTE_2}},
	{.id = "v2.prop.unknown", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ERROR, .value = 3)}},
	{.id = "v2.prop.zero-length", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_SET, .at = 6, .value = 3)}},
	{.id = "v2.prop.order", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ERROR, .value = 3)}},
	{.id = "v2.prop.middle", .rules = {ON(WAY_OUT, 2, MIDDLE_PROP_T, ACT_SET, .at = 3, .value = 99)}},
	{.id = "v2.prop.middle", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ERROR, .value = 5)}},
	{.id = "v2.prop.interrupted", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "v2.prop.second-final", .rules = {ERROR_SAYS(2, 3)}},
	{.id = "v2.prop.late-middle", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.id = "v2.prop.too-long", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.prop.too-short", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.id = "v2.prop.overrun", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v2.prop.discarded", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_ERROR, .value = 5)}},

	{.id = "v2.prop.announced", .rules = {MUTE_2}},
	{.id = "v2.prop.xid", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_DROP)}},
	{.id = "v2.prop.bad-final", .rules = {ERROR_SAYS(2, 4)}},

	/* version 2: messages */
	{.id = "v2.call", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_SET, .at = 3, .value = 99)}},
	{.id = "v2.call", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_ADD, .at = 5, .value = 1)}},
	{.id = "v2.call.many", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_DROP, .skip = 90)}},
	{.id = "v2.size.agreed", .rules = {ON(WAY_OUT, 2, CALL_T, ACT_CLOSE)}},
	{.id = "v2.type.unknown", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 1, .value = 1)}},
	{.id = "v2.type.unknown", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v2.type.0", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.short.4", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}},
	{.id = "v2.short.12", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}},
	{.id = "v2.cut-off", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "v2.other-xid", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v2.grant", .rules = {ON(WAY_OUT, 2, GRANT_T, ACT_ERROR, .value = 2)}},
	{.id = "v2.grant.xid", .rules = {ON(WAY_OUT, 2, GRANT_T, ACT_ERROR, .value = 2)}},
	{.id = "v2.grant.many", .rules = {ON(WAY_OUT, 2, GRANT_T, ACT_GRANT, .value = 1)}},
	{.id = "v2.error", .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 100)}},
	{.id = "v2.error.unknown", .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 100)}},
	{.id = "v2.reply.unasked", .rules = {ON(WAY_OUT, 2, REPLY_T, ACT_ERROR, .value = 100)}},

	{.id = "v2.call.twice", .rules = {MUTE_2}},
	{.id = "v2.invalidate.foreign", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},

	/* continuation */
	{.id = "v2.cont.grant", .rules = {MUTE_2}},
	{.id = "v2.cont.error", .rules = {MUTE_2}},
	{.id = "v2.cont.malformed", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "v2.cont.again", .rules = {ON(WAY_OUT, 2, EXTERNAL_T, ACT_CLOSE)}},
	{.id = "v2.cont.longest", .rules = {ERROR_SAYS(2, 7)}},
	{.id = "v2.cont", .rules = {ON(WAY_OUT, 2, MIDDLE_T, ACT_ADD, .at = 4, .value = 4)}},
	{.id = "v2.cont.words", .rules = {ON(WAY_OUT, 2, MIDDLE_T, ACT_ADD, .at = 4, .value = 4, .skip = 5)}},
	{.id = "v2.cont.boundary", .rules = {MUTE_2}},
	{.id = "v2.cont.other-call", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "v2.cont.other-type", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 5)}},
	{.id = "v2.cont.external", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.id = "v2.cont.too-little", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.cont.too-much", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.cont.discarded", .rules = {ON(WAY_OUT, 2, MIDDLE_T, ACT_REPLY, .value = 1, .skip = 2)}},

	/* credits */
	{.id = "v2.credit.count", .rules = {MUTE_2}},
	{.id = "v2.credit.excess", .rules = {MUTE_2}},
	{.id = "v2.credit.initial", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 2, .value = 0x80000001)}},
	{.id = "v2.credit.opens", .rules = {ON(WAY_IN, 2, ANY, ACT_SET, .at = 2, .value = 1)}},
	{.id = "v2.credit.window", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_DROP, .skip = 9)}},
	{.id = "v2.credit.refresh", .rules = {ON(WAY_IN, 2, GRANT_T, ACT_DROP)}},
	{.id = "v2.credit.held", .rules = {ON(WAY_OUT, 2, CALL_T, ACT_REPLY, .value = 1)}},
	{.id = "v2.credit.held", .rules = {ON(WAY_OUT, 2, GRANT_T, ACT_SET, .at = 3, .value = 99)}},

	/* version 2: chunks */
	{.id = "v2.external", .rules = {MUTE_2}},
	{.id = "v2.external.pieces", .rules = {MUTE_2}},
	{.id = "v2.reply-chunk", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_SET, .at = 3, .value = REPLY_EXTERNAL_T)}},
	{.id = "v2.write.unused", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_SET, .at = 7, .value = 5)}},
	{.id = "v2.write.unused", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_ADD, .at = 6, .value = 1)}},
	{.id = "v2.write.two", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_ADD, .at = 12, .value = 1)}},
	{.id = "v2.invalidate.zero", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_INVALIDATE, .value = 77)}},
	{.id = "v2.invalidate", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_INVALIDATE, .value = 77)}},
	{.id = "v2.segments", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 5, .value = 1)}},
	{.id = "v2.segments", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.segments.two", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "v2.bad.position-zero", .rules = {ERROR_SAYS(2, 8)}},
	{.id = "v2.bad.decreasing", .rules = {ERROR_SAYS(2, 8)}},
	{.id = "v2.bad.unaligned", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}},
	{.id = "v2.bad.call-position", .rules = {ERROR_SAYS(2, 8)}},
	{.id = "v2.bad.call-empty", .rules = {ERROR_SAYS(2, 8)}},
	{.id = "v2.bad.discriminator", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v2.bad.count", .rules = {ERROR_SAYS(2, 7)}},
	{.id = "v2.bad.cut", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 1, .value = 1)}},
	{.id = "v2.bad.handle", .rules = {MUTE_2}},

	/* the early draft of version 2: messages */
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_ADD, .at = 8, .value = 1)}, .versions = EARLY},
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_ADD, .at = 0, .value = 1)}, .versions = EARLY},
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 4, .value = 0)}, .versions = EARLY},
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 4, .value = 2)}, .versions = EARLY},
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_LENGTH, .value = 32)}, .versions = EARLY},
	{.id = "early.reply", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_LENGTH, .value = 4100)}, .versions = EARLY},
	{.id = "early.first.1024", .rules = {MUTE_EARLY}, .versions = EARLY},
	{.id = "early.size.4096", .rules = {MUTE_EARLY_LATER}, .versions = EARLY},
	{.id = "early.credit.given", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 2, .value = 0)}, .versions = EARLY},
	{.id = "early.credit.kept", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_DROP, .skip = 7)}, .versions = EARLY},
	{.id = "early.credit.kept", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 7)}, .versions = EARLY},
	{.id = "early.option", .rules = {ERROR_SAYS(2, 2)}, .versions = EARLY},
	{.id = "early.option", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}, .versions = EARLY},
	{.id = "early.option", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 1, .value = 1)}, .versions = EARLY},
	{.id = "early.option", .rules = {ON(WAY_OUT, 2, OPTIONAL_T, ACT_CLOSE)}, .versions = EARLY},
	{.id = "early.option.reply", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.option.info", .rules = {ERROR_SAYS(2, 2)}, .versions = EARLY},
	{.id = "early.option.payload", .rules = {ON(WAY_OUT, 2, OPTIONAL_T, ACT_REPLY, .value = 1)}, .versions = EARLY},
	{.id = "early.option.payload", .rules = {ON(WAY_OUT, 2, OPTIONAL_T, ACT_SET, .at = 3, .value = V1_MSG_T)}, .versions = EARLY},
	{.id = "early.option.first", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.option.many", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP, .skip = 39)}, .versions = EARLY},
	{.id = "early.error.bad-header", .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 2)}, .versions = EARLY},
	{.id = "early.error.vers", .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 2)}, .versions = EARLY},
	{.id = "early.error.option", .rules = {ON(WAY_OUT, 2, ERROR_T, ACT_ERROR, .value = 2)}, .versions = EARLY},
	{.id = "early.reply.unasked", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_ERROR, .value = 2, .skip = 1, .once = true)}, .versions = EARLY},
	{.id = "early.short.header", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}, .versions = EARLY},
	{.id = "early.short.rpc", .rules = {ON(WAY_OUT, 0, ANY, ACT_ERROR, .value = 2, .skip = 1)}, .versions = EARLY},
	{.id = "early.type.unknown", .rules = {ERROR_SAYS(2, 3)}, .versions = EARLY},
	{.id = "early.type.2", .rules = {ON(WAY_OUT, 2, V1_MSGP_T, ACT_SET, .at = 3, .value = V1_MSG_T)}, .versions = EARLY},
	{.id = "early.type.other-draft", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.direction.value", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_SET, .at = 4, .value = 0, .skip = 1)}, .versions = EARLY},
	{.id = "early.direction.differs", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.direction.differs", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_SET, .at = 9, .value = 0, .skip = 1, .once = true)}, .versions = EARLY},
	{.id = "early.xid.differs", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_ADD, .at = 8, .value = 0xffffffff, .skip = 1, .once = true)}, .versions = EARLY},
	{.id = "early.version.1", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 5, .value = 1)}, .versions = EARLY},
	{.id = "early.version.1", .rules = {ERROR_SAYS(2, 2)}, .versions = EARLY},
	{.id = "early.version.3", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_SET, .at = 6, .value = 3)}, .versions = EARLY},
	{.id = "early.rpc-version", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_SET, .at = 10, .value = 2)}, .versions = EARLY},

	/* the early draft of version 2: chunks */
	{.id = "early.nomsg", .rules = {MUTE_EARLY_LATER}, .versions = EARLY},
	{.id = "early.nomsg.pieces", .rules = {MUTE_EARLY_LATER}, .versions = EARLY},
	{.id = "early.reply-chunk", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 3, .value = V1_NOMSG_T, .skip = 1)}, .versions = EARLY},
	{.id = "early.write.unused", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 9, .value = 5, .skip = 1)}, .versions = EARLY},
	{.id = "early.write.unused", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_ADD, .at = 8, .value = 1, .skip = 1)}, .versions = EARLY},
	{.id = "early.bad.discriminator", .rules = {ERROR_SAYS(2, 1)}, .versions = EARLY},
	{.id = "early.bad.count", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_ADD, .at = 0, .value = 1)}, .versions = EARLY},
	{.id = "early.bad.reply-count", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.bad.position", .rules = {ON(WAY_IN, 2, ERROR_T, ACT_DROP), ON(WAY_OUT, 2, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 1)}, .versions = EARLY},
	{.id = "early.bad.nomsg", .rules = {ERROR_SAYS(2, 3)}, .versions = EARLY},
	{.id = "early.bad.handle", .rules = {MUTE_EARLY_LATER}, .versions = EARLY},

	/* the round-trip extension */
	{.id = "rtr.unannounced", .rules = {ERROR_SAYS(2, 2)}},
	{.id = "rtr.call", .rules = {MUTE_2}},
	{.id = "rtr.receives.0", .rules = {MUTE_2}},
	{.id = "rtr.group", .rules = {MUTE_2}},
	{.id = "rtr.group.empty", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_DROP, .skip = 1)}},
	{.id = "rtr.direction", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_SET, .at = 7, .value = 5)}},
	{.id = "rtr.group.limit", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 9, .value = 1)}},
	{.id = "rtr.cont.alone", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 8, .value = 1)}},
	{.id = "rtr.cont.number", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 12, .value = 1)}},
	{.id = "rtr.cont.number", .rules = {ON(WAY_OUT, 2, CONTINUE_T, ACT_ERROR, .value = 2, .skip = 1)}},
	{.id = "rtr.cont.xid", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 8, .value = 1)}},
	{.id = "rtr.cont.first", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 11, .value = 1)}},
	{.id = "rtr.group.call", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_DROP)}},
	{.id = "rtr.group.call", .rules = {ON(WAY_OUT, 2, CALL_T, ACT_REPLY, .value = 1)}},
	{.id = "rtr.group.request", .rules = {ON(WAY_OUT, 2, REQUEST_T, ACT_REPLY, .value = 1, .skip = 1)}},
	{.id = "rtr.payload.beyond", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 4, .value = 1)}},
	{.id = "rtr.payload.word", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_DROP)}},
	{.id = "rtr.segment.none", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "rtr.segment.unfilled", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 8, .value = 0xffffffff)}},
	{.id = "rtr.offset.word", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 9, .value = 1)}},
	{.id = "rtr.offset.beyond", .rules = {ON(WAY_IN, 2, REPORT_T, ACT_ADD, .at = 10, .value = 1)}},
	{.id = "rtr.bad.count", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.item.choice", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.item.short", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.item.type", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.direction.type", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.direction.empty", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.position.falling", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.position.overlap", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.position.word", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.room", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.range.reversed", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.range.overlap", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "rtr.bad.cut", .rules = {ERROR_SAYS(2, 4)}},
	{.id = "early.rtr.call", .rules = {MUTE_EARLY_TWICE}, .versions = EARLY},
	{.id = "early.rtr.receives.0", .rules = {MUTE_EARLY_TWICE}, .versions = EARLY},
	{.id = "early.rtr.group", .rules = {MUTE_EARLY_TWICE}, .versions = EARLY},
	{.id = "early.rtr.group.empty", .rules = {MUTE_EARLY_THRICE}, .versions = EARLY},
	{.id = "early.rtr.direction", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_SET, .at = 9, .value = 5, .skip = 2)}, .versions = EARLY},
	{.id = "early.rtr.group.limit", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 12, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.cont.alone", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 11, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.cont.number", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 15, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.cont.number", .rules = {ON(WAY_OUT, 2, OPTIONAL_T, ACT_ERROR, .value = 2, .skip = 3)}, .versions = EARLY},
	{.id = "early.rtr.cont.xid", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 11, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.cont.direction", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.rtr.cont.first", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 14, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.group.call", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.rtr.group.call", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_REPLY, .value = 1, .skip = 1)}, .versions = EARLY},
	{.id = "early.rtr.group.request", .rules = {ON(WAY_OUT, 2, OPTIONAL_T, ACT_REPLY, .value = 1, .skip = 2)}, .versions = EARLY},
	{.id = "early.rtr.payload.beyond", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 7, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.payload.word", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_DROP)}, .versions = EARLY},
	{.id = "early.rtr.segment.none", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 0, .value = 1)}, .versions = EARLY},
	{.id = "early.rtr.segment.unfilled", .rules = {ON(WAY_IN, 2, OPTIONAL_T, ACT_ADD, .at = 11, .value = 0xffffffff)}, .versions = EARLY},
	{.id = "early.rtr.bad.count", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.item.choice", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.item.short", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.item.type", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.direction.type", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.direction.empty", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.position.falling", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.position.overlap", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.position.word", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.room", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.range.reversed", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.range.overlap", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.cut", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},
	{.id = "early.rtr.bad.more", .rules = {ERROR_SAYS(2, 4)}, .versions = EARLY},

	/* data; octets are those of the memory exposed last */
	{.id = "early.data.read", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_FLIP, .at = 100, .only_result = true)}, .versions = EARLY},
	{.id = "early.data.read", .rules = {ON(WAY_IN, 2, V1_MSG_T, ACT_ADD, .at = 13, .value = 1, .only_result = true)}, .versions = EARLY},
	{.id = "early.data.write", .rules = {ON(WAY_OUT, 2, V1_MSG_T, ACT_FLIP, .at = 4000, .skip = 1)}, .versions = EARLY},
	{.id = "early.data.long-reply", .rules = {ON(WAY_IN, 2, V1_NOMSG_T, ACT_FLIP, .at = 4444)}, .versions = EARLY},
	{.id = "early.data.long-reply", .rules = {ON(WAY_IN, 2, V1_NOMSG_T, ACT_ADD, .at = 9, .value = 1)}, .versions = EARLY},
	{.id = "early.data.long-reply", .rules = {ON(WAY_IN, 2, V1_NOMSG_T, ACT_SET, .at = 4, .value = 0)}, .versions = EARLY},
	{.id = "early.data.long-call", .rules = {ON(WAY_IN, 2, V1_NOMSG_T, ACT_FLIP, .at = 8000)}, .versions = EARLY},
	{.id = "early.data.no-room", .rules = {ERROR_SAYS(2, 1)}, .versions = EARLY},
	{.id = "v1.data.read", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_FLIP, .at = 100, .only_result = true)}},
	{.id = "v1.data.read", .rules = {ON(WAY_IN, 1, V1_MSG_T, ACT_ADD, .at = 12, .value = 1, .only_result = true)}},
	{.id = "v1.data.write", .rules = {ON(WAY_OUT, 1, V1_MSG_T, ACT_FLIP, .at = 5000, .skip = 1)}},
	{.id = "v1.data.long-reply", .rules = {ON(WAY_IN, 1, V1_NOMSG_T, ACT_FLIP, .at = 4444)}},
	{.id = "v1.data.long-reply", .rules = {ON(WAY_IN, 1, V1_NOMSG_T, ACT_ADD, .at = 8, .value = 1)}},
	{.id = "v1.data.long-call", .rules = {ON(WAY_IN, 1, V1_NOMSG_T, ACT_FLIP, .at = 9000)}},
	{.id = "v1.data.threshold", .rules = {ON(WAY_IN, 1, V1_NOMSG_T, ACT_LENGTH, .value = 1028)}},
	{.id = "v1.data.no-room", .rules = {ERROR_SAYS(1, 1)}},
	{.id = "v2.data.read", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_FLIP, .at = 0)}},
	{.id = "v2.data.read", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_FLIP, .at = 5001)}},
	{.id = "v2.data.read", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_FLIP, .at = 5003)}},
	{.id = "v2.data.write", .rules = {ON(WAY_OUT, 2, CALL_T, ACT_FLIP, .at = 1234)}},
	{.id = "v2.data.long-reply", .rules = {ON(WAY_IN, 2, REPLY_EXTERNAL_T, ACT_FLIP, .at = 9027)}},
	{.id = "v2.data.long-reply", .rules = {ON(WAY_IN, 2, REPLY_EXTERNAL_T, ACT_ADD, .at = 7, .value = 1)}},
	{.id = "v2.data.continued-reply", .rules = {ON(WAY_IN, 2, REPLY_MIDDLE_T, ACT_ADD, .at = 100, .value = 1)}},
	{.id = "v2.data.continued-reply", .rules = {ON(WAY_IN, 2, REPLY_MIDDLE_T, ACT_DROP, .skip = 1)}},
	{.id = "v2.data.long-call", .rules = {ON(WAY_OUT, 2, EXTERNAL_T, ACT_ADD, .at = 0, .value = 1)}},
	{.id = "v2.data.continued-call", .rules = {ON(WAY_OUT, 2, MIDDLE_T, ACT_ADD, .at = 100, .value = 1)}},
	{.id = "v2.data.receive-size", .rules = {ON(WAY_OUT, 2, FINAL_T, ACT_SET, .at = 7, .value = 4096)}},
	{.id = "v2.data.small-write", .rules = {ON(WAY_IN, 2, REPLY_MIDDLE_T, ACT_ADD, .at = 100, .value = 1)}},

	/* what is watched in other cases */
	{.id = "v2.always.version", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_SET, .at = 1, .value = 3)}, .before = "v2.call"},
	{.id = "v2.always.credits", .rules = {ON(WAY_OUT, 2, CALL_T, ACT_GRANT, .value = 40, .skip = 3, .once = true)}, .before = "v2.call"},
	{.id = "v2.always.size", .rules = {ON(WAY_IN, 2, REPLY_T, ACT_LENGTH, .value = 4100)}, .before = "v2.call"},
	{.id = "v2.always.grant-xid", .rules = {ON(WAY_IN, 2, GRANT_T, ACT_SET, .at = 0, .value = 9)}, .before = "v2.credit"},
	{.id = "v2.always.grant-size", .rules = {ON(WAY_IN, 2, GRANT_T, ACT_LENGTH, .value = 20)}, .before = "v2.credit"},
	{.id = "v2.always.invalidate", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_INVALIDATE, .value = 9)}, .before = "v2.call"},
	{.id = "v2.always.xdr", .rules = {ON(WAY_IN, 2, FINAL_T, ACT_LENGTH, .value = 18)}, .before = "v2.prop.sent"},
	{.id = "alive", .rules = {ON(WAY_IN, 0, ANY, ACT_DROP)}},
};
/* clang-format on */

enum { TEETH = sizeof(teeth) / sizeof(teeth[0]) };

/* Result of one case. */
struct outcome {
	const char *id;
	bool seen;
	enum verdict verdict;
	char detail[RUN_DETAIL];
};

static void note(void *arg, const struct probe_case *c, const struct case_result *res)
{
	struct outcome *o = arg;

	if (strcmp(c->id, o->id))
		return;
	o->seen = true;
	o->verdict = res->verdict;
	snprintf(o->detail, sizeof(o->detail), "%s", res->detail);
}

static void arm(struct world *w, const struct tooth *t)
{
	world_meddle(w, t->rules, t->rules[1].action ? 2 : 1);
	w->meddler.pdata_flags = t->pdata_flags ? (uint32_t *)(uintptr_t)&t->pdata_flags : NULL;
	w->meddler.pdata_len = t->pdata_len;
}

static void bite(const struct tooth *t, bool is_armed, struct outcome *o)
{
	static struct run r;
	static struct world w;
	struct conform_totals totals;
	struct facts f;

	world_init(&w, 1);
	if (strstr(t->id, "rtr.") && strcmp(t->id, "rtr.unannounced") != 0)
		w.bulk = 8192;
	world_server(&w, t->versions ? t->versions : LEG_V1_OR_V2);
	assert_int_equal(run_init(&r, &w.o, &w.env), 0);
	if (is_armed && t->in_survey)
		arm(&w, t);
	assert_int_equal(survey(&r, &f), 0);
	if (is_armed)
		arm(&w, t);
	if (t->before) {
		w.o.only = t->before;
		conform(&r, &totals, note, o);
	}
	w.o.only = t->id;
	conform(&r, &totals, note, o);
	assert_true(o->seen);
	run_fini(&r);
	world_fini(&w);
}

static void test_every_defect_is_found(void **state)
{
	unsigned missed = 0;

	(void)state;
	for (unsigned i = 0; i < TEETH; i++) {
		struct outcome sound = {.id = teeth[i].id}, broken = {.id = teeth[i].id};

		bite(&teeth[i], false, &sound);
		bite(&teeth[i], true, &broken);
		if (sound.verdict == PASS && broken.verdict == FAIL && broken.detail[0])
			continue;
		missed++;
		print_error("row %u, %s: %s without the defect (%s), %s with it (%s)\n", i,
			    teeth[i].id, verdict_name(sound.verdict), sound.detail,
			    verdict_name(broken.verdict), broken.detail);
	}
	assert_int_equal(missed, 0);
}

static void find_tooth(void *arg, const struct probe_case *c)
{
	unsigned *missing = arg;

	if (case_proves(c)) /* tests/daemon/hostauth.sh has these */
		return;
	for (unsigned i = 0; i < TEETH; i++) {
		if (!strcmp(teeth[i].id, c->id))
			return;
	}
	print_error("no defect for %s\n", c->id);
	(*missing)++;
}

static void test_every_case_has_teeth(void **state)
{
	unsigned missing = 0;

	(void)state;
	conform_each(find_tooth, &missing);
	assert_int_equal(missing, 0);
}

/* Behaviour of a peer that reads the document differently. */
static const struct {
	const char *id, *of, *sound, *other;
	struct rule rule;
} readings[] = {
	{"v2.prop.bad-final", "bad_final", "ended", "not ended",
	 ON(WAY_IN, 2, ERROR_T, ACT_DROP, .skip = 1)},
	{"v2.prop.xid", "properties_xid", "its own", "zero",
	 ON(WAY_IN, 2, FINAL_T, ACT_SET, .at = 0, .value = 0)},
	{"v2.cont.grant", "grant_between", "tolerant", "strict",
	 ON(WAY_OUT, 2, GRANT_T, ACT_SET, .at = 3, .value = FINAL_T)},
	{"v2.cont.malformed", "malformed_part", "BAD_XDR", "INVAL_CONT", ERROR_SAYS(2, 5)},
	{"v2.cont.again", "dropping", "ends", "literal",
	 ON(WAY_OUT, 2, EXTERNAL_T, ACT_SET, .at = 3, .value = ERROR_T)},
	{"v2.cont.longest", "continued", "1M", "less than 64K",
	 ON(WAY_OUT, 2, MIDDLE_T, ACT_SET, .at = 4, .value = 0x70000000)},
	{"v2.credit.excess", "excess", "tolerant", "strict", ON(WAY_OUT, 2, CALL_T, ACT_CLOSE)},
	{"v2.call.twice", "same_xid", "answered", "dropped",
	 ON(WAY_IN, 2, REPLY_T, ACT_DROP, .skip = 2, .once = true)},
	{"v2.invalidate.foreign", "foreign_handle", "BAD_XDR", "ignored",
	 ON(WAY_OUT, 2, CALL_T, ACT_SET, .at = 4, .value = 0)},
	{"v2.segments.two", "segments", "of a header", "of a chunk",
	 ON(WAY_OUT, 2, CALL_T, ACT_REPLY, .value = 1)},
};

static void note_reading(void *arg, const struct probe_case *c, const struct case_result *res)
{
	struct case_result *out = arg;

	(void)c;
	*out = *res;
}

static void read_peer(unsigned i, bool is_other)
{
	static struct run r;
	static struct world w;
	struct case_result res = {.reading = ""};
	struct conform_totals totals;
	struct facts f;

	world_init(&w, 1);
	world_server(&w, LEG_V1_OR_V2);
	assert_int_equal(run_init(&r, &w.o, &w.env), 0);
	assert_int_equal(survey(&r, &f), 0);
	if (is_other)
		world_meddle(&w, &readings[i].rule, 1);
	w.o.only = readings[i].id;
	conform(&r, &totals, note_reading, &res);
	if (res.verdict != PASS ||
	    strcmp(res.reading, is_other ? readings[i].other : readings[i].sound) != 0)
		fail_msg("%s: %s, %s: %s (%s)", readings[i].id, verdict_name(res.verdict),
			 res.reading_of, res.reading, res.detail);
	assert_string_equal(res.reading_of, readings[i].of);
	run_fini(&r);
	world_fini(&w);
}

/* Both readings pass, and each has its name. */
static void test_readings_are_told_apart(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		read_peer(i, false);
		read_peer(i, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_case_has_teeth),
		cmocka_unit_test(test_every_defect_is_found),
		cmocka_unit_test(test_readings_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
