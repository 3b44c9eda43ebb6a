/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of grades for a client, and their results. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/probe/cases.h"
#include "tools/probe/listen.h"

#define GRADE(i, s, l, w)                                                                          \
	{                                                                                          \
		.id = (i), .section = (s), .level = (l), .what = (w)                               \
	}

static const struct probe_case table[GRADES] = {
	[GRADE_PDATA] = GRADE("client.pdata", "RFC 8797 4", "MUST",
			      "reserved bits of the private data are zero"),
	[GRADE_FIRST_SIZE] = GRADE("client.first.size", "v2 4.3, v1 4.3.1, early 5", "MUST",
				   "the first message has at most 1024 octets"),
	[GRADE_FIRST_ALONE] = GRADE("client.first.alone", "v2 4.3, v1 4.3.1, early 5", "MUST",
				    "nothing follows it before an answer"),
	[GRADE_VERSION_KEPT] = GRADE("client.version.kept", "v2 4.3.3", "MUST",
				     "the version does not change on a connection"),
	[GRADE_VERSION_RANGE] = GRADE("client.version.range", "v2 7.1.1", "MUST",
				      "after ERR_VERS only versions of its range are sent"),
	[GRADE_PARSE] =
		GRADE("client.parse", "v2 7.2, v1 5.5", "MUST", "every message can be parsed"),
	[GRADE_XID] = GRADE("client.xid", "v2 7.2, v1 5.1.1", "MUST",
			    "the XID of a call is that of its header"),
	[GRADE_SIZE] = GRADE("client.size", "v2 5.2.2, RFC 8797 4.2, profile 3.4", "MUST",
			     "no message is larger than announced Receives"),
	[GRADE_REPORTS] = GRADE("client.reports", "v2 7, v1 5.5", "MUST",
				"sound messages draw no error report"),
	[GRADE_V1_CREDITS] = GRADE("client.1.credits", "v1 4.3", "MUST",
				   "never more calls unanswered than were granted"),
	[GRADE_V1_DEPRECATED] = GRADE("client.1.deprecated", "v1 5.7", "SHOULD",
				      "neither RDMA_MSGP nor RDMA_DONE is sent"),
	[GRADE_V2_PROPS] = GRADE("client.2.prop.values", "v2 5.2", "MUST",
				 "property values are possible ones"),
	[GRADE_V2_FINAL] = GRADE("client.2.prop.final", "v2 6.3.4", "MUST",
				 "no properties after RDMA2_CONNPROP_FINAL"),
	[GRADE_V2_CREDITS] = GRADE("client.2.credits", "v2 4.2.1", "MUST",
				   "never more messages than were granted"),
	[GRADE_V2_GRANT_XID] =
		GRADE("client.2.grant-xid", "v2 6.3.2", "MUST", "the XID of every GRANT is zero"),
	[GRADE_V2_UNKNOWN_PROP] = GRADE("client.2.prop.unknown", "v2 5.1", "MUST",
					"an unknown property is passed over in silence"),
	[GRADE_V2_HTYPE] = GRADE("client.2.type.unknown", "v2 6.1, 7.1.3", "MUST",
				 "an unknown header type draws INVAL_HTYPE"),
	[GRADE_EARLY_CREDITS] =
		GRADE("client.early.credits", "early 5, v1 4.3", "MUST",
		      "one call until a reply tells the grant, never more than that"),
	[GRADE_EARLY_DIRECTION] = GRADE("client.early.direction", "early 4.2.2", "MUST",
					"the direction is that of the RPC message"),
	[GRADE_EARLY_OPTION] = GRADE("client.early.option", "early 3.1", "MUST",
				     "an unknown option draws INVAL_OPTION with its XID"),
	[GRADE_RTR_GROUP] = GRADE("client.rtr.group", "rtr 4.2, 8.4, 9.4", "MUST",
				  "requests have no more transmissions than are taken, in order, "
				  "and nothing between"),
	[GRADE_RTR_ITEMS] = GRADE("client.rtr.items", "rtr 6.2, 7.3, profile 5", "MUST",
				  "payload stream and items lie where they may"),
	[GRADE_RTR_PADDING] =
		GRADE("client.rtr.padding", "profile 5", "MUST", "what lies between is zero"),
	[GRADE_SILENCE] = GRADE("client.silence", "v2 7, v1 5.7.2, 8.3.3", "MUST",
				"short messages, unknown error codes and RDMA_DONE draw nothing"),
	[GRADE_AUTH_FIRST] =
		GRADE("client.auth.first", "profile 3.1, 3.3", "MUST",
		      "host authentication begins with a ClientHello, beside properties 1 to 5"),
	[GRADE_AUTH_HELLO] =
		GRADE("client.auth.hello", "profile 4.1 to 4.3", "MUST",
		      "the ClientHello offers what the profile wants, and nothing it forbids"),
	[GRADE_AUTH_TURN] = GRADE("client.auth.turn", "profile 3.2", "MUST",
				  "each message is answered by one, and none is sent unasked"),
	[GRADE_AUTH_VALUE] = GRADE("client.auth.value", "profile 2, 3.2, 8", "MUST",
				   "each value is the one that is due"),
	[GRADE_AUTH_SAME] = GRADE("client.auth.same", "profile 3.3", "MUST NOT",
				  "properties 1 to 5 change until the end"),
	[GRADE_AUTH_FINAL] = GRADE("client.auth.final", "profile 3.3", "SHOULD",
				   "they are repeated in the RDMA2_CONNPROP_FINAL"),
	[GRADE_AUTH_CREDIT] =
		GRADE("client.auth.credit", "profile 3.2", "MUST", "each message grants one more"),
	[GRADE_AUTH_EARLY] = GRADE("client.auth.early", "profile 3.5", "MUST NOT",
				   "anything else is sent before it is over"),
	[GRADE_AUTH_PROVED] = GRADE("client.auth.proved", "profile 4.2, 4.4, 4.5", "MUST",
				    "the client proves who it is"),
	[GRADE_AUTH_BINDING] = GRADE("client.auth.binding", "profile 5", "MUST",
				     "its binding value is that of all that was said"),
	[GRADE_AUTH_FAIL] = GRADE("client.auth.fail", "profile 6", "MUST",
				  "a client that does not go on says FAIL, and closes"),
	[GRADE_AUTH_BELIEF] = GRADE("client.auth.belief", "profile 5, 6", "MUST",
				    "a last word that is wrong ends the connection"),
};

void grade_ok(struct listener *l, enum grade g)
{
	l->grades[g].looked++;
}

void grade_breach(struct listener *l, enum grade g, const char *fmt, ...)
{
	struct grade_state *s = &l->grades[g];
	va_list args;

	s->looked++;
	if (s->breaches++ > 0)
		return;
	va_start(args, fmt);
	vsnprintf(s->first, sizeof(s->first), fmt, args);
	va_end(args);
}

unsigned listener_failed(const struct listener *l)
{
	unsigned n = 0;

	for (unsigned g = 0; g < GRADES; g++)
		n += l->grades[g].breaches > 0;
	return n;
}

void listener_grades(const struct listener *l,
		     void (*told)(void *arg, const struct probe_case *c,
				  const struct case_result *res),
		     void *arg)
{
	for (unsigned g = 0; g < GRADES; g++) {
		const struct grade_state *s = &l->grades[g];
		struct case_result res = {
			.verdict = s->breaches ? FAIL
				   : s->looked ? PASS
					       : SKIP,
		};

		snprintf(res.detail, sizeof(res.detail), "%s", s->first);
		told(arg, &table[g], &res);
	}
}
