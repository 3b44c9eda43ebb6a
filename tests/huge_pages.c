/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of tests in huge pages: arenas, and what peers send from and receive into.
 *
 * On a virtual machine a page fault and a TLB miss cost up to ten times as much as on a real one. With pages of 4 KiB, tests of
 * whole sessions spend most of their time on page faults.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_FROM = 16 << 20 };

/* Names that the linker's --wrap gives to the calls of a test's own objects. Shared libraries call the real functions. */
void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from);
void *__real_malloc(size_t len);
void *__wrap_malloc(size_t len);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* A test allocates again what it freed, so the heap keeps its pages in between. */
__attribute__((constructor)) static void keep_heap(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 16 << 20);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

static void *of_huge_pages(void *at, size_t len)
{
	const uintptr_t huge = 2 << 20;
	uintptr_t first = ((uintptr_t)at + huge - 1) & ~(huge - 1);

	if (at && len >= HUGE_FROM)
		(void)madvise((void *)first, ((uintptr_t)at + len - first) & ~(huge - 1),
			      MADV_HUGEPAGE);
	return at;
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
	void *mapped = __real_mmap(at, len, prot, flags, fd, from);

	return mapped == MAP_FAILED || fd >= 0 ? mapped : of_huge_pages(mapped, len);
}

void *__wrap_malloc(size_t len)
{
	return of_huge_pages(__real_malloc(len), len);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return of_huge_pages(__real_calloc(n, size), n * size);
}
