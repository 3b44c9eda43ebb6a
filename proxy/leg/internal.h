/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_INTERNAL_H
#define PROXY_LEG_INTERNAL_H

#include "proxy/leg/leg.h"
#include "proxy/leg/recvs.h"

/**
 * What the files of leg share. Each stands on those before it alone:
 *
 *   leg_conn.c, leg_memory.c, leg_auth.c, leg_version.c, leg_tx.c (sending), leg_assembly.c,
 *   leg_group.c, leg_rx.c (receiving), leg.c (life)
 */

struct leg_slot {
	struct leg_slot *next;
	uint8_t *data;	       /* NULL: to be borrowed */
	uint8_t *block;	       /* owned by the slot that lies first in it, else NULL */
	struct leg_rbuf *rbuf; /* borrowed, or NULL */
	struct leg_tx *tx;     /* NULL for a message of the transport's own */
	uint32_t counts;       /* of leg->sent, once it has completed */
};

/** leg_bulk - the second piece of @rb, one of the leg's own; NULL: it has none. */
static inline uint8_t *leg_bulk(const struct leg *leg, const struct leg_rbuf *rb)
{
	return leg->bulks && !rb->aside ? leg->bulks[rb - leg->rbufs] : NULL;
}

/** leg_got_answer - a call of ours does not wait for one any longer. */
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

/** leg_octets - of the message in @rb: what lies in its first piece. The transport is told of the second. */
static inline struct view leg_octets(struct leg *leg, const struct leg_rbuf *rb)
{
	uint32_t here = rb->len < leg->cfg->inline_bytes ? rb->len : leg->cfg->inline_bytes;

	if (leg->t)
		leg->t->behind = view_of(leg_bulk(leg, rb), rb->len - here);
	return view_of(rb->data, here);
}

/* leg_conn.c */

/** leg_post_recv - @rb to the fabric, or back to those it shares it with; when the leg ends, the
 * latter alone. */
void leg_post_recv(struct leg *leg, struct leg_rbuf *rb);

/** leg_stop - as leg_close(), but nothing more is sent: a post failed. */
void leg_stop(struct leg *leg, int status, const char *why);

/* leg_version.c */

/** leg_own_params - what this end is, to its transport. */
struct rpc_params leg_own_params(const struct leg *leg);

/** leg_speaks - whether @version is configured. */
bool leg_speaks(const struct leg *leg, enum leg_version version);

/** leg_version_of - what the first message @in has, @number on the wire, of what is configured. Return: 0
 * for nothing. */
enum leg_version leg_version_of(const struct leg *leg, uint32_t number, struct view in);

/** leg_set_version - make leg->t a new transport of @version. */
int leg_set_version(struct leg *leg, enum leg_version version) WARN_UNUSED;

/* leg_auth.c */

/** leg_auth_begin - where it is on: both ends' private data are known. Return: 0 or ERR_NOMEM. */
int leg_auth_begin(struct leg *leg, struct view request_data, struct view accept_data) WARN_UNUSED;

/** leg_auth_go - after a message was received, or sent: what is due. Return: NULL; or why the leg ends,
 * once what is posted, or to be said of it, is sent. */
const char *leg_auth_go(struct leg *leg) WARN_UNUSED;

/** leg_auth_must_wait - the peer's first message is at hand, and nothing may be done about it before
 * leg_admit(). */
bool leg_auth_must_wait(struct leg *leg);

/** leg_auth_lacks - the peer speaks version 1, which has none: that is known at once. */
void leg_auth_lacks(struct leg *leg);

/** leg_auth_refuse - the same, where it is required. Return: why the leg ends. */
const char *leg_auth_refuse(struct leg *leg) WARN_UNUSED;

/** leg_auth_end - forget all of it, the leg ends. */
void leg_auth_end(struct leg *leg);

/* leg_memory.c */

/** leg_take_memory - for the leg's life. Return: 0, ERR_AGAIN (the arena is short), ERR_NOMEM. */
int leg_take_memory(struct leg *leg) WARN_UNUSED;

/** leg_give_memory - all of it back, once the connection is destroyed. */
void leg_give_memory(struct leg *leg);

/** leg_take_slot, leg_free_slot - header octets for one Send; NULL when all are in use. Of those that are borrowed
 * take and give the others. */
struct leg_slot *leg_borrow_slot(struct leg *leg);
static inline struct leg_slot *leg_take_slot(struct leg *leg)
{
	struct leg_slot *slot = leg->free_slots;

	if (slot)
		leg->free_slots = slot->next;
	else
		slot = leg_borrow_slot(leg);
	if (!slot)
		return NULL;
	slot->tx = NULL;
	slot->counts = 0;
	return slot;
}

void leg_return_slot(struct leg *leg, struct leg_slot *slot);
static inline void leg_free_slot(struct leg *leg, struct leg_slot *slot)
{
	if (slot->rbuf || !slot->data) {
		leg_return_slot(leg, slot);
		return;
	}
	slot->next = leg->free_slots;
	leg->free_slots = slot;
}

/* leg_assembly.c */

/** leg_begin_assembly - a continued message of @total octets begins: it has no memory yet. */
void leg_begin_assembly(struct leg *leg, uint32_t total, enum rpc_dir dir);

/** leg_begin_reverse_call - likewise a server's call: taken or refused, but the leg does not wait. */
void leg_begin_reverse_call(struct leg *leg, uint32_t xid, uint32_t total);

/** leg_make_room - for @part, which is not the last one, and for the one behind it. Return: whether
 * there is; else the leg waits for leg_resume(), and may try again then. */
bool leg_make_room(struct leg *leg, struct view part);

/** leg_append_part - there is room for it, or the message is being discarded. */
void leg_append_part(struct leg *leg, struct view part);

/** leg_drop_assembly - nothing becomes of what has arrived. */
void leg_drop_assembly(struct leg *leg);

/** leg_give_block - takes @block, of a continued message or set aside; may be NULL. */
void leg_give_block(struct leg *leg, void *block);

/** leg_take_whole - for a message from the peer, in @dir, of @bytes, all of which have come: .assembly. Return: whether it
 * has memory now; else the leg waits for leg_resume(). */
bool leg_take_whole(struct leg *leg, uint32_t bytes, enum rpc_dir dir);

/** leg_take_whole_unwaited - the same of a server's call. Return: 0, or it was refused. */
int leg_take_whole_unwaited(struct leg *leg, uint32_t xid, uint32_t bytes);

/* leg_group.c */

/** leg_tell_group - the transport is told of the Sends that are kept, in @octets. */
void leg_tell_group(struct leg *leg, struct rpc_octets octets[RPC_MAX_TRANSMISSIONS]);

/** leg_hold_part - @rb is the next of them; what @rx says of it. */
void leg_hold_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_end_group - @rb was the last. It gathers, unless it has to wait for memory. */
void leg_end_group(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_drop_group - nothing becomes of it. */
void leg_drop_group(struct leg *leg);

/** leg_try_group - it waited for memory: once more. */
void leg_try_group(struct leg *leg);

/** leg_end_gathering - nothing more is gathered. */
void leg_end_gathering(struct leg *leg);

/** leg_next_group - it is ready: the message, into @out. */
void leg_next_group(struct leg *leg, struct leg_out *out);

/* leg_rx.c */

/** leg_on_recv - a Receive completed. */
void leg_on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_process - hand the octets in @rb to the transport and act on what comes out. */
void leg_process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out);

/** leg_also_failed - the second call that one message failed, into @out. */
void leg_also_failed(struct leg *leg, struct leg_out *out);

/* leg_tx.c */

/** leg_on_send - a Send completed. */
void leg_on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_tx_done - give @tx back to its owner. */
void leg_tx_done(struct leg_tx *tx, struct leg_out *out);

/** leg_prove - leg_auth_go(), and the end if it has come to that. */
void leg_prove(struct leg *leg);

/** leg_tx_flush - everything queued onto leg->dead: the connection ended. */
void leg_tx_flush(struct leg *leg);

/** leg_post_send - one Send whose header lies in @slot, which is freed on error; an error but
 * ERR_CLOSED stops the leg. Return: 0; 1 it has gone, and no completion follows; or an error. */
int leg_post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge, unsigned nsge,
		  uint32_t inv_handle);

#endif
