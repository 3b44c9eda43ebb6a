/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_MSG_H
#define RPC_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

/**
 * The version-neutral message: what both codecs decode into and encode from.
 * A decoded message points into the receive buffer and owns nothing.
 */

/* Hard maxima, checked before any arithmetic or copy. Linux sends up to 16 segments in a header.
 * A header of 4096 octets has room for fewer than 192 Read segments (6 words each), so the inline
 * threshold limits the number of segments before RPC_MAX_SEGMENTS does. */
enum {
	RPC_MAX_SEGMENTS = 256,
	RPC_MAX_CHUNKS = 32,
	RPC_MAX_VIEWS = 4,
	RPC_MAX_PLACED = 2,
	RPC_MAX_WISHES = 4
};

enum rpc_dir { RPC_CALL, RPC_REPLY };

/** struct rpc_chunk - consecutive segments of rpc_msg.segs with one purpose. */
struct rpc_chunk {
	uint32_t position; /* Read chunks: offset in the unreduced payload stream, else 0 */
	uint16_t first,
		count;	 /* segs[first .. first+count-1]; count may be 0 (empty Write chunk) */
	uint64_t length; /* sum of the segments' lengths, octets */
};

/* How the data of a Write chunk are to be returned, or were returned. Numbers and words are those
 * of docs/rtrext-profile.md, section 6. */
enum rpc_way {
	RPC_BY_WRITE = 1,  /* RDMA Write */
	RPC_BY_SEND = 2,   /* in the Send of the Reply, behind it */
	RPC_BY_EITHER = 3, /* the responder chooses */
	RPC_BY_SIZE = 4,   /* up to .most octets by Send, longer data by RDMA Write */
	RPC_TOO_SHORT = 5, /* Replies: the data are in the payload stream */
	RPC_NO_ITEM = 6,   /* Replies: there were no data */
};

/** struct rpc_wish - how the data of one Write chunk are to be returned. In a Reply that is to be
 * sent, .way says how the Call requested an item that is in the same Send. */
struct rpc_wish {
	enum rpc_way way;
	uint32_t least; /* Calls: shorter items stay in the payload stream; octets */
	uint32_t most;
	/* Calls: the wish is for items that result from this part of the unreduced payload stream;
	 * octets */
	uint32_t begin, end;
	uint32_t position; /* Replies: position in the unreduced payload stream; 0: not known */
	uint32_t length;   /* Replies, TOO_SHORT: octets that stayed in the payload stream */
};

struct rpc_msg {
	uint32_t xid;
	enum rpc_dir dir;

	/* The payload stream if Sends carry it: its octets, in order. */
	struct view body[RPC_MAX_VIEWS];
	unsigned nbody;
	/* The payload stream if it is in exposed memory: a body chunk. In a call, Read segments to
	 * fetch (version 1: the Position-Zero Read chunk; version 2: the Call chunk). In a reply,
	 * the requester's Reply chunk with the lengths that the responder really wrote. */
	bool has_body_chunk;
	bool has_reply; /* calls: a provisional Reply chunk */
	/* replies received: the message has the form of the round-trip extension, with or without
	 * data */
	bool is_response;
	struct rpc_chunk body_chunk;
	struct rpc_chunk reply;

	/* Calls, version 2: a handle of this header that the responder may
	 * invalidate with its reply (section 6.5); 0 none. Version 1 leaves it 0
	 * (there the private data's R flag permits any handle of the call). */
	uint32_t inv_handle;

	/* Round-trip extension: data that travel in the same Send. A chunk of a Call's .reads or a
	 * Reply's .writes with a length and no segments has its data at placed[.first]. */
	unsigned nplaced;
	/* Round-trip extension, several Sends: memory for the octets that are not in the first
	 * Send, in octets. */
	uint32_t gathered;
	/* Round-trip extension, calls: Receives reserved for the reply; 0 counts as 1. */
	uint32_t reserved;
	/*
	 * Round-trip extension: how the data of .writes are to be returned, or were returned. One
	 * entry for each of .writes, or none. A Call's chunk BY_SEND has no segments; its length is
	 * the most that can be returned so.
	 */
	unsigned nwishes;

	/* Tables are last, because most messages leave them empty and never touch their memory. */
	unsigned nreads, nwrites, nsegs;
	struct view placed[RPC_MAX_PLACED];
	struct rpc_wish wishes[RPC_MAX_WISHES];
	/* calls: data items, sorted by position, which is never 0 */
	struct rpc_chunk reads[RPC_MAX_CHUNKS];
	struct rpc_chunk writes[RPC_MAX_CHUNKS]; /* calls: provisional; replies: lengths written */
	/* the last field, so that rpc_msg_copy() can stop after the segments in use */
	struct segment segs[RPC_MAX_SEGMENTS];
};

/** rpc_msg_reset - an empty message; does not touch the tables. */
static inline void rpc_msg_reset(struct rpc_msg *m, uint32_t xid, enum rpc_dir dir)
{
	m->xid = xid;
	m->dir = dir;
	m->nbody = m->nreads = m->nwrites = m->nsegs = m->nplaced = m->nwishes = 0;
	m->has_body_chunk = m->has_reply = m->is_response = false;
	m->inv_handle = m->gathered = m->reserved = 0;
}

static inline bool rpc_msg_has_chunks(const struct rpc_msg *m)
{
	return m->has_body_chunk || m->nreads || m->nwrites || m->has_reply;
}

/** rpc_msg_lists_are_empty - whether no chunk of @m is in its header: it has none, or their data are
 * placed. True for most messages. */
static inline bool rpc_msg_lists_are_empty(const struct rpc_msg *m)
{
	return m->nsegs == 0 && m->nwrites == 0 && !m->has_body_chunk && !m->has_reply;
}

/** rpc_msg_placed - the data of @c, if they came in the same Send as @m; borrowed, valid as long as
 * the views of @m. NULL: the data did not come in that Send. @c is a Read chunk of the Call @m or a
 * Write chunk of the Reply @m. */
static inline const uint8_t *rpc_msg_placed(const struct rpc_msg *m, const struct rpc_chunk *c)
{
	return m->nplaced && c->length && c->count == 0 ? m->placed[c->first].data : NULL;
}

/** rpc_msg_place - send the data of @c, which is empty, with @m. Return: 0 or ERR_TOOBIG. */
int rpc_msg_place(struct rpc_msg *m, struct rpc_chunk *c, struct view data);

/** rpc_msg_copy - copy @from to @to; of the tables only the entries in use. */
void rpc_msg_copy(struct rpc_msg *to, const struct rpc_msg *from);

/** rpc_msg_body_len - octets of the inline payload stream. */
static inline size_t rpc_msg_body_len(const struct rpc_msg *m)
{
	size_t len = 0;

	for (unsigned i = 0; i < m->nbody; i++)
		len += m->body[i].len;
	return len;
}

/** rpc_msg_add_segment - append @s to the open chunk @c, which must be the last one begun.
 * Return: 0, or ERR_TOOBIG when the segment table is full. */
int rpc_msg_add_segment(struct rpc_msg *m, struct rpc_chunk *c, const struct segment *s);

/**
 * Error reports, version-neutral: the union of both versions' reports.
 * draft-07 section 7; RFC 8166 section 4.5 (RPC_ERROR_CHUNK is ERR_CHUNK).
 */
enum rpc_error_code {
	RPC_ERROR_VERS,	 /* a: lowest, b: highest version spoken */
	RPC_ERROR_CHUNK, /* version 1's one other code: the cause is not known */
	RPC_ERROR_BAD_XDR,
	RPC_ERROR_BAD_PROPVAL,
	RPC_ERROR_INVAL_HTYPE,
	RPC_ERROR_INVAL_CONT,
	RPC_ERROR_READ_CHUNKS,	  /* a: most Read chunks that can be processed */
	RPC_ERROR_WRITE_CHUNKS,	  /* a: most Write chunks */
	RPC_ERROR_SEGMENTS,	  /* a: most segments */
	RPC_ERROR_WRITE_RESOURCE, /* a: index of the chunk from 1, or 0; b: length needed */
	RPC_ERROR_REPLY_RESOURCE, /* a: length needed */
	RPC_ERROR_VERS_MISMATCH,
	RPC_ERROR_SYSTEM,
};

enum { RPC_ERROR_CODES = RPC_ERROR_SYSTEM + 1 };

struct rpc_error {
	enum rpc_error_code code;
	uint32_t a, b;
};

/** rpc_error_name - a short word for logs; static storage. */
const char *rpc_error_name(enum rpc_error_code code);

#endif
