/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TRACE_RING_H
#define PROXY_TRACE_RING_H

#include "base/list.h"
#include "base/ring.h"
#include "proxy/snapshot.h"

/**
 * trace_ring - tracing of a running relay: finished RPCs, or the messages of legs
 *
 * The worker copies what is wanted into a ring, and another thread takes it from there. While
 * nothing is traced an RPC costs one look at an empty list.
 */
enum trace_kind { TRACE_RPCS, TRACE_MESSAGES, TRACE_KINDS };

/** struct trace_want - what to trace; zero in each field that does not matter. */
struct trace_want {
	struct snapshot_want sessions;
	/* TRACE_RPCS */
	nsec_t slow; /* least time that the RPC took, ns */
	bool has_program, has_version, has_procedure, has_kind;
	uint32_t program, version, procedure;
	enum latency_kind kind;
};

struct trace_ring {
	struct list link; /* private */
	enum trace_kind kind;
	struct trace_want want;
	/* Elements are struct trace_rpc, or struct trace_message with its octets behind it. */
	struct ring ring;
};

enum trace_outcome {
	TRACE_CUT, /* the session ended before the RPC */
	TRACE_REPLIED,
	TRACE_FAILED, /* an error was reported to the requester */
	TRACE_LET_GO, /* the call was abandoned without an answer */
};

/** Points in the life of an RPC. The time between two of them is a step in the output of
 * rpcrdma-gwctl(8). */
enum trace_mark {
	TRACE_ARRIVED,	/* the call has a transaction block; it may have waited for the block */
	TRACE_ADMITTED, /* the RPC has its memory: RDMA Reads of what the requester exposed begin */
	TRACE_CALLED,	/* the call for the responder was formed */
	TRACE_SENT,	/* the call was sent to the responder */
	TRACE_ANSWERED, /* the reply arrived */
	TRACE_FENCED,	/* all exposures of the RPC are withdrawn */
	TRACE_RETURNED, /* Writes to the requester's chunks are posted */
	TRACE_ENDED,
	TRACE_MARKS
};

/** struct trace_rpc - one finished RPC. */
struct trace_rpc {
	uint64_t session;	/* number of the session */
	nsec_t at[TRACE_MARKS]; /* times of the relay's turns, ns; 0: not reached */
	uint64_t call_bytes, reply_bytes;
	enum trace_outcome outcome;
	enum latency_kind kind;
	enum rpc_error_code error; /* TRACE_FAILED */
	uint32_t xid;
	uint32_t program, version, procedure; /* valid with .has_header */
	uint32_t reads, writes;		      /* Read and Write chunks of the call */
	bool has_header, is_reverse;
	char route[PROXY_NAME_MAX];
	char client[FABRIC_ADDR_TEXT]; /* as limits count clients */
};

/* Octets of a message that are copied at most. */
enum { TRACE_OCTETS = 96 << 10 };

/** struct trace_message - a message sent or received; its octets follow, TRACE_OCTETS at most. */
struct trace_message {
	uint64_t session; /* number of the session */
	nsec_t at;	  /* when the message was sent or received, ns */
	struct fabric_addr peer, local;
	enum proxy_side side; /* the leg's side */
	uint32_t len;	      /* whole length of the message, octets */
	bool is_sent;	      /* the gateway sent it */
	char route[PROXY_NAME_MAX];
};

struct txn;

/** trace_attach, trace_detach - start and stop a tracer; by the worker, between two turns.
 * Idempotent. */
void trace_attach(struct proxy *p, struct trace_ring *t);
void trace_detach(struct proxy *p, struct trace_ring *t);

/** trace_rpc - @t is about to be released: copy it to tracers that want it. */
void trace_rpc(const struct txn *t);

/** trace_message - the function in struct leg_trace. */
void trace_message(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n);

#endif
