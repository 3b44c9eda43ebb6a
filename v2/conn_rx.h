/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CONN_RX_H
#define V2_CONN_RX_H

#include "v2/conn.h"

/** Shared by the two halves of v2/conn.h only. */

/** v2_conn_recv - rpc_transport_ops.recv. */
int v2_conn_recv(struct rpc_transport *t, struct view in, struct rpc_rx *rx);

/** v2_conn_arrive - rpc_transport_ops.arrive. */
int v2_conn_arrive(struct rpc_transport *t, struct view in);

/** v2_conn_gather - rpc_transport_ops.gather. */
void v2_conn_gather(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to);

/** v2_conn_again - rpc_transport_ops.again. */
void v2_conn_again(const struct rpc_transport *t, struct view in, struct view gathered);

/** v2_conn_settle - rpc_transport_ops.settle. */
bool v2_conn_settle(struct rpc_transport *t);

/** v2_conn_authenticated - acceptor: the last message of the handshake was sent, so the properties
 * of the peer take effect. */
void v2_conn_authenticated(struct v2_conn *c);

static inline struct v2_conn *v2_conn_of(struct rpc_transport *t)
{
	return (struct v2_conn *)t;
}

static inline const struct v2_conn *v2_conn_of_const(const struct rpc_transport *t)
{
	return (const struct v2_conn *)t;
}

#endif
