/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_INTERNAL_H
#define PROXY_LEG_INTERNAL_H

#include "proxy/leg.h"
#include "proxy/recvs.h"

/** What the files of leg share: leg.c (life), leg_memory.c, leg_rx.c (receiving), leg_tx.c (sending). */

struct leg_slot {
	struct leg_slot *next;
	uint8_t *data;	       /* NULL: to be borrowed */
	uint8_t *block;	       /* owned by the slot that lies first in it, else NULL */
	struct leg_rbuf *rbuf; /* borrowed, or NULL */
	struct leg_tx *tx;     /* NULL for a message of the transport's own */
};

/* leg.c */

/** leg_post_recv - @rb to the fabric, or back to those it shares it with; when the leg ends, the
 * latter alone. */
void leg_post_recv(struct leg *leg, struct leg_rbuf *rb);

/** leg_stop - as leg_close(), but nothing more is sent: a post failed. */
void leg_stop(struct leg *leg, int status, const char *why);

/** leg_speaks - whether @version (any number from the wire) is configured. */
bool leg_speaks(const struct leg *leg, unsigned version);

/** leg_set_version - make leg->t a new transport of @version. */
int leg_set_version(struct leg *leg, unsigned version) WARN_UNUSED;

/* leg_memory.c */

/** leg_take_memory - for the leg's life. Return: 0, ERR_AGAIN (the arena is short), ERR_NOMEM. */
int leg_take_memory(struct leg *leg) WARN_UNUSED;

/** leg_give_memory - all of it back, once the connection is destroyed. */
void leg_give_memory(struct leg *leg);

/** leg_take_slot, leg_free_slot - header octets for one Send; NULL when all are in use. */
struct leg_slot *leg_take_slot(struct leg *leg);
void leg_free_slot(struct leg *leg, struct leg_slot *slot);

/* leg_rx.c */

/** leg_on_recv - a Receive completed. */
void leg_on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_process - hand the octets in @rb to the transport and act on what comes out. */
void leg_process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out);

/* leg_tx.c */

/** leg_on_send - a Send completed. */
void leg_on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_tx_done - give @tx back to its owner. */
void leg_tx_done(struct leg_tx *tx, struct leg_out *out);

/** leg_tx_flush - everything queued onto leg->dead: the connection ended. */
void leg_tx_flush(struct leg *leg);

/** leg_post_send - one Send whose header lies in @slot, which is freed on error; an error but
 * ERR_CLOSED stops the leg. */
int leg_post_send(struct leg *leg, struct leg_slot *slot, struct fabric_sge *sge, unsigned nsge,
		  uint32_t inv_handle);

#endif
