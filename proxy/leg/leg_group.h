/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_GROUP_H
#define PROXY_LEG_LEG_GROUP_H

#include "proxy/leg/internal.h"

/** leg_list_group - give the transport the Sends of the group held so far, in @octets. */
void leg_list_group(struct leg *leg, struct rpc_octets octets[RPC_MAX_TRANSMISSIONS]);

/** leg_hold_part - @rb is the next Send of the group, which @rx describes. */
void leg_hold_part(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_end_group - @rb is the last Send of the group: begin to copy it, or wait for memory. */
void leg_end_group(struct leg *leg, struct leg_rbuf *rb, const struct rpc_rx *rx);

/** leg_drop_group - drop the group. */
void leg_drop_group(struct leg *leg);

/** leg_try_group - try again to get memory for the complete group. */
void leg_try_group(struct leg *leg);

/** leg_end_group_copy - stop copying the group. */
void leg_end_group_copy(struct leg *leg);

/** leg_next_group - the group is complete and copied: report its message in @out. */
void leg_next_group(struct leg *leg, struct leg_out *out);

#endif
