/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_OPTION_H
#define V2EARLY_OPTION_H

#include "rtrext/call.h"
#include "v2early/conn.h"

/** early_peer_structure - the structure of the peer's Receives, as the operator configured it. */
void early_peer_structure(const struct rpc_transport *t, struct rtr_structure *s);

/** early_option_places - rpc_transport_ops.places. */
bool early_option_places(const struct rpc_transport *t, const struct rpc_msg *m);

/** early_option_encode - rpc_transport_ops.encode for a message that goes as an option; it may
 * be sent now. */
int early_option_encode(struct early_conn *c, struct rpc_tx *tx, uint8_t *hdr, size_t cap,
			size_t *hdr_len, size_t *body_len) WARN_UNUSED;

#endif
