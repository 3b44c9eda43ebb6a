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

/* Hard maxima, checked before any arithmetic or copy. Linux sends up to 16
 * segments a header; 192 are more than 4096 octets of header can carry as read
 * segments (6 words each), so the cap never decides before the inline threshold. */
enum {
	RPC_MAX_SEGMENTS = 256,
	RPC_MAX_CHUNKS = 32,
	RPC_MAX_VIEWS = 4,
	RPC_MAX_PLACED = 2,
	RPC_MAX_WISHES = 4
};

enum rpc_dir { RPC_CALL, RPC_REPLY };

/** struct rpc_chunk - a run of segments in rpc_msg.segs with one purpose. */
struct rpc_chunk {
	uint32_t position; /* Read chunks: offset in the unreduced payload stream, else 0 */
	uint16_t first,
		count;	 /* segs[first .. first+count-1]; count may be 0 (empty Write chunk) */
	uint64_t length; /* sum of the segments' lengths, octets */
};

/* How a Call wants the data of a Write chunk to come, or how they came: numbers and words are those of
 * docs/rtrext-profile.md, section 6. */
enum rpc_way {
	RPC_BY_WRITE = 1,  /* RDMA Write */
	RPC_BY_SEND = 2,   /* behind the Reply, in its Send */
	RPC_BY_EITHER = 3, /* as the responder likes */
	RPC_BY_SIZE = 4,   /* ... up to .most by Send */
	RPC_TOO_SHORT = 5, /* Replies: they are in the payload stream */
	RPC_NO_ITEM = 6,   /* Replies: there were none */
};

/** struct rpc_wish - of one Write chunk. Of a Reply to be sent .way is how an item that goes along was asked for. */
struct rpc_wish {
	enum rpc_way way;
	uint32_t least; /* Calls: what is shorter stays in the payload stream */
	uint32_t most;
	uint32_t begin, end; /* Calls: of what comes of this part of the unreduced payload stream */
	uint32_t position;   /* Replies: in the unreduced payload stream; 0 not told */
	uint32_t length;     /* Replies, TOO_SHORT: of what stayed in it */
};

struct rpc_msg {
	uint32_t xid;
	enum rpc_dir dir;

	/* The payload stream: either octets carried in Sends, in order ... */
	struct view body[RPC_MAX_VIEWS];
	unsigned nbody;
	/* ... or a body chunk. In a call: Read segments to pull (version 1: the
	 * Position-Zero Read chunk; version 2: the Call chunk). In a reply: the
	 * requester's Reply chunk with the lengths the responder really wrote. */
	bool has_body_chunk;
	bool has_reply; /* calls: a provisional Reply chunk */
	bool is_response; /* replies received: in the form of the round-trip extension, with or without data */
	struct rpc_chunk body_chunk;
	struct rpc_chunk reply;

	/* Calls, version 2: a handle of this header that the responder may
	 * invalidate with its reply (section 6.5); 0 none. Version 1 leaves it 0
	 * (there the private data's R flag permits any handle of the call). */
	uint32_t inv_handle;

	/* Round-trip extension: data that travel in the same Send. A chunk of a Call's .reads or a Reply's
	 * .writes with a length and no segments is here, at placed[.first]. */
	unsigned nplaced;
	/* ... or in several Sends, put together in memory of this many octets: what of it does not lie in the first */
	uint32_t gathered;
	uint32_t
		reserved; /* calls: Receives kept for their replies, in that extension; 0 counts as 1 */
	/* ... and what is to become of .writes, or became of them: one for each, or none. A Call's chunk
	 * BY_SEND has no segments, and a length: the most that can come so. */
	unsigned nwishes;

	/* Tables last: of most messages they are empty, and nobody looks at their memory. */
	unsigned nreads, nwrites, nsegs;
	struct view placed[RPC_MAX_PLACED];
	struct rpc_wish wishes[RPC_MAX_WISHES];
	struct rpc_chunk reads[RPC_MAX_CHUNKS];	 /* calls: data items, by rising position, none 0 */
	struct rpc_chunk writes[RPC_MAX_CHUNKS]; /* calls: provisional; replies: lengths written */
	struct segment segs[RPC_MAX_SEGMENTS];	 /* last: a copy may end behind those in use */
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

/** rpc_msg_placed - where the data of @c, a Read chunk of the Call @m or a Write chunk of the Reply @m, came
 * with it; NULL: they did not. */
static inline const uint8_t *rpc_msg_placed(const struct rpc_msg *m, const struct rpc_chunk *c)
{
	return m->nplaced && c->length && c->count == 0 ? m->placed[c->first].data : NULL;
}

/** rpc_msg_place - the data of @c, which is empty, travel with @m. Return: 0 or ERR_TOOBIG. */
int rpc_msg_place(struct rpc_msg *m, struct rpc_chunk *c, struct view data);

/** rpc_msg_copy - @to is what @from is; of its tables what is in use, and nothing behind. */
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
 * What went wrong, version-neutral: the union of both versions' reports.
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
