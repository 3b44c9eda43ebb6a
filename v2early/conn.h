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
	EARLY_INLINE_BYTES = 4096, /* both thresholds: section 2.3 */
	EARLY_FIRST_BYTES = 1024,  /* of the first message: section 5 */
	EARLY_SEGMENT_COUNT = 16,  /* in one header: as in version 1 */
	EARLY_OPTIONS = 64,	   /* calls sent as options that are in flight */
};

/** struct early_option - a call of ours that was sent as an option, and has not been answered. */
struct early_option {
	uint32_t xid;
	bool is_open; /* there is one */
	bool asked;   /* with wishes */
	bool is_let_go;
	uint8_t more; /* credits that it holds beside a call's: of what continued it */
	uint8_t kept; /* Receives for its response, beside that for a reply */
};

/**
 * struct early_conn - one connection of the early draft of version 2
 * (draft-cel-nfsv4-rpcrdma-version-two-01), either role, behind the interface of rpc/transport.h
 *
 * What its user has to keep is what struct v1_conn asks for (v1/conn.h): Receives for calls and for
 * replies, set_credits(), what frees a credit. Beside that:
 * - An initiator's first message is a call, and the only one until its reply came. peer.send_bytes is
 *   EARLY_FIRST_BYTES so long, so a message that was formed for it may be sent later as well.
 * - recv() returns ERR_VERS when an acceptor refuses version 2, or speaks the other dialect of it,
 *   after a message of ours: that message is lost with the connection.
 * - Direction follows from role and message: rpc_tx.reverse is not looked at.
 */
struct early_conn {
	struct rpc_transport t; /* first: the ops are given a pointer to it */
	struct rpc_account calls;
	bool is_spoken; /* the peer has sent an RPC message in this dialect that counts */
	struct early_reports reports;
	/* The round-trip extension. */
	struct early_option options[EARLY_OPTIONS]; /* by XID modulo their number */
	bool lacks_rtr;				    /* the peer refused one */
	bool answers_options;			    /* it has answered one with wishes */
	bool lacks_answers;	/* it refused one with wishes, for these: it sends no responses */
	bool lacks_data;	/* it refused data in a response */
	uint32_t most;		/* transmissions of one that it takes, as far as is known */
	struct rtr_group group; /* a request or response that is being received */
	bool group_dropped;	/* ... was ended: what comes of .group.lead yet is dropped */
	/* One of ours that is begun and not ended: its direction, XID and transmissions. */
	bool tx_open;
	enum rpc_dir tx_dir;
	uint32_t tx_xid, tx_count;
};

/**
 * early_conn_init - a connection just established; ready at once
 * @own: copied
 *
 * Return: 0, or ERR_CONFIG when @own cannot work: no credits, Receives of less than
 * the 4096 octets every receiver MUST support (section 2.3), Sends of less than 1024, or a version
 * range without 2.
 */
int early_conn_init(struct early_conn *c, const struct rpc_params *own) WARN_UNUSED;

#endif
