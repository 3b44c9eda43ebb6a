/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_PIPE_H
#define TESTS_ISOLATION_PIPE_H

#include <sys/uio.h>

#include "tests/isolation/net.h"
#include "tests/rng.h"

/**
 * pipe - the octets in flight in one direction of a stream
 *
 * The octets enter as the sender's queue pair wrote them. Each FPDU is shown to the watcher. If the
 * sender is wild, faults are then drawn for it. The octets leave in pieces of any length. The
 * number of octets in flight is limited, as by a socket's buffers.
 */

enum {
	PIPE_BYTES = 1 << 18,
	/* limit of the sender's own octets among these; an FPDU fits into it */
	PIPE_WINDOW = 1 << 17,
	PIPE_MESSAGE = 65536, /* octets of a Send */
};

/** struct wire - faults that a rogue peer puts into its streams. */
struct wire {
	unsigned knows, often; /* .knows: enum misdeed; .often: one fault in that many chances */
};

struct pipe {
	struct rng *rng;
	struct wire out, in; /* faults of the sender, of the receiver */
	uint8_t *octets;
	/* ends of: delivered octets; whole FPDUs; all octets, with the beginning of an FPDU */
	size_t from, sent, len;
	size_t begin;  /* where the FPDU that contains .from begins */
	size_t last;   /* where the last whole FPDU begins; SIZE_MAX: unknown */
	size_t late;   /* where a Write begins whose end must come late; SIZE_MAX: none */
	bool delay;    /* the next Write behind a message must come late */
	uint32_t drip; /* octets that are still delivered one at a time */
	nsec_t hold_until;
	struct net_pace pace; /* of a slow receiver */
	bool fin, reset;      /* .fin: the sender sends no more; .reset: all octets are lost */
	uint8_t message[PIPE_MESSAGE];
};

/** wire_draw - draw the faults of a connection from @allowed. */
struct wire wire_draw(struct rng *rng, unsigned allowed);

/** pipe_init - make it empty. */
void pipe_init(struct pipe *p, struct rng *rng);
void pipe_fini(struct pipe *p);

/** pipe_room - how many octets the sender may put in. */
static inline size_t pipe_room(const struct pipe *p)
{
	size_t n = p->len - p->from;

	return n < PIPE_WINDOW ? PIPE_WINDOW - n : 0;
}

/** pipe_put - put in as much of @iov as there is room for. @w sees it as going to @to. Return:
 * octets. */
size_t pipe_put(struct pipe *p, const struct iovec *iov, unsigned n, struct fabric_conn *to,
		const struct net_watcher *w);

/** pipe_end - the sender sends no more. */
void pipe_end(struct pipe *p, bool reset);

static inline bool pipe_is_empty(const struct pipe *p)
{
	return p->from == p->sent;
}

/** pipe_piece - how many octets may leave at @now; 0: none before .hold_until, or none at all. */
size_t pipe_piece(struct pipe *p, nsec_t now);

/** pipe_took - @n octets left. */
void pipe_took(struct pipe *p, size_t n);

#endif
