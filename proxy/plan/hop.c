/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy/plan/hop.h"

/* No answer comes sooner than a round trip takes, and many come much later. So the shortest of
 * all times counts: one below HOP_TRIP proves that the peer is near, and none proves that it is
 * far. The peer counts as far if the first HOP_TIMES say so, until one says otherwise. */
void hop_note(struct hop_times *t, nsec_t took)
{
	if (t->n == 0 || took < t->least)
		t->least = took;
	if (t->n < HOP_TIMES)
		t->n++;
}

static bool is_proved_near(const struct hop_times *t)
{
	return t->n > 0 && t->least < HOP_TRIP;
}

bool hop_is_far(enum hop hop, const struct hop_times *t)
{
	if (hop != HOP_AUTO)
		return hop == HOP_FAR;
	return t->n >= HOP_TIMES && !is_proved_near(t);
}

bool hop_is_settled(enum hop hop, const struct hop_times *t)
{
	return hop != HOP_AUTO || is_proved_near(t);
}
