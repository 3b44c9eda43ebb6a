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
 * run - context of a script of steps against one peer
 *
 * A step returns PASS, which is 0, to continue. So a script reads
 *
 * 	return v2_up(r) ?: msg_send(r) ?: expect_v2_error(r, ...) ?: fence(r);
 *
 * A step that ends the script has put the reason into r->detail.
 *
 * Messages are composed word by word: a message that tests a codec must not be made by the same
 * codec. Messages of the peer are parsed by the codecs of v1/, v2/ and v2early/.
 */
enum verdict { PASS, FAIL, SKIP };

enum {
	RUN_DETAIL = 200,
	RUN_READING = 40,
	RUN_REPLY_MAX = 256 * 1024,
	RUN_INLINE = 4096, /* octets; announced for both directions, in all versions */
	RUN_CREDITS = 32,  /* credits asked for or advertised */
	RUN_SEGMENT_BYTES = 1024 * 1024,
	RUN_SEGMENTS = 16,
	QUIET_MS = 100, /* how long the peer must be silent to count as silent */
};

/* draft-cel-nfsv4-rpcrdma-version-two-01 */
enum { RUN_EARLY = OPTIONS_EARLY };

/** run_version_name - "1", "2", "2-early". */
const char *run_version_name(unsigned version);

/** struct flow - version 2 credits of the current connection (4.2.1, as docs/protocol-decisions.md
 * reads it). */
struct flow {
	uint32_t sent, received; /* numbers of messages */
	uint32_t limit;		 /* set by the peer: .sent may not pass it */
	uint32_t granted;	 /* highest value that was sent to the peer */
	uint32_t advertise;	 /* Receives offered to the peer from now on */
	uint32_t grants_received;
	uint32_t first_value; /* credit value of the peer's first message */
	bool is_on;	      /* the connection speaks version 2 */
};

/** enum breach - rules that hold at all times; watched on every version 2 connection. */
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
	uint32_t messages; /* number of messages watched */
	uint32_t count[BREACHES];
	char first[BREACHES][96]; /* text about the first breach of each kind */
};

/** struct reply - an RPC reply, in any form. */
struct reply {
	struct rpc_msg msg; /* chunks as returned; body of the last message */
	uint32_t htype;	    /* of the last message: rdma_proc or rdma_htype */
	uint32_t credit;
	uint32_t invalidated;
	unsigned parts;	    /* number of messages of the reply */
	struct view stream; /* payload stream, also if it came through the Reply chunk */
	struct rpc_verdict rpc;
};

struct facts;

struct run {
	const struct probe_options *o;
	const struct probe_env *env;
	struct wire w;
	uint32_t next_xid;
	unsigned wanted;  /* version of the current case; 0: any that the server speaks */
	unsigned version; /* of the current connection: 1, 2, RUN_EARLY; 0: nothing agreed yet */
	struct flow flow;
	struct v2_props props; /* of the peer, complete */
	bool has_final;
	/* number of placement-targetable segments that the peer announces for each of its
	 * Receives */
	uint32_t rtr_targets;
	/* the peer sends no properties, so that later connections do not wait for them */
	bool is_mute;
	uint32_t prop_messages; /* number of the peer's CONNPROP messages */
	uint32_t largest;	/* octets of the largest message received in the whole run */
	struct watch watch;
	struct program program; /* the program whose NULL is called */
	char detail[RUN_DETAIL];
	const char *reading_of; /* set by reads(); NULL: the current case has no reading */
	char reading[RUN_READING];

	struct xdr_out x; /* the message being composed, in .out */
	uint8_t out[WIRE_SEND_BYTES];
	uint32_t xid;	  /* XID of that message */
	bool keep_credit; /* its credit field stays as composed, and is not set by flow control */
	struct rpc_msg call;  /* the call of call_begin() */
	uint32_t error[3];    /* of the last expected report: code and the words behind it */
	struct reply reply;   /* the last reply */
	uint8_t *reply_chunk; /* octets of the Reply chunk on offer, or NULL */
	uint8_t *assembly;
	struct rpc_msg scratch; /* used by watch.c */
	struct facts *facts;	/* results of the survey */
};

int run_init(struct run *r, const struct probe_options *o, const struct probe_env *env) WARN_UNUSED;
void run_fini(struct run *r);

/** passed, failed, skipped - write a text into r->detail. Return: the verdict. */
enum verdict passed(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum verdict failed(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum verdict skipped(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** reads - the document has more than one reading: passed, with the peer's @reading of the point
 * @of. */
enum verdict reads(struct run *r, const char *of, const char *reading, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** run_deadline - when an answer is late. */
nsec_t run_deadline(const struct run *r);

/* --- connections (connect.c, up.c) --- */

/** run_pdata - the private data of this tool: 4096 in both directions, and R as @remote_inv. */
void run_pdata(uint8_t out[V1_PDATA_BYTES], bool remote_inv);

/** run_connect - open a connection with @pdata; no message is sent. */
enum verdict run_connect(struct run *r, struct view pdata);

/** raw_up, v1_up - open a connection with standard private data. v1_up also calls NULL once. */
enum verdict raw_up(struct run *r);
enum verdict v1_up(struct run *r);

/** v2_open, v2_up - open a connection and negotiate version 2: v2_open from a first message that
 * was composed before, v2_up with standard properties. */
enum verdict v2_open(struct run *r);
enum verdict v2_up(struct run *r);

struct hostauth_out;

/** struct prove - parameters and results of host authentication. */
struct prove {
	size_t most; /* octets of a value; 0: as many as fit */
	/* A function that changes a message of the probe before it is sent; the value is at offset
	 * @value_at. NULL: none. */
	void (*spoil)(struct run *r, const struct hostauth_out *out, size_t value_at);
	unsigned messages; /* number of the server's messages with properties */
	size_t longest;
	int32_t least_credit; /* least credit that was left after any of these messages */
	struct v2_props first;
	bool differs;	/* a later message had other properties than .first */
	bool goes_on;	/* a value continued the TLS handshake */
	uint16_t fails; /* reason in the server's FAIL, or 0 */
	bool is_done;	/* the server is authenticated, and so is the negotiation */
};

/** prove_with - open a connection and do the handshake. Return: FAIL if the handshake failed.
 * (prove.c) */
enum verdict prove_with(struct run *r, struct prove *how);

/** prove_up - v2_up() with mutual host authentication. v2_up() does this if the command line has an
 * identity. (prove.c) */
enum verdict prove_up(struct run *r);

/** early_up - open a connection that speaks the early draft, and call NULL once. */
enum verdict early_up(struct run *r);

/** version_up - v1_up, v2_up or early_up. */
enum verdict version_up(struct run *r, unsigned version);

/** case_up - version_up() with the version of the current case. */
enum verdict case_up(struct run *r);

/** v2_negotiated - wait for all CONNPROP messages of the peer. */
enum verdict v2_negotiated(struct run *r);

/* --- messages out (script.c) --- */

/** msg_begin - begin a message of @type in @version (0: that of the connection) with a fresh
 * XID. */
void msg_begin(struct run *r, unsigned version, uint32_t type);

/** put - append words to the message. */
#define put(r, ...)                                                                                \
	put_words(r, (const uint32_t[]){__VA_ARGS__},                                              \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
void put_words(struct run *r, const uint32_t *words, size_t n);
void put_segment(struct run *r, const struct segment *s);
void put_octets(struct run *r, struct view v);

/** put_prop - append a property of one word. */
void put_prop(struct run *r, uint32_t id, uint32_t value);

/** put_five_props - append the five properties of this tool, without their count. */
void put_five_props(struct run *r);

/** put_props - append the count and the five properties of this tool. */
void put_props(struct run *r);

/** put_null - append a whole RPC call, the NULL of r->program, with r->xid. */
void put_null(struct run *r);

/** null_begin - begin a message without chunks, up to and including that call. */
void null_begin(struct run *r);

/** msg_send - send the message; in version 2 after waiting for a credit. */
enum verdict msg_send(struct run *r);

/** chunk - expose @len octets. */
enum verdict chunk(struct run *r, uint32_t len, unsigned access, struct segment *seg, uint8_t **at);

/** null_chunk - expose the NULL call with r->xid for the peer to read. */
enum verdict null_chunk(struct run *r, struct segment *seg);

/** call_begin - r->call, a well-formed call with a fresh XID, to be given chunks. */
void call_begin(struct run *r);

/** call_segment - append @seg to @c, a chunk of r->call. */
void call_segment(struct run *r, struct rpc_chunk *c, const struct segment *seg);

/** call_body_chunk - append @seg to the chunk that carries the whole call. */
void call_body_chunk(struct run *r, const struct segment *seg);

/** call_split - split the one segment of @c into two; the first has @at octets. */
void call_split(struct run *r, struct rpc_chunk *c, uint32_t at);

/** call_write_chunk, call_reply_chunk - expose @len octets and offer them in r->call. */
enum verdict call_write_chunk(struct run *r, uint32_t len, struct segment *seg, uint8_t **at);
enum verdict call_reply_chunk(struct run *r, uint32_t len, struct segment *seg);

/** call_send - send r->call: the header comes from the version's codec, then @body. If @body is
 * NULL: the NULL of r->program, unless a body chunk carries it. */
enum verdict call_send(struct run *r, const struct view *body);

/* --- messages in (expect.c) --- */

/** is_grant - whether @m is an RDMA2_GRANT on a version 2 connection. */
bool is_grant(const struct run *r, const struct wire_msg *m);

/** take_properties - merge a CONNPROP message before the peer's last one into r->props. Return:
 * whether @m is one. (run.c) */
bool take_properties(struct run *r, const struct wire_msg *m);

/** msg_next - wait for the next message. GRANTs are skipped, and properties that are still due. */
enum verdict msg_next(struct run *r, struct wire_msg *m);

/** msg_peek - wait up to @ms for a message other than a GRANT; the message stays the next one of
 * msg_next().
 * Return: 0, ERR_TIMEOUT, ERR_CLOSED. */
int msg_peek(struct run *r, unsigned ms) WARN_UNUSED;

/** msg_words - description of a message. */
const char *msg_words(const struct run *r, struct view in);

/** expect_reply - wait for an RPC reply to @xid (0: to any) and store it in r->reply; any other
 * message is a failure. */
enum verdict expect_reply(struct run *r, uint32_t xid);

/** expect_v1_error, expect_v2_error - wait for the report @err (0: any) about @xid, with the
 * version @version echoed (0: any). Its words are then in r->error. */
enum verdict expect_v1_error(struct run *r, uint32_t xid, uint32_t err);
enum verdict expect_v2_error(struct run *r, uint32_t xid, uint32_t version, uint32_t err);

/** expect_quiet - check that only GRANTs arrive for a while. */
enum verdict expect_quiet(struct run *r);

/** expect_reading - wait for a reply to @xid, and then read @served; or for a report of @err about
 * it, and then read @refused. Any other message is a failure. */
enum verdict expect_reading(struct run *r, uint32_t xid, uint32_t err, const char *of,
			    const char *served, const char *refused);

/** null_call - call NULL and wait for its reply. */
enum verdict null_call(struct run *r);

/** fence - check that the connection still works, and that nothing arrived that was not due. */
enum verdict fence(struct run *r);

/* --- rules that are watched (watch.c) --- */

/** watch_begin - begin flow control on a fresh connection. */
void watch_begin(struct run *r);

/** watch_observe - function for wire.observe. */
void watch_observe(void *arg, const struct wire_msg *m);

#endif
