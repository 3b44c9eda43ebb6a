/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CONN_H
#define V2_CONN_H

#include "rpc/transport.h"
#include "rtrext/group.h"
#include "rtrext/message.h"
#include "rtrext/structure.h"
#include "v2/auth.h"
#include "v2/cont.h"
#include "v2/credit.h"
#include "v2/header.h"

/**
 * struct v2_conn - one connection of RPC-over-RDMA version 2, either role, behind
 * the interface of rpc/transport.h
 *
 * What the interface leaves to a version:
 * - A continued message, once begun with encode(), must be encoded to its end;
 *   meanwhile may_send() is false for any other, and control() has nothing.
 * - .ready may rise without RPC_RX_READY: with the RPC_RX_MSG or RPC_RX_PART of a
 *   peer that sends no properties. Defaults hold then, and RPC_RX_READY follows
 *   if the properties come after all.
 * - A malformed Reply, or a continued one given up, comes as RPC_RX_ERROR with
 *   RPC_ERROR_SYSTEM, so that the transaction it belongs to can end.
 * - RPC_RX_ERROR is RPC_REPLY, for the wire does not tell what was answered; but an
 *   INVAL_CONT that can be about a continued Reply of ours alone is RPC_CALL.
 * - call_credits() is an estimate of what the peer advertises, the widest window
 *   it ever opened: credits are messages here, and calls in flight hold none.
 * - set_credits() to less takes nothing back: the Receives already granted must
 *   stay posted until the messages for them have come.
 * - forget() frees nothing: a message's credit does not wait for an answer.
 * - recv() returns ERR_VERS or ERR_TYPE when the peer says that it does not take
 *   this version, or a message type that nothing can replace.
 */
enum v2_state {
	V2_OPENING,	/* nothing of version 2 was received yet */
	V2_NEGOTIATING, /* the peer speaks version 2; its last CONNPROP has not come */
	V2_OPEN,	/* RPC messages may flow */
	V2_CLOSED,	/* other version, or a breach that ends the connection */
};

enum { V2_REPORTS = 32, V2_MAX_MESSAGE = 8 << 20, V2_SENT = 64, V2_SENT_REPLIES = 32 };

/** struct v2_report - an RDMA2_ERROR that waits for its credit. */
struct v2_report {
	uint32_t xid, vers;	/* as the message it answers had them, section 7 */
	struct rpc_error error; /* with a fault .a: V2_FAULT_ bits; .b: XID of what led to it */
	struct rtr_fault fault; /* with a .code: Report Error, about that */
	uint32_t number;	/* of the transmission */
};

enum { V2_FAULT_REPLY = 1, V2_FAULT_HAS_LEAD = 2, V2_FAULT_LEAD_REPLY = 4 };

/** struct v2_rtr_peer - what the peer has of the round-trip extension: rtr.h. */
struct v2_rtr_peer {
	uint32_t support;
	uint32_t requests; /* transmissions of one that it takes; 0 counts as 1 */
	struct rtr_structure structure;
};

/** struct v2_sent - a message of ours that was not simply inline, by its first Send. */
struct v2_sent {
	uint32_t xid;
	uint32_t bytes; /* of payload stream */
	uint32_t after; /* messages sent once it was, all kinds */
	uint16_t parts; /* Sends it takes */
	uint16_t told;	/* ERR_INVAL_HTYPEs about its parts */
	uint16_t stale; /* reports to come yet about parts of the form before this one */
	uint8_t htype;	/* the low octet, by which those that are kept here can be told apart */
	bool answered;
};

/** struct v2_asked - a Call of ours in flight, of any type: the segments that its chunks had. */
struct v2_asked {
	uint16_t xid; /* without the part that its place tells, and the highest bits */
	uint16_t segments;
};

_Static_assert(V2_MAX_MESSAGE / 256 <= UINT16_MAX,
	       "a part takes far more: no peer receives less than 1024");

struct v2_conn {
	struct rpc_transport t; /* first member */
	enum v2_state state;
	struct v2_credit credit;
	uint32_t arrived;    /* messages accounted for that recv() has not seen */
	struct v2_cont cont; /* .max_bytes may be set after init */
	bool is_awaited;     /* the Reply it takes, or .group is: its call was not let go */

	struct v2_props props; /* received, applied together when the last one is in */
	bool props_begun;      /* a CONNPROP_MIDDLE came, and no FINAL yet */
	bool final_received, final_sent;
	struct v2_auth
		*auth; /* may be set after init; borrowed; NULL: property 6 decides nothing */
	struct view hostauth; /* property 6 of the message last received; valid until the next */

	int32_t owed; /* Calls of the peer that a Reply or a report is still to come for */

	bool tx_open; /* a continued message of ours is begun and not ended */
	uint32_t tx_xid;
	enum rpc_dir tx_dir;

	/* By XID modulo their number, the last of each: Calls and Replies. What an error is about
	 * that can be about few. */
	struct v2_sent sent[V2_SENT], sent_replies[V2_SENT_REPLIES];
	struct v2_asked asked[V2_SENT];
	bool lacks_external, lacks_middle;	/* the peer said so of these types of Call */
	uint32_t continue_bytes, segment_count; /* it refused more; 0: nothing yet */
	struct v2_rtr_peer rtr;
	struct rtr_group group;	  /* being received */
	bool group_dropped;	  /* ... was ended: what comes of .group.lead yet is dropped */
	bool lacks_rtr;		  /* it refused a Transmit Request */
	bool lacks_rtr_data;	  /* ... or data in a Transmit Response */
	bool lacks_rtr_responses; /* it sends none: its limit for them is 0 */
	bool waits;		  /* a message of several Sends, for credits: cover.h */

	struct v2_report reports[V2_REPORTS]; /* a ring */
	unsigned report_head, nreports;
};

/**
 * v2_conn_init - a new connection
 * @own: copied
 *
 * Return: 0, or ERR_CONFIG: Receives below 4096 octets (section 4.2.2), Sends
 * below 1024, credits below 2 or not below 2^31 - 1, or no segment size.
 */
int v2_conn_init(struct v2_conn *c, const struct rpc_params *own) WARN_UNUSED;

#endif
