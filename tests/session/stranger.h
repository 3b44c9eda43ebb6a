/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_STRANGER_H
#define TESTS_SESSION_STRANGER_H

#include "fabric/mem/mem.h"
#include "tests/rng.h"
#include "xdr/cursor.h"

/**
 * stranger - a valid peer with a codec and habits of its own, within what the documents allow
 *
 * It shares no code with v1/, v2/ or proxy/, so an error that both ends of the gateway make in the
 * same way shows. Each struct talk is one RPC as its caller makes it and as its responder answers
 * it, octet for octet.
 */

enum {
	TALKS = 16,
	TALKS_BACK = 2,
	TALK_ITEMS = 4,
	TALK_CHUNKS = 7,
	TALK_PIECES = 5,
	TALK_BYTES = 192 << 10, /* most octets of a payload stream */
	WIRE_SEGS = 120,
	WIRE_CHUNKS = 12,
};

enum talk_stage { TALK_IDLE, TALK_SENT, TALK_HEARD, TALK_ANSWERED };

struct talk_item {
	uint32_t at, len; /* in the unreduced stream; the pad follows */
	bool apart;	  /* calls: the item is in a Read chunk */
};

/** struct chunk - memory of the caller, in pieces. */
struct chunk {
	unsigned n;
	uint8_t *at[TALK_PIECES];
	struct segment segs[TALK_PIECES];
	uint32_t position;
};

struct talk {
	enum talk_stage stage;
	bool reverse;
	bool refused; /* the responder answers with an error of its own */
	uint32_t xid;
	uint8_t *call, *reply; /* unreduced, TALK_BYTES each */
	uint32_t call_len, reply_len;
	unsigned nitems, nresults, nwrites;
	struct talk_item items[TALK_ITEMS], results[TALK_ITEMS];
	uint32_t caps[TALK_CHUNKS], reply_cap;
	bool is_long; /* its stream is in a chunk, although it would fit inline */
	bool is_continued;
	/* State of the caller: */
	struct chunk body, reads[TALK_ITEMS], writes[TALK_CHUNKS], room;
	uint32_t inv_handle, fences;
	char what[120]; /* description of the call */
};

enum wire_kind { WIRE_CALL, WIRE_REPLY, WIRE_ERROR, WIRE_GRANT, WIRE_PROPS, WIRE_NONE };

struct wire_chunk {
	uint32_t position;
	unsigned n, first;
	uint64_t len;
};

/** struct wire - one parsed message. */
struct wire {
	enum wire_kind kind;
	uint32_t xid, vers, credit, inv_handle, remaining;
	bool is_middle, is_external, has_room;
	unsigned nreads, nwrites, nsegs;
	struct wire_chunk reads[WIRE_CHUNKS], writes[WIRE_CHUNKS], room;
	struct segment segs[WIRE_SEGS];
	struct view body;
	uint32_t takes; /* PROPS: Receive Buffer Size */
};

/** wire_read - parse a message. Return: false: it is not valid by the documents. */
bool wire_read(struct wire *w, struct view in);

/** struct habits - choices of this peer within the documents. */
struct habits {
	uint32_t inline_bytes;
	uint32_t credits;
	bool no_private_data, sets_r, pads_reads, always_room, tells_room;
	/* rfc5666bis-01 4.4.5.2: it writes an item with its pad, if there is room, and reports that
	 * length */
	bool pads_writes;
	bool leaves_out;	/* a version 1 server: no Write list if nothing was placed */
	uint32_t segment_bytes; /* version 2, as a property; 0: not announced */
};

struct stranger;

/** struct service - a call at its responder. */
struct service {
	bool busy, is_due;
	struct talk *talk;
	struct wire in;
	uint8_t *memory;
	uint32_t got[WIRE_SEGS]; /* offset of each Read segment's octets */
	uint32_t ops;
	nsec_t due;
	uint8_t *body;
	uint32_t body_len;
};

struct stranger {
	struct memnet *net;
	struct fabric *fabric;
	struct fabric_conn *conn;
	struct rng *rng;
	bool is_server, connected, closed;
	bool has_chunks_back; /* a server: its calls may have chunks */
	/* The early draft of version 2 is spoken, with .version 1: it has the messages of version 1. */
	bool is_early;
	bool is_spoken; /* is_early: a reply has come */
	unsigned version;
	struct habits h;
	uint32_t peer_takes; /* octets of one Send */
	bool peer_r;
	uint8_t *memory;
	struct talk *talks; /* shared by both ends */
	struct talk *rtalks;
	struct service services[2 * TALKS];
	/* Waiting Sends, in order. */
	unsigned nqueue;
	struct {
		uint8_t *at;
		uint32_t len, inv_handle;
		bool is_call;
	} queue[512];
	bool busy_sends[256];
	unsigned next_send;
	unsigned posted; /* number of Receives */
	/* version 1: calls in flight; version 2: messages. */
	uint32_t in_flight, granted, most_granted;
	uint32_t sent, received, limit, told;
	bool ready;
	uint8_t *parts; /* of a continued message */
	uint32_t parts_len;
	struct wire parts_head;
	uint64_t done, rdone, refused;
	uint32_t last_xid;
	bool is_padded; /* its server writes pads */
	int status;	/* status of the end */
	const char *why;
};

void stranger_init(struct stranger *s, struct memnet *net, unsigned version, bool is_server,
		   const struct habits *h, struct rng *rng);
void stranger_fini(struct stranger *s);
void stranger_connect(struct stranger *s, const struct fabric_addr *to);
void stranger_turn(struct stranger *s);
/** stranger_due - when it needs a turn. */
nsec_t stranger_due(const struct stranger *s);
/** stranger_call - make one more random call. Return: false: not possible now. */
bool stranger_call(struct stranger *s);
/** stranger_call_back - the same from a server. */
bool stranger_call_back(struct stranger *s);

/** talk_make - make random contents of a call and its reply. */
void talk_make(struct talk *t, struct rng *r, uint32_t xid, bool reverse);

/** talk_init, talk_fini - allocate and free memory for its octets. */
void talk_init(struct talk *t);
void talk_fini(struct talk *t);

/** talk_length - a random length of an item. */
uint32_t talk_length(struct rng *r, bool small);

/* Printed with every failure. */
extern const char *stranger_story;
#define must(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("%s: %s:%d: %s\n", stranger_story, __FILE__, __LINE__, #what);      \
			fflush(stdout);                                                            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
