/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles of the requester that a reply may invalidate
 *
 * In version 1 the handle has to belong to one call alone (RFC 8797 section 4.1). To know that
 * without a look at every call in flight, the handles that these use are counted, in a table of
 * few hash values. Two handles with the same hash value look like one that two calls use, and none
 * is invalidated then: the requester does it itself. A counter that was ever full stays full.
 */
#include "proxy/txn_remote_inval.h"
#include "proxy/session.h"
#include "proxy/txn.h"

static uint8_t *named_counter(const struct txn *t, uint32_t handle)
{
	return &t->s->handle_uses[handle * 0x9e3779b1u >> (32 - SESSION_HANDLES_BITS)];
}

/* Neighbouring segments with the same handle count once. */
static bool is_named_before(const struct txn *t, unsigned i)
{
	return i > 0 && t->in.segs[i].handle == t->in.segs[i - 1].handle;
}

void txn_count_handles(struct txn *t)
{
	t->handles_counted = !t->req->t->ops->traits->names_inv && t->req->t->peer.remote_inv;
	for (unsigned i = 0; t->handles_counted && i < t->in.nsegs; i++) {
		uint8_t *n = named_counter(t, t->in.segs[i].handle);

		if (!is_named_before(t, i) && *n < UINT8_MAX)
			(*n)++;
	}
}

void txn_uncount_handles(struct txn *t)
{
	for (unsigned i = 0; t->handles_counted && i < t->in.nsegs; i++) {
		uint8_t *n = named_counter(t, t->in.segs[i].handle);

		if (!is_named_before(t, i) && *n < UINT8_MAX)
			(*n)--;
	}
	t->handles_counted = false;
}

/* The one handle of all segments of the call, or 0. A segment without octets exposes nothing, so
 * its handle does not matter. */
static uint32_t only_handle(const struct rpc_msg *call)
{
	uint32_t handle = 0;

	for (unsigned i = 0; i < call->nsegs; i++) {
		const struct segment *s = &call->segs[i];

		if (s->length == 0)
			continue;
		if (handle && s->handle != handle)
			return 0;
		handle = s->handle;
	}
	return handle;
}

uint32_t txn_remote_inval_handle(const struct txn *t)
{
	uint32_t handle;

	if (t->req->t->ops->traits->names_inv)
		return t->in.inv_handle; /* draft-07 6.5: MUST be the one the call names */
	/* RFC 8797 4.1: both sides have set R. Invalidate only a handle that surely belongs to
	 * this XID alone. */
	handle = t->handles_counted ? only_handle(&t->in) : 0;
	return handle && *named_counter(t, handle) == 1 ? handle : 0;
}
