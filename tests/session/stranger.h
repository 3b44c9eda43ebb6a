/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_STRANGER_H
#define TESTS_SESSION_STRANGER_H

#include "fabric/mem/mem.h"
#include "tests/rng.h"
#include "xdr/cursor.h"

/**
 * stranger - an honest peer with a codec of its own, and with habits that ours have not: what the documents let others do.
 *
 * It shares no line with v1/, v2/ or proxy/: what both ends of the gateway have wrong in the same way it shows. Each
 * struct talk is one RPC as its caller made it and its responder answers it, octet for octet.
 */

enum {
	TALKS = 16,
	TALKS_BACK = 2,
	TALK_ITEMS = 4,
	TALK_CHUNKS = 5,
	TALK_PIECES = 4,
	TALK_BYTES = 192 << 10, /* of a payload stream, at most */
	WIRE_SEGS = 80,
	WIRE_CHUNKS = 8,
};

enum talk_stage { TALK_IDLE, TALK_SENT, TALK_HEARD, TALK_ANSWERED };

struct talk_item {
	uint32_t at, len; /* in the unreduced stream; its pad follows */
	bool apart;	  /* calls: in a Read chunk */
};

/** struct chunk - memory of the caller's, in pieces. */
struct chunk {
	unsigned n;
	uint8_t *at[TALK_PIECES];
	struct segment segs[TALK_PIECES];
	uint32_t position;
};

struct talk {
	enum talk_stage stage;
	bool reverse;
	bool refused; /* the responder says an error of its own */
	uint32_t xid;
	uint8_t *call, *reply; /* unreduced, TALK_BYTES each */
	uint32_t call_len, reply_len;
	unsigned nitems, nresults, nwrites;
	struct talk_item items[TALK_ITEMS], results[TALK_ITEMS];
	uint32_t caps[TALK_CHUNKS], reply_cap;
	bool is_long; /* its stream is in a chunk though it need not be */
	/* Of the caller: */
	struct chunk body, reads[TALK_ITEMS], writes[TALK_CHUNKS], room;
	uint32_t inv_handle, fences;
	char what[120]; /* it asks for */
};

enum wire_kind { WIRE_CALL, WIRE_REPLY, WIRE_ERROR, WIRE_GRANT, WIRE_PROPS, WIRE_NONE };

struct wire_chunk {
	uint32_t position;
	unsigned n, first;
	uint64_t len;
};

/** struct wire - one message, read. */
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

/** wire_read - false: it is not as the documents have it. */
bool wire_read(struct wire *w, struct view in);

/** struct habits - what this peer does, within the documents. */
struct habits {
	uint32_t inline_bytes;
	uint32_t credits;
	bool no_private_data, sets_r, pads_reads, always_room, tells_room;
	bool pads_writes; /* rfc5666bis-01 4.4.5.2: writes an item with its pad, if there is room, and says so */
	bool leaves_out;	/* a server of version 1: no Write list where nothing was placed */
	uint32_t segment_bytes; /* version 2, as a property; 0 not told */
};

struct stranger;

/** struct service - a call at its responder. */
struct service {
	bool busy, is_due;
	struct talk *talk;
	struct wire in;
	uint8_t *memory;
	uint32_t got[WIRE_SEGS]; /* where each Read segment's octets lie */
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
	unsigned version;
	struct habits h;
	uint32_t peer_takes; /* octets of one Send */
	bool peer_r;
	uint8_t *memory;
	struct talk *talks; /* both ends' */
	struct talk *rtalks;
	struct service services[2 * TALKS];
	/* Sends that wait, in order. */
	unsigned nqueue;
	struct {
		uint8_t *at;
		uint32_t len, inv_handle;
		bool is_call;
	} queue[512];
	bool busy_sends[256];
	unsigned next_send;
	unsigned posted; /* Receives */
	/* version 1: calls in flight; version 2: messages. */
	uint32_t in_flight, granted, most_granted;
	uint32_t sent, received, limit, told;
	bool ready;
	uint8_t *parts; /* of a continued message */
	uint32_t parts_len;
	struct wire parts_head;
	uint64_t done, rdone, refused;
	uint32_t last_xid;
	bool is_padded; /* its server pads what it writes */
	int status;	/* how it ended */
	const char *why;
};

void stranger_init(struct stranger *s, struct memnet *net, unsigned version, bool is_server,
		   const struct habits *h, struct rng *rng);
void stranger_fini(struct stranger *s);
void stranger_connect(struct stranger *s, const struct fabric_addr *to);
void stranger_turn(struct stranger *s);
/** stranger_due - when it wants a turn. */
nsec_t stranger_due(const struct stranger *s);
/** stranger_call - one more call, of random shape. Return: false: not now. */
bool stranger_call(struct stranger *s);
/** stranger_call_back - likewise, of a server. */
bool stranger_call_back(struct stranger *s);

/** talk_make - random contents of a call and its reply. */
void talk_make(struct talk *t, struct rng *r, uint32_t xid, bool reverse);

/** talk_init, talk_fini - with room for its octets. */
void talk_init(struct talk *t);
void talk_fini(struct talk *t);

/** talk_length - of an item. */
uint32_t talk_length(struct rng *r, bool small);

/* Said of every failure. */
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
