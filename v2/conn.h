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
 * struct v2_conn - one connection of RPC-over-RDMA version 2, either role, behind the interface of
 * rpc/transport.h
 *
 * Behaviour that the interface leaves to a version:
 * - A continued message, once begun with encode(), must be encoded to its end. Meanwhile may_send()
 *   is false for any other, and control() has nothing.
 * - .ready may become true without RPC_RX_READY: with the RPC_RX_MSG or RPC_RX_PART of a peer that
 *   sends no properties. Then the defaults hold. RPC_RX_READY follows if the properties come later.
 * - A malformed Reply, or a continued Reply that was abandoned, is reported as RPC_RX_ERROR with
 *   RPC_ERROR_SYSTEM, so that its transaction can end.
 * - .error_dir of RPC_RX_ERROR is RPC_REPLY, because the wire does not tell what was answered. It
 *   is RPC_CALL only for an INVAL_CONT that can be about nothing but a continued Reply of this end.
 * - call_credits() is an estimate of what the peer advertises: the widest window that the peer ever
 *   opened. Credits are messages here, and calls in flight hold none.
 * - set_credits() to a lower number takes nothing back: the Receives already granted must stay
 *   posted until the messages for them have come.
 * - forget() frees nothing, because the credit of a message does not depend on its answer.
 * - recv() returns ERR_VERS or ERR_TYPE when the peer reports that it does not take this version,
 *   or a message type that nothing can replace.
 */
enum v2_state {
	V2_OPENING,	/* nothing of version 2 was received yet */
	V2_NEGOTIATING, /* the peer speaks version 2; its last CONNPROP has not come */
	V2_OPEN,	/* RPC messages may flow */
	V2_CLOSED,	/* other version, or a breach that ends the connection */
};

enum { V2_MAX_MESSAGE = 8 << 20, V2_SENT = 64, V2_SENT_REPLIES = 32 };

/** struct v2_report - an RDMA2_ERROR that waits for its credit. */
struct v2_report {
	uint32_t xid, vers; /* copied from the message it answers, section 7 */
	/* if .fault has a .code: .a has V2_FAULT_ bits, .b the XID of the group that led to the
	 * fault */
	struct rpc_error error;
	/* if it has a .code, the report is a Report Error about this fault */
	struct rtr_fault fault;
	uint32_t number; /* number of the transmission */
};

enum { V2_FAULT_REPLY = 1, V2_FAULT_HAS_LEAD = 2, V2_FAULT_LEAD_REPLY = 4 };

/** struct v2_rtr_peer - the peer's support of the round-trip extension: rtr.h. */
struct v2_rtr_peer {
	uint32_t support;
	/* most transmissions that the peer accepts in a Transmit Request; 0 counts as 1 */
	uint32_t requests;
	struct rtr_structure structure;
};

/** struct v2_sent - a message that this end sent in another form than INLINE. The entry is made at
 * its first Send. */
struct v2_sent {
	uint32_t xid;
	uint32_t bytes;	      /* octets of payload stream */
	uint32_t after;	      /* value of .credit.sent after its last Send */
	uint16_t parts;	      /* number of its Sends */
	uint16_t type_errors; /* number of ERR_INVAL_HTYPEs received about its parts */
	uint16_t stale;	      /* reports still expected about parts of the form before this one */
	uint8_t htype;	      /* low octet of the type, which is unique among the types kept here */
	bool answered;
};

/** struct v2_asked - a Call of this end in flight, of any type, and the number of segments in its
 * chunks. */
struct v2_asked {
	/* low bits of the XID, without those that are the index of the entry */
	uint16_t xid;
	uint16_t segments;
};

_Static_assert(V2_MAX_MESSAGE / 256 <= UINT16_MAX,
	       "a part takes far more: no peer receives less than 1024");

struct v2_conn {
	struct rpc_transport t; /* must be the first member */
	enum v2_state state;
	struct v2_credit credit;
	uint32_t arrived;    /* messages that arrive() has counted and recv() has not seen */
	struct v2_cont cont; /* .max_bytes may be set after init */
	/* a call waits for the Reply that .cont or .group receives; false if the call was
	 * abandoned */
	bool is_awaited;

	struct v2_props props; /* properties received; applied together when the last one is in */
	bool props_begun;      /* a CONNPROP_MIDDLE came, and no CONNPROP_FINAL yet */
	bool final_received, final_sent;
	struct v2_auth *auth; /* may be set after init; borrowed; NULL: property 6 is ignored */
	struct view hostauth; /* property 6 of the message last received; valid until the next */

	int32_t owed; /* Calls of the peer for which a Reply or a report is still due */

	bool tx_open; /* this end has begun a continued message that is not complete */
	uint32_t tx_xid;
	enum rpc_dir tx_dir;

	/* Indexed by XID modulo the number of entries. Each entry is the last message with its
	 * index. An RDMA2_ERROR can be about few messages. */
	struct v2_sent sent[V2_SENT], sent_replies[V2_SENT_REPLIES];
	struct v2_asked asked[V2_SENT];
	bool lacks_external, lacks_middle; /* the peer does not take Calls of these types */
	/* limits learned from the peer's refusals; 0: none */
	uint32_t continue_bytes, segment_count;
	struct v2_rtr_peer rtr;
	struct rtr_group group; /* the group that is being received */
	/* the group was abandoned: further transmissions of .group.lead are dropped */
	bool group_dropped;
	bool lacks_rtr;	     /* the peer refused a Transmit Request */
	bool lacks_rtr_data; /* the peer refused data in a Transmit Response */
	/* the peer sends no Transmit Responses: its limit for them is 0 */
	bool lacks_rtr_responses;
	bool waits; /* a message of several Sends waits for credits: credit_cover.h */

	struct v2_report reports[RPC_REPORTS]; /* a ring */
	unsigned report_head;
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
