/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_PATIENCE_H
#define DAEMON_LOOP_PATIENCE_H

#include "base/loop.h"

/**
 * struct patience - whether to look for what comes next, or to sleep until it comes
 *
 * To be woken takes a processor that slept longer than the relay needs for most messages. So it pays to look for
 * as long as that takes, where what comes next nearly always comes so soon; else it is time taken from others. Which
 * it is shows in the waits before, however they were spent.
 */
struct patience {
	nsec_t most;   /* to look for so long; 0: never */
	unsigned soon; /* of PATIENCE_ALL waits so many were shorter; those of late count most */
};

enum { PATIENCE_ALL = 1024 };

/** patience_init - nothing is known yet: it sleeps. */
void patience_init(struct patience *p, nsec_t most);

/** patience_look - how long to look for what comes next before sleeping; 0: not at all. */
nsec_t patience_look(const struct patience *p);

/** patience_note - what came next took @waited to come; NSEC_NEVER: a deadline was first. */
void patience_note(struct patience *p, nsec_t waited);

#endif
