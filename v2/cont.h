/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_CONT_H
#define V2_CONT_H

#include "v2/header.h"

/**
 * struct v2_cont - the receiving side of Message Continuation (sections 4.1, 6.3.6, 6.3.9, 6.6.2
 * and 7.1.4)
 *
 * One message at a time may be under way, because payload streams MUST NOT interleave.
 */
enum { V2_CONT_DROPS = 4 };

struct v2_cont {
	bool active;
	uint32_t xid;
	enum rpc_dir dir;
	uint32_t remaining; /* octets of payload stream still to come */
	uint32_t max_bytes; /* length of the longest continued message accepted here */

	/* Abandoned messages, whose later parts are discarded in silence. */
	struct v2_cont_drop {
		bool on;
		uint32_t xid;
		enum rpc_dir dir;
	} drops[V2_CONT_DROPS];
	unsigned next_drop;
	bool has_drops; /* .drops is in use: a message was abandoned on this connection */
};

/**
 * v2_cont_is_dropped - whether a message is a late part of an abandoned message
 * @payload: the octets behind its header
 *
 * 7.1.4: discard all messages with an XID that matches the failing message. A message that begins
 * anew is not one of these: an EXTERNAL type, or a payload stream that begins as an RPC message of
 * this XID does (protocol decision 86). Such a message, and the part that would have been the last,
 * end the dropping, so that the XID can be used again. The function then removes the entry from
 * .drops.
 */
bool v2_cont_is_dropped(struct v2_cont *c, const struct v2_type *type, uint32_t xid,
			struct view payload);

/* Private: for v2_cont_is_dropping(). */
bool v2_cont_is_in_drops(const struct v2_cont *c, uint32_t xid);

/** v2_cont_is_dropping - whether parts of a message @xid, in either direction, are dropped. */
static inline bool v2_cont_is_dropping(const struct v2_cont *c, uint32_t xid)
{
	return c->has_drops && v2_cont_is_in_drops(c, xid);
}

/** v2_cont_is_misnamed - whether @m, a decoded Call or a first part of one, contains an RPC
 * Reply with its XID (RFC 5531 9). */
bool v2_cont_is_misnamed(const struct v2_cont *c, const struct v2_type *type,
			 const struct rpc_msg *m);

/** v2_cont_is_next - whether a message of @type and @xid may follow now. */
bool v2_cont_is_next(const struct v2_cont *c, const struct v2_type *type, uint32_t xid);

/**
 * v2_cont_take - process a decoded Call or Reply, or a part of one
 *
 * Also checks what depends on the place in the sequence: a payload stream begins with the XID of
 * the header (section 7.2), and no Call contains a Reply.
 * Return: 0; ERR_XDR, to be reported as BAD_XDR; ERR_CONT, as INVAL_CONT.
 */
int v2_cont_take(struct v2_cont *c, const struct v2_type *type, const struct v2_hdr *h,
		 const struct rpc_msg *m) WARN_UNUSED;

/** v2_cont_give_up - from now on, drop parts of the message @xid in direction @dir. */
void v2_cont_give_up(struct v2_cont *c, uint32_t xid, enum rpc_dir dir);

#endif
