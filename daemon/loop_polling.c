/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/loop_polling.h"

enum { WEIGHT = 16 }; /* weight of a new wait in the average: 1/WEIGHT */

/* Poll if at least 3 of 4 recent waits were shorter than .most: at most one poll in four is
 * wasted. */
enum { SOON_ENOUGH = PATIENCE_ALL * 3 / 4 };

void patience_init(struct patience *p, nsec_t most)
{
	*p = (struct patience){.most = most};
}

nsec_t polling_look(const struct patience *p)
{
	return p->soon >= SOON_ENOUGH ? p->most : 0;
}

void patience_note(struct patience *p, nsec_t waited)
{
	p->soon -= p->soon / WEIGHT;
	if (waited < p->most)
		p->soon += PATIENCE_ALL / WEIGHT;
}
