/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2EARLY_CONN_H
#define V2EARLY_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "rpc/account.h"
#include "rpc/transport.h"
#include "rtrext/group.h"
#include "v2early/header.h"
#include "v2early/report.h"

enum {
	EARLY_INLINE_BYTES = 4096, /* both inline thresholds: section 2.3 */
	EARLY_FIRST_BYTES = 1024,  /* most octets of the first message: section 5 */
	EARLY_SEGMENT_COUNT = 16,  /* segments in one header: as in version 1 */
	EARLY_OPTIONS = 64,	   /* most calls in flight that were sent as options */
};

/** struct early_option - a call of this end that was sent as an option (RDMA2_OPTIONAL) and is not
 * answered. */
struct early_option {
	uint32_t xid;
	bool is_open; /* the entry is in use */
	bool is_let_go;
	uint8_t more; /* credits that its continuations hold, beyond the call's own */
	uint8_t kept; /* Receives reserved for its response, beyond the one for a reply */
};

/**
 * struct early_conn - one connection of the early draft of version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-01), either role, behind the interface of rpc/transport.h
 *
 * Its user keeps the rules of struct v1_conn (v1/conn.h): Receives for calls and for replies,
 * set_credits(), and what frees a credit. Further rules:
 * - An initiator's first message is a call, and the only one until its reply came. peer.send_bytes
 *   is EARLY_FIRST_BYTES until then, so a message that was formed for that limit may also be sent
 *   later.
 * - recv() returns ERR_VERS when an acceptor refuses version 2, or speaks draft -07, after this end
 *   has sent a message. That message is lost with the connection.
 * - The direction follows from role and message: rpc_tx.reverse is not looked at.
 */
struct early_conn {
	struct rpc_transport t; /* must be the first field: the ops get a pointer to it */
	struct rpc_account calls;
	bool is_spoken; /* the peer has sent a valid RPC message of the early draft */
	struct early_reports reports;
	/* State of the round-trip extension. */
	struct early_option options[EARLY_OPTIONS]; /* indexed by XID modulo their number */
	bool lacks_rtr;				    /* the peer refused a Transmit Request */
	bool lacks_data;			    /* the peer refused data in a response */
	/* most transmissions of a Transmit Request that it takes, as far as is known */
	uint32_t most;
	struct rtr_group group; /* the request or response that is being received */
	/* the group was abandoned: further transmissions of .group.lead are dropped */
	bool group_dropped;
	/* The group that this end has begun and not completed: whether there is one, its direction,
	 * its XID, and its number of transmissions sent. */
	bool tx_open;
	enum rpc_dir tx_dir;
	uint32_t tx_xid, tx_count;
};

/**
 * early_conn_init - a connection just established; .ready at once
 * @own: copied
 *
 * Return: 0, or ERR_CONFIG when @own cannot work: no credits, Receives of less than the 4096 octets
 *         every receiver MUST support (section 2.3), Sends of less than 1024, or a version range
 *         without 2.
 */
int early_conn_init(struct early_conn *c, const struct rpc_params *own) WARN_UNUSED;

#endif
