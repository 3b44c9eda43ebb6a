/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_DDP_H
#define FABRIC_IWARP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/iwarp/wire.h"

/**
 * ddp.h - headers of DDP segments (RFC 5041) and of RDMAP (RFC 5040), and the
 * Terminate message. Codec only: what a header may do is checked in qp_rx.c.
 */

enum ddp_opcode {
	RDMAP_WRITE = 0,
	RDMAP_READ_REQUEST = 1,
	RDMAP_READ_RESPONSE = 2,
	RDMAP_SEND = 3,
	RDMAP_SEND_INV = 4,
	RDMAP_SEND_SE = 5,
	RDMAP_SEND_SE_INV = 6,
	RDMAP_TERMINATE = 7,
};

enum ddp_queue { DDP_QUEUE_SEND = 0, DDP_QUEUE_READ = 1, DDP_QUEUE_TERMINATE = 2, DDP_QUEUES = 3 };

enum {
	DDP_TAGGED_BYTES = 14,
	DDP_UNTAGGED_BYTES = 18,
	RDMAP_READ_BYTES = 28, /* payload of a Read Request */
	RDMAP_TERM_BYTES = 4,  /* control word, at the start of a Terminate's payload */
	RDMAP_TERM_MAX = 4 + 2 + DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES,
};

/** struct ddp_header - of one segment, tagged or untagged. */
struct ddp_header {
	bool tagged, last;
	uint8_t opcode;	     /* enum ddp_opcode once checked */
	uint32_t stag;	     /* tagged: target; untagged: STag to invalidate, or 0 */
	uint64_t offset;     /* tagged: TO; untagged: MO */
	uint32_t queue, msn; /* untagged only */
};

/** struct ddp_read - payload of a Read Request. */
struct ddp_read {
	uint32_t sink_stag;
	uint64_t sink_offset;
	uint32_t length;
	uint32_t source_stag;
	uint64_t source_offset;
};

/** struct ddp_term - reason of a Terminate: the fields of its control word. */
struct ddp_term {
	uint8_t layer, etype, code;
};

/* struct ddp_term values by name (RFC 5040 section 4.8, RFC 5041 section 8, RFC 5044 section 8,
 * RFC 6581). */
#define TERM_RDMA_INVALID_STAG ((struct ddp_term){0, 1, 0x00})
#define TERM_RDMA_BOUNDS ((struct ddp_term){0, 1, 0x01})
#define TERM_RDMA_ACCESS ((struct ddp_term){0, 1, 0x02})
#define TERM_RDMA_WRAP ((struct ddp_term){0, 1, 0x04})
#define TERM_RDMA_INVALIDATE ((struct ddp_term){0, 1, 0x09})
#define TERM_RDMA_VERSION ((struct ddp_term){0, 2, 0x05})
#define TERM_RDMA_OPCODE ((struct ddp_term){0, 2, 0x06})
#define TERM_RDMA_STREAM ((struct ddp_term){0, 2, 0x07})
#define TERM_DDP_INVALID_STAG ((struct ddp_term){1, 1, 0x00})
#define TERM_DDP_BOUNDS ((struct ddp_term){1, 1, 0x01})
#define TERM_DDP_WRAP ((struct ddp_term){1, 1, 0x03})
#define TERM_DDP_TAGGED_VERSION ((struct ddp_term){1, 1, 0x04})
#define TERM_DDP_QUEUE ((struct ddp_term){1, 2, 0x01})
#define TERM_DDP_NO_BUFFER ((struct ddp_term){1, 2, 0x02})
#define TERM_DDP_MSN ((struct ddp_term){1, 2, 0x03})
#define TERM_DDP_MO ((struct ddp_term){1, 2, 0x04})
#define TERM_DDP_TOO_LONG ((struct ddp_term){1, 2, 0x05})
#define TERM_DDP_UNTAGGED_VERSION ((struct ddp_term){1, 2, 0x06})
#define TERM_MPA_CRC ((struct ddp_term){2, 0, 0x02})
#define TERM_MPA_LENGTH ((struct ddp_term){2, 0, 0x03})
#define TERM_MPA_DEPTH ((struct ddp_term){2, 0, 0x06})

/*
 * Tagged:    |T|L| rsvd |DV| RV|rs|opcode|  STag (4) | TO (8) |
 * Untagged:  |T|L| rsvd |DV| RV|rs|opcode|  invalidate STag (4) | queue (4) | MSN (4) | MO (4) |
 */
enum { DDP_TAGGED = 0x80, DDP_LAST = 0x40, DDP_VERSION = 1, DDP_VERSION_MASK = 3 };
enum { RDMAP_VERSION = 0x40, RDMAP_VERSION_MASK = 0xc0, RDMAP_OPCODE_MASK = 0x0f };

/* STag that this end puts into messages without octets. Receivers do not check it (RFC 5040 section
 * 5.1). It is not 0, because some adapters are reported to refuse 0. Linux uses 1 for cxgb4. */
enum { RDMAP_STAG_OF_NOTHING = 1 };

/** ddp_header_bytes - length of the header that starts with control octet @control. */
static inline uint32_t ddp_header_bytes(uint8_t control)
{
	return control & DDP_TAGGED ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
}

/**
 * ddp_header_decode - decode the header of ddp_header_bytes() octets at @in
 * @term: filled on error: the Terminate for the peer
 *
 * Return: 0, ERR_VERS for another DDP or RDMAP version, ERR_TYPE for an opcode that does not exist
 *         or does not go with the tagged bit or the queue.
 */
int ddp_header_decode(const uint8_t *in, struct ddp_header *header,
		      struct ddp_term *term) WARN_UNUSED;

/** ddp_header_encode - write @h to @out, which has room for DDP_UNTAGGED_BYTES. Return: octets
 * written. (Inline, because most of the header is constant at each call.) */
static inline uint32_t ddp_header_encode(const struct ddp_header *h, uint8_t *out)
{
	out[0] = (uint8_t)((h->tagged ? DDP_TAGGED : 0) | (h->last ? DDP_LAST : 0) | DDP_VERSION);
	out[1] = (uint8_t)(RDMAP_VERSION | h->opcode);
	wire_put32(out + 2, h->stag);
	if (h->tagged) {
		wire_put64(out + 6, h->offset);
		return DDP_TAGGED_BYTES;
	}
	wire_put32(out + 6, h->queue);
	wire_put32(out + 10, h->msn);
	wire_put32(out + 14, (uint32_t)h->offset);
	return DDP_UNTAGGED_BYTES;
}

/** ddp_read_decode - RDMAP_READ_BYTES octets at @in. */
void ddp_read_decode(const uint8_t *in, struct ddp_read *read);

/** ddp_read_encode - RDMAP_READ_BYTES octets to @out. */
void ddp_read_encode(const struct ddp_read *read, uint8_t *out);

/** ddp_term_decode - decode the payload of a Terminate. Return: 0, or ERR_SHORT: there is no whole
 * control word. */
int ddp_term_decode(const uint8_t *in, size_t len, struct ddp_term *term) WARN_UNUSED;

/**
 * ddp_term_encode - encode the payload of a Terminate about the segment at fault
 * @ulpdu: first octets of that segment, as received; NULL: about no segment
 * @ulpdu_len: octets of the whole segment, for the DDP segment length field
 * @have: octets at @ulpdu. If they have the whole payload of a Read Request, the Terminate has it.
 * @out: room for RDMAP_TERM_MAX
 *
 * Return: octets written.
 */
uint32_t ddp_term_encode(struct ddp_term term, const uint8_t *ulpdu, uint32_t ulpdu_len,
			 uint32_t have, uint8_t *out);

/** ddp_term_words - @term in words for the log; static storage. */
const char *ddp_term_words(struct ddp_term term);

#endif
