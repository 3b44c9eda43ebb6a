/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOOP_POLLING_H
#define DAEMON_LOOP_POLLING_H

#include "base/loop.h"

/**
 * struct patience - whether to busy-poll or to block for the next event
 *
 * Waking a processor that sleeps takes longer than relaying most messages does. So polling for
 * about that time pays if the next event nearly always comes so soon. Otherwise polling takes CPU
 * time from others. Earlier waits, polled or blocked, show which it is.
 */
struct patience {
	nsec_t most; /* longest busy-poll; 0: never */
	/* moving average of waits shorter than .most, in parts of PATIENCE_ALL; recent waits weigh
	 * most */
	unsigned soon;
};

enum { PATIENCE_ALL = 1024 };

/** patience_init - no waits are known yet, so the loop blocks. */
void patience_init(struct patience *p, nsec_t most);

/** polling_look - how long to busy-poll before blocking; 0: not at all. */
nsec_t polling_look(const struct patience *p);

/** patience_note - the next event came after @waited; NSEC_NEVER: a deadline passed first. */
void patience_note(struct patience *p, nsec_t waited);

#endif
