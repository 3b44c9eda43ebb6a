/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ASAN_H
#define BASE_ASAN_H

/**
 * asan - memory that is out of bounds for a while: ASAN_POISON_MEMORY_REGION(p, n) and
 * ASAN_UNPOISON_MEMORY_REGION(p, n), which do nothing without AddressSanitizer
 *
 * HAS_ASAN is 1 with it, otherwise 0. gcc and clang announce it in different ways.
 */

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

#if HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#endif
