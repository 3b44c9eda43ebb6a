/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_ROGUE_H
#define TESTS_ISOLATION_ROGUE_H

#include "fabric/fabric.h"
#include "rpc/msg.h"
#include "v2/message.h"
#include "tests/isolation/mark.h"
#include "tests/rng.h"

/**
 * rogue - a client or a server that breaks the rules, one connection at a time
 *
 * Its behaviour is random: which misdeeds it knows, how often, in which order, several at once.
 * Between misdeeds it follows the protocol, so that it gets far enough to do harm. All payload it
 * sends has its session's mark. A server learns its mark from the first call.
 */

enum {
	ROGUE_CALLS = 8,
	ROGUE_STALE = 16,    /* handles of finished calls */
	ROGUE_BUFFER = 4096, /* octets of a message */
	ROGUE_RECVS = 48,    /* posted */
	ROGUE_WINDOW = ROGUE_RECVS - 8,
	ROGUE_GRANT_V1 = 8,
	ROGUE_SENDS = 32,      /* Sends in flight */
	ROGUE_SINKS = 8,       /* RDMA Reads in flight */
	ROGUE_SINK = 16384,    /* octets each */
	ROGUE_PLAIN = 1 << 17, /* octets with only the mark, the source of Writes and Reads */
	ROGUE_BODY = 1 << 14,  /* a body by chunk */
	ROGUE_BYTES = (ROGUE_RECVS + ROGUE_SENDS) * ROGUE_BUFFER + ROGUE_SINKS * ROGUE_SINK +
		      ROGUE_PLAIN + ROGUE_CALLS * ROGUE_BODY,
	ROGUE_DUMP = 1 << 24, /* octets; results of all clients go there and are not checked */
};

/** Misdeeds that a rogue may know, as bits; which of them it knows is drawn. */
enum misdeed {
	MISDEED_FALSE_LENGTH = 1 << 0,	/* a reply with lengths that were not written */
	MISDEED_PARTIAL_WRITE = 1 << 1, /* Writes of parts, in any order */
	MISDEED_INVALIDATE = 1 << 2,	/* a message invalidates a handle that it must not */
	MISDEED_AFTERWARDS = 1 << 3,	/* RDMA with handles of finished calls */
	MISDEED_WRONG_XID = 1 << 4,	/* replies without a call, calls sent twice */
	MISDEED_PARTS = 1 << 5,		/* continued messages that stop, drip, interleave */
	MISDEED_GREED = 1 << 6,		/* large chunks */
	MISDEED_HANG = 1 << 7,		/* never replies, never sends an RDMA Read */
	MISDEED_OVERRUN = 1 << 8,	/* more messages than granted, RDMA beyond bounds */
	MISDEED_LEAVE = 1 << 9,		/* disconnects or disappears at any time */
	MISDEED_REPLY_CHUNK = 1 << 10,	/* a Reply chunk that was not offered */
	MISDEED_CONTROL = 1 << 11,	/* GRANTs and ERRORs in between */
	MISDEED_GARBAGE = 1 << 12,	/* messages with random contents */
	MISDEED_REVERSE = 1 << 13,	/* calls from servers */
	MISDEED_SLOW = 1 << 14,		/* silence before the first message */
	MISDEED_ANY_ORDER = 1 << 15,	/* not a breach: whole chunks, last piece first */
	MISDEED_BEHIND = 1 << 16,	/* RDMA and handles of answered calls, in the same flush */
	MISDEED_FOREIGN = 1 << 17,	/* handles that were sent to other peers */
	/* Faults of streams, in octets (pipe.h); not on fabric/mem. */
	MISDEED_CUT = 1 << 18,	    /* the end of an FPDU comes much later than the rest */
	MISDEED_DRIP = 1 << 19,	    /* one octet at a time */
	MISDEED_GATHER = 1 << 20,   /* nothing for a while, then everything in one flush */
	MISDEED_ANY_FPDU = 1 << 21, /* tagged FPDUs in another order, some missing */
	/* a Terminate in mid-message, a wrong CRC, an FPDU twice, another header */
	MISDEED_BREAK = 1 << 22,
	/* A Write behind its reply, whose last octet arrives after other calls. */
	MISDEED_LATE = 1 << 23,
	MISDEED_EXTENDED = 1 << 24, /* the round-trip extension, valid and invalid */
	MISDEEDS = (1 << 25) - 1,
};

/** struct rogue_heard - handles that rogue servers got; they exchange them. */
struct rogue_heard {
	struct segment segs[64];
	unsigned n;
};

/** struct rogue_call - client: a call made; server: a call to be answered. */
struct rogue_call {
	bool used;
	unsigned writing; /* server: Writes in flight from the memory of its body */
	struct rpc_msg m; /* without the body */
};

struct rogue {
	struct fabric *fabric;
	const struct fabric_addr *to; /* client: where it connects */
	struct fabric_conn *conn;     /* NULL: none */
	bool server, connected;
	unsigned mark, fresh_mark; /* marks of this connection, and of the next one (client) */
	unsigned version, wants;   /* the version spoken; server: the version it wants */
	unsigned allowed, knows;   /* enum misdeed: allowed by the test; known on this connection */
	unsigned often;		   /* one act in that many is a misdeed */
	bool patient;		   /* sends nothing between the parts of its continued messages */
	struct rng *rng;
	nsec_t (*now)(void *clock);
	void *clock;
	void (*delay)(struct fabric_conn *conn); /* net.h; NULL: not on this net */
	uint8_t *memory, *dump;
	uint32_t received, sent, granted, in_flight; /* numbers of messages; .in_flight: calls */
	uint32_t granted_received;		     /* .received when it last granted */
	unsigned sends_out, reads_out;
	uint64_t nsends, nreads;
	uint32_t next_xid;
	struct rogue_call calls[ROGUE_CALLS];
	struct rogue_heard *heard; /* borrowed; NULL: servers exchange nothing */
	struct segment stale[ROGUE_STALE];
	unsigned nstale;
	uint32_t part_xid, part_left; /* of a continued message that is being sent */
	bool part_begun;
	nsec_t drip_at, connect_at, speak_at;
	bool rcalls[2]; /* client: calls of the server that it must answer */
	uint32_t rcall_xid[2];
	uint64_t connects, acts;
};

/** rogue_init - @memory: ROGUE_BYTES for this rogue; @dump: ROGUE_DUMP for all rogues; both
 * registered. */
void rogue_init(struct rogue *r, struct fabric *fabric, const struct fabric_addr *to,
		struct rng *rng, uint8_t *memory, uint8_t *dump);

/** rogue_event - handle an event of its connection, or a connection request. */
void rogue_event(struct rogue *r, const struct fabric_event *ev);

/** rogue_act - do one thing, several, or nothing. */
void rogue_act(struct rogue *r);

/** rogue_wait - do only what it does by time. Return: when that is next due. */
nsec_t rogue_wait(struct rogue *r);

/** rogue_leave - end its connection at once. */
void rogue_leave(struct rogue *r);

/* Shared by rogue.c, rogue_say.c, rogue_client.c and rogue_server.c. */

/** rogue_draw - true with a chance of one in @n. */
static inline bool rogue_draw(struct rogue *r, uint32_t n)
{
	return rng_below(r->rng, n) == 0;
}

/** rogue_will - whether it knows @deed and does it now. */
static inline bool rogue_will(struct rogue *r, enum misdeed deed)
{
	return (r->knows & (unsigned)deed) && rogue_draw(r, r->often);
}

/** rogue_take_mark - use @mark for all it sends from now on. */
void rogue_take_mark(struct rogue *r, unsigned mark);

/** rogue_may_send - whether the gateway granted one more message. */
bool rogue_may_send(struct rogue *r);

/** rogue_credit - value for the credit field. */
uint32_t rogue_credit(struct rogue *r);

/** rogue_send_msg - send a header from @m, and @body. @invalidate: a handle, or 0. */
void rogue_send_msg(struct rogue *r, const struct rpc_msg *m, struct view body,
		    uint32_t invalidate);

/** rogue_send_extended - as rogue_send_msg(), with the round-trip extension. Return: false if @m
 * has no such form; nothing was sent. */
bool rogue_send_extended(struct rogue *r, const struct rpc_msg *m, struct view body, uint8_t *room);

/** rogue_properties - send its properties in version 2. */
void rogue_properties(struct rogue *r, uint32_t xid);

/** rogue_asked - decode the Transmit Request @in into @m; directions become Write chunks. Return:
 * whether it is one. */
bool rogue_asked(struct view in, struct rpc_msg *m);

/** rogue_send_off - send one or two pieces; the first is in the buffer of the next Send. */
void rogue_send_off(struct rogue *r, const struct fabric_sge *sge, unsigned n, uint32_t invalidate);

/** rogue_send_words - send a message of these words. */
void rogue_send_words(struct rogue *r, const uint32_t *words, unsigned n, uint32_t invalidate);

/** rogue_send_behind - send @words, zeros up to octet @at, and then @bytes octets of its mark. */
void rogue_send_behind(struct rogue *r, const uint32_t *words, unsigned n, uint32_t at,
		       uint32_t bytes);

/** rogue_begin_parts - begin a continued message (version 2) of @total octets. */
void rogue_begin_parts(struct rogue *r, uint32_t xid, uint32_t total);

/** rogue_send_part - send @len octets of it, or the rest if that is less. */
void rogue_send_part(struct rogue *r, uint32_t len);

/** rogue_body - write a payload stream of @len octets, at least 64, to @at. */
void rogue_body(struct rogue *r, uint8_t *at, uint32_t len, uint32_t xid, bool call);

/** rogue_plain - ROGUE_PLAIN octets of its mark. */
const uint8_t *rogue_plain(const struct rogue *r);

/** rogue_body_room - memory for the body chunk of its call @i. */
uint8_t *rogue_body_room(struct rogue *r, unsigned i);

/** rogue_any_segment - a segment of a call it knows, or of a finished one. Return: false: there is
 * none. */
bool rogue_any_segment(struct rogue *r, struct segment *s);

/** rogue_outdated - the call is finished; keep its handles. */
void rogue_outdated(struct rogue *r, const struct rpc_msg *m);

/** rogue_write, rogue_read - RDMA of octets [@from, @from + @len) of @s. */
void rogue_write(struct rogue *r, const struct segment *s, uint32_t from, uint32_t len);
void rogue_read(struct rogue *r, const struct segment *s, uint32_t from, uint32_t len);

/** rogue_size - a random length: small or, if @large, up to megabytes. */
uint32_t rogue_size(struct rogue *r, bool large);

void rogue_client_act(struct rogue *r);
void rogue_client_message(struct rogue *r, const struct rpc_msg *m);
void rogue_client_error(struct rogue *r, uint32_t xid);
void rogue_server_act(struct rogue *r);
void rogue_server_message(struct rogue *r, const struct rpc_msg *m);

#endif
