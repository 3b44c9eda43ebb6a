/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_INTERNAL_H
#define PROXY_LEG_INTERNAL_H

#include "proxy/leg/leg.h"
#include "proxy/leg/recvs.h"

/**
 * State that the files of leg share. Each file uses only those before it:
 *
 *   leg_conn.c, leg_memory.c, leg_auth.c, leg_version.c, leg_tx.c (sending), leg_assembly.c,
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

/** leg_bulk - the second piece of @rb, one of the leg's own Receives; NULL: it has none. */
static inline uint8_t *leg_bulk(const struct leg *leg, const struct leg_rbuf *rb)
{
	return leg->bulks && !rb->aside ? leg->bulks[rb - leg->rbufs] : NULL;
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
		leg->t->behind = view_of(leg_bulk(leg, rb), rb->len - here);
	return view_of(rb->data, here);
}

/* leg_conn.c */

/** leg_post_recv - give @rb back: to the shared pool, or to the fabric unless the leg ends. */
void leg_post_recv(struct leg *leg, struct leg_rbuf *rb);

/** leg_stop - as leg_close(), but nothing more is sent, because a post failed. */
void leg_stop(struct leg *leg, int status, const char *why);

/* leg_version.c */

/** leg_own_params - the parameters of this end, for its transport. */
struct rpc_params leg_own_params(const struct leg *leg);

/** leg_speaks - whether @version is configured. */
bool leg_speaks(const struct leg *leg, enum leg_version version);

/** leg_version_of - the version of the first message @in, which has @number on the wire, among
 * those configured. Return: 0 if none fits. */
enum leg_version leg_version_of(const struct leg *leg, uint32_t number, struct view in);

/** leg_set_version - make leg->t a new transport of @version. */
int leg_set_version(struct leg *leg, enum leg_version version) WARN_UNUSED;

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

/* leg_memory.c */

/** leg_take_memory - take the memory for the leg's whole life. Return: 0, ERR_AGAIN (the arena is
 * short), ERR_NOMEM. */
int leg_take_memory(struct leg *leg) WARN_UNUSED;

/** leg_give_memory - give it all back, once the connection is destroyed. */
void leg_give_memory(struct leg *leg);

/**
 * leg_take_slot, leg_free_slot - a buffer for the header octets of one Send, or NULL if all are in
 * use; and back
 *
 * leg_borrow_slot() and leg_return_slot() do the same for slots that borrow their buffer.
 */
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

/** leg_begin_assembly - a continued message of @total octets begins, or a group of that many is
 * complete: it has no memory yet. */
void leg_begin_assembly(struct leg *leg, uint32_t total, enum rpc_dir dir);

/** leg_begin_reverse_call - the same for a server's call: it gets its memory now or is refused;
 * the leg never waits for it. */
void leg_begin_reverse_call(struct leg *leg, uint32_t total);

/**
 * leg_make_room - make room for @part, which is not the last part, and for the part behind it
 *
 * Return: whether there is room; else the leg waits for leg_resume() and tries again then.
 */
bool leg_make_room(struct leg *leg, struct view part);

/** leg_append_part - append @part, for which there is room, unless the message is being
 * discarded. */
void leg_append_part(struct leg *leg, struct view part);

/** leg_drop_assembly - drop the continued message in progress. */
void leg_drop_assembly(struct leg *leg);

/** leg_give_block - takes @block, of a continued message or of a copied call; @block may be NULL. */
void leg_give_block(struct leg *leg, void *block);

/** leg_take_whole - take memory (.assembly) for the whole message that leg_begin_assembly() began.
 * Return: whether it has memory; else the leg waits for leg_resume(). */
bool leg_take_whole(struct leg *leg);

/** leg_take_whole_unwaited - the same for a server's call, which does not wait. Return: 0, or an
 * error: it was refused. */
int leg_take_whole_unwaited(struct leg *leg);

/* leg_group.c */

/** leg_tell_group - give the transport the Sends of the group held so far, in @octets. */
void leg_tell_group(struct leg *leg, struct rpc_octets octets[RPC_MAX_TRANSMISSIONS]);

/** leg_hold_part - @rb is the next Send of the group, which @rx describes. */
void leg_hold_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_end_group - @rb is the last Send of the group: begin to copy it, or wait for memory. */
void leg_end_group(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_drop_group - drop the group. */
void leg_drop_group(struct leg *leg);

/** leg_try_group - try again to get memory for the complete group. */
void leg_try_group(struct leg *leg);

/** leg_end_gathering - stop copying the group. */
void leg_end_gathering(struct leg *leg);

/** leg_next_group - the group is complete and copied: report its message in @out. */
void leg_next_group(struct leg *leg, struct leg_out *out);

/* leg_rx.c */

/** leg_on_recv - a Receive completed. */
void leg_on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_process - pass the octets in @rb to the transport and act on the result. */
void leg_process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out);

/** leg_also_failed - report the second call that one message failed, in @out. */
void leg_also_failed(struct leg *leg, struct leg_out *out);

/* leg_tx.c */

/** leg_on_send - a Send completed. */
void leg_on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_tx_done - give @tx back to its owner, in @out. */
void leg_tx_done(struct leg_tx *tx, struct leg_out *out);

/** leg_prove - leg_auth_go(), and close the leg if that says so. */
void leg_prove(struct leg *leg);

/** leg_tx_flush - the connection ended: move everything queued to leg->dead. */
void leg_tx_flush(struct leg *leg);

/**
 * leg_post_send - post one Send whose header lies in @slot
 *
 * On error @slot is freed, and an error other than ERR_CLOSED stops the leg.
 *
 * Return: 0; 1: the message was copied and no completion follows; or an error.
 */
int leg_post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge, unsigned nsge,
		  uint32_t inv_handle);

#endif
