/* SPDX-License-Identifier: BSD-2-Clause */
/* shadow_faults [N]: commits fault N, which shadow.c must detect; without N it commits none, and
 * must pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/asan.h"

enum { FAULTS = 8 };

static volatile char global[24];
static volatile size_t none; /* the compiler does not know */

static void commit(int fault, volatile char *heap, volatile char *stack)
{
	static volatile char pool[64] __attribute__((aligned(16)));

	switch (fault) {
	case 1:
		heap[24 + none] = 1;
		break;
	case 2:
		free((char *)heap);
		heap[none] = 1;
		break;
	case 3:
		stack[24 + none] = 1;
		break;
	case 4:
		global[24 + none] = 1;
		break;
	case 5:
		memcpy((char *)heap, (char *)stack, 25 + none);
		break;
	case 6:
		ASAN_POISON_MEMORY_REGION(pool + 16, 16);
		pool[16 + none] = 1;
		break;
	case 7:
		heap[none - 1] = 1;
		break;
	case 8:
		free((char *)heap);
		free((char *)heap - none);
		break;
	default:
		memset((char *)heap, 1, 24 + none);
		memset((char *)stack, 1, 24 + none);
		break;
	}
}

int main(int argc, char **argv)
{
	char stack[24];
	char *volatile heap = malloc(24);

	if (!heap)
		return 2;
	if (argc > 1 && strcmp(argv[1], "--count") == 0)
		printf("%d\n", FAULTS);
	else
		commit(argc > 1 ? atoi(argv[1]) : 0, heap, stack);
	return 0;
}
