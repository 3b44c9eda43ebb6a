/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of one queue: post.c and complete.c add records, complete.c removes them. */
#include "base/mem.h"
#include "fabric/verbs/vring.h"
#include "fabric/verbs/types.h"

int vring_init(struct vring *r, uint32_t depth)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	r->ops = mem_zalloc(size * sizeof(*r->ops));
	r->mask = size - 1;
	return r->ops ? 0 : ERR_NOMEM;
}

struct vop *vring_add(struct vring *r)
{
	struct vop *op = &r->ops[r->posted++ & r->mask];

	*op = (struct vop){0};
	return op;
}
