/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PAUSE_H
#define BASE_PAUSE_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * pause - a time in which the process stood still, because it or its machine was stopped
 *
 * State:  the process stood still for longer than the time limit of a peer.
 * Danger: the process reads nothing and sends nothing meanwhile. Afterwards the gateway takes the
 *         peer for silent. Then a server counts as down, and its clients move; or a session ends.
 * Rule:   a pause is noticed if a timer runs PAUSE_LEAST or more after it was due. After a pause
 *         these time limits begin anew: the set-up of connections (E11, E12 (a)), look-ups (E16),
 *         probes, handshakes (E15), messages that were begun (E6), waits for memory (E1, E2) and
 *         for credits (W8). A call without an answer has a second more (C1, C3). Other rules count
 *         looks and not time (D1 to D4, E3, E9).
 * Pinned: tests/session/test_pauses.c, tests/iwarp/test_iwarp_pauses.c
 */
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
