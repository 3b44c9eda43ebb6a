/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_VIEW_H
#define BASE_VIEW_H

#include <stddef.h>
#include <stdint.h>

/** struct view - borrowed octets that another object owns; never freed through it. */
struct view {
	const uint8_t *data;
	size_t len;
};

static inline struct view view_of(const void *data, size_t len)
{
	return (struct view){.data = data, .len = len};
}

/** struct segment - a registered memory region as every RDMA protocol names it on
 * the wire: steering tag, length in octets, offset (or address) within the tag. */
struct segment {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

#endif
