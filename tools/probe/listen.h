/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_LISTEN_H
#define TOOLS_PROBE_LISTEN_H

#include "tools/probe/conform.h"

/**
 * listener - plays a server that answers NULL and knows no other procedure, and
 * grades the client that connects: one connection at a time, every message
 * looked at when it arrives.
 */
enum grade {
	GRADE_PDATA,
	GRADE_FIRST_SIZE,
	GRADE_FIRST_ALONE,
	GRADE_VERSION_KEPT,
	GRADE_VERSION_RANGE,
	GRADE_PARSE,
	GRADE_XID,
	GRADE_SIZE,
	GRADE_REPORTS,
	GRADE_V1_CREDITS,
	GRADE_V1_DEPRECATED,
	GRADE_V2_PROPS,
	GRADE_V2_FINAL,
	GRADE_V2_CREDITS,
	GRADE_V2_GRANT_XID,
	GRADE_V2_UNKNOWN_PROP,
	GRADE_V2_HTYPE,
	GRADE_SILENCE,
	GRADE_AUTH_FIRST,
	GRADES,
};

/* XIDs of what the listener sends unasked: its properties, then what it provokes with. */
enum { LISTEN_PROPS_XID = 0x70726f61, LISTEN_PROVOKE_XID, LISTEN_PROVOKE_XIDS = 3 };

struct grade_state {
	unsigned looked; /* how often there was something to judge */
	unsigned breaches;
	char first[RUN_DETAIL];
};

/** struct client_facts - of the first connection. */
struct client_facts {
	uint8_t pdata[WIRE_PDATA];
	size_t pdata_len;
	struct v1_pdata said;
	uint32_t first_version, first_type, first_bytes;
	uint32_t credits; /* asked for (1) or the first value (2) */
	uint32_t largest; /* message, octets */
	bool has_props;
	struct v2_props props;
};

struct listener {
	const struct probe_options *o;
	const struct probe_env *env;
	struct wire w;
	struct grade_state grades[GRADES];
	struct client_facts facts;
	unsigned connections;
	uint64_t messages, calls;

	/* Of the connection being served. */
	unsigned version;     /* 0: not known yet */
	bool refused;	      /* ERR_VERS was sent */
	uint32_t arrived;     /* messages */
	bool answered;	      /* something was sent */
	uint32_t outstanding; /* v1: calls arrived and not answered */
	uint32_t granted;     /* v1: calls; v2: message count */
	uint32_t sent, limit; /* v2 */
	bool final;	      /* v2: its CONNPROP_FINAL came */
	uint8_t head[64];     /* v2: the beginning of a continued call */
	size_t head_len;
	unsigned replies;
	uint32_t provoked; /* XID of the message of unknown type, or 0 */
	bool provoked_answered;

	struct rpc_msg msg, reply, scratch;
};

/** listener_init - to be attached with &l->w as owner. */
int listener_init(struct listener *l, const struct probe_options *o,
		  const struct probe_env *env) WARN_UNUSED;

/** listener_run - until the connections asked for have ended, or the time has. */
void listener_run(struct listener *l);

/** listener_grades - every grade is @told. */
void listener_grades(const struct listener *l,
		     void (*told)(void *arg, const struct probe_case *c,
				  const struct case_result *res),
		     void *arg);

/** listener_failed - how many grades are not passed. */
unsigned listener_failed(const struct listener *l);

void listener_fini(struct listener *l);

/* --- between listen.c and grade.c --- */

/** grade_ok - there was something to judge, and nothing to say. */
void grade_ok(struct listener *l, enum grade g);

/** grade_breach - words about a breach. */
void grade_breach(struct listener *l, enum grade g, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** grade_tap - wire.tap: judge a message at arrival. */
void grade_tap(void *arg, const struct wire_msg *m);

#endif
