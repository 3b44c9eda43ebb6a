/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/**
 * The one door to the heap. Tests count what passes (steady state must be zero
 * per RPC) and make any single allocation fail. Thread-safe.
 */

/** mem_zalloc - zeroed memory, or NULL. Returns owned; give back with mem_free(). */
void *mem_zalloc(size_t bytes);

/** mem_free - takes @p, which may be NULL. */
void mem_free(void *p);

/**
 * mem_secret_alloc, mem_secret_realloc, mem_secret_free - for a library that keeps secrets, in place of the C
 * library's: what is given back is wiped, whatever was in it
 *
 * Not counted but by mem_bytes(), as nothing of a library's is; nor made to fail.
 */
void *mem_secret_alloc(size_t bytes);
void *mem_secret_realloc(void *p, size_t bytes);
void mem_secret_free(void *p);

/** mem_map - the same as mem_zalloc() in pages of its own, which go back to the system with mem_unmap() at once. */
void *mem_map(size_t bytes);

/** mem_unmap - takes @p, of @bytes, which may be NULL. */
void mem_unmap(void *p, size_t bytes);

/** mem_settle - once, before any thread: the allocator gives the system back what is freed at the end
 * of its heaps, whatever was freed before (by itself glibc's thresholds grow with the load, and
 * stay). */
void mem_settle(void);

/** mem_trim - every few seconds, by a thread that nobody waits for: what was freed between what is
 * in use goes back to the system, too, once little more is freed.
 * An allocation of another thread may wait for it some milliseconds. */
void mem_trim(void);

/** mem_allocs - number of successful mem_zalloc() calls of this process so far. */
uint64_t mem_allocs(void);

/** mem_live - allocations not yet freed. */
uint64_t mem_live(void);

/** mem_bytes - octets of the heap in use, those of libraries as well. Takes a look at all of it. */
size_t mem_bytes(void);

/** mem_fail_at - tests: make the @nth allocation from now on fail (1 = the next); 0 = none. */
void mem_fail_at(uint64_t nth);

#endif
