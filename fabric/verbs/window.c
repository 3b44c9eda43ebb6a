/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "fabric/verbs/window.h"
#include "fabric/verbs/types.h"

/*
 * Operation
 *
 * With windows: each window is drawn at random from those free windows that were used longest ago
 * (one half of them), and gets a new key. So a peer cannot derive a handle from earlier ones.
 *
 * Without windows the driver chooses the key of an exposure, and may choose that of the exposure
 * before (hns). So the offset of the exposure is random. A peer that does not know this offset, or
 * knows that of an earlier exposure, reaches nothing. The low bits of the offset are those of the
 * address, for pages of up to 2 MiB. The offset is less than 2^OFFSET_HIGH, so that no driver takes
 * it for a negative number.
 */

enum { OFFSET_LOW = 21, OFFSET_HIGH = 62 };

enum { POOL_LEAST = 32, POOL_SIZE = 64 /* doubles */ };

/* Makes room in .pool for all windows and one more, so that device_window_put() cannot fail. */
static int window_grow(struct verbs_dev *dev)
{
	uint32_t size = dev->pool_size ? 2 * dev->pool_size : POOL_SIZE;
	struct ibv_mw **pool = mem_zalloc(size * sizeof(struct ibv_mw *));

	if (!pool)
		return ERR_NOMEM;
	for (uint32_t i = 0; i < dev->pool_count; i++)
		pool[i] = dev->pool[(dev->pool_head + i) & (dev->pool_size - 1)];
	mem_free(dev->pool);
	dev->pool = pool;
	dev->pool_size = size;
	dev->pool_head = 0;
	return 0;
}

static int add_window(struct verbs_dev *dev)
{
	struct ibv_mw *mw;

	if (dev->windows_total == dev->pool_size && window_grow(dev))
		return ERR_NOMEM;
	mw = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_2);
	if (!mw)
		return ERR_NOMEM;
	dev->windows_total++;
	device_window_put(dev, mw);
	return 0;
}

static void draw(struct verbs_dev *dev, void *to, size_t len)
{
	if (dev->random_left < len) {
		if (getrandom(dev->random, sizeof(dev->random), 0) != sizeof(dev->random))
			memset(dev->random, 0x5a, sizeof(dev->random));
		dev->random_left = sizeof(dev->random);
	}
	dev->random_left -= (unsigned)len;
	memcpy(to, dev->random + dev->random_left, len);
}

static uint32_t window_draw(struct verbs_dev *dev)
{
	uint16_t value;

	draw(dev, &value, sizeof(value));
	return value;
}

uint64_t device_offset(struct verbs_dev *dev, const void *addr)
{
	const uint64_t kept = ((uint64_t)1 << OFFSET_LOW) - 1, top = (uint64_t)1 << OFFSET_HIGH;
	uint64_t value;

	if (dev->siw)
		return (uintptr_t)addr;
	draw(dev, &value, sizeof(value));
	return (value & (top - 1) & ~kept) | ((uintptr_t)addr & kept);
}

static struct ibv_mw **pool_at(struct verbs_dev *dev, uint32_t i)
{
	return &dev->pool[(dev->pool_head + i) & (dev->pool_size - 1)];
}

struct ibv_mw *device_window_get(struct verbs_dev *dev, uint32_t *key)
{
	struct ibv_mw **at, *mw = NULL;

	while (dev->pool_count < POOL_LEAST && add_window(dev) == 0)
		;
	if (!dev->pool_count)
		return NULL;
	for (int tries = 0; tries < 8; tries++) {
		at = pool_at(dev, window_draw(dev) % (dev->pool_count / 2 + 1));
		mw = *at;
		*key = (mw->rkey & ~0xffu) | ((mw->rkey + 1 + window_draw(dev) % 255) & 0xff);
		if (*key - dev->last_handle != dev->last_step)
			break;
	}
	*at = *pool_at(dev, 0);
	dev->pool_head++;
	dev->pool_count--;
	dev->last_step = *key - dev->last_handle;
	dev->last_handle = *key;
	return mw;
}

void device_window_put(struct verbs_dev *dev, struct ibv_mw *mw)
{
	*pool_at(dev, dev->pool_count++) = mw;
}

int device_window_drop(struct verbs_dev *dev, struct ibv_mw *mw)
{
	if (ibv_dealloc_mw(mw))
		return ERR_IO;
	dev->windows_total--;
	return 0;
}

void device_windows_free(struct verbs_dev *dev)
{
	for (; dev->pool_count; dev->pool_count--)
		(void)ibv_dealloc_mw(dev->pool[dev->pool_head++ & (dev->pool_size - 1)]);
	mem_free(dev->pool);
	dev->pool = NULL;
	dev->pool_size = dev->pool_head = dev->windows_total = 0;
}
