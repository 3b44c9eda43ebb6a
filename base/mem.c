/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint_fast64_t allocs, frees, fail_countdown;

/* True for exactly the call that takes the countdown from one to zero. */
static int must_fail(void)
{
	uint_fast64_t left = atomic_load(&fail_countdown);

	while (left > 0)
		if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
			return left == 1;
	return 0;
}

void *mem_zalloc(size_t bytes)
{
	void *p;

	if (must_fail())
		return NULL;
	p = calloc(1, bytes ? bytes : 1);
	if (p)
		atomic_fetch_add(&allocs, 1);
	return p;
}

void mem_free(void *p)
{
	if (!p)
		return;
	atomic_fetch_add(&frees, 1);
	free(p);
}

uint64_t mem_allocs(void)
{
	return atomic_load(&allocs);
}

uint64_t mem_live(void)
{
	return atomic_load(&allocs) - atomic_load(&frees);
}

void mem_fail_at(uint64_t nth)
{
	atomic_store(&fail_countdown, nth);
}
