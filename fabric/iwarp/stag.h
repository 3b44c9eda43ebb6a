/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_STAG_H
#define FABRIC_IWARP_STAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/iwarp/ddp.h"

/**
 * stag.h - the exposures of one connection and their STags
 *
 * An STag is a slot number and the slot's generation sent through a keyed
 * permutation of 32 bits: looked up without a search, never given twice before
 * a slot's generations are used up, and not to be guessed without the key,
 * which is random and of this connection only.
 */

/** struct exposure - one slot. */
struct exposure {
	uint8_t *addr;
	uint32_t len;
	uint32_t stag;
	uint32_t generation;
	uint32_t next_free;
	uint32_t tx_refs; /* FPDUs handed to the kernel, not taken yet, that point into it */
	uint8_t access;	  /* of enum fabric_access; 0: free or withdrawn */
	bool leaving;	  /* withdrawn; the slot is free once its owner was told */
	void *cookie;	  /* of the withdrawal */
	uint32_t reached; /* where the last octet ends that the peer placed */
	uint32_t written; /* octets the peer placed from the start without a gap */
};

struct stag_table {
	struct exposure *slots;
	uint32_t max, index_bits;
	uint32_t free_head, free_tail; /* first freed, first used: generations spread evenly */
	uint32_t live;		       /* exposed now */
	uint64_t keys[4];
};

#define STAG_NO_SLOT UINT32_MAX

/** stag_init - room for @max exposures, keys drawn from @seed. Return: 0 or ERR_NOMEM. */
int stag_init(struct stag_table *t, uint32_t max, const uint64_t seed[4]) WARN_UNUSED;

/** stag_fini - gives the memory back; idempotent. */
void stag_fini(struct stag_table *t);

/** stag_add - expose; NULL when every slot is taken. */
struct exposure *stag_add(struct stag_table *t, void *addr, uint32_t len, unsigned access);

/** stag_find - the live exposure of that STag, or NULL. */
struct exposure *stag_find(struct stag_table *t, uint32_t stag);

/** stag_revoke - the STag matches no more; the slot stays taken until stag_release(). */
void stag_revoke(struct stag_table *t, struct exposure *e);

/** stag_release - the revoked slot may be used again. */
void stag_release(struct stag_table *t, struct exposure *e);

/**
 * stag_check - whether the peer may do that, before an octet is placed or read
 * @access: the one bit of enum fabric_access it needs
 * @term:   filled on error; RDMAP's codes for Reads, DDP's where RFC 5041 has them for Writes
 *
 * Return: 0 with *@found set, or ERR_ACCESS.
 */
int stag_check(struct stag_table *t, uint32_t stag, uint64_t offset, uint32_t len, unsigned access,
	       struct exposure **found, struct ddp_term *term) WARN_UNUSED;

#endif
