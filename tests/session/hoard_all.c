/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include "tests/session/hoard.h"

static uint32_t none_wanted(const struct fabric *f)
{
	(void)f;
	return 0;
}

void hoard_all_receives(struct hoard *h, struct world *w, unsigned i)
{
	struct fabric *f = w->gw_fabrics[i];

	h->own_ops = f->ops;
	h->ops = *f->ops;
	h->ops.receives_wanted = none_wanted;
	f->ops = &h->ops;
	memnet_flush_shared(f);
	world_turn(w);
	(void)hoard_receives(h, recv_pool_of(f), HOARD_MOST);
	assert_true(recv_pool_is_exhausted(recv_pool_of(f)));
}
