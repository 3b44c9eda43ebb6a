/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VM_NULL_CALL_H
#define TESTS_VM_NULL_CALL_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/**
 * null_call - a version 1 message: RDMA_MSG without chunks that asks for @credits (RFC 8166 section
 * 4.2), with the NULL call of NFS version 3. Every server answers it, if only with PROG_UNAVAIL.
 */
enum { NULL_CALL = 68 };

static inline void null_call(uint8_t *at, uint32_t xid, uint32_t credits)
{
	const uint32_t words[NULL_CALL / 4] = {
		xid, 1, credits, 0,	 0, 0, 0, /* transport header */
		xid, 0, 2,	 100003, 3, 0,	  /* call, AUTH_NONE twice */
	};

	for (unsigned i = 0; i < NULL_CALL / 4; i++) {
		uint32_t be = htobe32(words[i]);

		memcpy(at + (size_t)4 * i, &be, sizeof(be));
	}
}

#endif
