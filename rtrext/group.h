/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_GROUP_H
#define RTREXT_GROUP_H

#include "rtrext/message.h"
#include "rtrext/structure.h"

/**
 * Transmission groups: the order of their transmissions, and the places of items in them
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-02, sections 4, 6.2 and 7; docs/rtrext-profile.md, sections
 * 4, 5 and 6). Pure functions, except for struct rtr_group, the state of a group under way.
 */

/** struct rtr_group - a group that is being received; all zero: none. */
struct rtr_group {
	bool is_open;
	struct rtr_id lead; /* first transmission of the group */
	uint32_t began;	    /* type that CONTINUEs have to name */
	uint32_t count;
	uint32_t next; /* number of the transmission that comes next */
};

/**
 * rtr_group_begin - @m, a REQUEST or RESPONSE, was received
 * @type: its header type or option, which CONTINUEs have to name
 * @most: most transmissions of such a group that this end accepts
 *
 * Return: 0: if .is_open, more transmissions follow; ERR_CONT with @fault: the group is too long.
 */
int rtr_group_begin(struct rtr_group *g, const struct rtr_msg *m, const struct rtr_id *id,
		    uint32_t type, uint32_t most, struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_group_continue - @m, a CONTINUE, was received as @id (its .number is that of @m)
 *
 * Return: 0: if .is_open, more transmissions follow; ERR_CONT with @fault: the group, if there was
 *         one, has ended.
 */
int rtr_group_continue(struct rtr_group *g, const struct rtr_msg *m, const struct rtr_id *id,
		       struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_group_interrupt - another message was received: header type, or option, @type
 * @is_option: the message is an option, and @type is its type
 * @expected: header type or option of a CONTINUE
 *
 * Return: 0, or ERR_CONT with @fault if a group was open; it has ended.
 */
int rtr_group_interrupt(struct rtr_group *g, uint32_t type, bool is_option, uint32_t expected,
			struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_check_payload - check the payload stream of @m within one transmission
 * @has_next: another transmission follows: the stream has to end with a whole word
 * @left: octets behind its header
 *
 * Return: 0, or ERR_CONT with @fault.
 */
int rtr_check_payload(const struct rtr_msg *m, bool has_next, uint32_t left,
		      struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_check_items - whether the items of @m, a REQUEST or RESPONSE, are consistent
 * @own: structure of this end's Receives
 *
 * - Positions rise and items do not overlap. This is not checked for items whose Position a
 *   response omits.
 * - An item placed by Send fills exactly the segments that it names, from its offset on. The offset
 *   is a multiple of four. No segment is used twice, and the numbers of the segments rise.
 * - An item placed by explicit RDMA fits its segments.
 * Return: 0; ERR_CONT with @fault; ERR_XDR for a breach that no fault exists for.
 */
int rtr_check_items(const struct rtr_msg *m, const struct rtr_structure *own,
		    struct rtr_fault *fault) WARN_UNUSED;

/**
 * rtr_check_taken - call after rtr_check_items(): transmission @number of the group that @m began
 * has come
 *
 * No item may be in the first @taken octets of the transmission, which are header and payload
 * stream, nor after its @bytes octets.
 * Return: 0, or ERR_CONT with @fault.
 */
int rtr_check_taken(const struct rtr_msg *m, const struct rtr_structure *own, uint32_t number,
		    uint32_t taken, uint32_t bytes, struct rtr_fault *fault) WARN_UNUSED;

/** rtr_may_become - Table 2: whether @result is allowed for an item that was requested as @wish. */
bool rtr_may_become(enum rtr_type wish, enum rtr_type result);

/** rtr_is_within - whether @used are the segments @offered, filled with @length octets from the
 * first octet on: the same segments, of which the last is shortened. */
bool rtr_is_within(const struct segment *offered, unsigned noffered, const struct segment *used,
		   unsigned nused, uint64_t length);

/**
 * rtr_check_response - whether @res answers the wishes of @req: one item for each, in order, of a
 * type that Table 2 of the draft allows, and in the segments that were offered
 *
 * Return: 0 or ERR_XDR.
 */
int rtr_check_response(const struct rtr_msg *req, const struct rtr_msg *res) WARN_UNUSED;

/** struct rtr_piece - octets of one item in one transmission. */
struct rtr_piece {
	uint32_t transmission; /* number in the group; the first is 0 */
	uint32_t at;	       /* offset in the transmission, octets */
	uint32_t number;       /* number of the segment, within the group */
	uint32_t item, from, length;
};

/**
 * rtr_lay_out - compute the places of items of @lengths in a group toward an end with Receives of
 * @to
 * @taken:    octets of header and payload stream in the first transmission
 * @later:    the same in each further transmission
 * @pieces:   filled, @cap of them at most, in the order of the wire
 * @transmissions: number of transmissions; 1 or more
 *
 * Each item begins in a segment of its own, at its first octet. Octets between pieces have to be
 * zero.
 * Return: number of pieces; ERR_TOOBIG: they do not fit in @cap; ERR_NOSPACE: @to has no segment
 *         for them.
 */
int rtr_lay_out(const struct rtr_structure *to, uint32_t taken, uint32_t later,
		const uint32_t *lengths, unsigned n, struct rtr_piece *pieces, unsigned cap,
		uint32_t *transmissions) WARN_UNUSED;

#endif
