/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_SUMS_H
#define FABRIC_IWARP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "fabric/fabric.h"

/**
 * sums - CRCs of octets that arrive in FPDUs and are sent in other FPDUs
 *
 * A point is a place in the octets. Its CRC32c (begun with 0) covers all octets from the first
 * point up to it. The CRC of the octets between two points follows from their CRCs
 * (fpdu_crc_shift()). Points are:
 * - Each place where the sending connection begins an FPDU, if it divides the octets from their
 *   first octet on.
 * - The end of the last FPDU that arrived.
 * - The ends of all FPDUs of a stream, and of a Send whose FPDUs are not small.
 * - Both ends of octets that were sent, if they were between other points (sums_find()).
 *
 * A mark is a point of an FPDU whose CRC is not checked yet. Marks are not used to send. If there
 * are too many points, the oldest are dropped.
 *
 * State:  octets change after their points were recorded: the peer writes them again, or the user
 *         changes them.
 * Danger: the new octets are sent with the CRC of the old ones, and the receiver ends an honest
 *         connection.
 * Rule:   - Points are recorded in ascending order only. An FPDU behind a gap drops all points.
 *         - An FPDU that lies before the last point ends the sums (.off) before an octet of it is
 *           placed. From then on every CRC is computed.
 *         - A user that changes octets ends the sums, too (fabric_sums_end()).
 * Pinned: tests/iwarp/test_sums.c
 */
enum {
	SUMS_LEAST = 64, /* points of the smallest size of struct sums */
	SUMS_SIZES = 4,	 /* number of sizes; each has four times the points of the one before */
	/* sums_find() records a new point only if at most this many points lie behind it */
	SUMS_MOVED = 64,
	SUMS_SLICE = 4096, /* octets of a Send between two points */
	/* most octets of heap for each size; when they are used up, CRCs are computed */
	SUMS_MOST = 2 << 20,
	SUMS_HOSTS = 256, /* values of the hash of addresses */
	SUMS_OF_HOST = 3  /* an address has at most this many times the sums that are free */
};

/** struct sum_point - .at: octets before the point; .crc: CRC32c of the octets from the first point
 * to it. */
struct sum_point {
	uint32_t at, crc;
};

/**
 * struct sums_store - the sums of all connections of an instance
 *
 * State:  a peer lets messages wait in the gateway, and each message holds sums.
 * Danger: one client address or server address holds all sums. Then CRCs of other peers' octets are
 *         computed anew, and a bit that flips in the gateway's memory is delivered.
 * Rule:   - Of each size one address holds at most SUMS_OF_HOST times the number that is free.
 *         - Sums of data items count for the client address of the session. Sums of a message count
 *           for the address that sent the message.
 *         - The store distinguishes addresses by a random hash of SUMS_HOSTS values.
 * Pinned: tests/iwarp/test_sums.c:a_host_leaves_a_quarter_to_others,
 *         tests/iwarp/test_iwarp_sock.c:test_sums_of_results_count_for_the_client
 */
struct sums_store {
	struct pool pools[SUMS_SIZES];
	uint32_t held[SUMS_SIZES][SUMS_HOSTS]; /* number of sums held, by size and address */
};

struct sums {
	struct fabric_sums base;
	struct sums_store *store;
	uint8_t size, host; /* indexes in .held of the store */
	uint32_t slice;	    /* payload octets of a full FPDU of the sending connection */
	uint32_t period;    /* octets of a message of that connection; UINT32_MAX: one message */
	bool off;	    /* there are no points, and none are recorded */
	bool keeps_ends;    /* the end of each FPDU that arrives stays a point */
	uint32_t room;	    /* most points and marks, a power of two */
	uint32_t first, n, marks;
	struct sum_point points[]; /* a ring: .n points from .first on, then .marks marks */
};

/** sums_store_init - an empty store; allocates nothing. */
void sums_store_init(struct sums_store *store);

/** sums_store_fini - frees all sums, also those that were not given back. */
void sums_store_fini(struct sums_store *store);

/** sums_store_bytes - octets of heap of @store. */
size_t sums_store_bytes(const struct sums_store *store);

/** sums_take - sums without points, with room for about @points; @slice, @period as in struct sums.
 * Return: owned; NULL: there is no memory, or @host holds too many. */
struct sums *sums_take(struct sums_store *store, uint8_t host, uint32_t slice, uint32_t period,
		       uint32_t points);

/** sums_of_message - sums_take() for a Send of about @len octets that arrives in FPDUs of @fpdu
 * octets of payload. */
struct sums *sums_of_message(struct sums_store *store, uint8_t host, uint32_t len, uint32_t fpdu);

/** sums_give - takes @s; NULL is allowed. */
void sums_give(struct sums *s);

/** sums_restart - drops all points, because the memory is used anew. @keeps_ends: octets may be
 * sent from the end of any FPDU on. */
void sums_restart(struct sums *s, bool keeps_ends);

/** sums_end - drops all points, and records none until sums_restart(). */
void sums_end(struct sums *s);

/** sums_begin - the payload of an FPDU begins at @at, and no octet of it is placed yet. Return:
 * whether the caller has to call sums_mark() and sums_commit(). */
bool sums_begin(struct sums *s, uint32_t at) WARN_UNUSED;

/** sums_next - the next place behind @at for which the caller has to call sums_mark(). */
uint32_t sums_next(const struct sums *s, uint32_t at);

/** sums_mark - @crc is the running CRC of the FPDU up to @at. */
void sums_mark(struct sums *s, uint32_t at, uint32_t crc);

/** sums_commit - the CRC of the FPDU was right: its marks become points. @head: its running CRC
 * before the payload; @crc: that at @end, the end of the payload. */
void sums_commit(struct sums *s, uint32_t head, uint32_t end, uint32_t crc);

/** sums_fit - how many of the @len octets at @at an FPDU should take so that it ends at a point; at
 * least one. @len: there is no such point. */
uint32_t sums_fit(const struct sums *s, uint32_t at, uint32_t len);

enum sums_found {
	SUMS_UNKNOWN, /* there are no points near; *@crc is unchanged */
	/* An end of the octets was between two points. The octets between these points were read.
	 * If they have changed, *@crc is wrong. */
	SUMS_CHECKED,
	SUMS_KNOWN, /* both ends are points; no octet was read */
};

/**
 * sums_find - continue *@crc over the @len octets at @at with the CRC that they arrived with
 * @data: the octets. The octets before and behind them that arrived with them (of a stream: in one
 *        piece) are next to them in memory.
 *
 * If octets have changed since they arrived, *@crc is wrong, and the receiver notices.
 */
enum sums_found sums_find(struct sums *s, uint32_t at, uint32_t len, const uint8_t *data,
			  uint32_t *crc);

#endif
