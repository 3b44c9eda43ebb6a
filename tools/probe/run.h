/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROBE_RUN_H
#define TOOLS_PROBE_RUN_H

#include "rpc/msg.h"
#include "tools/probe/options.h"
#include "tools/probe/wire.h"
#include "v1/pdata.h"
#include "v2/header.h"
#include "xdr/cursor.h"

/**
 * run - what a script of steps against one peer stands on
 *
 * A step returns PASS, which is 0, to go on; so a script reads
 *
 *	return v2_up(r) ?: msg_send(r) ?: expect_v2_error(r, ...) ?: fence(r);
 *
 * and a step that ends it has put its cause into r->detail.
 *
 * Messages are put together word by word: what is tested against our codec must
 * not come out of it. What comes back is taken apart by the codecs of v1/, v2/ and v2early/.
 */
enum verdict { PASS, FAIL, SKIP };

enum {
	RUN_DETAIL = 200,
	RUN_READING = 40,
	RUN_REPLY_MAX = 256 * 1024,
	RUN_INLINE = 4096, /* announced, both ways, in both versions */
	RUN_CREDITS = 32,  /* asked for or advertised */
	RUN_SEGMENT_BYTES = 1024 * 1024,
	RUN_SEGMENTS = 16,
	QUIET_MS = 100, /* how long nothing must come for silence */
};

/* draft-cel-nfsv4-rpcrdma-version-two-01 */
enum { RUN_EARLY = OPTIONS_EARLY };

/** run_version_name - "1", "2", "2-early". */
const char *run_version_name(unsigned version);

/** struct flow - version 2 credits of the current connection (4.2.1, as the decisions read it). */
struct flow {
	uint32_t sent, received; /* messages */
	uint32_t limit;		 /* the peer's: sent may not pass it */
	uint32_t granted;	 /* the highest value the peer was sent */
	uint32_t advertise;	 /* Receives on offer from now on */
	uint32_t grants_received;
	uint32_t first_value; /* of the peer's first message */
	bool is_on;	      /* version 2 is spoken */
};

/** enum breach - what no peer may do at any time; watched on every version 2 connection. */
enum breach {
	BREACH_VERSION,
	BREACH_GRANT_XID,
	BREACH_GRANT_SIZE,
	BREACH_CREDITS,
	BREACH_SIZE,
	BREACH_INVALIDATE,
	BREACH_XDR,
	BREACHES,
};

struct watch {
	uint32_t messages; /* watched */
	uint32_t count[BREACHES];
	char first[BREACHES][96]; /* words about the first one */
};

/** struct reply - an RPC reply, whichever way it travelled. */
struct reply {
	struct rpc_msg msg; /* chunks as returned; body of the last message */
	uint32_t htype;	    /* of the last message: rdma_proc or rdma_htype */
	uint32_t credit;
	uint32_t invalidated;
	unsigned parts;	    /* messages it came in */
	struct view stream; /* payload stream, also when it came through the Reply chunk */
	struct rpc_verdict rpc;
};

struct facts;

struct run {
	const struct probe_options *o;
	const struct probe_env *env;
	struct wire w;
	uint32_t next_xid;
	unsigned wanted; /* version of the case that runs; 0: whichever is spoken */
	unsigned
		version; /* of the current connection: 1, 2, RUN_EARLY, or 0 before anything is agreed */
	struct flow flow;
	struct v2_props props; /* the peer's, when all are in */
	bool has_final;
	uint32_t rtr_targets;	/* placement-targetable segments of its Receives, as it says */
	bool is_mute;		/* a peer that sends no properties: not waited for again */
	uint32_t prop_messages; /* CONNPROP messages of the peer */
	uint32_t largest;	/* message received in the whole run, octets */
	struct watch watch;
	struct program program; /* whose NULL is called */
	char detail[RUN_DETAIL];
	const char *reading_of; /* reads(); NULL: the case that runs has told none */
	char reading[RUN_READING];

	struct xdr_out x; /* the message being put together, over .out */
	uint8_t out[WIRE_SEND_BYTES];
	uint32_t xid;	      /* its XID */
	bool keep_credit;     /* its credit field is as put, not as flow control says */
	struct rpc_msg call;  /* call_begin() */
	uint32_t error[3];    /* of the report last expected: code and what follows it */
	struct reply reply;   /* last one */
	uint8_t *reply_chunk; /* octets of the Reply chunk on offer, or NULL */
	uint8_t *assembly;
	struct rpc_msg scratch; /* of the watch */
	struct facts *facts;	/* what the survey found */
};

int run_init(struct run *r, const struct probe_options *o, const struct probe_env *env) WARN_UNUSED;
void run_fini(struct run *r);

/** passed, failed, skipped - with words into r->detail. */
enum verdict passed(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum verdict failed(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum verdict skipped(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** reads - where the document can be read in more than one way: passed, with the peer's reading of
 * what is @of. */
enum verdict reads(struct run *r, const char *of, const char *reading, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** run_deadline - when an answer is late. */
nsec_t run_deadline(const struct run *r);

/* --- connections (connect.c, up.c) --- */

/** run_pdata - the private data this tool sends: 4096 both ways, R as told. */
void run_pdata(uint8_t out[V1_PDATA_BYTES], bool remote_inv);

/** run_connect - a fresh connection, with @pdata, nothing said on it. */
enum verdict run_connect(struct run *r, struct view pdata);

/** raw_up, v1_up - a fresh connection with standard private data; v1_up has called NULL once. */
enum verdict raw_up(struct run *r);
enum verdict v1_up(struct run *r);

/** v2_open, v2_up - negotiated to version 2: v2_open from a first message that was put
 * together already, v2_up with standard properties. */
enum verdict v2_open(struct run *r);
enum verdict v2_up(struct run *r);

struct hostauth_out;

/** struct prove - how to prove who is there, and what is seen of it. */
struct prove {
	size_t most; /* octets of a value; 0: as many as fit */
	/* NULL; or what becomes of a message of ours, with its value at @value_at, before it goes out. */
	void (*spoil)(struct run *r, const struct hostauth_out *out, size_t value_at);
	unsigned messages; /* of the server's, with properties: */
	size_t longest;
	int32_t least_credit; /* that any of them leaves */
	struct v2_props first;
	bool differs;	/* a later one says otherwise */
	bool goes_on;	/* a value went on with the TLS handshake */
	uint16_t fails; /* the reason of the server's FAIL, or 0 */
	bool is_done;	/* the server is believed, and so is what was negotiated */
};

/** prove_with - a fresh connection, and the handshake. FAIL: it came to nothing. (prove.c) */
enum verdict prove_with(struct run *r, struct prove *how);

/** prove_up - v2_up() with host authentication: who is there, both ways. v2_up() does it where the command
 * line has an identity. (prove.c) */
enum verdict prove_up(struct run *r);

/** early_up - a fresh connection that speaks the early draft: NULL was called once. */
enum verdict early_up(struct run *r);

/** version_up - v1_up, v2_up or early_up. */
enum verdict version_up(struct run *r, unsigned version);

/** case_up - the same, as the case that runs has it. */
enum verdict case_up(struct run *r);

/** v2_negotiated - wait for what the peer says of itself: all its CONNPROP messages. */
enum verdict v2_negotiated(struct run *r);

/* --- messages out (script.c) --- */

/** msg_begin - a message of @type in @version (0: the connection's) with a fresh XID. */
void msg_begin(struct run *r, unsigned version, uint32_t type);

/** put - words into the message. */
#define put(r, ...)                                                                                \
	put_words(r, (const uint32_t[]){__VA_ARGS__},                                              \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
void put_words(struct run *r, const uint32_t *words, size_t n);
void put_segment(struct run *r, const struct segment *s);
void put_octets(struct run *r, struct view v);

/** put_prop - one property of one word. */
void put_prop(struct run *r, uint32_t id, uint32_t value);

/** put_five_props - the five properties of this tool, without their count. */
void put_five_props(struct run *r);

/** put_props - count and the five properties of this tool. */
void put_props(struct run *r);

/** put_null - a whole RPC call, the NULL of r->program, with r->xid. */
void put_null(struct run *r);

/** null_begin - a message without chunks up to, and with, that call. */
void null_begin(struct run *r);

/** msg_send - off it goes; in version 2 when there is a credit for it. */
enum verdict msg_send(struct run *r);

/** chunk - expose @len octets. */
enum verdict chunk(struct run *r, uint32_t len, unsigned access, struct segment *seg, uint8_t **at);

/** null_chunk - expose the NULL call with r->xid for the peer to read. */
enum verdict null_chunk(struct run *r, struct segment *seg);

/** call_begin - r->call, a well-formed call with a fresh XID, to be given chunks. */
void call_begin(struct run *r);

/** call_segment - @seg at the end of @c, a chunk of r->call. */
void call_segment(struct run *r, struct rpc_chunk *c, const struct segment *seg);

/** call_body_chunk - @seg, at the end of what conveys the whole call. */
void call_body_chunk(struct run *r, const struct segment *seg);

/** call_split - the one segment of @c becomes two, the first of @at octets. */
void call_split(struct run *r, struct rpc_chunk *c, uint32_t at);

/** call_write_chunk, call_reply_chunk - expose @len octets and offer them in r->call. */
enum verdict call_write_chunk(struct run *r, uint32_t len, struct segment *seg, uint8_t **at);
enum verdict call_reply_chunk(struct run *r, uint32_t len, struct segment *seg);

/** call_send - r->call, its header out of the version's codec, then @body; @body NULL: the
 * NULL of r->program, unless a body chunk conveys it. */
enum verdict call_send(struct run *r, const struct view *body);

/* --- messages in (expect.c) --- */

/** is_grant - an RDMA2_GRANT on a version 2 connection. */
bool is_grant(const struct run *r, const struct wire_msg *m);

/** take_properties - a CONNPROP message before the peer's last one: merged into r->props.
 * Return: whether it was one. (run.c) */
bool take_properties(struct run *r, const struct wire_msg *m);

/** msg_next - the next message that is neither a GRANT nor properties that are still due. */
enum verdict msg_next(struct run *r, struct wire_msg *m);

/** msg_peek - wait @ms for a message that is no GRANT; it will be awaited again. Return: 0,
 * ERR_TIMEOUT, ERR_CLOSED. */
int msg_peek(struct run *r, unsigned ms) WARN_UNUSED;

/** msg_words - words for a message. */
const char *msg_words(const struct run *r, struct view in);

/** expect_reply - an RPC reply to @xid (0: to any) into r->reply; what else comes is a failure. */
enum verdict expect_reply(struct run *r, uint32_t xid);

/** expect_v1_error, expect_v2_error - that report (0: any) about @xid, the version echoed
 * (0: whichever); its words are then in r->error. */
enum verdict expect_v1_error(struct run *r, uint32_t xid, uint32_t err);
enum verdict expect_v2_error(struct run *r, uint32_t xid, uint32_t version, uint32_t err);

/** expect_quiet - nothing but GRANTs for a while. */
enum verdict expect_quiet(struct run *r);

/** expect_reading - a reply to @xid, then it reads @served; or a report of @err about it, then it
 * reads @refused. What else comes is a failure. */
enum verdict expect_reading(struct run *r, uint32_t xid, uint32_t err, const char *of,
			    const char *served, const char *refused);

/** null_call - call NULL and have its reply. */
enum verdict null_call(struct run *r);

/** fence - the connection still works, and nothing came that was not due. */
enum verdict fence(struct run *r);

/* --- what is watched (watch.c) --- */

/** watch_begin - the flow control of a fresh connection. */
void watch_begin(struct run *r);

/** watch_tap - wire.tap. */
void watch_tap(void *arg, const struct wire_msg *m);

#endif
