/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_DEADLINES_H
#define PROXY_DEADLINES_H

#include "base/loop.h"

/**
 * deadlines - every constant that decides how long a peer may hold what belongs to the gateway
 *
 * session_debts.c applies them. There are two rates: the common one, at all times, and the pressed one,
 * while another session waits for memory of a kind that the debtor's session holds. Times are in
 * nanoseconds, sizes in octets.
 */

/*
 * The common budget. A debtor that moves nothing for DEBT_PATIENCE ends its session. 60 s outlast a switch that
 * restarts and several retransmissions of TCP. DEBT_RATE octets in DEBT_PATIENCE are 140 kbit/s: less than each of
 * 5,000 busy sessions has of a shared gigabit link.
 */
#define DEBT_PATIENCE (60 * NSEC_PER_SEC)
enum { DEBT_RATE = 1 << 20 };

/*
 * The pressed budget. 6 s outlast the retransmissions of one lost segment. DEBT_PRESSED_RATE octets a second are
 * 260 kbit/s: less than three times the common rate, so no client at that speed ends because others wait.
 */
#define DEBT_PRESSED (6 * NSEC_PER_SEC)
enum { DEBT_PRESSED_RATE = 32 << 10 };

/* Debts are looked at so often: in general, and while any session waits for memory. */
#define DEBT_LOOK (5 * NSEC_PER_SEC)
#define DEBT_PRESSED_LOOK NSEC_PER_SEC

/* A wait for memory that lasts longer than this has the pool take some back from a session in which nothing has moved for as long. */
#define RECLAIM_AFTER (60 * NSEC_PER_SEC)

/* A peer of version 2 that could give more credits has given them by then: leg_settle(). */
#define CREDITS_SETTLED (5 * NSEC_PER_SEC)

/* The largest piece of a Read or Write: a peer at the common rate completes one within DEBT_PATIENCE. */
enum { OP_PIECE = DEBT_RATE };

#endif
