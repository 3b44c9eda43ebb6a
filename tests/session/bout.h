/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_BOUT_H
#define TESTS_SESSION_BOUT_H

#include "fabric/mem/mem.h"
#include "tests/rng.h"
#include "tests/session/stranger.h"
#include "xdr/cursor.h"

/**
 * bout - a client and a server that share the truth about each call between them
 *
 * Both ends use chunks in every order that the documents allow: several Write chunks at once, Writes
 * in pieces, out of order, over each other, beyond what is reported. If the bout is foul, they also
 * break rules (enum foul). struct ask has for each octet of each Write chunk what the responder wrote
 * there for this call. So each octet that the gateway writes to the requester is compared with that
 * at the moment at which it arrives.
 */

enum {
	ASKS = 12,
	ASKS_BACK = 3,
	ASK_ALL = ASKS + ASKS_BACK,
	ASK_ITEMS = 4,
	ASK_CHUNKS = 6,
	ASK_ROOM = ASK_CHUNKS, /* index of the Reply chunk */
	ASK_PIECES = 5,
	ASK_STREAM = 96 << 10, /* most octets of a call, and of a reply */
	ASK_SLOT = 512 << 10,  /* memory of a call at its requester */
	ASK_LARGE = 128 << 10,
	ROOM_MOST = 16 << 10, /* most octets of a Reply chunk that are used */
	DUTIES = 80,
	DUTY_BYTES = 768 << 10, /* memory of a call at its responder */
	DUTY_JOBS = 96,
	DUTY_FETCHES = 32,
	GENS = 4, /* contents that one octet of a Write chunk can be given */
	VIRGIN = 0xe1,
	PARTY_BUFFER = 16384,
	PARTY_RECVS = 72,
	PARTY_SENDS = 160,
};

/* Rules that are broken. */
enum foul {
	FAIR,
	TOLD_MORE,    /* a reply reports more than was written */
	WRITE_BEYOND, /* a Write outside of what was offered */
	WRITE_AFTER,  /* a Write after the reply */
	READ_AFTER,   /* a Read after the reply */
	READ_BEYOND,  /* a Read outside of what was offered */
	REPLY_TWICE,
	REPLY_OTHER,   /* a reply to a call that never was */
	INV_OTHER,     /* a reply invalidates a handle of another call */
	INV_GRANT,     /* a message that is no reply invalidates */
	MORE_CHUNKS,   /* a reply has one Write chunk more than was offered */
	NO_ROOM,       /* a reply comes in a Reply chunk that was not offered */
	WRITE_TO_READ, /* a Write to a Read chunk */
	READ_OF_WRITE, /* a Read of a Write chunk */
	REFUSE_LATE,   /* a form is refused although Writes were made */
	HANG_UP,       /* the connection is cut */
	TAKE_AWAY,     /* the requester withdraws a part of a chunk */
	SAME_XID,
	BAD_HANDLE, /* a Write chunk has a handle that does not exist */
	FOULS,
};

/* Calls that the gateway has to refuse; they cost no session. */
enum malformed {
	WELL_FORMED,
	POSITION_INSIDE,
	POSITION_BEHIND,
	POSITION_ODD,
	POSITION_LOW,
	WRITES_WRAP,
	READS_WRAP,
	ROOM_WRAPS,
	FALSE_COUNT,
	POSITION_AGAIN,
	MALFORMED,
};

enum ask_stage { ASK_IDLE, ASK_SENT, ASK_HEARD, ASK_ANSWERED, ASK_ENDS };

/** struct part - memory of the requester, in pieces. */
struct part {
	uint32_t cap;
	unsigned n;
	uint8_t *at[ASK_PIECES];
	bool exposed[ASK_PIECES];
	struct segment segs[ASK_PIECES];
	/* Write and Reply chunks, for each octet: bits 0 to 3: it was given this content; from bit 4
	 * on: 1 + the last content since the call was formed. */
	uint8_t *seen;
	uint32_t told; /* octets that the reply reports */
};

struct ask {
	enum ask_stage stage;
	struct bout *bout;
	bool reverse, is_long, is_continued;
	enum malformed malformed;
	uint32_t xid, inv_handle;
	uint8_t *call, *reply; /* ASK_STREAM each; .call is not reduced */
	uint8_t *marks;	       /* ASK_SLOT, for .seen */
	uint8_t *room_marks;   /* ROOM_MOST, for .seen of the Reply chunk */
	uint32_t call_len, reply_len;
	unsigned nitems, nwrites;
	struct {
		uint32_t at, len;
	} items[ASK_ITEMS];
	struct part body, reads[ASK_ITEMS], writes[ASK_CHUNKS + 1];
	unsigned fences;
	bool refused;  /* the responder answered with an error */
	bool may_fail; /* the requester may get an error */
	bool is_foul;  /* lengths of the reply are false */
	bool is_late;  /* Writes were made after the reply */
	bool by_room;  /* the reply was in the Reply chunk */
	nsec_t began;
};

struct stroke {
	unsigned chunk, gen;
	uint32_t from, len;
};

struct fetch {
	const uint8_t *at, *want;
	uint32_t len;
};

struct duty {
	bool busy, answered, failed;
	struct ask *ask;
	struct wire in;
	unsigned njobs, at, nfetches, ops, reads;
	struct stroke jobs[DUTY_JOBS];
	struct fetch fetches[DUTY_FETCHES];
	uint8_t *memory;
	uint32_t used;
	bool in_room, refuses;
	uint32_t xid;
	nsec_t due;
	struct wire_chunk *to[ASK_CHUNKS + 1]; /* what was offered; NULL: not offered */
};

struct party {
	struct fabric *fabric;
	struct fabric_conn *conn;
	struct rng *rng;
	struct bout *bout;
	bool is_server, connected, closed, ready, sets_r, peer_r, pads_reads, slow;
	unsigned version;
	uint32_t inline_bytes, credits, peer_takes;
	uint8_t *memory;
	struct duty duties[DUTIES];
	unsigned nqueue;
	struct {
		uint8_t *at;
		uint32_t len, inv_handle;
	} queue[PARTY_SENDS];
	bool busy_sends[PARTY_SENDS];
	unsigned next_send;
	uint32_t in_flight, granted;
	uint32_t sent, received, limit, told;
	uint8_t *parts;
	uint32_t parts_len;
	struct wire parts_head;
	int status;
	const char *why;
};

/** struct bout - see above. */
struct bout {
	struct party client, server;
	struct ask asks[ASK_ALL]; /* the last ASKS_BACK are the server's */
	unsigned index;
	bool is_foul, has_timeout, no_written, warm;
	bool is_heavy;	 /* most results are large */
	bool is_choosy;	 /* the server has refused forms of calls */
	enum foul last;	 /* the last rule broken; FAIR: none */
	enum foul plan;	 /* the rule that is broken */
	unsigned budget; /* how often it may still be broken */
	uint32_t next_xid;
	uint64_t made, rmade, done, rdone, errors, replies, writes, fouls[FOULS];
};

/** struct bout_place - the network of the bouts. */
struct bout_place {
	nsec_t (*now)(void);
	struct fabric *(*fabric)(void);
};

extern struct bout_place bout_place;

static inline bool chance(struct rng *r, unsigned of)
{
	return rng_below(r, of) == 0;
}

static inline uint32_t pad_of(uint32_t len)
{
	return -len & 3;
}

/** ask_octet - content @gen of octet @at of the chunk. */
uint8_t ask_octet(const struct ask *a, unsigned chunk, uint32_t at, unsigned gen);

/** ask_octets - the same for @len octets from @at on. */
void ask_octets(const struct ask *a, unsigned chunk, uint32_t at, uint32_t len, unsigned gen,
		uint8_t *out);

/** ask_is_allowed - whether @octet may be at @at of the chunk. */
bool ask_is_allowed(const struct ask *a, unsigned chunk, uint32_t at, uint8_t octet);

/* bout.c */
void bout_begin(struct bout *b, unsigned index, unsigned cv, unsigned sv, struct rng *r);
void bout_connect(struct bout *b, const struct fabric_addr *to);
void bout_end(struct bout *b);
void party_turn(struct party *p);
nsec_t party_due(const struct party *p);
void party_hang_up(struct party *p);

/** bout_may_foul - whether @foul is broken now, by chance; counted if so. */
bool bout_may_foul(struct bout *b, enum foul foul, unsigned of);

/** bout_moved - octets arrived at the requester by RDMA Write. */
void bout_moved(struct bout *b, struct party *p, const uint8_t *octets, uint32_t len);

struct xdr_out party_begin(struct party *p, uint32_t xid, uint32_t type);
void party_send(struct party *p, const struct xdr_out *x, uint32_t inv_handle);
void party_drop(struct party *p, const struct xdr_out *x);
void party_say(struct party *p, struct xdr_out *x, uint32_t xid, bool is_call,
	       const uint8_t *stream, uint32_t len, uint32_t inv_handle);
bool party_has_room(const struct party *p);

/* bout_ask.c */
bool party_ask(struct party *p);
void party_foul(struct party *p);
void party_take_reply(struct party *p, const struct wire *w, struct view stream,
		      uint32_t invalidated);
void party_take_error(struct party *p, const struct wire *w);
struct ask *bout_ask(struct bout *b, uint32_t xid, bool reverse);
struct ask *ask_range(struct party *p, unsigned *n);
uint8_t *ask_memory(const struct party *p, const struct ask *a);
void ask_fenced(struct ask *a);

/* bout_serve.c */
void party_serve(struct party *p, const struct wire *w, struct view stream);
void party_duties(struct party *p);

#endif
