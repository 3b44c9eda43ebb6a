/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TAP_H
#define PROXY_TAP_H

#include "base/list.h"
#include "base/ring.h"
#include "proxy/look.h"

/**
 * tap - tracing of a running relay: finished RPCs, or the messages of legs
 *
 * The worker copies what is wanted into a ring, and another thread takes it from there. While
 * nothing is traced an RPC costs one look at an empty list.
 */
enum tap_kind { TAP_RPCS, TAP_MESSAGES, TAP_KINDS };

/** struct tap_want - what to trace; zero in each field that does not matter. */
struct tap_want {
	struct look_want sessions;
	/* TAP_RPCS */
	nsec_t slow; /* least time that the RPC took, ns */
	bool has_program, has_version, has_procedure, has_kind;
	uint32_t program, version, procedure;
	enum latency_kind kind;
};

struct tap {
	struct list link; /* private */
	enum tap_kind kind;
	struct tap_want want;
	/* Elements are struct tap_rpc, or struct tap_message with its octets behind it. */
	struct ring ring;
};

enum tap_outcome {
	TAP_CUT, /* the session ended before the RPC */
	TAP_REPLIED,
	TAP_FAILED, /* an error was reported to the requester */
	TAP_LET_GO, /* the call was abandoned without an answer */
};

/** Points in the life of an RPC; each step of the documented timeline ends at one of them. */
enum tap_mark {
	TAP_ARRIVED,
	TAP_ADMITTED, /* the RPC has its memory: RDMA Reads of what the requester exposed begin */
	TAP_CALLED,   /* the call for the responder was formed */
	TAP_SENT,     /* the call was sent to the responder */
	TAP_ANSWERED,
	TAP_FENCED,   /* all exposures of the RPC are withdrawn */
	TAP_RETURNED, /* Writes to the requester's chunks are posted */
	TAP_ENDED,
	TAP_MARKS
};

/** struct tap_rpc - one finished RPC. */
struct tap_rpc {
	uint64_t session;
	nsec_t at[TAP_MARKS]; /* times of the relay's turns, ns; 0: not reached */
	uint64_t call_bytes, reply_bytes;
	enum tap_outcome outcome;
	enum latency_kind kind;
	enum rpc_error_code error; /* TAP_FAILED */
	uint32_t xid;
	uint32_t program, version, procedure; /* valid with .has_header */
	uint32_t reads, writes;		      /* Read and Write chunks of the call */
	bool has_header, is_reverse;
	char route[PROXY_NAME_MAX];
	char client[FABRIC_ADDR_TEXT]; /* as limits count clients */
};

/* Octets of a message that are copied at most. */
enum { TAP_OCTETS = 96 << 10 };

/** struct tap_message - a message sent or received; its octets follow, TAP_OCTETS at most. */
struct tap_message {
	uint64_t session;
	nsec_t at;
	struct fabric_addr peer, local;
	enum proxy_side side; /* the leg's side */
	uint32_t len;	      /* whole length of the message, octets */
	bool is_sent;	      /* the gateway sent it */
	char route[PROXY_NAME_MAX];
};

struct txn;

/** tap_attach, tap_detach - start and stop a tracer; by the worker, between two turns.
 * Idempotent. */
void tap_attach(struct proxy *p, struct tap *t);
void tap_detach(struct proxy *p, struct tap *t);

/** tap_rpc - @t is about to be released: copy it to tracers that want it. */
void tap_rpc(const struct txn *t);

/** tap_message - the function in struct leg_tap. */
void tap_message(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n);

#endif
