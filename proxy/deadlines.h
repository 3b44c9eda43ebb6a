/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_DEADLINES_H
#define PROXY_DEADLINES_H

#include "base/loop.h"

/**
 * deadlines - every constant that limits how long a peer may hold memory of the gateway
 *
 * session_debts.c applies the constants. There are two rates of progress. The common rate always
 * applies. The pressed rate applies while another session waits for memory of a kind that the slow
 * peer's session holds. Times are in nanoseconds, sizes in octets.
 */

/* The common budget. If a peer makes no progress on what it owes for DEBT_TIMEOUT, its session
 * ends. 60 s are longer than a switch takes to restart, and than several retransmissions of TCP.
 * DEBT_RATE octets in DEBT_TIMEOUT are 140 kbit/s: less than the share of each of 5,000 busy
 * sessions on one gigabit link. */
#define DEBT_TIMEOUT (60 * NSEC_PER_SEC)
enum { DEBT_RATE = 1 << 20 };

/* The pressed budget. 6 s are longer than the retransmissions of one lost segment take.
 * DEBT_PRESSED_RATE is in octets a second and equals 260 kbit/s: less than three times the common
 * rate. A client that moves at three times the common rate is never ended because others wait. */
#define DEBT_PRESSED (6 * NSEC_PER_SEC)
enum { DEBT_PRESSED_RATE = 32 << 10 };

/* Interval between two looks at what peers owe. */
#define DEBT_LOOK NSEC_PER_SEC

/* The most time that one look takes from a budget. If more has passed since the look before, the
 * process stood still. */
#define DEBT_LOOK_MOST (2 * DEBT_LOOK)

/* If a session waits for memory longer than this, memory is taken back from another session in
 * which nothing has moved for at least as long. */
#define RECLAIM_AFTER (60 * NSEC_PER_SEC)
enum { RECLAIM_ROUNDS = RECLAIM_AFTER / DEBT_LOOK + 1 }; /* the times of so many looks are kept */

/* After this time without a new grant, a version 2 peer is taken to grant no more:
 * leg_credits_final(). */
#define CREDITS_FINAL_TIME (5 * NSEC_PER_SEC)

/* The largest single RDMA Read or Write. At the common rate a peer completes one within
 * DEBT_TIMEOUT. */
enum { OP_PIECE = DEBT_RATE };

#endif
