/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_PIPE_H
#define TESTS_ISOLATION_PIPE_H

#include <sys/uio.h>

#include "tests/isolation/net.h"
#include "tests/rng.h"

/**
 * pipe - the octets of one direction of a stream that are under way
 *
 * They go in as the sender's queue pair has them. FPDU by FPDU they are shown to the watcher, and
 * then, where the sender is wild, what happens to them is drawn. They come out in pieces of any
 * length. What is under way is bounded, as a socket's buffers are.
 */

enum {
	PIPE_BYTES = 1 << 18,
	PIPE_WINDOW = 1 << 17, /* of them the sender's own; an FPDU fits into it */
	PIPE_MESSAGE = 65536,  /* octets of a Send */
};

/** struct wire - what a rogue does to its streams. */
struct wire {
	unsigned knows, often; /* enum misdeed; one chance in so many */
};

struct pipe {
	struct rng *rng;
	struct wire out, in; /* of the sender; of the receiver */
	uint8_t *octets;
	size_t from, sent, len; /* delivered; whole FPDUs; with the beginning of another */
	size_t begin;		/* where the FPDU begins that .from lies in */
	size_t last;		/* where the last whole one begins; SIZE_MAX: none that is known */
	size_t late;		/* where a Write begins whose end is to come late; SIZE_MAX: none */
	bool delay;		/* the next one behind a message is such a Write */
	uint32_t drip;		/* octets still to come one at a time */
	nsec_t hold_until;
	struct net_pace pace; /* an end that takes its time for what is in here */
	bool fin, reset;      /* the sender sends no more; all at once */
	uint8_t message[PIPE_MESSAGE];
};

/** wire_draw - a connection's character, of the misdeeds @allowed. */
struct wire wire_draw(struct rng *rng, unsigned allowed);

/** pipe_init - empty. */
void pipe_init(struct pipe *p, struct rng *rng);
void pipe_fini(struct pipe *p);

/** pipe_room - octets that the sender may put in. */
static inline size_t pipe_room(const struct pipe *p)
{
	size_t n = p->len - p->from;

	return n < PIPE_WINDOW ? PIPE_WINDOW - n : 0;
}

/** pipe_put - what of @iov there is room for; @w hears that it goes to @to. Return: octets. */
size_t pipe_put(struct pipe *p, const struct iovec *iov, unsigned n, struct fabric_conn *to,
		const struct net_watcher *w);

/** pipe_end - the sender sends no more. */
void pipe_end(struct pipe *p, bool reset);

static inline bool pipe_is_empty(const struct pipe *p)
{
	return p->from == p->sent;
}

/** pipe_piece - how many octets come out at @now; 0: not before .hold_until, if at all. */
size_t pipe_piece(struct pipe *p, nsec_t now);

/** pipe_took - @n octets came out. */
void pipe_took(struct pipe *p, size_t n);

#endif
