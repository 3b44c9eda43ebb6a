/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_INTERNAL_H
#define PROXY_LEG_INTERNAL_H

#include "proxy/leg/leg.h"
#include "proxy/leg/recv_pool.h"

/**
 * State that the files of leg share. Each file uses only those before it:
 *
 *   leg_conn.c, leg_memory.c, leg_auth.c, leg_version.c, leg_tx.c (sending), leg_reasm.c,
 *   leg_group.c, leg_rx.c (receiving), leg.c (life)
 */

struct leg_slot {
	struct leg_slot *next;
	uint8_t *data;	       /* NULL: the buffer has to be borrowed */
	uint8_t *block;	       /* owned by the first slot in the block, else NULL */
	struct leg_rbuf *rbuf; /* the borrowed buffer, or NULL */
	struct leg_tx *tx;     /* NULL for a message of the transport's own */
	uint32_t counts;       /* octets to add to leg->sent when the Send completes */
};

/** leg_drop_sums - give back the CRCs of the message in @rb, if it has some. */
static inline void leg_drop_sums(struct leg_rbuf *rb)
{
	if (!rb->sums)
		return;
	fabric_sums_give(rb->sums);
	rb->sums = NULL;
}

/** leg_bulk - the second piece of @rb, one of the leg's own Receives; NULL: it has none. */
static inline uint8_t *leg_bulk(const struct leg *leg, const struct leg_rbuf *rb)
{
	return leg->bulks && !rb->copied ? leg->bulks[rb - leg->rbufs] : NULL;
}

/** leg_got_answer - one of our calls no longer waits for an answer. */
static inline void leg_got_answer(struct leg *leg)
{
	if (leg->awaiting > 0)
		leg->awaiting--;
}

/** leg_is_reverse - whether messages in @dir from the peer travel in the reverse direction. */
static inline bool leg_is_reverse(const struct leg *leg, enum rpc_dir dir)
{
	return (leg->role == RPC_INITIATOR) == (dir == RPC_CALL);
}

/** leg_octets - the message's octets in the first piece of @rb; the transport is given the second
 * piece. */
static inline struct view leg_octets(struct leg *leg, const struct leg_rbuf *rb)
{
	uint32_t here = rb->len < leg->cfg->inline_bytes ? rb->len : leg->cfg->inline_bytes;

	if (leg->t)
		leg->t->bulk = view_of(leg_bulk(leg, rb), rb->len - here);
	return view_of(rb->data, here);
}

/* leg_auth.c */

/** leg_auth_begin - begin host authentication if it is configured; the private data of both ends
 * are known. Return: 0 or ERR_NOMEM. */
int leg_auth_begin(struct leg *leg, struct view request_data, struct view accept_data) WARN_UNUSED;

/**
 * leg_auth_go - after a message was received or sent: do the next step
 *
 * Return: NULL; or why the leg ends, once everything posted or due is sent.
 */
const char *leg_auth_go(struct leg *leg) WARN_UNUSED;

/** leg_auth_must_wait - the peer's first message has come and must not be handled before
 * leg_admit(). */
bool leg_auth_must_wait(struct leg *leg);

/** leg_auth_lacks - the peer speaks version 1 and so has no host authentication. */
void leg_auth_lacks(struct leg *leg);

/** leg_auth_refuse - leg_auth_lacks() where host authentication is required. Return: why the leg
 * ends. */
const char *leg_auth_refuse(struct leg *leg) WARN_UNUSED;

/** leg_auth_end - the leg ends: free all state of the handshake. */
void leg_auth_end(struct leg *leg);

#endif
