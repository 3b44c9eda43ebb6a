/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_RX_H
#define PROXY_LEG_LEG_RX_H

#include "proxy/leg/internal.h"

/** leg_on_recv - a Receive completed. */
void leg_on_recv(struct leg *leg, const struct fabric_event *ev, struct leg_out *out);

/** leg_process - pass the octets in @rb to the transport and act on the result. */
void leg_process(struct leg *leg, struct leg_rbuf *rb, struct leg_out *out);

/** leg_also_failed - report the second call that one message failed, in @out. */
void leg_also_failed(struct leg *leg, struct leg_out *out);

#endif
