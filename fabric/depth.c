/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/depth.h"

void fabric_depth_init(struct fabric_depth *d, uint32_t least, uint32_t most)
{
	*d = (struct fabric_depth){
		.want = least < most ? least : most,
		.least = least < most ? least : most,
		.most = most,
		.lowest = UINT32_MAX,
	};
}

/* How many Receives the queue is filled to: the wanted depth, or all messages that peers may send,
 * if these are fewer. */
static uint32_t aim(const struct fabric_depth *d)
{
	return d->want < d->promised ? d->want : d->promised;
}

uint32_t fabric_depth_limit(const struct fabric_depth *d)
{
	return aim(d) / 4;
}

void fabric_depth_low(struct fabric_depth *d)
{
	if (d->want < d->promised)
		d->want = d->want < d->most / 2 ? d->want * 2 : d->most;
	d->lowest = 0;
}

void fabric_depth_see(struct fabric_depth *d, uint32_t posted)
{
	if (posted < d->lowest)
		d->lowest = posted;
	if (posted > d->highest)
		d->highest = posted;
}

void fabric_depth_period(struct fabric_depth *d)
{
	uint32_t deep = d->highest && d->highest < aim(d) ? d->highest : aim(d);

	if (d->lowest != UINT32_MAX && d->lowest >= deep - deep / 4)
		d->want = deep / 2 > d->least ? deep / 2 : d->least;
	d->lowest = UINT32_MAX;
	d->highest = 0;
}

uint32_t fabric_depth_missing(const struct fabric_depth *d, uint32_t posted)
{
	return posted < aim(d) ? aim(d) - posted : 0;
}
