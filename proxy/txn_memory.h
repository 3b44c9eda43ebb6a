/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_TXN_MEMORY_H
#define PROXY_TXN_MEMORY_H

#include "proxy/txn.h"

/** txn_memory - the memory regions of a transaction. */

/* The shortest message or item, in octets, for which CRCs (struct fabric_sums) are kept. Shorter
 * ones may be copied. */
enum { TXN_LEAST_SUMMED = 1025 };

/** txn_need - octets of blocks, and number of exposures, that the regions of @t need. */
size_t txn_need(const struct txn *t, unsigned *exposures);

/** txn_region_in - a region of @len octets that came in the message of @held, and stay there */
struct txn_region txn_region_in(const struct leg_held *held, const uint8_t *octets, uint32_t len);

/**
 * txn_name_sums - set the CRCs in @tx, a message about to be sent: for its payload stream, and for
 * its largest data item
 * @body:  the payload stream, which lies in the Receive of @held or in @whole
 * @items: @n data items, which may travel in the Send
 *
 * Pieces shorter than TXN_LEAST_SUMMED get none.
 */
void txn_find_sums(struct leg_tx *tx, const struct leg_held *held, struct view body,
		   const struct txn_region *whole, const struct txn_region *items, unsigned n);
static inline void txn_name_sums(struct leg_tx *tx, const struct leg_held *held, struct view body,
				 const struct txn_region *whole, const struct txn_region *items,
				 unsigned n)
{
	tx->summed[0].sums = tx->summed[1].sums = NULL;
	if (n || body.len >= TXN_LEAST_SUMMED)
		txn_find_sums(tx, held, body, whole, items, n);
}

/** txn_is_large - whether a region of @t needs a block above SESSION_LARGE. */
bool txn_is_large(const struct txn *t);

/** txn_take - take all regions, or none. Return: 0 or ERR_AGAIN. */
int txn_take(struct txn *t) WARN_UNUSED;

/** txn_give - give all regions back. */
void txn_give(struct txn *t);

/** txn_adopt_sent - all is fenced: results that came in the Receive of the reply replace the
 * memory reserved for them. */
void txn_adopt_sent(struct txn *t);

/** txn_cut - add the segments of @whole to the open @chunk of t->out; @like as in txn_expose().
 * Return: 0 or ERR_TOOBIG. */
int txn_cut(struct txn *t, const struct segment *whole, const struct rpc_chunk *like,
	    struct rpc_chunk *chunk) WARN_UNUSED;

/**
 * txn_expose - expose one region to the responder, as a chunk of t->out without Position, in
 * segments that the responder takes
 * @like: the Write chunk of t->in that it stands for, or NULL
 *
 * Return: 0, ERR_TOOBIG, or as fabric_expose().
 */
int txn_expose(struct txn *t, struct txn_region *r, uint32_t len, unsigned access,
	       const struct rpc_chunk *like, struct rpc_chunk *chunk) WARN_UNUSED;

/**
 * txn_fence - withdraw all exposures of @t, and learn what was written there
 *
 * Return: whether all are withdrawn now; else FABRIC_EV_WITHDRAWN events follow, counted in t->ops.
 */
bool txn_fence(struct txn *t);

/** txn_forget_handles - all is fenced, and what was written does not matter: the regions can be
 * exposed again. */
void txn_forget_handles(struct txn *t);

/** txn_fenced - a FABRIC_EV_WITHDRAWN came: @handle is withdrawn, @written as fabric_withdraw()
 * has it. */
void txn_fenced(struct txn *t, uint32_t handle, uint32_t written);

/**
 * txn_check_results - once all is fenced: compare the lengths that the responder reported with what
 * it wrote
 *
 * State:  a region holds older octets of the gateway, of other clients perhaps, wherever the
 *         responder did not write.
 * Danger: a responder reports more than it wrote, and the requester reads another client's data.
 * Rule:   a reply that reports more than was written is not used at all. If the fabric cannot tell
 *         what was written, the memory is blanked before (txn_zero_sink.c).
 * Pinned: tests/session/test_hostile_server.c:what_was_not_written_is_not_passed_on, decision 14.
 *
 * One habit is tolerated: Linux (6.1), version 1, reports a Reply chunk that is too long by exactly
 * the lengths of the Write chunks in the same call. t->reply_body is then cut to what was written;
 * if the fabric cannot tell, a mark in the Reply chunk shows its end.
 *
 * Return: 0 or ERR_PROTO.
 */
int txn_check_results(struct txn *t) WARN_UNUSED;

#endif
