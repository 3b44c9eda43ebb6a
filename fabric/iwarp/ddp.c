/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/ddp.h"

#include <string.h>

#include "fabric/iwarp/wire.h"

/* Which kind of segment and which queue each opcode uses (RFC 5040 section 4.1, figure 3). */
static const struct {
	bool tagged;
	uint8_t queue;
} opcodes[] = {
	[RDMAP_WRITE] = {true, 0},
	[RDMAP_READ_REQUEST] = {false, DDP_QUEUE_READ},
	[RDMAP_READ_RESPONSE] = {true, 0},
	[RDMAP_SEND] = {false, DDP_QUEUE_SEND},
	[RDMAP_SEND_INV] = {false, DDP_QUEUE_SEND},
	[RDMAP_SEND_SE] = {false, DDP_QUEUE_SEND},
	[RDMAP_SEND_SE_INV] = {false, DDP_QUEUE_SEND},
	[RDMAP_TERMINATE] = {false, DDP_QUEUE_TERMINATE},
};

enum { OPCODES = sizeof(opcodes) / sizeof(opcodes[0]) };

static int bad_header(int err, struct ddp_term what, struct ddp_term *term)
{
	*term = what;
	return err;
}

int ddp_header_decode(const uint8_t *in, struct ddp_header *h, struct ddp_term *term)
{
	h->tagged = in[0] & DDP_TAGGED;
	h->last = in[0] & DDP_LAST;
	h->opcode = in[1] & RDMAP_OPCODE_MASK;
	h->stag = wire_get32(in + 2);
	if (h->tagged) {
		h->offset = wire_get64(in + 6);
		h->queue = h->msn = 0;
	} else {
		h->queue = wire_get32(in + 6);
		h->msn = wire_get32(in + 10);
		h->offset = wire_get32(in + 14);
	}
	if ((in[0] & DDP_VERSION_MASK) != DDP_VERSION)
		return bad_header(ERR_VERS,
				  h->tagged ? TERM_DDP_TAGGED_VERSION : TERM_DDP_UNTAGGED_VERSION,
				  term);
	if ((in[1] & RDMAP_VERSION_MASK) != RDMAP_VERSION)
		return bad_header(ERR_VERS, TERM_RDMA_VERSION, term);
	if (!h->tagged && h->queue >= DDP_QUEUES)
		return bad_header(ERR_TYPE, TERM_DDP_QUEUE, term);
	if (h->opcode >= OPCODES || opcodes[h->opcode].tagged != h->tagged ||
	    (!h->tagged && opcodes[h->opcode].queue != h->queue))
		return bad_header(ERR_TYPE, TERM_RDMA_OPCODE, term);
	return 0;
}

void ddp_read_decode(const uint8_t *in, struct ddp_read *read)
{
	read->sink_stag = wire_get32(in);
	read->sink_offset = wire_get64(in + 4);
	read->length = wire_get32(in + 12);
	read->source_stag = wire_get32(in + 16);
	read->source_offset = wire_get64(in + 20);
}

void ddp_read_encode(const struct ddp_read *read, uint8_t *out)
{
	wire_put32(out, read->sink_stag);
	wire_put64(out + 4, read->sink_offset);
	wire_put32(out + 12, read->length);
	wire_put32(out + 16, read->source_stag);
	wire_put64(out + 20, read->source_offset);
}

/*
 * Terminate control: layer (4 bits), error type (4), error code (8), then the
 * bits M (segment length follows), D (DDP header), R (RDMAP header), 13 reserved.
 */
enum { TERM_M = 0x80, TERM_D = 0x40, TERM_R = 0x20 };

int ddp_term_decode(const uint8_t *in, size_t len, struct ddp_term *term)
{
	if (len < RDMAP_TERM_BYTES)
		return ERR_SHORT;
	*term = (struct ddp_term){.layer = in[0] >> 4, .etype = in[0] & 0x0f, .code = in[1]};
	return 0;
}

uint32_t ddp_term_encode(struct ddp_term term, const uint8_t *ulpdu, uint32_t ulpdu_len,
			 uint32_t have, uint8_t *out)
{
	uint32_t header = ulpdu && have ? ddp_header_bytes(ulpdu[0]) : 0;
	uint32_t len = RDMAP_TERM_BYTES;

	out[0] = (uint8_t)(term.layer << 4 | term.etype);
	out[1] = term.code;
	out[2] = out[3] = 0;
	if (!header || have < header)
		return len;
	out[2] = TERM_M | TERM_D;
	wire_put16(out + len, (uint16_t)ulpdu_len);
	len += 2;
	memcpy(out + len, ulpdu, header);
	len += header;
	if ((ulpdu[1] & RDMAP_OPCODE_MASK) == RDMAP_READ_REQUEST && header == DDP_UNTAGGED_BYTES &&
	    have >= header + RDMAP_READ_BYTES) {
		out[2] |= TERM_R;
		memcpy(out + len, ulpdu + header, RDMAP_READ_BYTES);
		len += RDMAP_READ_BYTES;
	}
	return len;
}

static const struct {
	struct ddp_term term;
	const char *words;
} term_words[] = {
	{{0, 0, 0x00}, "RDMAP: local catastrophic error"},
	{{0, 1, 0x00}, "RDMAP: invalid STag"},
	{{0, 1, 0x01}, "RDMAP: base or bounds violation"},
	{{0, 1, 0x02}, "RDMAP: access rights violation"},
	{{0, 1, 0x03}, "RDMAP: STag not associated with the stream"},
	{{0, 1, 0x04}, "RDMAP: tagged offset wraps"},
	{{0, 1, 0x09}, "RDMAP: STag cannot be invalidated"},
	{{0, 1, 0xff}, "RDMAP: unspecified protection error"},
	{{0, 2, 0x05}, "RDMAP: invalid RDMAP version"},
	{{0, 2, 0x06}, "RDMAP: unexpected opcode"},
	{{0, 2, 0x07}, "RDMAP: catastrophic error of the stream"},
	{{0, 2, 0x08}, "RDMAP: catastrophic error, global"},
	{{0, 2, 0x09}, "RDMAP: STag cannot be invalidated"},
	{{0, 2, 0xff}, "RDMAP: unspecified operation error"},
	{{1, 0, 0x00}, "DDP: local catastrophic error"},
	{{1, 1, 0x00}, "DDP: invalid STag"},
	{{1, 1, 0x01}, "DDP: base or bounds violation"},
	{{1, 1, 0x02}, "DDP: STag not associated with the stream"},
	{{1, 1, 0x03}, "DDP: tagged offset wraps"},
	{{1, 1, 0x04}, "DDP: invalid DDP version"},
	{{1, 2, 0x01}, "DDP: invalid queue number"},
	{{1, 2, 0x02}, "DDP: no Receive posted for the message"},
	{{1, 2, 0x03}, "DDP: message sequence number out of range"},
	{{1, 2, 0x04}, "DDP: invalid message offset"},
	{{1, 2, 0x05}, "DDP: message too long for its Receive"},
	{{1, 2, 0x06}, "DDP: invalid DDP version"},
	{{2, 0, 0x01}, "MPA: TCP connection lost"},
	{{2, 0, 0x02}, "MPA: CRC error"},
	{{2, 0, 0x03}, "MPA: ULPDU length does not fit"},
	{{2, 0, 0x04}, "MPA: invalid set-up frame"},
	{{2, 0, 0x05}, "MPA: local catastrophic error"},
	{{2, 0, 0x06}, "MPA: insufficient read depth"},
	{{2, 0, 0x07}, "MPA: no matching ready-to-receive option"},
};

const char *ddp_term_words(struct ddp_term term)
{
	for (size_t i = 0; i < sizeof(term_words) / sizeof(term_words[0]); i++)
		if (term_words[i].term.layer == term.layer &&
		    term_words[i].term.etype == term.etype && term_words[i].term.code == term.code)
			return term_words[i].words;
	return "an unknown error";
}
