/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H

#include "base/err.h"
#include "base/loop.h"
#include "rpc/late.h"
#include "rpc/msg.h"
#include "rpc/traits.h"

/**
 * The interface of a protocol version. A transport is the state machine of one connection. In:
 * octets received, and time. Out: decoded messages, headers to send, and wake-up times. It does no
 * I/O, reads no clock, draws no random number and allocates nothing after init, so it runs in a
 * unit test under virtual time. v1/conn.h, v2/conn.h and v2early/conn.h embed struct rpc_transport
 * as first member and provide an init function.
 *
 * Its user posts the Receives and Sends. Rules between the two:
 * - Every received message goes to recv() exactly once, in order.
 * - Before each Send of a message the user calls may_send(), then encode(), and posts at once, in
 *   the order encoded.
 * - Whenever it could send, the user first drains control().
 */

enum rpc_role { RPC_INITIATOR, RPC_ACCEPTOR };

/* Reverse-direction support of a peer; the numbers are those of draft-07 5.2.5. */
enum rpc_reverse { RPC_REV_NONE, RPC_REV_SIMPLE, RPC_REV_CONT, RPC_REV_GENL };

/** struct rpc_params - role and offers of this end. Sizes in octets. */
struct rpc_params {
	enum rpc_role role;
	uint32_t recv_bytes; /* size of each posted Receive, or of its first piece */
	uint32_t
		bulk_bytes; /* size of a Receive's second piece, for data that come with a Call; 0: none */
	/* .bulk_bytes of the peer, where the version cannot announce it */
	uint32_t peer_bulk_bytes;
	uint32_t
		transmissions; /* most Sends of one message of the round-trip extension; 0 counts as 1 */
	uint32_t send_bytes;	     /* largest message this end can send */
	uint32_t segment_bytes;	     /* largest segment handled (v2 property 3) */
	uint32_t segment_count;	     /* most segments in a header (v2 property 4) */
	uint32_t credits;	     /* Receives kept ready for the peer's payload messages */
	uint32_t rev_credits;	     /* v1: reverse-direction calls accepted at once */
	enum rpc_reverse reverse;    /* what this end can process (v2 property 5) */
	bool remote_inv;	     /* this end's handles may be invalidated remotely */
	uint8_t vers_low, vers_high; /* versions this end speaks, for ERR_VERS */
	uint32_t first_xid;	     /* v2: XID of the first CONNPROP (random, by the caller) */
	bool literal_credits;	     /* v2: rdma_credit read literally, protocol decision 1 (lab) */
	/* Where recv() puts decoded messages; borrowed, not NULL. Nothing is kept in it:
	 * connections of one thread may share it. */
	struct rpc_msg *msg;
};

/** struct rpc_limits - limits of the peer; they change when negotiation ends. */
struct rpc_limits {
	uint32_t send_bytes;	/* largest message that may be sent to it */
	uint32_t recv_bytes;	/* largest message it may send */
	uint32_t segment_bytes; /* largest segment to offer it; UINT32_MAX no limit */
	uint32_t segment_count; /* most segments to offer in one header */
	bool continuation;	/* messages may be continued over several Sends */
	/* Longest payload stream to continue, because the peer refused a longer one; UINT32_MAX:
	 * not known. */
	uint32_t continue_bytes;
	bool no_external;	  /* the peer refused calls whose payload stream is in a chunk */
	bool remote_inv;	  /* v1: peer set R: its handles may be invalidated */
	enum rpc_reverse reverse; /* what it can process in the reverse direction */
};

enum rpc_rx_kind {
	RPC_RX_NONE,  /* nothing for the user: a grant, properties, or dropped (counted) */
	RPC_RX_READY, /* negotiation finished: peer limits are final, messages may flow */
	RPC_RX_PART,  /* part of a continued message: .msg->body[0], .remaining octets follow */
	RPC_RX_MSG,   /* a message, or the last part of a continued one (.continued) */
	/* A message of the round-trip extension, of direction .group_dir and XID .xid: more Sends
	 * follow, and this one's Receive has to be kept. */
	RPC_RX_HELD,
	/* The last Send of a message whose earlier Sends were RPC_RX_HELD: call gather() with
	 * .remaining octets of memory to complete the message. */
	RPC_RX_GROUP,
	RPC_RX_ERROR, /* the peer reports .error about .xid */
	/* v2 initiator: the peer speaks only .error.a to .error.b. Start again on this connection
	 * with another version's transport. */
	RPC_RX_OTHER_VERSION,
};

/** struct rpc_rx - result of recv(). Views point into the received octets. */
struct rpc_rx {
	enum rpc_rx_kind kind;
	struct rpc_msg *msg; /* MSG, PART: the transport's scratch; the receiver may change it,
			      * it is valid until the next recv() */
	bool continued;	     /* MSG: its body follows the parts delivered before it */
	uint32_t remaining;  /* PART: octets of payload stream still to come, after this part */
	bool first;	     /* PART: begins a continued message */
	/* any kind: the message of several Sends in progress was given up: the user drops its
	 * parts */
	bool abandon;
	uint32_t xid; /* ERROR, HELD, GROUP: XID of the message, or that the report names */
	enum rpc_dir group_dir;
	/* ERROR: RPC_REPLY: about a call of this end; RPC_CALL: about a reply of this end.
	 * RPC_REPLY if the wire does not tell. */
	enum rpc_dir error_dir;
	struct rpc_error error; /* ERROR, OTHER_VERSION */
	bool doubtful; /* ERROR: it may be about a form of the call that was given up before */
	/* ERROR: a truncated answer names .xid. If a call with that XID waits, the user calls
	 * cut(). If not, the message has no effect. */
	bool cut;
	bool also; /* ERROR: the call .also_xid of this end fails, too, with RPC_ERROR_SYSTEM */
	uint32_t also_xid;
};

/* When a message of several Sends may begin. A message that has begun must go on to its end,
 * whatever credits the peer has: this end sends nothing between its parts, not even a grant. */
enum rpc_cover {
	/* At once. For one of the two ends only, because otherwise both may wait for the other's
	 * grant. */
	RPC_COVER_NONE,
	/* When the credits from the peer cover the whole message, or all credits that can be open
	 * are open. The message has no other form, so it waits. */
	RPC_COVER_WAIT,
	/* When the credits from the peer cover the whole message. Checked once: the message has
	 * another form, and does not wait. */
	RPC_COVER_NOW,
};

/** struct rpc_run - octets of data in one Send. */
struct rpc_run {
	/* number of zeros to send before the octets, from the rest of the buffer of the header */
	uint32_t gap;
	uint32_t item; /* index of the item in .placed of the message */
	uint32_t from, length;
};

/** struct rpc_octets - a message in its Receive. */
struct rpc_octets {
	struct view here, bulk; /* octets in the first piece, and in the second */
};

/* Error reports that wait for control(), and most of them that one received message causes. */
enum { RPC_REPORTS = 32, RPC_REPORTS_OF_ONE = 2 };

enum { RPC_MAX_TRANSMISSIONS = 16 }; /* most Sends of one message of the round-trip extension */

/* Most pieces of memory that a Send is made of: header, body, zeros, data. */
enum { RPC_MAX_PIECES = 8 };

/** struct rpc_tx - progress of one message through encode(). .body_sent and .transmission are
 * zero at first. */
struct rpc_tx {
	const struct rpc_msg *msg; /* borrowed until the last encode() */
	size_t body_sent;	   /* octets of the body that earlier Sends carried */
	bool reverse; /* travels in the reverse direction (calls of the acceptor, their replies) */
	enum rpc_cover cover;
	/* number of the next Send of a message that takes several Sends of the extension */
	uint32_t transmission;
	/* set by encode() if .msg has .placed: data that follow the body in this Send */
	struct rpc_run data[RPC_MAX_PLACED];
	unsigned ndata;
};

/** struct rpc_window - state of credits that are messages. */
struct rpc_window {
	uint32_t limit;	     /* total of messages that the peer lets this end send */
	bool is_open;	     /* one more may be sent */
	bool waits;	     /* a message of several Sends waits for more credits */
	bool is_peer_closed; /* the peer has used all credits it was granted */
	/* .is_peer_closed, and this end could send the peer more credits now, or withholds them */
	bool is_peer_kept;
	uint32_t promised; /* messages that the peer may still send; 0: not known */
};

/** struct rpc_counters - for logs and statistics; they never fall. */
struct rpc_counters {
	uint64_t sends, recvs; /* number of messages of all kinds */
	uint64_t dropped;      /* discarded in silence, as the documents ask */
	uint64_t errors_sent, errors_received;
	uint64_t grants_sent, grants_received;
	uint64_t invalid; /* messages answered with an error report */
	uint64_t late;	  /* answers to calls that were abandoned, discarded */
};

struct rpc_transport;

struct rpc_transport_ops {
	const char *name; /* "1", "2" */
	const struct rpc_traits *traits;

	/**
	 * recv - process one received message; sets all of @rx
	 *
	 * The user calls it only while rpc_has_report_room(), because any message may cause
	 * reports.
	 * Malformed input is not an error of this call: the report about it is queued for control()
	 * and .kind is RPC_RX_NONE.
	 * Return: 0; or an ERR_CLASS_PEER code when the connection must be closed (credits overrun,
	 *         negotiation broken).
	 */
	int (*recv)(struct rpc_transport *t, struct view in, struct rpc_rx *rx);

	/**
	 * arrive - account for a message that recv() will be given later; may be NULL
	 *
	 * For a user that must let messages wait: their credits count at once, because otherwise
	 * two ends that both wait for memory could wait for each other. All messages given to
	 * arrive() and not yet to recv() go to recv() in the same order. Exception: a message for
	 * which arrive() returned 1 (a grant) may go before the others.
	 * Return: 0, 1, or as recv().
	 */
	int (*arrive)(struct rpc_transport *t, struct view in);

	/**
	 * gather - complete a message after RPC_RX_GROUP. The user has added the last Send to .held
	 * of the transport
	 * @block: memory of .remaining octets; NULL if that is 0
	 * @from, @to: range of @block to fill now; the copy may be done in steps, because it may be
	 *             long
	 *
	 * Copies what is in the other Receives; after that only the first Receive is needed. NULL
	 * if the version has no such messages.
	 */
	void (*gather)(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to);

	/**
	 * again - decode once more, to the same place, a call that recv() returned whole, or the
	 * last part of one
	 *
	 * No state changes. @in: its octets, perhaps a copy of them; @gathered: the result of
	 * gather(), otherwise empty.
	 */
	void (*again)(const struct rpc_transport *t, struct view in, struct view gathered);

	/** may_send - whether the next Send of @tx has its credit now. */
	bool (*may_send)(const struct rpc_transport *t, const struct rpc_tx *tx);

	/**
	 * encode - build the next Send of @tx
	 * @hdr, @cap: where the transport header goes
	 * @hdr_len:   its length
	 * @body_len:  octets of @tx->msg's body, from body_sent on, that follow it in this Send
	 *
	 * Advances @tx->body_sent and takes the credit.
	 * Return: 0: this is the last Send of the message; 1: more follow;
	 * ERR_AGAIN: no credit, or not enough (then call control() once more);
	 * ERR_TOOBIG: the message cannot be expressed (too long and no continuation), or the
	 * credits that its .cover wants will not come;
	 * ERR_NOSPACE: @cap is too small. On error nothing was sent.
	 */
	int (*encode)(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		      size_t *hdr_len, size_t *body_len);

	/**
	 * header_len - octets of the header of @msg's only or last Send; no state changes
	 *
	 * The re-chunking plan uses it to find out if the message fits inline.
	 */
	size_t (*header_len)(const struct rpc_transport *t, const struct rpc_msg *msg);

	/**
	 * places - whether @msg can go to this peer in the form of the round-trip extension, as
	 * credits are now
	 *
	 * That is a call whose data are placed, or that has wishes for the data of its reply; or a
	 * reply to such a call. NULL: this version has no such form.
	 */
	bool (*places)(const struct rpc_transport *t, const struct rpc_msg *msg);

	/** answers - whether @reply, received with .is_response, is a valid answer to @call as
	 * it was sent; NULL if .places is. */
	bool (*answers)(const struct rpc_msg *call, const struct rpc_msg *reply);

	/**
	 * control - the next message of the transport's own (properties, grant, error report)
	 *
	 * Return: its length, 0 when there is none or no credit for it, ERR_NOSPACE.
	 */
	int (*control)(struct rpc_transport *t, uint8_t *buf, size_t cap);

	/**
	 * report - queue an error report about the peer's message @xid
	 * @dir: direction of the message it answers (RPC_CALL normally)
	 *
	 * The report becomes one that the version has. Return: 0, or ERR_NOSPACE if RPC_REPORTS
	 * wait.
	 */
	int (*report)(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		      const struct rpc_error *e);

	/** set_credits - the user keeps @credits Receives posted for the peer from now on; @credits
	 * is at most the number posted. */
	void (*set_credits)(struct rpc_transport *t, uint32_t credits);

	/** call_credits - number of calls that the peer lets this end have in flight: forward calls
	 * of an initiator, reverse calls of an acceptor. The gateway may grant its other peer as
	 * many. */
	uint32_t (*call_credits)(const struct rpc_transport *t);

	/**
	 * sends - number of Sends that a message may take: with the credits there are now (@most
	 * false), or if the message may wait for credits (@most true). NULL if the version does
	 * not continue messages
	 */
	uint32_t (*sends)(const struct rpc_transport *t, bool most);

	/** window - fill @w with the state of credits; NULL if credits are calls in flight. */
	void (*window)(const struct rpc_transport *t, struct rpc_window *w);

	/** unsent - a message was withdrawn before it was sent, perhaps after encode() returned
	 * ERR_AGAIN; may be NULL. */
	void (*unsent)(struct rpc_transport *t);

	/** no_more - a message waits for credits, and the peer will grant no more; NULL if none
	 * can wait. */
	void (*no_more)(struct rpc_transport *t);

	/**
	 * forget - a call of this end, @xid, is abandoned: no answer is awaited any more
	 *
	 * In version 1 the call keeps its credit until it is answered. A later answer is dropped
	 * and counted (.count.late), as long as .late of the transport has the call.
	 */
	void (*forget)(struct rpc_transport *t, uint32_t xid);

	/** cut - the call @xid of this end, which waits for an answer, got a truncated one (.cut of
	 * struct rpc_rx): its credit is free. NULL if the version never sets .cut. */
	void (*cut)(struct rpc_transport *t, uint32_t xid);

	/**
	 * settle - the time for optional messages of the peer (properties) is over; may be NULL
	 *
	 * Return: whether messages may flow now, with defaults for all values not announced: the
	 *         peer spoke this version.
	 */
	bool (*settle)(struct rpc_transport *t);

	/** unanswered - this end has abandoned a call of the peer: it sends neither a reply nor an
	 * error report. */
	void (*unanswered)(struct rpc_transport *t);
};

struct rpc_transport {
	const struct rpc_transport_ops *ops;
	unsigned version;
	struct rpc_params own;
	struct rpc_limits peer;
	bool ready;	   /* negotiation done; always so for version 1 */
	unsigned nreports; /* error reports that wait for control() */
	/* set before recv() and again(): octets of the message in the second piece of its
	 * Receive */
	struct view bulk;
	/* Set before recv() and gather(): the earlier Sends of the message of several Sends that is
	 * in progress. */
	const struct rpc_octets *held;
	unsigned nheld;
	/*
	 * For versions whose credits are calls in flight. .spare: posted Receives that no call has
	 * reserved, without the one for the reply of the next call; the user sets it before
	 * encode() of a call. .kept: Receives that calls have reserved for their replies, beyond
	 * one each.
	 */
	uint32_t spare, kept;
	/* Set before control(): calls of this end wait for replies of the peer, and no reply of this
	 * end is queued. */
	bool needs_replies;
	struct rpc_counters count;
	struct rpc_late late; /* calls abandoned by forget() */
};

/** rpc_has_report_room - whether the reports that one more message may cause find room. */
static inline bool rpc_has_report_room(const struct rpc_transport *t)
{
	return t->nreports <= RPC_REPORTS - RPC_REPORTS_OF_ONE;
}

#endif
