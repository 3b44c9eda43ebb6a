/* SPDX-License-Identifier: BSD-2-Clause */
/* MPA set-up frames: the first octet gives the kind, the rest is the frame. */
#include <assert.h>
#include <string.h>

#include "fabric/iwarp/mpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mpa_local local = {.crc = true, .ird = 32, .ord = 32};
	enum mpa_kind kind = size && data[0] & 1 ? MPA_REPLY : MPA_REQUEST;
	uint8_t out[MPA_FRAME_MAX];
	struct mpa_frame frame, reply;
	struct mpa_agreed agreed;
	int n;

	if (!size || mpa_decode(kind, view_of(data + 1, size - 1), &frame))
		return 0;
	n = mpa_encode(kind, &frame, out, sizeof(out));
	assert(n >= MPA_HEADER_BYTES && (size_t)n <= size - 1);
	assert(memcmp(out, data + 1, 16) == 0);
	if (kind == MPA_REPLY) {
		if (!mpa_conclude(&local, &frame, &agreed))
			assert(agreed.ird <= local.ird && agreed.ord <= local.ord);
		return 0;
	}
	mpa_answer(&local, &frame, view_of(NULL, 0), &reply, &agreed);
	assert(!reply.markers && agreed.ord <= local.ord);
	n = mpa_encode(MPA_REPLY, &reply, out, sizeof(out));
	assert(n > 0 && mpa_decode(MPA_REPLY, view_of(out, (size_t)n), &frame) == 0);
	return 0;
}
