/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_MEM_RANGE_H
#define FABRIC_MEM_RANGE_H

#include "fabric/mem/internal.h"

/** mem_range_register, mem_range_unregister - register_memory and unregister_memory of struct
 * fabric_ops. */
int mem_range_register(struct fabric *base, void *p, size_t len);
void mem_range_unregister(struct fabric *base, void *p);

/** mem_range_owns - whether @len octets at @p lie in one registered range. */
bool mem_range_owns(const struct mem_fabric *f, const void *p, size_t len);

#endif
