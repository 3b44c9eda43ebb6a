/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_TRAITS_H
#define RPC_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rpc_traits - what a protocol version can do, and how long its headers are. For code that
 * relays messages, and plans their forms, without knowing their encoding
 *
 * One constant a version. Limits that differ from connection to connection are in struct
 * rpc_limits.
 */
struct rpc_traits {
	/*
	 * Messages may be continued over several Sends, Replies included. So no Call fails because
	 * it has no Reply chunk. A Reply chunk that is offered has the length of the longest Reply
	 * expected. If false, a Reply goes inline or into the Reply chunk, and a Reply chunk that
	 * is offered is used.
	 */
	bool continues;
	/* Credits are Calls in flight, and each error is about one of them. If false, credits are
	 * messages. */
	bool counts_calls;
	bool negotiates;    /* The ends exchange properties first. */
	bool resends;	    /* A Requester may send a Call again that is in flight. */
	bool refuses_forms; /* A Responder reports which form of a Call it does not take. */
	/* A Call names the handle that its Reply may invalidate. If false, its Reply may invalidate
	 * any handle of the Call. */
	bool names_inv;
	bool places;	     /* Data may come with a Call, in the second piece of its Receive. */
	bool padded_reads;   /* Old peers include the XDR pad in a Read chunk. */
	bool unsure_lengths; /* Some servers report wrong lengths, or truncate Replies silently. */

	/* Octets of the longest segment that may be joined from several segments of the other leg.
	 * Even a peer that announces no limit has one. */
	uint32_t joined_bytes;

	/* Octets of headers. */
	uint32_t call_header, reply_header; /* inline, without chunks */
	uint32_t part_header;		    /* a part of a continued message */
	uint32_t segment;		    /* one segment in a Write chunk or the Reply chunk */
	/* one segment in a Read chunk, with its discriminator and Position */
	uint32_t read_segment;
	uint32_t write_chunk; /* a Write chunk, without its segments */
	uint32_t reply_chunk; /* a Reply chunk offered in a Call, without its segments */
	/* a Reply in the Reply chunk: octets more than inline, without its segments */
	uint32_t reply_used;
	uint32_t call_chunk; /* a Call in a chunk: octets more than inline, without its segments */
};

#endif
