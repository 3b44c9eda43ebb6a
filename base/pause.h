/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PAUSE_H
#define BASE_PAUSE_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * pause - a time in which the process stood still, because it or its machine was stopped
 *
 * State:  a peer has something to do in time, and the process stands still.
 * Danger: the process reads nothing and sends nothing meanwhile. Afterwards the gateway takes the
 *         peer for silent. Then a server counts as down, and its clients move; or a session ends.
 *         If each pause gave the peer its whole time again, pauses that recur would keep a dead
 *         peer for ever.
 * Rule:   time limits count looks, not time. The set-up of connections (E11, E12 (a)), look-ups
 *         (E16), probes and messages that were begun (E6) have several looks, at equal intervals.
 *         A look that comes late counts once, so a pause of any length costs the peer at most one
 *         interval, and a dead peer is noticed after as many looks as ever. D1 to D4, E1, E2, E3,
 *         E9 and W8 have looks of their own.
 *         Two limits count time: a handshake is not ended for others (E15) for HANDSHAKE_SLOT_TIME
 *         after a pause, and a call without an answer has a second more (C1, C3). A pause is
 *         noticed if a timer runs PAUSE_LEAST or more after it was due.
 * Pinned: tests/session/test_pauses.c, tests/iwarp/test_iwarp_pauses.c
 */
enum {
	SETUP_LOOKS = 8, /* of a limit for set-up, a look-up or a probe */
	STALL_LOOKS = 4, /* at a message that was begun */
};

#define PAUSE_LEAST (2 * NSEC_PER_SEC)

/** pause_is_noticed - whether a timer that was due at @due, and runs at @now, shows a pause. */
static inline bool pause_is_noticed(nsec_t due, nsec_t now)
{
	return due < now && now - due >= PAUSE_LEAST;
}

/** pause_excuses - whether a peer with the time limit @time may have more time, because the last
 * pause ended less than @time ago. @until: the end of the pause; 0: there was none. */
static inline bool pause_excuses(nsec_t until, nsec_t time, nsec_t now)
{
	return until > 0 && now - until < time;
}

#endif
