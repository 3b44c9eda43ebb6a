/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_STRANGER_INTERNAL_H
#define TESTS_SESSION_STRANGER_INTERNAL_H

#include "tests/session/stranger.h"

/* Shared by the files of stranger. */

/* Layout of its memory: Receives, Sends, memory exposed by calls, memory of services. */
enum {
	BUFFER = 16384,
	RECVS = 72,
	SENDS = 256,
	SENDS_AT = RECVS * BUFFER,
	SLOTS_AT = SENDS_AT + SENDS * BUFFER,
	SLOT = 1 << 20,
	SERVICES_AT = SLOTS_AT + TALKS * SLOT,
	HALF = SLOT / 2,
	ALL = SERVICES_AT + 2 * TALKS * SLOT,
	HEADER_1 = 16,
};

static inline bool chance(struct rng *r, unsigned of)
{
	return rng_below(r, of) == 0;
}

static inline uint32_t pad_of(uint32_t len)
{
	return -len & 3;
}

/* stranger.c */

/** stranger_begin - begin a message with its four first words. */
struct xdr_out stranger_begin(struct stranger *s, uint32_t xid, uint32_t type);

/** stranger_begin_rpc - begin a message with lists of chunks. */
struct xdr_out stranger_begin_rpc(struct stranger *s, uint32_t xid, uint32_t type, bool is_reply);

/** stranger_end - send the message when there are credits. */
void stranger_end(struct stranger *s, const struct xdr_out *x, uint32_t inv_handle);

/** stranger_drop - do not send the message. */
void stranger_drop(struct stranger *s, const struct xdr_out *x);

/** stranger_say - send @stream behind the header in @x, or in parts of its own, cut anywhere. */
void stranger_say(struct stranger *s, struct xdr_out *x, uint32_t xid, bool is_call,
		  const uint8_t *stream, uint32_t len, uint32_t inv_handle);

/** stranger_talk - the talk with @xid at that stage, or NULL. */
struct talk *stranger_talk(struct stranger *s, uint32_t xid, bool reverse, enum talk_stage stage);

/* stranger_serve.c */

/** stranger_serve - serve a call; @stream: its stream, unless that is in a chunk. */
void stranger_serve(struct stranger *s, const struct wire *w, const uint8_t *stream, uint32_t len);

/** stranger_services - do what is due. */
void stranger_services(struct stranger *s);

/* stranger_call.c */

/** stranger_take_reply, stranger_take_error - handle an answer to a call. */
void stranger_take_reply(struct stranger *s, const struct wire *w, struct view stream,
			 uint32_t invalidated);
void stranger_take_error(struct stranger *s, const struct wire *w);

#endif
