/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_RAW_H
#define TESTS_SESSION_RAW_H

#include "fabric/mem/mem.h"
#include "xdr/cursor.h"

/**
 * raw - a peer that sends octets which no codec of ours wrote, and keeps received messages as
 * octets.
 */

enum { RAW_BUFFER = 4096, RAW_RECVS = 64, RAW_SENDS = 64, RAW_KEPT = 256, RAW_EXPOSED = 4 << 20 };

struct raw {
	struct memnet *net;
	struct fabric *fabric;
	struct fabric_conn *conn;
	uint8_t *memory; /* Receives, then Sends, then memory to expose */
	bool connected, closed;
	struct view pdata;    /* private data, if not that of raw_connect() */
	uint32_t invalidate;  /* handle that the next message invalidates, or 0 */
	uint32_t invalidated; /* last handle that a message invalidated, or 0 */
	int status;
	bool deaf;	   /* does not repost Receives */
	bool reject;	   /* refuses connections */
	bool mute;	   /* leaves connection requests unanswered */
	unsigned accepted; /* number of connections so far */
	unsigned sent;
	size_t exposed;
	unsigned nkept; /* messages received, oldest first */
	struct view kept[RAW_KEPT];
	uint8_t octets[RAW_KEPT][512]; /* the first octets of each */
	/* Called for each message, if set. */
	void (*on_message)(struct raw *r, struct view in, void *arg);
	void *arg;
};

/** raw_init - set up on @net, without a connection. */
void raw_init(struct raw *r, struct memnet *net);

/** raw_connect - connect to @to; RFC 8797 private data announce 4096 octets both ways, and R. */
void raw_connect(struct raw *r, const struct fabric_addr *to);

/** raw_turn - handle all events; a connection that comes in is accepted, one at a time. */
void raw_turn(struct raw *r);

/** raw_accept - accept the connection that arrived while .mute was set. */
void raw_accept(struct raw *r);

/** raw_begin, raw_end - compose a message through the cursor, and send it. */
struct xdr_out raw_begin(struct raw *r);
void raw_end(struct raw *r, const struct xdr_out *x);

/** raw_words - send a message of these words. */
#define raw_words(r, ...)                                                                          \
	raw_send_words(r, (const uint32_t[]){__VA_ARGS__},                                         \
		       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
void raw_send_words(struct raw *r, const uint32_t *words, size_t n);

/* The payload stream of a call that a struct peer understands: 96 octets, a reply of 24. */
#define RAW_CALL_BODY(xid)                                                                         \
	(xid), 0, 2, 0x40000123, 1, 1, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define RAW_REPLY_BODY(xid) (xid), 1, 0, 0, 0, 0

/* Whole messages without chunks. Version 1: RFC 8166 section 4; version 2: draft-07 section 6. */
#define RAW_V1_CALL(xid) (xid), 1, 16, 0, 0, 0, 0, RAW_CALL_BODY(xid)
#define RAW_V1_REPLY(xid, credit) (xid), 1, (credit), 0, 0, 0, 0, RAW_REPLY_BODY(xid)
#define RAW_V2_PROPS(xid, credit) (xid), 2, (credit), 7, 0
#define RAW_V2_CALL(xid, credit) (xid), 2, (credit), 10, 0, 0, 0, 0, RAW_CALL_BODY(xid)
#define RAW_V2_REPLY(xid, credit) (xid), 2, (credit), 13, 0, RAW_REPLY_BODY(xid)

/** raw_expose - expose @len new octets for the gateway's @access. */
struct segment raw_expose(struct raw *r, uint32_t len, unsigned access);

/** raw_write - RDMA Write of @len arbitrary octets to @to. */
void raw_write(struct raw *r, const struct segment *to, uint32_t len);

/** raw_word - word @i of kept message @n; 0 beyond its end. */
uint32_t raw_word(const struct raw *r, unsigned n, unsigned i);

/** raw_last - word @i of the last message kept. */
uint32_t raw_last(const struct raw *r, unsigned i);

/** raw_hang_up - destroy the connection; another can follow. */
void raw_hang_up(struct raw *r);

void raw_fini(struct raw *r);

#endif
