/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_SUMS_H
#define FABRIC_IWARP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "fabric/fabric.h"

/**
 * sums - CRCs of octets that came in FPDUs and go on in other FPDUs
 *
 * Known are points: for each the CRC32c (begun with 0) of all octets from the first point up to it.
 * The CRC of what lies between two points follows from their CRCs (fpdu_crc_shift()). Points are:
 * - Each place where the other connection begins an FPDU, if it cuts the octets from their start.
 * - The end of the last FPDU that came.
 * - The ends of all FPDUs of a stream, and of a Send whose FPDUs are not small.
 * - Both ends of octets that went on, where these lay between other points (sums_find()).
 *
 * Points of an FPDU whose CRC is not checked yet (marks) are not used. If there are too many points,
 * the oldest are forgotten.
 *
 * State:  octets change after their points were recorded: the peer writes them again, or the user does.
 * Danger: right octets go out with the CRC of others, and the receiver ends an honest connection.
 * Rule:   points of octets that come are recorded in ascending order only. An FPDU behind a gap begins them anew. The first
 *         FPDU that goes back ends them (.off) before an octet of it is placed; from then on every CRC is
 *         computed. A user that changes octets ends them as well (fabric_sums_end()).
 * Pinned: tests/iwarp/test_sums.c
 */
enum {
	SUMS_LEAST = 64,
	SUMS_SIZES = 4, /* each for four times as many points as the one before */
	/* A point that becomes known later is recorded if at most so many points lie behind it. */
	SUMS_MOVED = 64,
	SUMS_SLICE = 4096, /* octets of a Send between two points */
	/* octets of memory of each size, at most; without memory, CRCs are computed */
	SUMS_MOST = 2 << 20,
	SUMS_HOSTS = 256,
	SUMS_OF_HOST = 3 /* factor */
};

struct sum_point {
	uint32_t at, crc;
};

/**
 * struct sums_store - the sums of all connections of an instance
 *
 * State:  a peer lets messages wait in the gateway. Each keeps its sums.
 * Danger: one host takes all of them. Then CRCs of other hosts' octets are computed anew, and a bit
 *         that flips in the gateway's memory is delivered.
 * Rule:   of each size a host holds at most SUMS_OF_HOST times what it leaves. Sums of items count
 *         for the host of the session's client, sums of a message for the host that sent it. The
 *         store distinguishes hosts by a random hash of SUMS_HOSTS values.
 * Pinned: tests/iwarp/test_sums.c:a_host_leaves_a_quarter_to_others,
 *         tests/iwarp/test_iwarp_sock.c:test_sums_of_results_count_for_the_client
 */
struct sums_store {
	struct pool pools[SUMS_SIZES];
	uint32_t held[SUMS_SIZES][SUMS_HOSTS];
};

struct sums {
	struct fabric_sums base;
	struct sums_store *store;
	uint8_t size, host; /* where the store counts it */
	uint32_t slice;	    /* payload of a full FPDU of the other connection */
	uint32_t period;    /* at each multiple of it that connection begins a message */
	bool off;	    /* nothing is known, and nothing will be */
	bool keeps_ends;    /* of FPDUs */
	uint32_t room;	    /* most points, a power of two */
	uint32_t first, n, marks;
	struct sum_point points[]; /* a ring: .n from .first on, the marks behind them */
};

/** sums_store_init - nothing is allocated yet. */
void sums_store_init(struct sums_store *store);

/** sums_store_fini - frees all sums; they become invalid. */
void sums_store_fini(struct sums_store *store);

/** sums_store_bytes - octets of heap. */
size_t sums_store_bytes(const struct sums_store *store);

/** sums_take - of octets from @host, with room for about @points; nothing is known yet. NULL: no
 * memory, or the host has its part. */
struct sums *sums_take(struct sums_store *store, uint8_t host, uint32_t slice, uint32_t period,
		       uint32_t points);

/** sums_of_message - sums_take() for a Send of about @len octets in FPDUs of @fpdu octets of payload. */
struct sums *sums_of_message(struct sums_store *store, uint8_t host, uint32_t len, uint32_t fpdu);

/** sums_give - takes @s; NULL is allowed. */
void sums_give(struct sums *s);

/** sums_restart - other octets will come. @keeps_ends: they may go on from the end of any FPDU. */
void sums_restart(struct sums *s, bool keeps_ends);

/** sums_end - nothing is known from now on, until sums_restart(). */
void sums_end(struct sums *s);

/** sums_begin - the payload of an FPDU begins at @at; nothing of it is placed yet. Return: whether
 * sums_mark() and sums_commit() are to follow. */
bool sums_begin(struct sums *s, uint32_t at) WARN_UNUSED;

/** sums_next - the next place behind @at that sums_mark() wants to know. */
uint32_t sums_next(const struct sums *s, uint32_t at);

/** sums_mark - @crc is the running CRC of the FPDU up to @at. */
void sums_mark(struct sums *s, uint32_t at, uint32_t crc);

/** sums_commit - the FPDU is checked. Its running CRC was @head before its payload, and @crc at the end of it, @end. */
void sums_commit(struct sums *s, uint32_t head, uint32_t end, uint32_t crc);

/** sums_fit - how many of the @len octets at @at an FPDU should take, at least one, so that it ends at a point. */
uint32_t sums_fit(const struct sums *s, uint32_t at, uint32_t len);

enum sums_found {
	SUMS_UNKNOWN, /* *@crc is as it was */
	/* An end lay between two points. The octets between these were read, and have not changed, or *@crc is wrong. */
	SUMS_CHECKED,
	SUMS_KNOWN,
};

/** sums_find - continue *@crc over the @len octets at @at, which lie at @data, between those that came with
 * them (of a stream: in one piece). If they have changed since
 * they came, the receiver will find *@crc wrong. */
enum sums_found sums_find(struct sums *s, uint32_t at, uint32_t len, const uint8_t *data,
			  uint32_t *crc);

#endif
