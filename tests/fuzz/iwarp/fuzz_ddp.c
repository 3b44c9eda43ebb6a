/* SPDX-License-Identifier: BSD-2-Clause */
/* One ULPDU: header, Read Request, Terminate; what decodes encodes to the same octets. */
#include <assert.h>
#include <string.h>

#include "fabric/iwarp/ddp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_payload(uint8_t opcode, const uint8_t *p, size_t len)
{
	uint8_t out[RDMAP_READ_BYTES];
	struct ddp_read read;
	struct ddp_term term;

	if (opcode == RDMAP_READ_REQUEST && len >= RDMAP_READ_BYTES) {
		ddp_read_decode(p, &read);
		ddp_read_encode(&read, out);
		assert(memcmp(out, p, RDMAP_READ_BYTES) == 0);
	}
	if (opcode == RDMAP_TERMINATE && !ddp_term_decode(p, len, &term))
		assert(ddp_term_words(term));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[DDP_UNTAGGED_BYTES], about[RDMAP_TERM_MAX];
	struct ddp_header h, back;
	struct ddp_term term;
	uint32_t n;

	if (size < 2 || size > 65535 || size < ddp_header_bytes(data[0]))
		return 0;
	n = ddp_term_encode(TERM_RDMA_OPCODE, data, (uint32_t)size, (uint32_t)size, about);
	assert(n >= RDMAP_TERM_BYTES && n <= RDMAP_TERM_MAX);
	if (ddp_header_decode(data, &h, &term))
		return 0;
	n = ddp_header_encode(&h, out);
	assert(n == ddp_header_bytes(data[0]));
	assert(ddp_header_decode(out, &back, &term) == 0);
	assert(memcmp(out + 2, data + 2, n - 2) == 0 && back.opcode == h.opcode);
	try_payload(h.opcode, data + n, size - n);
	return 0;
}
