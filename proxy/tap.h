/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TAP_H
#define PROXY_TAP_H

#include "base/list.h"
#include "base/ring.h"
#include "proxy/look.h"

/**
 * tap - where an operator listens in on a relay that runs: the RPCs that are over, or the messages of legs
 *
 * The worker copies what is wanted into a ring; somebody else's thread takes it there. While no tap is in,
 * an RPC costs next to nothing for it: the relay looks whether there are any.
 */
enum tap_kind { TAP_RPCS, TAP_MESSAGES, TAP_KINDS };

/** struct tap_want - of what; zero in each that does not matter. */
struct tap_want {
	struct look_want sessions;
	/* TAP_RPCS */
	nsec_t slow; /* took so long at least */
	bool has_program, has_version, has_procedure, has_kind;
	uint32_t program, version, procedure;
	enum latency_kind kind;
};

struct tap {
	struct list link; /* private */
	enum tap_kind kind;
	struct tap_want want;
	struct ring
		ring; /* of struct tap_rpc; or of struct tap_message, with the octets behind it */
};

enum tap_outcome {
	TAP_CUT, /* its session ended before it did */
	TAP_REPLIED,
	TAP_FAILED, /* an error was reported to its requester */
	TAP_LET_GO, /* nobody waits for its answer any longer */
};

/** Where an RPC has come to; each step of docs' timeline ends at one of these. */
enum tap_mark {
	TAP_ARRIVED,
	TAP_ADMITTED, /* it has its memory: what the requester exposed is pulled */
	TAP_CALLED,   /* the call for the responder was formed */
	TAP_SENT,     /* ... and is there */
	TAP_ANSWERED,
	TAP_FENCED,   /* nothing exposed for it can be reached any more */
	TAP_RETURNED, /* what belongs into the requester's chunks was written */
	TAP_ENDED,
	TAP_MARKS
};

/** struct tap_rpc - one that is over. */
struct tap_rpc {
	uint64_t session;
	nsec_t at[TAP_MARKS]; /* times of the relay's turns; 0: it did not get there */
	uint64_t call_bytes, reply_bytes;
	enum tap_outcome outcome;
	enum latency_kind kind;
	enum rpc_error_code error; /* TAP_FAILED */
	uint32_t xid;
	uint32_t program, version, procedure; /* where .has_header */
	uint32_t reads, writes;		      /* chunks of the call */
	bool has_header, is_reverse;
	char route[PROXY_NAME_MAX];
	char client[FABRIC_ADDR_TEXT]; /* as it is counted */
};

/* Octets of a message that are kept. */
enum { TAP_OCTETS = 96 << 10 };

/** struct tap_message - a Send, or what was received of one; its octets stand behind it, TAP_OCTETS at most. */
struct tap_message {
	uint64_t session;
	nsec_t at;
	struct fabric_addr peer, local;
	enum proxy_side side; /* whose leg */
	uint32_t len;	      /* of the message */
	bool is_sent;	      /* by the gateway */
	char route[PROXY_NAME_MAX];
};

struct txn;

/** tap_attach, tap_detach - by the worker, between two turns. Idempotent. */
void tap_attach(struct proxy *p, struct tap *t);
void tap_detach(struct proxy *p, struct tap *t);

/** tap_rpc - @t, which is about to be released, for those who want it. */
void tap_rpc(const struct txn *t);

/** tap_message - of struct leg_tap. */
void tap_message(struct leg *leg, bool is_sent, const struct fabric_sge *sge, unsigned n);

#endif
