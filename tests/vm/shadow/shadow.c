/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * AddressSanitizer's runtime needs 47 bits of addresses, and a process of user-mode Linux has 39.
 * The compiler's part only needs a shadow at a known address: clang does it for kernels
 * (-fsanitize=kernel-address). This file is the runtime for the lab's guests. Octet s of the shadow
 * describes the eight octets of memory at 8 * (s - SHADOW): 0: all of them may be used, 1 to 7:
 * that many, above 127: none.
 *
 *    what is checked             by
 *    loads and stores            the compiler's calls
 *    memcpy() and similar        the linker's --wrap, from our code
 *    heap                        --wrap: a margin on both sides; freed memory is kept for a while
 *    stacks, global variables    the compiler, which marks their margins
 *    pools, blocks of the arena  base/asan.h
 *
 * The first fault is reported with its place, and ends the process. Leaks are not detected.
 */
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHADOW UINT64_C(0x1000000000) /* CMakeLists.txt tells the compiler */
#define MOST (UINT64_C(1) << 39)

enum { MARGIN = 32, RESTING = 4096, RESTING_OCTETS = 4 << 20, LARGE = 128 << 10, PAGE = 4096 };
enum { HEAP = 0xfa, FREED = 0xfd, GLOBAL = 0xf9, USER = 0xf7 };

#define MAGIC UINT64_C(0x5ad0e5ad0e5ad0e5)

struct head {
	uint64_t magic, size;
	void *block;
	uint64_t pad;
};
_Static_assert(sizeof(struct head) == MARGIN, "in the margin");

/* As the compiler lays it out: of a global variable. */
struct global {
	uintptr_t at;
	size_t size, with_margin;
	const void *name, *module;
	uintptr_t has_init;
	const void *where;
	uintptr_t odr;
};

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void __real_free(void *p);
void *__real_realloc(void *p, size_t n);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *resting[RESTING]; /* what was freed, a ring */
static unsigned oldest, count;
static size_t octets; /* in them */

static uint8_t *shadow_of(uint64_t at)
{
	return (uint8_t *)(uintptr_t)(at >> 3 | SHADOW);
}

static void begin(void)
{
	void *got = mmap((void *)(uintptr_t)SHADOW, MOST >> 3, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	char here;

	if (got == (void *)(uintptr_t)SHADOW && (uintptr_t)&here < MOST)
		return;
	(void)!write(2, "shadow: for processes of user-mode Linux alone\n", 47);
	_exit(99);
}
__attribute__((section(".preinit_array"), used)) static void (*const at_start)(void) = begin;

static void told(uint64_t at, size_t n, const char *what)
{
	void *trace[24];

	fprintf(stderr,
		"AddressSanitizer (shadow.c): %s of %zu octets at %#llx, which are painted %02x\n",
		what, n, (unsigned long long)at, *shadow_of(at));
	fflush(stderr);
	backtrace_symbols_fd(trace, backtrace(trace, 24), 2);
	abort();
}

static bool is_bad(uint64_t at)
{
	uint8_t s;

	if (at >= MOST)
		return false; /* the processor's affair */
	s = *shadow_of(at);
	return s && (s > 127 || (at & 7) >= s);
}

/* Whether the 64 octets from @at on, a multiple of 64, may be used, all of them. */
static bool is_clean(uint64_t at)
{
	uint64_t shadow;

	__real_memcpy(&shadow, shadow_of(at), sizeof(shadow));
	return shadow == 0;
}

/* Where the last octet of eight may be used those before it may. */
static void check(const void *p, size_t n, const char *what)
{
	uint64_t at = (uintptr_t)p, end = at + n, last;

	for (uint64_t i = at; i < end; i = last + 1) {
		last = i + 63;
		if (i % 64 == 0 && last < end && last < MOST && is_clean(i))
			continue;
		last = (i | 7) < end ? i | 7 : end - 1;
		if (is_bad(last))
			told(last, n, what);
	}
}

/* The inner pages of a long piece of shadow are given back instead, which is what nothing painted costs. */
static void wash(uint8_t *from, size_t n)
{
	uint8_t *first = (uint8_t *)(((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	uint8_t *last = (uint8_t *)((uintptr_t)(from + n) & ~(uintptr_t)(PAGE - 1));

	if (n < 4 * PAGE || madvise(first, (size_t)(last - first), MADV_DONTNEED)) {
		__real_memset(from, 0, n);
		return;
	}
	__real_memset(from, 0, (size_t)(first - from));
	__real_memset(last, 0, (size_t)(from + n - last));
}

/* From the first whole eight on. Of the last eight nothing becomes bad, and as much good as is meant. */
static void paint(uint64_t at, size_t n, uint8_t colour)
{
	uint64_t end = at + n;
	uint8_t *tail;

	if (at >= MOST || !n)
		return;
	at = (at + 7) & ~UINT64_C(7);
	if (end <= at)
		return;
	if (colour)
		__real_memset(shadow_of(at), colour, (end >> 3) - (at >> 3));
	else
		wash(shadow_of(at), (end >> 3) - (at >> 3));
	tail = shadow_of(end);
	if (!colour && end & 7 && *tail && (*tail > 127 || *tail < (end & 7)))
		*tail = (uint8_t)(end & 7);
}

/* The compiler's calls: their names end with _noabort if the compiler's options say to go on after
 * a fault. */
#define CALLED(name, ...)                                                                          \
	void name(__VA_ARGS__);                                                                    \
	void name(__VA_ARGS__)
#define ACCESS(n, end)                                                                             \
	CALLED(__asan_load##n##end, const void *p)                                                 \
	{                                                                                          \
		check(p, n, "a load");                                                             \
	}                                                                                          \
	CALLED(__asan_store##n##end, void *p)                                                      \
	{                                                                                          \
		check(p, n, "a store");                                                            \
	}
#define ACCESSES(end)                                                                              \
	ACCESS(1, end)                                                                             \
	ACCESS(2, end)                                                                             \
	ACCESS(4, end)                                                                             \
	ACCESS(8, end)                                                                             \
	ACCESS(16, end)                                                                            \
	CALLED(__asan_loadN##end, const void *p, size_t n)                                         \
	{                                                                                          \
		check(p, n, "a load");                                                             \
	}                                                                                          \
	CALLED(__asan_storeN##end, void *p, size_t n)                                              \
	{                                                                                          \
		check(p, n, "a store");                                                            \
	}
ACCESSES()
ACCESSES(_noabort)

/* Frames above on this stack may be left without cleaning their shadow. */
void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
	pthread_attr_t attr;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	size_t size = 0;
	void *low = NULL;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size) && here > (uintptr_t)low)
		paint(here & ~UINT64_C(7), (uintptr_t)low + size - here, 0);
	pthread_attr_destroy(&attr);
}

void __asan_register_globals(struct global *g, size_t n);
void __asan_register_globals(struct global *g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t end = g[i].at + g[i].size, whole = (end + 7) & ~UINT64_C(7);

		paint(whole, g[i].at + g[i].with_margin - whole, GLOBAL);
		if (end & 7)
			*shadow_of(end) = (uint8_t)(end & 7);
	}
}

void __asan_unregister_globals(struct global *g, size_t n);
void __asan_unregister_globals(struct global *g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		paint(g[i].at, g[i].with_margin, 0);
}

void __asan_poison_memory_region(const volatile void *p, size_t n);
void __asan_poison_memory_region(const volatile void *p, size_t n)
{
	paint((uintptr_t)p, n & ~(size_t)7, USER);
}

void __asan_unpoison_memory_region(const volatile void *p, size_t n);
void __asan_unpoison_memory_region(const volatile void *p, size_t n)
{
	paint((uintptr_t)p & ~UINT64_C(7), n + ((uintptr_t)p & 7), 0);
}

int __asan_address_is_poisoned(const volatile void *p);
int __asan_address_is_poisoned(const volatile void *p)
{
	return is_bad((uintptr_t)p);
}

/* The heap of our code; what libraries allocate is not painted. @fresh: zeros, which the system has for nothing where
 * there are many. */
static void *give(size_t n, size_t align, bool fresh)
{
	size_t room = n + 2 * MARGIN + align;
	uint8_t *block = NULL, *at;
	struct head *h;

	if (n < SIZE_MAX / 2)
		block = fresh ? __real_calloc(1, room) : __real_malloc(room);
	if (!block)
		return NULL;
	at = (uint8_t *)(((uintptr_t)block + MARGIN + align - 1) & ~(uintptr_t)(align - 1));
	h = (struct head *)(void *)(at - MARGIN);
	*h = (struct head){MAGIC, n, block, 0};
	paint((uintptr_t)h, MARGIN, HEAP);
	paint((uintptr_t)at, n, 0);
	paint(((uintptr_t)at + n + 7) & ~UINT64_C(7), MARGIN - 8, HEAP);
	if (n & 7)
		*shadow_of((uintptr_t)at + n) = (uint8_t)(n & 7);
	return at;
}

static struct head *head_of(void *p)
{
	struct head *h = (struct head *)(void *)((uint8_t *)p - MARGIN);

	return (uintptr_t)p < MOST && *shadow_of((uintptr_t)h) >= HEAP && h->magic == MAGIC ? h
											    : NULL;
}

void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	return give(n, 16, false);
}

void *__wrap_calloc(size_t n, size_t each);
void *__wrap_calloc(size_t n, size_t each)
{
	size_t all;

	return __builtin_mul_overflow(n, each, &all) ? NULL : give(all, 16, true);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
	*p = give(n, align < 16 ? 16 : align, false);
	return *p ? 0 : 12;
}

static void let_go(struct head *h)
{
	octets -= h->size;
	paint((uintptr_t)h, (h->size + 2 * MARGIN + 7) & ~(size_t)7, 0);
	h->magic = 0;
	__real_free(h->block);
}

/* Large ones do not: the system takes them back, and paint would cost more than their use. */
static void rest(struct head *h)
{
	pthread_mutex_lock(&lock);
	if (h->size >= LARGE) {
		octets += h->size;
		let_go(h);
		pthread_mutex_unlock(&lock);
		return;
	}
	while (count == RESTING || (count && octets + h->size > RESTING_OCTETS)) {
		let_go(resting[oldest]);
		oldest = (oldest + 1) % RESTING;
		count--;
	}
	resting[(oldest + count++) % RESTING] = h;
	octets += h->size;
	pthread_mutex_unlock(&lock);
}

void __wrap_free(void *p);
void __wrap_free(void *p)
{
	struct head *h = p ? head_of(p) : NULL;

	if (!h) {
		if (p && is_bad((uintptr_t)p))
			told((uintptr_t)p, 0, "free()");
		__real_free(p);
		return;
	}
	if (h->size && *shadow_of((uintptr_t)p) == FREED)
		told((uintptr_t)p, h->size, "a second free()");
	if (h->size < LARGE)
		paint((uintptr_t)p, (h->size + 7) & ~(size_t)7, FREED);
	rest(h);
}

size_t __real_malloc_usable_size(void *p);
size_t __wrap_malloc_usable_size(void *p);
size_t __wrap_malloc_usable_size(void *p)
{
	struct head *h = p ? head_of(p) : NULL;

	return h ? h->size : __real_malloc_usable_size(p);
}

void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	struct head *h = p ? head_of(p) : NULL;
	void *to;

	if (p && !h)
		return __real_realloc(p, n);
	to = give(n, 16, false);
	if (to && h)
		__real_memcpy(to, p, h->size < n ? h->size : n);
	if (to)
		__wrap_free(p);
	return to;
}

void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	check(from, n, "memcpy() from");
	check(to, n, "memcpy() to");
	return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
	check(from, n, "memmove() from");
	check(to, n, "memmove() to");
	return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n)
{
	check(to, n, "memset()");
	return __real_memset(to, c, n);
}
