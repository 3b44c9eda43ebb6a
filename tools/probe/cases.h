/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_CASES_H
#define TOOLS_PROBE_CASES_H

#include <string.h>

#include "tools/probe/facts.h"

/**
 * The conformance cases, as tables that can be read beside the documents. Each case opens
 * connections of its own and leaves nothing behind.
 *
 * Documents: "v2" is draft-ietf-nfsv4-rpcrdma-version-two-07, "v1" is
 * draft-ietf-nfsv4-rfc5666bis-01 (which became RFC 8166 and RFC 8167), "early"
 * draft-cel-nfsv4-rpcrdma-version-two-01, "rtr" draft-dnoveck-nfsv4-rpcrdma-rtrext-02. "profile" is
 * docs/hostauth-profile.md in cases of host authentication, and docs/rtrext-profile.md in cases of
 * the round-trip extension.
 */
struct probe_case {
	const char *id;
	const char *section;
	const char *level; /* "MUST", "SHOULD", ...: the document's own word */
	const char *what;
	enum verdict (*run)(struct run *r);
	unsigned version; /* version that the server must speak; 0: any */
	bool is_hostile; /* the case sends a malformed chunk list, and is run only with --hostile */
};

/** case_proves - whether the case is about host authentication, and needs an identity
 * (--hostauth-...). */
static inline bool case_proves(const struct probe_case *c)
{
	return strncmp(c->id, "auth.", 5) == 0;
}

struct case_table {
	const struct probe_case *cases;
	unsigned n;
};

#define CASE_TABLE(name, array)                                                                    \
	const struct case_table name = {array, sizeof(array) / sizeof((array)[0])}

extern const struct case_table cases_pdata; /* cases_pdata.c: RFC 8797 */
extern const struct case_table
	cases_version; /* cases_version.c: choice of the version, and errors about it */
extern const struct case_table cases_v1;	   /* cases_v1.c: messages of version 1 */
extern const struct case_table cases_v1_chunks;	   /* cases_v1_chunks.c */
extern const struct case_table cases_props;	   /* cases_props.c: properties of version 2 */
extern const struct case_table cases_hostauth;	   /* cases_hostauth.c: host authentication */
extern const struct case_table cases_v2;	   /* cases_v2.c: messages of version 2 */
extern const struct case_table cases_cont;	   /* cases_cont.c: Message Continuation */
extern const struct case_table cases_v2_chunks;	   /* cases_v2_chunks.c */
extern const struct case_table cases_early;	   /* cases_early.c: the early draft of version 2 */
extern const struct case_table cases_early_chunks; /* cases_v1_chunks.c */
extern const struct case_table
	cases_rtr; /* cases_rtr.c: the round-trip extension, over either draft */
extern const struct case_table cases_credit; /* cases_credit.c: flow control of version 2 */
extern const struct case_table
	cases_data; /* cases_data.c: data by RDMA, with rpcrdma-perf's program */
/* cases_always.c: rules that were watched in all cases; the last table */
extern const struct case_table cases_always;

/* Cases for all versions; r->wanted is the version (cases_chunks.c). */
enum verdict case_long_call(struct run *r);
enum verdict case_long_call_pieces(struct run *r);
enum verdict case_reply_chunk(struct run *r);
enum verdict case_unused_write(struct run *r);

/* Steps that several files use (cases_common.c). */

/** v1_refused - expect RDMA_ERROR/ERR_CHUNK about @xid, or an RPC reply that reports an error (v1
 * 5.5). */
enum verdict v1_refused(struct run *r, uint32_t xid);

/** early_refused - as v1_refused, with RDMA2_ERR_BAD_HEADER (early 4.2.3). */
enum verdict early_refused(struct run *r, uint32_t xid);

/** v2_peer_rejections - send the message, expect the report @err, and check that the connection
 * still works. */
enum verdict v2_peer_rejections(struct run *r, uint32_t err);

/** writes_returned - whether @n Write chunks came back. */
enum verdict writes_returned(struct run *r, unsigned n);

/** returned_as_offered - whether the reply's chunk @got has the segments of @offered of r->call,
 * with lengths that are filled in order and add up to @length (v2 4.5.2.1, v1 4.4.5). */
enum verdict returned_as_offered(struct run *r, const struct rpc_chunk *got,
				 const struct rpc_chunk *offered, uint64_t length);

/** reply_chunk_fair - if the reply came through the Reply chunk, whether the chunk was returned as
 * offered. */
enum verdict reply_chunk_fair(struct run *r);

#endif
