/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H

#include "base/err.h"
#include "base/loop.h"
#include "rpc/late.h"
#include "rpc/msg.h"
#include "rpc/traits.h"

/**
 * The one interface behind which a protocol version lives. A transport is the
 * state machine of one connection: octets received and time in; decoded
 * messages, headers to send and wake-up times out. It does no I/O, reads no
 * clock, draws no random number and allocates nothing after init, so it runs in
 * a unit test under virtual time. v1/conn.h and v2/conn.h embed struct
 * rpc_transport as first member and provide an init function.
 *
 * Its user posts the Receives and Sends. Rules between the two:
 * - every received message goes to recv() exactly once, in order;
 * - before each Send of a message the user asks may_send(), then encode()s and
 *   posts at once, in the order encoded;
 * - whenever it could send, the user first drains control().
 */

enum rpc_role { RPC_INITIATOR, RPC_ACCEPTOR };

/* Reverse-direction support of a peer; the numbers are those of draft-07 5.2.5. */
enum rpc_reverse { RPC_REV_NONE, RPC_REV_SIMPLE, RPC_REV_CONT, RPC_REV_GENL };

/** struct rpc_params - what this end is and offers. Sizes in octets. */
struct rpc_params {
	enum rpc_role role;
	uint32_t recv_bytes;	  /* size of each posted Receive, or of its first piece */
	uint32_t bulk_bytes;	  /* of its second one, for data that come with a Call; 0: none */
	uint32_t peer_bulk_bytes; /* the same of the peer, where it cannot say so itself */
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
	struct rpc_msg
		*msg; /* where recv() puts what it hands up; borrowed, not NULL. Nothing is kept
			      * in it: connections of one thread may have the same. */
};

/** struct rpc_limits - what the peer is known to take; changes when negotiation ends. */
struct rpc_limits {
	uint32_t send_bytes;	  /* largest message that may be sent to it */
	uint32_t recv_bytes;	  /* largest message it may send */
	uint32_t segment_bytes;	  /* largest segment to offer it; UINT32_MAX no limit */
	uint32_t segment_count;	  /* most segments to offer in one header */
	bool continuation;	  /* messages may be continued over several Sends */
	uint32_t continue_bytes;  /* longest payload stream to continue: it refused a longer one;
				   * UINT32_MAX not known */
	bool no_external;	  /* it refused calls whose payload stream is in a chunk */
	bool remote_inv;	  /* v1: peer set R: its handles may be invalidated */
	enum rpc_reverse reverse; /* what it can process in the reverse direction */
};

enum rpc_rx_kind {
	RPC_RX_NONE,  /* absorbed: a grant, properties, or dropped (counted) */
	RPC_RX_READY, /* negotiation finished: peer limits are final, messages may flow */
	RPC_RX_PART,  /* part of a continued message: .msg->body[0], .remaining octets follow */
	RPC_RX_MSG,   /* a message, or the last part of a continued one (.continued) */
	RPC_RX_HELD, /* of a message of the round-trip extension, of direction .group_dir and about .xid, more Sends follow: this
		      * one's Receive is kept */
	RPC_RX_GROUP, /* the last of these: gather() is to be given .remaining octets of memory, and makes it a message */
	RPC_RX_ERROR,	      /* the peer reports .error about .xid */
	RPC_RX_OTHER_VERSION, /* v2 initiator: the peer speaks only .error.a to .error.b; begin
			       * anew on this connection with another version's transport */
};

/** struct rpc_rx - result of recv(). Views point into the received octets. */
struct rpc_rx {
	enum rpc_rx_kind kind;
	struct rpc_msg *msg; /* MSG, PART: the transport's scratch; the receiver may change it,
			      * it is valid until the next recv() */
	bool continued;	     /* MSG: its body follows the parts delivered before it */
	uint32_t remaining;  /* PART: octets of payload stream still to come, after this part */
	bool first;	     /* PART: begins a continued message */
	bool abandon; /* any kind: a message of several Sends in progress was given up; drop its parts */
	uint32_t xid; /* ERROR, HELD, GROUP */
	enum rpc_dir group_dir;
	enum rpc_dir error_dir; /* ERROR: RPC_REPLY - about a call of ours; RPC_CALL - about a reply
				 * of ours. When the wire does not say: RPC_REPLY */
	struct rpc_error error; /* ERROR, OTHER_VERSION */
	bool doubtful; /* ERROR: it may be about a form of the call that was given up before */
	bool cut; /* ERROR: an answer that ends early names .xid, of which the user knows whether it
			* is that of a call that waits: if so it calls cut(), else nothing happened */
	bool also; /* ERROR: the call .also_xid of ours is lost as well: SYSTEM */
	uint32_t also_xid;
};

/* When a message of several Sends may begin. What has begun must go on to its end, whatever the
 * peer's credits: nothing of this end comes between its parts, not even a grant. */
enum rpc_cover {
	RPC_COVER_NONE, /* at once: only for one of two ends, or both may wait for the other's grant */
	RPC_COVER_WAIT, /* when the peer's credits cover it whole, or as far as they are sure to come
			 * back by themselves: there is no other way for it */
	RPC_COVER_NOW,	/* the same, at its turn or never: there is another way for it */
};

/** struct rpc_run - octets of data in one Send. */
struct rpc_run {
	uint32_t
		gap; /* zeros to send before them, in pieces as long as what the header leaves of its buffer */
	uint32_t item; /* of .placed */
	uint32_t from, length;
};

/** struct rpc_octets - a message as it lies in its Receive. */
struct rpc_octets {
	struct view here, behind; /* in the first piece, in the second */
};

enum { RPC_MAX_TRANSMISSIONS = 16 }; /* of one message of the round-trip extension */

/* Most pieces of memory that a Send is made of: header, body, zeros, data. */
enum { RPC_MAX_PIECES = 8 };

/** struct rpc_tx - progress of one message through encode(); zero body_sent and transmission to begin. */
struct rpc_tx {
	const struct rpc_msg *msg; /* borrowed until the last encode() */
	size_t body_sent;	   /* octets of body that earlier Sends carried */
	bool reverse; /* travels in the reverse direction (calls of the acceptor, their replies) */
	enum rpc_cover cover;
	uint32_t
		transmission; /* number of the next Send, where the message takes several of the extension */
	struct rpc_run
		data[RPC_MAX_PLACED]; /* set by encode(), where .msg has .placed: what follows
					      * the body in this Send */
	unsigned ndata;
};

/** struct rpc_window - how credits stand that are messages. */
struct rpc_window {
	uint32_t limit;	     /* count of messages up to which the peer lets this end send */
	bool is_open;	     /* one more may be sent */
	bool waits;	     /* a message of several Sends waits for more than there are */
	bool is_peer_closed; /* the peer has used all that it was granted */
	bool is_peer_kept; /* ... and that is this end's doing: the peer lets itself be granted more */
};

/** struct rpc_counters - for logs and statistics; only ever rise. */
struct rpc_counters {
	uint64_t sends, recvs; /* messages, all kinds */
	uint64_t dropped;      /* discarded in silence, as the documents ask */
	uint64_t errors_sent, errors_received;
	uint64_t grants_sent, grants_received;
	uint64_t invalid; /* messages answered with an error report */
	uint64_t late;	  /* answers to calls that were let go, discarded */
};

struct rpc_transport;

struct rpc_transport_ops {
	const char *name; /* "1", "2" */
	const struct rpc_traits *traits;

	/**
	 * recv - one received message; sets all of @rx
	 *
	 * Malformed input is not an error of this call: the report it draws is
	 * queued for control() and .kind is RPC_RX_NONE.
	 * Return: 0; or an ERR_CLASS_PEER code when the connection must be closed
	 * (credits overrun, error queue overrun, negotiation broken).
	 */
	int (*recv)(struct rpc_transport *t, struct view in, struct rpc_rx *rx);

	/**
	 * arrive - account for a message that recv() will be given later; may be NULL
	 *
	 * For a user that must keep messages waiting: what they say of credits counts at
	 * once, or two ends that both wait for memory could wait for each other. All
	 * that arrive() has seen and recv() has not come to recv() in the same order,
	 * but one for which it returned 1 (a grant): that may come before the others.
	 * Return: 0, 1, or as recv().
	 */
	int (*arrive)(struct rpc_transport *t, struct view in);

	/**
	 * gather - after RPC_RX_GROUP, with .held of the transport as it was then and the last Send behind those
	 * @block: so many octets as were asked for; NULL for none
	 * @from, @to: of these, filled now: some at a time, for that is a copy, and may be long
	 *
	 * What lies in others than the first of these Receives is copied there; after that only the first is needed.
	 * NULL where there are no such messages.
	 */
	void (*gather)(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to);

	/** again - decode a call that recv() gave whole, or the last part of one, once more, to the same
	 * place: nothing else changes. @in: its octets, perhaps a copy of them; @gathered: what gather() had put
	 * together, else empty. */
	void (*again)(const struct rpc_transport *t, struct view in, struct view gathered);

	/** may_send - whether the next Send of @tx has its credit now. */
	bool (*may_send)(const struct rpc_transport *t, const struct rpc_tx *tx);

	/**
	 * encode - the next Send of @tx
	 * @hdr, @cap: where the transport header goes
	 * @hdr_len:   its length
	 * @body_len:  octets of @tx->msg's body, from body_sent on, that follow it in this Send
	 *
	 * Advances @tx->body_sent and takes the credit.
	 * Return: 0 when this is the last Send of the message; 1 when more follow;
	 * ERR_AGAIN without credit, or without enough of it (then control() is to be asked
	 * once more); ERR_TOOBIG when the message cannot be
	 * expressed (too long and no continuation), or its .cover will not come;
	 * ERR_NOSPACE when @cap is too small. On error nothing was sent.
	 */
	int (*encode)(struct rpc_transport *t, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
		      size_t *hdr_len, size_t *body_len);

	/**
	 * header_len - octets the header of @msg's only or last Send would take, no state
	 * changed: what the re-chunking plan needs to know if it fits inline.
	 */
	size_t (*header_len)(const struct rpc_transport *t, const struct rpc_msg *msg);

	/**
	 * places - whether @msg goes to this peer so, as credits are now: a call whose data are placed, or that says
	 * what it wishes for those of its reply; or a reply to such a call. NULL: this version has nothing of
	 * the kind.
	 */
	bool (*places)(const struct rpc_transport *t, const struct rpc_msg *msg);

	/** answers - whether @reply, received with .is_response, is what @call, as it was sent, can be answered
	 * with; NULL where places is. */
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
	 * Maps to what the version can say. Return: 0 or ERR_NOSPACE (queue full: close).
	 */
	int (*report)(struct rpc_transport *t, uint32_t xid, enum rpc_dir dir,
		      const struct rpc_error *e);

	/** set_credits - keep @credits Receives for the peer from now on; not above
	 * the number really posted. */
	void (*set_credits)(struct rpc_transport *t, uint32_t credits);

	/** call_credits - forward calls (initiator) or reverse calls (acceptor) the peer
	 * lets us have in flight altogether; what may be promised onward. */
	uint32_t (*call_credits)(const struct rpc_transport *t);

	/**
	 * sends - Sends that a message may take now (@most false), or if it may wait for credits;
	 * NULL where messages are not continued
	 */
	uint32_t (*sends)(const struct rpc_transport *t, bool most);

	/** window - how credits stand; NULL where they are calls in flight. */
	void (*window)(const struct rpc_transport *t, struct rpc_window *w);

	/** unsent - a message was taken back, perhaps one that encode() had ERR_AGAIN for; may be NULL. */
	void (*unsent)(struct rpc_transport *t);

	/** no_more - the peer says no more of credits, though a message waits for them: there are
	 * no others; NULL where none can wait. */
	void (*no_more)(struct rpc_transport *t);

	/**
	 * forget - a call of ours, @xid, is let go without an answer
	 *
	 * In version 1 it keeps its credit until it is answered. An answer that comes after all is
	 * dropped and counted (.late), as long as .late of the transport knows the call.
	 */
	void (*forget)(struct rpc_transport *t, uint32_t xid);

	/** cut - the call @xid of ours, which waits, has no answer but one that ends early (.cut of recv()): its
	 * credit is free. NULL where no message is reported so. */
	void (*cut)(struct rpc_transport *t, uint32_t xid);

	/**
	 * settle - enough was waited for what a peer may leave unsaid; may be NULL
	 *
	 * Return: whether messages may flow now, with the defaults for all that was not said:
	 * the peer spoke this version.
	 */
	bool (*settle)(struct rpc_transport *t);

	/** unanswered - a call of the peer's was let go: it gets neither a reply nor a report. */
	void (*unanswered)(struct rpc_transport *t);
};

struct rpc_transport {
	const struct rpc_transport_ops *ops;
	unsigned version;
	struct rpc_params own;
	struct rpc_limits peer;
	bool ready;	    /* negotiation done; always so for version 1 */
	struct view behind; /* set before recv() and again(): what of the message lies in the second
			     * piece of its Receive */
	/* Set before recv() and gather(): the earlier Sends of the message of several that is under way. */
	const struct rpc_octets *held;
	unsigned nheld;
	/* Receives, where credits are calls in flight: how many are posted that nothing is kept for, set before encode() of a
	 * call, beside the one for its reply; and how many more than one calls keep for their replies. */
	uint32_t spare, kept;
	struct rpc_counters count;
	struct rpc_late late; /* calls that forget() was told of */
};

#endif
