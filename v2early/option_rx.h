/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_OPTION_RX_H
#define V2EARLY_OPTION_RX_H

#include "v2early/conn.h"

/** early_option_recv - process an RDMA2_OPTIONAL, @h, that came in @in. Return: as
 * rpc_transport_ops.recv. */
int early_option_recv(struct early_conn *c, const struct early_header *h, struct view in,
		      struct rpc_rx *rx) WARN_UNUSED;

/**
 * early_option_refused - the peer refused the call @xid of this end. If the call was sent as an
 * option, this call and later ones are formed in another way
 * @lacks: set if the call was sent as an option
 */
int early_option_refused(struct early_conn *c, uint32_t xid, bool *lacks,
			 struct rpc_rx *rx) WARN_UNUSED;

/**
 * early_option_group - find out what a received message means for the group in progress. Call it
 * before any other processing of the message
 * @rc, @dir: of decoding it
 * @err: as rpc_transport_ops.recv
 *
 * Return: whether the message needs no other processing.
 */
bool early_option_group(struct early_conn *c, const struct early_header *h, int rc,
			enum rpc_dir dir, struct rpc_rx *rx, int *err);

/** early_option_again - decode a Transmit Request once more: rpc_transport_ops.again. */
void early_option_again(const struct rpc_transport *t, const struct rpc_octets *octets,
			struct view gathered);

/** early_option_gather - rpc_transport_ops.gather. */
void early_option_gather(struct rpc_transport *t, uint8_t *block, uint32_t from, uint32_t to);

#endif
