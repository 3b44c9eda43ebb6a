/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_V1_CHECK_H
#define TESTS_FUZZ_V1_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* Like assert(3), but in optimized builds too. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
