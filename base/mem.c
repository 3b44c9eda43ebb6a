/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	THRESHOLD = 128 * 1024, /* glibc's initial value of both thresholds */
	/* a trim is worthwhile after this many freed octets; few octets may hold many pages */
	TRIM_WORTH = 16 * 1024,
	/* the heap counts as quiet if no more octets were freed since the last call */
	TRIM_QUIET = 64 * 1024,
	TRIM_CALLS = 6, /* mem_trim() waits this many calls, at most, for a quiet heap */
};

static atomic_uint_fast64_t allocs, frees, fail_countdown;
static atomic_uint_fast64_t freed; /* octets freed so far */

/* Return: true for exactly the call that takes the countdown from one to zero; sets errno as
 * calloc() does. */
static bool must_fail(void)
{
	uint_fast64_t left = atomic_load(&fail_countdown);

	while (left > 0) {
		if (!atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
			continue;
		if (left == 1)
			errno = ENOMEM;
		return left == 1;
	}
	return false;
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
	atomic_fetch_add_explicit(&freed, malloc_usable_size(p), memory_order_relaxed);
	free(p);
}

void *mem_secret_alloc(size_t bytes)
{
	return malloc(bytes);
}

void mem_secret_free(void *p)
{
	if (!p)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

/* The allocator's own realloc() would leave moved octets in the old place. */
void *mem_secret_realloc(void *p, size_t bytes)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *q = malloc(bytes);

	if (!p || !q)
		return q;
	memcpy(q, p, had < bytes ? had : bytes);
	mem_secret_free(p);
	return q;
}

size_t mem_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

void *mem_map(size_t bytes)
{
	void *p;

	if (must_fail())
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	atomic_fetch_add(&allocs, 1);
	return p;
}

void mem_unmap(void *p, size_t bytes)
{
	if (!p)
		return;
	atomic_fetch_add(&frees, 1);
	(void)munmap(p, bytes);
}

void mem_settle(void)
{
	/* If it fails, memory is returned later; nothing else changes. */
	(void)mallopt(M_MMAP_THRESHOLD, THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, THRESHOLD);
}

void mem_trim(void)
{
	static uint64_t trimmed, seen; /* .freed at the last trim, and at the last call */
	static unsigned waited;
	uint64_t now = atomic_load_explicit(&freed, memory_order_relaxed);
	bool quiet = now - seen <= TRIM_QUIET;

	seen = now;
	if (now - trimmed < TRIM_WORTH || (!quiet && ++waited < TRIM_CALLS))
		return;
	waited = 0;
	trimmed = now;
	(void)malloc_trim(0);
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
