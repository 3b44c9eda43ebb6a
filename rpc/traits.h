/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_TRAITS_H
#define RPC_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rpc_traits - what a protocol version is like, to those who relay its messages and plan
 * their forms without knowing how they are encoded
 *
 * One constant a version. What differs from connection to connection is in struct rpc_limits.
 */
struct rpc_traits {
	/* Messages may be continued over several Sends; Replies, too, so that no Call fails for want of a
	 * Reply chunk, and one that is offered is as long as the longest Reply expected. Else a
	 * Reply goes inline or into the Reply chunk, and one that is offered is used. */
	bool continues;
	bool counts_calls; /* credits are Calls in flight, and each error is about one; else messages */
	bool negotiates;    /* ends tell each other their properties first */
	bool resends;	    /* a Requester may send a Call again that is in flight */
	bool refuses_forms; /* a Responder reports which form of a Call it does not take */
	bool names_inv;	   /* a Call names the handle that its Reply may invalidate; else any of its
			     * own may be */
	bool places;	   /* data may come with a Call, in the second piece of its Receive */
	bool padded_reads; /* old peers send a Read chunk with its XDR pad */
	bool unsure_lengths; /* servers are known that tell lengths wrongly, or cut Replies in silence */

	uint32_t
		joined_bytes; /* longest segment to make of several that were offered elsewhere: peers without a
				* limit that they could tell have one all the same */

	/* Octets of headers. */
	uint32_t call_header, reply_header; /* inline, without chunks */
	uint32_t part_header;		    /* of a part of a continued message */
	uint32_t segment;		    /* in a Write chunk or the Reply chunk */
	uint32_t read_segment;		    /* in a Read chunk, with what comes with it */
	uint32_t write_chunk;		    /* beside its segments */
	uint32_t reply_chunk;		    /* offered in a Call, beside its segments */
	uint32_t reply_used; /* a Reply that lies in it: beside its segments, more than inline */
	uint32_t
		call_chunk; /* a Call that lies in a chunk: beside that's segments, more than inline */
};

#endif
