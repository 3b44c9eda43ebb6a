/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_FACTS_H
#define TOOLS_PROBE_FACTS_H

#include "tools/probe/run.h"

/** Results of a survey of a server. */

enum { ABSURD_VERSION = 0x5eed, LATENCY_CALLS = 16, VERSIONS = 4 };

/** enum welcome - how the server reacted to a version. */
enum welcome {
	WELCOME_NONE, /* the version was not tried */
	WELCOME_SPOKEN,
	WELCOME_REFUSED, /* the server answered ERR_VERS */
	WELCOME_CLOSED,
	WELCOME_SILENT,
	WELCOME_OTHER, /* the server gave another answer */
};

/** struct null_result - result of the NULL of one program in one version. */
struct null_result {
	bool answered;
	struct rpc_verdict rpc;
	char why[RUN_DETAIL]; /* reason, if not answered */
};

/** struct version_facts - facts about one protocol version. */
struct version_facts {
	enum welcome welcome;
	char why[RUN_DETAIL];	    /* reason, if not SPOKEN */
	uint32_t err_xid, err_vers; /* REFUSED: fields of the report */
	uint32_t low, high;
	bool goes_on; /* REFUSED: the server accepted another version on the same connection */

	/* For spoken versions only. */
	/* version 1: calls; version 2: the window, in messages */
	uint32_t first_credit, steady_credit;
	struct null_result nulls[PROBE_PROGRAMS];
	bool invalidates, invalidate_known;
	nsec_t latency_min, latency_median, latency_max;
	uint32_t largest; /* octets of the largest message that the server sent */
};

/** struct proof_facts - facts about the last host authentication. */
struct proof_facts {
	bool is_known;
	char name[HOSTAUTH_NAME_BYTES]; /* of the peer: proven, or only claimed if .why is set */
	char why[HOSTAUTH_TEXT_BYTES];	/* reason of a failure */
	char suite[32];
	unsigned messages; /* in both directions, as .octets */
	size_t octets;
	nsec_t took;
};

struct facts {
	struct proof_facts proof;
	uint8_t pdata[WIRE_PDATA];
	size_t pdata_len;
	struct v1_pdata said;
	/* indexed by version: [1], [2], [RUN_EARLY]; [0] is the nonexistent version
	 * ABSURD_VERSION */
	struct version_facts v[VERSIONS];
	bool has_props;
	uint32_t prop_messages;
	struct v2_props props;
	unsigned failed; /* number of requests that failed */
};

/** welcome_name - "spoken", "refused" ... */
const char *welcome_name(enum welcome w);

/**
 * survey - fill @f
 *
 * Return: 0; or an error if no connection at all could be made, with the reason in r->detail.
 */
int survey(struct run *r, struct facts *f) WARN_UNUSED;

#endif
