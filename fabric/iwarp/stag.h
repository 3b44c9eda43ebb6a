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
 * Each use of a slot has a serial number. The STag is this number after a keyed permutation of 32
 * bits. The key is random, and each connection has its own.
 * - The slot of an STag is found without a search.
 * - An STag is not given twice before all serial numbers are used up.
 * - A peer that does not know the key cannot guess an STag.
 *
 * The places of the STags given last are cached, because the permutation costs more than all other
 * work for an FPDU. A cached place is used only if its slot has that STag.
 */
enum { STAG_RECENT = 256 };

struct sums;

/** struct exposure - one slot of the table, for one exposure. */
struct exposure {
	uint8_t *addr;
	uint32_t len;
	uint32_t stag;
	uint32_t place;	  /* place of the slot in its table */
	uint32_t tx_refs; /* FPDUs of the batch whose octets are in this memory */
	uint8_t access;	  /* of enum fabric_access; 0: the peer cannot reach it */
	bool owned;	  /* the user has not withdrawn the exposure yet */
	/* the user has withdrawn the exposure; the slot is free when WITHDRAWN was polled */
	bool leaving;
	bool reporting;		     /* .placed is queued */
	struct qp_event end;	     /* completion of the withdrawal; its .cookie is set then */
	struct qp_event placed;	     /* PLACED of a stream; its .cookie is set with the exposure */
	struct fabric_runs written;  /* octets written by the peer; of a stream: and polled */
	struct fabric_window window; /* of a stream; .addr is not used then */
	struct sums *sums;	     /* sums of the memory, owned by the user; NULL: none */
	uint32_t sums_at;	     /* octet of .sums that is the first of the memory */
};

struct stag_table {
	struct table slots;
	uint32_t live;		      /* exposures that the peer can reach */
	uint16_t recent[STAG_RECENT]; /* cache: lower bits of places, by STag */
	uint64_t keys[4];
};

/** stag_pool - initializes @pool for slots of tables. */
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

/** stag_add - an exposure of @len octets at @addr with a new STag. Return: owned by @t; NULL: every
 * slot is taken, or there is no memory for one. */
struct exposure *stag_add(struct stag_table *t, void *addr, uint32_t len, unsigned access);

/** stag_find - the exposure with @stag, if the peer can reach it; or NULL. */
struct exposure *stag_find(struct stag_table *t, uint32_t stag);

/** stag_owned - the exposure with @stag, if the user has not withdrawn it, whether the peer can
 * reach it or not; or NULL. */
struct exposure *stag_owned(struct stag_table *t, uint32_t stag);

/** stag_revoke - the peer can no longer reach @e; the slot stays taken until stag_release(). */
void stag_revoke(struct stag_table *t, struct exposure *e);

/** stag_release - frees the slot of @e, which was revoked, and withdrawn by the user. */
void stag_release(struct stag_table *t, struct exposure *e);

/**
 * stag_check - whether the peer may access @len octets at @offset of @stag; call it before the
 * first octet is placed or read
 * @access: the bit of enum fabric_access that the access needs
 * @term:   filled on error. For Reads an error of RDMAP; for Writes of DDP, if RFC 5041 has one.
 *
 * Return: 0 with *@found set, or ERR_ACCESS.
 */
int stag_check(struct stag_table *t, uint32_t stag, uint64_t offset, uint32_t len, unsigned access,
	       struct exposure **found, struct ddp_term *term) WARN_UNUSED;

#endif
