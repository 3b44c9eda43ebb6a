/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_VERBS_MEMORY_H
#define FABRIC_VERBS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fabric;
struct ibv_mr;
struct verbs;
struct verbs_conn;
struct verbs_dev;

/**
 * memory - registered memory
 *
 * Functions of a struct fabric or fabric_conn that have no comment are those of struct fabric_ops
 * (fabric/fabric.h).
 */

/** memory_register, memory_unregister - register_memory and unregister_memory of struct
 * fabric_ops. */
int memory_register(struct fabric *f, void *base, size_t len) WARN_UNUSED;
void memory_unregister(struct fabric *f, void *base);

/** memory_pinned - octets of @v's registered memory that count against the limit of locked memory.
 * Each range counts once for each protection domain of each device in use. */
size_t memory_pinned(const struct verbs *v);

/** verbs_register - register all ranges on @dev that are not registered there yet. Return: 0 or
 * ERR_NOMEM (logged). */
int verbs_register(struct verbs_dev *dev) WARN_UNUSED;

/** memory_region - the registration on @dev that has the @len octets at @p, borrowed; or NULL. */
struct ibv_mr *memory_region(const struct verbs_dev *dev, const void *p, size_t len);

/** memory_own_region - a registration for @c alone, whose first octet has offset @offset. Return:
 * owned by the caller; NULL: the device has none left. */
struct ibv_mr *memory_own_region(struct verbs_conn *c, void *addr, uint32_t len, unsigned access,
				 uint64_t offset);

#endif
