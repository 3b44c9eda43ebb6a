/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/loop_polling.h"

enum { BLOCKED, POLLED };

void polling_init(struct polling *p, nsec_t most)
{
	*p = (struct polling){.most = most};
}

nsec_t polling_time(const struct polling *p)
{
	nsec_t time = nsec_min(2 * p->mean[BLOCKED], p->most);

	if (!p->polls)
		return 0;
	return time > p->most / 5 ? time : p->most / 5;
}

/* Whether the next block is polled. The second block of all is the first trial. */
static bool choose(const struct polling *p)
{
	bool pays = p->mean[POLLED] < p->mean[BLOCKED] / 6 * 5;

	return p->blocks % POLLING_TRIAL == 1 ? !p->polls : pays;
}

void polling_note(struct polling *p, nsec_t waited)
{
	nsec_t poll = polling_time(p);

	if (!p->most)
		return;
	p->sum += nsec_min(waited, p->most);
	if (p->polls && waited >= poll) {
		p->misses++;
		p->sum += poll;
	}
	if (++p->waits < POLLING_BLOCK && p->misses < POLLING_MISSES)
		return;
	p->mean[p->polls] = p->sum / p->waits;
	p->blocks++;
	p->polls = choose(p);
	p->waits = p->misses = 0;
	p->sum = 0;
}
