/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/** All heap memory goes through here. Tests count the calls (none per RPC in steady state) and
 * make any single allocation fail. Thread-safe. */

/** mem_zalloc - zeroed memory, or NULL with errno ENOMEM. Returns owned; give back with
 * mem_free(). */
void *mem_zalloc(size_t bytes);

/** mem_free - takes @p, which may be NULL. */
void mem_free(void *p);

/**
 * mem_secret_alloc, mem_secret_realloc, mem_secret_free - for a library that keeps secrets, in
 * place of the C library's: freed memory is wiped
 *
 * Only mem_bytes() counts these allocations, as for any library; mem_fail_at() does not make them
 * fail.
 */
void *mem_secret_alloc(size_t bytes);
void *mem_secret_realloc(void *p, size_t bytes);
void mem_secret_free(void *p);

/** mem_map - as mem_zalloc(), in pages of its own, which mem_unmap() returns to the system at
 * once. */
void *mem_map(size_t bytes);

/** mem_unmap - takes @p, of @bytes, which may be NULL. */
void mem_unmap(void *p, size_t bytes);

/**
 * mem_settle - call once, before any thread: the allocator returns to the system what is freed at
 * the end of its heaps
 *
 * Without it glibc's thresholds grow with the load and stay high.
 */
void mem_settle(void);

/**
 * mem_trim - call every few seconds, in a thread with no deadlines: returns to the system the free
 * memory that lies between allocations
 *
 * An allocation of another thread may wait some milliseconds for it. So nothing is returned while
 * much memory is being freed, except after several calls.
 */
void mem_trim(void);

/** mem_allocs - number of successful mem_zalloc() calls of this process so far. */
uint64_t mem_allocs(void);

/** mem_live - allocations not yet freed. */
uint64_t mem_live(void);

/** mem_bytes - octets of the heap in use, libraries included. Walks the whole heap. */
size_t mem_bytes(void);

/** mem_fail_at - tests: make the @nth allocation from now on fail (1 = the next); 0 = none. */
void mem_fail_at(uint64_t nth);

#endif
