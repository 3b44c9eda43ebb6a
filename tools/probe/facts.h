/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_FACTS_H
#define TOOLS_PROBE_FACTS_H

#include "tools/probe/run.h"

/** What a survey finds out about a server, politely. */

enum { ABSURD_VERSION = 0x5eed, LATENCY_CALLS = 16, VERSIONS = 4 };

/** enum welcome - how a version was received. */
enum welcome {
	WELCOME_NONE, /* not tried */
	WELCOME_SPOKEN,
	WELCOME_REFUSED, /* ERR_VERS */
	WELCOME_CLOSED,
	WELCOME_SILENT,
	WELCOME_OTHER, /* an answer that is neither */
};

/** struct null_result - the NULL of one program in one version. */
struct null_result {
	bool answered;
	struct rpc_verdict rpc;
	char why[RUN_DETAIL]; /* if not */
};

/** struct version_facts - of one protocol version. */
struct version_facts {
	enum welcome welcome;
	char why[RUN_DETAIL];	    /* not SPOKEN: words */
	uint32_t err_xid, err_vers; /* REFUSED: fields of the report */
	uint32_t low, high;
	bool goes_on; /* REFUSED: the connection then took another version */

	/* Of spoken versions only. */
	uint32_t first_credit, steady_credit; /* 1: calls; 2: the window, in messages */
	struct null_result nulls[PROBE_PROGRAMS];
	bool invalidates, invalidate_known;
	nsec_t latency_min, latency_median, latency_max;
	uint32_t largest; /* message received, octets */
};

/** struct proof_facts - host authentication, the last time. */
struct proof_facts {
	bool is_known;
	char name[HOSTAUTH_NAME_BYTES]; /* the peer's: proved, or, with .why, shown alone */
	char why[HOSTAUTH_TEXT_BYTES];	/* it came to nothing */
	char suite[32];
	unsigned messages; /* both ways, as .octets */
	size_t octets;
	nsec_t took;
};

struct facts {
	struct proof_facts proof;
	uint8_t pdata[WIRE_PDATA];
	size_t pdata_len;
	struct v1_pdata said;
	struct version_facts v[VERSIONS]; /* [0] the absurd one, [1], [2], [RUN_EARLY] */
	bool has_props;
	uint32_t prop_messages;
	struct v2_props props;
	unsigned failed; /* what was asked for and did not work */
};

/** version_facts_name - "spoken", "refused" ... */
const char *welcome_name(enum welcome w);

/**
 * survey - fill @f
 *
 * Return: 0; or an error when not even one connection came about, with words in r->detail.
 */
int survey(struct run *r, struct facts *f) WARN_UNUSED;

#endif
