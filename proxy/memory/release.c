/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation: return free memory to the system
 *
 * A page that was handed out counts as touched until the system is told that its content is not
 * needed. Every half minute the touched octets are compared with the most octets in use in this
 * half minute and the one before:
 *
 *     REST --- touched > most in use + an eighth, and a little ---> SWEEP
 *      ^                                                              |
 *      +------ down to that, or every block was looked at <-----------+
 *
 * A sweep goes from the top of the range down, some blocks a turn, because blocks are handed out
 * from the bottom. Blocks may be taken and given back during a sweep: the cursor is a page, and the
 * block before it is found anew each time.
 */
#include <assert.h>
#include <sys/mman.h>

#include "proxy/memory/blocks.h"

#define HALF_MINUTE UINT64_C(30000000000)
#define SWEEP_PAUSE UINT64_C(5000000)

enum {
	SWEEP_BLOCKS = 256, /* blocks looked at in one turn */
	SWEEP_CALLS = 16,   /* calls of madvise() in one turn, at most */
	CACHED_BYTES = 1024 * 1024,
};

/* Page @page lies in the block that begins there, or at a lower address aligned to that block's
 * size. */
static size_t block_at(const struct buf_arena *a, size_t page, unsigned *order)
{
	for (unsigned i = 0; i < BUF_ORDERS; i++) {
		size_t begin = page & ~(((size_t)1 << i) - 1);
		unsigned state = a->orders[begin];

		if (state && (state & BLOCK_ORDER) > i) {
			*order = (state & BLOCK_ORDER) - 1u;
			return begin;
		}
	}
	assert(false); /* blocks tile the range */
	return 0;
}

static size_t untouch_pages(struct buf_arena *a, size_t page, size_t pages)
{
	size_t n = 0;

	for (size_t at = page; at < page + pages;) {
		size_t run = 64 - at % 64 < page + pages - at ? 64 - at % 64 : page + pages - at;
		uint64_t mask = (run == 64 ? ~UINT64_C(0) : (UINT64_C(1) << run) - 1) << at % 64;
		uint64_t *word = &a->touched.pages[at / 64];

		n += (unsigned)__builtin_popcountll(mask & *word);
		*word &= ~mask;
		at += run;
	}
	return n * BUF_MIN_BLOCK;
}

/* Return: whether madvise() was called. */
static bool release_block(struct buf_arena *a, size_t page, unsigned order)
{
	size_t bytes = (size_t)BUF_MIN_BLOCK << order;
	size_t touched = untouch_pages(a, page, (size_t)1 << order);

	if (touched == 0)
		return false;
	a->touched.bytes -= touched;
	a->touched.give_backs++;
	/* If madvise() fails the pages stay resident, and nothing else is lost. */
	(void)madvise(a->base + page * BUF_MIN_BLOCK, bytes, MADV_DONTNEED);
	return true;
}

static bool is_sweeping(const struct buf_arena *a)
{
	return a->touched.cursor > 0;
}

static void sweep_blocks(struct buf_arena *a)
{
	struct buf_touched *t = &a->touched;
	unsigned released = 0, order;

	for (unsigned i = 0; i < SWEEP_BLOCKS && released < SWEEP_CALLS && t->cursor > 0; i++) {
		size_t page = block_at(a, t->cursor - 1, &order);

		if (t->bytes <= t->goal) {
			t->cursor = 0;
			return;
		}
		if (!(a->orders[page] & BLOCK_USED) && release_block(a, page, order))
			released++;
		t->cursor = page;
	}
}

static void begin_half_minute(struct buf_arena *a)
{
	struct buf_touched *t = &a->touched;
	size_t high = t->high[0] > t->high[1] ? t->high[0] : t->high[1];

	t->goal = high + high / 8 + CACHED_BYTES;
	if (t->bytes > t->goal)
		t->cursor = a->bytes / BUF_MIN_BLOCK;
	t->high[1] = t->high[0];
	t->high[0] = a->used;
}

void buf_release_soon(struct buf_arena *a)
{
	struct buf_touched *t = &a->touched;

	t->high[0] = t->high[1] = t->goal = a->used;
	if (t->bytes <= t->goal)
		return;
	t->cursor = a->bytes / BUF_MIN_BLOCK;
	t->at_ns = 0;
}

uint64_t buf_release(struct buf_arena *a, uint64_t now)
{
	struct buf_touched *t = &a->touched;

	if (t->at_ns == UINT64_MAX) {
		/* While at most CACHED_BYTES are in use or could be returned, no half minute is
		 * measured. */
		if (t->bytes > a->used + CACHED_BYTES || a->used > CACHED_BYTES)
			t->at_ns = now + HALF_MINUTE;
		return t->at_ns;
	}
	if (now < t->at_ns)
		return t->at_ns;
	if (!is_sweeping(a))
		begin_half_minute(a);
	sweep_blocks(a);
	t->at_ns = now + (is_sweeping(a) ? SWEEP_PAUSE : HALF_MINUTE);
	if (!is_sweeping(a) && a->used + t->high[1] <= CACHED_BYTES && t->bytes <= t->goal)
		t->at_ns = UINT64_MAX;
	return t->at_ns;
}
