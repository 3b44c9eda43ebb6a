/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_TX_H
#define PROXY_LEG_LEG_TX_H

#include "proxy/leg/internal.h"

/** leg_on_send - a Send completed. */
void leg_on_send(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_tx_done - give @tx back to its owner, in @out. */
void leg_tx_done(struct leg_tx *tx, struct leg_out *out);

/** leg_prove - do leg_auth_go(), and close the leg if leg_auth_go() returns why the leg ends. */
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
