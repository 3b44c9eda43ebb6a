/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_STAG_H
#define FABRIC_IWARP_STAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/runs.h"
#include "fabric/window.h"
#include "fabric/iwarp/ddp.h"
#include "fabric/iwarp/recvq.h"
#include "fabric/iwarp/table.h"

/**
 * stag.h - the exposures of one connection and their STags
 *
 * An STag is the serial number of a slot's use, sent through a keyed permutation of 32 bits. It is
 * found without a search, is not given twice before all serial numbers are used up, and cannot be
 * guessed without the key, which is random and of this connection only. The places of the STags
 * given last are cached, because the permutation costs more than everything else done for an FPDU;
 * a cached slot counts only if it has that STag.
 */
enum { STAG_RECENT = 256 };

struct sums;

/** struct exposure - one slot. */
struct exposure {
	uint8_t *addr;
	uint32_t len;
	uint32_t stag;
	uint32_t place;	  /* place of the slot in its table */
	uint32_t tx_refs; /* FPDUs handed to the kernel, not taken yet, that point into it */
	uint8_t access;	  /* of enum fabric_access; 0: the peer cannot reach it */
	bool owned;	  /* its owner has not withdrawn it yet */
	/* its owner has withdrawn it; the slot is free when that completion was polled */
	bool leaving;
	bool reporting;		     /* .placed is queued */
	struct qp_event end;	     /* completion of the withdrawal; its .cookie is set then */
	struct qp_event placed;	     /* PLACED of a stream; its .cookie is set with the exposure */
	struct fabric_runs written;  /* octets written by the peer; of a stream: and reported */
	struct fabric_window window; /* of a stream; .addr is not used then */
	struct sums *sums;	     /* of its octets; the user's; NULL: not kept */
	uint32_t sums_at;	     /* where its first octet is in .sums */
};

struct stag_table {
	struct table slots;
	uint32_t live;		      /* exposures that the peer can reach */
	uint16_t recent[STAG_RECENT]; /* cache: lower bits of places, by STag */
	uint64_t keys[4];
};

/** stag_pool - @pool gives slots to tables. */
void stag_pool(struct pool *pool);

/** stag_init - room for @max exposures, keys drawn from @seed. Return: 0 or ERR_NOMEM. */
int stag_init(struct stag_table *t, uint32_t max, struct pool *pool,
	      const uint64_t seed[4]) WARN_UNUSED;

/** stag_fini - gives the memory back; idempotent. */
void stag_fini(struct stag_table *t);

/** stag_slot - the slot at @place, or NULL: it is free. */
static inline struct exposure *stag_slot(const struct stag_table *t, uint32_t place)
{
	return table_has(&t->slots, place) ? table_at(&t->slots, place) : NULL;
}

/** stag_add - expose; NULL when every slot is taken, or there is no memory for one. */
struct exposure *stag_add(struct stag_table *t, void *addr, uint32_t len, unsigned access);

/** stag_find - the exposure of that STag that the peer can reach, or NULL. */
struct exposure *stag_find(struct stag_table *t, uint32_t stag);

/** stag_owned - the exposure of that STag that its owner has not withdrawn, whether the peer can
 * reach it or not; or NULL. */
struct exposure *stag_owned(struct stag_table *t, uint32_t stag);

/** stag_revoke - the peer can no longer reach @e; the slot stays taken until stag_release(). */
void stag_revoke(struct stag_table *t, struct exposure *e);

/** stag_release - the slot of a revoked exposure, withdrawn by its owner, may be used again. */
void stag_release(struct stag_table *t, struct exposure *e);

/**
 * stag_check - whether the peer may access @len octets at @offset of @stag, before any is placed or
 * read
 * @access: the one bit of enum fabric_access it needs
 * @term:   filled on error; RDMAP's codes for Reads, DDP's where RFC 5041 has them for Writes
 *
 * Return: 0 with *@found set, or ERR_ACCESS.
 */
int stag_check(struct stag_table *t, uint32_t stag, uint64_t offset, uint32_t len, unsigned access,
	       struct exposure **found, struct ddp_term *term) WARN_UNUSED;

#endif
